"""The picture of the case ``prediction-sets``, from its record and from nothing else.

``python -m depl.benchmarks.set_size_figure FOLDER [RECORD]`` draws ``prediction-sets.png`` and ``.svg`` from
the committed record, or from another one: set size against final loss of every run, and set sizes after
expected and after dependable training.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.set_size_against_loss import points_of, set_size_against_loss
from depl.benchmarks.figures.set_sizes_of_trainings import set_sizes_of_trainings, sizes_of
from depl.benchmarks.results import RESULTS, read
from depl.models.errors import DeplError

_WIDTH, _HEIGHT = 9.6, 4.4


def set_size_figure(values: Mapping[str, Any]) -> Figure:
    """Both panels.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``points`` and ``comparisons`` are drawn.
    """
    figure, (left, right) = panels(2)
    figure.set_size_inches(_WIDTH, _HEIGHT)
    set_size_against_loss(points_of(values["points"]), left)
    set_sizes_of_trainings(sizes_of(values["comparisons"]), right)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m depl.benchmarks.set_size_figure", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    record = RESULTS / "prediction-sets.json"
    parser.add_argument("record", type=Path, nargs="?", default=record, help="of the case prediction-sets")
    options = parser.parse_args(arguments)
    try:
        figure = set_size_figure(read(options.record).values)
        options.folder.mkdir(parents=True, exist_ok=True)
        save(figure, options.folder, "prediction-sets")
    except DeplError as error:
        parser.exit(error.exit_code, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
