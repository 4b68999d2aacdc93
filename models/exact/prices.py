"""Loads of all configurations as arrays, and their prices psi(lam) and fastest times.

With a price lam of time, the cheapest resources of an epoch cost psi(lam) (`depl.models.problem.allocation`),
and the cost of a plan is transfers + max over lam >= 0 of [sum of psi(lam) - lam T_max]. So psi makes costs
additive, and at any lam the sum is a lower bound.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from depl.models.exact.choices import Choices
from depl.models.problem.allocation import minimum_resources
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Prices:
    """Every configuration of every epoch as a load; arrays of shape (K_max, G).

    Attributes
    ----------
    work, price, capacity, communication : float array
        As in `depl.models.problem.epochs.Load`.
    least : float array
        x_min [resource]; infinite where the round deadline cannot be kept.
    maximum_time : float or None
        T_max [time].
    """

    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    least: FloatArray
    maximum_time: float | None

    @classmethod
    def of(cls, problem: Choices) -> "Prices":
        """Read the loads of a problem."""
        target = problem.instance.target
        known: dict[Load, float] = {}

        def least(item: Load) -> float:
            if item not in known:
                known[item] = minimum_resources(item, target.round_deadline)
            return known[item]

        rows = [
            [(x.work, x.price, x.capacity, x.communication, least(x)) for x in row] for row in problem.loads
        ]
        shape = (problem.epochs, len(problem.configurations), 5)
        table = np.array(rows, dtype=float).reshape(shape)
        work, price, capacity, communication, least_resources = np.ascontiguousarray(table.transpose(2, 0, 1))
        return cls(work, price, capacity, communication, least_resources, target.maximum_time)

    def at(self, multiplier: float) -> FloatArray:
        """psi at the price ``multiplier`` of time, shape (K_max, G) [cost]; infinite beyond the deadline."""
        free = np.where(self.price > 0, math.sqrt(multiplier) * self._slope, math.inf)
        least = np.where(np.isinf(self.least), self.capacity, self.least)
        resources = np.where(self.work > 0, np.minimum(np.maximum(free, least), self.capacity), 0.0)
        busy = resources > 0
        computing = np.divide(self.work, resources, out=np.zeros_like(self.work), where=busy)
        psi = self.price * resources + multiplier * (computing + self.communication)
        return np.where(np.isinf(self.least), math.inf, psi)

    @functools.cached_property
    def fastest(self) -> FloatArray:
        """Times with full resources, shape (K_max, G) [time]; infinite beyond the deadline."""
        return np.where(np.isinf(self.least), math.inf, self.work / self.capacity + self.communication)

    @functools.cached_property
    def loads(self) -> FloatArray:
        """What every option asks for, shape (4, K_max, G); less of any never costs more.

        The rows are work, price, communication and minus the capacity.
        """
        return np.stack([self.work, self.price, self.communication, -self.capacity])

    @functools.cached_property
    def _slope(self) -> FloatArray:
        divisor = np.where(self.price > 0, np.sqrt(self.price), 1.0)
        return np.asarray(np.sqrt(self.work) / divisor)
