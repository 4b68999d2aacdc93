r"""0/1 knapsack by cost: the least cost is the total value less that of the best knapsack (erratum E6 b).

*Construction.* In whole numbers, with w the weights, W the capacity and w(all) the sum of all weights: epoch
k takes or skips item k. Skipping has work v_k and improves the loss by w_k; taking does nothing. Epoch n
improves it by another w(all) + 1, whatever it decides. The loss has to fall by 2 w(all) + 1 - W; K_max = n,
kappa = 1, tau = 1, r = max v, no T_max.

*Proof.* Before epoch n no plan has gained more than w(all), which is not enough as W <= w(all) without loss
of generality; so a feasible plan has n epochs. If it takes the items I, it gains w(all) - w(I) + w(all) + 1,
which is enough iff w(I) <= W, iff I fits. The deadline asks for x >= v_k where item k is skipped (and x = 0
where it is taken), and r allows it. So the plan with x = v_k is feasible iff I fits, it costs the sum of v
over what is skipped, and no plan that takes I costs less. The least cost is the sum of v less the best
knapsack.

(The page of errata has the same plans with all gains lower by w_k: taking raises the loss, skipping leaves
it. Then almost all of what is asked for comes from one epoch, and a price of gain that suits it suits no
other: bounds by prices are weak.)

*Units.* Losses are told in a unit of 2^-u items' weights, the greatest for which all of them sum to at most
1024 (`loss_unit`): whole numbers are rounded by no power of two, and methods that count losses in steps of
1e-9 reach as far.

*Tolerances.* tau may be exceeded by 1e-9 of itself, so a plan may cost 1e-9 less than that, relatively, and a
search stops 5e-10 below its incumbent; an l_max 1e-9 higher is met. With values that sum to at most 6e8, the
cost is less than 1 off, and sets of items of different value differ by 1.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from depl.instances.reductions.knapsack import LARGEST_LOSS, Knapsack, require_separable, whole_cost
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

_LARGEST_FALL = 1024
"""Sum of losses that can be told apart to 1e-9 over 10,000 epochs, as ``depl`` and ``graph`` ask."""

_LEAST_UNIT = 2.0**-20
"""A thousand times the tolerance of a loss, 1e-9."""


def reduce(knapsack: Knapsack) -> Instance:
    """The instance whose cheapest plan takes the best knapsack.

    Raises
    ------
    NotCoveredError
        If numbers are too large for the tolerances of cost and loss.
    """
    whole, count = knapsack.whole, len(knapsack)
    require_separable("values", sum(whole.values))
    require_separable("weights", sum(whole.weights), LARGEST_LOSS)
    total = sum(whole.weights)
    needed = 2 * total + 1 - min(whole.capacity, total)
    unit = loss_unit(2 * total + 1)
    last = [0] * (count - 1) + [total + 1]
    return take_or_skip(
        "knapsack-by-cost",
        Decisions([gain(end * unit) for end in last], [0] * count),
        Decisions(
            [gain((end + each) * unit) for end, each in zip(last, whole.weights, strict=True)], whole.values
        ),
        Target(
            initial_loss=needed * unit,
            maximum_loss=0,
            quantile_level=0.9,
            maximum_epochs=count,
            round_deadline=1,
        ),
        site(capacity=max(1, *whole.values), unit_cost=1),
    )


def loss_unit(total: int) -> float:
    """A power of two, 1 or less, by which whole losses that sum to ``total`` are multiplied.

    The product is at most `_LARGEST_FALL` unless the unit would come near the tolerance of a loss.
    """
    return max(_LEAST_UNIT, 2.0 ** -max(0, math.ceil(math.log2(total / _LARGEST_FALL))))


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
    return (sum(whole.values) - whole_cost(cost)) * whole.value_unit
