"""What a claim of the paper is, what was measured of it, and the one rule that turns this into a verdict.

Where the paper leaves open what it means, a claim is measured under every *reading* that is documented. It
holds if it holds under all of them, fails if it fails under all, and is not decidable from the paper if
that depends on the reading. How many of the readings were measured stands beside a verdict that rests on a
part of them, and so does every suite of which only a part was run. No claim has a verdict of its own making.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.evidence import Evidence, Part
from depl.models.foundation.wording import counted


class Ruling(Enum):
    """What measurements say of a claim."""

    HOLDS = "holds"
    """Under every reading that was measured."""
    FAILS = "fails"
    """Under every reading that was measured."""
    UNDECIDABLE = "not decidable from the paper"
    """It depends on the reading, and the paper does not say which one is meant."""
    UNMEASURED = "not measured"
    """The results at hand say nothing about it."""


@dataclass(frozen=True)
class Reading:
    """A claim under one reading: in how many of the cases that were looked at it shows.

    Attributes
    ----------
    statement : str
        The reading, so that it can be true or false of a case.
    shown, cases : int
        How many of so many cases show it; no case means that nothing was measured.
    measured : str
        The figures behind it, for people.
    always : bool
        Whether the claim is about all cases, so that one that does not show it refutes it. Otherwise some
        cases for and some against leave it open.
    """

    statement: str
    shown: int
    cases: int
    measured: str = ""
    always: bool = False

    @property
    def holds(self) -> bool | None:
        """True or False; None if nothing was measured, or if cases differ in what they show."""
        if self.cases and self.shown == self.cases:
            return True
        if self.cases and (self.always or self.shown == 0):
            return False
        return None


@dataclass(frozen=True)
class Captioned:
    """A table with the sentence above it."""

    caption: str
    table: Table


@dataclass(frozen=True)
class Findings:
    """All that is measured of one claim.

    Attributes
    ----------
    readings : sequence of Reading
    tables : sequence of Captioned
        The figures that the readings sum up.
    """

    readings: Sequence[Reading]
    tables: Sequence[Captioned] = ()


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes
    ----------
    key : str
        Short name, which links use.
    claim : str
        What the paper says, in our words.
    where : str
        Where it says so.
    open : str
        What the paper leaves open, so that several readings are needed; empty if nothing.
    judge : callable
        From evidence to what is measured.
    errata : tuple of str
        Names of errata that prove more than can be measured, such as ``E10``.
    short : str
        A few words for narrow places.
    figures : tuple of str
        Patterns (`fnmatch`) of the names of figures that show the evidence.
    """

    key: str
    claim: str
    where: str
    open: str
    judge: Callable[[Evidence], Findings]
    errata: tuple[str, ...] = ()
    short: str = ""
    figures: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The few words, or the name where there are none."""
        return self.short or self.key.replace("-", " ")


@dataclass(frozen=True)
class Verdict:
    """A claim, judged.

    Attributes
    ----------
    number : int
        From 1, in the order of the catalogue.
    claim : Claim
    ruling : Ruling
    reason : str
        Why, in one sentence.
    findings : Findings
    parts : tuple of Part
        The suites of the evidence of which only a part was run; none where nothing was measured.
    """

    number: int
    claim: Claim
    ruling: Ruling
    reason: str
    findings: Findings
    parts: tuple[Part, ...] = ()

    @property
    def measured(self) -> int:
        """How many readings have a case."""
        return sum(reading.cases > 0 for reading in self.findings.readings)

    @property
    def words(self) -> str:
        """The ruling, and how many readings and instances were measured where it rests on a part of them."""
        total = len(self.findings.readings)
        parts = [f"{self.measured} of {total} readings"] if 0 < self.measured < total else []
        parts += [part.words for part in self.parts]
        return f"{self.ruling.value} ({_enumerated(parts)} measured)" if parts else self.ruling.value


def judged(claims: Sequence[Claim], evidence: Evidence) -> list[Verdict]:
    """The verdict on every claim, numbered from 1."""
    verdicts = []
    for number, claim in enumerate(claims, start=1):
        findings = claim.judge(evidence)
        ruling = rule(findings.readings)
        parts = () if ruling is Ruling.UNMEASURED else evidence.parts
        reason = _reason(claim, ruling, findings.readings, parts)
        verdicts.append(Verdict(number, claim, ruling, reason, findings, parts))
    return verdicts


def counts(verdicts: Iterable[Verdict]) -> list[tuple[Ruling, str]]:
    """How many claims hold, fail, and so on: for each ruling that occurs the words."""
    numbers = Counter(verdict.ruling for verdict in verdicts)
    return [
        (ruling, f"{numbers[ruling]} {_verb(ruling, numbers[ruling])}")
        for ruling in Ruling
        if numbers[ruling]
    ]


def answers(readings: Sequence[Reading]) -> str:
    """In how many readings a claim holds, fails, differs among cases, and is not measured."""
    found = Counter(reading.holds if reading.cases else "unmeasured" for reading in readings)
    known = [(words, found[answer]) for answer, words in _ANSWERS.items() if found[answer]]
    parts = [f"{words} in {number}" for words, number in known]
    if known:
        parts[0] = f"{known[0][0]} in {counted(known[0][1], 'reading')}"
    return _enumerated(parts)


_ANSWERS = {
    True: "holds",
    False: "fails",
    None: "differs among cases",
    "unmeasured": "is not measured",
}


def _verb(ruling: Ruling, number: int) -> str:
    """The ruling as the verb of so many claims."""
    word = str(ruling.value)
    if ruling in (Ruling.HOLDS, Ruling.FAILS):
        return word if number == 1 else word.removesuffix("s")
    return f"{'is' if number == 1 else 'are'} {word}"


def rule(readings: Sequence[Reading]) -> Ruling:
    """The verdict that follows from all readings together; those without a case do not count."""
    answers = {reading.holds for reading in readings if reading.cases}
    if not answers:
        return Ruling.UNMEASURED
    if answers == {True}:
        return Ruling.HOLDS
    return Ruling.FAILS if answers == {False} else Ruling.UNDECIDABLE


def _reason(claim: Claim, ruling: Ruling, readings: Sequence[Reading], parts: Sequence[Part]) -> str:
    measured = [reading for reading in readings if reading.cases]
    number, total = len(measured), len(readings)
    partly = f" Only {_enumerated([part.words for part in parts])} are measured." if parts else ""
    if ruling is Ruling.UNMEASURED:
        return "The results at hand hold no attempt or record that this needs."
    if ruling is Ruling.UNDECIDABLE:
        those = (
            ""
            if number == total
            else f"Of {counted(total, 'reading')} {number} {'is' if number == 1 else 'are'} measured. "
        )
        return f"{those}It {answers(measured)}.{partly} {claim.open}".strip()
    what = "It holds" if ruling is Ruling.HOLDS else "It fails"
    if number < total:
        figures = f": {measured[0].measured}" if number == 1 and measured[0].measured else ""
        which = "the one reading that is" if number == 1 else f"each of the {number} readings that are"
        return f"{what} under {which} measured, of {total}{figures}.{partly}"
    if number == 1:
        return (f"{what}: {measured[0].measured}." if measured[0].measured else f"{what}.") + partly
    return f"{what} under each of the {number} readings.{partly}"


def _enumerated(parts: Sequence[str]) -> str:
    """The parts, with commas and an "and"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
