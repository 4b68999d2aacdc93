"""What happens meanwhile: lines and bars on standard error, and only if that is a terminal."""

import math
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from depl.commands.printable import printable
from depl.models.foundation.wording import number, percentage, rounded_down
from depl.models.problem.units import NO_UNITS, Units
from depl.models.solving.methods import OnPhase, Progress

if TYPE_CHECKING:
    from rich.text import Text


class Watched:
    """What a solve does and has proved so far: a line on standard error, and only if that is a terminal.

    The line shows at any moment which method runs, for how long, and the best cost, the lower bound and the
    gap; where another method begins, a row with the same stays. The line is gone when the solve is over, as
    the answer tells all this.

    Parameters
    ----------
    method : str
        The method that is asked for; it may let others run.
    units : Units
        Of the instance.
    what : str
        What is looked for.
    """

    def __init__(self, method: str, units: Units = NO_UNITS, what: str = "plan") -> None:
        from rich.console import Console
        from rich.live import Live

        self._units, self._what = units, what
        console = Console(stderr=True, highlight=False, markup=False)
        self.shown = console.is_terminal
        self._phase, self._cost, self._bound = method, math.inf, 0.0
        self._console, self._started = console, time.perf_counter()
        moves = self.shown and not console.is_dumb_terminal
        # What a method prints is not for the terminal alone, so standard output stays as it is.
        self._live: Live | None = None
        if moves:
            self._live = Live(
                console=console, transient=True, redirect_stdout=False, get_renderable=self._line
            )

    def __enter__(self) -> Self:
        """Show it."""
        self._started = time.perf_counter()
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *error: object) -> None:
        """Remove it."""
        if self._live is not None:
            self._live.stop()

    @property
    def progress(self) -> Progress | None:
        """For `depl.models.solving.solve.solve`; None away from a terminal."""
        return self._moved if self.shown else None

    @property
    def on_phase(self) -> OnPhase | None:
        """The same."""
        return self._began if self.shown else None

    def _moved(self, _seconds: float, cost: float, bound: float) -> None:
        self._cost, self._bound = cost, bound

    def _began(self, method: str) -> None:
        self._phase = method
        self._console.print(self._line())

    def _line(self) -> "Text":
        from rich.text import Text

        seconds = time.perf_counter() - self._started
        told = f"{seconds:7.1f} s  {self._phase}: {held(self._cost, self._bound, self._units, self._what)}"
        return Text(printable(told), no_wrap=True, overflow="ellipsis")


def held(cost: float, bound: float, units: Units = NO_UNITS, what: str = "plan") -> str:
    """The best cost, the lower bound and the gap between them, in words."""
    best = f"no {what} yet" if math.isinf(cost) else f"best {what} {units.amount(cost, 'cost')}"
    proved = (
        "no lower bound yet" if bound <= 0 else "lower bound " + units.after(rounded_down(bound, 6), "cost")
    )
    if bound <= 0 or not 0 < cost < math.inf:
        return f"{best}, {proved}"
    gap = "below 0.01 %" if 0 < cost - bound < 1e-4 * cost else percentage(1 - bound / cost)
    return f"{best}, {proved}, gap {gap}"


class Bar:
    """A bar with rate and remaining time on standard error, and only if that is a terminal.

    Parameters
    ----------
    what : str
        Shown until the first step.
    total : int
        How many steps there are.
    done : int
        How many of them were done before; they say nothing about the rate.
    """

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        console = Console(stderr=True, highlight=False)
        self._progress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=total, completed=done, pace="")
        self._started, self._total, self._before, self._steps = time.monotonic(), total, done, 0

    def __enter__(self) -> Self:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove it."""
        self._progress.stop()

    def step(self, done: str, total: int | None = None) -> None:
        """One more is done; of how many steps, if that is known better by now."""
        self._steps += 1
        self._total = total or self._total
        left = max(self._total - self._before - self._steps, 0)
        shown = pace(self._steps, left, time.monotonic() - self._started)
        self._progress.update(
            self._task, advance=1, total=self._total, description=printable(done), pace=shown
        )


def pace(done: int, left: int, seconds: float) -> str:
    """Steps per minute, and how long the rest takes at that pace."""
    if done == 0 or seconds <= 0:
        return ""
    remaining = timedelta(seconds=round(seconds / done * left))
    return f"{number(60 * done / seconds)}/min, {remaining} left"
