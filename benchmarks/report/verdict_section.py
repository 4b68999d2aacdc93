"""The claims of the paper on the page: a list with all verdicts, and the figures behind each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.markup import element, sentence, table, within
from depl.benchmarks.report.verdicts import Reading, Verdict, in_order

_ANSWERS = {True: "yes", False: "no", None: "in part"}


def counts(verdicts: Sequence[Verdict]) -> Element:
    """How many claims hold, fail, and so on."""
    alike = {verdict.label: verdict for verdict in in_order(verdicts)}
    numbers = Counter(verdict.label for verdict in verdicts)
    items = [within("li", [badge(verdict, f"{numbers[label]} {label}")]) for label, verdict in alike.items()]
    return within("ul", items, {"class": "counts"})


def overview(verdicts: Sequence[Verdict]) -> Element:
    """The numbered list of claims with their verdicts, as a table."""
    rows = tuple(
        (verdict.number, verdict.claim.claim, verdict.claim.where, verdict.words) for verdict in verdicts
    )
    made = table(
        Table(("number", "claim", "where", "verdict"), rows),
        "The paper's claims, in our words, and what the results say",
        "claims-overview",
        links={str(verdict.number): _name(verdict) for verdict in verdicts},
        fold=False,
    )
    for line, verdict in zip(made.iter("tr"), [None, *verdicts], strict=True):
        if verdict is not None:
            last = line[-1]
            last.text = None
            last.append(badge(verdict, verdict.words))
    return made


def articles(verdicts: Sequence[Verdict]) -> Iterator[Element]:
    """Every claim with its readings and tables."""
    for verdict in verdicts:
        yield within(
            "article", list(_parts(verdict)), {"id": _name(verdict), "class": f"is-{_class(verdict)}"}
        )


def badge(verdict: Verdict, text: str) -> Element:
    """A verdict in words, with a sign of its own."""
    return element("span", text, {"class": f"ruling {_class(verdict)}"})


def _parts(verdict: Verdict) -> Iterator[Element]:
    claim = verdict.claim
    yield element("h3", f"{verdict.number}. {claim.claim}")
    where = f"Paper: {claim.where}."
    if claim.errata:
        names = " and ".join(filter(None, (", ".join(claim.errata[:-1]), claim.errata[-1])))
        word = "erratum" if len(claim.errata) == 1 else "errata"
        where += f" What is true, with proofs: {word} {names} in the documentation."
    yield element("p", where, {"class": "where"})
    yield sentence(
        badge(verdict, verdict.words[0].upper() + verdict.words[1:]),
        f". {verdict.reason}",
    )
    measured = [reading for reading in verdict.findings.readings if reading.cases]
    if measured:
        yield table(_readings(measured), "Readings", f"{_name(verdict)}-readings", fold=False)
    silent = len(verdict.findings.readings) - len(measured)
    if silent and measured:
        yield element("p", f"Readings that these results say nothing about: {silent}.")
    for place, captioned in enumerate(verdict.findings.tables):
        if captioned.table.rows:
            yield table(captioned.table, captioned.caption, f"{_name(verdict)}-{place}")


def _readings(readings: Sequence[Reading]) -> Table:
    rows = [
        (reading.statement, _ANSWERS[reading.holds], reading.shown, reading.cases, reading.measured)
        for reading in readings
    ]
    return Table(("reading", "holds", "shown in", "of cases", "measured"), tuple(rows))


def _name(verdict: Verdict) -> str:
    return f"claim-{verdict.claim.key}"


def _class(verdict: Verdict) -> str:
    return "so-far" if verdict.preliminary else verdict.ruling.name.lower()
