"""Which pruning for which promise: cheapest mixes of pruning factors against omega, for the main families.

``python -m depl.benchmarks.studies.helpers.guidance_figure FOLDER [INSTANCE ...]`` solves every instance for
every level of `LEVELS`, as it is and without its margin for plans that were never run, and writes
``pruning-mix.png``, ``.svg`` and ``.csv``. The shipped instances take less than a minute of one core.
"""

import argparse
import csv
import io
import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.style import HATCHES, MODEL_COLOURS, nth, panels, save, set_title
from depl.instances.library import load
from depl.models.foundation.csv_cells import shown
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import DeplError
from depl.models.problem.instance import Instance
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.solve import solve

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)
INSTANCES = ("digits-alexnet", "digits-mobilenet")
READINGS = ("with margin", "no margin")
COLUMNS = ("instance", "reading", "omega", "cost", "stage", "model", "cluster", "epochs")

_PANEL, _BELOW = (4.6, 2.7), 0.3
"""Of a panel, and room below all of them [in]."""
_WIDE, _NARROW = 0.8, 0.45
_LETTERS = 14
"""Of small print, in an inch."""


class Mix(NamedTuple):
    """The cheapest plan for omega: (model, cluster, epochs) of its stages; without a plan it has no cost."""

    level: float
    cost: float | None
    stages: tuple[tuple[str, str, int], ...]


def without_margin(instance: Instance) -> Instance:
    """The instance with nothing added for plans that were never run."""
    if instance.traced_law is None:
        return instance
    return instance.replace(traced_law=msgspec.structs.replace(instance.traced_law, deviations=(), care=None))


def cheapest_mixes(instance: Instance, levels: Sequence[float]) -> list[Mix]:
    """The mix for every omega; everything else is as in the instance."""
    found = []
    for level in levels:
        result = uninterrupted(solve(instance.replace(quantile_level=level), method="enumerate"))
        epochs = [] if result.plan is None else [(item.model, item.cluster) for item in result.plan.epochs]
        stages = tuple((*key, len(list(items))) for key, items in groupby(epochs))
        found.append(Mix(level, None if result.plan is None else result.cost, stages))
    return found


def guidance_figure(instances: Sequence[Instance], mixes: Sequence[Sequence[Sequence[Mix]]]) -> Figure:
    """A column for every instance, a row for every reading; ``mixes`` by instance and reading."""
    figure, axes = panels(len(READINGS) * len(instances), len(instances), _PANEL)
    figure.set_figheight(figure.get_figheight() + _BELOW)
    models = list(dict.fromkeys(model.name for instance in instances for model in instance.models))
    for column, (instance, found) in enumerate(zip(instances, mixes, strict=True)):
        own = axes[column :: len(instances)]
        for reading, panel, item in zip(READINGS, own, found, strict=True):
            _draw(panel, item, models, instance.clusters[0].name)
            set_title(panel, f"{instance.name}, {reading}")
        top = 1.15 * max(sum(stage[2] for stage in mix.stages) for item in found for mix in item)
        for panel in own:
            panel.set_ylim(0, top or 1)  # bars of one instance can be compared
    used = {stage[0] for found in mixes for item in found for mix in item for stage in mix.stages}
    figure.legend(
        handles=[Patch(label=name, **_look(models, name)) for name in models if name in used],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        title=textwrap.fill(_widths(instances), int(_LETTERS * figure.get_figwidth())),
        title_fontsize="small",
    )
    return figure


def _draw(axes: Axes, mixes: Sequence[Mix], models: Sequence[str], wide: str) -> None:
    """One bar per level, its stages from the bottom up as they are trained, and the cost above it."""
    for place, mix in enumerate(mixes):
        below = 0
        for model, cluster, epochs in mix.stages:
            width = _WIDE if cluster == wide else _NARROW
            axes.bar(place, epochs, bottom=below, width=width, linewidth=0.5, **_look(models, model))
            below += epochs
        told = "no plan" if mix.cost is None else f"{mix.cost:.0f}"
        look: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": "x-small"}
        axes.annotate(told, (place, below), (0, 3), **look)
    axes.set_xticks(range(len(mixes)), [f"{mix.level:g}" for mix in mixes])
    axes.set_xlim(-0.6, len(mixes) - 0.4)
    axes.set_xlabel("promise $\\omega$")
    axes.set_ylabel("epochs")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _look(models: Sequence[str], model: str) -> dict[str, Any]:
    place = models.index(model)
    return {"edgecolor": "white", "facecolor": nth(MODEL_COLOURS, place), "hatch": nth(HATCHES, place)}


def _widths(instances: Sequence[Instance]) -> str:
    """What the widths of the bars mean, and the numbers above them."""
    wide = dict.fromkeys(instance.clusters[0].name for instance in instances)
    narrow = dict.fromkeys(item.name for instance in instances for item in instance.clusters[1:])
    told = f"wide bars: trained on {' or '.join(wide)}"
    if narrow:
        told += f"; narrow bars: on {' or '.join(narrow)}"
    return f"{told}; number above a bar: its cost"


def as_table(instances: Sequence[Instance], mixes: Sequence[Sequence[Sequence[Mix]]]) -> str:
    """The same as CSV: a line for every stage, and one without a stage where nothing is trained."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for instance, found in zip(instances, mixes, strict=True):
        for reading, item in zip(READINGS, found, strict=True):
            for mix in item:
                told = instance.name, reading, f"{mix.level:g}", "" if mix.cost is None else f"{mix.cost:.6g}"
                stages = [(str(place), *stage) for place, stage in enumerate(mix.stages, 1)]
                for stage in stages or [("", "", "", 0)]:
                    writer.writerow(map(shown, (*told, *stage)))
    return written.getvalue()


def main(arguments: Sequence[str] | None = None, levels: Sequence[float] = LEVELS) -> int:
    """Solve, draw and write; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m depl.benchmarks.studies.helpers.guidance_figure", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", default=INSTANCES, help="names or paths")
    options = parser.parse_args(arguments)
    try:
        read = [load(name) for name in options.instances]
        mixes = [
            [cheapest_mixes(item, levels) for item in (instance, without_margin(instance))]
            for instance in read
        ]
        options.folder.mkdir(parents=True, exist_ok=True)
        save(guidance_figure(read, mixes), options.folder, "pruning-mix")
        write_text(options.folder / "pruning-mix.csv", as_table(read, mixes))
    except DeplError as error:
        parser.exit(error.exit_code, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
