"""What statements of the paper come to where they can be tried: reduction, sets of data, transforms, fits.

Each function draws its own cases and counts. What is true, with proofs, stands in the errata.
"""

import numpy as np

from depl.benchmarks.figures.estimation import p_values
from depl.benchmarks.studies.set_functions.families import LAWS, random_selection
from depl.heuristics.data.set_function import SelectionFunction
from depl.heuristics.set_functions.functions import all_values
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.status import exhaustive
from depl.heuristics.set_functions.verdicts import Verdict
from depl.instances.library import load
from depl.instances.reductions import knapsack_by_time, unbounded_knapsack
from depl.instances.reductions.dynamic_programs import best_by_capacity
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.choices import FitBy
from depl.models.estimation.combinations import TracesFit, fit_traces
from depl.models.evaluation.evaluate import final_loss
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk.certify import certified_quantile
from depl.models.risk.entropic import evar_quantile
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

GOOD = 0.05
"""The p-value above which the paper calls a fit good."""
EQUAL = 0.01
"""Relative difference of margins up to which a bound counts as the quantile itself."""
_DOUBT = 1e-9


def knapsacks(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Decide random knapsacks through the printed and the corrected construction (Property 1, E6).

    Of each knapsack two questions are asked: whether its best value can be had, which is so, and whether one
    more can. An answer is the proof of an optimal plan or of infeasibility; anything else counts as wrong.

    Returns
    -------
    dict
        ``knapsacks`` (the questions), ``printed_mismatches`` and ``corrected_mismatches``.
    """
    wrong = {"printed": 0, "corrected": 0}
    for _ in range(count):
        items = int(rng.integers(3, 7))
        weights, values = rng.integers(2, 10, items).tolist(), rng.integers(1, 13, items).tolist()
        knapsack = Knapsack.of(values, weights, max(max(weights), int(sum(weights) * rng.uniform(0.4, 0.7))))
        best = int(best_by_capacity(knapsack).value)
        for wanted, reachable in ((best, True), (best + 1, False)):
            printed = unbounded_knapsack.reduce(knapsack, wanted)
            corrected = knapsack_by_time.reduce(knapsack, wanted)
            for name, instance in {"printed": printed, "corrected": corrected}.items():
                wrong[name] += _decided(instance) is not reachable
    return {"knapsacks": 2 * count, **{f"{name}_mismatches": number for name, number in wrong.items()}}


def selections(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Try K^ T^ of random datasets, with and without communication, for what Sec. IV-A says of it (E4).

    Returns
    -------
    dict
        ``selections``: for every law and kind how many ``problems``; how many are ``refuted`` to be
        submodular; in how many a dataset helps after another one did not (``helps_later``), or two help
        together where no single one does (``pairs_help``); and of how many a search for the minimum-norm
        point, which is right for submodular functions, ends at a set that is not best.
    """
    rows = []
    for law in LAWS:
        for communication in (False, True):
            row = dict.fromkeys(("refuted", "helps_later", "pairs_help", "missed_by_minimum_norm"), 0)
            done = 0
            while done < count:
                problem = random_selection(rng, int(rng.integers(3, 8)), law, base=True)
                if (problem.fixed_duration > 0) is not communication:
                    continue
                done += 1
                function = SelectionFunction(problem)
                values = all_values(function)
                least = float(values.min())
                row["refuted"] += exhaustive(function).verdict is Verdict.REFUTED
                row["helps_later"] += _helps_later(values, function.size)
                row["pairs_help"] += _pairs_help(values, function.size)
                row["missed_by_minimum_norm"] += minimum_norm_point(function).value > least * (1 + _DOUBT)
            kind = "with communication" if communication else "without communication"
            rows.append({"law": law.replace("_", " "), "communication": kind, "problems": count, **row})
    return {"selections": rows}


def added_transforms(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Compare the bound from added log-transforms, at its best argument, with the certified quantile (E5).

    Random sequences of models of the paper's instances; the margin is quantile less mean.

    Returns
    -------
    dict
        ``bounded_plans``; how many bounds equal the quantile (``equal_bounds``) or lie below it
        (``unsafe_bounds``); and the least, median and largest ratio of margins.
    """
    names = ("paper-alexnet-9", "paper-mobilenet-9", "paper-alexnet-deadline-9")
    ratios, unsafe = [], 0
    for place in range(count):
        instance = load(names[place % len(names)])
        loss = final_loss(instance, _random_plan(rng, instance))
        bound = evar_quantile(loss, instance.target.quantile_level)
        quantile = certified_quantile(loss, instance.target.violation_budget)
        unsafe += bound < quantile.lower
        ratios.append((bound - loss.mean()) / (quantile.upper - loss.mean()))
    return {
        "bounded_plans": count,
        "equal_bounds": sum(ratio <= 1 + EQUAL for ratio in ratios),
        "unsafe_bounds": unsafe,
        "least_margin_ratio": round(min(ratios), 4),
        "median_margin_ratio": round(float(np.median(ratios)), 4),
        "largest_margin_ratio": round(max(ratios), 4),
    }


def fits(rng: np.random.Generator, families: tuple[str, ...], resamples: int) -> dict[str, object]:
    """Fit the shipped traces as in Sec. VI-A, for every schedule and for every run (Fig. 4, E7).

    Returns
    -------
    dict
        ``improvement_fits``: by family and kind of combination, how many fits there are, and the shares of
        p-values above 0.05, as printed (positive ratios, fitted parameters put in) and honest (by bootstrap,
        of all ratios). ``switch_fits``: for every pair of models the number of jumps, whether a Student-t is
        fitted as printed and honestly, and whether all jumps are positive.
    """
    improvements: list[dict[str, object]] = []
    switches: list[dict[str, object]] = []
    for family in families:
        traces = recorded_traces(family)
        for by, kind in ((FitBy.SCHEDULE, "all runs of a combination"), (FitBy.RUN, "curve by curve")):
            fitted = fit_traces(traces, rng, by, resamples=resamples)
            found = p_values(fitted)
            improvements.append(
                {
                    "family": family,
                    "by": kind,
                    "fits": len(found["as printed"]),
                    "as_printed": _share_above(found["as printed"]),
                    "honest": _share_above(found["honest, all ratios"]),
                }
            )
        switches += _switches(family, fitted)
    return {"improvement_fits": improvements, "switch_fits": switches}


def _decided(instance: Instance) -> bool | None:
    ended = uninterrupted(solve(instance, "exact", time_limit=30.0)).termination
    return {Termination.OPTIMAL: True, Termination.INFEASIBLE: False}.get(ended)


def _helps_later(values: FloatArray, size: int) -> bool:
    """Whether f(A + i) >= f(A) and f(A + i + j) < f(A + i) for some set A and i, j outside."""
    return any(
        values[base | one] >= values[base] and values[base | one | other] < values[base | one] * (1 - _DOUBT)
        for base, one, other in _pairs(size)
    )


def _pairs_help(values: FloatArray, size: int) -> bool:
    """Whether no single dataset helps a set, but some two do."""
    return any(
        values[base | one | other] < values[base] * (1 - _DOUBT)
        and all(values[base | (1 << single)] >= values[base] for single in range(size))
        for base, one, other in _pairs(size)
    )


def _pairs(size: int) -> list[tuple[int, int, int]]:
    return [
        (base, 1 << first, 1 << second)
        for base in range(1 << size)
        for first in range(size)
        for second in range(size)
        if first != second and not base & (1 << first | 1 << second)
    ]


def _random_plan(rng: np.random.Generator, instance: Instance) -> Plan:
    cluster = instance.clusters[0]
    names = [model.name for model in instance.models]
    order = sorted(rng.integers(len(names), size=int(rng.integers(2, 19))).tolist())
    epochs = tuple(
        PlannedEpoch(model=names[place], cluster=cluster.name, resources=cluster.capacity) for place in order
    )
    data = tuple(dataset.name for dataset in instance.datasets)
    return Plan(data=(ClusterData(cluster=cluster.name, datasets=data),), epochs=epochs)


def _switches(family: str, fitted: TracesFit) -> list[dict[str, object]]:
    return [
        {
            "family": family,
            "switch": " to ".join(pair),
            "jumps": int(jump.jumps.size),
            "as_printed": jump.law("student_t").goodness.paper_p_value > GOOD,
            "honest": jump.law("student_t").p_value > GOOD,
            "positive": jump.nonpositive == 0,
        }
        for pair, jump in fitted.jumps.items()
        if jump.laws
    ]


def _share_above(values: list[float]) -> float:
    return float(np.mean(np.array(values) > GOOD))
