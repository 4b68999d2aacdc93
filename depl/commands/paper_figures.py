"""``depl figures``: a figure of the paper again, in its layout, held against what the paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import FORMATS, Choice, Options, argument, command, option
from depl.commands.printable import as_json, table
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.benchmarks.analysis.table import Table
    from depl.benchmarks.figures.drawing import Drawing
    from depl.benchmarks.report.verdicts import Verdict

PRINTED = (2, 4, 5, 6, 7, 8, 9)
"""Numbers of the paper's figures that show numbers: those of `depl.benchmarks.figures.paper.FAMILIES`."""
_TRAINING = (2, 4)
_WITH_LEVELS = (5, 6)
_ENDINGS = (*(f".{kind}" for kind in FORMATS), ".csv", ".tex", "-printed.csv")
_NOTHING_PRINTED = "The paper prints nothing about this figure that these measurements could be held against."


def _places(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise click.BadParameter(f"must be different names with commas between them, not {text!r}")
    return found


@command("""\
depl figures --paper 5                       # from the recorded attempts
depl figures --paper 7 --methods exact,depl-paper,expected-cost
depl figures --paper 9 --family paper-alexnet-deadline --json
""")
@option(
    "--paper",
    "which figure; Figs. 1 and 3 show no numbers",
    Choice(tuple(map(str, PRINTED))),
    callback=lambda _ctx, _param, value: int(value),
    required=True,
)
@argument(
    "[FILE]...",
    "files of attempts, or names of recorded suites (default: paper, for Figs. 5 and 6 also "
    "paper-eta); for Figs. 2 and 4 traces or a family of those shipped (default: digits-alexnet)",
    name="files",
)
@option("--family F", "the family of the attempts; default: paper-alexnet, in Fig. 6 paper-mobilenet")
@option(
    "--methods A,B,C",
    "configurations in the places of the paper's optimal, DepL and best-exp",
    _places,
    default="exact,depl,expected-greedy",
    name="places",
)
@option("--out DIR", "where to write", default=".")
@given.as_json("the values and what is printed about them")
def figures(options: Options) -> Answer:
    """Draw a figure of the paper again, beside what the paper prints about it.

    It has the layout of the paper, and is drawn from recorded attempts or from yours. The paper publishes no
    values of its points, so what it prints are sentences and a few numbers in them.
    """
    from depl.benchmarks.analysis.table import booktabs, short
    from depl.benchmarks.report.tables import readings_table
    from depl.models.foundation.documents import write_text

    number, folder = options.paper, given.make_folder(options.out)
    files = [str(folder / f"paper-figure-{number}{end}") for end in _ENDINGS]
    given.require_outputs(files, options.files)
    drawing, verdicts = _drawn(options)
    drawing.write(folder, FORMATS)
    wide, printed = _wide(drawing.table), readings_table(verdicts)
    origin = f"values of {drawing.name}, made by depl figures --paper {number}"
    write_text(folder / f"{drawing.name}.tex", booktabs(wide, drawing.caption, [origin]))
    printed.write(files[-1])
    content = {
        "figure": number,
        "caption": drawing.caption,
        "files": files,
        "values": drawing.table.records(),
        "printed": printed.records(),
    }
    tables = [
        table(shown.columns, [[short(cell, "-") for cell in row] for row in shown.rows], right)
        for shown, right in ((wide, wide.columns[1:]), (printed, ("shown", "cases")))
    ]
    compared = tables[1] if verdicts else _NOTHING_PRINTED
    parts = [drawing.caption, tables[0], compared, f"written: {', '.join(files)}"]
    return Answer("\n\n".join(parts), json=as_json(content))


def _drawn(options: Options) -> tuple[Drawing, list[Verdict]]:
    """The figure, with what is printed about it below it."""
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.drawing import add_footer, instances_of, unprinted_lines
    from depl.benchmarks.figures.paper import FAMILIES, paper_drawing, training_drawing
    from depl.benchmarks.measure.results import read_all
    from depl.benchmarks.measure.store import latest, read_attempts
    from depl.benchmarks.report.claims import about_figure
    from depl.benchmarks.report.evidence import evidence_of
    from depl.benchmarks.report.predicates import Ruling
    from depl.benchmarks.report.verdicts import judged
    from depl.instances.training.recorded import named_traces

    number, attempts = options.paper, []
    family = options.family or FAMILIES[number]
    if number in _TRAINING:
        if len(options.files) > 1:
            raise InvalidInputError("this figure is drawn from one file of traces, or one family", "FILE")
        source = (options.files or [FAMILIES[number]])[0]
        drawing = training_drawing(number, named_traces(source), Path(source).stem)
    else:
        names = options.files or ["paper", *(["paper-eta"] if number in _WITH_LEVELS else [])]
        attempts = latest(attempt for name in names for attempt in read_attempts(name))
        drawing = paper_drawing(number, attempts, options.places, family)
    verdicts = judged(about_figure(number), evidence_of(attempts, read_all()))
    verdicts = [item for item in verdicts if item.ruling is not Ruling.UNMEASURED]
    lines = [
        f"Printed: {item.claim.text} Here: {item.words}. {_measured(item, options.places)}."
        for item in verdicts
    ]
    own = [item for item in attempts if item.labels.get("family") == family]
    lines += unprinted_lines(instances_of(own))
    add_footer(drawing.figure, "\n".join(lines), points=7)
    return drawing, verdicts


def _wide(values: Table) -> Table:
    """The values with methods or models side by side, where there is one value for each."""
    from depl.benchmarks.analysis.table import pivoted

    if "model" in values.columns:
        return pivoted(values, "model", values.columns[-1])
    both = {"method", "value"} <= set(values.columns)
    return pivoted(values, "method", "value") if both else values


def _measured(verdict: Verdict, methods: Sequence[str]) -> str:
    """Of the measured readings the first of those that name most of what is drawn, with its figures."""
    known = [(reading, found) for reading, found in verdict.found if found.cases]
    reading, found = max(known, key=lambda item: sum(name in item[0].names for name in methods))
    return f"{reading.statement}: {found.words}"
