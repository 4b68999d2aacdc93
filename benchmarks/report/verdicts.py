"""A claim of the paper, its readings, and the verdict: that of the main reading, with how many others agree.

The main reading is the literal one. No claim has a verdict of its own making: all follow from what was
counted (`depl.benchmarks.report.predicates.Found.ruling`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.predicates import Asked, Found, Predicate, Ruling
from depl.models.foundation.wording import counted


class Reading(NamedTuple):
    """A sentence that is true or false of cases, and what counts them: a predicate of a suite or a record.

    ``names`` are the configurations that the predicate compares.
    """

    statement: str
    of: str
    predicate: Predicate
    names: tuple[str, ...] = ()


class Place(NamedTuple):
    """Where the paper says something, errata that prove more than can be measured, and figures of the report.

    Errata are names such as ``E10``, figures are patterns (`fnmatch`) of names; each separated by spaces.
    """

    where: str
    errata: str = ""
    figures: str = ""


class Claim:
    """One claim of the paper: a name, what it says in our words, where, and how it can be read.

    The first reading, ``main``, is the literal one; ``others`` are what else the words can mean.
    """

    def __init__(self, key: str, text: str, place: Place, main: Reading, *others: Reading) -> None:
        self.key, self.text, self.main, self.others = key, text, main, others
        self.where, self.errata, self.figures = place.where, place.errata.split(), place.figures.split()


@dataclass(frozen=True)
class Verdict:
    """A claim, judged: what was found under every reading, the main one first."""

    number: int
    claim: Claim
    found: tuple[tuple[Reading, Found], ...]

    @property
    def ruling(self) -> Ruling:
        """That of the main reading."""
        return self.found[0][1].ruling

    @property
    def others(self) -> list[Ruling]:
        """Of the other readings that are measured."""
        return [found.ruling for _, found in self.found[1:] if found.cases]

    @property
    def agree(self) -> int:
        """How many of the other readings come to the same."""
        return self.others.count(self.ruling)

    @property
    def agreement(self) -> str:
        """The same in words."""
        number = len(self.others)
        verb = "agrees" if number == 1 else "agree"
        return f"{self.agree} of {counted(number, 'other reading')} {verb}" if number else "no other reading"

    @property
    def words(self) -> str:
        """The ruling, and how many other readings agree with it."""
        return f"{self.ruling.value}; {self.agreement}"

    @property
    def figure(self) -> str:
        """In how many cases the main reading shows, and the figures behind that."""
        return self.found[0][1].words


def judged(claims: Sequence[Claim], evidence: Evidence) -> list[Verdict]:
    """The verdict on every claim, numbered from 1."""
    return [
        Verdict(
            place, claim, tuple((own, own.predicate(Asked(evidence, own.of, own.names))) for own in readings)
        )
        for place, claim in enumerate(claims, start=1)
        if (readings := (claim.main, *claim.others))
    ]


def counts(verdicts: Iterable[Verdict]) -> str:
    """How many claims hold, hold in part, fail, and are not measured, in their main reading."""
    numbers = Counter(verdict.ruling for verdict in verdicts)
    many = dict(zip(Ruling, ("hold", "hold in part", "fail", "are not measured"), strict=True))
    one = {item: item.value for item in Ruling} | {Ruling.UNMEASURED: "is not measured"}
    told = {item: one[item] if numbers[item] == 1 else many[item] for item in Ruling if numbers[item]}
    return ", ".join(f"{numbers[item]} {words}" for item, words in told.items())
