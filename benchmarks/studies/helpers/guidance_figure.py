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
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from depl.benchmarks.figures.pruning_mix import Mix, Stage, legend_entries, pruning_mix
from depl.benchmarks.figures.style import save, set_title
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

_PANEL = (4.6, 2.7)
_LETTERS = 14
"""Of small print, in an inch."""
_NAME = "pruning-mix"
_COLUMNS = ("instance", "reading", "omega", "cost", "stage", "model", "cluster", "epochs")


@dataclass(frozen=True)
class Guidance:
    """The cheapest mixes of one instance in one reading.

    Attributes
    ----------
    instance, reading : str
    models, clusters : tuple of str
        All of the instance, in its order.
    mixes : tuple of Mix
        By level.
    """

    instance: str
    reading: str
    models: tuple[str, ...]
    clusters: tuple[str, ...]
    mixes: tuple[Mix, ...]


def readings(instance: Instance) -> dict[str, Instance]:
    """The instance as it is, and without a margin."""
    return dict(zip(READINGS, (instance, without_margin(instance)), strict=True))


def without_margin(instance: Instance) -> Instance:
    """The instance with nothing added for plans that were never run."""
    if instance.traced_law is None:
        return instance
    return instance.replace(traced_law=msgspec.structs.replace(instance.traced_law, deviations=(), care=None))


def cheapest_mixes(instance: Instance, levels: Sequence[float] = LEVELS) -> tuple[Mix, ...]:
    """The stages of the cheapest plan for every quantile level.

    Parameters
    ----------
    levels : sequence of float
        omega; everything else is as in the instance.

    Raises
    ------
    InvalidInputError
        If a level is not inside (0, 1).
    """
    found = []
    for level in levels:
        result = uninterrupted(solve(instance.replace(quantile_level=level), method="enumerate"))
        epochs = [] if result.plan is None else [(item.model, item.cluster) for item in result.plan.epochs]
        stages = tuple(Stage(*key, len(list(items))) for key, items in groupby(epochs))
        found.append(Mix(level, stages, None if result.plan is None else result.cost))
    return tuple(found)


def guidance(instance: Instance, levels: Sequence[float] = LEVELS) -> list[Guidance]:
    """The cheapest mixes of an instance, by reading; levels as for `cheapest_mixes`."""
    return [
        Guidance(
            instance.name,
            reading,
            tuple(item.name for item in read.models),
            tuple(item.name for item in read.clusters),
            cheapest_mixes(read, levels),
        )
        for reading, read in readings(instance).items()
    ]


def guidance_figure(guided: Sequence[Sequence[Guidance]]) -> Figure:
    """A column of panels for every instance, a row for every reading."""
    rows, columns = max(len(found) for found in guided), len(guided)
    figure = Figure(figsize=(_PANEL[0] * columns, _PANEL[1] * rows + 0.3), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for column, found in enumerate(guided):
        drawn = [
            pruning_mix(item.mixes, item.models, item.clusters, grid[row][column])
            for row, item in enumerate(found)
        ]
        top = max((axes.get_ylim()[1] for axes in drawn), default=1)
        for axes, item in zip(drawn, found, strict=True):
            axes.set_ylim(0, top)  # bars of one instance can be compared
            set_title(axes, f"{item.instance}, {item.reading}")
    everything = [item for found in guided for item in found]
    models = tuple(dict.fromkeys(model for item in everything for model in item.models))
    used = {stage.model for item in everything for mix in item.mixes for stage in mix.stages}
    figure.legend(
        handles=legend_entries(models, used),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        title=textwrap.fill(_widths(everything), int(_LETTERS * figure.get_figwidth())),
        title_fontsize="small",
    )
    return figure


def _widths(everything: Sequence[Guidance]) -> str:
    """What the widths of the bars mean, and the numbers above them."""
    wide = dict.fromkeys(item.clusters[0] for item in everything)
    narrow = dict.fromkeys(name for item in everything for name in item.clusters[1:])
    told = f"wide bars: trained on {' or '.join(wide)}"
    if narrow:
        told += f"; narrow bars: on {' or '.join(narrow)}"
    return f"{told}; number above a bar: its cost"


def as_table(guided: Sequence[Sequence[Guidance]]) -> str:
    """The same as CSV: a line for every stage, and one without a stage where nothing is trained."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item in (item for found in guided for item in found):
        for mix in item.mixes:
            cost = "" if mix.cost is None else f"{mix.cost:.6g}"
            stages: list[tuple[int | str, str, str, int]] = [
                (place, *_told(stage)) for place, stage in enumerate(mix.stages, 1)
            ]
            for row in stages or [("", "", "", 0)]:
                writer.writerow(map(shown, (item.instance, item.reading, f"{mix.level:g}", cost, *row)))
    return written.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve, draw and write; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m depl.benchmarks.studies.helpers.guidance_figure", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", default=INSTANCES, help="names or paths")
    options = parser.parse_args(arguments)
    try:
        found = [guidance(load(name)) for name in options.instances]
        options.folder.mkdir(parents=True, exist_ok=True)
        save(guidance_figure(found), options.folder, _NAME)
        write_text(options.folder / f"{_NAME}.csv", as_table(found))
    except DeplError as error:
        parser.exit(error.exit_code, f"{parser.prog}: {error}\n")
    return 0


def _told(stage: Stage) -> tuple[str, str, int]:
    return stage.model, stage.cluster, stage.epochs


if __name__ == "__main__":
    sys.exit(main())
