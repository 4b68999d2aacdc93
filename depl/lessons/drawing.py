"""Drawings of the lessons: a small instance, plans as paths, sets of items, curves, plans as marks.

Every drawing is one line of a lesson: it makes a figure and shows it.
"""

import contextlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from depl import plot
from depl.benchmarks.figures.style import COLOURS, DASHES, MARKERS, nth
from depl.instances.reductions.knapsack import Knapsack
from depl.models.evaluation.evaluate import Evaluation
from depl.models.problem.allocation import Allocation
from depl.models.problem.instance import Instance, Target
from depl.models.problem.plan import Plan
from depl.models.traces.table import Traces

_GREY = "#444444"
_BOX: dict[str, Any] = {"boxstyle": "round,pad=0.5", "linewidth": 1.2}
_MIDDLE: dict[str, Any] = {"ha": "center", "va": "center"}


@contextlib.contextmanager
def _shown(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[list[Axes]]:
    """The axes of a new figure of this size in inches, which is shown in the end."""
    figure = plt.figure(figsize=(width, height), layout="constrained")
    yield list(figure.subplots(rows, columns, squeeze=False).flat)
    plt.show()


def draw_instance(instance: Instance) -> None:
    """Draw clusters, models and transfers with their numbers, side by side."""
    with _shown(10.5, 3.9, columns=3) as panels:
        plot.instance(instance, panels)


def draw_plan(instance: Instance, plan: Plan) -> None:
    """Draw the epochs of a plan and beneath them the course of its loss."""
    with _shown(7.5, 5.0, rows=2) as (upper, lower):
        plot.plan(instance, plan, (upper, lower))


def draw_choices(
    rows: Sequence[str], notes: Sequence[Sequence[str]], path: Sequence[int], title: str
) -> None:
    """Draw one column of choices per epoch and a plan as a path through them.

    ``rows`` are the names of the choices from top to bottom, ``path`` the choice of every epoch; ``notes``
    holds what stands in the circle of an epoch (first index) and a choice (second).
    """
    with _shown(6.4, 1.2 + 0.4 * len(rows)) as (drawn,):
        for epoch, texts in enumerate(notes):
            for choice, text in enumerate(texts):
                face = "#cfe3f1" if path[epoch] == choice else "white"
                box = {**_BOX, "facecolor": face, "edgecolor": _GREY}
                drawn.text(epoch + 1, -choice, text, fontsize=8, bbox=box, zorder=3, **_MIDDLE)
        across = range(1, len(path) + 1)
        drawn.plot(across, [-choice for choice in path], color=COLOURS[0], linewidth=3, zorder=1)
        drawn.set(xlim=(0.4, len(notes) + 0.6), ylim=(-len(rows) + 0.4, 0.6), title=title)
        drawn.set_xticks(across, [f"epoch {epoch}" for epoch in across])
        drawn.set_yticks([-place for place in range(len(rows))], rows)
        drawn.tick_params(length=0)
        drawn.spines[:].set_visible(False)


def draw_knapsacks(bag: Knapsack, wanted: float) -> None:
    """Draw the value of every set of a few items against its weight, with the capacity and a wanted value."""
    with _shown(6.4, 3.6) as (drawn,):
        sizes = range(len(bag) + 1)
        for items in itertools.chain.from_iterable(itertools.combinations(sizes[:-1], n) for n in sizes):
            weight, value = float(bag.weight_of(items)), float(bag.value_of(items))
            marker, colour = ("o", COLOURS[0]) if bag.holds(items) else ("x", COLOURS[1])
            drawn.plot(weight, value, marker, color=colour)
            drawn.text(weight + 0.15, value - 0.9, str(set(items) or "{}"))
        drawn.axvline(float(bag.capacity), color=_GREY, ls="--", label="capacity, or T_max")
        drawn.axhline(wanted, color=COLOURS[2], label="wanted value, or fall of the loss")
        drawn.set(xlabel="weight, or time", ylabel="value, or gain")
        drawn.margins(0.16)
        drawn.legend(loc="upper left")


def draw_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    *,
    across: Mapping[str, float] | None = None,
    scales: tuple[str, str] = ("linear", "linear"),
    marks: Collection[str] = (),
    steps: bool = False,
    grid: tuple[float, float] | None = None,
    ticks: Sequence[float] = (),
) -> None:
    """Draw curves with their names.

    ``curves`` holds the coordinates (x, y) of every curve by its name, ``labels`` what the axes show, and
    ``across`` heights of horizontal lines by their names. The points of ``marks`` are marked; ``steps`` keeps
    the height of a point until halfway to the next; ``grid`` is the width of the cells of a grid; ``ticks``
    are the only ones of the x axis. Of pairs, x is the first.
    """
    with _shown(6.8, 3.6 if grid is None else 4.2) as (drawn,):
        for index, (name, (x, y)) in enumerate(curves.items()):
            marker, kind = nth(MARKERS, index) if name in marks else "", "steps-mid" if steps else "default"
            look: dict[str, Any] = {"color": nth(COLOURS, index), "ls": nth(DASHES, index), "label": name}
            drawn.plot(x, y, marker=marker, drawstyle=kind, **look)
        drawn.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0], yscale=scales[1])
        for index, (name, height) in enumerate((across or {}).items()):
            drawn.axhline(height, color=_GREY, linestyle=nth(DASHES, index + 1), linewidth=1, label=name)
        for axis, width in zip((drawn.xaxis, drawn.yaxis), grid or (), strict=False):
            low, high = axis.get_view_interval()
            axis.set_ticks(np.arange(np.ceil(low / width), np.floor(high / width) + 1) * width)
            axis.grid(alpha=0.4)
        if ticks:
            drawn.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            drawn.minorticks_off()
        drawn.legend()


def draw_runs(runs: Traces, targets: Sequence[float]) -> None:
    """Draw the loss of every run in the colour of the model that was trained, with lines at some targets."""
    with _shown(7.2, 3.8) as (drawn,):
        plot.traces(runs, targets, axes=drawn)


def draw_missed(
    plans: Sequence[tuple[Plan, Evaluation]], target: Target, named: Mapping[str, Evaluation]
) -> None:
    """Draw for every plan how probably it misses the target, against its expected loss.

    The more expensive of two plans at one place is hidden by the cheaper. Colours end at twice the cost of
    the most expensive plan that is named, and pointed at.
    """
    seen = [(found.expected_loss, found.violation.middle, found.cost) for _, found in plans]
    means, misses, costs = np.array(sorted(seen, key=lambda row: -row[2])).T
    with _shown(7.2, 4.2) as (drawn,):
        most = 2 * max(found.cost for found in named.values())
        dots = drawn.scatter(means, misses, c=costs, cmap="cividis", vmax=most, edgecolor=_GREY)
        drawn.figure.colorbar(dots, ax=drawn, label="cost", extend="max")
        mean, budget = f"target of the mean, {target.maximum_loss:g}", float(target.violation_budget)
        drawn.axvline(target.maximum_loss, color=COLOURS[1], ls="--", label=mean)
        drawn.axhline(budget, color=COLOURS[0], label=f"promise, 1 - ω = {budget:g}")
        for index, (name, found) in enumerate(named.items()):
            mark, aside = (found.expected_loss, found.violation.middle), (min(means), 0.64 - 0.2 * index)
            drawn.annotate(name, mark, aside, arrowprops={"arrowstyle": "->"})
        drawn.set(xlabel="expected final loss", ylabel=f"probability of missing {target.maximum_loss:g}")
        drawn.legend(loc="lower right")


def draw_allocations(
    limits: Sequence[float], answers: Sequence[Allocation], epochs: Mapping[str, int]
) -> None:
    """Draw resources of some epochs, from 0, and the cost against the limit of time, in two panels."""
    with _shown(8.6, 3.6, columns=2) as (left, right):
        for index, (name, place) in enumerate(epochs.items()):
            look: dict[str, Any] = {"color": nth(COLOURS, index), "ls": nth(DASHES, index), "label": name}
            left.plot(limits, [answer.resources[place] for answer in answers], **look)
        left.set(xlabel="limit of time T", ylabel="resources x")
        left.legend()
        right.plot(limits, [answer.cost for answer in answers], color=COLOURS[0])
        right.set(xlabel="limit of time T", ylabel="cost of all epochs")
