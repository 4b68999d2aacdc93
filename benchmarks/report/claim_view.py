"""A judged claim as the page shows it: the verdict, the readings, figures and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.report.grid import ShownTable, grid
from depl.benchmarks.report.verdicts import Reading, Verdict, answers

_ANSWERS = {True: "yes", False: "no", None: "in part"}


@dataclass(frozen=True)
class ClaimView:
    """All that the page says of a claim.

    Attributes
    ----------
    verdict : Verdict
    identity : str
        Id of its place.
    style : str
        Class of the verdict in the style sheet.
    answers : str
        In how many readings it holds, fails, and so on.
    where : str
        Where the paper says it, and which errata say more.
    readings : ShownTable or None
        None if none is measured.
    silent : int
        Readings that are not measured, where others are.
    figures : tuple of (str, str)
        Ids and names of figures on the page that show the evidence.
    grids : tuple of ShownTable
        The numbers that the readings sum up.
    """

    verdict: Verdict
    identity: str
    style: str
    answers: str
    where: str
    readings: ShownTable | None
    silent: int
    figures: tuple[tuple[str, str], ...]
    grids: tuple[ShownTable, ...]

    @property
    def brief(self) -> str:
        """The verdict for a narrow place, where a legend has the rest."""
        return self.verdict.words.replace(" from the paper", "")

    @property
    def words(self) -> str:
        """The verdict as the beginning of a sentence."""
        return self.verdict.words[0].upper() + self.verdict.words[1:]


def claim_view(verdict: Verdict, figures: Sequence[Drawing]) -> ClaimView:
    """What the page says of a claim, with links to those figures that show its evidence."""
    claim, readings = verdict.claim, verdict.findings.readings
    identity = f"claim-{claim.key}"
    measured = [reading for reading in readings if reading.cases]
    grids = [
        grid(captioned.table, captioned.caption, f"{identity}-{place}", fold=True)
        for place, captioned in enumerate(verdict.findings.tables)
        if captioned.table.rows
    ]
    shown = [
        (f"figure-{figure.name}", figure.name)
        for figure in figures
        if any(fnmatchcase(figure.name, pattern) for pattern in claim.figures)
    ]
    return ClaimView(
        verdict=verdict,
        identity=identity,
        style=verdict.ruling.name.lower(),
        answers=answers(readings) or "has no reading",
        where=_where(verdict),
        readings=_readings(measured, f"{identity}-readings") if measured else None,
        silent=len(readings) - len(measured) if measured else 0,
        figures=tuple(shown),
        grids=tuple(grids),
    )


def overview(views: Sequence[ClaimView]) -> ShownTable:
    """All claims with the answers of their readings and their verdicts."""
    rows = tuple(
        (view.verdict.number, view.verdict.claim.title, view.answers, view.verdict.words) for view in views
    )
    links = {str(view.verdict.number): view.identity for view in views}
    caption = "The paper's claims, in a few words of ours, and what the results say"
    content = Table(("no.", "claim", "readings", "verdict"), rows)
    return grid(content, caption, "claims-overview", links, fold=False)


def _where(verdict: Verdict) -> str:
    claim = verdict.claim
    if not claim.errata:
        return f"Paper: {claim.where}."
    names = " and ".join(filter(None, (", ".join(claim.errata[:-1]), claim.errata[-1])))
    word = "erratum" if len(claim.errata) == 1 else "errata"
    return f"Paper: {claim.where}. What is true, with proofs: {word} {names} in the documentation."


def _readings(readings: Sequence[Reading], identity: str) -> ShownTable:
    rows: list[tuple[Cell, ...]] = [
        (reading.statement, _ANSWERS[reading.holds], reading.shown, reading.cases, reading.measured)
        for reading in readings
    ]
    content = Table(("reading", "holds", "shown in", "of cases", "measured"), tuple(rows))
    return grid(content, "Readings", identity, fold=False)
