"""Which budgets a front asks for: the range that it finds by itself, and how they are spread over it."""

import math
from collections.abc import Callable, Sequence

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.solving.budgets import Budget
from depl.models.solving.result import Result

MARKS = (0.9, 0.95, 0.99)
"""Values of omega that people ask for first; a front against it shows them, whatever its other budgets."""

_OMEGAS = 0.5, 0.999
"""Range of omega at most, unless another is given or the instance asks for more or less: from a plan that
fails every second time to one that fails once in a thousand times. Beyond, a promise rests on tails of the
laws that hardly anybody has measured."""

_NINES_STEP = 0.05
"""The number of nines of omega within which its tight end is found: 0.9 and 0.911 are so far apart, and the
points of a front of 20 over the whole range three times as far."""

_STEP = 0.02
"""Share of the range of losses within which its tight end is found; the points of a front of 20 are 0.05 of
it apart."""

_TIME_STEP = 0.05
"""The same for times, relative to that of the fastest plan: with `_TIMES_FASTEST` a point of a front of 20 is
a time 7 % less than the one before."""

_MOST_STEPS = 12
"""Steps at most on the way to the tight end, each a solve: set by hand. Half of them reach 64 steps out, and
the rest halve what that leaves to one."""

_TIMES_FASTEST = 4.0
"""The loosest T_max over the time of the fastest plan, where no time is cheapest. Without a limit of time the
cost of computing falls like 1 / T_max for ever; four times the fastest shows three quarters of that."""

Probe = Callable[[Instance], Result]
"""Looks for any plan of an instance, cheap or not."""


def default_range(instance: Instance, against: Budget, probe: Probe, cheapest: Probe) -> tuple[float, float]:
    """The loosest and the tightest budget of a front.

    The tightest is one that no plan was found to keep, a little beyond the hardest that one keeps. The
    loosest is l(0), which needs no training where it is known; or the time of the cheapest plan without
    T_max, and where there is none `_TIMES_FASTEST` times that of the fastest. omega
    goes from 0.5 to 0.999 at most, or to what the instance asks for; where feasible sets are not nested, no
    end is sought, as a plan that is refused there says nothing of what is tighter.
    """
    kept = _Kept(instance, against, probe)
    if against is Budget.PROBABILITY:
        return _range_of_omegas(instance, kept)
    if against is Budget.LOSS:
        return _range_of_losses(instance, kept)
    return _range_of_times(instance, kept, cheapest)


class _Kept:
    """The strictness that some plan keeps which keeps a budget; None if none was found."""

    def __init__(self, instance: Instance, against: Budget, probe: Probe) -> None:
        self.against, self._instance, self._probe = against, instance, probe

    def __call__(self, budget: float) -> float | None:
        instance = self.against.instance(self._instance, budget)
        found = self._probe(instance)
        return None if found.plan is None else self.against.kept(instance, found)

    def hardest(self, kept: float, step: float, failed: float = math.inf) -> float:
        """A budget that nothing was found to keep, within about a step of one that is kept.

        Steps are doubled until one fails, unless the strictness ``failed`` of one that does is known, and the
        last one is halved until it is as small as the first.
        """
        against, width = self.against, step
        budget = math.inf
        for _ in range(_MOST_STEPS):
            budget = against.budget(kept + width if math.isinf(failed) else (kept + failed) / 2)
            found = self(budget)
            if found is None:
                failed = against.strictness(budget)
            else:
                kept, width = max(found, against.strictness(budget)), 2 * width
            if failed - kept <= 1.5 * step:
                break
        return budget if math.isinf(failed) else against.budget(failed)


def _range_of_omegas(instance: Instance, kept: _Kept) -> tuple[float, float]:
    own = instance.target.quantile_level
    loosest, tightest = min(_OMEGAS[0], own), max(_OMEGAS[1], own)
    if not kept.against.nested(instance) or kept(tightest) is not None:
        return loosest, tightest
    reached = kept(own)
    if reached is None:
        reached = kept(loosest)
    if reached is None:
        return loosest, max(own, loosest)
    return loosest, kept.hardest(reached, _NINES_STEP, kept.against.strictness(tightest))


def _range_of_losses(instance: Instance, kept: _Kept) -> tuple[float, float]:
    target = instance.target
    loosest = max(target.initial_loss, target.maximum_loss)
    reached = kept(target.maximum_loss)
    if reached is None:
        reached = kept(loosest)
    if reached is None:
        return loosest, target.maximum_loss
    fall = loosest + reached  # a strictness is a loss with its sign changed
    return loosest, kept.hardest(reached, _STEP * (fall or abs(loosest) or 1.0))


def _range_of_times(instance: Instance, kept: _Kept, cheapest: Probe) -> tuple[float, float]:
    against, own = kept.against, instance.target.maximum_time
    best = None
    try:
        best = cheapest(instance.replace(maximum_time=None)).training_time
    except InvalidInputError:  # then ever slower plans cost ever less
        if own is None:
            raise
    start = own or best
    if not start:
        raise InvalidInputError(
            "no plan without a limit of time was found, so no range of T_max is known; give the range",
            "between",
        )
    reached = kept(start)
    for _ in range(_MOST_STEPS):
        if reached is not None:
            break
        start *= 2
        reached = kept(start)
    if reached is None:
        return start, start
    fastest = against.budget(reached)
    loosest = best or max(start, _TIMES_FASTEST * fastest)
    return max(loosest, fastest), kept.hardest(reached, _TIME_STEP)


def required_range(instance: Instance, against: Budget, between: tuple[float, float]) -> tuple[float, float]:
    """A range of budgets, the loosest first.

    Raises
    ------
    InvalidInputError
        If a number is not finite, the second is below the first, or the instance cannot have one of them.
    """
    low, high = map(float, between)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInputError("both ends must be finite numbers", "between")
    if not low <= high:
        raise InvalidInputError(f"the first, {low:g}, must not exceed the second, {high:g}", "between")
    for budget in between:
        try:
            against.instance(instance, budget)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{budget:g} cannot be {against.field}: {error.message}", "between"
            ) from error
    return (low, high) if against is Budget.PROBABILITY else (high, low)


def asked_first(instance: Instance, against: Budget) -> list[float]:
    """Budgets that a front with a range of its own shows besides: the instance's, and marks of omega."""
    own = getattr(instance.target, against.field)
    marks = MARKS if against is Budget.PROBABILITY else ()
    return [*marks, *([] if own is None else [own])]


def spread(
    against: Budget, between: tuple[float, float], count: int, also: Sequence[float] = ()
) -> list[float]:
    """So many budgets from the loosest to the tightest, at equal steps of strictness, and marks between them.

    Those in ``also`` come besides, wherever they are.

    Raises
    ------
    InvalidInputError
        If the number is below 1.
    """
    if type(count) is not int or count < 1:
        raise InvalidInputError(f"must be a whole number from 1 on, not {count!r:.80}", "points")
    loosest, tightest = between
    first, last = against.strictness(loosest), against.strictness(tightest)
    inner = [against.budget(first + (last - first) * i / (count - 1)) for i in range(1, count - 1)]
    marks = [mark for mark in MARKS if against is Budget.PROBABILITY and loosest <= mark <= tightest]
    ends = [loosest] if count == 1 else [loosest, tightest]
    return sorted({*ends, *inner, *marks, *also}, key=against.strictness)


def halving_order(budgets: Sequence[float]) -> list[float]:
    """The first, the last, the middle, the middles of the halves, and so on.

    Examples
    --------
    >>> halving_order([1, 2, 3, 4, 5])
    [1, 5, 3, 2, 4]
    """
    found = dict.fromkeys([*budgets[:1], *budgets[-1:]])
    parts = [(0, len(budgets) - 1)]
    while parts:
        parts = [half for a, b in parts if b - a > 1 for half in ((a, (a + b) // 2), ((a + b) // 2, b))]
        found.update(dict.fromkeys(budgets[b] for _, b in parts))
    return list(found)
