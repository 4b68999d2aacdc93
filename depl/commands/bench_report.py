"""What ``depl bench report`` does; `depl.commands.bench` declares its options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from depl.benchmarks.analysis.table import Table, booktabs, short
from depl.benchmarks.measure.results import read_all
from depl.benchmarks.measure.store import RECORDED, read_attempts
from depl.commands.answer import Answer
from depl.commands.options import Options, make_folder, require_outputs
from depl.commands.printable import as_json, table
from depl.instances.training.recorded import recorded_traces
from depl.models.foundation.documents import write_text
from depl.models.foundation.wording import counted

if TYPE_CHECKING:
    from depl.benchmarks.figures.drawing import Drawing
    from depl.benchmarks.report.evidence import Evidence
    from depl.benchmarks.report.verdicts import Verdict

TRACES = ("digits-alexnet", "digits-mobilenet")
"""Families of shipped traces that the standard report draws (Figs. 2 and 4)."""
_SEED, _RESAMPLES = 20240222, 199
_KINDS = ("png", "svg", "pdf")


def run(options: Options) -> Answer:
    """Read, judge, draw and write."""
    # No other command needs pandas, and few need matplotlib.
    from depl.benchmarks.report.claims import CLAIMS
    from depl.benchmarks.report.evidence import evidence_of
    from depl.benchmarks.report.own import own_method, own_names
    from depl.benchmarks.report.page import report
    from depl.benchmarks.report.tables import report_tables
    from depl.benchmarks.report.verdicts import judged

    require_outputs([options.out], options.files)
    folder = None if options.folder is None else make_folder(options.folder)
    attempts = [attempt for source in options.files or [RECORDED] for attempt in read_attempts(source)]
    claims = not options.files if options.claims is None else options.claims
    evidence = evidence_of(attempts, read_all() if claims else ())
    verdicts = judged(CLAIMS, evidence) if claims else []
    named = list(filter(None, (options.methods or "").split(",")))
    marked = own_names(evidence, named) if named or options.files else ()
    own = [own_method(evidence, name) for name in marked]
    figures, notes = ([], []) if options.no_figures else _figures(evidence, traces=not options.files)
    tables = {name: shown.table for name, shown in report_tables(evidence, verdicts).items()}
    for place, method in enumerate(own, start=1):
        tables |= {f"own-{place}-{name}": numbers for name, numbers in method.tables.items() if numbers.rows}
    if folder is not None:
        require_outputs([options.out, *_named(folder, tables, figures)], options.files)
    write_text(options.out, report(evidence, verdicts, figures, notes, own))
    if folder is not None:
        for name, numbers in tables.items():
            numbers.write(folder / f"{name}.csv")
            write_text(folder / f"{name}.tex", booktabs(numbers))
        for figure in figures:
            figure.write(folder, _KINDS)
    sentences = [method.sentence for method in own]
    written = options.out if folder is None else f"{options.out}, and figures and tables in {options.folder}"
    told = _told(written, evidence, verdicts, tables, sentences)
    return Answer(told, json=_json(options.out, evidence, verdicts))


def _named(folder: Path, tables: dict[str, Table], figures: Sequence[Drawing]) -> list[str]:
    names = [f"{name}.{kind}" for name in tables for kind in ("csv", "tex")]
    names += [f"{figure.name}.{kind}" for figure in figures for kind in (*_KINDS, "csv")]
    return [str(folder / name) for name in names]


def _figures(evidence: Evidence, traces: bool) -> tuple[list[Drawing], list[str]]:
    """All figures, those of the shipped traces only if asked for; and what could not be drawn."""
    from depl.benchmarks.figures.paper import training_drawings
    from depl.benchmarks.figures.sweeps import figures_of, left_out

    found = figures_of(evidence.attempts)
    for family in TRACES if traces else ():
        rng = np.random.default_rng(_SEED)
        found += training_drawings(family, recorded_traces(family), rng, _RESAMPLES)
    return found, left_out(evidence.attempts)


def _told(
    path: str, evidence: Evidence, verdicts: Sequence[Verdict], tables: dict[str, Table], own: Sequence[str]
) -> str:
    from depl.benchmarks.analysis import limits
    from depl.benchmarks.report.verdicts import counts

    headline = tables["headline"]
    rows = [[short(cell, "") for cell in row] for row in headline.rows]
    means = table(headline.columns, rows, right=headline.columns[1:])
    parts = [f"Mean cost over the proved optimum\n{means}", *own]
    if verdicts:
        claims = tables["claims"]
        parts.append(table(claims.columns, [[short(cell) for cell in row] for row in claims.rows]))
        parts.append(f"Of {len(verdicts)} claims of the paper, each in its main reading, {counts(verdicts)}.")
    found = limits.judged(evidence.attempts)
    parts += [] if found.empty else [limits.verdict(found)]
    content = f"{counted(len(evidence.attempts), 'attempt')} of {counted(len(evidence.suites()), 'suite')}"
    return "\n\n".join([*parts, f"{path}: {content}"])


def _json(path: str, evidence: Evidence, verdicts: Sequence[Verdict]) -> str:
    claims = [
        {
            "number": verdict.number,
            "key": verdict.claim.key,
            "claim": verdict.claim.text,
            "where": verdict.claim.where,
            "verdict": verdict.ruling.value,
            "main_reading": verdict.claim.main.statement,
            "figure": verdict.figure,
            "others": len(verdict.others),
            "agree": verdict.agree,
        }
        for verdict in verdicts
    ]
    return as_json({"page": path, "attempts": len(evidence.attempts), "claims": claims})
