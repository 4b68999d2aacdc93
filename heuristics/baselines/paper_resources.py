r"""Stage 3 as printed: a fractional embedding, rounded, without repair.

The paper takes [22] "as a reference", which splits flows over servers at a cost within 1 + epsilon. Nobody
looks at the limits when this is rounded: where the rounded placement misses T_max, stage 3 has failed. For
the clusters chosen, resources are the cheapest that keep the limits (the exact allocation), since the paper
leaves them to this stage.

The models of the path are functions, hosted as a whole (`depl.heuristics.placement.embedding`); the linear
program is rounded function by function.

Under the full-resource assumption of stage 2, everything on the most capable cluster keeps the limits. So
there always is a placement, and stage 3 fails by its own rounding alone.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.dual import best_price
from depl.heuristics.placement.embedding import EmbeddingProgram
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.service import assignment_of
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Fractional:
    """Epochs split over clusters.

    Attributes
    ----------
    shares : ndarray
        a_gn >= 0, not necessarily whole, shape (G, N); rows sum to N_g [epochs].
    cost : float
        Its cost with epochs split [cost].
    lower_bound : float
        No placement of these epochs costs less, split or not [cost].
    """

    shares: FloatArray
    cost: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class RoundedPlacement:
    """What stage 3 ends with.

    Attributes
    ----------
    assignment : ndarray of int
        a_gn, shape (G, N).
    cost : float
        With the cheapest resources, transfers included; infinite if no resources keep the limits [cost].
    multiplier : float
        lam of the allocation, 0 where T_max does not bind [cost / time].
    fastest_time : float
        Time with full resources: the least T_max that this assignment keeps [time].
    relaxed : Fractional
        What was rounded.
    """

    assignment: Assignment
    cost: float
    multiplier: float
    fastest_time: float
    relaxed: Fractional

    @property
    def feasible(self) -> bool:
        """Whether the limits can be kept."""
        return math.isfinite(self.cost)


def place_by_embedding(problem: PlacementProblem, epsilon: float) -> RoundedPlacement | None:
    """Stage 3: embed the split functions, round each to one server, allocate; None if there is no embedding.

    The lower bound of what was rounded is that of all placements, from the best price of time and the
    cheapest cluster to bring data to.

    Raises
    ------
    InvalidInputError
        If ``epsilon`` is not positive and finite.
    RuntimeError
        If HiGHS fails on the program.
    """
    program = EmbeddingProgram.of(problem, epsilon)
    found = program.solve()
    if found is None:
        return None
    shares, cost = found
    rows = [program.functions.index(name) if name in program.functions else -1 for name in problem.classes]
    spread = np.where(problem.counts[:, None] > 0, problem.counts[:, None] * shares[rows], 0.0)
    bound = best_price(problem).value + float(problem.transfers.min()) if problem.epochs else 0.0
    relaxed = Fractional(spread, cost, min(bound, cost))
    return _allocated(problem, assignment_of(problem, program.rounded(shares)), relaxed)


def _allocated(problem: PlacementProblem, assignment: Assignment, relaxed: Fractional) -> RoundedPlacement:
    """The cheapest resources of an assignment."""
    found = problem.evaluate([assignment])
    used = assignment > 0
    return RoundedPlacement(
        assignment=assignment,
        cost=float(found.costs[0]),
        multiplier=float(found.multipliers[0]),
        fastest_time=math.fsum((assignment[used] * problem.shortest[used]).tolist()),
        relaxed=relaxed,
    )
