"""The value of the stochastic solution: what planning by means costs where a probability was promised.

On shipped instances and on random ones that are drawn before anything is solved, the proved optimum under the
law is compared with the plan of the mean-value problem, and with that plan repaired by lowering the target
(`depl.benchmarks.studies.helpers.mean_value` defines both). Half of the random instances have one cluster and
one dataset, where best-exp is defined: by another computation, its method ``expected-cost`` has to find the
repaired plan's cost. On three shipped instances the Lagrangian bound is told over its prices
(`depl.benchmarks.studies.helpers.price_curves`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from depl.benchmarks.analysis.reference import below
from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.mean_value import MeanPlan, Repair, repair
from depl.benchmarks.studies.helpers.price_curves import price_curve
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.problem.instance import Instance

_SHIPPED = (
    "tiny",
    *(f"paper-alexnet-deadline-{target}" for target in (5, 7, 9, 11, 13)),
    *(f"paper-mobilenet-{target}" for target in (5, 7, 9, 11, 13)),
)
_CURVES = ("tiny", "paper-alexnet-deadline-9", "paper-alexnet-deadline-13")
_SINGLE, _SEVERAL = 10, 10
"""Random instances with one cluster and one dataset, and with up to two of each."""
_SECONDS = 20.0
"""Limit of every solve."""
_TARGETS = 500
"""Targets tried for a repair at most: so far the paper's instances took the most, some dozens."""
_SAME = 1e-7
"""Relative difference of costs that counts as none, as that of `depl.benchmarks.analysis.reference`."""


@dataclass(frozen=True)
class _Row:
    """One instance: its optimum, the plans by means, and best-exp."""

    instance: Instance
    exact: SolveOutcome
    means: Repair
    best_exp: SolveOutcome

    @property
    def optimum(self) -> float | None:
        """RP, if it is proved [cost]."""
        return self.exact.cost if self.exact.proved_optimal else None

    @property
    def first(self) -> MeanPlan | None:
        """x_EV, if it is proved."""
        return self.means.plans[0] if self.means.plans else None

    def over_optimum(self, cost: float) -> float:
        """A cost over the optimum; 1 where both are 0."""
        optimum = self.optimum or 0.0
        return cost / optimum if optimum else 1.0

    def told(self) -> dict[str, object]:
        """As the record has it."""
        first, repaired = self.first, self.means.repaired
        return {
            "name": self.instance.name,
            "omega": self.instance.target.quantile_level,
            "exact": self.exact.ending,
            "optimum": self.optimum,
            "mean_cost": first and first.cost,
            "mean_violation": first and [first.violation.lower, first.violation.upper],
            "mean_kept": first and first.kept,
            "targets": len(self.means.plans),
            "repair": self.means.ending,
            "repaired_cost": repaired and repaired.cost,
            "best_exp": self.best_exp.ending,
            "best_exp_cost": self.best_exp.cost,
        }


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    rows = [_row(instance) for instance in _instances(rng, smoke)]
    named = {row.instance.name: row for row in rows}
    wanted = [named[name] for name in _CURVES if name in named]
    curves = [price_curve(row.instance, row.optimum) for row in wanted if row.optimum]
    return {
        "seconds_allowed": _SECONDS,
        **_optima(rows),
        **_mean_plans([row for row in rows if row.optimum is not None]),
        **_repaired([row for row in rows if row.optimum is not None]),
        "bounds_above_optimum": sum(map(_above, curves)),
        "curves": curves,
        "rows": [row.told() for row in rows],
    }


def _instances(rng: np.random.Generator, smoke: bool) -> list[Instance]:
    if smoke:
        return [load("tiny")]
    several = random_instances(
        rng, _SEVERAL, models=(2, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(3, 8)
    )
    single = random_instances(
        rng, _SINGLE, models=(2, 3), clusters=(1, 1), datasets=(1, 1), maximum_epochs=(3, 8)
    )
    return [*map(load, _SHIPPED), *several, *single]


def _row(instance: Instance) -> _Row:
    exact = tried(instance, "exact", time_limit=_SECONDS)
    means = repair(instance, _SECONDS, _TARGETS)
    return _Row(instance, exact, means, tried(instance, "expected-cost", time_limit=_SECONDS))


def _optima(rows: Sequence[_Row]) -> dict[str, object]:
    """What exact search proved."""
    proved = [row.exact.proved for row in rows]
    return {
        "instances": len(rows),
        "proved_optimal": sum(row.exact.proved_optimal for row in rows),
        "proved_infeasible": sum(row.exact.proved_infeasible for row in rows),
        "proved_share": float(np.mean(proved)),
    }


def _mean_plans(rows: Sequence[_Row]) -> dict[str, object]:
    """How often x_EV misses the promise, and what it costs where it keeps it."""
    held = [(row, row.first) for row in rows if row.first is not None]
    missed = [
        (row, plan) for row, plan in held if plan.violation.exceeds(row.instance.target.violation_budget)
    ]
    kept = [(row, plan) for row, plan in held if plan.kept]
    budgets = [float(row.instance.target.violation_budget) for row, _ in missed]
    excess = [plan.violation.lower / budget for (_, plan), budget in zip(missed, budgets, strict=True)]
    extra = [row.over_optimum(plan.cost) - 1 for row, plan in kept]
    return {
        "mean_plans": len(held),
        "mean_plans_missing": len(missed),
        "mean_plans_keeping": len(kept),
        "missed_share": len(missed) / len(held) if held else None,
        "missed_median_violation": _median([plan.violation.lower for _, plan in missed]),
        "missed_median_times_the_budget": _median(excess),
        "kept_largest_extra_cost": max(extra, default=None),
        "mean_cost_over_optimum_median": _median([row.over_optimum(plan.cost) for row, plan in held]),
        "below_optimum": sum(below(plan.cost, row.optimum or 0.0) for row, plan in kept),
    }


def _repaired(rows: Sequence[_Row]) -> dict[str, object]:
    """What the repaired plans cost, and whether best-exp finds the same."""
    held = [(row, row.means.repaired) for row in rows if row.means.repaired is not None]
    ratios = [row.over_optimum(plan.cost) for row, plan in held]
    compared = [(plan.cost, row.best_exp.cost) for row, plan in held if row.best_exp.cost is not None]
    differing = [pair for pair in compared if abs(pair[0] - pair[1]) > _SAME * max(pair)]
    return {
        "repaired": len(held),
        "repaired_share": len(held) / len(rows) if rows else None,
        "repaired_mean_ratio": float(np.mean(ratios)) if ratios else None,
        "repaired_largest_ratio": max(ratios, default=None),
        "repaired_optimal": sum(ratio <= 1 + _SAME for ratio in ratios),
        "repaired_below_optimum": sum(ratio < 1 - _SAME for ratio in ratios),
        "most_targets": max((len(row.means.plans) for row in rows), default=0),
        "best_exp_compared": len(compared),
        "best_exp_differs": len(differing),
    }


def _above(curve: Mapping[str, object]) -> int:
    """Points of a curve that lie above the optimum."""
    shares = [curve["best"], *_list(curve["over_time_price"]), *_list(curve["over_gain_price"])]
    return sum(isinstance(share, float) and share > 1 + _SAME for share in shares)


def _list(values: object) -> list[object]:
    return list(values) if isinstance(values, list) else []


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


STUDY = Study(
    name="stochastic-value",
    summary="Optima under the law against plans of the mean-value problem, as they are and repaired.",
    goals=(
        Goal(
            "proved_share",
            "share of instances whose optimum, or that there is no plan, is proved",
            ">=",
            0.95,
        ),
        Goal("missed_share", "share of mean-value plans that certainly miss the promise", ">=", 0.5),
        Goal("below_optimum", "mean-value plans that keep the promise below the proved optimum", "==", 0),
        Goal("repaired_share", "share of feasible instances whose mean-value plan is repaired", ">=", 0.95),
        Goal("repaired_mean_ratio", "cost of the repaired plan over the optimum, mean", "<=", 1.05),
        Goal("repaired_below_optimum", "repaired plans below the proved optimum", "==", 0),
        Goal("best_exp_differs", "repaired plans that best-exp finds at another cost", "==", 0),
        Goal("bounds_above_optimum", "points of the price curves above the optimum", "==", 0),
    ),
    run=_run,
    seed=20261126,
)
