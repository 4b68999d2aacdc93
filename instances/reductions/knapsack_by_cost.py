r"""0/1 knapsack by cost: the least cost is the total value less that of the best knapsack (erratum E6 b).

*Construction.* In whole numbers: epoch k takes or skips item k. Taking has no work and *raises* the loss by
w_k; skipping has work v_k and leaves the loss; in epoch n both also improve it by W + 1. l(0) = l_max + 1,
K_max = n, kappa = 1, tau = 1, r = max v, no T_max.

*Proof.* Before epoch n no plan has a loss below l_max + 1, so a feasible plan has K = n epochs and ends at
l_max + 1 - (W + 1) + sum of w over the items I that it takes, which is at most l_max iff I fits. The
deadline asks for x >= v_k where item k is skipped (and x = 0 where it is taken), and r allows it. So the
plans with x = v_k are feasible iff I fits, they cost sum of v over what is skipped, and no plan that takes
I costs less. The least cost is sum of v less the best knapsack.

*Tolerances.* tau may be exceeded by 1e-9 of itself, so a plan may cost 1e-9 less than that, relatively; an
l_max 1e-9 higher is met. With sums of v and of w at most 1e8, the cost is less than .1 off, and two sets of
items of different value differ by 1.
"""

from collections.abc import Iterable
from fractions import Fraction

from depl.instances.reductions.knapsack import Knapsack, require_separable
from depl.instances.reductions.take_or_skip import (
    Decisions,
    gain,
    plan_taking,
    site,
    take_or_skip,
    taken_items,
)
from depl.models.plan import Plan
from depl.models.problem import Instance, Target


def reduce(knapsack: Knapsack) -> Instance:
    """The instance whose cheapest plan takes the best knapsack.

    Raises
    ------
    NotCoveredError
        If numbers are too large for the tolerances of cost and loss.
    """
    whole, count = knapsack.whole, len(knapsack)
    require_separable("values", sum(whole.values))
    require_separable("weights", sum(whole.weights))
    # What exceeds the sum of all weights changes nothing, and would only enlarge the last improvement.
    capacity = min(whole.capacity, sum(whole.weights))
    last = [0] * (count - 1) + [capacity + 1]
    return take_or_skip(
        "knapsack-by-cost",
        Decisions([gain(end - each) for end, each in zip(last, whole.weights, strict=True)], [0] * count),
        Decisions([gain(end) for end in last], whole.values),
        Target(initial_loss=1, maximum_loss=0, quantile_level=0.9, maximum_epochs=count, round_deadline=1),
        site(capacity=max(1, *whole.values), unit_cost=1),
    )


def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
    """The cheapest plan that takes ``items``, given by their places from 0.

    Raises
    ------
    InvalidInputError
        If an item does not exist or is repeated.
    """
    return plan_taking(items, [0.0] * len(knapsack), [float(value) for value in knapsack.whole.values])


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The items that a plan takes; they fit iff the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction.
    """
    return taken_items(plan)


def value_of_cost(knapsack: Knapsack, cost: float) -> Fraction:
    """The value of the items taken by a plan of cheapest resources that costs ``cost``."""
    whole = knapsack.whole
    return (sum(whole.values) - round(cost)) * whole.value_unit
