"""Epochs spent with each model against the guaranteed loss, stacked (Fig. 7)."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.stacks import stacked_bars


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
    stacked_bars(targets, epochs, axes, without)
    axes.set_ylabel("epochs")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return axes
