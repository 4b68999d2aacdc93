r"""Stage 3 of the paper: which cluster trains each model, and with how many resources (Sec. IV-C).

"Any VNF placement strategy" is to place the models of the path, with [22] "as a reference". The mapping:
clusters are *servers*, the models that train are *functions*, and their complexity is what they *require* of
a server. A function is hosted with one of the requirements x of a grid from the least that it can do with up
to all that the server has, in steps of 1 + epsilon. Hosting its N epochs with x costs N kappa x, as in (2),
and delays the service by the sum of c / x + s, the T(k) of (1) with s = s(m) / b(n). With y the share of a
function there (of one column; the y(k, n) of the paper is whole), w_n the share to which server n is opened,
and F_n its transfers, the sum of beta(d, n),

    minimise    sum of N kappa x y  +  sum of F_n w_n
    subject to  sum of y = 1 for every function,   sum of delays times y <= T_max,   y <= w_n,   0 <= y.

The grid has O(1 / epsilon) columns for each pair, and costs a factor 1 + epsilon at most against the best
embedding: the two orders that the paper quotes from [22]. They hold for functions that may be *split* (E9 in
docs/errata.rst).

*Rounding* puts every function on the server with its largest share. Nobody looks at a limit there: where the
rounded placement misses T_max, stage 3 has failed, and the loop goes back. Resources are then the cheapest
that keep the limits, x = sqrt(lambda c / kappa) at one price lambda of time where nothing clips (page "The
problem"), since the paper leaves them to this stage.

Where we depart, as the mapping is not one-to-one. A function is placed once, and a placement may split its
epochs, which is often cheaper. Requirements on a server would add up, but epochs run one after another, so
each may use all of it, as (5) says: here they do not add up. And requirements are given in an embedding,
resources are chosen: hence the grid, and the time row that couples all servers.

Under the full-resource assumption of stage 2 everything on the most capable cluster keeps the limits. So
there always is a placement, and stage 3 fails by its own rounding alone (proof: page "DepL as printed").
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

_TIES = 9
"""Decimals to which shares are compared; HiGHS knows them to about seven."""


@dataclass(frozen=True, eq=False)
class RoundedPlacement:
    """What stage 3 ends with.

    Attributes
    ----------
    assignment : ndarray of int
        Epochs of every class on every cluster, shape (G, N).
    cost : float
        With the cheapest resources, transfers included; infinite if no resources keep the limits [cost].
    fastest_time : float
        Time with full resources: the least T_max that this assignment keeps [time].
    split_cost : float
        Of the embedding before it was rounded, functions being split over servers [cost].
    """

    assignment: Assignment
    cost: float
    fastest_time: float
    split_cost: float

    @property
    def feasible(self) -> bool:
        """Whether the limits can be kept."""
        return math.isfinite(self.cost)


def place_by_embedding(problem: PlacementProblem, epsilon: float) -> RoundedPlacement | None:
    """Stage 3: embed the split functions, round each to one server, allocate; None without an embedding.

    Raises
    ------
    InvalidInputError
        If ``epsilon`` is not positive and finite.
    RuntimeError
        If HiGHS fails on the program.
    """
    program = EmbeddingProgram.of(problem, epsilon)
    split = program.solve()
    if split is None:
        return None
    shares, split_cost = split
    assignment = program.assignment(program.rounded(shares))
    found, used = problem.evaluate([assignment]), assignment > 0  # with the cheapest resources
    return RoundedPlacement(
        assignment,
        cost=float(found.costs[0]),
        fastest_time=math.fsum((assignment[used] * problem.shortest[used]).tolist()),
        split_cost=split_cost,
    )


class Hosting(NamedTuple):
    """A column of the program: a function on a server with a requirement.

    Attributes
    ----------
    function, server : int
    requirement : float
        x [resource].
    cost, delay : float
        Of all epochs of the function there [cost], [time].
    """

    function: int
    server: int
    requirement: float
    cost: float
    delay: float


@dataclass(frozen=True, eq=False)
class EmbeddingProgram:
    """Service embedding as a linear program.

    Attributes
    ----------
    problem : PlacementProblem
        Its clusters are the servers.
    functions : tuple of str
        The models that train, in the order of the classes.
    hostings : tuple of Hosting
        Its columns.
    """

    problem: PlacementProblem
    functions: tuple[str, ...]
    hostings: tuple[Hosting, ...]

    @classmethod
    def of(cls, problem: PlacementProblem, epsilon: float) -> "EmbeddingProgram":
        """The program of a placement problem.

        Raises
        ------
        InvalidInputError
            If ``epsilon`` is not positive and finite.
        """
        if not 0 < epsilon < math.inf:
            raise InvalidInputError(f"must be positive and finite, not {epsilon}", "epsilon")
        functions = tuple(dict.fromkeys(problem.classes))
        hostings = [
            Hosting(f, n, *row)
            for f, name in enumerate(functions)
            for n in range(len(problem.clusters))
            for row in _hostings(problem, np.flatnonzero(np.array(problem.classes) == name), n, epsilon)
        ]
        return cls(problem, functions, tuple(hostings))

    def solve(self) -> tuple[FloatArray, float] | None:
        """Shares of every function on every server, shape (F, N), and their cost; None if infeasible."""
        count, places = len(self.hostings), len(self.problem.clusters)
        function, server = self._column("function"), self._column("server")
        if len(set(function.tolist())) < len(self.functions):
            return None  # some function keeps the round deadline nowhere
        costs = np.concatenate([[item.cost for item in self.hostings], self.problem.transfers])
        unit = float(costs.max(initial=0.0)) or 1.0  # solvers measure feasibility absolutely
        whole = (np.ones(count), (function, np.arange(count)))
        rows, sides = self._inequalities(function, server)
        answer = linprog(
            costs / unit,
            A_ub=rows,
            b_ub=sides,
            A_eq=sparse.csr_array(whole, shape=(len(self.functions), count + places)),
            b_eq=np.ones(len(self.functions)),
            method="highs",
        )
        if answer.status == 2:
            return None
        if answer.status != 0:
            raise RuntimeError(f"HiGHS ended with: {answer.message}")
        shares = np.zeros((len(self.functions), places))
        np.add.at(shares, (function, server), answer.x[:count])
        return shares, float(answer.fun) * unit

    def rounded(self, shares: FloatArray) -> dict[str, str]:
        """The server of every function: the one with its largest share, of equal ones the first."""
        chosen = np.argmax(np.round(shares, _TIES), axis=1).tolist()
        return {name: self.problem.clusters[n] for name, n in zip(self.functions, chosen, strict=True)}

    def assignment(self, hosts: dict[str, str]) -> Assignment:
        """The placement that an embedding stands for: all epochs of a model on its server, shape (G, N)."""
        found = np.zeros(self.problem.dimensions, dtype=np.int64)
        for g in range(len(self.problem.counts)):
            found[g, self.problem.clusters.index(hosts[self.problem.classes[g]])] = self.problem.counts[g]
        return found

    def _inequalities(
        self, function: NDArray[np.int64], server: NDArray[np.int64]
    ) -> tuple[sparse.csr_array | None, FloatArray | None]:
        """The delay row, if T_max is given, and y <= w for pairs where opening the server costs."""
        count, places = len(self.hostings), len(self.problem.clusters)
        rows, sides = [], []
        limit = self.problem.maximum_time
        if limit is not None:
            scale = limit or 1.0
            delays = [item.delay / scale for item in self.hostings]
            rows.append(sparse.csr_array([[*delays, *np.zeros(places)]]))
            sides.append(np.array([limit / scale]))
        paid = np.flatnonzero(self.problem.transfers[server] > 0)
        if len(paid):
            # shares of one function on one server, over all its requirements
            pairs, row = np.unique(function[paid] * places + server[paid], return_inverse=True)
            opened = count + pairs % places
            entries = np.repeat([1.0, -1.0], [len(paid), len(pairs)])
            at = np.concatenate([row, np.arange(len(pairs))]), np.concatenate([paid, opened])
            rows.append(sparse.csr_array((entries, at), shape=(len(pairs), count + places)))
            sides.append(np.zeros(len(pairs)))
        return (sparse.vstack(rows).tocsr(), np.concatenate(sides)) if rows else (None, None)

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.array([getattr(item, name) for item in self.hostings], dtype=np.int64)


def _hostings(
    problem: PlacementProblem, groups: NDArray[np.int64], n: int, epsilon: float
) -> list[tuple[float, float, float]]:
    """Requirement, cost and delay of a function on server n, all its epochs with one requirement."""
    counts, work = problem.counts[groups].astype(float), problem.work[groups, n]
    least, most = float(problem.least[groups, n].max()), float(problem.capacity[n])
    if not math.isfinite(least):
        return []
    sent = math.fsum((counts * problem.communication[groups, n]).tolist())
    computed = math.fsum((counts * work).tolist())
    if not computed:
        return [(0.0, 0.0, sent)]
    if problem.maximum_time:  # with less than this it is late whatever the others do
        least = max(least, computed / problem.maximum_time)
    price = float(counts[work > 0].sum() * problem.price[n])
    return [(x, price * x, computed / x + sent) for x in _requirements(least, most, epsilon)]


def _requirements(least: float, most: float, epsilon: float) -> list[float]:
    """From all of a server down to the least, in steps of 1 + epsilon."""
    if not 0 < least < most:
        return [most]
    steps = math.ceil(math.log(most / least) / math.log1p(epsilon))
    return [max(most * (1 + epsilon) ** -step, least) for step in range(steps + 1)]
