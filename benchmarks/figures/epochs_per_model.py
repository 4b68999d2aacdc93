"""Epochs spent with each model against the guaranteed loss, stacked (Fig. 7)."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.canvas import HATCHES, MODEL_COLOURS, given_or_new, nth


def epochs_per_model(
    targets: Sequence[float],
    epochs: Mapping[str, Sequence[int]],
    axes: Axes | None = None,
    without: Collection[float] = (),
) -> Axes:
    """Draw one stacked bar per target.

    Parameters
    ----------
    targets : sequence of float
        Targets l_max [loss].
    epochs : mapping of str to sequence of int
        For every model the epochs trained with it, one entry per target; drawn bottom up in this order.
    axes : Axes, optional
        Where to draw; new axes by default.
    without : collection of float
        Targets for which there is no plan; it is written where their bar would stand.
    """
    axes = given_or_new(axes)
    places = range(len(targets))
    below = [0] * len(targets)
    for index, (model, counts) in enumerate(epochs.items()):
        axes.bar(
            places,
            counts,
            bottom=below,
            width=0.7,
            label=model,
            color=nth(MODEL_COLOURS, index),
            hatch=nth(HATCHES, index),
            edgecolor="white",
            linewidth=0.5,
        )
        below = [base + count for base, count in zip(below, counts, strict=True)]
    for place, target in enumerate(targets):
        if target in without:
            axes.annotate("no plan", (place, 0), (0, 4), textcoords="offset points", rotation=90, ha="center")
    axes.set_xticks(places, [f"{target:g}" for target in targets])
    axes.set_xlabel("guaranteed loss $\\ell_{\\max}$")
    axes.set_ylabel("epochs")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(top=1.3 * max(below, default=1) or 1)
    axes.legend(frameon=False, ncols=1, fontsize="small")
    return axes
