"""What there is to plan with: clusters, models and transfers, a panel each."""

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from depl.benchmarks.figures.style import (
    COLOURS,
    MARKERS,
    MODEL_COLOURS,
    legend_beside,
    new_axes,
    nth,
    plain,
    title_near,
)
from depl.models.foundation.wording import number
from depl.models.problem.epochs import load, loss_step
from depl.models.problem.instance import Instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CELLS = 80
"""Cells of the table of transfers that hold their number: more would be too small to read."""


def instance(instance: Instance, axes: "Sequence[Axes] | None" = None) -> "tuple[Axes, Axes, Axes]":
    """Draw clusters by speed and price, models by work and gain, and the cost of transfers.

    A cluster's speed is what all its nodes do per unit of time at full capacity; its price is kappa, what one
    resource of one node costs in an epoch. A model's gain is the mean improvement of epoch 1 on all data.

    Parameters
    ----------
    instance : Instance
    axes : three Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    tuple of three Axes
    """
    clusters, models, transfers = new_axes(3, 1, 7.0, 8.0) if axes is None else axes
    _draw_clusters(instance, clusters)
    _draw_models(instance, models)
    _draw_transfers(instance, transfers)
    return clusters, models, transfers


def _draw_clusters(instance: Instance, axes: "Axes") -> None:
    units = instance.units
    for index, item in enumerate(instance.clusters):
        label = f"{item.name}, bandwidth {units.amount(item.bandwidth, 'size', 'time')}"
        _draw_mark(axes, index, COLOURS, item.capacity * item.nodes, item.unit_cost, label)
    axes.margins(0.1)
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_xlabel(plain(units.titled("speed at full capacity: nodes times capacity", "resource")))
    axes.set_ylabel("price $\\kappa$ " + plain(units.titled("of a resource", "cost", "resource")))
    title_near(axes, plain(f"{instance.name}: clusters"))
    legend_beside(axes)


def _draw_models(instance: Instance, axes: "Axes") -> None:
    data = frozenset(item.name for item in instance.datasets)
    fastest = max(instance.clusters, key=lambda item: item.capacity * item.nodes)
    for index, item in enumerate(instance.models):
        work = load(instance, 1, item.name, fastest.name, data).work * fastest.nodes
        gain = _gain(instance, item.name, data)
        if math.isfinite(gain):
            label = f"{item.name}, size {instance.units.amount(item.size, 'size')}"
            _draw_mark(axes, index, MODEL_COLOURS, work, gain, label)
    axes.margins(0.1)
    axes.set(xlim=(0, None), ylim=(min(0.0, axes.get_ylim()[0]), None), ylabel="mean gain of epoch 1")
    unit = instance.units.work()
    axes.set_xlabel(plain("work of epoch 1 on all data" + (f" [{unit}]" if unit else "")))
    alone = "; gains without the memory of the fitted law" if instance.has_memory else ""
    title_near(axes, f"models{alone}")
    legend_beside(axes)


def _draw_mark(
    axes: "Axes", index: int, colours: tuple[str, ...], across: float, up: float, label: str
) -> None:
    look: dict[str, Any] = {"color": nth(colours, index), "markersize": 9, "clip_on": False}
    axes.plot([across], [up], nth(MARKERS, index), label=plain(label), **look)


def _gain(instance: Instance, model: str, data: frozenset[str]) -> float:
    alone = instance.replace(traced_law=None) if instance.has_memory else instance
    step = loss_step(alone, 1, 0, None, model, data)
    means = [term.coefficient * term.law.moments().mean for term in step.terms if term.law.declared]
    return -math.fsum([step.shift, *means]) if len(means) == len(step.terms) else math.nan


def _draw_transfers(instance: Instance, axes: "Axes") -> None:
    datasets, clusters = instance.datasets, instance.clusters
    costs = [[instance.transfer_cost(data.name, place.name) for place in clusters] for data in datasets]
    most = max(map(max, costs)) or 1.0
    axes.imshow(costs, cmap="Blues", aspect="auto", vmin=0.0, vmax=most)
    axes.set_xticks(range(len(clusters)), [plain(item.name) for item in clusters], fontsize="small")
    axes.set_yticks(range(len(datasets)), [plain(item.name) for item in datasets], fontsize="small")
    few = len(datasets) * len(clusters) <= _MOST_CELLS
    for (row, data), (column, place) in product(enumerate(datasets), enumerate(clusters)) if few else ():
        allowed, cost = instance.rules.may_use((data.name,), place.name), costs[row][column]
        look: dict[str, Any] = {"color": "white" if cost > 0.6 * most else "black", "fontsize": "small"}
        text = number(cost, 4) if allowed else "not allowed"
        axes.annotate(text, (column, row), ha="center", va="center", **look)
    title = instance.units.titled("one-time cost of a transfer, dataset to cluster", "cost")
    title_near(axes, plain(title))
