"""Methods side by side on the targets of a family: the rows of the demo's table and figures.

A ratio is formed over a certified lower bound only, the proven optimum where there is one; never over an
incumbent that nobody has proved.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from depl.benchmarks.measure.outcome import epochs_by_model
from depl.instances.library import load
from depl.instances.shipped import describe
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Solution
from depl.models.solving.solve import solve

AGREEMENT = 1e-9
"""Relative difference up to which two proved optima count as the same."""

SAMPLED_METHODS = ("milp", "scenario-search")
"""The exact methods that count scenarios: a program solved by HiGHS, and the dedicated search. They share
tables of costs and gains, and no step of their proofs."""

SCENARIOS, _SECONDS = 100, 60.0


@dataclass(frozen=True)
class Entry:
    """One method on one instance; without a result, the sentence in which it refuses the instance."""

    target: str
    instance: Instance
    method: str
    result: Result | None
    refusal: str = ""

    @property
    def plan(self) -> Plan | None:
        """The plan, if there is one."""
        return None if self.result is None else self.result.plan

    @property
    def cost(self) -> float | None:
        """Its cost."""
        return None if self.result is None else self.result.cost

    @property
    def proved(self) -> bool:
        """Whether it is proved to be the cheapest."""
        return self.result is not None and self.result.solution is Solution.PROVEN_OPTIMAL

    @property
    def epochs_by_model(self) -> dict[str, int]:
        """Epochs of the plan trained with each model, in the order of the instance; 0 without a plan."""
        return epochs_by_model(self.instance, self.plan)


def targets_of(family: str) -> tuple[str, ...]:
    """The targets of a shipped family; another one is refused."""
    for entry in describe():
        if entry.name == family and entry.targets:
            return entry.targets
    raise InvalidInputError(f"no shipped family is called {family!r}")


def compare(family: str, methods: Sequence[str], done: Callable[[Entry], None]) -> list[Entry]:
    """Solve a family at all its targets by several methods; ``done`` is told."""
    entries = []
    for target, method in product(targets_of(family), methods):
        entries.append(_entry(target, load(family, target), method))
        done(entries[-1])
    return entries


def lower_bound(entries: Sequence[Entry], target: str) -> float:
    """The best certified lower bound that any method gave at a target."""
    bounds = [entry.result.lower_bound for entry in entries if entry.target == target and entry.result]
    return max(bounds, default=float("-inf"))


def optimum(entries: Sequence[Entry], target: str) -> float | None:
    """The cost that a method has proved to be the least at a target; None if none has."""
    costs = [entry.cost for entry in entries if entry.target == target and entry.proved]
    return min((cost for cost in costs if cost is not None), default=None)


def agree(entries: Sequence[Entry], others: Sequence[Entry]) -> bool:
    """Whether both prove an optimum at every target of either, and the same one (relative 1e-9)."""
    targets = {entry.target for entry in (*entries, *others)}
    pairs = [(optimum(entries, target), optimum(others, target)) for target in targets]
    return bool(pairs) and all(
        one is not None and other is not None and math.isclose(one, other, rel_tol=AGREEMENT)
        for one, other in pairs
    )


def solve_by_all(done: Callable[[Entry], None]) -> list[Entry]:
    """The paper's AlexNet with a deadline, at target 15 within 9 epochs, which all `SAMPLED_METHODS` prove.

    All on the same sample.
    """
    whole, entries = load("paper-alexnet-deadline", "13"), []
    short = whole.replace(name="paper-alexnet-deadline, short", maximum_loss=15.0, maximum_epochs=9)
    for method in SAMPLED_METHODS:
        entries.append(_entry("15", short, method, time_limit=_SECONDS, scenarios=SCENARIOS))
        done(entries[-1])
    return entries


def methods_agree(entries: Sequence[Entry]) -> bool:
    """Whether all entries, two or more, are proved cheapest, at costs that are equal to 1e-9."""
    return len(entries) > 1 and all(agree(entries[:1], [entry]) for entry in entries)


def _entry(target: str, instance: Instance, method: str, **settings: Any) -> Entry:
    """One method on one instance; its refusal, if the method does not cover the instance."""
    try:
        result = uninterrupted(solve(instance, method, **settings))
        return Entry(target, instance, method, result)
    except NotCoveredError as error:
        return Entry(target, instance, method, None, str(error))
