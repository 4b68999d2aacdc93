"""Cost against the guaranteed loss, one line per method (Figs. 5 and 6, left)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.lines import MethodLine, draw_lines
from depl.benchmarks.figures.palette import Style, styles_for


class CostCurve(NamedTuple):
    """The costs of one method at several targets; None where it found no plan."""

    label: str
    targets: Sequence[float]
    costs: Sequence[float | None]
    style: Style | None = None


def cost_against_target(curves: Sequence[CostCurve], axes: Axes | None = None) -> Axes:
    """Draw one line per method.

    Parameters
    ----------
    curves : sequence of CostCurve
        Costs [cost] at targets l_max [loss].
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    draw_lines([MethodLine(curve.label, curve.targets, curve.costs, curve.style) for curve in curves], axes)
    _mark_missing(curves, axes)
    axes.set_xlabel("guaranteed loss $\\ell_{\\max}$")
    axes.set_ylabel("cost")
    if curves:
        axes.set_xticks(sorted({x for curve in curves for x in curve.targets}))
    legend_beside(axes)
    highest = max((y for curve in curves for y in curve.costs if y is not None), default=1.0)
    axes.set_ylim(0, 1.08 * highest)
    return axes


def _mark_missing(curves: Sequence[CostCurve], axes: Axes) -> None:
    """A cross on the floor, in the colour of the method, where it was tried and has no plan."""
    floor = axes.get_xaxis_transform()
    look: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 7}
    missing = False
    for curve, style in zip(curves, styles_for(curves), strict=True):
        places = [x for x, y in zip(curve.targets, curve.costs, strict=True) if y is None]
        missing = missing or bool(places)
        if places:
            axes.plot(places, [0.0] * len(places), color=style.colour, transform=floor, clip_on=False, **look)
    if missing:
        axes.plot([], [], color="0.3", label="no plan found", **look)
