"""Instances that refute or limit what can be promised: families A and B, and PARTITION (E10).

- `short_epochs` (A): more epochs are needed than the expanded graph has room for, within half of T_max.
- `almost_one_level` (B): a cheap model improves the loss by almost one level of the graph, an expensive one
  by exactly one level.
- `partition_by_epoch`, `partition_by_model`: an instance has a feasible plan iff given numbers can be split
  into two halves of equal sum. Constructions and proof: docs/model_selection.rst.
"""

import math
from collections.abc import Sequence

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Cluster, ComputeTable, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic, Zero
from depl.models.problem.learning import ConstantImprovement, Improvement, TabledImprovement

TAKE, SKIP = "take", "skip"

_LARGEST_TARGET = 10**8
"""Above it, the tolerances (1e-9 of T_max) could confuse neighbouring whole numbers."""


def short_epochs(levels: int = 200) -> Instance:
    """Counterexample A: levels / 2 + 1 epochs of 1.05 levels of time each are needed.

    They take 1.05 (1/2 + 1 / levels) of T_max; the graph counts 2 levels for each, levels + 2 in all.

    Parameters
    ----------
    levels : int
        eta, even and at least 24, so that 53 % (55 % for 24) of T_max are used.

    Raises
    ------
    InvalidInputError
        If ``levels`` is odd or smaller.
    """
    if levels < 24 or levels % 2:
        raise InvalidInputError(f"must be even and at least 24, not {levels}", "levels")
    needed = levels // 2 + 1
    return _instance(
        f"short-epochs-{levels}",
        (_model("only", _constant(1.0), work=1.05 / levels),),
        Target(
            initial_loss=levels,
            maximum_loss=levels - needed,
            quantile_level=0.9,
            maximum_epochs=needed,
            maximum_time=1.0,
        ),
        capacity=1.0,
    )


def almost_one_level(price: float, levels: int = 200) -> Instance:
    """Counterexample B: ``cheap`` gains 0.99 levels at cost 1, ``expensive`` exactly one at cost ``price``.

    Ten levels are to be gained; only the round deadline limits time, so that an epoch costs what it computes.
    The optimum is 11 epochs of ``cheap`` and costs 11 if ``price`` >= 2. In the graph ``cheap`` never moves.

    Parameters
    ----------
    price : float
        R >= 2 [cost].
    levels : int
        eta, at least 10.

    Raises
    ------
    InvalidInputError
        If a parameter is out of range.
    """
    if not 2 <= price < math.inf:
        raise InvalidInputError(f"must be at least 2, not {price}", "price")
    if levels < 10:
        raise InvalidInputError(f"must be at least 10, not {levels}", "levels")
    return _instance(
        f"almost-one-level-{levels}-{price:g}",
        (_model("cheap", _constant(0.99), work=1.0), _model("expensive", _constant(1.0), work=price)),
        Target(
            initial_loss=levels,
            maximum_loss=levels - 10,
            quantile_level=0.9,
            maximum_epochs=20,
            round_deadline=1.0,
        ),
        capacity=price,
    )


def partition_by_epoch(numbers: Sequence[int]) -> Instance:
    """Feasible iff ``numbers`` split into two halves of equal sum: epoch k takes or skips number k.

    Parameters
    ----------
    numbers : sequence of int
        Positive, with an even sum.

    Raises
    ------
    InvalidInputError
        If a number is not positive or the sum is odd (there is no partition then, and none to look for).
    NotCoveredError
        If the sum is too large for the tolerances of time.
    """
    half = _half(numbers)
    nothing = tuple(0.0 for _ in numbers)
    taken = tuple(float(number) for number in numbers)
    models = tuple(
        Model(
            name=name,
            size=0,
            improvement=TabledImprovement(epochs=tuple(_constant(gain) for gain in gains)),
            compute=(ComputeTable(epochs=gains),),
        )
        for name, gains in ((TAKE, taken), (SKIP, nothing))
    )
    target = _both_budgets(half, epochs=len(numbers))
    return _instance("partition-by-epoch", models, target, capacity=1.0)


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
            models.append(_model(f"{name}-{index}", _constant(value), work=value))
    goal = count * lead + sum(places) + half
    # Room for more epochs than numbers: the digits alone forbid them.
    return _instance("partition-by-model", tuple(models), _both_budgets(goal, epochs=count + 2), capacity=1.0)


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
    return Target(
        initial_loss=goal, maximum_loss=0, quantile_level=0.9, maximum_epochs=epochs, maximum_time=goal
    )


def _constant(gain: float) -> ConstantImprovement:
    return ConstantImprovement(noise=Deterministic(value=gain))


def _model(name: str, improvement: Improvement, work: float) -> Model:
    return Model(name=name, size=0, demand=work, improvement=improvement)


def _instance(name: str, models: tuple[Model, ...], target: Target, capacity: float) -> Instance:
    """One cluster and one dataset of volume 1; switches are free, nothing is random."""
    return Instance(
        name=name,
        clusters=(Cluster(name="site", capacity=capacity, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="data", volume=1),),
        models=models,
        target=target,
        other_switches=Zero(),
    )
