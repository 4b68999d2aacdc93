r"""The placement program as rows and columns: perspective cuts of the cost kappa c a^2 / theta.

The a epochs of a class on a cluster compute for theta = a c / x in all, at the cost a kappa x = kappa c a^2 /
theta: jointly convex in (a, theta), the perspective of c kappa / theta. In units of full resources, phi =
theta r / c and eta = cost / (kappa r), it reads eta >= a^2 / phi, which is the most of its tangents

    eta >= 2 u a - u^2 phi,    0 < u = x / r <= 1.

So a finite set of them gives an *outer* approximation: a lower bound. (Columns with fixed x would be an inner
one, which bounds nothing.) On a geometric grid of ratio rho the error is at most a fraction ((rho - 1) /
(rho + 1))^2; tangents at the solution found make it vanish in a few rounds. The rest of the program is

    sum over n of a_gn = N_g,  a_gn <= phi_gn <= (r / x_min) a_gn,  a_gn <= N_g w_n,
    sum of (c / r) phi + s a <= T_max,   minimise  sum of kappa r eta + F w.
"""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from depl.heuristics.placement.problem import PlacementProblem
from depl.models.problem.laws import FloatArray

_RATIO, _LOWEST = 1.3, 1 / 64
"""Ratio of the resources of neighbouring tangents, and the lowest of them as a share of the capacity. Set by
hand: a first grid; tangents are added where a solution needs them, so a coarser one takes more rounds."""
_NEAR = 1e-7
"""Share of an epoch below which a solution counts as 0: the tolerance with which HiGHS keeps rows, 1e-7 by
default."""

Pairs = NDArray[np.intp]


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
        allowed = (problem.counts[:, None] > 0) & np.isfinite(problem.least)
        groups, places = np.nonzero(allowed)
        program = cls(problem, groups, places)
        steps = np.exp(np.arange(0, -math.log(_LOWEST), math.log(_RATIO)) * -1)
        everything = np.arange(len(groups))
        for u in steps.tolist():
            program.add(everything, np.maximum(u, program.least))
        return program

    @property
    def size(self) -> int:
        """P."""
        return len(self.groups)

    @property
    def hopeless(self) -> bool:
        """Whether some class may train nowhere, so that its row would be empty."""
        return len(set(self.groups.tolist())) < int((self.problem.counts > 0).sum())

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
        p, places, count = self.size, len(self.problem.clusters), np.arange(self.size)
        weight = self.problem.counts[self.groups].astype(float)
        one, void = sparse.eye_array(p), sparse.csr_array((p, p))
        no_opening = sparse.csr_array((p, places))
        rows = [sparse.hstack([one, -one, void, no_opening])]
        sides = [np.zeros(p)]
        held = np.flatnonzero(self.least > 0)
        longest = np.divide(1.0, self.least, out=np.zeros(p), where=self.least > 0)
        slack = sparse.hstack([-sparse.diags_array(longest), one, void, no_opening]).tocsr()
        rows.append(slack[held])
        sides.append(np.zeros(len(held)))
        paid = np.flatnonzero(self.problem.transfers[self.places] > 0)
        opening = sparse.csr_array((weight, (count, self.places)), shape=(p, places))
        rows.append(sparse.hstack([one, void, void, -opening]).tocsr()[paid])
        sides.append(np.zeros(len(paid)))
        time = self._time_row()
        if time is not None:
            rows.insert(0, time)
            sides.insert(0, np.array([self.problem.maximum_time]))
        return sparse.vstack(rows).tocsr(), np.concatenate(sides)

    def equalities(self) -> tuple[sparse.csr_array, FloatArray]:
        """Rows that place every epoch, one for each class with epochs."""
        live = np.flatnonzero(self.problem.counts)
        position = np.searchsorted(live, self.groups)
        columns = 3 * self.size + len(self.problem.clusters)
        entries = (np.ones(self.size), (position, np.arange(self.size)))
        matrix = sparse.csr_array(entries, shape=(len(live), columns))
        return matrix, self.problem.counts[live].astype(float)

    def assignment(self, columns: FloatArray) -> FloatArray:
        """The a of a solution, shape (G, N) [epochs]."""
        found = np.zeros(self.problem.dimensions)
        found[self.groups, self.places] = columns[: self.size]
        return found

    def _tangents(self) -> sparse.csr_array:
        rows, u = np.arange(len(self.pairs)), np.array(self.slopes)
        pair = np.array(self.pairs, dtype=np.intp)
        data = np.concatenate([2 * u, -(u**2), -np.ones(len(u))])
        places = np.concatenate([pair, pair + self.size, pair + 2 * self.size])
        shape = (len(rows), 3 * self.size + len(self.problem.clusters))
        return sparse.csr_array((data, (np.tile(rows, 3), places)), shape=shape)

    def _time_row(self) -> sparse.csr_array | None:
        limit = self.problem.maximum_time
        if limit is None or limit == math.inf:
            return None
        computing = (self.problem.work / self.problem.capacity)[self.groups, self.places]
        sent = self.problem.communication[self.groups, self.places]
        rest = np.zeros(self.size + len(self.problem.clusters))
        return sparse.csr_array(np.concatenate([sent, computing, rest])[None, :])
