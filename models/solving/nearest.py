"""How far each limit of an instance alone can be moved: until a plan exists, or until none is found.

All other limits stay as they are. What is called *reached* has a plan that `depl.models.solving.solve.solve`
has certified and verified there; what is called *out of reach* is a little tighter, and it is said whether
that is proved. Solves end with their first plan or after a counted number of looks at the clock, so that
the answer is that of the instance and not of the machine.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.solving.budgets import Budget
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve

_ANY, _LOOKS = 0.99, 50_000
"""Gap and looks at the clock of a solve for any plan, as those of a front: 20,000 looks decide on shipped
instances whether there is one."""

_SHARE = 0.01
"""Of l(0) - l_max, of a time, or of the number of nines of omega: within which an end is found."""

_LONGEST, _LEAST_OMEGA, _MOST_OMEGA, _MOST_EPOCHS = 1000.0, 0.01, 0.999, 8
"""The loosest and tightest values that are tried, besides l(0): a thousand times a time limit and eight times
K_max, which no user would call the same problem; omegas of which the first promises next to nothing."""

_MOST_STEPS = 14
"""Solves at most on the way from a value that is reached to one that is not: 2**-14 of it is left."""


_EXACTLY: dict[Budget, Callable[[float], float]] = {
    Budget.LOSS: lambda strictness: -strictness,
    Budget.TIME: lambda strictness: math.exp(-strictness),
    Budget.PROBABILITY: lambda strictness: 1 - 10**-strictness,
}
"""The budget of a strictness without its rounding, which may be to the tight side."""


@dataclass(frozen=True)
class Nearest:
    """One limit, and where plans begin if it alone is moved.

    Attributes
    ----------
    name : str
        l_max, omega, T_max, tau or K_max.
    own : float
        What the instance asks for.
    loosest, tightest : float
        The ends of what was tried.
    reached : float or None
        The tightest value that a plan was found for; None if there was none, however loose.
    failed : float or None
        A value that no plan was found for, a little tighter; None if every one that was tried is reached.
    proved : bool
        Whether it is proved that there is no plan at ``failed``, and without ``reached`` at ``loosest``.
    """

    name: str
    own: float
    loosest: float
    tightest: float
    reached: float | None
    failed: float | None
    proved: bool


@dataclass(frozen=True)
class _Limit:
    """A limit that can be moved; a greater strictness asks for more."""

    name: str
    own: float
    loosest: float
    tightest: float
    step: float
    strictness: Callable[[float], float]
    value: Callable[[float], float]
    exactly: Callable[[float], float]
    instance: Callable[[float], Instance]
    kept: Callable[[Instance, Result], float] | None = None


def any_plan(instance: Instance) -> Result:
    """A solve that ends with its first plan, or with a proof that there is none.

    Raises
    ------
    NotCoveredError
        If the default method does not cover the instance, or it declares no laws.
    """
    return uninterrupted(solve(instance, gap=_ANY, looks=_LOOKS))


def nearest_values(instance: Instance, found: Result) -> Iterator[Nearest]:
    """Every limit of an instance, one by one.

    Parameters
    ----------
    found : Result
        What `any_plan` says of it.
    """
    for limit in _limits(instance):
        try:
            yield _tightened(limit, found) if found.plan is not None else _relaxed(limit, found)
        except InvalidInputError:  # tables of so many epochs, say, hold for no other number
            continue


def _limits(instance: Instance) -> Iterator[_Limit]:
    target = instance.target
    loosest = max(target.initial_loss, target.maximum_loss)
    yield _budget(instance, Budget.LOSS, "l_max", loosest, -math.inf)
    yield _budget(instance, Budget.PROBABILITY, "omega", _LEAST_OMEGA, _MOST_OMEGA)
    if target.maximum_time:
        yield _budget(instance, Budget.TIME, "T_max", _LONGEST * target.maximum_time, 0.0)
    if target.round_deadline:
        own = target.round_deadline
        yield _Limit(
            name="tau",
            own=own,
            loosest=_LONGEST * own,
            tightest=0.0,
            step=_SHARE,
            strictness=Budget.TIME.strictness,
            value=Budget.TIME.budget,
            exactly=_EXACTLY[Budget.TIME],
            instance=lambda value: instance.replace(round_deadline=value),
        )
    if target.maximum_epochs:
        yield _Limit(
            name="K_max",
            own=target.maximum_epochs,
            loosest=_MOST_EPOCHS * target.maximum_epochs,
            tightest=0,
            step=1.0,
            strictness=lambda value: -value,
            value=lambda strictness: math.floor(-strictness),
            exactly=lambda strictness: -strictness,
            instance=lambda value: instance.replace(maximum_epochs=int(value)),
            kept=lambda _, result: -(result.epochs or 0),
        )


def _budget(instance: Instance, kind: Budget, name: str, loosest: float, tightest: float) -> _Limit:
    own = getattr(instance.target, kind.field)
    size = 1.0
    if kind is Budget.LOSS:
        size = abs(instance.target.initial_loss - own) or abs(own) or 1.0
    return _Limit(
        name=name,
        own=own,
        loosest=loosest,
        tightest=tightest,
        step=_SHARE * size,
        strictness=kind.strictness,
        value=kind.budget,
        exactly=_EXACTLY[kind],
        instance=lambda value: kind.instance(instance, value),
        kept=kind.kept,
    )


class _Asked:
    """What is found out of one limit: the strictness that is kept, and one that is not."""

    def __init__(self, limit: _Limit) -> None:
        self.limit = limit
        self.kept, self.failed, self.proved = -math.inf, math.inf, False

    def at(self, value: float) -> bool:
        """Whether a plan is found for a value."""
        instance, asked = self.limit.instance(value), self.limit.strictness(value)
        self.note(instance, asked, any_plan(instance))
        return self.kept >= asked

    def note(self, instance: Instance, asked: float, result: Result) -> None:
        if result.plan is None:
            self.failed, self.proved = asked, result.termination is Termination.INFEASIBLE
            return
        kept = asked if self.limit.kept is None else max(asked, self.limit.kept(instance, result))
        self.kept = max(self.kept, kept if kept < self.failed else asked)

    def halve(self) -> None:
        """Move both ends towards each other, until they are a step apart."""
        for _ in range(_MOST_STEPS):
            middle = self.limit.value((self.kept + self.failed) / 2)
            close = self.failed - self.kept <= self.limit.step * 1.000001
            if close or not self.kept < self.limit.strictness(middle) < self.failed:
                return
            self.at(middle)

    def answer(self) -> Nearest:
        limit = self.limit
        return Nearest(
            limit.name,
            limit.own,
            limit.loosest,
            limit.tightest,
            None if math.isinf(self.kept) else limit.exactly(self.kept),
            None if math.isinf(self.failed) else limit.value(self.failed),
            self.proved,
        )


def _relaxed(limit: _Limit, found: Result) -> Nearest:
    """From the limit of an instance without a plan to looser ones."""
    asked = _Asked(limit)
    own = limit.strictness(limit.own)
    if limit.strictness(limit.loosest) >= own or not asked.at(limit.loosest):
        return asked.answer()
    asked.failed, asked.proved = own, found.termination is Termination.INFEASIBLE
    asked.halve()
    return asked.answer()


def _tightened(limit: _Limit, found: Result) -> Nearest:
    """From the limit of an instance with a plan to tighter ones: ever further until one fails."""
    asked = _Asked(limit)
    own = limit.strictness(limit.own)
    asked.note(limit.instance(limit.own), own, found)
    end = limit.strictness(limit.tightest) if limit.tightest or limit.name == "K_max" else math.inf
    width = limit.step
    for _ in range(_MOST_STEPS):
        further = min(asked.kept + width, end)
        if not asked.kept < further < math.inf or not asked.at(limit.value(further)):
            break
        width *= 2
    if math.isfinite(asked.failed):
        asked.halve()
    return asked.answer()
