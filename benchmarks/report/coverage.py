"""How much of the shipped suites a reading was judged on, so that a part is not taken for the whole."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.suite import Label

OPTIMUM = "optimum"
"""Among methods: not one of them, but the proved optimum."""
_PROVER = "exact"
"""The configuration that is run to prove optima."""
_GROUPS = {"family": "families", "completion": "completions"}
"""Labels whose values are the cases of readings, with their plurals."""


@dataclass(frozen=True)
class Scope:
    """What a reading speaks of.

    Attributes
    ----------
    suites : tuple of str
    methods : tuple of str
        Configurations that it compares, `OPTIMUM` among them; without any, one attempt of an instance is
        enough.
    wanted : callable or None
        From the labels of an instance to whether the reading is about it; None if it is about all.
    """

    suites: tuple[str, ...]
    methods: tuple[str, ...] = ()
    wanted: Callable[[Mapping[str, Label]], bool] | None = None


@dataclass(frozen=True)
class Coverage:
    """How many instances of a shipped suite have attempts by all methods that a reading compares.

    Attributes
    ----------
    suite : str
    measured, instances : int
        So many of so many.
    groups : str
        Such as ``1 of 5 families``; empty if the suite has none.
    """

    suite: str
    measured: int
    instances: int
    groups: str = ""

    @property
    def complete(self) -> bool:
        """Whether no instance is missing."""
        return self.measured >= self.instances

    @property
    def short(self) -> str:
        """Such as ``2 of 25 instances of paper``."""
        return f"{self.measured} of {self.instances} instances of {self.suite}"

    @property
    def words(self) -> str:
        """Such as ``2 of 25 instances (1 of 5 families) of suite paper``."""
        within = f" ({self.groups})" if self.groups else ""
        return f"{self.measured} of {self.instances} instances{within} of suite {self.suite}"


def coverage(evidence: Evidence, scope: Scope) -> tuple[Coverage, ...]:
    """What was measured of each shipped suite that a reading speaks of; suites of a user have no whole."""
    return tuple(_of_suite(evidence, suite, scope) for suite in scope.suites if drawn(suite))


def least(found: Iterable[Coverage]) -> list[Coverage]:
    """Of each suite the smallest part that is not the whole."""
    smallest: dict[str, Coverage] = {}
    for item in found:
        known = smallest.get(item.suite, item)
        if not item.complete:
            smallest[item.suite] = min(known, item, key=lambda part: part.measured / part.instances)
    return list(smallest.values())


@cache
def drawn(suite: str) -> Mapping[str, Mapping[str, Label]]:
    """Labels of every instance of a shipped suite, by its name; empty for a suite that is not shipped."""
    known = all_suites().get(suite)
    return {} if known is None else {draw.name: draw.labels for draw in known.draws()}


def target_ends(suite: str, label: str, value: str) -> tuple[float, float] | None:
    """The tightest and the loosest target of a family or completion of a shipped suite [loss]."""
    targets = [
        float(labels["target"])
        for labels in drawn(suite).values()
        if labels.get(label) == value and "target" in labels
    ]
    return (min(targets), max(targets)) if targets else None


def _of_suite(evidence: Evidence, suite: str, scope: Scope) -> Coverage:
    whole = drawn(suite)
    if scope.wanted is not None:
        whole = {name: labels for name, labels in whole.items() if scope.wanted(labels)}
    measured = whole.keys() & evidence.tried(suite)
    for method in scope.methods:
        if method == OPTIMUM:
            measured &= evidence.tried(suite, _PROVER) | evidence.settled(suite)
        else:
            measured &= evidence.tried(suite, method)
    groups = _groups(whole, measured) if len(measured) < len(whole) else ""
    return Coverage(suite, len(measured), len(whole), groups)


def _groups(whole: Mapping[str, Mapping[str, Label]], measured: Iterable[str]) -> str:
    for label, plural in _GROUPS.items():
        every = {labels[label] for labels in whole.values() if label in labels}
        if len(every) > 1:
            return f"{len({whole[name][label] for name in measured})} of {len(every)} {plural}"
    return ""
