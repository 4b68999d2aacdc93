r"""0/1 knapsack by time: whether any plan is feasible is the knapsack decision problem (erratum E6 a).

*Construction.* In whole numbers, with values v, weights w, capacity W and a wanted value V: epoch k takes or
skips item k. Taking improves the loss by v_k and has work w_k, skipping neither. r = 1, kappa = 0, T_max = W,
K_max = n, and the loss has to fall by V.

*Proof.* A plan of K epochs that takes the items I gains sum of v over I. With x <= r = 1 its epochs take at
least, and with x = 1 exactly, sum of w over I. So if I has weight at most W and value at least V, the plan
that takes I with x = 1 is feasible. If a plan is feasible, the items it takes among the first K have weight
at most W and value at least V. With kappa = 0 all plans cost 0: a cheapest plan is any feasible one.

*Tolerances.* T_max may be exceeded by 1e-9 of itself, x <= r by 1e-12, l_max by 1e-9. With W at most 6e8 that
is less than 1, the least difference of two sums.
"""

import math
from collections.abc import Iterable

from depl.instances.reductions.knapsack import LARGEST_LOSS, Knapsack, Number, require_separable
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
    """The instance that is feasible iff a knapsack reaches ``value``; every plan costs 0.

    Parameters
    ----------
    knapsack : Knapsack
    value : int or Fraction
        V.

    Raises
    ------
    NotCoveredError
        If numbers are too large for the tolerances of time and loss.
    """
    whole = knapsack.whole
    require_separable("values", sum(whole.values), LARGEST_LOSS)
    require_separable("capacity", whole.capacity)
    wanted = math.ceil(value / whole.value_unit)
    require_separable("wanted values", wanted, LARGEST_LOSS)
    nothing = [0] * len(knapsack)
    return take_or_skip(
        "knapsack-by-time",
        Decisions([gain(each) for each in whole.values], whole.weights),
        Decisions([gain(0)] * len(knapsack), nothing),
        Target(
            initial_loss=wanted,
            maximum_loss=0,
            quantile_level=0.9,
            maximum_epochs=len(knapsack),
            maximum_time=whole.capacity or 0.5,  # must be positive; no weight is between 0 and 1
        ),
        site(capacity=1, unit_cost=0),
    )


def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
    """The plan that takes ``items``, given by their places from 0, with full resources.

    Raises
    ------
    InvalidInputError
        If an item does not exist or is repeated.
    """
    taken = [float(weight > 0) for weight in knapsack.weights]
    return plan_taking(items, taken, [0.0] * len(knapsack))


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The items that a plan takes; they fit and reach the value iff the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction.
    """
    return taken_items(plan)
