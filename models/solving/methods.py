"""The seam between callers and solution methods: what a method receives and returns, and its registry."""

import math
import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from numbers import Integral
from typing import Any, Protocol

import msgspec
import numpy as np

from depl.models.foundation.deadline import now
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.foundation.later import METHODS
from depl.models.foundation.names import advice
from depl.models.foundation.removed import removed
from depl.models.problem.instance import Instance
from depl.models.problem.laws import NO_LAW
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios, require_fitting
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS, DEFAULT_SCENARIOS
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome as Outcome
from depl.models.solving.result import Result, Termination

Progress = Callable[[float, float, float], None]
"""Called with (seconds, incumbent cost, lower bound) whenever one of the two has moved."""

Rows = Callable[[Any], object]
"""Adds a caller's constraints to the Pyomo model of a method that solves by a program."""

OnPhase = Callable[[str], object]
"""Called with the name of a method when another method lets it run."""


class Meaning(Enum):
    """What a method understands by the quantile in constraint (3)."""

    LAW = "law"
    """The law of the loss, by certified probabilities."""
    SCENARIOS = "scenarios"
    """A count of sampled scenarios (sample average approximation)."""


class Proof(Enum):
    """What a method can prove about the cost of its plans, given time."""

    OPTIMUM = "the optimum"
    """That no plan costs less, or that there is none."""
    BOUND = "a lower bound"
    """How much the cheapest plan costs at least."""
    NOTHING = "nothing"


@dataclass
class Looks:
    """A number of looks at the clock that a solve may take, so that it ends alike on every machine.

    Attributes
    ----------
    left : int
        Looks that still find time left; counted down, and shared by all `Limits` made from one another.
    whole : Looks or None
        Those that these are a part of, counted down with them.
    """

    left: int
    whole: "Looks | None" = None

    def spent(self) -> bool:
        """Take one look: whether the number was used up before it."""
        self.left -= 1
        over = self.whole is not None and self.whole.spent()
        return self.left < 0 or over


@dataclass
class Cutoff:
    """What a caller holds while a method runs; it may change when another method finds something better.

    Attributes
    ----------
    cost : float
        Of a plan that is certified to meet the target; infinite as long as there is none [cost].
    """

    cost: float = math.inf


_STRETCHED = 2
"""Times the share of a turn that the clock may show at its end: set by hand. The shares of `auto` before its
loop, doubled, leave it a third of the time where the process gets less than half of a processor."""


@dataclass(frozen=True)
class Limits:
    """When a method may stop.

    Attributes
    ----------
    gap : float
        Certified relative gap that is good enough; 0 asks for a proof of optimality.
    time_limit : float or None
        Wall seconds.
    seed : int
        For methods that draw.
    scenarios : Scenarios or None
        The sample that methods of meaning SCENARIOS count on; None for all others.
    progress : callable or None
        Receives rows of progress.
    on_phase : callable or None
        Receives the name of each method that the method lets run, when its turn begins.
    options : mapping
        What the method takes besides, by name; see `Registered.options`.
    looks : Looks or None
        Counted looks at the clock, after which the time counts as over whatever the clock says.
    cutoff : Cutoff or None
        A plan that the caller holds; a method may leave out all that is not cheaper. One that then returns no
        plan, or a more expensive one, says by its lower bound that there is none cheaper.
    reserve : float
        Seconds after the time limit in which the plan that is returned is certified. A step that was begun
        before may take of them before it is broken off, as without a plan there is nothing to certify.
    rows : callable or None
        Adds rows of the caller to the program of a method that takes some; see `Registered.rows`.
    clock : callable
        What ``started`` and ``time_limit`` are read from: seconds since some moment.
    within : Limits or None
        Those whose time limits hold as well; see `turn`.
    """

    gap: float = 0.0
    time_limit: float | None = None
    seed: int = 0
    scenarios: Scenarios | None = None
    progress: Progress | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    started: float = field(default_factory=now)
    looks: Looks | None = None
    cutoff: "Cutoff | None" = None
    reserve: float = 0.0
    on_phase: OnPhase | None = None
    rows: Rows | None = None
    clock: Callable[[], float] = field(default_factory=lambda: now)  # a function of its own is no method
    within: "Limits | None" = None

    @property
    def cutoff_cost(self) -> float:
        """Cost of the plan that the caller holds; infinite without one [cost]."""
        return math.inf if self.cutoff is None else self.cutoff.cost

    def expired(self) -> bool:
        """Whether the time limit has been reached; counts as one look at the clock."""
        if self.looks is not None and self.looks.spent():
            return True
        return self._late(lambda _: 0.0) >= 0

    def lateness(self) -> float:
        """Seconds since time limit and reserve are over, negative before; counts as no look at the clock."""
        return self._late(lambda limits: limits.reserve)

    def _late(self, reserve: Callable[["Limits"], float]) -> float:
        outer = -math.inf if self.within is None else self.within._late(reserve)
        if self.time_limit is None:
            return outer
        return max(outer, self.clock() - self.started - self.time_limit - reserve(self))

    def part(self, share: float) -> "Limits":
        """The same, but they expire once a share of the time that is left now has gone by."""
        if self.time_limit is None:
            return self
        gone = self.clock() - self.started
        until = gone + share * max(self.time_limit - gone, 0.0)
        return replace(self, time_limit=until, reserve=self.reserve if share == 1 else 0.0)

    def turn(self, share: float, seconds: float) -> "Limits":
        """Limits that expire with these, or once a share of the time that is left has gone by.

        Where no time is limited, after so many seconds; where looks are counted, after a share of them. Both
        are CPU seconds of this process, so that it does not depend on what else the machine does which method
        comes to what. Where it does much else, a turn ends after `_STRETCHED` times its share of the clock.
        """
        looks = None if self.looks is None else Looks(math.ceil(share * max(self.looks.left, 0)), self.looks)
        if self.time_limit is None:
            if looks is not None or math.isinf(seconds):
                return replace(self, looks=looks)
        elif share == 1:
            return replace(self.part(1.0), looks=looks)
        else:
            seconds = share * max(self.time_limit - (self.clock() - self.started), 0.0)
        return replace(
            self,
            looks=looks,
            clock=time.process_time,
            started=time.process_time(),
            time_limit=seconds,
            reserve=0.0,
            within=self.part(min(1.0, _STRETCHED * share)),
        )

    def enter(self, method: str) -> None:
        """Tell that another method runs from now on."""
        if self.on_phase is not None:
            self.on_phase(method)

    def report(self, incumbent: float, bound: float) -> None:
        """Pass one row of progress on."""
        if self.progress is not None:
            self.progress(self._gone(), incumbent, bound)

    def _gone(self) -> float:
        return self.clock() - self.started if self.within is None else self.within._gone()


def require_limits(
    gap: float = 0.0, time_limit: float | None = None, seed: int = 0
) -> tuple[float, float | None, int]:
    """The same as plain numbers, if a caller may ask for them; inside a solve, no time may be left."""
    try:
        gap, time_limit = float(gap), None if time_limit is None else float(time_limit)
        seed = operator.index(seed)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"gap, time_limit and seed must be numbers: {error}") from error
    if not 0 <= gap < 1:
        raise InvalidInputError(f"gap must lie in [0, 1), not {gap}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidInputError(f"time_limit must be positive, not {time_limit}")
    if seed < 0:
        raise InvalidInputError(f"seed must be at least 0, not {seed}")
    return gap, time_limit, seed


class Method(Protocol):
    """A solution method; a bare `Plan` or None stands for "a plan without a bound"."""

    def __call__(self, instance: Instance, limits: Limits) -> Outcome | Plan | None:
        """Solve ``instance`` within ``limits``; must leave KeyboardInterrupt to the caller or handle it.

        May leave `OutOfTimeError` to the caller while it holds nothing.
        """


@dataclass(frozen=True)
class Registered:
    """A method with its name, a sentence on what it does, and the options it takes.

    ``proof`` says what it can prove about cost, None if that was not declared, and ``needs`` what must be
    there besides what every method needs: solvers that it calls, or properties of the instance. ``memory``
    says whether it plans under laws with memory, too
    (`depl.models.problem.instance.Instance.traced_law`). ``version`` is raised when the name begins to mean
    another thing, so that results recorded under it before are not taken for its own
    (`depl.benchmarks.measure.old_forms`). ``shipped`` says whether the method comes with depl; what any other
    says about all plans is its own claim (`depl.models.solving.result.Result.claimed`). ``rows`` says whether
    it takes rows of the caller (`Limits.rows`) and then returns no plan that they forbid.
    """

    name: str
    run: Method
    summary: str
    meaning: Meaning = Meaning.LAW
    listed: Callable[[], tuple[Option, ...]] = tuple
    memory: bool = False
    version: int = 1
    proof: Proof | None = None
    needs: str = ""
    shipped: bool = False
    rows: bool = False

    @property
    def options(self) -> tuple[Option, ...]:
        """What ``listed`` lists, which may import the method."""
        return self.listed()


_REGISTRY: dict[str, Registered] = {}


def _known() -> dict[str, Registered]:
    """All methods by name, those included that waited to be asked for."""
    METHODS.need()
    return _REGISTRY


def register(
    name: str,
    method: Method,
    summary: str = "",
    meaning: Meaning = Meaning.LAW,
    options: Sequence[str | Option] = (),
    memory: bool = False,
    version: int = 1,
    proof: Proof | None = None,
    needs: str = "",
    rows: bool = False,
) -> None:
    """Make ``method`` available under ``name`` in solve, benchmarks and reports.

    Options may be given by their names alone; the rest is as in `Registered`.

    Raises
    ------
    InvalidInputError
        If the name is taken by another method or no name, or the method no function.
    """
    given: tuple[object, object] = name, method
    if not (isinstance(given[0], str) and name and callable(given[1])):
        raise InvalidInputError(
            f"a method is registered by its name and its function, not {name!r:.80} and {method!r:.80}"
        )
    known = _known().get(name)
    if known is not None and known.run is not method:
        raise InvalidInputError(f"a method {name!r} is registered already; choose another name")
    sentence = summary or (method.__doc__ or "").strip().split("\n")[0]
    taken = tuple(Option(item) if isinstance(item, str) else item for item in options)
    shipped = known is not None and known.shipped
    _REGISTRY[name] = Registered(
        name, method, sentence, meaning, lambda: taken, memory, version, proof, needs, shipped, rows
    )


def ship(methods: Iterable[Registered]) -> None:
    """Register what comes with depl (`depl.built_in`)."""
    _REGISTRY.update({method.name: method for method in methods})


def is_shipped(name: str) -> bool:
    """Whether the method of that name comes with depl; no for a name that is not registered."""
    known = _known().get(name)
    return known is not None and known.shipped


def default_method(instance: Instance) -> str:
    """Name of the method that solves an instance unless the caller names one."""
    return DEFAULT_METHOD if instance.declares_laws else DEFAULT_ON_SCENARIOS


def find(name: str) -> Registered:
    """The method of that name.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists those that exist.
    """
    known = _known()
    if name not in known:
        gone = removed(f"method {name}")
        raise InvalidInputError(gone or f"no method {name!r}; {advice(name, sorted(known))}")
    return known[name]


def require_counting(name: str) -> Registered:
    """The method of that name, which counts scenarios; refuse one that works under the law."""
    method = find(name)
    if method.meaning is Meaning.LAW:
        able = ", ".join(known.name for known in registered() if known.meaning is Meaning.SCENARIOS)
        raise InvalidInputError(
            f"method {name!r} works under the law itself and takes no scenarios; leave them out, or choose a "
            f"method that counts them: {able}",
            "scenarios",
        )
    return method


def require_rows(method: Registered, rows: object) -> None:
    """Refuse rows that are no function, or that the method does not take."""
    if rows is None:
        return
    if not callable(rows):
        raise InvalidInputError(
            f"must be a function that adds constraints to a Pyomo model, not {rows!r:.80}", "rows"
        )
    if not method.rows:
        able = ", ".join(known.name for known in registered() if known.rows)
        raise InvalidInputError(
            f"method {method.name!r} has no program to add rows to; methods that take them: {able}", "rows"
        )


def require_covered(instance: Instance, method: Registered) -> None:
    """Refuse an instance without laws where a method works under them, and memory where it knows none."""
    if method.meaning is Meaning.LAW and not instance.declares_laws:
        raise NotCoveredError(NO_LAW)
    if instance.has_memory and not method.memory:
        able = ", ".join(known.name for known in registered() if known.memory)
        raise NotCoveredError(
            f"method {method.name!r} plans with independent increments, and the loss of {instance.name!r} "
            f"has memory (traced_law); methods that know that: {able}"
        )


def sample_of(instance: Instance, scenarios: int | Scenarios | None = None, seed: int = 0) -> Scenarios:
    """The scenarios that a caller asks for: those given, or so many drawn with ``seed`` (100 unless given).

    Raises
    ------
    InvalidInputError
        If they do not fit the instance, have a seed although no law is declared, or are no number.
    NotCoveredError
        If there is no law to draw them from.
    """
    if isinstance(scenarios, Scenarios):
        require_fitting(instance, scenarios)
        if scenarios.seed is not None and not instance.declares_laws:
            raise InvalidInputError("have a seed, but there is no law to draw them from", "scenarios")
        return scenarios
    size: object = DEFAULT_SCENARIOS if scenarios is None else scenarios
    if isinstance(size, bool) or not isinstance(size, Integral):
        raise InvalidInputError(f"must be a whole number or Scenarios, not {size!r:.80}", "scenarios")
    return draw_scenarios(instance, int(size), seed)


def registered() -> tuple[Registered, ...]:
    """All methods, by name."""
    known = _known()
    return tuple(known[name] for name in sorted(known))


_NOTHING = "no plan found: the method returns None"
"""The reason where a method returns None."""


def outcome_of(method: str, returned: object, defect: type[DeplError]) -> Outcome:
    """What a method returned, if it is of a known kind and does not contradict itself.

    If it is not, that is a defect of a method that comes with depl, and an invalid input of any other.
    """
    outcome, wrong = returned, defect if is_shipped(method) else InvalidInputError
    if outcome is None or isinstance(outcome, Plan):
        outcome = Outcome(Termination.EXHAUSTED, outcome, reason=None if outcome else _NOTHING)
    if not isinstance(outcome, Outcome) or isinstance(outcome, Result):
        kind = type(outcome).__name__
        raise wrong(f"method {method!r} returns a {kind}; an Outcome, a Plan or None is needed")
    if not is_shipped(method):
        outcome = _typed(outcome, method)
    stopped = outcome.termination
    if outcome.plan is None and stopped in (Termination.OPTIMAL, Termination.GAP_REACHED):
        raise wrong(f"method {method!r} says {stopped.value!r} without a plan")
    if outcome.plan is not None and stopped is Termination.INFEASIBLE:
        raise wrong(f"method {method!r} says {stopped.value!r} and holds a plan")
    return outcome


def _typed(outcome: Outcome, method: str) -> Outcome:
    """The outcome of a user's method with every field of its declared type; numpy's numbers as plain ones."""
    given = {item.name: _plain(getattr(outcome, item.name)) for item in fields(Outcome)}
    try:
        found = msgspec.convert(given, Outcome)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"method {method!r} returns a malformed Outcome: {error}") from error
    if math.isnan(found.lower_bound):
        raise InvalidInputError(
            f"method {method!r} returns a malformed Outcome: its lower_bound is no number (nan)"
        )
    return found


def _plain(value: object) -> object:
    """Records as their fields, which msgspec then looks at, and numbers of numpy as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
