"""Cost against the guaranteed loss, one line per method (Figs. 5 and 6, left)."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.lines import MethodLine, draw_lines
from depl.benchmarks.figures.palette import styles_for


def cost_against_target(lines: Sequence[MethodLine], axes: Axes | None = None) -> Axes:
    """Draw one line per method.

    Parameters
    ----------
    lines : sequence of MethodLine
        Costs [cost] at targets l_max [loss]; None without a plan.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    draw_lines(lines, axes)
    _mark_missing(lines, axes)
    axes.set_xlabel("guaranteed loss $\\ell_{\\max}$")
    axes.set_ylabel("cost")
    if lines:
        axes.set_xticks(sorted({x for line in lines for x in line.across}))
    legend_beside(axes)
    highest = max((y for line in lines for y in line.up if y is not None), default=1.0)
    axes.set_ylim(0, 1.08 * highest)
    return axes


def _mark_missing(lines: Sequence[MethodLine], axes: Axes) -> None:
    """A cross on the floor, in the colour of the method, where it was tried and has no plan."""
    floor = axes.get_xaxis_transform()
    look: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 7}
    missing = False
    for line, style in zip(lines, styles_for(lines), strict=True):
        places = [x for x, y in zip(line.across, line.up, strict=True) if y is None]
        missing = missing or bool(places)
        if places:
            axes.plot(places, [0.0] * len(places), color=style.colour, transform=floor, clip_on=False, **look)
    if missing:
        axes.plot([], [], color="0.3", label="no plan found", **look)
