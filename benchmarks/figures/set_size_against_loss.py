"""Mean size of the prediction sets of a run against its final loss, one point per run."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import COLOURS, MARKERS, nth


class RunPoints(NamedTuple):
    """Runs of one plan of a family: final losses, mean set sizes."""

    family: str
    plan: str
    losses: Sequence[float]
    sizes: Sequence[float]


def set_size_against_loss(plans: Sequence[RunPoints], axes: Axes | None = None) -> Axes:
    """Draw one point per run on logarithmic axes; colours tell families, markers plans.

    Parameters
    ----------
    plans : sequence of RunPoints
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    families = list(dict.fromkeys(plan.family for plan in plans))
    names = list(dict.fromkeys(plan.plan for plan in plans))
    look: dict[str, Any] = {
        "markersize": 3.5,
        "markeredgewidth": 0.6,
        "markerfacecolor": "none",
        "linestyle": "none",
    }
    for plan in plans:
        colour, marker = nth(COLOURS, families.index(plan.family)), nth(MARKERS, names.index(plan.plan))
        axes.plot(plan.losses, plan.sizes, color=colour, marker=marker, **look)
    for index, name in enumerate(families):
        axes.plot([], [], color=nth(COLOURS, index), linewidth=4, label=name)
    for index, name in enumerate(names):
        axes.plot([], [], color="black", marker=nth(MARKERS, index), label=name, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("final loss of the run")
    axes.set_ylabel("mean size of its sets")
    legend_beside(axes)
    return axes


def points_of(rows: Sequence[Mapping[str, Any]]) -> list[RunPoints]:
    """The points in the record of the case ``prediction-sets``: its value ``points``, one line per plan."""
    return [RunPoints(row["family"], row["plan"], row["loss"], row["size"]) for row in rows]
