"""Stage 1: minimisers of set functions beside each other, and beside all subsets.

*Methods*: K^ T^ of 4 to 12 random datasets by the Lovász extension (minimised by cvxpy), the minimum-norm
point and depl's own choice: how often each finds the best of all subsets, mean and worst ratio, seconds.
*Families*: values of different methods on one function must agree to 1e-9; the minimum-norm point against
cutting planes on the extension, searches alone and whole, as the check before and the certificate after are
the same code for both. The record of 2026-11-23 has a stabilised program by HiGHS in their place.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import SAME, against_best
from depl.benchmarks.studies.helpers.set_functions import (
    LAWS,
    NOT_SUBMODULAR,
    SUBMODULAR,
    Draw,
    communicating_selection,
    grid_cut,
    random_selection,
    submodular_selection,
)
from depl.heuristics.data.problem import SelectionProblem
from depl.heuristics.data.select import branch_and_bound, select_datasets
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.submodular.function import SetFunction, Verdict, exhaustive
from depl.heuristics.submodular.minimise import brute_force, lovasz
from depl.heuristics.submodular.minimum_norm import minimum_norm_point

_HARD = "hard grid cut"
"""The family where the two methods differ most, added after that was seen."""
FAMILIES: Mapping[str, Draw] = {**SUBMODULAR, _HARD: lambda rng, size: grid_cut(rng, size, largest=10)}
POINT, EXTENSION, DEPL, BRANCHING = "minimum-norm-point", "lovasz", "depl", "branch-and-bound"
_SECONDS = 10.0
_METHODS: Mapping[str, Callable[[Any], Any]] = {
    POINT: lambda function: minimum_norm_point(function, seconds=_SECONDS),
    EXTENSION: lambda function: lovasz(function, seconds=_SECONDS),
    DEPL: lambda problem: select_datasets(problem, nonempty=False),
    BRANCHING: lambda problem: branch_and_bound(problem, nonempty=False),
}
"""By name; the last two take problems of stage 1."""
_REPEATS, _SHORT = 3, 0.5
"""The least of up to three attempts counts, if they are short [s], so that no row pays for compiling or for
what a function computes once."""


def _communicating(law: str, rng: np.random.Generator, size: int) -> SelectionProblem:
    """f finite without data, and with communication: else no data at all is best."""
    while (problem := random_selection(rng, size, law, base=True)).fixed_duration <= 0:
        pass
    return problem


_LISTED: Mapping[str, Callable[[np.random.Generator, int], SelectionProblem]] = {
    **{law: partial(_communicating, law) for law in LAWS},
    "submodular": submodular_selection,
}
"""Problems of stage 1 by law, and where they are submodular by construction."""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    for family, size in itertools.product(FAMILIES, (6,) if smoke else (200, 500, 1000)):
        yield {"group": "families", "family": family, "size": size, "seed": seed}
    for law, number in itertools.product(_LISTED, range(1 if smoke else 50)):
        yield {"group": "methods", "family": law, "size": 4 + number % 9, "seed": [seed, number]}
    for family, number in itertools.product(NOT_SUBMODULAR, range(2 if smoke else 500)):
        yield {"group": "claims", "family": family, "size": 4 + number % 6, "seed": [seed, number]}


def _run(task: Row) -> Row:
    """What methods find; the least of all subsets, and whether all triples refute submodularity."""
    draws: Mapping[str, Callable[[np.random.Generator, int], Any]]
    draws, names = {
        "families": (FAMILIES, (POINT, EXTENSION)),
        "methods": (_LISTED, (POINT, EXTENSION, DEPL)),
        "claims": ({**NOT_SUBMODULAR, "K^ T^": communicating_selection}, (POINT, BRANCHING)),
    }[task["group"]]
    drawn = draws[task["family"]](np.random.default_rng(task["seed"]), task["size"])
    function = selection_function(drawn) if isinstance(drawn, SelectionProblem) else drawn
    if task["group"] == "families":
        for name in names:  # compilers and imports are not what is measured
            timed(name, grid_cut(np.random.default_rng(0), 100))
        return {name: timed(name, function) for name in names}
    known = {"least": brute_force(function).value, "refuted": exhaustive(function).verdict is Verdict.REFUTED}
    given = {name: drawn if name in (DEPL, BRANCHING) else function for name in names}
    asked = names if isinstance(drawn, SelectionProblem) else names[:1]
    return known | {name: timed(name, given[name]) for name in asked}


def timed(name: str, given: SetFunction | SelectionProblem) -> Row:
    """What a method finds, and the least seconds of up to three times: in all, and of its search if told."""
    walls: list[float] = []
    searches: list[float] = []
    while len(walls) < _REPEATS and sum(walls) < _SHORT:
        start = time.perf_counter()
        found = _METHODS[name](given)
        walls.append(time.perf_counter() - start)
        searches.append(getattr(found, "search_seconds", None) or walls[-1])
    least = {"seconds": min(walls), "search_seconds": min(searches)}
    return {"value": found.value, "optimal": found.optimal, **least}


def speed(rows: Sequence[Row]) -> Row:
    """Seconds of cutting planes on the Lovász extension over those of the minimum-norm point, by family.

    A method that is stopped counts with its time so far, so that the ratio is a lower bound, and larger
    functions of the family do not count; where the minimum-norm point proves nothing the ratio is 0.
    """
    searches: dict[str, list[float]] = {}
    whole, apart = [], [0.0]
    for family, own in itertools.groupby(rows, lambda row: str(row["family"])):
        searches[family] = []
        for point, planes in ((row[POINT], row[EXTENSION]) for row in own):
            proved, values = point["optimal"], (point["value"], planes["value"])
            ratio = planes["search_seconds"] / point["search_seconds"]
            searches[family].append(ratio if proved else 0.0)
            whole.append(planes["seconds"] / point["seconds"] if proved else 0.0)
            if not planes["optimal"]:
                break
            if proved:
                apart.append(abs(values[0] - values[1]) / max(1.0, *map(abs, values)))
    return {
        "largest_disagreement": max(apart),
        "speed_ratio_median": float(np.median(list(itertools.chain.from_iterable(searches.values())))),
        "speed_ratio_median_with_certificates": float(np.median(whole)),
        "speed_ratio_hard": min(searches[_HARD]),
        "speed_ratios": searches,
    }


def _figures(rows: Sequence[Row]) -> Row:
    groups = {group: list(own) for group, own in itertools.groupby(rows, lambda row: str(row["group"]))}
    methods = []
    for law, name in itertools.product(_LISTED, (POINT, EXTENSION, DEPL)):
        own = [row for row in groups["methods"] if row["family"] == law]
        ratios = [row[name]["value"] / row["least"] for row in own]
        told = against_best(ratios, [row[name]["seconds"] for row in own])
        methods.append({"kind": law, "method": name, "problems": len(own), **told})
    branched = [(row[BRANCHING], row["least"]) for row in groups["claims"] if BRANCHING in row]
    return {
        **speed(groups["families"]),
        "methods": methods,
        "false_claims": sum(row["refuted"] and row[POINT]["optimal"] for row in groups["claims"]),
        "selections": len(branched),
        "selections_missed": sum(
            not found["optimal"] or abs(found["value"] - least) > SAME * least for found, least in branched
        ),
    }


STUDY = Study(
    name="data",
    summary="Stage 1: Lovász extension, minimum-norm point and depl against all subsets.",
    goals=(
        Goal("largest_disagreement", "relative difference of values proved by two methods", "<=", 1e-9),
        Goal("speed_ratio_median", "speed of minimum-norm search over the extension, n >= 200", ">=", 10),
        Goal("speed_ratio_median_with_certificates", "the same of whole times, proofs included", ">=", 10),
        Goal("speed_ratio_hard", "of searches, least on grids with small weights only", ">=", 10),
        Goal("false_claims", "optima claimed on functions that are not submodular", "==", 0),
        Goal("selections_missed", "of 500 K^ T^ that branch and bound does not solve", "==", 0),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20260901,
)
