"""What statements of the paper come to where they can be tried: reduction, sets of data, transforms, fits.

Each function draws its own cases and counts; the report (`depl.benchmarks.report`) draws its verdicts from
this record. What is true, with proofs, stands in the errata.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.set_functions import LAWS, random_selection
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.paths.additive_labels import evar_quantile
from depl.heuristics.submodular.function import Verdict, all_values, exhaustive
from depl.heuristics.submodular.minimum_norm import minimum_norm_point
from depl.instances.generator import random_plan
from depl.instances.library import load
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.to_planning import ByTime, unbounded
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.choices import FitBy
from depl.models.estimation.fit import fit_traces
from depl.models.evaluation.evaluate import final_loss
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.certify import certified_quantile
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

GOOD = 0.05
"""The p-value above which the paper calls a fit good."""
EQUAL = 0.01
"""Relative difference of margins up to which a bound counts as the quantile itself."""
_DOUBT = 1e-9
_BY = {FitBy.SCHEDULE: "all runs of a combination", FitBy.RUN: "curve by curve"}


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    for number in range(1 if smoke else 15):
        yield {"kind": "knapsacks", "count": 1 if smoke else 10, "seed": [seed, number]}
    for law, sent in itertools.product(LAWS, (False, True)):
        count = 1 if smoke else 100
        yield {"kind": "selections", "law": law, "communication": sent, "count": count, "seed": seed}
    for name in ("paper-alexnet-9", "paper-mobilenet-9", "paper-alexnet-deadline-9"):
        yield {"kind": "transforms", "name": name, "count": 2 if smoke else 100, "seed": seed}
    for family in ("zen-attention",) if smoke else ("digits-alexnet", "digits-mobilenet"):
        yield {"kind": "fits", "name": family, "count": 5 if smoke else 199, "seed": seed}


def _run(task: Row) -> Row:
    rng, count = np.random.default_rng(task["seed"]), task["count"]
    if task["kind"] == "knapsacks":
        return knapsacks(rng, count)
    if task["kind"] == "selections":
        return selections(rng, task["law"], task["communication"], count)
    return (added_transforms if task["kind"] == "transforms" else fits)(rng, task["name"], count)


def knapsacks(rng: np.random.Generator, count: int) -> dict[str, int]:
    """Decide random knapsacks through the printed and the corrected construction (Property 1, E6).

    Of each knapsack two questions are asked: whether its best value can be had, which is so, and whether one
    more can. An answer is the proof of an optimal plan or of infeasibility; anything else counts as wrong.
    """
    wrong = {"printed": 0, "corrected": 0}
    for _ in range(count):
        items = int(rng.integers(3, 7))
        weights, values = rng.integers(2, 10, items).tolist(), rng.integers(1, 13, items).tolist()
        knapsack = Knapsack.of(values, weights, max(max(weights), int(sum(weights) * rng.uniform(0.4, 0.7))))
        best = int(best_by_capacity(knapsack).value)
        for wanted, reachable in ((best, True), (best + 1, False)):
            wrong["printed"] += _decided(unbounded(knapsack, wanted)) is not reachable
            wrong["corrected"] += _decided(ByTime.reduce(knapsack, wanted)) is not reachable
    return wrong


def _decided(instance: Instance) -> bool | None:
    ended = uninterrupted(solve(instance, "exact", time_limit=30.0)).termination
    return {Termination.OPTIMAL: True, Termination.INFEASIBLE: False}.get(ended)


def selections(rng: np.random.Generator, law: str, communication: bool, count: int) -> dict[str, int]:
    """Try K^ T^ of random datasets, with or without communication, for what Sec. IV-A says of it (E4).

    How many are ``refuted`` to be submodular; in how many a dataset helps after another one did not
    (``helps_later``), or two help together where no single one does (``pairs_help``); and of how many a
    search for the minimum-norm point ends at a set that is not best.
    """
    row = dict.fromkeys(("refuted", "helps_later", "pairs_help", "missed_by_minimum_norm"), 0)
    for _ in range(count):
        problem = None
        while problem is None or (problem.fixed_duration > 0) is not communication:
            problem = random_selection(rng, int(rng.integers(3, 8)), law, base=True)
        function = selection_function(problem)
        values = all_values(function)
        row["refuted"] += exhaustive(function).verdict is Verdict.REFUTED
        later, pairs = helps(values)
        row["helps_later"] += later
        row["pairs_help"] += pairs
        row["missed_by_minimum_norm"] += minimum_norm_point(function).value > values.min() * (1 + _DOUBT)
    return row


def helps(values: FloatArray) -> tuple[bool, bool]:
    """Whether some dataset helps after another one did not, and whether two do where no single one does.

    The first: f(A + i) >= f(A) and f(A + i + j) < f(A + i) for some set A, as bits, and i, j outside.
    """
    later = pairs = False
    singles = [1 << place for place in range(len(values).bit_length() - 1)]
    for base in range(len(values)):
        outside = [one for one in singles if not base & one]
        helpless = [one for one in outside if values[base | one] >= values[base]]
        for one, other in itertools.permutations(outside, 2):
            both = values[base | one | other] / (1 - _DOUBT)
            later = later or (one in helpless and both < values[base | one])
            pairs = pairs or (helpless == outside and both < values[base])
    return later, pairs


def added_transforms(rng: np.random.Generator, name: str, count: int) -> dict[str, Any]:
    """Compare the bound from added log-transforms, at its best argument, with the certified quantile (E5).

    Of random plans of at least two epochs: the ratios of margins, which are quantile less mean, and how many
    bounds lie below the quantile.
    """
    instance, ratios, unsafe = load(name), [], 0
    for _ in range(count):
        plan = Plan()
        while len(plan.epochs) < 2:
            plan = random_plan(rng, instance)
        loss = final_loss(instance, plan)
        bound = evar_quantile(loss, instance.target.quantile_level)
        quantile = certified_quantile(loss, instance.target.violation_budget)
        unsafe += bound < quantile.lower
        ratios.append((bound - loss.mean()) / (quantile.upper - loss.mean()))
    return {"ratios": ratios, "unsafe": unsafe}


def fits(rng: np.random.Generator, family: str, resamples: int) -> dict[str, Any]:
    """Fit the shipped traces as in Sec. VI-A, for every schedule and for every run (Fig. 4, E7).

    The shares of p-values above 0.05 as printed (positive ratios, fitted parameters put in) and honest (by
    bootstrap, of all ratios); and for every pair of models whether a Student-t is fitted to its jumps as
    printed and honestly, and whether all jumps are positive.
    """
    from depl.benchmarks.figures.estimation import p_values  # which waits for matplotlib

    traces, improvements = recorded_traces(family), []
    for by, kind in _BY.items():
        fitted = fit_traces(traces, rng, by, resamples=resamples)
        found = p_values(fitted)
        share = {name: float(np.mean(np.array(values) > GOOD)) for name, values in found.items()}
        told = {"family": family, "by": kind, "fits": len(found["as printed"])}
        shares = {"as_printed": share["as printed"], "honest": share["honest, all ratios"]}
        improvements.append({**told, **shares})
    switches = [
        {
            "as_printed": jump.law("student_t").goodness.paper_p_value > GOOD,
            "honest": jump.law("student_t").p_value > GOOD,
            "positive": jump.nonpositive == 0,
        }
        for jump in fitted.jumps.values()
        if jump.laws
    ]
    return {"improvements": improvements, "switches": switches}


def _figures(rows: Sequence[Row]) -> Row:
    kinds = ("knapsacks", "selections", "transforms", "fits")
    decided, drawn, added, fitted = ([row for row in rows if row["kind"] == kind] for kind in kinds)
    ratios = [ratio for row in added for ratio in row["ratios"]]
    counted = ("refuted", "helps_later", "pairs_help", "missed_by_minimum_norm")
    return {
        "knapsacks": 2 * sum(row["count"] for row in decided),
        "printed_mismatches": sum(row["printed"] for row in decided),
        "corrected_mismatches": sum(row["corrected"] for row in decided),
        "selections": [
            {
                "law": row["law"].replace("_", " "),
                "communication": f"with{'' if row['communication'] else 'out'} communication",
                "problems": row["count"],
                **{name: row[name] for name in counted},
            }
            for row in drawn
        ],
        "bounded_plans": len(ratios),
        "equal_bounds": sum(ratio <= 1 + EQUAL for ratio in ratios),
        "unsafe_bounds": sum(row["unsafe"] for row in added),
        "least_margin_ratio": round(min(ratios), 4),
        "largest_margin_ratio": round(max(ratios), 4),
        "improvement_fits": [fit for row in fitted for fit in row["improvements"]],
        "switch_fits": [fit for row in fitted for fit in row["switches"]],
    }


STUDY = Study(
    name="printed-statements",
    summary="Statements of the paper as printed: the reduction, submodularity, added transforms, good fits.",
    goals=(
        Goal("corrected_mismatches", "knapsacks answered wrongly by the corrected reduction", "==", 0),
        Goal("unsafe_bounds", "bounds from added transforms that lie below the quantile", "==", 0),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20261124,
)
