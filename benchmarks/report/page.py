"""The page: what was found, the claims with their readings, figures, and tables with where they come from.

It is made from evidence and figures alone; the same ones give the same bytes.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from depl.benchmarks.analysis import limits
from depl.benchmarks.analysis.table import Table, short
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.own import OwnMethod
from depl.benchmarks.report.tables import Shown, report_tables
from depl.benchmarks.report.template import inline_svg, rendered
from depl.benchmarks.report.verdicts import Verdict, counts
from depl.instances.shipped import names
from depl.models.foundation.errors import InvalidInputError

MOST_ROWS = 1000
"""Rows up to which a table is on the page."""
_OWN = {
    "against": "{} against each other method on the same questions",
    "groups": "Where {} loses: groups of instances, the worst mean first",
    "worst": "The worst instances of {}; the command runs them again, with all seeds of the suite",
}


def report(
    evidence: Evidence,
    verdicts: Sequence[Verdict] = (),
    figures: Sequence[Drawing] = (),
    notes: Sequence[str] = (),
    own: Sequence[OwnMethod] = (),
) -> str:
    """The report as one HTML document that needs nothing else; without attempts it is refused.

    Without verdicts it does not speak of the paper. Notes are sentences on what could not be drawn, and
    methods of the reader's own get a section each.
    """
    if not evidence.attempts:
        raise InvalidInputError("there are no attempts to report; 'depl bench run SUITE' makes some")
    tables = report_tables(evidence, ())
    return rendered(
        "depl.benchmarks.report",
        "page.html",
        title="depl: what was measured" + (", and what the paper claims" if verdicts else ""),
        evidence=evidence,
        own=[
            (
                method,
                {name: Shown(_OWN[name].format(method.name), table) for name, table in method.tables.items()},
            )
            for method in own
        ],
        verdicts=[_claim(verdict, figures) for verdict in verdicts],
        counts=counts(verdicts),
        families=_families(figures),
        notes=notes,
        tables=tables,
        broken="" if (judged := limits.judged(evidence.attempts)).empty else limits.verdict(judged),
        most=MOST_ROWS,
        shown=short,
        numeric=lambda cell: isinstance(cell, int | float) and not isinstance(cell, bool),
    )


def _claim(verdict: Verdict, figures: Sequence[Drawing]) -> dict[str, Any]:
    """What the page says of a claim, with the names of those figures that show its evidence."""
    patterns = verdict.claim.figures
    rows = tuple(
        (reading.statement, found.ruling.value, *found[:3]) for reading, found in verdict.found if found.cases
    )
    table = Table(("reading", "verdict", "shown in", "of cases", "measured"), rows)
    return {
        "of": verdict,
        "style": verdict.ruling.name.lower(),
        "figures": [item.name for item in figures if any(fnmatchcase(item.name, own) for own in patterns)],
        "readings": Shown("Readings, the main one first", table),
    }


def _families(figures: Sequence[Drawing]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Figures by the longest name of a shipped family that their names begin with, those of none last."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for place, figure in enumerate(figures):
        known = (name for name in names() if figure.name.startswith(f"{name}-"))
        groups.setdefault(max(known, key=len, default=""), []).append(
            {
                "of": figure,
                "svg": inline_svg(figure.svg(), figure.caption, f"f{place}"),
                "numbers": Shown("Numbers of this figure", figure.table),
            }
        )
    return sorted(groups.items(), key=lambda group: not group[0])
