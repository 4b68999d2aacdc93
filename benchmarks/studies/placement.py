"""Placement: distance from the optimum and from the certified bound, and growth with K.

Problems are of the family of `depl.benchmarks.suites.random_placements`, drawn before anything is solved; a
quarter each has transfers, deadlines, both and neither. Small ones are compared with all assignments. Every
one can be placed, one in eight in exactly the time of its fastest clusters: a missing placement counts as an
error. Seconds for K = 10^3 and 10^6 are those of the same classes and clusters with T_max in proportion.
"""

import itertools
import math
import time
from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.compact import compact_program
from depl.heuristics.placement.place import Placement, place
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.tolerances import PROOF_TOLERANCE

_SMALL, _LARGE, _REFERENCE, _TIMED = 1000, 60, 15, 30
_EXACTLY_FASTEST = 8
_MANY = 12
_EPOCHS = {"hundred": 100, "thousand": 1000, "million": 1_000_000}


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    small, large, reference, timed = (8, 4, 1, 1) if smoke else (_SMALL, _LARGE, _REFERENCE, _TIMED)
    clusters = (3, 8) if smoke else (3, 30, 1000)
    return {
        **_against_all(rng, small),
        **_against_bound(rng, large, clusters),
        **_against_highs(rng, reference),
        **_growth(rng, timed, clusters[-1]),
        **_hundred_classes(*((2, 10, 8) if smoke else (_MANY, 100, 1000))),
    }


def _drawn(
    rng: np.random.Generator, index: int, classes: int, clusters: int, epochs: int
) -> PlacementProblem:
    problem = random_placement(
        rng, classes, clusters, epochs, transfers=index % 2 == 1, deadline=index // 2 % 2 == 1
    )
    if index % _EXACTLY_FASTEST == 0:
        return problem.replace(maximum_time=float(problem.counts @ problem.shortest.min(axis=1)))
    return problem


def _against_all(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Answers, with and without the program that closes the gap, against every assignment."""
    closed, missing, two, wrong = 0, 0, 0, 0
    for i in range(count):
        classes, clusters = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        problem = _drawn(rng, i, classes, clusters, int(rng.integers(4, 9)))
        found = _all_assignments(problem)
        costs = problem.evaluate(found).costs
        least, cheapest = float(costs.min()), found[int(np.argmin(costs))]
        first, answer = place(problem, prove=False), place(problem)
        missing += not (first.feasible and answer.feasible)
        closed += answer.cost <= least * (1 + PROOF_TOLERANCE)
        wrong += max(first.lower_bound, answer.lower_bound) > least * (1 + PROOF_TOLERANCE)
        two += int(cheapest.any(axis=0).sum()) >= 2
    return {
        "small": count,
        "small_missing": missing,
        "small_wrong_bounds": wrong,
        "small_optimal_share": closed / count,
        "small_two_cluster_share": two / count,
    }


def _against_bound(rng: np.random.Generator, count: int, clusters: tuple[int, ...]) -> dict[str, object]:
    """Cost over certified bound without transfers."""
    found: dict[str, object] = {}
    for name, epochs in _EPOCHS.items():
        ratios = [1.0]
        for i in range(count):
            problem = _drawn(rng, i, int(rng.integers(2, 13)), clusters[i % len(clusters)], epochs)
            if i % 2 == 0:
                ratios.append(_ratio(place(problem)))
        found[f"{name}_largest_ratio"] = max(ratios)
    return found


def _against_highs(rng: np.random.Generator, count: int) -> dict[str, object]:
    """With transfers, against the program with whole epochs."""
    differences = [0.0]
    for i in range(count):
        problem = random_placement(rng, 5, 8, 60, transfers=True, deadline=i % 2 == 0)
        reference = compact_program(problem, gap=1e-7)
        differences.append(place(problem).cost / reference.cost - 1)
    return {"highs_largest_excess": max(differences)}


def _growth(rng: np.random.Generator, count: int, clusters: int) -> dict[str, object]:
    """Seconds for 10^3 and 10^6 epochs of the same classes."""
    seconds: dict[int, list[float]] = {1000: [], 1_000_000: []}
    for i in range(count):
        problem = _drawn(rng, i, 10, clusters, 1000)
        for epochs, spent in seconds.items():
            factor = epochs // 1000
            limit = None if problem.maximum_time is None else problem.maximum_time * factor
            case = problem.replace(
                counts=problem.counts * factor, maximum_time=limit, transfers=problem.transfers * factor
            )
            start = time.perf_counter()
            place(case, prove=False)
            spent.append(time.perf_counter() - start)
    thousand, million = (float(np.sum(spent)) for spent in seconds.values())
    return {"million_to_thousand_seconds": million / thousand}


def _hundred_classes(count: int, classes: int, clusters: int) -> dict[str, object]:
    """CPU seconds for many classes on many clusters, K = 1000: with deadlines in every other problem."""
    rng, seconds = np.random.default_rng(classes), list[float]()
    for i in range(count + 1):  # the first one warms up
        problem = random_placement(rng, classes, clusters, 1000, deadline=i % 2 == 0)
        start = time.process_time()
        place(problem, prove=False)
        seconds.append(time.process_time() - start)
    return {"hundred_classes_median_seconds": float(np.median(seconds[1:]))}


def _ratio(answer: Placement) -> float:
    if not answer.feasible:
        return math.inf
    return 1.0 if answer.cost == answer.lower_bound else answer.cost / answer.lower_bound


def _all_assignments(problem: PlacementProblem) -> Assignment:
    places = len(problem.clusters)
    options = [
        [row for row in itertools.product(range(int(count) + 1), repeat=places) if sum(row) == count]
        for count in problem.counts
    ]
    rows = list(itertools.product(*options))
    return np.array(rows, dtype=np.int64).reshape(len(rows), *problem.dimensions)


STUDY = Study(
    name="placement",
    summary="Stage 3: distance of placements from the optimum and the certified bound, growth with K.",
    goals=(
        Goal("small", "small problems compared with all assignments", ">=", _SMALL),
        Goal("small_missing", "feasible problems that were called infeasible", "==", 0),
        Goal("small_wrong_bounds", "lower bounds above the optimum", "==", 0),
        Goal("small_optimal_share", "small problems placed optimally", ">=", 0.98),
        Goal("small_two_cluster_share", "optima that use two clusters or more", ">=", 0.5),
        Goal("hundred_largest_ratio", "K = 100, cost over certified bound", "<=", 1.005),
        Goal("thousand_largest_ratio", "K = 1000, cost over certified bound", "<=", 1.0005),
        Goal("million_largest_ratio", "K = 10^6, cost over certified bound", "<=", 1.0005),
        Goal("highs_largest_excess", "with transfers, cost over that of HiGHS less 1", "<=", 1e-6),
        Goal("hundred_classes_median_seconds", "100 classes, 1000 clusters, K = 1000 [CPU s]", "<=", 0.13),
        Goal("million_to_thousand_seconds", "seconds for K = 10^6 over those for 10^3", "<=", 2),
    ),
    run=_run,
    seed=20261121,
)
