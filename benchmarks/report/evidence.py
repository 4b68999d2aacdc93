"""What a report is made from: the attempts of sweeps, the records of cases, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from depl.benchmarks.analysis.order import ordered
from depl.benchmarks.analysis.reference import Question, Reference, question_of, references
from depl.benchmarks.runner.results import Record
from depl.benchmarks.sweep.attempt import Attempt
from depl.benchmarks.sweep.read import latest


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
    def _tried(self) -> dict[str, dict[str, set[str]]]:
        """Names of instances by suite and configuration; those of all configurations under no name."""
        found: dict[str, dict[str, set[str]]] = {}
        for attempt in self.attempts:
            task = attempt.task
            of_suite = found.setdefault(task.suite, {})
            for name in ("", task.configuration):
                of_suite.setdefault(name, set()).add(task.instance)
        return found

    @cached_property
    def _settled(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for attempt in self.attempts:
            if self.optimum(attempt) is not None:
                found.setdefault(attempt.task.suite, set()).add(attempt.task.instance)
        return found

    def tried(self, suite: str, configuration: str = "") -> set[str]:
        """Names of the instances of a suite that a configuration, or any if none is named, was run on."""
        return self._tried.get(suite, {}).get(configuration, set())

    def settled(self, suite: str) -> set[str]:
        """Names of the instances of a suite of which an optimum is proved."""
        return self._settled.get(suite, set())

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
