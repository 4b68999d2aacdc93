"""Which pruning for which promise: cheapest mixes of pruning factors against omega, for the main families.

``python -m depl.benchmarks.studies.helpers.guidance_figure FOLDER [INSTANCE ...]`` solves every instance for
every level of `LEVELS`, as it is and without its margin for plans that were never run, and writes
``pruning-mix.png``, ``.svg`` and ``.csv``. The shipped instances take less than a minute of one core.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.style import HATCHES, MODEL_COLOURS, finished, nth, panels, save, set_title
from depl.instances.library import load
from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.solve import solve

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)
INSTANCES = ("digits-alexnet", "digits-mobilenet")
READINGS = ("with margin", "no margin")
COLUMNS = ("instance", "reading", "omega", "cost", "stage", "model", "cluster", "epochs")

Row = dict[str, str | float]
"""By `COLUMNS`: a stage of the cheapest plan for omega, or no stage where nothing is trained."""


def without_margin(instance: Instance) -> Instance:
    """The instance with nothing added for plans that were never run."""
    if instance.traced_law is None:
        return instance
    return instance.replace(traced_law=msgspec.structs.replace(instance.traced_law, deviations=(), care=None))


def cheapest_mixes(instance: Instance, levels: Sequence[float]) -> Iterator[Row]:
    """The mix for every omega, in both readings; everything else is as in the instance."""
    for reading, asked in zip(READINGS, (instance, without_margin(instance)), strict=True):
        for level in levels:
            result = uninterrupted(solve(asked.replace(quantile_level=level), method="enumerate"))
            plan, told = result.plan or Plan(), "" if result.plan is None else f"{result.cost:.6g}"
            head: Row = {"instance": instance.name, "reading": reading, "omega": f"{level:g}", "cost": told}
            stages = [(*key, len(list(items))) for key, items in groupby(plan.schedule)]
            for place, stage in enumerate(stages or [("", "", 0)], 1):
                yield head | dict(zip(COLUMNS[4:], (str(place) if stages else "", *stage), strict=True))


def guidance_figure(rows: Sequence[Row], wide: Sequence[str]) -> Figure:
    """A column for every instance, a row for every reading; bars of the clusters ``wide`` are wide."""
    names = list(dict.fromkeys(row["instance"] for row in rows))
    models = sorted({str(row["model"]) for row in rows if row["model"]})
    figure, axes = panels(len(READINGS) * len(names), len(names), (4.6, 2.7))
    shown = [(reading, name) for reading in READINGS for name in names]
    for (reading, name), panel in zip(shown, axes, strict=True):
        own = [row for row in rows if (row["instance"], row["reading"]) == (name, reading)]
        _draw(panel, own, models, wide)
        set_title(panel, f"{name}, {reading}")
    for column in range(len(names)):  # bars of one instance can be compared
        top = max(panel.get_ylim()[1] for panel in axes[column :: len(names)])
        for panel in axes[column :: len(names)]:
            panel.set_ylim(0, top)
    told = f"wide bars: on {' or '.join(dict.fromkeys(wide))}"
    return finished(figure, shared=True, title=f"{told}\nnumber above a bar: its cost")


def _draw(axes: Axes, rows: Sequence[Row], models: Sequence[str], wide: Sequence[str]) -> None:
    """One bar per level, its stages from the bottom up as they are trained, and the cost above it."""
    levels = list(dict.fromkeys(row["omega"] for row in rows))
    for place, level in enumerate(levels):
        own, below = [row for row in rows if row["omega"] == level], 0.0
        for row in own if own[0]["stage"] else ():
            model, epochs = models.index(str(row["model"])), float(row["epochs"])
            look: dict[str, Any] = {"facecolor": nth(MODEL_COLOURS, model), "hatch": nth(HATCHES, model)}
            width = 0.8 if row["cluster"] in wide else 0.45
            axes.bar(
                place, epochs, width, below, label=row["model"], edgecolor="white", linewidth=0.5, **look
            )
            below += epochs
        told = f"{float(own[0]['cost']):.0f}" if own[0]["cost"] else "no plan"
        axes.annotate(
            told, (place, below), (0, 3), textcoords="offset points", ha="center", fontsize="x-small"
        )
    axes.set_xticks(range(len(levels)), [str(level) for level in levels])
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.margins(y=0.15)
    axes.set_xlabel("promise $\\omega$")
    axes.set_ylabel("epochs")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def as_table(rows: Sequence[Row]) -> Table:
    """The same as a table."""
    return Table(COLUMNS, tuple(tuple(row.values()) for row in rows))


def main(arguments: Sequence[str], levels: Sequence[float] = LEVELS) -> int:
    """Solve, draw and write; returns the exit code."""
    try:
        if not arguments or arguments[0].startswith("-"):
            raise InvalidInputError("name the folder to write to, and instances if you like")
        folder, instances = Path(arguments[0]), [load(name) for name in arguments[1:] or INSTANCES]
        rows = [row for instance in instances for row in cheapest_mixes(instance, levels)]
        folder.mkdir(parents=True, exist_ok=True)
        wide = [instance.clusters[0].name for instance in instances]
        save(guidance_figure(rows, wide), folder, "pruning-mix")
        as_table(rows).write(folder / "pruning-mix.csv")
    except DeplError as error:
        sys.stderr.write(f"guidance_figure: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
