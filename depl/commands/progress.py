"""What a solver reports on its way: rows on standard error, and only if that is a terminal."""

from typing import Self

from depl.models.methods import Progress
from depl.models.wording import number


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
    """A bar on standard error, and only if that is a terminal."""

    def __init__(self, what: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        console = Console(stderr=True, highlight=False)
        self._progress = RichProgress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(what, total=total)

    def __enter__(self) -> Self:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove it."""
        self._progress.stop()

    def step(self, done: str) -> None:
        """One more is done."""
        self._progress.update(self._task, advance=1, description=done)
