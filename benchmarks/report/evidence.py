"""What a report is made from: the attempts of sweeps, the records of studies, and nothing else."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from depl.benchmarks.analysis.reference import Question, Reference, ordered, question_of, references
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.measure.results import Record
from depl.benchmarks.measure.store import latest

OPTIMUM = "optimum"
"""Among methods: not one of them, but the proved optimum."""
SHIPPED, COMPLETIONS, RANDOM = "paper", "reconstruction", "random"
"""Suites: the paper's families, the completions of Table I, and random instances, which are one family."""
FAST, MIDDLE, SLOW = "fast-unsteady", "intermediate", "slow-steady"
"""The paper's names of the three models of Table I."""
_FAMILY = {SHIPPED: "family", COMPLETIONS: "completion"}
"""By suite the label that holds the family of an instance, which is asked at several targets."""


class Point(NamedTuple):
    """One instance of a family: its target [loss], and figures of plans by configuration.

    Under ``optimum`` stands the proved optimum. A figure that is not known is not a number. ``ends`` says
    whether the suite has no tighter and no looser target of the family.
    """

    target: float
    ends: tuple[bool, bool]
    figures: Mapping[str, Mapping[str, float]]
    models: Mapping[str, Mapping[str, int]]

    def of(self, name: str, figure: str) -> float:
        """A figure of a configuration's plan."""
        return self.figures.get(name, {}).get(figure, math.nan)


@dataclass(frozen=True)
class Evidence:
    """Attempts, at most one for a task (`evidence_of`), and records by the name of their study.

    ``superseded`` counts attempts that were left out because there is a later one for their task, or a later
    version of their suite.
    """

    attempts: tuple[Attempt, ...] = ()
    records: Mapping[str, Record] = field(default_factory=dict)
    superseded: int = 0

    @cached_property
    def references(self) -> dict[Question, Reference]:
        """What all attempts together prove of every question."""
        return references(self.attempts)

    @cached_property
    def families(self) -> dict[str, dict[str, list[Point]]]:
        """By suite and family the points of the paper's kind, from the tightest target to the loosest."""
        return {suite: self._families(suite) for suite in (SHIPPED, COMPLETIONS, RANDOM)}

    def suite(self, name: str) -> tuple[Attempt, ...]:
        """The attempts of one suite, in the order of their tasks."""
        return tuple(attempt for attempt in self.attempts if attempt.task.suite == name)

    def suites(self) -> tuple[str, ...]:
        """Names of the suites that there are attempts of, sorted."""
        return tuple(sorted({attempt.task.suite for attempt in self.attempts}))

    def values(self, study: str) -> dict[str, Any]:
        """What a study recorded; nothing without its record."""
        return self.records[study].values if study in self.records else {}

    def reference(self, attempt: Attempt) -> Reference:
        """What is known of the question that an attempt answers."""
        return self.references[question_of(attempt)]

    def ratio(self, attempt: Attempt) -> float | None:
        """Cost over the proved optimum; None without a plan, or where the optimum is not proved or is 0."""
        optimum = self.reference(attempt).optimum
        return attempt.cost / optimum if attempt.cost is not None and optimum else None

    def _families(self, suite: str) -> dict[str, list[Point]]:
        label, groups = _FAMILY.get(suite), dict[str, dict[float, list[Attempt]]]()
        places: dict[tuple[str, int], float] = {}
        for item in self.suite(suite):
            place = places.setdefault((item.task.instance, item.task.seed), float(len(places)))
            target = place if label is None else item.labels.get("target")
            if isinstance(target, int | float) and (label is None or label in item.labels):
                family = groups.setdefault(suite if label is None else str(item.labels[label]), {})
                family.setdefault(float(target), []).append(item)
        known = _targets(suite) if suite in _FAMILY else {}
        return {
            name: [self._point(at, own[at], known.get(name) or sorted(own)) for at in sorted(own)]
            for name, own in groups.items()
        }

    def _point(self, target: float, attempts: Sequence[Attempt], targets: Sequence[float]) -> Point:
        law = [item for item in attempts if item.meaning == "law"]
        optimum = self.reference(law[-1]).optimum if law else None
        known = {item.task.configuration: item for item in reversed(attempts)}
        proofs = [item for item in law if item.proved_optimal and optimum is not None]
        known |= {OPTIMUM: proofs[0]} if proofs else {}
        figures = {name: _figures(item, optimum) for name, item in known.items()}
        if optimum is not None:
            figures[OPTIMUM] = {**figures.get(OPTIMUM, {}), "cost": optimum}
        used = {
            name: {model: count for model, count in item.epochs_by_model.items() if count}
            for name, item in known.items()
            if item.cost is not None
        }
        return Point(target, (target == targets[0], target == targets[-1]), figures, used)


def _figures(item: Attempt, optimum: float | None) -> dict[str, float]:
    """What is told of a plan; without one only that its ratio is infinite, unless the method refused."""
    if item.cost is None:
        return {} if item.ending == "refused" or not optimum else {"ratio": math.inf}
    measured = {key: value for key, value in item.measures.items() if value is not None}
    known = defaultdict(lambda: math.nan, measured)
    epochs = sum(item.epochs_by_model.values())
    return {
        "cost": item.cost,
        "ratio": over(item.cost, optimum),
        "violation": over(
            math.nan if item.violation is None else item.violation[1], known["violation_allowed"]
        ),
        "band": known["quantile"] - known["quantile_low"],
        "expected loss": known["expected_loss"],
        "epochs": epochs,
        "fast epochs": over(item.epochs_by_model.get(FAST, 0), epochs),
        "fast cost": over(known[f"cost_of.{FAST}"], item.cost),
    }


def over(value: float, reference: float | None) -> float:
    """Their ratio; not a number where the reference is not known, or is 0."""
    return value / reference if reference else math.nan


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


@cache
def _targets(suite: str) -> Mapping[str, list[float]]:
    """The targets that a suite has of every family, from the tightest to the loosest [loss]."""
    found: dict[str, list[float]] = {}
    for draw in all_suites()[suite].instances() if suite in all_suites() else ():
        found.setdefault(str(draw.labels.get(_FAMILY[suite])), []).append(float(draw.labels["target"]))
    return {family: sorted(own) for family, own in found.items()}
