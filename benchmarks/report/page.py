"""The page: what was found, the claims with their readings, figures, and tables with where they come from.

It is made from evidence and figures alone; the same ones give the same bytes.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from depl.benchmarks.analysis import limits
from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.table import Cell, Table, short
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.report import tables
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.own import OwnMethod
from depl.benchmarks.report.predicates import SIZES
from depl.benchmarks.report.template import inline_svg, rendered
from depl.benchmarks.report.verdicts import Verdict, counts, ruling_of
from depl.instances.library import names
from depl.models.foundation.errors import InvalidInputError

MOST_ROWS = 1000
"""Rows up to which the numbers of a figure are on the page."""
_OWN = {
    "against": "{} against each other method on the same questions",
    "groups": "Where {} loses: groups of instances, the worst mean first",
    "worst": "The worst instances of {}; the command runs them again, with all seeds of the suite",
}


class Shown(NamedTuple):
    """A table on the page: its caption and id, and whether it is folded."""

    caption: str
    identity: str
    table: Table
    folded: bool = True


def report(
    evidence: Evidence,
    verdicts: Sequence[Verdict] = (),
    figures: Sequence[Drawing] = (),
    notes: Sequence[str] = (),
    own: Sequence[OwnMethod] = (),
) -> str:
    """The report as one HTML document that needs nothing else.

    Parameters
    ----------
    verdicts : sequence of Verdict
        On the paper's claims; without any, the page does not speak of them.
    notes : sequence of str
        Sentences on what could not be drawn.
    own : sequence of OwnMethod
        The reader's own methods, which get a section.

    Raises
    ------
    InvalidInputError
        If there are no attempts, or attempts on instances of one name were made on different instances.
    """
    if not evidence.attempts:
        raise InvalidInputError("there are no attempts to report; 'depl bench run SUITE' makes some")
    caption = "Mean cost of verified plans over the proved optimum; “no plan” counts attempts that found none"
    return rendered(
        "depl.benchmarks.report",
        "page.html",
        title="depl: what was measured" + (", and what the paper claims" if verdicts else ""),
        evidence=evidence,
        headline=Shown(caption, "headline", tables.headline_table(evidence), folded=False),
        own=[(method, list(_own(place, method))) for place, method in enumerate(own, start=1)],
        verdicts=[_claim(verdict, figures) for verdict in verdicts],
        counts=counts(verdicts),
        families=_families(figures),
        notes=notes,
        tables=[shown for shown in _tables(evidence) if shown.table.rows],
        broken=limits.verdict(judged) if (judged := limits.judged(evidence.attempts)) else "",
        shown=_cell,
        numeric=_numeric,
    )


def _own(place: int, method: OwnMethod) -> Iterator[Shown]:
    for name, table in method.tables.items():
        if table.rows:
            yield Shown(_OWN[name].format(method.name), f"own-{place}-{name}", table, folded=False)


def _claim(verdict: Verdict, figures: Sequence[Drawing]) -> dict[str, Any]:
    """What the page says of a claim, with the names of those figures that show its evidence."""
    patterns = verdict.claim.figures
    rows = tuple(
        (reading.statement, ruling_of(found).value, *found[:3])
        for reading, found in verdict.found
        if found.cases
    )
    table = Table(("reading", "verdict", "shown in", "of cases", "measured"), rows)
    return {
        "of": verdict,
        "style": verdict.ruling.name.lower(),
        "figures": [item.name for item in figures if any(fnmatchcase(item.name, own) for own in patterns)],
        "readings": Shown(
            "Readings, the main one first", f"readings-{verdict.claim.key}", table, folded=False
        ),
    }


def _families(figures: Sequence[Drawing]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Figures by the longest name of a shipped family that their names begin with, those of none last."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for place, figure in enumerate(figures):
        known = (name for name in names() if figure.name.startswith(f"{name}-"))
        numbers = Shown("Numbers of this figure", f"numbers-{figure.name}", figure.table)
        groups.setdefault(max(known, key=len, default=""), []).append(
            {
                "of": figure,
                "svg": inline_svg(figure.svg(), figure.caption, f"f{place}"),
                "numbers": numbers if len(figure.table.rows) <= MOST_ROWS else None,
            }
        )
    return sorted(groups.items(), key=lambda group: not group[0])


def _tables(evidence: Evidence) -> Iterator[Shown]:
    for place, (caption, table) in enumerate(tables.suite_tables(evidence)):
        yield Shown(caption, f"suite-{place}", table)
    steps = "Losses of the printed steps: data over the least K̂T̂, and placements over the cheapest"
    yield Shown(steps, "printed-steps", tables.printed_steps_table(evidence.attempts))
    fitted = [item for item in growths(evidence.attempts, SIZES) if item.line is not None]
    yield Shown("Exponents of time against size, beside Property 2", "growth", growth_table(fitted))
    judged = limits.judged(evidence.attempts)
    yield Shown("Attempts that kept their limit of time", "limits", limits.limits_table(judged))
    yield Shown("Attempts that broke it", "limits-broken", limits.broken_table(judged))
    yield Shown("Goals of the studies, set before they were run", "goals", tables.goals_table(evidence))
    yield Shown("Suites, and the command that runs each again", "suites", tables.suites_table(evidence))
    yield Shown("How the methods were run", "settings", tables.settings_table(evidence))
    yield Shown("Commits, machines and versions", "sources", tables.sources_table(evidence))


def _cell(value: Cell) -> str:
    return short(value)


def _numeric(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
