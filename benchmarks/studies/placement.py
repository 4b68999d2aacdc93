"""Stage 3: rounded placements and the program against all assignments and certified bounds, growth with K.

Problems are of the family of `depl.benchmarks.suites.random_placements`, drawn before anything is solved; a
quarter each has transfers, deadlines, both and neither. Small ones are compared with all assignments: how
often a method finds the best, mean and worst ratio, CPU seconds. Every one can be placed, one in eight in
exactly the time of its fastest clusters: a missing placement is an error. Large ones have no transfers.
"""

import itertools
import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import against_best
from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.tolerances import PROOF_TOLERANCE

_EXACTLY_FASTEST = 8
_EPOCHS = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_METHODS = {"rounded": False, "program": True}
"""Whether the program with whole epochs closes what the rounding of its relaxation leaves open."""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    small, large, clusters = (8, 4, (3, 8)) if smoke else (1000, 60, (3, 30, 1000))
    for number in range(small):
        sizes = np.random.default_rng([seed, number]).integers((2, 2, 4), (5, 5, 9)).tolist()
        yield {"group": "small", "sizes": sizes, "seed": [seed, number]}
    for (group, epochs), number in itertools.product(_EPOCHS.items(), range(0, large, 2)):
        classes = int(np.random.default_rng([seed, number]).integers(2, 13))
        sizes = [classes, clusters[number % len(clusters)], epochs]
        yield {"group": group, "sizes": sizes, "seed": [seed, number]}


def _run(task: Row) -> Row:
    """Cost, bound and CPU seconds of each method; the least cost, and whether it takes several clusters."""
    number = task["seed"][1]
    kinds = {"transfers": number % 2 == 1, "deadline": number // 2 % 2 == 1}
    problem = random_placement(np.random.default_rng(task["seed"]), *task["sizes"], **kinds)
    if number % _EXACTLY_FASTEST == 0:
        problem = problem.replace(maximum_time=float(problem.counts @ problem.shortest.min(axis=1)))
    answer: dict[str, object] = {}
    for name, prove in _METHODS.items():
        clock = time.process_time()
        found = place(problem, prove=prove)
        cost = found.cost if found.feasible else None
        answer[name] = {"cost": cost, "bound": found.lower_bound, "seconds": time.process_time() - clock}
    if task["group"] == "small":
        every = _all_assignments(problem)
        costs = problem.evaluate(every).costs
        answer |= {"least": costs.min(), "clusters": every[int(np.argmin(costs))].any(axis=0).sum()}
    return answer


def _all_assignments(problem: PlacementProblem) -> Assignment:
    places = len(problem.clusters)
    options = [
        [row for row in itertools.product(range(int(count) + 1), repeat=places) if sum(row) == count]
        for count in problem.counts
    ]
    rows = list(itertools.product(*options))
    return np.array(rows, dtype=np.int64).reshape(len(rows), *problem.dimensions)


def _figures(rows: Sequence[Row]) -> Row:
    """``million_to_thousand_seconds`` are those of the same classes with a thousand times as many epochs."""
    groups = {group: [row for row in rows if row["group"] == group] for group in ("small", *_EPOCHS)}
    small, methods = groups.pop("small"), {}
    for name in _METHODS:
        ratios = [(row[name]["cost"] or math.inf) / row["least"] for row in small]
        methods[name] = against_best(ratios, [row[name]["seconds"] for row in small])
    told = [(row["least"], row[name]) for row in small for name in _METHODS]
    seconds = {group: sum(row["rounded"]["seconds"] for row in own) for group, own in groups.items()}
    return {
        "small": len(small),
        "small_missing": sum(answer["cost"] is None for _, answer in told),
        "small_wrong_bounds": sum(one["bound"] > least * (1 + PROOF_TOLERANCE) for least, one in told),
        "small_optimal_share": methods["program"]["optimal_share"],
        "small_two_cluster_share": float(np.mean([row["clusters"] >= 2 for row in small])),
        "methods": methods,
        **{
            f"{group}_largest_ratio": max(
                (one["program"]["cost"] or math.inf) / one["program"]["bound"] for one in own
            )
            for group, own in groups.items()
        },
        "million_to_thousand_seconds": seconds["million"] / seconds["thousand"],
    }


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
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20261121,
)
