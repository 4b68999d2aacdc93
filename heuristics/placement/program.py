r"""Placement as one program: perspective cuts of the cost kappa c a^2 / theta, relaxed or with whole epochs.

The a epochs of a class on a cluster compute for theta = a c / x in all. With phi = theta r / c and eta = cost
/ (kappa r), eta >= a^2 / phi is the most of its tangents eta >= 2 u a - u^2 phi, 0 < u = x / r <= 1: a finite
set of them is an *outer* approximation, and tangents at the solution found make its error vanish in a few
rounds. `PerspectiveProgram.relax` lets epochs be split; its duals certify a bound by `charged_bound`,
whatever the solver's tolerances. `PerspectiveProgram.solve` demands whole epochs: the reference, for small
problems.
"""

import functools
import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from depl.heuristics.placement.dual import prices
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import counts_as_proved
from depl.models.problem.laws import FloatArray

_RATIO, _LOWEST = 1.3, 1 / 64
"""Ratio of the resources of neighbouring tangents, and the lowest of them as a share of the capacity. Set by
hand: a first grid; tangents are added where a solution needs them, so a coarser one takes more rounds."""
_NEAR = 1e-7
"""Share of an epoch below which a solution counts as 0: the tolerance with which HiGHS keeps rows, 1e-7 by
default."""

_ROUNDS, _ENOUGH = 25, 1e-10
"""Programs with tangents added after each, and the relative error of the cost at which they end. Set by hand:
the bound is certified by the duals of any program, so fewer rounds make it weaker."""
_ROUNDING = 1e-13
"""Relative error of sums of charges: some hundred roundings of doubles. The bound is lowered by as much."""
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


_MOST_WHOLE = 30
"""Programs, each with the tangents that the one before lacked. Set by hand: the loop ends once the bound
meets the cost; one that is cut short returns its best assignment and bound."""


Pairs = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimum of the relaxation.

    Attributes
    ----------
    shares : ndarray or None
        a_gn, shape (G, N), not necessarily whole; a vertex of the last program. None if infeasible [epochs].
    objective : float
        Of the last program, within the solver's tolerances; infinite if infeasible [cost].
    lower_bound : float
        Certified by the duals in closed form: no placement costs less [cost].
    """

    shares: FloatArray | None
    objective: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class WholeEpochs:
    """The best assignment of HiGHS, every epoch on one cluster.

    Attributes
    ----------
    assignment : ndarray of int or None
        None if infeasible, or nothing was found in time.
    cost : float
        Exact, transfers included; infinite without an assignment [cost].
    lower_bound : float
        Of HiGHS, within its tolerances [cost]; infinite if infeasible.
    """

    assignment: Assignment | None
    cost: float
    lower_bound: float


@dataclass(eq=False)
class PerspectiveProgram:
    """The rows and columns; P pairs of a class and a cluster that may train it.

    Columns are a (P), phi (P), eta (P) and w (N), in this order.

    Attributes
    ----------
    problem : PlacementProblem
    groups, places : ndarray of int
        Class and cluster of every pair, shape (P,).
    pairs, slopes : list
        Pair and u of every tangent.
    """

    problem: PlacementProblem
    groups: Pairs
    places: Pairs
    pairs: list[int] = field(default_factory=list)
    slopes: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, problem: PlacementProblem) -> "PerspectiveProgram":
        """The program with tangents on the grid."""
        groups, places = np.nonzero(np.isfinite(problem.least))
        program = cls(problem, groups, places)
        steps = np.exp(np.arange(0, -math.log(_LOWEST), math.log(_RATIO)) * -1)
        everything = np.arange(len(groups))
        for u in steps.tolist():
            program.add(everything, np.maximum(u, program.least))
        return program

    def relax(self) -> Relaxation:
        """The optimum where epochs may be split: tangents on a grid first, then where it is too cheap."""
        problem, best = self.problem, -math.inf
        if self.hopeless:
            return Relaxation(None, math.inf, math.inf)
        timed = problem.maximum_time is not None
        for _ in range(_ROUNDS):
            rows = *self.inequalities(), *self.equalities()
            answer = linprog(self.costs, *rows, method="highs-ds", options=_OPTIONS)
            if answer.status == 2:
                return Relaxation(None, math.inf, math.inf)
            if answer.status != 0:
                raise RuntimeError(f"HiGHS ended with: {answer.message}")
            multiplier = max(0.0, -float(answer.ineqlin.marginals[0])) if timed else 0.0
            best = max(best, charged_bound(problem, multiplier, answer.eqlin.marginals * problem.counts))
            if self.refine(answer.x) <= _ENOUGH * abs(answer.fun):
                break
        return Relaxation(self.assignment(answer.x), float(answer.fun), best)

    def solve(self, gap: float = 1e-8, time_limit: float = 60.0) -> WholeEpochs:
        """The optimum with whole epochs: tangents at every solution until its exact cost meets the bound.

        Parameters
        ----------
        gap : float
            Relative gap at which to stop, at least 0.
        time_limit : float
            Of all programs together [s].
        """
        if not (gap >= 0 and time_limit > 0):
            raise InvalidInputError(f"need gap >= 0 and time_limit > 0, not {gap} and {time_limit}", "gap")
        best: Assignment | None = None
        cost, bound = math.inf, -math.inf
        if self.hopeless:
            return WholeEpochs(None, math.inf, math.inf)
        end = time.perf_counter() + time_limit
        for _ in range(_MOST_WHOLE):
            answer = self._with_whole_epochs(max(end - time.perf_counter(), 1e-3))
            if answer.status == 2:
                return WholeEpochs(best, cost, math.inf if best is None else bound)
            if answer.mip_dual_bound is not None:
                bound = max(bound, float(answer.mip_dual_bound))
            if answer.x is None:
                break
            found = np.round(self.assignment(answer.x)).astype(np.int64)
            exact = self.problem.evaluate([found])
            if exact.costs[0] < cost:
                best, cost = found, float(exact.costs[0])
            if counts_as_proved(cost, bound, gap) or answer.status != 0:
                break
            self.refine(answer.x)
            self._add_exact(found, float(exact.multipliers[0]))
        return WholeEpochs(best, cost, bound)

    @property
    def size(self) -> int:
        """P."""
        return len(self.groups)

    @property
    def hopeless(self) -> bool:
        """Whether some class may train nowhere, so that its row would be empty."""
        return len(set(self.groups.tolist())) < len(self.problem.counts)

    @property
    def least(self) -> FloatArray:
        """x_min / r of every pair, shape (P,)."""
        return np.asarray(self.problem.least[self.groups, self.places] / self.problem.capacity[self.places])

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Whether a pair computes for money, so that tangents matter; shape (P,)."""
        return (self.problem.work[self.groups, self.places] > 0) & (self.problem.price[self.places] > 0)

    @property
    def costs(self) -> FloatArray:
        """Of all columns [cost]."""
        full = self.problem.price[self.places] * self.problem.capacity[self.places]
        nothing = np.zeros(self.size)
        return np.concatenate([nothing, nothing, np.where(self.busy, full, 0.0), self.problem.transfers])

    def add(self, pairs: Pairs, slopes: FloatArray) -> None:
        """Add the tangents at u = ``slopes`` of some pairs, where they compute for money."""
        kept = self.busy[pairs]
        self.pairs += pairs[kept].tolist()
        self.slopes += slopes[kept].tolist()

    def refine(self, columns: FloatArray) -> float:
        """Add tangents where a solution is below the true cost; returns by how much in all [cost]."""
        a, phi, eta = (columns[i * self.size : (i + 1) * self.size] for i in range(3))
        true = np.divide(a**2, phi, out=np.zeros(self.size), where=phi > _NEAR * np.maximum(a, _NEAR))
        error = np.where(self.busy & (a > _NEAR), true - eta, 0.0)
        weights = self.costs[2 * self.size : 3 * self.size]
        worth = np.flatnonzero(error * weights > 1e-13 * float(weights @ eta))
        self.add(worth, np.clip(a[worth] / phi[worth], 1e-12, 1.0))
        return float(np.maximum(error, 0.0) @ weights)

    def inequalities(self) -> tuple[sparse.csr_array, FloatArray]:
        """Rows A z <= b: the time row first (if T_max is given), then bounds of phi, openings, tangents."""
        rows, sides = self._lasting
        return sparse.vstack([rows, self._tangents()]).tocsr(), np.append(sides, np.zeros(len(self.pairs)))

    @functools.cached_property
    def _lasting(self) -> tuple[sparse.csr_array, FloatArray]:
        """The rows of `inequalities` before the tangents, which alone change."""
        p, problem, kept = self.size, self.problem, [np.ones(self.size, dtype=bool)]
        weight = problem.counts[self.groups].astype(float)
        one, void = sparse.eye_array(p), sparse.csr_array((p, p))
        closed = sparse.csr_array((p, len(problem.clusters)))
        longest = np.divide(1.0, self.least, out=np.zeros(p), where=self.least > 0)
        opening = sparse.csr_array((weight, (np.arange(p), self.places)), shape=closed.shape)
        kept += [self.least > 0, problem.transfers[self.places] > 0]
        blocks = [
            [one, -one, void, closed],
            [-sparse.diags_array(longest), one, void, closed],
            [one, void, void, -opening],
        ]
        rows = [sparse.hstack(block).tocsr()[mine] for block, mine in zip(blocks, kept, strict=True)]
        sides = np.zeros(sum(map(np.count_nonzero, kept)))
        if problem.maximum_time is not None:
            computing = (problem.work / problem.capacity)[self.groups, self.places]
            sent, rest = problem.communication[self.groups, self.places], np.zeros(p + closed.shape[1])
            rows.insert(0, sparse.csr_array(np.concatenate([sent, computing, rest])[None, :]))
            sides = np.append(problem.maximum_time, sides)
        return sparse.vstack(rows).tocsr(), sides

    def equalities(self) -> tuple[sparse.csr_array, FloatArray]:
        """Rows that place every epoch, one for each class."""
        columns = 3 * self.size + len(self.problem.clusters)
        entries = (np.ones(self.size), (self.groups, np.arange(self.size)))
        matrix = sparse.csr_array(entries, shape=(len(self.problem.counts), columns))
        return matrix, self.problem.counts.astype(float)

    def assignment(self, columns: FloatArray) -> FloatArray:
        """The a of a solution, shape (G, N) [epochs]."""
        found = np.zeros(self.problem.dimensions)
        found[self.groups, self.places] = columns[: self.size]
        return found

    def _with_whole_epochs(self, time_limit: float):  # type: ignore[no-untyped-def]  # of scipy
        rows, sides = self.inequalities()
        matrix, epochs = self.equalities()
        numbers = self.size, 2 * self.size, len(self.problem.clusters)
        whole, most = np.repeat([1.0, 0.0, 1.0], numbers), np.repeat([np.inf, np.inf, 1.0], numbers)
        return milp(
            self.costs,
            constraints=[LinearConstraint(rows, -np.inf, sides), LinearConstraint(matrix, epochs, epochs)],
            integrality=whole,
            bounds=Bounds(0, most),
            # without presolve, as all that depl proves by HiGHS; wrong optima came of a tolerance of 1e-9
            options={"time_limit": time_limit, "mip_rel_gap": 0.0, "presolve": False},
        )

    def _add_exact(self, assignment: Assignment, multiplier: float) -> None:
        """Tangents at the resources of the exact allocation, where the assignment trains."""
        used = np.flatnonzero(assignment[self.groups, self.places] > 0)
        shares = self.problem.resources(multiplier) / self.problem.capacity
        self.add(used, np.clip(shares[self.groups[used], self.places[used]], 1e-12, 1.0))

    def _tangents(self) -> sparse.csr_array:
        rows, u = np.arange(len(self.pairs)), np.array(self.slopes)
        pair = np.array(self.pairs, dtype=np.intp)
        data = np.concatenate([2 * u, -(u**2), -np.ones(len(u))])
        places = np.concatenate([pair, pair + self.size, pair + 2 * self.size])
        shape = (len(rows), 3 * self.size + len(self.problem.clusters))
        return sparse.csr_array((data, (np.tile(rows, 3), places)), shape=shape)


def charged_bound(problem: PlacementProblem, multiplier: float, values: FloatArray) -> float:
    """The lower bound of a price and of charges v_g, lowered until it holds in spite of rounding.

    For numbers v_g with  sum over g of max(0, v_g - N_g psi_gn(lam)) <= F_n  for every n, every placement
    costs at least  sum of v_g - lam T_max  (proof: docs/placement, *Transfers*).

    Parameters
    ----------
    values : ndarray
        v_g, shape (G,), of any sign. Where they charge a cluster with more than its F_n, all are lowered
        by the excess, so the bound holds whatever is given, such as the duals of a program [cost].

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite, or positive without T_max.
    """
    limit = problem.maximum_time
    if multiplier != 0 and limit is None:
        raise InvalidInputError("there is no T_max to be priced; only 0 is a multiplier", "multiplier")
    psi, _ = prices(problem, multiplier)
    charged = np.maximum(values[:, None] - problem.counts[:, None] * psi, 0.0).sum(axis=0)
    broken = max(0.0, float(np.max(charged - problem.transfers, initial=0.0)))
    charge = multiplier * limit if limit is not None else 0.0
    size = math.fsum(np.abs(values).tolist()) + charge
    lowered = broken * len(values) + _ROUNDING * size
    return math.fsum(values.tolist()) - charge - lowered
