"""Seconds against the size of instances on logarithmic axes, with fitted exponents (Property 2)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from scipy.stats import gmean

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Dash, Style, styles_for
from depl.benchmarks.figures.ratio_against_size import sized_axis

_LONGER = "$\\uparrow$"
_LONGEST = 56
"""Letters of an entry: a stage, its exponent and the interval."""

_TITLE = "time grows as size$^e$:\nexponent e [95 % interval]"


class FittedTimes(NamedTuple):
    """Seconds = coefficient size^exponent, fitted to sizes between the smallest and the largest."""

    coefficient: float
    exponent: float
    smallest: float
    largest: float


class TimeCurve(NamedTuple):
    """Times of one configuration: points (size, seconds) of attempts that ended, a fit, and those stopped.

    ``refused`` are sizes at which the method said that it does not cover an instance.
    """

    label: str
    points: Sequence[tuple[float, float]]
    fit: FittedTimes | None = None
    style: Style | None = None
    stopped: Sequence[tuple[float, float]] = ()
    refused: Sequence[float] = ()


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
    for curve, style in zip(curves, styles_for(curves), strict=True):
        _draw_times(curve, style, axes)
        _draw_fit(curve, style, axes)
    _explain(axes, curves)
    sized_axis(axes, quantity, [size for curve in curves for size in _sizes(curve)])
    axes.set_ylabel("seconds")
    if curves:
        axes.set_yscale("log")
    legend_beside(axes, _TITLE if any(curve.fit for curve in curves) else "", _LONGEST)
    return axes


def _explain(axes: Axes, curves: Sequence[TimeCurve]) -> None:
    """Entries of the legend for the marks that not every size has."""
    if any(curve.points for curve in curves):
        axes.plot([], [], ".", color="0.3", alpha=0.5, markersize=3, label="one attempt")
    if any(curve.stopped for curve in curves):
        axes.plot([], [], linestyle="none", marker=_LONGER, color="0.3", label="stopped: at least so long")
    if any(curve.refused for curve in curves):
        axes.plot([], [], linestyle="none", marker="x", color="0.3", label="refused: not covered")
    if any({size for size, _ in curve.points} & {size for size, _ in curve.stopped} for curve in curves):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="mean without those stopped")


def _draw_times(curve: TimeCurve, style: Style, axes: Axes) -> None:
    colour, marker, _ = style
    cut = {size for size, _ in curve.stopped}
    axes.plot(*_columns(curve.points), ".", color=colour, alpha=0.35, markersize=3)
    for size in sorted({size for size, _ in curve.points}):
        middle = float(gmean([up for x, up in curve.points if x == size]))
        face = "white" if size in cut else colour
        axes.plot([size], [middle], marker, color=colour, markersize=5, markerfacecolor=face)
    axes.plot(*_columns(curve.stopped), linestyle="none", marker=_LONGER, color=colour, markersize=8)
    if curve.refused:
        floor = axes.get_xaxis_transform()
        look: dict[str, Any] = {"marker": "x", "color": colour, "linestyle": "none"}
        axes.plot(curve.refused, [0.0] * len(curve.refused), transform=floor, clip_on=False, **look)


def _draw_fit(curve: TimeCurve, style: Style, axes: Axes) -> None:
    """The line where there is one, and the entry of the legend: with a line only if there is one."""
    colour, marker, _ = style
    dash: Dash = "none"
    if curve.fit is not None:
        dash = style.dash
        sizes = [curve.fit.smallest, curve.fit.largest]
        fitted = [curve.fit.coefficient * size**curve.fit.exponent for size in sizes]
        axes.plot(sizes, fitted, color=colour, linestyle=dash, linewidth=1.2)
    axes.plot([], [], color=colour, marker=marker, linestyle=dash, label=curve.label)


def _sizes(curve: TimeCurve) -> list[float]:
    return [*(size for size, _ in (*curve.points, *curve.stopped)), *curve.refused]


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [across for across, _ in points], [up for _, up in points]
