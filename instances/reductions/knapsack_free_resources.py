r"""Knapsack with free resources: the least cost is the least weight that reaches a value, squared (E6 c).

*Construction.* In whole numbers: epoch k takes or skips item k. Taking improves the loss by v_k and has work
w_k^2, skipping neither. kappa = 1, T_max = 1, no round deadline, r = max w times sum of w, K_max = n, and the
loss has to fall by V. Nothing limits the weight but its price.

*Proof.* A plan that takes the items I is in time iff sum of w_k^2 / x_k over I is at most 1. By Cauchy and
Schwarz, (sum of w)^2 = (sum of (w_k / sqrt x_k) sqrt x_k)^2 <= (sum of w_k^2 / x_k)(sum of x_k) <= sum of
x_k, with equality for x_k = w_k sum of w, which r allows. So the least cost of taking I is the square of
its weight; I gains V iff its value is at least V.

*Tolerances.* T_max may be exceeded by 1e-9 of itself, so the cost may be 1e-9 lower, relatively, and a search
stops 5e-10 below its incumbent. Squares of neighbouring whole numbers up to 6e8 differ by more than 3e-9,
relatively; so works above 2^53, which are not exact, decide nothing either.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from depl.instances.reductions.knapsack import (
    LARGEST_LOSS,
    Knapsack,
    Number,
    require_items,
    require_separable,
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
from depl.models.problem.plan import Plan


def reduce(knapsack: Knapsack, value: Number) -> Instance:
    """The instance whose cheapest plan takes the lightest items of at least ``value``, whatever the capacity.

    Parameters
    ----------
    knapsack : Knapsack
        Its capacity plays no part.
    value : int or Fraction
        V.

    Raises
    ------
    NotCoveredError
        If numbers are too large for the tolerances of cost and loss.
    """
    whole, count = knapsack.whole, len(knapsack)
    require_separable("values", sum(whole.values), LARGEST_LOSS)
    require_separable("weights", sum(whole.weights))
    wanted = math.ceil(value / whole.value_unit)
    require_separable("wanted values", wanted, LARGEST_LOSS)
    return take_or_skip(
        "knapsack-free-resources",
        Decisions([gain(each) for each in whole.values], [weight**2 for weight in whole.weights]),
        Decisions([gain(0)] * count, [0] * count),
        Target(initial_loss=wanted, maximum_loss=0, quantile_level=0.9, maximum_epochs=count, maximum_time=1),
        site(capacity=max(1, max(whole.weights) * sum(whole.weights)), unit_cost=1),
    )


def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
    """The cheapest plan that takes ``items``, given by their places from 0.

    Raises
    ------
    InvalidInputError
        If an item does not exist or is repeated.
    """
    whole, chosen = knapsack.whole, require_items(items, len(knapsack))
    total = sum(whole.weights[item] for item in chosen)
    return plan_taking(chosen, [float(each * total) for each in whole.weights], [0.0] * len(knapsack))


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The items that a plan takes; they reach the value iff the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction.
    """
    return taken_items(plan)


def weight_of_cost(knapsack: Knapsack, cost: float) -> Fraction:
    """The weight of the items taken by a plan of cheapest resources that costs ``cost``."""
    return round(math.sqrt(cost)) * knapsack.whole.weight_unit
