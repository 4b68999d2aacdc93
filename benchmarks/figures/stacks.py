"""Stacked bars, one per target, a part per model (Figs. 7 and 8)."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import HATCHES, MODEL_COLOURS, nth


def stacked_bars(
    targets: Sequence[float],
    parts: Mapping[str, Sequence[float]],
    what: str,
    axes: Axes | None = None,
    without: Collection[float] = (),
) -> Axes:
    """Draw one stacked bar per target, with a legend beside the bars.

    Parameters
    ----------
    targets : sequence of float
        Targets l_max [loss].
    parts : mapping of str to sequence of float
        For every part one height per target; drawn bottom up in this order.
    what : str
        What is counted, such as ``epochs``, which are whole, or ``cost``.
    axes : Axes, optional
        Where to draw; new axes by default.
    without : collection of float
        Targets for which there is no plan; it is written where their bar would stand.
    """
    axes = given_or_new(axes)
    places = range(len(targets))
    below = [0.0] * len(targets)
    for index, (name, heights) in enumerate(parts.items()):
        axes.bar(
            places,
            heights,
            bottom=below,
            width=0.7,
            label=name,
            color=nth(MODEL_COLOURS, index),
            hatch=nth(HATCHES, index),
            edgecolor="white",
            linewidth=0.5,
        )
        below = [base + height for base, height in zip(below, heights, strict=True)]
    for place, target in enumerate(targets):
        if target in without:
            axes.annotate("no plan", (place, 0), (0, 4), textcoords="offset points", rotation=90, ha="center")
    axes.set_xticks(places, [f"{target:g}" for target in targets])
    axes.set_xlabel("guaranteed loss $\\ell_{\\max}$")
    axes.set_ylim(top=1.08 * max(below, default=1.0) or 1.0)
    axes.set_ylabel(what)
    if what == "epochs":
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    legend_beside(axes)
    return axes
