"""Lines of several configurations on one pair of axes, told apart by colour, marker and dashes."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.palette import COLOURS, DASHES, MARKERS, nth


class MethodLine(NamedTuple):
    """Values of one configuration; None where it has none.

    ``style`` chooses colour, marker and dashes, so that a configuration looks alike in all figures.
    """

    label: str
    across: Sequence[float]
    up: Sequence[float | None]
    style: int = 0


def draw_lines(lines: Sequence[MethodLine], axes: Axes, marked: bool = True) -> None:
    """Draw every line; one that coincides with an earlier one is seen on top of it, because it is thinner.

    Parameters
    ----------
    lines : sequence of MethodLine
    axes : Axes
    marked : bool
        Whether points have markers.
    """
    for index, line in enumerate(lines):
        points = [(x, y) for x, y in zip(line.across, line.up, strict=True) if y is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=line.label,
            color=nth(COLOURS, line.style),
            marker=nth(MARKERS, line.style) if marked else "",
            linestyle=nth(DASHES, line.style),
            linewidth=max(3.0 - 0.8 * index, 1.0),
            markersize=max(8.0 - 1.5 * index, 3.0),
        )
