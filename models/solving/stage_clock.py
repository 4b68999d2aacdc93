"""How long each stage of a loop took: what Property 2 bounds stage by stage."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from depl.models.solving.decisions import Stage

_Item = TypeVar("_Item")


class StageClock:
    """Adds up the seconds of stages; what one stage calls of another counts for that one alone.

    Parameters
    ----------
    now : callable
        Seconds from some fixed moment.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._seconds: dict[Stage, float] = {}
        self._running: list[Stage] = []
        self._since = 0.0

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds so far, by the stages' values; stages that never ran are absent [s]."""
        self._settle()
        return {stage.value: seconds for stage, seconds in self._seconds.items()}

    @contextmanager
    def during(self, stage: Stage) -> Iterator[None]:
        """Count what is done inside for ``stage``; what was counted before goes on afterwards."""
        self._settle()
        self._running.append(stage)
        self._seconds.setdefault(stage, 0.0)
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
