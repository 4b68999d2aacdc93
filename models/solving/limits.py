"""When a method may stop, and what a caller hands to it besides the instance."""

import math
import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from depl.models.foundation.deadline import now
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import Scenarios, draw_scenarios, require_fitting
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.standstill import Standstill

Progress = Callable[[float, float, float], None]
"""Called with (seconds, incumbent cost, lower bound) whenever one of the two has moved."""

Rows = Callable[[Any], object]
"""Adds a caller's constraints to the Pyomo model of a method that solves by a program."""

OnPhase = Callable[[str], object]
"""Called with the name of a method when another method lets it run."""


@dataclass
class Looks:
    """A number of looks at the clock that a solve may take, so that it ends alike on every machine."""

    # Looks that still find time left; counted down, and shared by all `Limits` made from one another.
    left: int
    whole: "Looks | None" = None  # those that these are a part of, counted down with them

    def spent(self) -> bool:
        """Take one look: whether the number was used up before it."""
        self.left -= 1
        over = self.whole is not None and self.whole.spent()
        return self.left < 0 or over


@dataclass
class Cutoff:
    """What a caller holds while a method runs; it may change when another method finds something better."""

    # Of a plan that is certified to meet the target; infinite as long as there is none [cost].
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
        What the method takes besides, by name: `depl.models.solving.methods.Registered.options`.
    looks : Looks or None
        Counted looks at the clock, after which the time counts as over whatever the clock says.
    cutoff : Cutoff or None
        A plan that the caller holds; a method may leave out all that is not cheaper. One that then returns no
        plan, or a more expensive one, says by its lower bound that there is none cheaper.
    reserve : float
        Seconds after the time limit in which the plan that is returned is certified. A step that was begun
        before may take of them before it is broken off, as without a plan there is nothing to certify.
    rows : callable or None
        Adds rows of the caller to the program of a method that takes some
        (`depl.models.solving.methods.Registered.rows`).
    clock : callable
        What ``started`` and ``time_limit`` are read from: seconds since some moment.
    within : Limits or None
        Those whose time limits hold as well; see `turn`.
    standstill : Standstill or None
        The time counts as over once neither the plan nor the bound has moved for long; None: it does not.
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
    standstill: Standstill | None = None

    @property
    def cutoff_cost(self) -> float:
        """Cost of the plan that the caller holds; infinite without one [cost]."""
        return math.inf if self.cutoff is None else self.cutoff.cost

    def expired(self) -> bool:
        """Whether the time limit has been reached; counts as one look at the clock."""
        if self.looks is not None and self.looks.spent():
            return True
        return self.late() or self.stuck()

    def late(self) -> bool:
        """Whether the time is over by the clock; counts as no look at it."""
        return self._late(lambda _: 0.0) >= 0

    def stuck(self) -> bool:
        """Whether the time counts as over because nothing has moved for long."""
        return self.standstill is not None and self.standstill.over()

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

    def report(self, incumbent: float, bound: float = -math.inf) -> None:
        """Pass one row of progress on; no bound where none is proved."""
        if self.progress is not None:  # a search inside a method tells nobody of its own costs and bounds
            if self.standstill is not None:
                self.standstill.seen(incumbent, bound)
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
