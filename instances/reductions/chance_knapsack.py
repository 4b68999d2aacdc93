r"""Chance-constrained knapsack with independent normal weights: the quantile is the chance constraint.

*Construction.* As `depl.instances.reductions.knapsack_by_cost`, with mu the means and s the variances of the
weights: skipping item k has work v_k and improves the loss by mu_k, taking it has no work and improves the
loss by mu_k less the random weight, a normal law of mean 0 and variance s_k. Epoch n improves it by another
mu(all) + 1. The loss has to fall by 2 mu(all) + 1 - W, with a probability omega of at least 1/2.

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

from collections.abc import Iterable
from fractions import Fraction

from depl.instances.reductions.knapsack import (
    LARGEST_LOSS,
    ChanceKnapsack,
    common_unit,
    require_separable,
    whole_cost,
)
from depl.instances.reductions.take_or_skip import (
    Decisions,
    gain,
    plan_taking,
    site,
    take_or_skip,
    taken_items,
)
from depl.models.problem.instance import Instance, Target
from depl.models.problem.laws import Normal
from depl.models.problem.learning import ConstantImprovement
from depl.models.problem.plan import Plan


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
    require_separable("means of weights and the capacity", sum(means) + capacity, LARGEST_LOSS)
    more = max(capacity, sum(means)) + 1
    ends = [mean + (more if place == count - 1 else 0) for place, mean in enumerate(means)]
    taken = [_gain(end - mean, variance) for end, mean, variance in zip(ends, means, variances, strict=True)]
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
    return (sum(_whole_values(knapsack)) - whole_cost(cost)) * common_unit(knapsack.values)


def _whole_values(knapsack: ChanceKnapsack) -> list[int]:
    unit = common_unit(knapsack.values)
    return [int(value / unit) for value in knapsack.values]


def _gain(mean: Fraction, variance: Fraction) -> ConstantImprovement:
    """An improvement by a normal law, or a certain one."""
    if not variance:
        return gain(int(mean))
    return ConstantImprovement(noise=Normal(mean=float(mean), variance=float(variance)))
