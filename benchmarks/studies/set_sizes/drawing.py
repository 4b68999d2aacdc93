"""The picture of the study ``prediction-sets``, from its record and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import (
    COLOURS,
    MARKERS,
    legend_beside,
    make_room,
    nth,
    panels,
    plain_logarithms,
)

_OFFSET = 0.16
"""Half the distance of the two trainings of a plan, where plans are 1 apart."""
_TRAININGS = (("expected", "before", "o", "white"), ("dependable", "after", "s", None))
_RUN: dict[str, Any] = {"markersize": 3.5, "markeredgewidth": 0.6, "markerfacecolor": "none", "linestyle": ""}

Rows = Sequence[Mapping[str, Any]]


def set_size_figure(values: Mapping[str, Any]) -> Figure:
    """Set size against final loss of every run (``points``), and sizes after both trainings."""
    figure, (left, right) = panels(2, size=(4.8, 4.4))
    _runs(left, values["points"])
    _trainings(right, values["comparisons"])
    make_room(figure)
    return figure


def _runs(axes: Axes, points: Rows) -> None:
    """One point per run; colours tell families, markers plans."""
    families = list(dict.fromkeys(item["family"] for item in points))
    names = list(dict.fromkeys(item["plan"] for item in points))
    for item in points:
        colour = nth(COLOURS, families.index(item["family"]))
        marker = nth(MARKERS, names.index(item["plan"]))
        axes.plot(item["loss"], item["size"], color=colour, marker=marker, **_RUN)
    for index, name in enumerate(families):
        axes.plot([], [], color=nth(COLOURS, index), linewidth=4, label=name)
    for index, name in enumerate(names):
        axes.plot([], [], color="black", marker=nth(MARKERS, index), label=name, **_RUN)
    plain_logarithms(axes, "x")
    plain_logarithms(axes, "y")
    axes.set_xlabel("final loss of the run")
    axes.set_ylabel("mean size of its sets")
    legend_beside(axes)


def _trainings(axes: Axes, comparisons: Rows) -> None:
    """Both trainings of every plan for its middle target: the mean, with a line to the 0.95-quantile."""
    plans: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in comparisons:
        plans.setdefault((row["family"], row["plan"]), []).append(row)
    rows = [own[(len(own) - 1) // 2] for own in plans.values()]
    for index, (name, when, marker, face) in enumerate(_TRAININGS):
        heights = [place + (2 * index - 1) * _OFFSET for place in range(len(rows))]
        means, uppers = ([row[f"{kind}_{when}"] for row in rows] for kind in ("mean", "upper"))
        colour = COLOURS[index]
        axes.hlines(heights, means, uppers, color=colour, linewidth=1)
        axes.plot(uppers, heights, "|", color=colour, markersize=5)
        look: dict[str, Any] = {"color": colour, "markerfacecolor": face or colour, "markersize": 4.5}
        axes.plot(means, heights, marker, label=name, **look)
    labels = [
        f"{row['family']}\n{row['plan']}\n{row['expected_epochs']} or {row['dependable_epochs']} epochs"
        for row in rows
    ]
    axes.set_yticks(range(len(rows)), labels, fontsize="x-small")
    axes.invert_yaxis()
    plain_logarithms(axes, "x")
    axes.set_xlabel("size of the sets: mean and 0.95-quantile of the runs")
    legend_beside(axes)
