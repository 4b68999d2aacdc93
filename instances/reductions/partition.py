"""PARTITION as planning: a feasible plan iff whole numbers a_1, ..., a_n > 0 of sum 2 B split in halves.

An epoch takes as much time (at full resources) as it improves the loss; T_max = B, and the loss has to fall
by B. So a feasible plan takes at most B and gains at least B: exactly B. An algorithm with any finite ratio,
both budgets kept, finds a feasible plan whenever there is one, and so decides PARTITION (E10).
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

    *Construction.* Two models; in epoch k, *take* has work and gain a_k, *skip* neither. r = 1, K_max = n.

    *Proof.* A feasible plan takes numbers of sum exactly B, as above; taking a half with x = 1 is feasible.

    *Tolerances.* T_max may be exceeded by 1e-9 of itself and l_max by 1e-9: with B at most 1e8 less than 1,
    the least difference of two sums.

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

    *Construction.* Number i becomes the models *take-i* and *skip-i*, whose work and gain is the number with
    the digits (1, e_i, a_i) or (1, e_i, 0), e_i being the i-th of n unit digits; both budgets have the digits
    (n, 1, ..., 1, B). The base is n + 1 for the unit digits and n max a + 1 for the last one.

    *Proof.* With at most n epochs no digit carries over, and the leading digit forces K = n. Then each i is
    decided once, and what is taken sums to B.

    *Tolerances* are those of `partition_by_epoch`. As the budgets are of the size of n**n, they allow few and
    small numbers.

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
