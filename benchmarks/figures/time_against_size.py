"""Seconds against the size of instances on logarithmic axes, with fitted exponents (Property 2)."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from scipy.stats import gmean

from depl.benchmarks.figures.canvas import COLOURS, DASHES, MARKERS, given_or_new, nth
from depl.benchmarks.figures.ratio_against_size import sized_axis


class TimeCurve(NamedTuple):
    """Times of one configuration: points (size, seconds), and coefficient and exponent of a fit."""

    label: str
    points: Sequence[tuple[float, float]]
    fit: tuple[float, float] | None = None
    style: int = 0


def time_against_size(curves: Sequence[TimeCurve], quantity: str, axes: Axes | None = None) -> Axes:
    """Draw every attempt as a point, geometric means with markers, and fits as lines.

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
        colour, marker = nth(COLOURS, curve.style), nth(MARKERS, curve.style)
        sizes = sorted({size for size, _ in curve.points})
        middle = [float(gmean([up for x, up in curve.points if x == size])) for size in sizes]
        axes.plot(*zip(*curve.points, strict=True), ".", color=colour, alpha=0.35, markersize=3)
        axes.plot(sizes, middle, marker, color=colour, markersize=5)
        if curve.fit is not None:
            coefficient, exponent = curve.fit
            fitted = [coefficient * size**exponent for size in sizes]
            axes.plot(sizes, fitted, color=colour, linestyle=nth(DASHES, curve.style), linewidth=1.2)
        axes.plot([], [], color=colour, marker=marker, linestyle=nth(DASHES, curve.style), label=curve.label)
    sized_axis(axes, quantity, [size for curve in curves for size, _ in curve.points])
    axes.set_ylabel("seconds")
    if curves:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** (0.1 * len(curves)))  # the legend stands above the points
        axes.legend(frameon=False, fontsize="x-small", loc="upper left")
    return axes
