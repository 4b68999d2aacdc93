"""Costs over proved optima: of ``depl`` and the paper's method, and of plans that know means alone.

*Methods*: on 1000 random instances (`depl.instances.generator`), drawn before anything is solved.
``exact`` gives each its proved optimum, a proof that it has no plan, or a certified lower bound when its time
is up; the latter are compared with that bound, apart. *Means* (``value_``): the value of the stochastic
solution (``howto/ratio``), on shipped and random instances, half of which best-exp covers.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import answer, kept
from depl.benchmarks.studies.helpers.mean_value import repair
from depl.instances.generator import competitive_family, random_instance
from depl.instances.library import load
from depl.models.problem.instance import Instance

METHODS = ("depl", "depl-paper")
_SEED = 240214346
"""That of the suite ``random``, which has the first of the thousand instances."""
_TALLIED = {
    **{name: name for name in ("rejected", "compared", "false_infeasible", "wrong_bounds", "below_optimum")},
    "found": "found",
    "missed": "unserved",
    "mean_ratio": "mean",
    "largest_ratio": "largest",
    "unproved_compared": "unproved_compared",
    "unproved_mean_ratio_to_bound": "bound_mean",
    "unproved_largest_ratio_to_bound": "bound_largest",
}
"""What the record tells of a method, by what `tally` calls it."""
_COUNT, _SECONDS, _REFERENCE_SECONDS = 1000, 30.0, 10.0
_SHIPPED = (
    "tiny",
    *(f"paper-alexnet-deadline-{target}" for target in (5, 7, 9, 11, 13)),
    *(f"paper-mobilenet-{target}" for target in (5, 7, 9, 11, 13)),
)
_VALUE_SECONDS, _TARGETS = 20.0, 500
"""Limit of every solve, and targets tried for a repair at most: so far the paper's instances took the most,
some dozens."""
_PROOFS = ("optimal", "infeasible")
_SAME = 1e-7
"""Relative difference of costs that counts as none, as that of `depl.benchmarks.analysis.reference`."""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    for number in range(1 if smoke else _COUNT):
        yield {"number": number, "most": 0.2 if smoke else _SECONDS}
    for name in _SHIPPED[: 1 if smoke else None]:
        yield {"shipped": name}
    for sites, number in [] if smoke else [(sites, number) for sites in (2, 1) for number in range(10)]:
        yield {"sites": sites, "draw": [int(rng.integers(2**31)), number]}


def _run(task: Row) -> Row:
    if "number" in task:
        family = _family(_COUNT if task["number"] else 1)
        return _compared(family[task["number"]], task["most"])
    if "shipped" in task:
        return _valued(load(task["shipped"]))
    few = (1, task["sites"])
    rng, sizes = np.random.default_rng(task["draw"]), {"models": (2, 3), "maximum_epochs": (3, 8)}
    return _valued(random_instance(rng, **sizes, clusters=few, datasets=few))


@functools.cache
def _family(count: int) -> Sequence[Instance]:
    return competitive_family(np.random.default_rng(_SEED), count)


def _compared(instance: Instance, most: float) -> Row:
    """What each method comes to; of a proved optimum whether it switches models, and chooses data."""
    told: dict[str, Any] = {name: answer(instance, name, most) for name in METHODS}
    found = tried(instance, "exact", time_limit=min(_REFERENCE_SECONDS, most))
    plan = found.result.plan if found.result and found.ending == "optimal" else None
    if plan is not None:
        fewer = any(len(item.datasets) < len(instance.datasets) for item in plan.data)
        told["chooses"] = fewer or len(plan.data) > 1
        told["switches"] = len({epoch.model for epoch in plan.epochs}) > 1
    return {**told, "exact": kept(found)}


def _valued(instance: Instance) -> Row:
    """What exact search, means (their first plan, x_EV, and the last one) and best-exp come to."""
    plans, budget = repair(instance, _VALUE_SECONDS, _TARGETS), instance.target.violation_budget
    means = [
        {"cost": plan.cost, "violation": [plan.violation.lower, plan.violation.upper], "kept": plan.kept}
        for plan in plans[:1] + plans[-1:]
    ]
    return {
        "name": instance.name,
        "means": means,
        "missed": bool(plans) and plans[0].violation.exceeds(budget),
        "exact": answer(instance, "exact", _VALUE_SECONDS),
        "best_exp": answer(instance, "expected-cost", _VALUE_SECONDS),
    }


def _figures(rows: Sequence[Row]) -> Row:
    methods, means = ([row for row in rows if ("number" in row) is kind] for kind in (True, False))
    exact = [row["exact"]["ending"] for row in methods]
    plans = [row for row in methods if "switches" in row]
    values: dict[str, object] = {
        "instances": len(methods),
        "proved_optimal": exact.count("optimal"),
        "unproved": sum(ending not in _PROOFS for ending in exact),
        "optima_that_switch_share": _mean([row["switches"] for row in plans]),
        "optima_with_less_data_or_more_clusters_share": _mean([row["chooses"] for row in plans]),
    }
    for name in METHODS:
        values |= figures_of(name, methods)
    return values | {f"value_{name}": value for name, value in value_of_the_solution(means).items()}


def figures_of(method: str, rows: Sequence[Row]) -> dict[str, object]:
    """The figures of one method, each name with the method's in front.

    Ratios are None where there is nothing to form them of. Those to a bound are of the instances that have a
    positive one.
    """
    from depl.benchmarks.analysis.ratio_table import judged, tally
    from depl.benchmarks.analysis.reference import pd, with_references

    told = [
        {"question": row["number"], "instance": row["number"], **row[name]}
        for row in rows
        for name in ("exact", *METHODS)
    ]
    frame = pd.DataFrame(told).astype({"cost": float, "lower_bound": float})
    frame = judged(with_references(frame.rename(columns={"seconds": "wall_seconds"})))
    found = tally(frame[frame["method"] == method])
    found["unproved_compared"] = int(found["bounded"] or 0) + int(found["unbounded"] or 0)
    found["found"] = int(found["compared"] or 0) + int(found["unproved_compared"] or 0)
    return {f"{method.replace('-', '_')}_{name}": found[of] for name, of in _TALLIED.items()}


def value_of_the_solution(rows: Sequence[Row]) -> dict[str, object]:
    """How often x_EV misses the promise, what it costs where it keeps it, and what it costs repaired."""
    known = [row for row in rows if row["exact"]["ending"] == "optimal"]
    first = [row for row in known if row["means"]]
    missed = [row["means"][0]["violation"][0] for row in first if row["missed"]]
    kept = [row for row in first if row["means"][0]["kept"]]
    repaired = [row for row in first if row["means"][-1]["kept"]]
    ratios = [_over_optimum(row, -1) for row in repaired]
    others = [
        (row["means"][-1]["cost"], row["best_exp"]["cost"]) for row in repaired if row["best_exp"]["cost"]
    ]
    return {
        "proved_optimal": len(known),
        "proved_share": _mean([row["exact"]["ending"] in _PROOFS for row in rows]),
        "mean_plans": len(first),
        "mean_plans_missing": len(missed),
        "mean_plans_keeping": len(kept),
        "missed_share": _mean([row["missed"] for row in first]),
        "missed_median_violation": _median(missed),
        "kept_largest_extra_cost": max((_over_optimum(row, 0) - 1 for row in kept), default=None),
        "below_optimum": sum(_over_optimum(row, 0) < 1 - _SAME for row in kept),
        "repaired": len(repaired),
        "repaired_share": _mean([row in repaired for row in known]),
        "repaired_mean_ratio": _mean(ratios),
        "repaired_largest_ratio": max(ratios, default=None),
        "repaired_optimal": sum(ratio <= 1 + _SAME for ratio in ratios),
        "repaired_below_optimum": sum(ratio < 1 - _SAME for ratio in ratios),
        "best_exp_differs": sum(not math.isclose(one, other, rel_tol=_SAME) for one, other in others),
        "rows": [
            {
                "name": row["name"],
                "mean_cost": row["means"][0]["cost"] if row["means"] else None,
                "mean_violation": row["means"][0]["violation"] if row["means"] else None,
            }
            for row in rows
        ],
    }


def _over_optimum(row: Row, place: int) -> float:
    """The cost of the first or last plan by means over the optimum; 1 where both are 0."""
    return row["means"][place]["cost"] / row["exact"]["cost"] if row["exact"]["cost"] else 1.0


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
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=_SEED,
)
