"""A family of the paper's kind: one problem at several targets, solved by several configurations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.evidence import Evidence, drawn

OPTIMUM = "optimum"
"""Among methods: not one of them, but the proved optimum."""
DEPL = {"depl-paper": "DepL as printed", "depl": "DepL with bounds"}
"""The two readings of DepL: the loop as printed, and the default method of this toolkit."""
BEST_EXP = {"expected-greedy": "greedy best-exp", "expected-cost": "cost-aware best-exp"}
"""The two readings of best-exp."""
FAMILIES, COMPLETIONS = "the shipped instances", "the completions of Table I"
SUITE_OF = {FAMILIES: "paper", COMPLETIONS: "reconstruction"}
"""The suites that the series are from."""
FAST, MIDDLE, SLOW = "fast-unsteady", "intermediate", "slow-steady"
"""The paper's names of the three models of Table I."""


@dataclass(frozen=True)
class Point:
    """One target of a series.

    Attributes
    ----------
    series : str
    target : float
        Guaranteed loss [loss].
    optimum : float or None
        Proved, under the law [cost].
    attempts : mapping of str to Attempt
        By configuration, and under ``optimum`` one that proved its plan cheapest, if there is one.
    """

    series: str
    target: float
    optimum: float | None
    attempts: Mapping[str, Attempt]

    def cost(self, name: str) -> float | None:
        """Cost of a configuration's plan, or the proved optimum; None without one [cost]."""
        if name == OPTIMUM:
            return self.optimum
        attempt = self.attempts.get(name)
        return None if attempt is None else attempt.cost

    def plan_of(self, name: str) -> Attempt | None:
        """The attempt of a configuration if it has a plan."""
        attempt = self.attempts.get(name)
        return attempt if attempt is not None and attempt.cost is not None else None

    def measure(self, name: str, key: str) -> float | None:
        """A further figure of a configuration's plan."""
        attempt = self.plan_of(name)
        return None if attempt is None else attempt.measures.get(key)

    def epochs(self, name: str) -> dict[str, int] | None:
        """Epochs per model in a configuration's plan, models that it does not use left out."""
        attempt = self.plan_of(name)
        if attempt is None:
            return None
        return {model: count for model, count in attempt.epochs_by_model.items() if count}


@dataclass(frozen=True)
class Series:
    """A family at its targets, from the tightest to the loosest."""

    name: str
    points: tuple[Point, ...]
    ends: tuple[float, float] | None = None
    """The tightest and the loosest target that the shipped suite has of it, measured or not [loss]."""

    def end(self, place: int) -> Point | None:
        """The point at the tightest (0) or loosest (-1) target; None if that target was not measured."""
        point = self.points[place]
        return point if self.ends is None or point.target == self.ends[place] else None

    def pairs(self, one: str, other: str) -> Iterator[tuple[Point, float, float]]:
        """The targets at which both configurations have a plan, with the two costs."""
        for point in self.points:
            first, second = point.cost(one), point.cost(other)
            if first is not None and second is not None:
                yield point, first, second

    def tried(self, name: str) -> bool:
        """Whether a configuration was run at any target."""
        return any(name in point.attempts for point in self.points)


def sources(evidence: Evidence) -> list[tuple[str, list[Series]]]:
    """All series with the words for where they come from."""
    return [(FAMILIES, families(evidence)), (COMPLETIONS, completions(evidence))]


def families(evidence: Evidence) -> list[Series]:
    """The paper's families in the suite ``paper``."""
    return _series(evidence, SUITE_OF[FAMILIES], "family")


def completions(evidence: Evidence) -> list[Series]:
    """The completions of Table I in the suite ``reconstruction``."""
    return _series(evidence, SUITE_OF[COMPLETIONS], "completion")


def _series(evidence: Evidence, suite: str, label: str) -> list[Series]:
    grouped: dict[str, dict[float, list[Attempt]]] = {}
    for attempt in evidence.suite(suite):
        target = attempt.labels.get("target")
        if label in attempt.labels and isinstance(target, int | float):
            at = grouped.setdefault(str(attempt.labels[label]), {})
            at.setdefault(float(target), []).append(attempt)
    return [
        Series(
            name,
            tuple(_point(evidence, name, target, at[target]) for target in sorted(at)),
            _target_ends(suite, label, name),
        )
        for name, at in grouped.items()
    ]


def _target_ends(suite: str, label: str, value: str) -> tuple[float, float] | None:
    """The tightest and the loosest target of a family or completion of a shipped suite [loss]."""
    targets = [
        float(labels["target"])
        for labels in drawn(suite).values()
        if labels.get(label) == value and "target" in labels
    ]
    return (min(targets), max(targets)) if targets else None


def _point(evidence: Evidence, name: str, target: float, attempts: Sequence[Attempt]) -> Point:
    known: dict[str, Attempt] = {}
    optimum = None
    for attempt in attempts:
        known.setdefault(attempt.task.configuration, attempt)
        if attempt.meaning == "law":
            optimum = evidence.optimum(attempt)
    for attempt in attempts:
        if attempt.meaning == "law" and attempt.proved_optimal and optimum is not None:
            known.setdefault(OPTIMUM, attempt)
    return Point(name, target, optimum, known)
