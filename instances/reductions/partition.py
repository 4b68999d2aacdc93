"""PARTITION as planning: a feasible plan iff numbers split into two halves of equal sum (E10).

Constructions and proofs: docs/model_selection.rst.
"""

from collections.abc import Sequence

from depl.instances.reductions.to_planning import (
    SKIP,
    TAKE,
    Decisions,
    certain,
    fall,
    gain,
    site,
    take_or_skip,
)
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance, Model, Target

_LARGEST_TARGET = 10**8
"""Above it, the tolerances (1e-9 of T_max) could confuse neighbouring whole numbers."""


def partition_by_epoch(numbers: Sequence[int]) -> Instance:
    """Feasible iff ``numbers`` split into two halves of equal sum: epoch k takes or skips number k.

    Parameters
    ----------
    numbers : sequence of int
        Positive, with an even sum.

    Raises
    ------
    NotCoveredError
        If the sum is too large for the tolerances of time.
    """
    half, nothing = _half(numbers), [0] * len(numbers)
    return take_or_skip(
        "partition-by-epoch",
        Decisions([gain(number) for number in numbers], numbers),
        Decisions([gain(0)] * len(numbers), nothing),
        _both_budgets(half, epochs=len(numbers)),
        site(capacity=1, unit_cost=1),
    )


def partition_by_model(numbers: Sequence[int]) -> Instance:
    """Feasible iff ``numbers`` split into two halves of equal sum; nothing depends on the epoch.

    Parameters
    ----------
    numbers : sequence of int
        Positive, with an even sum; few and small, because their digits are written one after the other.

    Raises
    ------
    InvalidInputError, NotCoveredError
        As `partition_by_epoch`.
    """
    half, count = _half(numbers), len(numbers)
    unit = count * max(numbers) + 1  # weight of the digits e_n, above the last digit
    places = [unit * (count + 1) ** index for index in range(count)]
    lead = unit * (count + 1) ** count
    models = []
    for index, number in enumerate(numbers, start=1):
        for name, digit in ((TAKE, number), (SKIP, 0)):
            value = float(lead + places[index - 1] + digit)
            models.append(Model(name=f"{name}-{index}", size=0, demand=value, improvement=gain(value)))
    goal = count * lead + sum(places) + half
    # Room for more epochs than numbers: the digits alone forbid them.
    return certain("partition-by-model", models, _both_budgets(goal, epochs=count + 2), site(1, unit_cost=1))


def _half(numbers: Sequence[int]) -> int:
    if not numbers or min(numbers) < 1:
        raise InvalidInputError("must be positive whole numbers, at least one", "numbers")
    if sum(numbers) % 2:
        raise InvalidInputError(f"the sum {sum(numbers)} is odd, so there is no partition", "numbers")
    return sum(numbers) // 2


def _both_budgets(goal: int, epochs: int) -> Target:
    """At most ``goal`` of time, at least ``goal`` of improvement."""
    if goal > _LARGEST_TARGET:
        raise NotCoveredError(
            f"the budgets would be {goal:.3g}, where T_max is kept to 1e-9 of itself only; at most "
            f"{_LARGEST_TARGET:.3g} is allowed: take fewer or smaller numbers"
        )
    return fall(goal, epochs, maximum_time=goal)
