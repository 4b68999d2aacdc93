"""A method that can be paused: it runs in a thread of its own and waits where its time is over.

Methods look at the clock often (`depl.models.solving.limits.Limits.expired`), and end with what they hold
once it says that their time is over. Here such a look can wait instead, until there is more time. So two
methods can take turns, each going on where it was, and neither has to know. Only one of the threads runs at
any time: who lets a method proceed waits for it.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline, now
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination

_Method = Callable[[Instance, Limits], Outcome]


class Paused:
    """A method on an instance, that has not begun.

    Parameters
    ----------
    method : callable
        Its only limit of time may be `Limits.expired`: one that hands seconds on to a solver is not paused.
    limits : Limits
        Gap, seed, progress and cutoff. Its limit of time is that of all turns: what
        is begun in one and cannot be paused has to be done by then.
    """

    def __init__(self, method: _Method, instance: Instance, limits: Limits) -> None:
        self._turn = threading.Condition()
        self._running = False
        self._stopped: float | None = None
        self._whole = self._allowed = limits
        self._answer: Future[Outcome] = Future()
        own = _PausingLimits(**{**vars(replace(limits, time_limit=None, looks=None)), "owner": self})
        self._thread = threading.Thread(target=self._run, args=(method, instance, own), daemon=True)

    @property
    def ended(self) -> bool:
        """Whether the method has returned, or raised."""
        return self._answer.done()

    @property
    def waits(self) -> bool:
        """Whether the method has begun and not ended."""
        return self._thread.is_alive() and not self.ended

    def proceed(self, allowed: Limits) -> Outcome | None:
        """Let the method go on until the limits expire; what it returned or raises, None if it waits."""
        with self._turn:
            self._allowed = allowed
            self._running = not self.ended
            if self._running and not self._thread.is_alive():
                self._thread.start()
            self._turn.notify_all()
            while self._running:
                self._turn.wait()
        return self._answer.result() if self.ended else None

    def stop(self) -> Outcome | None:
        """Let the method end with what it holds; None if it was never begun."""
        if not self._thread.is_alive() and not self.ended:
            return None
        self._stopped = now()
        return self.proceed(self._allowed)

    def _run(self, method: _Method, instance: Instance, limits: Limits) -> None:
        try:
            with deadline(self._lateness):
                self._answer.set_result(method(instance, limits))
        except OutOfTimeError:
            reason = "stopped before there was a plan; allow more time"
            self._answer.set_result(Outcome(Termination.TIME_LIMIT, None, 0.0, reason))
        except BaseException as error:  # noqa: BLE001 - it is raised again by `proceed`
            self._answer.set_exception(error)
        with self._turn:
            self._running = False
            self._turn.notify_all()

    def look(self) -> bool:
        """What the method is told when it looks at the clock: whether it has to end. It waits here."""
        if self._stopped is None and self._allowed.expired():
            self._wait()
        return self._stopped is not None

    def _lateness(self) -> float:
        """Seconds since the method was to end. A step that takes long waits in its midst for more time."""
        if self._stopped is None and self._allowed.lateness() >= LEEWAY:
            self._wait()
        return self._whole.lateness() if self._stopped is None else now() - self._stopped

    def _wait(self) -> None:
        with self._turn:
            self._running = False
            self._turn.notify_all()
            while not self._running:
                self._turn.wait()


@dataclass(frozen=True)
class _PausingLimits(Limits):
    """Limits whose time is that of who lets the method proceed."""

    owner: Paused | None = None

    def expired(self) -> bool:
        """Wait for more time, or say that there is none."""
        over = super().expired()
        return (self.owner is not None and self.owner.look()) or over
