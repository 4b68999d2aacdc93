"""The command of the pictures that are drawn from the record of a case, and from nothing else."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.canvas import save
from depl.benchmarks.runner.results import RESULTS, read
from depl.models.foundation.errors import DeplError


def draw_record(
    module: str,
    description: str | None,
    case: str,
    figure_of: Callable[[Mapping[str, Any]], Figure],
    arguments: Sequence[str] | None = None,
) -> int:
    """Answer ``python -m MODULE FOLDER [RECORD]``: write ``CASE.png`` and ``.svg`` into the folder.

    Parameters
    ----------
    module, description : str
        Of the command, for its help.
    case : str
        Whose committed record is drawn unless another one is given; names the files.
    figure_of : callable
        Makes the figure of the measured values.
    arguments : sequence of str, optional
        The words after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("folder", type=Path, help="where to write")
    committed = RESULTS / f"{case}.json"
    parser.add_argument("record", type=Path, nargs="?", default=committed, help=f"of the case {case}")
    options = parser.parse_args(arguments)
    try:
        figure = figure_of(read(options.record).values)
        options.folder.mkdir(parents=True, exist_ok=True)
        save(figure, options.folder, case)
    except DeplError as error:
        parser.exit(error.exit_code, f"{parser.prog}: {error}\n")
    return 0
