"""What a solver reports on its way: rows on standard error, and only if that is a terminal."""

import time
from datetime import timedelta
from typing import Self

from depl.commands.printable import printable
from depl.models.foundation.wording import number
from depl.models.solving.methods import Progress


def progress_rows() -> Progress | None:
    """Print (seconds, incumbent, bound, gap) whenever one of them moves; None away from a terminal."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        return None
    console.print(f"{'seconds':>9} {'incumbent':>12} {'bound':>12} {'gap':>8}")
    shown: list[tuple[float, float]] = []

    def show(seconds: float, incumbent: float, bound: float) -> None:
        if shown and shown[-1] == (incumbent, bound):
            return
        shown.append((incumbent, bound))
        gap = f"{(incumbent - bound) / incumbent:8.2%}" if 0 < incumbent < float("inf") else f"{'-':>8}"
        console.print(f"{seconds:9.2f} {number(incumbent):>12} {number(bound):>12} {gap}")

    return show


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

    def step(self, done: str) -> None:
        """One more is done."""
        self._steps += 1
        left = self._total - self._before - self._steps
        shown = pace(self._steps, left, time.monotonic() - self._started)
        self._progress.update(self._task, advance=1, description=printable(done), pace=shown)


def pace(done: int, left: int, seconds: float) -> str:
    """Steps per minute, and how long the rest takes at that pace."""
    if done == 0 or seconds <= 0:
        return ""
    remaining = timedelta(seconds=round(seconds / done * left))
    return f"{number(60 * done / seconds)}/min, {remaining} left"
