"""The picture of the case ``promises-kept``, from its record and from nothing else.

``python -m depl.benchmarks.promises_figure FOLDER [RECORD]`` draws ``promises-kept.png`` and ``.svg`` from
the committed record, or from another one: a panel per family, promised against delivered.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.promised_against_delivered import promised_against_delivered, promises_of
from depl.benchmarks.results import RESULTS, read
from depl.models.errors import DeplError


def promises_figure(values: Mapping[str, Any]) -> Figure:
    """A panel per family.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``rows`` and ``pilots`` are drawn.
    """
    families = list(dict.fromkeys(row["family"] for row in values["rows"]))
    figure, axes = panels(max(len(families), 1))
    for family, panel in zip(families, axes, strict=False):
        own = [[row for row in values[kind] if row["family"] == family] for kind in ("rows", "pilots")]
        promised_against_delivered(promises_of(*own), panel)
        panel.set_title(family)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figure; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m depl.benchmarks.promises_figure", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    record = RESULTS / "promises-kept.json"
    parser.add_argument("record", type=Path, nargs="?", default=record, help="of the case promises-kept")
    options = parser.parse_args(arguments)
    try:
        figure = promises_figure(read(options.record).values)
        options.folder.mkdir(parents=True, exist_ok=True)
        save(figure, options.folder, "promises-kept")
    except DeplError as error:
        parser.exit(error.exit_code, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
