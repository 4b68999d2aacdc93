"""Costs over proved optima: of ``depl`` and the paper's method, and of plans that know means alone.

*Methods*: on 1000 random instances (`depl.instances.random_family`), drawn before anything is solved.
``exact`` gives each its proved optimum, a proof that it has no plan, or a certified lower bound when its time
is up; the latter are compared with that bound, apart. Two processes share them, so seconds are those of a
machine with both cores at work. *Means* (``value_``): the value of the stochastic solution (``howto/ratio``),
on shipped and random instances, half of which best-exp covers, and the Lagrangian bound over its prices.
"""

import math
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.analysis.ratio_table import Trial, tally
from depl.benchmarks.analysis.reference import below, claimed, reference_of
from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.mean_value import Repair, price_curve, repair
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.instances.random_family import competitive_family
from depl.models.foundation.compiling import compiled_at_once
from depl.models.problem.instance import Instance

METHODS = ("depl", "depl-paper")
_COUNT, _SECONDS, _REFERENCE_SECONDS, _WORKERS = 1000, 30.0, 10.0, 2
_SHIPPED = (
    "tiny",
    *(f"paper-alexnet-deadline-{target}" for target in (5, 7, 9, 11, 13)),
    *(f"paper-mobilenet-{target}" for target in (5, 7, 9, 11, 13)),
)
_CURVES = ("tiny", "paper-alexnet-deadline-9", "paper-alexnet-deadline-13")
_VALUE_SECONDS, _TARGETS = 20.0, 500
"""Limit of every solve, and targets tried for a repair at most: so far the paper's instances took the most,
some dozens."""
_SAME = 1e-7
"""Relative difference of costs that counts as none, as that of `depl.benchmarks.analysis.reference`."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    instances = competitive_family(rng, 1 if smoke else _COUNT)
    return {**_methods(instances, smoke), **_means(_value_instances(rng, smoke))}


def _methods(instances: Sequence[Instance], smoke: bool) -> dict[str, object]:
    """The figures of each method, what ``exact`` proved, and how varied its optima are."""
    ask = partial(_compared, most=0.2 if smoke else math.inf)
    if smoke:
        _warm_up(("exact",))
        rows = [ask(instance) for instance in instances]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(_WORKERS, context, _warm_up, (("exact", *METHODS),)) as pool:
            rows = list(pool.map(ask, instances))
    plans = [
        (instance, row.reference.result.plan)
        for instance, row in zip(instances, rows, strict=True)
        if row.reference.proved_optimal and row.reference.result and row.reference.result.plan
    ]
    chosen = [
        len(plan.data) > 1 or any(len(item.datasets) < len(instance.datasets) for item in plan.data)
        for instance, plan in plans
    ]
    return {
        "instances": len(rows),
        "proved_optimal": sum(row.reference.proved_optimal for row in rows),
        "proved_infeasible": sum(row.reference.proved_infeasible for row in rows),
        "unproved": sum(not row.reference.proved for row in rows),
        "optima_that_switch_share": _mean([len({e.model for e in plan.epochs}) > 1 for _, plan in plans]),
        "optima_with_less_data_or_more_clusters_share": _mean(chosen),
        **dict(chain.from_iterable(figures_of(method, rows).items() for method in METHODS)),
    }


def _warm_up(names: Sequence[str]) -> None:
    """Compile, or read from the cache, whatever methods compile."""
    with compiled_at_once():
        for name in names:
            tried(load("tiny"), name, time_limit=60)


class Row(NamedTuple):
    """One instance: what came of ``exact``, and of each method, by name."""

    name: str
    reference: SolveOutcome
    outcomes: Mapping[str, SolveOutcome]


def _compared(instance: Instance, most: float) -> Row:
    found = {name: tried(instance, name, time_limit=min(_SECONDS, most)) for name in METHODS}
    exact = tried(instance, "exact", time_limit=min(_REFERENCE_SECONDS, most))
    return Row(instance.name, exact, found)


def figures_of(method: str, rows: Sequence[Row]) -> dict[str, object]:
    """The figures of one method, each name with the method's in front.

    Ratios are None where there is nothing to form them of. Those to a bound are of the instances that have a
    positive one.
    """
    trials = []
    for row in rows:
        known = reference_of([claimed(*item) for item in {"": row.reference, **row.outcomes}.items()])
        own = row.outcomes[method]
        trials.append(Trial(row.name, own.ending, claimed(method, own), known, own.seconds))
    found = tally(trials)
    unproved = int(found["bounded"] or 0) + int(found["unbounded"] or 0)
    figures = {
        **{name: found[name] for name in ("rejected", "compared", "false_infeasible", "wrong_bounds")},
        "below_optimum": found["below_optimum"],
        "found": int(found["compared"] or 0) + unproved,
        "missed": found["unserved"],
        "mean_ratio": found["mean"],
        "largest_ratio": found["largest"],
        "unproved_compared": unproved,
        "unproved_mean_ratio_to_bound": found["bound_mean"],
        "unproved_largest_ratio_to_bound": found["bound_largest"],
    }
    return {f"{method.replace('-', '_')}_{name}": value for name, value in figures.items()}


def _value_instances(rng: np.random.Generator, smoke: bool) -> list[Instance]:
    if smoke:
        return [load("tiny")]
    draw = partial(random_instances, rng, 10, models=(2, 3), maximum_epochs=(3, 8))
    several = draw(clusters=(1, 2), datasets=(1, 2))
    return [*map(load, _SHIPPED), *several, *draw(clusters=(1, 1), datasets=(1, 1))]


class _Valued(NamedTuple):
    """One instance: what exact search, means and best-exp come to."""

    instance: Instance
    exact: SolveOutcome
    means: Repair
    best_exp: SolveOutcome

    def over_optimum(self, cost: float) -> float:
        """1 where both are 0."""
        return cost / self.exact.cost if self.exact.cost else 1.0

    def told(self) -> dict[str, object]:
        """What the record keeps of x_EV."""
        first = self.means.plans[0] if self.means.plans else None
        return {
            "name": self.instance.name,
            "mean_cost": first and first.cost,
            "mean_violation": first and [first.violation.lower, first.violation.upper],
        }


def _means(instances: Sequence[Instance]) -> dict[str, object]:
    rows = [
        _Valued(
            instance,
            tried(instance, "exact", time_limit=_VALUE_SECONDS),
            repair(instance, _VALUE_SECONDS, _TARGETS),
            tried(instance, "expected-cost", time_limit=_VALUE_SECONDS),
        )
        for instance in instances
    ]
    known = [row for row in rows if row.exact.proved_optimal]
    wanted = [(row.instance, row.exact.cost) for row in known if row.instance.name in _CURVES]
    curves = [price_curve(instance, optimum) for instance, optimum in wanted if optimum]
    values: dict[str, object] = {
        "proved_optimal": len(known),
        "proved_share": _mean([row.exact.proved for row in rows]),
        "most_targets": max((len(row.means.plans) for row in known), default=0),
        **_unrepaired([row for row in known if row.means.plans]),
        **_repaired([row for row in known if row.means.repaired]),
        "repaired_share": _mean([row.means.repaired is not None for row in known]),
        "bounds_above_optimum": sum(map(_above, curves)),
        "curves": curves,
        "rows": [row.told() for row in rows],
    }
    return {f"value_{name}": value for name, value in values.items()}


def _unrepaired(rows: Sequence[_Valued]) -> dict[str, object]:
    """How often x_EV certainly misses the promise, and what it costs where it keeps it."""
    first = [(row, row.means.plans[0]) for row in rows]
    missed = [
        (plan.violation.lower, float(row.instance.target.violation_budget))
        for row, plan in first
        if plan.violation.exceeds(row.instance.target.violation_budget)
    ]
    kept = [(row, plan.cost) for row, plan in first if plan.kept]
    return {
        "mean_plans": len(first),
        "mean_plans_missing": len(missed),
        "mean_plans_keeping": len(kept),
        "missed_share": len(missed) / len(first) if first else None,
        "missed_median_violation": _median([share for share, _ in missed]),
        "missed_median_times_the_budget": _median([share / budget for share, budget in missed]),
        "kept_largest_extra_cost": max((row.over_optimum(cost) - 1 for row, cost in kept), default=None),
        "mean_cost_over_optimum_median": _median([row.over_optimum(plan.cost) for row, plan in first]),
        "below_optimum": sum(below(cost, row.exact.cost or 0.0) for row, cost in kept),
    }


def _repaired(rows: Sequence[_Valued]) -> dict[str, object]:
    """What the repaired plans cost, and whether best-exp finds the same."""
    costs = [row.means.plans[-1].cost for row in rows]
    ratios = [row.over_optimum(cost) for row, cost in zip(rows, costs, strict=True)]
    others = [(cost, row.best_exp.cost) for row, cost in zip(rows, costs, strict=True) if row.best_exp.cost]
    return {
        "repaired": len(rows),
        "repaired_mean_ratio": _mean(ratios),
        "repaired_largest_ratio": max(ratios, default=None),
        "repaired_optimal": sum(ratio <= 1 + _SAME for ratio in ratios),
        "repaired_below_optimum": sum(ratio < 1 - _SAME for ratio in ratios),
        "best_exp_compared": len(others),
        "best_exp_differs": sum(abs(one - other) > _SAME * max(one, other) for one, other in others),
    }


def _above(curve: Mapping[str, Any]) -> int:
    """Points of a curve that lie above the optimum."""
    shares = (curve["best"], *curve["over_time_price"], *curve["over_gain_price"])
    return sum(share > 1 + _SAME for share in shares)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


STUDY = Study(
    name="ratios",
    summary="Cost over the proved optimum: `depl` and `depl-paper` on 1000 instances; plans that know means.",
    goals=(
        Goal("depl_compared", "plans of `depl` compared with proven optima", ">=", 900),
        Goal("depl_mean_ratio", "mean cost of `depl` over the optimum", "<=", 1.005),
        Goal("depl_largest_ratio", "largest cost of `depl` over the optimum", "<=", 1.05),
        Goal("depl_false_infeasible", "feasible instances that `depl` calls infeasible", "==", 0),
        Goal("depl_missed", "feasible instances without a plan of `depl`", "==", 0),
        Goal("depl_rejected", "plans of `depl` that the verifier rejects", "==", 0),
        Goal("depl_wrong_bounds", "lower bounds of `depl` above the optimum", "==", 0),
        Goal("depl_below_optimum", "plans of `depl` cheaper than a proven optimum", "==", 0),
        Goal("optima_that_switch_share", "share of optima that switch the model", ">=", 0.3),
        Goal(
            "optima_with_less_data_or_more_clusters_share",
            "share of optima with less than all data or several clusters",
            ">=",
            0.3,
        ),
        Goal("value_proved_share", "means: share of instances that are proved", ">=", 0.95),
        Goal("value_missed_share", "share of mean-value plans that certainly miss the promise", ">=", 0.5),
        Goal("value_below_optimum", "mean-value plans that keep it below the proved optimum", "==", 0),
        Goal("value_repaired_share", "share of feasible instances whose plan is repaired", ">=", 0.95),
        Goal("value_repaired_mean_ratio", "cost of the repaired plan over the optimum, mean", "<=", 1.05),
        Goal("value_repaired_below_optimum", "repaired plans below the proved optimum", "==", 0),
        Goal("value_best_exp_differs", "repaired plans that best-exp finds at another cost", "==", 0),
        Goal("value_bounds_above_optimum", "points of the price curves above the optimum", "==", 0),
    ),
    run=_run,
    seed=240214346,
)
