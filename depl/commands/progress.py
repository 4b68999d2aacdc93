"""What happens meanwhile: lines and bars on standard error, and only if that is a terminal."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from depl.commands.printable import printable
from depl.models.foundation.wording import percentage, rounded_down
from depl.models.problem.units import NO_UNITS, Units
from depl.models.solving.standstill import Standstill

if TYPE_CHECKING:
    from rich.text import Text


@contextmanager
def following(
    method: str, units: Units = NO_UNITS, what: str = "plan", time_limit: float | None = None
) -> Iterator[dict[str, Any]]:
    """Show what a solve does and has proved so far, by the method asked for; it is told by these keywords.

    The line shows at any moment which method runs, for how long, and the best cost, the lower bound and the
    gap, and beneath it that the bound has not moved for long; where another method begins, a row with the
    same stays. The line is gone when the solve is over, as the answer tells all this.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        yield {}
        return
    phase, best, started, standstill = method, (math.inf, 0.0), time.perf_counter(), Standstill(time_limit)

    def line() -> "Text":
        seconds = time.perf_counter() - started
        told = f"{seconds:7.1f} s  {phase}: {held(*best, units, what)}"
        if best[1] > 0 and (stands := standstill.bound_stands):
            told += f"\n{'':11}the bound has not moved for {stands:.0f} s"
        return Text(printable(told), no_wrap=True, overflow="ellipsis")

    def moved(_seconds: float, cost: float, bound: float) -> None:
        nonlocal best
        best = cost, bound
        standstill.seen(cost, bound)

    def began(name: str) -> None:
        nonlocal phase
        phase = name
        console.print(line())

    # What a method prints is not for the terminal alone, so standard output stays as it is.
    live = Live(console=console, transient=True, redirect_stdout=False, get_renderable=line)
    with nullcontext() if console.is_dumb_terminal else live:
        live.refresh()
        yield {"progress": moved, "on_phase": began}


def held(cost: float, bound: float, units: Units = NO_UNITS, what: str = "plan") -> str:
    """The best cost, the lower bound and the gap between them, in words."""
    best = f"no {what} yet" if math.isinf(cost) else f"best {what} {units.amount(cost, 'cost')}"
    if bound <= 0:
        return f"{best}, no lower bound yet"
    best += f", lower bound {units.after(rounded_down(bound, 6), 'cost')}"
    if not 0 < cost < math.inf:
        return best
    gap = "below 0.01 %" if 0 < cost - bound < 1e-4 * cost else percentage(1 - bound / cost)
    return f"{best}, gap {gap}"


@contextmanager
def bar(what: str, total: int, done: int = 0) -> Iterator[Callable[..., None]]:
    """A bar of so many steps, of which some were done before, with the remaining time at today's pace.

    It is told of each step what was done, and of how many there are, if that is known better by now.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Drawn

    console = Console(stderr=True, highlight=False)
    told: Any = TextColumn("{task.description}", markup=False)
    columns = told, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left")
    with Drawn(*columns, console=console, transient=True, disable=not console.is_terminal) as drawn:
        task = drawn.add_task(what, total=total, completed=done)
        yield lambda said, of=None: drawn.update(task, advance=1, total=of, description=printable(said))
