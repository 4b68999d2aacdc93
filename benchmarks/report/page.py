"""The page in three layers: what was found on a screen, the claims folded, figures and tables last.

It is made from evidence and figures alone; the same ones give the same bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.report.claim_view import claim_view, overview
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.grid import ShownTable, grid
from depl.benchmarks.report.inline_svg import inline_svg
from depl.benchmarks.report.own import OwnMethod
from depl.benchmarks.report.sections import sections
from depl.benchmarks.report.summary import summary
from depl.benchmarks.report.template import rendered
from depl.benchmarks.report.verdicts import Verdict, counts
from depl.instances.library import names
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from markupsafe import Markup

TITLE = "depl: what was measured"
TITLE_WITH_CLAIMS = "depl: what was measured, and what the paper claims"
MOST_ROWS = 1000
"""Rows up to which the numbers of a figure are on the page."""


@dataclass(frozen=True)
class FigureView:
    """A figure on the page.

    Attributes
    ----------
    name, caption : str
    svg : Markup
    rows : int
        Of its numbers.
    numbers : ShownTable or None
        None if they are too many.
    """

    name: str
    caption: str
    svg: "Markup"
    rows: int
    numbers: ShownTable | None


class OwnView:
    """A method of the reader's own, as the page shows it."""

    def __init__(self, place: int, method: OwnMethod) -> None:
        self.name, self.sentence = method.name, method.sentence
        titled = (
            ("against", method.against, f"{method.name} against each other method on the same questions"),
            (
                "groups",
                method.groups,
                f"Where {method.name} loses: groups of instances, the worst mean first",
            ),
            (
                "worst",
                method.worst,
                f"The worst instances of {method.name}, those without a plan first; the command runs them "
                "again, with all seeds of the suite",
            ),
        )
        self.grids = [
            grid(table, caption, f"own-{place}-{name}", fold=False)
            for name, table, caption in titled
            if table.rows
        ]


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
        The reader's own methods, which get a section and stand out in the picture.

    Raises
    ------
    InvalidInputError
        If there are no attempts, or attempts on instances of one name were made on different instances.
    """
    if not evidence.attempts:
        raise InvalidInputError("there are no attempts to report; 'depl bench run SUITE' makes some")
    claims = [claim_view(verdict, figures) for verdict in verdicts]
    return rendered(
        "depl.benchmarks.report",
        "page.html",
        title=TITLE_WITH_CLAIMS if verdicts else TITLE,
        attempts=len(evidence.attempts),
        suites=evidence.suites(),
        records=len(evidence.records),
        summary=summary(evidence, [method.name for method in own]),
        own=[OwnView(place, method) for place, method in enumerate(own, start=1)],
        counts=[(ruling.name.lower(), words) for ruling, words in counts(verdicts)],
        claims=claims,
        overview=overview(claims),
        families=_families(list(_figures(figures))),
        notes=notes,
        tables=sections(evidence),
    )


def _figures(figures: Sequence[Drawing]) -> Iterator[FigureView]:
    for place, figure in enumerate(figures):
        svg = inline_svg(figure.svg(), figure.name, figure.caption, f"f{place}")
        numbers = None
        if len(figure.table.rows) <= MOST_ROWS:
            caption = f"Numbers of the figure: {figure.caption}"
            name, label = f"numbers-{figure.name}", "Numbers of this figure"
            numbers = grid(figure.table, caption, name, fold=True, label=label)
        yield FigureView(figure.name, figure.caption, svg, len(figure.table.rows), numbers)


def _families(figures: Sequence[FigureView]) -> list[tuple[str, list[FigureView]]]:
    """Figures by the longest name of a shipped family that their names begin with, those of none last."""
    groups: dict[str, list[FigureView]] = {}
    for figure in figures:
        known = (name for name in names() if figure.name.startswith(f"{name}-"))
        groups.setdefault(max(known, key=len, default=""), []).append(figure)
    return sorted(groups.items(), key=lambda group: not group[0])
