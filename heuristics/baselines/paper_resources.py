r"""Stage 3 as printed: a fractional placement within 1 + epsilon of its bound, rounded, without repair.

The paper takes [22] "as a reference", which splits flows over servers at a cost within 1 + epsilon. Nobody
looks at the limits when this is rounded: where the rounded placement misses T_max, stage 3 has failed. For
the clusters chosen, resources are the cheapest that keep the limits (the exact allocation), since the paper
leaves them to this stage.

`Placement.EMBEDDING` is the paper's mapping: the models of the path are functions, hosted as a whole
(`depl.heuristics.placement.embedding`); the linear program is rounded function by function.
`Placement.ROUNDING` splits the epochs of a class over clusters and rounds to the nearest whole epochs.

*Without transfers* the fractional placement follows from a price lam of time. Below the best price the
cheapest clusters miss T_max, above it they keep it. A mixture of the two choices that takes no more than
T_max is a fractional placement: its cost C bounds the optimum of the relaxation from above, the dual value
L from below (`depl.heuristics.placement.dual`). The bracket is halved until C <= (1 + epsilon) L. *With
transfers* the relaxation is a linear program (`depl.heuristics.placement.relaxation`), solved to 1e-10,
which is inside any epsilon.

Under the full-resource assumption of stage 2, everything on the most capable cluster keeps the limits. So
there always is a placement, and stage 3 fails by its own rounding alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from depl.heuristics.placement.dual import Dual, Priced, best_price, lagrangian, prices
from depl.heuristics.placement.embedding import EmbeddingProgram
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.relaxation import relaxation
from depl.heuristics.placement.rounding import fractional, nearest_whole
from depl.heuristics.placement.service import assignment_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

_STEP, _HALVINGS = 16.0, 200
"""Factor by which a price is changed until two are on either side, and steps of that and of the bisection
together."""


class Placement(Enum):
    """What is split, and rounded."""

    EMBEDDING = "embedding"
    """Functions over servers, by a linear program."""
    ROUNDING = "rounding"
    """The epochs of a class over clusters, by the price of time."""


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


def place_by_rounding(problem: PlacementProblem, epsilon: float) -> RoundedPlacement | None:
    """Stage 3: split, round to the nearest, allocate; None if not even split epochs keep the limits.

    Raises
    ------
    InvalidInputError
        If ``epsilon`` is not positive and finite.
    RuntimeError
        If HiGHS fails on the relaxation with transfers.
    """
    relaxed = fractional_placement(problem, epsilon)
    return None if relaxed is None else _allocated(problem, nearest_whole(problem, relaxed.shares), relaxed)


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


STRATEGIES: dict[Placement, Callable[[PlacementProblem, float], RoundedPlacement | None]] = {
    Placement.EMBEDDING: place_by_embedding,
    Placement.ROUNDING: place_by_rounding,
}
"""Stage 3 by its kind."""


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


def fractional_placement(problem: PlacementProblem, epsilon: float) -> Fractional | None:
    """A fractional placement of at most (1 + epsilon) times its lower bound; None if there is none.

    Parameters
    ----------
    epsilon : float
        > 0.

    Raises
    ------
    InvalidInputError
        If ``epsilon`` is not positive and finite.
    RuntimeError
        If HiGHS fails on the relaxation with transfers.
    """
    if not 0 < epsilon < math.inf:
        raise InvalidInputError(f"must be positive and finite, not {epsilon}", "epsilon")
    if (problem.transfers > 0).any():
        found = relaxation(problem)
        if found.shares is None:
            return None
        return Fractional(found.shares, found.objective, found.lower_bound)
    return _by_price(problem, epsilon)


def _by_price(problem: PlacementProblem, epsilon: float) -> Fractional | None:
    """Halve the bracket of the price until the mixture is within 1 + epsilon of the best bound."""
    limit = problem.maximum_time
    free = lagrangian(problem, 0.0)
    if limit is None or limit == math.inf or _time(problem, free) <= limit:
        ends = best_price(problem)  # no price is needed, so this is exact at once
        return _exact(problem, ends)
    slow = fast = None
    trial, bound = 1.0, free.value
    for _ in range(_HALVINGS):
        point = lagrangian(problem, trial)
        bound = max(bound, point.value)
        if _time(problem, point) > limit:
            slow = point
        else:
            fast = point
        if slow is None or fast is None:
            trial *= _STEP if fast is None else 1 / _STEP
            if not 1e-280 < trial < 1e280:
                break
            continue
        found = _mixed(problem, slow, fast, bound)
        if found.cost <= (1 + epsilon) * found.lower_bound:
            return found
        trial = math.sqrt(slow.multiplier) * math.sqrt(fast.multiplier)
    # No finite price keeps T_max (it is the fastest time), or the limits cannot be kept at all.
    return _exact(problem, best_price(problem))


def _exact(problem: PlacementProblem, ends: Dual) -> Fractional | None:
    return (
        None if ends.slow is None or ends.fast is None else _mixed(problem, ends.slow, ends.fast, ends.value)
    )


def _mixed(problem: PlacementProblem, slow: Priced, fast: Priced, bound: float) -> Fractional:
    """Two choices mixed to keep T_max, each at its own resources; where they agree, at those of ``fast``."""
    shares, _ = fractional(problem, Dual(fast.multiplier, bound, slow, fast))
    rows = np.arange(len(problem.counts))
    moved = np.where(slow.choice == fast.choice, problem.counts, shares[rows, fast.choice])
    costs = moved * _costs(problem, fast) + (problem.counts - moved) * _costs(problem, slow)
    cost = math.fsum(costs.tolist())
    return Fractional(shares, cost, min(bound, cost))


def _costs(problem: PlacementProblem, point: Priced) -> FloatArray:
    """The cost kappa x of an epoch of every class at the choice of a price, shape (G,) [cost]."""
    rows = np.arange(len(problem.counts))
    if math.isinf(point.multiplier):  # the fastest clusters with all their resources
        full = problem.price * problem.capacity
        return np.asarray(np.where(problem.work[rows, point.choice] > 0, full[point.choice], 0.0))
    psi, times = prices(problem, point.multiplier)
    charged = point.multiplier * times[rows, point.choice] if point.multiplier else 0.0
    return np.asarray(psi[rows, point.choice] - charged)


def _time(problem: PlacementProblem, point: Priced) -> float:
    return math.fsum((problem.counts * point.times).tolist())
