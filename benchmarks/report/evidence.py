"""What a report is made from: the attempts of sweeps, the records of cases, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from depl.benchmarks.analysis.order import ordered
from depl.benchmarks.analysis.reference import Question, Reference, question_of, references
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.results import Record
from depl.benchmarks.measure.store import latest
from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.suite import Configuration, Label

_PROVER = "exact"
"""The configuration that is run to prove optima."""


@dataclass(frozen=True)
class Part:
    """Of a shipped suite: on how many of its instances every configuration was run that was run at all."""

    suite: str
    measured: int
    instances: int

    @property
    def words(self) -> str:
        """Such as ``2 of 25 instances of paper``."""
        return f"{self.measured} of {self.instances} instances of {self.suite}"


@dataclass(frozen=True)
class Evidence:
    """Attempts and records.

    Attributes
    ----------
    attempts : tuple of Attempt
        At most one for a task; `evidence_of` sees to that.
    records : mapping of str to Record
        By the name of their case.
    superseded : int
        How many attempts were left out because there is a later one for their task, or a later version of
        their suite.
    """

    attempts: tuple[Attempt, ...] = ()
    records: Mapping[str, Record] = field(default_factory=dict)
    superseded: int = 0

    @cached_property
    def references(self) -> dict[Question, Reference]:
        """What all attempts together prove of every question."""
        return references(self.attempts)

    def suite(self, name: str) -> tuple[Attempt, ...]:
        """The attempts of one suite, in the order of their tasks."""
        return tuple(attempt for attempt in self.attempts if attempt.task.suite == name)

    def suites(self) -> tuple[str, ...]:
        """Names of the suites that there are attempts of, sorted."""
        return tuple(sorted({attempt.task.suite for attempt in self.attempts}))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The shipped suites of which some configuration was run on a part of the instances only.

        Where no attempt of the suite's own ``exact`` is there, proved optima count as its attempts.
        """
        found = []
        for suite in self.suites():
            tried: dict[str, set[str]] = {}
            if any(item.label == _PROVER for item in _shipped(suite)):
                tried[_PROVER] = {
                    item.task.instance for item in self.suite(suite) if self.optimum(item) is not None
                }
            for attempt in self.suite(suite):
                tried.setdefault(attempt.task.configuration, set()).add(attempt.task.instance)
            whole = drawn(suite).keys()
            least = min(len(whole & names) for names in tried.values())
            if least < len(whole):
                found.append(Part(suite, least, len(whole)))
        return tuple(found)

    def optimum(self, attempt: Attempt) -> float | None:
        """The proved optimum of the question that an attempt answers [cost]; None if it is not proved."""
        return self.references[question_of(attempt)].optimum

    def feasible(self, attempt: Attempt) -> bool:
        """Whether anybody holds a plan for the question that an attempt answers."""
        return self.references[question_of(attempt)].feasible

    def ratio(self, attempt: Attempt) -> float | None:
        """Cost over the proved optimum; None without a plan, or where the optimum is not proved or is 0."""
        optimum = self.optimum(attempt)
        return attempt.cost / optimum if attempt.cost is not None and optimum else None


@cache
def drawn(suite: str) -> Mapping[str, Mapping[str, Label]]:
    """Labels of every instance of a shipped suite, by its name; empty for a suite that is not shipped."""
    known = all_suites().get(suite)
    return {} if known is None else {draw.name: draw.labels for draw in known.draws()}


def _shipped(suite: str) -> Sequence[Configuration]:
    known = all_suites().get(suite)
    return () if known is None else known.configurations


def evidence_of(attempts: Iterable[Attempt], records: Sequence[Record] = ()) -> Evidence:
    """Evidence from attempts that may come from several files and commits.

    Of a suite only its latest version counts, and of attempts on one task only the one that began last.
    """
    given = list(attempts)
    newest: dict[str, int] = {}
    for attempt in given:
        newest[attempt.task.suite] = max(attempt.task.version, newest.get(attempt.task.suite, 0))
    kept = latest(attempt for attempt in given if attempt.task.version == newest[attempt.task.suite])
    return Evidence(tuple(ordered(kept)), {record.case: record for record in records}, len(given) - len(kept))
