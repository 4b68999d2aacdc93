"""What ``depl figures`` does; `depl.arguments.figures` declares its options."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from depl.benchmarks.analysis.latex import booktabs, pivoted
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.results import read_all
from depl.benchmarks.measure.store import latest, read_attempts
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.printed import closest_reading, printed_about, printed_table
from depl.benchmarks.report.verdicts import Verdict
from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.options import make_folder, require_outputs
from depl.commands.table import table
from depl.instances.training.recorded import named_traces
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

if TYPE_CHECKING:
    from depl.benchmarks.figures.drawing import Drawing
    from depl.models.problem.instance import Instance

_TRAINING = (2, 4)
_WITH_LEVELS = (5, 6)
_NOTHING_PRINTED = "The paper prints nothing about this figure that these measurements could be held against."


def run(options: argparse.Namespace) -> Answer:
    """Draw the figure, write it with its values, and hold what is printed against them."""
    number, folder = options.paper, make_folder(options.out)
    kinds = [*options.formats, "csv", *(["tex"] if options.latex else [])]
    stem = f"paper-figure-{number}"
    files = [folder / f"{stem}.{kind}" for kind in kinds] + [folder / f"{stem}-printed.csv"]
    require_outputs(map(str, files), options.files)
    drawing, verdicts = _drawn(options)
    _write(drawing, folder, options)
    printed_table(verdicts).write(files[-1])
    content = {
        "figure": number,
        "caption": drawing.caption,
        "files": [str(path) for path in files],
        "values": drawing.table.records(),
        "printed": printed_table(verdicts).records(),
    }
    text = "\n\n".join(
        [drawing.caption, _values(drawing.table), _compared(verdicts, options.places), _listed(files)]
    )
    return Answer(text, json=as_json(content))


def _drawn(options: argparse.Namespace) -> "tuple[Drawing, list[Verdict]]":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.drawing import add_footer, unprinted_lines
    from depl.benchmarks.figures.paper import COLUMN, FAMILIES, WIDE, paper_drawing, training_drawing

    number, layout = options.paper, COLUMN if options.column_width else WIDE
    attempts: list[Attempt] = []
    if number in _TRAINING:
        if len(options.files) > 1:
            raise InvalidInputError("this figure is drawn from one file of traces, or one family", "FILE")
        source = (options.files or [FAMILIES[number]])[0]
        drawing = training_drawing(number, named_traces(source), Path(source).stem, layout)
    else:
        attempts = _attempts(options)
        drawing = paper_drawing(number, attempts, options.places, options.family, layout)
    verdicts = printed_about(number, evidence_of(attempts, read_all()))
    lines = _footer(verdicts, options.places, options.column_width)
    lines += unprinted_lines(_instances(attempts, options.family or FAMILIES[number]))
    if options.column_width:  # there is no room below the legend: the caption says it
        sentences = [line if line.endswith(".") else f"{line[:1].upper()}{line[1:]}." for line in lines]
        return replace(drawing, caption=" ".join([drawing.caption, *sentences])), verdicts
    add_footer(drawing.figure, "\n".join(lines), points=7)
    return drawing, verdicts


def _instances(attempts: Sequence[Attempt], family: str) -> "list[Instance]":
    """Those of a family behind attempts, as far as they can be made again."""
    from depl.benchmarks.figures.drawing import Instances

    return Instances().of_all([item for item in attempts if item.labels.get("family") == family])


def _attempts(options: argparse.Namespace) -> list[Attempt]:
    names = options.files or ["paper", *(["paper-eta"] if options.paper in _WITH_LEVELS else [])]
    return latest(attempt for name in names for attempt in read_attempts(name))


def _write(drawing: "Drawing", folder: Path, options: argparse.Namespace) -> None:
    drawing.write(folder, options.formats)
    if options.latex:
        wide = _wide(drawing.table)
        origin = f"values of {drawing.name}, made by depl figures --paper {options.paper} --latex"
        write_text(folder / f"{drawing.name}.tex", booktabs(wide, drawing.caption, [origin]))


def _wide(values: Table) -> Table:
    """The values with methods or models side by side, where there is one value for each."""
    if "model" in values.columns:
        return pivoted(values, "model", values.columns[-1])
    both = {"method", "value"} <= set(values.columns)
    return pivoted(values, "method", "value") if both else values


def _values(values: Table) -> str:
    wide = _wide(values)
    rows = [[_cell(cell) for cell in row] for row in wide.rows]
    return table(wide.columns, rows, right=wide.columns[1:])


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _compared(verdicts: Sequence[Verdict], methods: Sequence[str]) -> str:
    if not verdicts:
        return _NOTHING_PRINTED
    rows = [(item.claim.claim, item.claim.where, item.words, _measured(item, methods)) for item in verdicts]
    header = ("printed in the paper", "where", "here", "measured, in the reading that names these methods")
    return table(header, rows)


def _measured(verdict: Verdict, methods: Sequence[str]) -> str:
    """The reading that is closest to what is drawn, in how many cases it shows, and the numbers behind it."""
    reading = closest_reading(verdict, methods)
    numbers = f"; {reading.measured}" if reading.measured else ""
    return f"{reading.statement}: so in {reading.shown} of {counted(reading.cases, 'case')}{numbers}"


def _footer(verdicts: Sequence[Verdict], methods: Sequence[str], narrow: bool) -> list[str]:
    """What is printed, with the verdict and, where there is room, the numbers; a line each."""
    return [
        f"Printed: {item.claim.claim} Here: {item.words}."
        + ("" if narrow else f" {_measured(item, methods)}.")
        for item in verdicts
    ]


def _listed(files: Sequence[Path]) -> str:
    return "written: " + ", ".join(map(str, files))
