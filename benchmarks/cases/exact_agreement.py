"""Whether four ways to the optimum under scenarios agree: all plans written out, F2, F1, the search.

Every instance of `depl.benchmarks.suites.tiny_sampled` is solved by every method. The cost of each plan is
computed again, and its misses are counted again, by `depl.benchmarks.oracles.scenario_enumeration`, whose
code no method uses; costs are compared at 1e-9, and a lower bound above the enumerated optimum is a
disagreement as well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.benchmarks.oracles.scenario_enumeration import cheapest_under_scenarios, cost_and_misses
from depl.benchmarks.runner.registry import Case, Goal
from depl.benchmarks.suites.tiny_sampled import SampledInstance, tiny_sampled
from depl.models.foundation.errors import DeplError
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import allowed_misses
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve

SOLVERS = ("milp", "milp-resource", "scenario-search")
AGREEMENT = 1e-9
_INSTANCES = 200
_PROOFS = (Termination.OPTIMAL, Termination.INFEASIBLE)


@dataclass
class _Record:
    """What one method found, over all instances."""

    disagreements: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    differences: list[float] = field(default_factory=lambda: [0.0])
    seconds: list[float] = field(default_factory=list)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    items = list(tiny_sampled(rng, 2 if smoke else _INSTANCES))
    records = {solver: _Record() for solver in SOLVERS}
    optima = [_judged(item) for item in items]
    for item, (cost, _) in zip(items, optima, strict=True):
        for solver, record in records.items():
            _compare(solver, item, cost, record)
    return _shares(items, [plan for _, plan in optima]) | {
        "instances": len(items),
        "disagreements": sum(len(record.disagreements) for record in records.values()),
        "unproven": sum(len(record.unproven) for record in records.values()),
        "largest_difference": max(max(record.differences) for record in records.values()),
        "solvers": {
            solver: {
                "disagreements": record.disagreements,
                "unproven": record.unproven,
                "largest_difference": max(record.differences),
                "median_seconds": float(np.median(record.seconds or [math.nan])),
                "largest_seconds": max(record.seconds, default=math.nan),
            }
            for solver, record in records.items()
        },
    }


def _judged(item: SampledInstance) -> tuple[float, Plan | None]:
    given = item.scenarios.improvements, item.scenarios.switch_losses, item.scenarios.decimals
    return cheapest_under_scenarios(item.instance, *given)


def _compare(solver: str, item: SampledInstance, cost: float, record: _Record) -> None:
    """Solve by one method and note what differs from the enumerated cost."""
    name = item.instance.name
    try:
        result = uninterrupted(solve(item.instance, solver, scenarios=item.scenarios))
    except DeplError as error:
        record.disagreements.append(f"{name}: {error}")
        return
    record.seconds.append(result.wall_seconds)
    if result.termination not in _PROOFS:
        record.unproven.append(f"{name}: {result.termination.value}")
    if result.lower_bound > cost * (1 + AGREEMENT):
        record.disagreements.append(f"{name}: lower bound {result.lower_bound!r}, optimum {cost!r}")
    found = _recomputed(item, result)
    if found == cost:
        return
    difference = abs(found - cost) / max(cost, found) if found < math.inf > cost else math.inf
    record.differences.append(difference)
    if difference > AGREEMENT:
        record.disagreements.append(f"{name}: cost {found!r}, optimum {cost!r}")


def _recomputed(item: SampledInstance, result: Result) -> float:
    """Cost of the plan that was found; infinite without one, or if it misses too many scenarios."""
    if result.plan is None:
        return math.inf
    given = item.scenarios.improvements, item.scenarios.switch_losses, item.scenarios.decimals
    cost, misses = cost_and_misses(item.instance, result.plan, *given)
    return cost if misses <= allowed_misses(item.instance, len(item.scenarios)) else math.inf


def _shares(items: Sequence[SampledInstance], plans: Sequence[Plan | None]) -> dict[str, object]:
    """What the instances and their optima are like."""
    held = [plan for plan in plans if plan is not None and plan.epochs]
    wide = [len(item.instance.clusters) > 1 or len(item.instance.datasets) > 1 for item in items]
    return {
        "two_clusters_or_datasets_share": float(np.mean(wide)),
        "infeasible": sum(plan is None for plan in plans),
        "nothing_to_train": sum(plan is not None and not plan.epochs for plan in plans),
        "switching_optima": sum(len({epoch.model for epoch in plan.epochs}) > 1 for plan in held),
        "two_cluster_optima": sum(len(plan.data) > 1 for plan in held),
        "instances_with_negative_switch_losses": sum(
            bool((item.scenarios.switch_losses < 0).any()) for item in items
        ),
    }


CASE = Case(
    name="exact-agreement",
    summary="All plans written out, F2, F1 and the search on 200 tiny instances with scenarios.",
    goals=(
        Goal("instances", "instances compared", ">=", _INSTANCES),
        Goal("two_clusters_or_datasets_share", "share with two clusters or datasets", ">=", 0.5),
        Goal("disagreements", "costs or bounds that differ by more than 1e-9", "==", 0),
        Goal("unproven", "answers without a proof of optimality or infeasibility", "==", 0),
    ),
    run=_run,
    seed=20260314,
)
