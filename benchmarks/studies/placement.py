"""Stage 3: rounded placements and the program against all assignments and certified bounds, growth with K.

Problems are of the family of `depl.benchmarks.suites.random_placements`, drawn before anything is solved; a
quarter each has transfers, deadlines, both and neither. Small ones are compared with all assignments: how
often a method finds the best, mean and worst ratio, CPU seconds. Every one can be placed, one in eight in
exactly the time of its fastest clusters: a missing placement counts as an error.
"""

import itertools
import math
import time
from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.tolerances import PROOF_TOLERANCE

_EXACTLY_FASTEST = 8
_EPOCHS = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_PROVES = {"rounded": False, "program": True}
"""By method: whether the program with whole epochs closes what the rounding leaves open."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    small, large, timed = (8, 4, 1) if smoke else (1000, 60, 30)
    clusters = (3, 8) if smoke else (3, 30, 1000)
    return {
        **_against_all(rng, small),
        **_against_bound(rng, large, clusters),
        **_growth(rng, timed, clusters[-1]),
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
    """Each method against every assignment."""
    missing, two, wrong = 0, 0, 0
    told: dict[str, list[tuple[float, float]]] = {name: [] for name in _PROVES}
    for index in range(count):
        classes, clusters = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        problem = _drawn(rng, index, classes, clusters, int(rng.integers(4, 9)))
        found = _all_assignments(problem)
        costs = problem.evaluate(found).costs
        least = float(costs.min())
        two += int(found[int(np.argmin(costs))].any(axis=0).sum()) >= 2
        for name, prove in _PROVES.items():
            clock = time.process_time()
            answer = place(problem, prove=prove)
            told[name].append((answer.cost / least, time.process_time() - clock))
            missing += not answer.feasible
            wrong += answer.lower_bound > least * (1 + PROOF_TOLERANCE)
    best = {
        name: float(np.mean([ratio <= 1 + PROOF_TOLERANCE for ratio, _ in own])) for name, own in told.items()
    }
    return {
        "small": count,
        "small_missing": missing,
        "small_wrong_bounds": wrong,
        "small_optimal_share": best["program"],
        "small_two_cluster_share": two / count,
        "methods": {
            name: {
                "optimal_share": best[name],
                "mean_ratio": float(np.mean([ratio for ratio, _ in own])),
                "worst_ratio": max(ratio for ratio, _ in own),
                "mean_seconds": float(np.mean([seconds for _, seconds in own])),
            }
            for name, own in told.items()
        },
    }


def _all_assignments(problem: PlacementProblem) -> Assignment:
    places = len(problem.clusters)
    options = [
        [row for row in itertools.product(range(int(count) + 1), repeat=places) if sum(row) == count]
        for count in problem.counts
    ]
    rows = list(itertools.product(*options))
    return np.array(rows, dtype=np.int64).reshape(len(rows), *problem.dimensions)


def _against_bound(rng: np.random.Generator, count: int, clusters: tuple[int, ...]) -> dict[str, object]:
    """Cost over certified bound without transfers."""
    found: dict[str, object] = {}
    for name, epochs in _EPOCHS.items():
        ratios = [1.0]
        for index in range(count):
            problem = _drawn(rng, index, int(rng.integers(2, 13)), clusters[index % len(clusters)], epochs)
            if index % 2 == 0:
                answer = place(problem)
                ratios.append(answer.cost / answer.lower_bound if answer.feasible else math.inf)
        found[f"{name}_largest_ratio"] = max(ratios)
    return found


def _growth(rng: np.random.Generator, count: int, clusters: int) -> dict[str, object]:
    """Seconds for 10^6 over those for 10^3 epochs of the same classes."""
    seconds = {1: 0.0, 1000: 0.0}
    for index in range(count):
        problem = _drawn(rng, index, 10, clusters, 1000)
        for factor in seconds:
            limit = None if problem.maximum_time is None else problem.maximum_time * factor
            case = problem.replace(
                counts=problem.counts * factor, maximum_time=limit, transfers=problem.transfers * factor
            )
            start = time.perf_counter()
            place(case, prove=False)
            seconds[factor] += time.perf_counter() - start
    return {"million_to_thousand_seconds": seconds[1000] / seconds[1]}


STUDY = Study(
    name="placement",
    summary="Stage 3: rounded placements and the program against all assignments and bounds, growth with K.",
    goals=(
        Goal("small", "small problems compared with all assignments", ">=", 1000),
        Goal("small_missing", "feasible problems that were called infeasible", "==", 0),
        Goal("small_wrong_bounds", "lower bounds above the optimum", "==", 0),
        Goal("small_optimal_share", "small problems placed optimally", ">=", 0.98),
        Goal("small_two_cluster_share", "optima that use two clusters or more", ">=", 0.5),
        Goal("hundred_largest_ratio", "K = 100, cost over certified bound", "<=", 1.005),
        Goal("thousand_largest_ratio", "K = 1000, cost over certified bound", "<=", 1.0005),
        Goal("million_largest_ratio", "K = 10^6, cost over certified bound", "<=", 1.0005),
        Goal("million_to_thousand_seconds", "seconds for K = 10^6 over those for 10^3", "<=", 2),
    ),
    run=_run,
    seed=20261121,
)
