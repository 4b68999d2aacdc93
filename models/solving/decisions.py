"""What a method decided on its way, and why, and how long each of its stages took.

The three stages are those of Fig. 3. A decision that was taken back, or that led nowhere, is recorded like
one that holds: why a loop went back is what a reader of ``--explain`` wants to know. The seconds are what
Property 2 bounds stage by stage.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from depl.models.foundation.wording import number

_Item = TypeVar("_Item")


class Stage(Enum):
    """Where a decision belongs."""

    DATA = "data"
    """Which datasets each cluster uses (Sec. IV-A)."""
    MODELS = "models"
    """Which model each epoch trains (Sec. IV-B)."""
    RESOURCES = "resources"
    """Which cluster trains each epoch, and how much of it (Sec. IV-C)."""


@dataclass(frozen=True)
class Decision:
    """One decision.

    Attributes
    ----------
    choice : str
        What was chosen, or could not be, in one sentence.
    outcome : str
        What came of it: that it was kept, or why the method went back, with the nearest reachable value.
    kept : bool
        Whether the method went on from here; False where it went back.
    cost : float or None
        Cost of the best plan that came of it [cost].
    lower_bound : float or None
        No plan with this decision costs less [cost].
    value : float or None
        What the stage itself minimises, where that is not a cost: K^ T^ of a choice of data [time].
    """

    stage: Stage
    choice: str
    outcome: str
    kept: bool = True
    cost: float | None = None
    lower_bound: float | None = None
    value: float | None = None


_FEW = 2
"""Decisions in a row, taken back at one stage, that are told one by one in any case: a line that counts them
would be no shorter."""


def told(decisions: Sequence[Decision], details: bool = True) -> str:
    """The decisions as text, one line each.

    Parameters
    ----------
    details : bool
        Whether every decision has its line. Otherwise those that were taken back one after another at the
        same stage share one, which counts them.
    """
    lines = []
    numbered = enumerate(decisions, start=1)
    for (_, kept), group in itertools.groupby(numbered, key=lambda pair: (pair[1].stage, pair[1].kept)):
        members = list(group)
        if details or kept or len(members) <= _FEW:
            lines += [_line(position, item) for position, item in members]
        else:
            (first, item), (last, _) = members[0], members[-1]
            tried = f"{len(members)} choices were tried and taken back, up to decision {last}"
            lines.append(f"{first:3d}. {item.stage.value}: {tried}")
    return "\n".join(lines)


def _line(position: int, item: Decision) -> str:
    mark = "" if item.kept else "; went back"
    values = [
        f"{name} {number(value)}"
        for name, value in (("cost", item.cost), ("at least", item.lower_bound))
        if value is not None and math.isfinite(value)
    ]
    figures = f" ({', '.join(values)})" if values else ""
    return f"{position:3d}. {item.stage.value}: {item.choice}: {item.outcome}{figures}{mark}"


class StageClock:
    """Adds up the seconds of stages; what one stage calls of another counts for that one alone."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = 0.0

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds so far, by the stages' values; stages that never ran are absent [s]."""
        self._settle()
        return dict(self._seconds)

    @contextmanager
    def during(self, stage: Stage) -> Iterator[None]:
        """Count what is done inside for ``stage``; what was counted before goes on afterwards."""
        self._settle()
        self._running.append(stage.value)
        self._seconds.setdefault(stage.value, 0.0)
        try:
            yield
        finally:
            self._settle()
            self._running.pop()

    def items(self, stage: Stage, source: Iterable[_Item]) -> Iterator[_Item]:
        """The items of ``source``; the making of each counts for ``stage``, its use does not."""
        remaining = iter(source)
        while True:
            with self.during(stage):
                try:
                    item = next(remaining)
                except StopIteration:
                    return
            yield item

    def _settle(self) -> None:
        moment = self._now()
        if self._running:
            self._seconds[self._running[-1]] += moment - self._since
        self._since = moment
