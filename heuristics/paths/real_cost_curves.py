r"""What every kind of epoch costs at a price of time, and its price form as pieces of parabolas.

At the pace q = sqrt(lam) an epoch takes x(q) = clip(q sqrt(c / kappa), x_min, r), so its price form
(`depl.models.problem.allocation`) is

    psi(q) = kappa x(q) + q**2 (c / x(q) + s / b) = A q**2 + 2 B q + C

between neighbouring clipping points: A = s / b, B = sqrt(kappa c), C = 0 where x moves; A = c / X + s / b,
B = 0, C = kappa X where x is clipped to X. Psi and its derivative in lam, the time A + B / q, are continuous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.real_cost_problem import RealCostProblem
from depl.models.problem.allocation import minimum_resources
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class PriceCurves:
    """The R different loads of a problem; arrays without a shape here have the shape (R,).

    Attributes
    ----------
    index : ndarray of int
        Shape (K_max, G): load of each kind at each epoch.
    work, price, capacity, communication : ndarray
        As in `Load`.
    least : ndarray
        x_min; the capacity where the deadline cannot be kept (such kinds are not allowed anyway) [resource].
    loads : tuple of Load
    """

    index: NDArray[np.int64]
    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    least: FloatArray
    loads: tuple[Load, ...]

    @classmethod
    def of(cls, problem: RealCostProblem) -> "PriceCurves":
        """Read the loads of a problem."""
        position: dict[Load, int] = {}
        rows = [[position.setdefault(item, len(position)) for item in row] for row in problem.loads]
        index = np.array(rows, dtype=np.int64).reshape(len(rows), len(problem.kinds))
        table = [
            (item.work, item.price, item.capacity, item.communication, _least(item, problem.round_deadline))
            for item in position
        ]
        columns = np.array(table, dtype=float).reshape(len(table), 5).T
        work, price, capacity, communication, least = np.ascontiguousarray(columns)
        return cls(index, work, price, capacity, communication, least, tuple(position))

    @property
    def last_pace(self) -> float:
        """The pace from which on every epoch has full resources; 0 if pace changes nothing."""
        chosen = (self.work > 0) & (self.price > 0)
        ends = self.capacity[chosen] * np.sqrt(self.price[chosen]) / np.sqrt(self.work[chosen])
        return float(ends.max(initial=0.0))

    def resources(self, pace: float) -> FloatArray:
        """Resources x at a pace [resource]."""
        free = np.clip(pace * self._slope, self.least, self.capacity)
        full = np.where(self.price > 0, free, self.capacity)
        return np.where(self.work > 0, full, 0.0)

    def spending(self, pace: float) -> FloatArray:
        """The cost kappa x at a pace [cost]."""
        return self.price * self.resources(pace)

    def times(self, pace: float) -> FloatArray:
        """The time c / x + s / b at a pace; infinite where work gets no resources [time]."""
        chosen = self.resources(pace)
        with np.errstate(divide="ignore"):
            computing = np.divide(self.work, chosen, out=np.zeros_like(chosen), where=self.work > 0)
        return np.asarray(computing + self.communication)

    def prices(self, pace: float) -> FloatArray:
        """The price psi at a pace [cost]."""
        if pace == 0:
            return self.spending(0.0)
        return self.spending(pace) + pace * pace * self.times(pace)

    @property
    def fastest(self) -> FloatArray:
        """The time c / r + s / b [time]."""
        return np.where(self.work > 0, self.work / self.capacity, 0.0) + self.communication

    def pieces(self, slowest: float, quickest: float) -> tuple[FloatArray, FloatArray]:
        """The parabolas between two paces.

        Returns
        -------
        paces : ndarray
            Shape (J + 1,): both paces and the clipping points between them.
        coefficients : ndarray
            Shape (R, J, 3): A, B, C of each load on [paces[j], paces[j + 1]].
        """
        chosen = (self.work > 0) & (self.price > 0)
        inverse = np.sqrt(self.price[chosen]) / np.sqrt(self.work[chosen])
        breaks = np.concatenate([self.least[chosen] * inverse, self.capacity[chosen] * inverse])
        inner = np.unique(breaks[(breaks > slowest) & (breaks < quickest)])
        paces = np.concatenate([[slowest], inner, [quickest]])
        middles = (paces[:-1] + paces[1:]) / 2
        found = np.zeros((len(self.work), len(middles), 3))
        for j, middle in enumerate(middles.tolist()):
            free = middle * self._slope
            moves = chosen & (free > self.least) & (free < self.capacity)
            fixed = self.resources(middle)
            computing = np.divide(self.work, fixed, out=np.zeros_like(fixed), where=(self.work > 0) & ~moves)
            found[:, j, 0] = self.communication + computing
            found[:, j, 1] = np.where(moves, np.sqrt(self.work) * np.sqrt(self.price), 0.0)
            found[:, j, 2] = np.where(moves, 0.0, self.price * fixed)
        return paces, found

    @property
    def _slope(self) -> FloatArray:
        divisor = np.where(self.price > 0, np.sqrt(self.price), 1.0)
        return np.asarray(np.where(self.price > 0, np.sqrt(self.work) / divisor, 0.0))


def _least(item: Load, round_deadline: float | None) -> float:
    return min(minimum_resources(item, round_deadline), item.capacity)
