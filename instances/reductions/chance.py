r"""Chance-constrained knapsack with independent normal weights: the quantile is the chance constraint.

*Construction.* As `depl.instances.reductions.to_planning.ByCost`, with mu the means and s the variances
of the weights: skipping item k has work v_k and improves the loss by mu_k, taking it has no work and
improves the loss by mu_k less the random weight, a normal law of mean 0 and variance s_k. Epoch n
improves it by another mu(all) + 1. The loss has to fall by 2 mu(all) + 1 - W, with a probability omega of
at least 1/2.

*Proof.* A plan of K < n epochs gains at most mu(all) in the mean; where W <= mu(all), that is less than what
is asked for, so it is enough with a probability below 1/2. (If W is larger, epoch n improves the loss by W +
1 instead, and mu(all) + W + 1 - W is asked for.) So a feasible plan has n epochs, and if it takes the items I
it gains mu(all) less N(mu(I), s(I)) and the improvement of epoch n. It meets the target iff P(N(mu(I), s(I))
<= W) >= omega, that is, iff mu(I) + z sqrt(s(I)) <= W with z = Phi^-1(omega). Costs are as there: the least
cost is the sum of v less the best knapsack.

*Ties.* Values are whole numbers as there. Whether a set fits is decided by a certified interval of its
probability; where W is closer to the left-hand side than some 1e-12 of it, the interval contains 1 - omega
and no method guesses. omega is read as the decimal that is written.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from depl.instances.reductions.knapsack import (
    LARGEST_LOSS,
    Number,
    Solution,
    Valued,
    common_unit,
    filled,
    in_units,
    require_cells,
    require_columns,
    require_nonnegative,
    require_separable,
    traced,
    unreached,
    whole_cost,
)
from depl.instances.reductions.to_planning import (
    Answer,
    Decisions,
    Solver,
    TakeOrSkip,
    by_least_cost,
    gain,
    plan_taking,
    site,
    take_or_skip,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance, Target
from depl.models.problem.laws import Normal
from depl.models.problem.learning import ConstantImprovement
from depl.models.problem.plan import Plan


@dataclass(frozen=True)
class ChanceKnapsack(Valued):
    """Choose items of most value whose independent normal weights fit with a probability.

    Attributes
    ----------
    values, means, variances : tuple of Fraction
        Nonnegative, one of each per item.
    capacity : Fraction
        Nonnegative.
    level : float
        omega, at least 1/2 and below 1.
    """

    values: tuple[Fraction, ...]
    means: tuple[Fraction, ...]
    variances: tuple[Fraction, ...]
    capacity: Fraction
    level: float

    @classmethod
    def of(
        cls,
        values: Iterable[Number],
        means: Iterable[Number],
        variances: Iterable[Number],
        capacity: Number,
        level: float,
    ) -> "ChanceKnapsack":
        """From whole numbers or fractions."""
        worth, mean, variance = (tuple(map(Fraction, column)) for column in (values, means, variances))
        return cls(worth, mean, variance, Fraction(capacity), level)

    def __post_init__(self) -> None:
        """Check lengths, signs and the level."""
        require_columns(values=self.values, means=self.means, variances=self.variances)
        require_nonnegative("capacity", [self.capacity])
        if not 0.5 <= self.level < 1:
            raise InvalidInputError(f"must be at least 0.5 and below 1, not {self.level:g}", "level")

    def slack(self, items: Iterable[int]) -> float:
        """Capacity left by items: capacity - sum of means - z sqrt(sum of variances), z = Phi^-1(omega)."""
        chosen = tuple(items)
        mean = sum((self.means[item] for item in chosen), Fraction(0))
        variance = sum((self.variances[item] for item in chosen), Fraction(0))
        return float(self.capacity - mean) - self.safety * math.sqrt(variance)

    @functools.cached_property
    def safety(self) -> float:
        """z = Phi^-1(omega), how many standard deviations of capacity are kept free."""
        return float(special.ndtri(self.level))

    @functools.cached_property
    def whole_values(self) -> tuple[tuple[int, ...], Fraction]:
        """The values as whole multiples of the largest unit, and that."""
        return in_units(self.values)


class Chance(TakeOrSkip):
    """The reduction, whose proof begins this page."""

    @staticmethod
    def reduce(knapsack: ChanceKnapsack) -> Instance:
        """The instance whose cheapest plan takes the best knapsack.

        Raises
        ------
        NotCoveredError
            If numbers are too large for the tolerances of cost and loss.
        """
        unit, count = common_unit((*knapsack.means, knapsack.capacity)), len(knapsack)
        values, _ = knapsack.whole_values
        means = [mean / unit for mean in knapsack.means]
        variances = [variance / unit**2 for variance in knapsack.variances]
        capacity = knapsack.capacity / unit
        require_separable("values", sum(values))
        require_separable("means of weights and the capacity", sum(means) + capacity, LARGEST_LOSS)
        more = max(capacity, sum(means)) + 1
        ends = [mean + (more if place == count - 1 else 0) for place, mean in enumerate(means)]
        taken = [
            _gain(end - mean, variance) for end, mean, variance in zip(ends, means, variances, strict=True)
        ]
        return take_or_skip(
            "chance-knapsack",
            Decisions(taken, [0] * count),
            Decisions([gain(int(end)) for end in ends], values),
            Target(
                initial_loss=int(sum(means) + more - capacity),
                maximum_loss=0,
                quantile_level=knapsack.level,
                maximum_epochs=count,
                round_deadline=1,
            ),
            site(capacity=max(1, *values), unit_cost=1),
        )

    @staticmethod
    def plan_of(knapsack: ChanceKnapsack, items: Iterable[int]) -> Plan:
        """The cheapest plan that takes different ``items``, given by their places from 0."""
        return plan_taking(items, [0.0] * len(knapsack), [float(value) for value in knapsack.whole_values[0]])

    @staticmethod
    def value_of_cost(knapsack: ChanceKnapsack, cost: float) -> Fraction:
        """The value of the items taken by a plan of cheapest resources that costs ``cost``."""
        values, unit = knapsack.whole_values
        return (sum(values) - whole_cost(cost)) * unit


def solve_chance_knapsack(knapsack: ChanceKnapsack, solve_instance: Solver) -> Answer:
    """The best chance-constrained knapsack.

    Raises
    ------
    NotCoveredError
        If the numbers are too large for the reduction.
    """
    values, unit = knapsack.whole_values
    return by_least_cost(knapsack, Chance.reduce(knapsack), sum(values), unit, solve_instance)


def best_by_value_and_variance(knapsack: ChanceKnapsack) -> Solution:
    """Items of most value that fit with the probability, by a dynamic program and without planning.

    For every total value and every total variance, in whole numbers, the least total mean, item by item.
    A value can be reached iff for some variance the least mean is at most W - z sqrt(variance). Exact up
    to this comparison, and sharing no code with the methods that solve instances.

    Raises
    ------
    NotCoveredError
        If items times values times variances, as whole numbers, are more than `MOST_CELLS`.
    """
    values, _ = knapsack.whole_values
    (means, mean_unit), (variances, variance_unit) = in_units(knapsack.means), in_units(knapsack.variances)
    shape = (sum(values) + 1, sum(variances) + 1)
    require_cells(len(knapsack), shape[0] * shape[1])
    least, moves = unreached(shape), list(zip(values, variances, strict=True))
    taken = filled(least, moves, means, np.less)
    deviations = np.sqrt(np.arange(shape[1]) * float(variance_unit))
    room = (float(knapsack.capacity) - knapsack.safety * deviations) / float(mean_unit)
    value, variance = (int(axis[-1]) for axis in np.nonzero(least <= room))
    chosen = tuple(sorted(traced(taken, shape, moves, (value, variance))))
    return Solution(chosen, knapsack.value_of(chosen))


def _gain(mean: Fraction, variance: Fraction) -> ConstantImprovement:
    """An improvement by a normal law, or a certain one."""
    if not variance:
        return gain(int(mean))
    return ConstantImprovement(noise=Normal(mean=float(mean), variance=float(variance)))
