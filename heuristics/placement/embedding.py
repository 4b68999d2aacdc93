r"""Service embedding as a linear program, and its rounding: "any VNF placement strategy" of Sec. IV-C.

Models are functions, clusters are servers (`depl.heuristics.placement.service`). A function is hosted with
one of the requirements x of a grid from the least that it can do with up to all that a server has, in steps
of 1 + epsilon. Hosting its N epochs with x costs N kappa x and delays the service by the sum of c / x + s:

    minimise    sum of N kappa x y  +  sum of F_n w_n
    subject to  sum of y = 1 for every function,   sum of delays times y <= T_max,   y <= w_n,   0 <= y.

A requirement fits a server by itself, as (5) of the paper asks epoch by epoch; epochs follow one another,
so the requirements on a server do not add up. The grid has O(1 / epsilon) columns for each pair, and costs a
factor 1 + epsilon at most against the best embedding: the two orders that the paper quotes from [22]. They
hold for the *split* embedding.

*Rounding* puts every function on the server with its largest share, and looks at no limit.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from depl.heuristics.placement.problem import PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

_TIES = 9
"""Decimals to which shares are compared; HiGHS knows them to about seven."""


@dataclass(frozen=True, eq=False)
class EmbeddingProgram:
    """The columns of the program; P pairs of a function on a server with a requirement.

    Attributes
    ----------
    problem : PlacementProblem
    functions : tuple of str
        Models that train, in the order of the classes.
    function, server : ndarray of int
        Of every column, shape (P,).
    requirement : ndarray
        x, shape (P,) [resource].
    cost, delay : ndarray
        Of the whole function there, shape (P,) [cost], [time].
    """

    problem: PlacementProblem
    functions: tuple[str, ...]
    function: NDArray[np.intp]
    server: NDArray[np.intp]
    requirement: FloatArray
    cost: FloatArray
    delay: FloatArray

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
        live = np.flatnonzero(problem.counts)
        functions = tuple(dict.fromkeys(problem.classes[g] for g in live.tolist()))
        columns: list[tuple[int, int, float, float, float]] = []
        for place, name in enumerate(functions):
            groups = np.array([g for g in live.tolist() if problem.classes[g] == name])
            for n in range(len(problem.clusters)):
                columns += [(place, n, *row) for row in _hostings(problem, groups, n, epsilon)]
        table = np.array(columns, dtype=float).reshape(-1, 5)
        return cls(
            problem,
            functions,
            table[:, 0].astype(np.intp),
            table[:, 1].astype(np.intp),
            table[:, 2],
            table[:, 3],
            table[:, 4],
        )

    def solve(self) -> tuple[FloatArray, float] | None:
        """Shares of every function on every server, shape (F, N), and their cost; None if infeasible.

        Raises
        ------
        RuntimeError
            If HiGHS neither solves the program nor proves it infeasible.
        """
        count, places = len(self.function), len(self.problem.clusters)
        if len(set(self.function.tolist())) < len(self.functions):
            return None  # some function keeps the round deadline nowhere
        # one unit of cost and of time, as solvers measure feasibility absolutely
        costs = np.concatenate([self.cost, self.problem.transfers])
        unit = float(costs.max(initial=0.0)) or 1.0
        rows, sides = self._inequalities()
        whole = sparse.csr_array(
            (np.ones(count), (self.function, np.arange(count))), shape=(len(self.functions), count + places)
        )
        answer = linprog(
            costs / unit,
            A_ub=rows,
            b_ub=sides,
            A_eq=whole,
            b_eq=np.ones(len(self.functions)),
            bounds=(0, None),
            method="highs",
        )
        if answer.status == 2:
            return None
        if answer.status != 0:
            raise RuntimeError(f"HiGHS ended with: {answer.message}")
        shares = np.zeros((len(self.functions), places))
        np.add.at(shares, (self.function, self.server), answer.x[:count])
        return shares, float(answer.fun) * unit

    def rounded(self, shares: FloatArray) -> dict[str, str]:
        """The server of every function: the one with its largest share, of equal ones the first."""
        chosen = np.argmax(np.round(shares, _TIES), axis=1).tolist()
        return {name: self.problem.clusters[n] for name, n in zip(self.functions, chosen, strict=True)}

    def _inequalities(self) -> tuple[sparse.csr_array | None, FloatArray | None]:
        """The delay row, if T_max is given, and y <= w where opening a server costs."""
        count, places = len(self.function), len(self.problem.clusters)
        rows, sides = [], []
        limit = self.problem.maximum_time
        if limit is not None and limit != math.inf:
            scale = limit or 1.0
            row = np.concatenate([self.delay / scale, np.zeros(places)])
            rows.append(sparse.csr_array(row[None, :]))
            sides.append(np.array([limit / scale]))
        paid = self.problem.transfers > 0
        # shares of one function on one server, over all its requirements
        pair, inverse = np.unique(self.function * places + self.server, return_inverse=True)
        used = np.flatnonzero(paid[self.server])
        if len(used):
            hosted = sparse.csr_array((np.ones(len(used)), (inverse[used], used)), (len(pair), count))
            opening = sparse.csr_array((-np.ones(len(pair)), (np.arange(len(pair)), pair % places)))
            opening.resize(len(pair), places)
            block = sparse.hstack([hosted, opening]).tocsr()
            rows.append(block[np.flatnonzero(paid[pair % places])])
            sides.append(np.zeros(int(paid[pair % places].sum())))
        return (sparse.vstack(rows).tocsr(), np.concatenate(sides)) if rows else (None, None)


def _hostings(
    problem: PlacementProblem, groups: NDArray[np.intp], n: int, epsilon: float
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
    limit = problem.maximum_time
    if limit:  # with less than this it is late whatever the others do
        least = max(least, computed / limit)
    busy = float(counts[work > 0].sum())
    return [
        (x, busy * float(problem.price[n]) * x, computed / x + sent)
        for x in _requirements(least, most, epsilon)
    ]


def _requirements(least: float, most: float, epsilon: float) -> list[float]:
    """From all of a server down to the least, in steps of 1 + epsilon."""
    if not 0 < least < most:
        return [most]
    steps = math.ceil(math.log(most / least) / math.log1p(epsilon))
    return [max(most * (1 + epsilon) ** -step, least) for step in range(steps + 1)]
