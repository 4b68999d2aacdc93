"""Cost over the optimum, or over a certified bound, against the size of instances."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style, styles_for

_LINEAR_UP_TO = 5.0


class SizeCurve(NamedTuple):
    """Mean and largest ratio of one configuration at every size at which there is one.

    ``proved`` says where the ratio is to proved optima; elsewhere it is to certified bounds.
    """

    label: str
    sizes: Sequence[float]
    mean: Sequence[float]
    largest: Sequence[float]
    proved: Sequence[bool]
    style: Style | None = None


def ratio_against_size(curves: Sequence[SizeCurve], quantity: str, axes: Axes | None = None) -> Axes:
    """Draw means as lines and largest ratios as thin bars above them.

    A marker is full where optima are proved and hollow where the ratio is to bounds.

    Parameters
    ----------
    curves : sequence of SizeCurve
    quantity : str
        What the size is, for the axis.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    for curve, (colour, marker, dash) in zip(curves, styles_for(curves), strict=True):
        axes.vlines(curve.sizes, curve.mean, curve.largest, color=colour, linewidth=0.8, alpha=0.7)
        axes.plot(curve.sizes, curve.mean, color=colour, linestyle=dash)
        for size, mean, proved in zip(curve.sizes, curve.mean, curve.proved, strict=True):
            axes.plot(size, mean, marker, color=colour, markerfacecolor=colour if proved else "white")
        axes.plot([], [], color=colour, marker=marker, linestyle=dash, label=curve.label)
    sized_axis(axes, quantity, [size for curve in curves for size in curve.sizes])
    axes.set_ylabel("cost / optimum or bound")
    if max((value for curve in curves for value in curve.largest), default=1.0) > _LINEAR_UP_TO:
        _make_logarithmic(axes)
    if curves:
        _explain(axes, curves)
    legend_beside(axes)
    return axes


def _explain(axes: Axes, curves: Sequence[SizeCurve]) -> None:
    """Entries of the legend for the marks that are not the same at every size."""
    axes.vlines([], [], [], color="0.3", linewidth=0.8, label="up to the largest ratio")
    if not all(all(curve.proved) for curve in curves):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="over a bound, not an optimum")


def _make_logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def sized_axis(axes: Axes, quantity: str, sizes: Sequence[float]) -> None:
    """A logarithmic axis of sizes with plain numbers on it."""
    if sizes:
        axes.set_xscale("log")
        axes.set_xlim(min(sizes) / 1.25, max(sizes) * 1.25)
        subs = (1,) if max(sizes) / min(sizes) > 300 else (1, 2, 5)
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(quantity)
