"""Set sizes after expected and after dependable training, one line per plan and target."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import COLOURS

_OFFSET = 0.16
_TRAININGS = (("expected", "o", "white"), ("dependable", "s", None))


class TrainingSizes(NamedTuple):
    """Means over runs and quantiles over runs, each after expected and after dependable training."""

    label: str
    mean: tuple[float, float]
    upper: tuple[float, float]


def set_sizes_of_trainings(rows: Sequence[TrainingSizes], axes: Axes | None = None) -> Axes:
    """Draw the mean of both trainings as markers on a logarithmic axis, with a line to the quantile.

    Parameters
    ----------
    rows : sequence of TrainingSizes
        From top to bottom.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    for index, (name, marker, face) in enumerate(_TRAININGS):
        heights = [place + (index - 0.5) * 2 * _OFFSET for place in range(len(rows))]
        colour = COLOURS[index]
        means, uppers = [row.mean[index] for row in rows], [row.upper[index] for row in rows]
        axes.hlines(heights, means, uppers, color=colour, linewidth=1)
        axes.plot(uppers, heights, "|", color=colour, markersize=5)
        axes.plot(
            means, heights, marker, color=colour, markerfacecolor=face or colour, markersize=4.5, label=name
        )
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize="x-small")
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("size of the sets: mean and 0.95-quantile of the runs")
    if rows:
        legend_beside(axes)
    return axes


def sizes_of(rows: Sequence[Mapping[str, Any]]) -> list[TrainingSizes]:
    """The middle target of every plan in the record of the case ``prediction-sets``: its ``comparisons``.

    The labels say family, plan, and how many epochs the two trainings have.
    """
    found = []
    for plan in dict.fromkeys((row["family"], row["plan"]) for row in rows):
        own = [row for row in rows if (row["family"], row["plan"]) == plan]
        row = own[(len(own) - 1) // 2]
        found.append(
            TrainingSizes(
                f"{plan[0]}\n{plan[1]}\n{row['expected_epochs']} or {row['dependable_epochs']} epochs",
                (row["mean_before"], row["mean_after"]),
                (row["upper_before"], row["upper_after"]),
            )
        )
    return found
