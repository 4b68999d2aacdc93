"""Seconds against the size of instances on logarithmic axes, with fitted exponents (Property 2)."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from scipy.stats import gmean

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.palette import COLOURS, DASHES, MARKERS, Dash, nth
from depl.benchmarks.figures.ratio_against_size import sized_axis

_LONGER = "$\\uparrow$"


class FittedTimes(NamedTuple):
    """Seconds = coefficient size^exponent, fitted to sizes between the smallest and the largest."""

    coefficient: float
    exponent: float
    smallest: float
    largest: float


class TimeCurve(NamedTuple):
    """Times of one configuration: points (size, seconds) of attempts that ended, a fit, and those stopped."""

    label: str
    points: Sequence[tuple[float, float]]
    fit: FittedTimes | None = None
    style: int = 0
    stopped: Sequence[tuple[float, float]] = ()


def time_against_size(curves: Sequence[TimeCurve], quantity: str, axes: Axes | None = None) -> Axes:
    """Draw every attempt as a point, geometric means with markers, and fits over the sizes fitted.

    An attempt that was stopped is an arrow upwards from where it was, since it would have taken longer; the
    mean of the others at its size, which were the easy ones, has a hollow marker.

    Parameters
    ----------
    curves : sequence of TimeCurve
        Times [s].
    quantity : str
        What the size is, for the axis.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    for curve in curves:
        _draw_times(curve, axes)
        _draw_fit(curve, axes)
    if any(curve.stopped for curve in curves):
        axes.plot([], [], linestyle="none", marker=_LONGER, color="0.3", label="stopped: at least so long")
    sized_axis(axes, quantity, [size for curve in curves for size, _ in (*curve.points, *curve.stopped)])
    axes.set_ylabel("seconds")
    if curves:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        rows = len(axes.get_legend_handles_labels()[1])
        axes.set_ylim(low, high * (high / low) ** (0.11 * rows))  # the legend stands above the points
        axes.legend(frameon=False, fontsize="x-small", loc="upper left")
    return axes


def _draw_times(curve: TimeCurve, axes: Axes) -> None:
    colour, marker = nth(COLOURS, curve.style), nth(MARKERS, curve.style)
    cut = {size for size, _ in curve.stopped}
    axes.plot(*_columns(curve.points), ".", color=colour, alpha=0.35, markersize=3)
    for size in sorted({size for size, _ in curve.points}):
        middle = float(gmean([up for x, up in curve.points if x == size]))
        face = "white" if size in cut else colour
        axes.plot([size], [middle], marker, color=colour, markersize=5, markerfacecolor=face)
    axes.plot(*_columns(curve.stopped), linestyle="none", marker=_LONGER, color=colour, markersize=8)


def _draw_fit(curve: TimeCurve, axes: Axes) -> None:
    """The line where there is one, and the entry of the legend: with a line only if there is one."""
    colour, marker = nth(COLOURS, curve.style), nth(MARKERS, curve.style)
    dash: Dash = "none"
    if curve.fit is not None:
        dash = nth(DASHES, curve.style)
        sizes = [curve.fit.smallest, curve.fit.largest]
        fitted = [curve.fit.coefficient * size**curve.fit.exponent for size in sizes]
        axes.plot(sizes, fitted, color=colour, linestyle=dash, linewidth=1.2)
    axes.plot([], [], color=colour, marker=marker, linestyle=dash, label=curve.label)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [across for across, _ in points], [up for _, up in points]
