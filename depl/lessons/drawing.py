"""Drawings of an instance that is small enough to be drawn, of plans as paths, and of sets of items.

Every drawing is one line of a lesson: without axes it makes a figure of its own and shows it.
"""

import contextlib
import itertools
from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from depl.benchmarks.figures.style import COLOURS, nth
from depl.instances.reductions.knapsack import Knapsack
from depl.models.problem.epochs import compute, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

_BOX = {"boxstyle": "round,pad=0.5", "linewidth": 1.2}
_COLUMNS = (0.0, 1.0, 2.0)


@contextlib.contextmanager
def drawn_on(axes: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """The axes as given, or those of a new figure of this size in inches, which is shown in the end."""
    if axes is not None:
        yield axes
        return
    _, own = plt.subplots(figsize=(width, height), layout="constrained")
    yield own
    plt.show()


def draw_instance(instance: Instance, axes: Axes | None = None) -> None:
    """Draw datasets, clusters and models with their numbers; arrows carry the costs of transfers."""
    with drawn_on(axes, 7.6, 2.8) as place:
        _draw_instance(instance, place)


def draw_plan(instance: Instance, plan: Plan, title: str = "", axes: Axes | None = None) -> None:
    """Draw a plan as a path through models and clusters, with the resources of every epoch."""
    choices = [(model.name, place.name) for model in instance.models for place in instance.clusters]
    path = [choices.index((epoch.model, epoch.cluster)) for epoch in plan.epochs]
    notes = [[""] * len(choices) for _ in path]
    for texts, chosen, epoch in zip(notes, path, plan.epochs, strict=True):
        texts[chosen] = f"x = {epoch.resources:.4g}"
    draw_choices([f"{model} on {place}" for model, place in choices], notes, path, title, axes)


def draw_choices(
    rows: Sequence[str],
    notes: Sequence[Sequence[str]],
    path: Sequence[int],
    title: str = "",
    axes: Axes | None = None,
) -> None:
    """Draw one column of choices per epoch and a plan as a path through them.

    Parameters
    ----------
    rows : sequence of str
        Names of the choices, from top to bottom.
    notes : sequence of sequence of str
        What stands in the circle of an epoch (first index) and a choice (second).
    path : sequence of int
        The choice of every epoch.
    title : str
    axes : Axes, optional
        Where to draw; a new figure by default.
    """
    with drawn_on(axes, 6.4, 1.2 + 0.4 * len(rows)) as place:
        _draw_choices(place, rows, notes, path)
        place.set_title(title)


def draw_knapsacks(bag: Knapsack, wanted: float, axes: Axes | None = None) -> None:
    """Draw the value of every set of items against its weight, with the capacity and a value that is wanted.

    Parameters
    ----------
    bag : Knapsack
        Of a few items: each of their sets is a mark with its items.
    wanted : float
    axes : Axes, optional
        Where to draw; a new figure by default.
    """
    with drawn_on(axes, 6.4, 3.6) as place:
        for size in range(len(bag) + 1):
            for items in itertools.combinations(range(len(bag)), size):
                weight, value = float(bag.weight_of(items)), float(bag.value_of(items))
                marker, colour = ("o", COLOURS[0]) if bag.holds(items) else ("x", COLOURS[1])
                place.plot(weight, value, marker, color=colour)
                place.text(weight + 0.15, value - 0.9, str(set(items) or "{}"))
        place.axvline(float(bag.capacity), color="#444444", ls="--", label="capacity, or T_max")
        place.axhline(wanted, color=COLOURS[2], label="wanted value, or fall of the loss")
        place.set(xlabel="weight, or time", ylabel="value, or gain")
        place.margins(0.16)
        place.legend(loc="upper left")


def _draw_instance(instance: Instance, axes: Axes) -> None:
    columns = [
        [f"{item.name}\nvolume {item.volume:g}" for item in instance.datasets],
        [
            f"{place.name}\nr = {place.capacity:g}, b = {place.bandwidth:g}, κ = {place.unit_cost:g}"
            for place in instance.clusters
        ],
        [_model_text(instance, index) for index in range(len(instance.models))],
    ]
    heights = [_heights(len(texts)) for texts in columns]
    for first, dataset in enumerate(instance.datasets):
        for second, place in enumerate(instance.clusters):
            cost = instance.transfer_cost(dataset.name, place.name)
            tail, head = (0.22, heights[0][first]), (0.64, heights[1][second])
            axes.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": "#444444"})
            x, y = (0.72 * tail[i] + 0.28 * head[i] for i in (0, 1))
            axes.text(x, y, f"β = {cost:g}", ha="center", va="center", fontsize=8, bbox=_paper())
    for column, (texts, places) in enumerate(zip(columns, heights, strict=True)):
        for text, height in zip(texts, places, strict=True):
            colour = nth(COLOURS, column)
            box = {**_BOX, "facecolor": f"{colour}22", "edgecolor": colour}
            axes.text(_COLUMNS[column], height, text, ha="center", va="center", fontsize=9, bbox=box)
    axes.set(xlim=(-0.3, 2.45), ylim=(-0.25, 1.4))
    for x, title in zip(_COLUMNS, ("datasets", "clusters", "models"), strict=True):
        axes.text(x, 1.28, title, ha="center", fontweight="bold")
    axes.axis("off")


def _draw_choices(
    axes: Axes, rows: Sequence[str], notes: Sequence[Sequence[str]], path: Sequence[int]
) -> None:
    for epoch, texts in enumerate(notes):
        for choice, text in enumerate(texts):
            chosen = path[epoch] == choice
            box = {**_BOX, "facecolor": "#cfe3f1" if chosen else "white", "edgecolor": "#444444"}
            axes.text(epoch + 1, -choice, text, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    axes.plot(range(1, len(path) + 1), [-choice for choice in path], color=COLOURS[0], linewidth=3, zorder=1)
    axes.set(xlim=(0.4, len(notes) + 0.6), ylim=(-len(rows) + 0.4, 0.6))
    axes.set_xticks(range(1, len(notes) + 1), [f"epoch {epoch}" for epoch in range(1, len(notes) + 1)])
    axes.set_yticks([-row for row in range(len(rows))], rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _model_text(instance: Instance, index: int) -> str:
    model = instance.models[index]
    everything = frozenset(dataset.name for dataset in instance.datasets)
    step = loss_step(instance, 1, 0, None, model.name, everything)
    work = compute(instance, 1, model.name, everything)
    lines = [model.name, f"size {model.size:g}, work {work:g} on all data"]
    if not step.terms:
        lines.append(f"gains {-step.shift:g}")
    for term in step.terms:
        if term.law.has_atoms:
            lines.append(
                "gains " + " or ".join(f"{-term.coefficient * value:g}" for value in term.law.atoms()[0])
            )
    return "\n".join(lines)


def _heights(count: int) -> list[float]:
    return [1 - index / max(count - 1, 1) for index in range(count)]


def _paper() -> dict[str, object]:
    return {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
