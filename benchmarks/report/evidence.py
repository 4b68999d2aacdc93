"""What a report is made from: the attempts of sweeps, the records of studies, and nothing else."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.reference import Frame, ordered
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
    def trials(self) -> Frame:
        """A row for every attempt, with what all of them prove, and what became of it."""
        return trials(self.attempts)

    @cached_property
    def families(self) -> dict[str, dict[str, list[Point]]]:
        """By suite and family the points of the paper's kind, from the tightest target to the loosest."""
        return {suite: self._families(suite) for suite in (SHIPPED, COMPLETIONS, RANDOM)}

    def suite(self, name: str) -> Frame:
        """The rows of one suite, in the order of their tasks."""
        return self.trials[self.trials["suite"] == name]

    def suites(self) -> tuple[str, ...]:
        """Names of the suites that there are attempts of, sorted."""
        return tuple(sorted({attempt.task.suite for attempt in self.attempts}))

    def values(self, study: str) -> dict[str, Any]:
        """What a study recorded; nothing without its record."""
        return self.records[study].values if study in self.records else {}

    def _families(self, suite: str) -> dict[str, list[Point]]:
        label, rows = _FAMILY.get(suite), self.suite(suite)
        if label is None:
            target, family = rows.groupby(["instance", "seed"], sort=False).ngroup().astype(float), suite
        else:
            target, family = (
                rows["labels"].map(lambda own, key=key: own.get(key)) for key in ("target", label)
            )
            rows = rows[target.notna() & family.notna()]
        known, found = _targets(suite) if label else {}, {}
        for name, own in rows.assign(target=target, family=family).groupby("family", sort=False):
            targets = known.get(name) or sorted(own["target"].unique())
            found[name] = [_point(at, list(part.itertuples()), targets) for at, part in own.groupby("target")]
        return found


def _point(target: float, rows: Sequence[Any], targets: Sequence[float]) -> Point:
    """One instance of a family, from the rows of its attempts."""
    law = [row for row in rows if row.meaning == "law"]
    optimum = law[-1].optimum if law else math.nan
    known = {row.configuration: row.attempt for row in reversed(rows)}
    proofs = [row.attempt for row in law if row.ending == "optimal" and not math.isnan(optimum)]
    known |= {OPTIMUM: proofs[0]} if proofs else {}
    figures = {name: _figures(item, optimum) for name, item in known.items()}
    if not math.isnan(optimum):
        figures[OPTIMUM] = {**figures.get(OPTIMUM, {}), "cost": optimum}
    used = {
        name: {model: count for model, count in item.epochs_by_model.items() if count}
        for name, item in known.items()
        if item.cost is not None
    }
    return Point(float(target), (target == targets[0], target == targets[-1]), figures, used)


def _figures(item: Attempt, optimum: float) -> dict[str, float]:
    """What is told of a plan; without one only that its ratio is infinite, unless the method refused."""
    if item.cost is None:
        return {"ratio": math.inf} if item.ending != "refused" and optimum > 0 else {}
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


def over(value: float, reference: float) -> float:
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
