"""Expected final loss over that of the optimal plan, against the guaranteed loss (Figs. 5 and 6, centre)."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.lines import MethodLine, draw_lines


def loss_against_target(lines: Sequence[MethodLine], axes: Axes | None = None) -> Axes:
    """Draw one line per method; below 1 a plan expects a lower loss than the optimum does.

    Parameters
    ----------
    lines : sequence of MethodLine
        Ratios of expected losses at targets l_max [loss]; None without a plan, or without a proved optimum.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    draw_lines(lines, axes)
    axes.set_xlabel("guaranteed loss $\\ell_{\\max}$")
    axes.set_ylabel("expected loss / optimum's")
    if lines:
        axes.set_xticks(sorted({x for line in lines for x in line.across}))
    legend_beside(axes)
    return axes
