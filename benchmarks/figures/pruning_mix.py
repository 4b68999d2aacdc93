"""Epochs with each model of the cheapest plans against the quantile level omega, the cost on top."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.style import HATCHES, MODEL_COLOURS, given_or_new, nth

_WIDTHS = (0.8, 0.45)


@dataclass(frozen=True)
class Stage:
    """So many epochs with one model on one cluster."""

    model: str
    cluster: str
    epochs: int


@dataclass(frozen=True)
class Mix:
    """The cheapest plan for a quantile level.

    Attributes
    ----------
    level : float
        omega.
    stages : tuple of Stage
        In the order of training; empty where there is no plan, or none that trains.
    cost : float or None
        [cost]; None where there is no plan.
    """

    level: float
    stages: tuple[Stage, ...]
    cost: float | None


def pruning_mix(
    mixes: Sequence[Mix], models: Sequence[str], clusters: Sequence[str], axes: Axes | None = None
) -> Axes:
    """Draw one bar per level, its stages from the bottom up, and the cost above it.

    Parameters
    ----------
    mixes : sequence of Mix
        From left to right.
    models : sequence of str
        Colour and hatch of a model go by its place here.
    clusters : sequence of str
        The first has wide bars, the others have narrow ones.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    for place, mix in enumerate(mixes):
        below = 0
        for stage in mix.stages:
            axes.bar(
                place,
                stage.epochs,
                bottom=below,
                width=_WIDTHS[min(clusters.index(stage.cluster), 1)],
                edgecolor="white",
                linewidth=0.5,
                facecolor=_colour(models, stage.model),
                hatch=_hatch(models, stage.model),
            )
            below += stage.epochs
        told = "no plan" if mix.cost is None else f"{mix.cost:.0f}"
        axes.annotate(
            told, (place, below), (0, 3), textcoords="offset points", ha="center", fontsize="x-small"
        )
    axes.set_xticks(range(len(mixes)), [f"{mix.level:g}" for mix in mixes])
    axes.set_xlim(-0.6, len(mixes) - 0.4)
    axes.set_xlabel("promise $\\omega$")
    axes.set_ylabel("epochs")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, 1.15 * max((sum(stage.epochs for stage in mix.stages) for mix in mixes), default=0) or 1)
    return axes


def legend_entries(models: Sequence[str], used: Collection[str] | None = None) -> list[Patch]:
    """What a legend shows for these models, or for those of them that are used."""
    return [
        Patch(label=model, edgecolor="white", facecolor=_colour(models, model), hatch=_hatch(models, model))
        for model in models
        if used is None or model in used
    ]


def _colour(models: Sequence[str], model: str) -> str:
    return nth(MODEL_COLOURS, models.index(model))


def _hatch(models: Sequence[str], model: str) -> str:
    return nth(HATCHES, models.index(model))
