"""Cost of the epochs with each model against the guaranteed loss, stacked (Fig. 8)."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.stacks import stacked_bars


def cost_per_model(
    targets: Sequence[float],
    costs: Mapping[str, Sequence[float]],
    axes: Axes | None = None,
    without: Collection[float] = (),
) -> Axes:
    """Draw one stacked bar per target.

    Parameters
    ----------
    targets : sequence of float
        Targets l_max [loss].
    costs : mapping of str to sequence of float
        For every model the cost of the epochs trained with it, one entry per target [cost].
    axes : Axes, optional
        Where to draw; new axes by default.
    without : collection of float
        Targets for which there is no plan.
    """
    axes = given_or_new(axes)
    stacked_bars(targets, costs, axes, without)
    axes.set_ylabel("cost")
    return axes
