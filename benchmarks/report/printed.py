"""What the paper prints about one of its figures, beside what was measured."""

import re
from collections.abc import Sequence

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.series import BEST_EXP, DEPL
from depl.benchmarks.report.verdicts import Reading, Verdict, judged

_FIGURES = re.compile(r"Figs?\. (\d+(?:(?:, | and |, and )\d+)*)")
_COLUMNS = ("printed", "where", "here", "reading", "shown", "cases", "measured")


def figures_named(where: str) -> set[int]:
    """The numbers of the figures in a place of the paper, such as ``Sec. VI-B, Figs. 5 and 6, left``."""
    return {int(number) for found in _FIGURES.findall(where) for number in re.findall(r"\d+", found)}


def printed_about(number: int, evidence: Evidence) -> list[Verdict]:
    """The claims of the paper about a figure, judged, as far as the evidence says something on them.

    The numbers of the verdicts count the claims about this figure.
    """
    claims = [claim for claim in ALL if number in figures_named(claim.where)]
    return [verdict for verdict in judged(claims, evidence) if verdict.measured]


def closest_reading(verdict: Verdict, methods: Sequence[str]) -> Reading:
    """Of the readings that were measured, the first of those that name most of these methods."""
    names = [name for method, name in {**DEPL, **BEST_EXP}.items() if method in methods]
    measured = [reading for reading in verdict.findings.readings if reading.cases]
    return max(measured, key=lambda reading: sum(name in reading.statement for name in names))


def printed_table(verdicts: Sequence[Verdict]) -> Table:
    """A row for every reading that was measured: what is printed, the verdict, and the numbers behind it."""
    rows = [
        (
            verdict.claim.claim,
            verdict.claim.where,
            verdict.words,
            reading.statement,
            reading.shown,
            reading.cases,
            reading.measured,
        )
        for verdict in verdicts
        for reading in verdict.findings.readings
        if reading.cases
    ]
    return Table(_COLUMNS, tuple(rows))
