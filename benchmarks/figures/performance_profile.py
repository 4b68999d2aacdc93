"""Performance profiles (Dolan and Moré): share of problems within a factor of the best, one stair each."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style, styles_for

_FEW_DECADES = 6
_MARKS = 4
"""About as many markers as a curve has, of all the steps that it may have."""


class ProfileCurve(NamedTuple):
    """Where a profile rises, from factor 1 on, and to what share of the problems."""

    label: str
    factors: Sequence[float]
    shares: Sequence[float]
    style: Style | None = None


def performance_profile(curves: Sequence[ProfileCurve], quantity: str, axes: Axes | None = None) -> Axes:
    """Draw the profiles as stairs; all end at the right edge, at the share that is never exceeded.

    Parameters
    ----------
    curves : sequence of ProfileCurve
    quantity : str
        What the factor is of, for the axis.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    widest = max((value for curve in curves for value in curve.factors), default=1.0)
    edge = max(widest**1.1, 1.01)
    for index, (curve, style) in enumerate(zip(curves, styles_for(curves), strict=True)):
        axes.step(
            [*curve.factors, edge],
            [*curve.shares, curve.shares[-1]],
            where="post",
            label=curve.label,
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markevery=max(len(curve.factors) // _MARKS, 1),
            markersize=4,
            linewidth=max(3.0 - 0.5 * index, 1.2),
        )
    axes.set_xscale("log")
    axes.set_xlim(1, edge)
    ticks: Locator = LogLocator(subs=(1, 2, 5)) if edge > _FEW_DECADES else MaxNLocator(5)
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(quantity)
    axes.set_ylabel("share of problems")
    legend_beside(axes)
    return axes
