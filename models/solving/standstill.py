"""For how long a solve has brought neither a better plan nor a better bound, by its rows of progress."""

import math
from dataclasses import dataclass, field

from depl.models.foundation.deadline import now

_MOVED = 1e-4
"""Share by which a cost or a bound has to change to count as moved: a gap is shown with no more digits."""

_SHARE, _AT_LEAST = 1 / 3, 10.0
"""A standstill takes this share of the time limit; without one it takes as long as the run took before it,
and at least so many seconds. Set by hand: on nine instances with 10 to 20 clusters and a limit of 30 s,
something moved again after more than a third of it on four, by 0.01 to 4 %."""


@dataclass
class Standstill:
    """When the best plan and the lower bound last moved."""

    time_limit: float | None = None  # of the solve [s]
    # When they last moved; infinite and 0 before [cost].
    cost: float = math.inf
    bound: float = 0.0
    # For how long nothing had moved when this turn was `over` [s].
    stood: float = field(default=0.0, init=False)
    _started: float = field(init=False)
    _plan_at: float = field(init=False)
    _bound_at: float = field(init=False)
    _turn_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Everything begins now."""
        self._started = self._plan_at = self._bound_at = self._turn_at = now()

    def seen(self, cost: float, bound: float) -> None:
        """Take a row of progress."""
        if cost < self.cost * (1 - _MOVED):
            self.cost, self._plan_at = cost, now()
        if bound > self.bound * (1 + _MOVED):
            self.bound, self._bound_at = bound, now()

    def turn(self) -> None:
        """Give another method its time: `over` counts from now."""
        self._turn_at, self.stood = now(), 0.0

    def over(self) -> bool:
        """Whether a plan is held, and nothing had moved for long in this turn alone, whatever comes after."""
        moved = max(self._plan_at, self._bound_at)
        if not self.stood and math.isfinite(self.cost) and self._long(max(moved, self._turn_at)):
            self.stood = now() - moved
        return self.stood > 0

    @property
    def bound_stands(self) -> float:
        """Seconds for which the bound has not moved, if that is long; otherwise 0 [s]."""
        return self._long(self._bound_at)

    def _long(self, since: float) -> float:
        seconds, before = now() - since, since - self._started
        long = max(_AT_LEAST, before) if self.time_limit is None else _SHARE * self.time_limit
        return seconds if seconds >= long else 0.0
