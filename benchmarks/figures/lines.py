"""Lines of several configurations on one pair of axes, told apart by colour, marker and dashes."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.palette import Style, styles_for


class MethodLine(NamedTuple):
    """Values of one configuration; None where it has none."""

    label: str
    across: Sequence[float]
    up: Sequence[float | None]
    style: Style | None = None


def draw_lines(lines: Sequence[MethodLine], axes: Axes) -> None:
    """Draw every line; one that coincides with an earlier one is seen on top of it, because it is thinner."""
    for index, (line, style) in enumerate(zip(lines, styles_for(lines), strict=True)):
        points = [(x, y) for x, y in zip(line.across, line.up, strict=True) if y is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=line.label,
            color=style.colour,
            marker=style.marker,
            linestyle=style.dash,
            linewidth=max(3.0 - 0.8 * index, 1.0),
            markersize=max(8.0 - 1.5 * index, 3.0),
        )
