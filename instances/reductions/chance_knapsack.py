r"""Chance-constrained knapsack with independent normal weights: the quantile is the chance constraint.

*Construction.* As `depl.instances.reductions.knapsack_by_cost`, but taking item k raises the loss by a
normal weight of mean mu_k and variance s_k: epoch k takes or skips item k; taking has no work, skipping has
work v_k; in epoch n both also improve the loss by W + 1. l(0) = l_max + 1, K_max = n, kappa = 1, tau = 1, r
= max v, no T_max, and omega of the knapsack, at least 1/2.

*Proof.* After K < n epochs that take I the loss is l_max + 1 + N(sum of mu, sum of s). It is at most l_max
with a probability below 1/2, because the mean is above it. So a feasible plan has n epochs, and with I
taken it meets the target iff P(N(sum of mu, sum of s) <= W) >= omega, that is, iff sum of mu + z sqrt(sum
of s) <= W with z = Phi^-1(omega). Costs are as there: the least cost is sum of v less the best knapsack.

*Ties.* Values are whole numbers as there. Whether a set fits is decided by a certified interval of its
probability; where W is closer to the left-hand side than some 1e-12 of it, the interval contains 1 - omega
and no method guesses. omega is read as the decimal that is written.
"""

from collections.abc import Iterable
from fractions import Fraction

from depl.instances.reductions.knapsack import ChanceKnapsack, common_unit, require_separable
from depl.instances.reductions.take_or_skip import (
    Decisions,
    gain,
    plan_taking,
    site,
    take_or_skip,
    taken_items,
)
from depl.models.laws import Deterministic, Normal
from depl.models.learning import ConstantImprovement
from depl.models.plan import Plan
from depl.models.problem import Instance, Target


def reduce(knapsack: ChanceKnapsack) -> Instance:
    """The instance whose cheapest plan takes the best knapsack.

    Raises
    ------
    NotCoveredError
        If numbers are too large for the tolerances of cost and loss.
    """
    unit, count = common_unit((*knapsack.means, knapsack.capacity)), len(knapsack)
    values = _whole_values(knapsack)
    means = [mean / unit for mean in knapsack.means]
    variances = [variance / unit**2 for variance in knapsack.variances]
    capacity = knapsack.capacity / unit
    require_separable("values", sum(values))
    require_separable("means of weights and the capacity", sum(means) + capacity)
    last = [Fraction(0)] * (count - 1) + [capacity + 1]
    rises = zip(last, means, variances, strict=True)
    return take_or_skip(
        "chance-knapsack",
        Decisions([_raised(end, mean, variance) for end, mean, variance in rises], [0] * count),
        Decisions([gain(int(end)) for end in last], values),
        Target(
            initial_loss=1,
            maximum_loss=0,
            quantile_level=knapsack.level,
            maximum_epochs=count,
            round_deadline=1,
        ),
        site(capacity=max(1, *values), unit_cost=1),
    )


def plan_of(knapsack: ChanceKnapsack, items: Iterable[int]) -> Plan:
    """The cheapest plan that takes ``items``, given by their places from 0.

    Raises
    ------
    InvalidInputError
        If an item does not exist or is repeated.
    """
    return plan_taking(items, [0.0] * len(knapsack), [float(value) for value in _whole_values(knapsack)])


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The items that a plan takes; they fit with probability omega iff the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction.
    """
    return taken_items(plan)


def value_of_cost(knapsack: ChanceKnapsack, cost: float) -> Fraction:
    """The value of the items taken by a plan of cheapest resources that costs ``cost``."""
    return (sum(_whole_values(knapsack)) - round(cost)) * common_unit(knapsack.values)


def _whole_values(knapsack: ChanceKnapsack) -> list[int]:
    unit = common_unit(knapsack.values)
    return [int(value / unit) for value in knapsack.values]


def _raised(end: Fraction, mean: Fraction, variance: Fraction) -> ConstantImprovement:
    """An improvement by ``end`` less a normal weight."""
    if not variance:
        return ConstantImprovement(noise=Deterministic(value=float(end - mean)))
    return ConstantImprovement(noise=Normal(mean=float(end - mean), variance=float(variance)))
