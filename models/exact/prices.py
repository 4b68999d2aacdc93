"""Loads of all configurations as arrays, and their prices psi(lam) and fastest times.

At a price lam of time, the cheapest resources of an epoch cost psi(lam) (`depl.models.problem.epoch_costs`),
and the cost of a plan is transfers + max over lam >= 0 of [sum of psi(lam) - lam T_max]. So psi makes costs
additive, and at any lam the sum is a lower bound.
"""

import functools
from dataclasses import dataclass

import numpy as np

from depl.models.exact.choices import Choices
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.laws import FloatArray

_LARGEST_WHOLE = 2.0**52
"""Sums of whole numbers below it have no rounding, and halves of them can be told."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Every configuration of every epoch; arrays of shape (K_max, G)."""

    costs: EpochCosts
    maximum_time: float | None  # T_max

    @classmethod
    def of(cls, problem: Choices) -> "Prices":
        """Read the loads of a problem."""
        target = problem.instance.target
        rows = [[(x.work, x.price, x.capacity, x.communication) for x in row] for row in problem.loads]
        table = np.array(rows, dtype=float).reshape(problem.epochs, len(problem.configurations), 4)
        work, price, capacity, sent = np.ascontiguousarray(table.transpose(2, 0, 1))
        costs = EpochCosts.of_arrays(work, price, capacity, sent, target.round_deadline)
        return cls(costs, target.maximum_time)

    def at(self, multiplier: float) -> FloatArray:
        """psi at the price ``multiplier`` of time, shape (K_max, G) [cost]; infinite beyond the deadline."""
        return self.costs.prices(multiplier)

    @property
    def fastest(self) -> FloatArray:
        """Times with full resources, shape (K_max, G) [time]; infinite beyond the deadline."""
        return self.costs.fastest

    @functools.cached_property
    def unit(self) -> int:
        """A whole number that divides what every epoch costs; 0 if there is none.

        Without T_max the cheapest resources of an epoch do not depend on other epochs, so they cost psi(0).
        """
        costs = self.at(0.0)
        known = costs[np.isfinite(costs)]
        if self.maximum_time is not None or known.sum() >= _LARGEST_WHOLE or np.any(known != np.floor(known)):
            return 0
        return int(np.gcd.reduce(known.astype(np.int64), initial=0))

    @functools.cached_property
    def loads(self) -> FloatArray:
        """What every option asks for, shape (4, K_max, G); less of any never costs more.

        The rows are work, price, communication and minus the capacity.
        """
        costs = self.costs
        return np.stack([costs.work, costs.price, costs.communication, -costs.capacity])
