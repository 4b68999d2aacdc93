"""What ``depl bench report`` does; `depl.arguments.bench_report` declares its options."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from depl.benchmarks.analysis import limits
from depl.benchmarks.analysis.table import Cell
from depl.benchmarks.measure.results import read_all
from depl.benchmarks.measure.store import RECORDED, read_attempts
from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.report.evidence import Evidence, evidence_of
from depl.benchmarks.report.headline import headline_table
from depl.benchmarks.report.own import OwnMethod, own_methods, own_names
from depl.benchmarks.report.tables import report_tables
from depl.benchmarks.report.verdicts import Verdict, counts, judged
from depl.commands.answer import Answer
from depl.commands.inputs import make_folder, require_outputs
from depl.commands.json_text import as_json
from depl.commands.table import table
from depl.instances.training.recorded import recorded_traces
from depl.models.foundation.documents import write_text
from depl.models.foundation.wording import counted

if TYPE_CHECKING:
    from depl.benchmarks.figures.drawing import Drawing

TRACES = ("digits-alexnet", "digits-mobilenet")
"""Families of shipped traces that the standard report draws (Figs. 2 and 4)."""
_SEED, _RESAMPLES = 20240222, 199


def run(options: argparse.Namespace) -> Answer:
    """Read, judge, draw and write."""
    # Drawing is all that needs matplotlib, and no other command should wait for it.
    from depl.benchmarks.report.page import report

    require_outputs([options.out], options.files)
    folder = None if options.folder is None else make_folder(options.folder)
    sources = options.files or [RECORDED]
    attempts = [attempt for source in sources for attempt in read_attempts(source)]
    claims = not options.files if options.claims is None else options.claims
    evidence = evidence_of(attempts, read_all() if claims else ())
    verdicts = judged(ALL, evidence) if claims else []
    named = list(filter(None, (options.methods or "").split(",")))
    own = own_methods(evidence, own_names(evidence, named)) if named or options.files else []
    figures, notes = ([], []) if options.no_figures else _figures(evidence, traces=not options.files)
    tables = report_tables(evidence, verdicts, own)
    if folder is not None:
        names = [f"{name}.csv" for name in tables]
        names += [f"{figure.name}.{kind}" for figure in figures for kind in ("png", "svg", "csv")]
        require_outputs([options.out, *(str(folder / name) for name in names)], options.files)
    write_text(options.out, report(evidence, verdicts, figures, notes, own))
    if folder is not None:
        for name, numbers in tables.items():
            numbers.write(folder / f"{name}.csv")
        for figure in figures:
            figure.write(folder)
    return Answer(_told(options.out, evidence, verdicts, own), json=_json(options.out, evidence, verdicts))


def _figures(evidence: Evidence, traces: bool) -> "tuple[list[Drawing], list[str]]":
    """All figures, those of the shipped traces only if asked for; and what could not be drawn."""
    from depl.benchmarks.figures.paper import training_drawings
    from depl.benchmarks.figures.sweeps import figures_of, left_out

    found = figures_of(evidence.attempts)
    for family in TRACES if traces else ():
        rng = np.random.default_rng(_SEED)
        found += training_drawings(family, recorded_traces(family), rng, _RESAMPLES)
    return found, left_out(evidence.attempts)


def _told(path: str, evidence: Evidence, verdicts: Sequence[Verdict], own: Sequence[OwnMethod]) -> str:
    content = f"{counted(len(evidence.attempts), 'attempt')} of {counted(len(evidence.suites()), 'suite')}"
    claims, told = "", ""
    if verdicts:
        rows = [(str(verdict.number), verdict.claim.claim, verdict.words) for verdict in verdicts]
        claims = table(("", "claim of the paper", "verdict"), rows, right=("",))
        told = f"Of {len(verdicts)} claims {', '.join(words for _, words in counts(verdicts))}.\n"
    parts = (
        _headline(evidence),
        *(method.sentence for method in own),
        claims,
        _limits(evidence),
        f"{told}{path}: {content}",
    )
    return "\n\n".join(filter(None, parts))


def _limits(evidence: Evidence) -> str:
    """Whether limits of time were kept; nothing where no attempt tells."""
    found = limits.judged(evidence.attempts)
    return limits.verdict(found) if found else ""


def _headline(evidence: Evidence) -> str:
    """The headline table; nothing where no suite of it was run."""
    found = headline_table(evidence)
    if not found.rows:
        return ""
    rows = [[_cell(value) for value in row] for row in found.rows]
    text = table(found.columns, rows, right=found.columns[1:])
    return f"Mean cost over the proved optimum, by family\n{text}"


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _json(path: str, evidence: Evidence, verdicts: Sequence[Verdict]) -> str:
    claims = [
        {
            "number": verdict.number,
            "key": verdict.claim.key,
            "claim": verdict.claim.claim,
            "where": verdict.claim.where,
            "verdict": verdict.ruling.value,
            "readings": {"all": len(verdict.findings.readings), "measured": verdict.measured},
            "parts": [
                {"suite": part.suite, "measured": part.measured, "instances": part.instances}
                for part in verdict.parts
            ],
            "reason": verdict.reason,
        }
        for verdict in verdicts
    ]
    return as_json({"page": path, "attempts": len(evidence.attempts), "claims": claims})
