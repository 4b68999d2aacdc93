r"""What every kind of epoch costs at a price of time, and its price form as pieces of parabolas.

At the pace q = sqrt(lam) an epoch takes x(q) = clip(q sqrt(c / kappa), x_min, r), so its price form
(`depl.models.problem.epoch_costs`) is

    psi(q) = kappa x(q) + q**2 (c / x(q) + s / b) = A q**2 + 2 B q + C

between neighbouring clipping points: A = s / b, B = sqrt(kappa c), C = 0 where x moves; A = c / X + s / b,
B = 0, C = kappa X where x is clipped to X. Psi and its derivative in lam, the time A + B / q, are continuous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.real_cost_problem import RealCostProblem
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class PriceCurves:
    """The R different loads of a problem; arrays without a shape here have the shape (R,).

    Kinds that cannot keep the deadline have full resources here; they are not allowed anyway.

    Attributes
    ----------
    index : ndarray of int
        Shape (K_max, G): load of each kind at each epoch.
    costs : EpochCosts
    loads : tuple of Load
    """

    index: NDArray[np.int64]
    costs: EpochCosts
    loads: tuple[Load, ...]

    @classmethod
    def of(cls, problem: RealCostProblem) -> "PriceCurves":
        """Read the loads of a problem."""
        position: dict[Load, int] = {}
        rows = [[position.setdefault(item, len(position)) for item in row] for row in problem.loads]
        index = np.array(rows, dtype=np.int64).reshape(len(rows), len(problem.kinds))
        loads = tuple(position)
        return cls(index, EpochCosts.of(loads, problem.round_deadline), loads)

    @property
    def last_pace(self) -> float:
        """The pace from which on every epoch has full resources; 0 if pace changes nothing."""
        return float(self.costs.end.max(initial=0.0))

    def spending(self, pace: float) -> FloatArray:
        """The cost kappa x at a pace [cost]."""
        return self.costs.price * self.costs.resources(pace)

    def times(self, pace: float) -> FloatArray:
        """The time c / x + s / b at a pace; infinite where work gets no resources [time]."""
        return self.costs.durations(self.costs.resources(pace))

    def prices(self, pace: float) -> FloatArray:
        """The price psi at a pace [cost]."""
        return self.costs.totals(self.costs.resources(pace), pace * pace)

    @property
    def fastest(self) -> FloatArray:
        """The time c / r + s / b [time]."""
        return self.costs.shortest

    def pieces(self, slowest: float, quickest: float) -> tuple[FloatArray, FloatArray]:
        """The parabolas between two paces.

        Returns
        -------
        paces : ndarray
            Shape (J + 1,): both paces and the clipping points between them.
        coefficients : ndarray
            Shape (R, J, 3): A, B, C of each load on [paces[j], paces[j + 1]].
        """
        costs = self.costs
        breaks = np.concatenate([costs.start, costs.end])
        inner = np.unique(breaks[(breaks > slowest) & (breaks < quickest)])
        paces = np.concatenate([[slowest], inner, [quickest]])
        middles = (paces[:-1, None] + paces[1:, None]) / 2
        moves = (costs.start < middles) & (costs.end > middles)
        fixed = costs.resources(middles)
        found = (
            np.where(moves, costs.communication, costs.durations(fixed)),
            np.where(moves, costs.root, 0.0),
            np.where(moves, 0.0, costs.price * fixed),
        )
        return paces, np.ascontiguousarray(np.stack(found, axis=-1).transpose(1, 0, 2))
