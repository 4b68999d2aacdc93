"""Cost over the optimum, or over a certified bound, against the size of instances."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.palette import COLOURS, DASHES, MARKERS, nth

_ROOM = 0.08
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
    style: int = 0


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
    for curve in curves:
        colour, marker = nth(COLOURS, curve.style), nth(MARKERS, curve.style)
        axes.vlines(curve.sizes, curve.mean, curve.largest, color=colour, linewidth=0.8, alpha=0.7)
        axes.plot(curve.sizes, curve.mean, color=colour, linestyle=nth(DASHES, curve.style))
        for size, mean, proved in zip(curve.sizes, curve.mean, curve.proved, strict=True):
            axes.plot(size, mean, marker, color=colour, markerfacecolor=colour if proved else "white")
        axes.plot([], [], color=colour, marker=marker, linestyle=nth(DASHES, curve.style), label=curve.label)
    sized_axis(axes, quantity, [size for curve in curves for size in curve.sizes])
    axes.set_ylabel("cost / optimum or bound")
    if curves:
        _make_room(axes, len(curves), max(value for curve in curves for value in curve.largest))
        axes.legend(frameon=False, fontsize="small", loc="upper left")
    return axes


def _make_room(axes: Axes, rows: int, largest: float) -> None:
    """Room for the legend above the curves, and a logarithmic axis where ratios are large."""
    if largest <= _LINEAR_UP_TO:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + _ROOM * rows * (high - low))
        return
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** (_ROOM * rows))
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
