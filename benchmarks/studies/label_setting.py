"""The label setting: exact on every instance, faster than HiGHS and cspy, and large problems proved.

cspy is measured where it can be imported (`depl.benchmarks.studies.paths.cspy_peer`); without it its figures
are None.
"""

import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.paths.arc_flow import arc_flow_optimum
from depl.benchmarks.studies.paths.cspy_peer import cspy_optimum, has_cspy
from depl.benchmarks.studies.paths.path_families import FAMILIES, family_problem
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.setting import least_weight
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

_PEER_SECONDS = 20.0
_SAME = 1e-7

_Answer = TypeVar("_Answer")


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    _timed(lambda: least_weight(family_problem(np.random.default_rng(0), "free", 6, 2)))  # compile
    return {
        **_agreement(rng, smoke),
        **_peers(rng, smoke),
        **_large(rng, smoke),
        "plain_code_differs": None if smoke else _plain_code_differs(),
    }


def _timed(action: Callable[[], _Answer]) -> tuple[float, _Answer]:
    start = time.perf_counter()
    answer = action()
    return time.perf_counter() - start, answer


def _agreement(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """Small problems of all families, about half of them infeasible: enumeration and the program."""
    wrong = 0
    for _, family in itertools.product(range(1 if smoke else 100), FAMILIES):
        epochs, models = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        problem = family_problem(rng, family, epochs, models, tight=True)
        found, program = least_weight(problem), arc_flow_optimum(problem)
        best = _enumerated(problem)
        proved = found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE) and program.proved
        wrong += not (proved and _same(found.weight, best) and _same(program.weight, best))
    return {"small_problems_answered_differently": wrong}


def _enumerated(problem: AdditiveProblem) -> float:
    """The least weight by trying all paths."""
    best = math.inf
    for length in range(problem.epochs + 1):
        for path in itertools.product(range(problem.start), repeat=length):
            if problem.feasible(path):
                best = min(best, problem.totals(path)[0])
    return best


def _same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _SAME * min(abs(one), abs(other))


def _peers(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """K = 50, M = 3: seconds of all three, limits counting as if the peer had ended there."""
    rows: list[dict[str, object]] = []
    limit = 2.0 if smoke else _PEER_SECONDS
    for family, _ in itertools.product(FAMILIES[:2] if smoke else FAMILIES, range(1 if smoke else 3)):
        problem = family_problem(rng, family, 8 if smoke else 50, 3)
        seconds, found = _timed(lambda problem=problem: least_weight(problem))  # type: ignore[misc]
        program_seconds, program = _timed(
            lambda problem=problem: arc_flow_optimum(problem, limit)  # type: ignore[misc]
        )
        row: dict[str, object] = {
            "family": family,
            "seconds": seconds,
            "labels": found.labels,
            "proved": found.termination is Termination.OPTIMAL,
            "highs_seconds": program_seconds,
            "highs_proved": program.proved,
            "times_faster_than_highs": program_seconds / seconds,
            "differs": program.proved and not _same(program.weight, found.weight),
        }
        rows.append(row | _cspy_row(problem, seconds, found.weight, limit))
    cspy_ratios = [float(str(row["times_faster_than_cspy"])) for row in rows if "cspy_seconds" in row]
    return {
        "peer_rows": rows,
        "peers_differ": sum(bool(row["differs"]) for row in rows),
        "share_proved_at_50": float(np.mean([bool(row["proved"]) for row in rows])),
        "median_times_faster_than_highs": _median(rows, "times_faster_than_highs"),
        "median_times_faster_than_cspy": float(np.median(cspy_ratios)) if cspy_ratios else None,
    }


def _cspy_row(problem: AdditiveProblem, seconds: float, weight: float, limit: float) -> dict[str, object]:
    """cspy in its usual, bidirectional way; a longer path than ours is one that it was stopped at."""
    if not has_cspy():
        return {}
    cspy_seconds, answer = _timed(lambda: cspy_optimum(problem, "both", limit))
    return {
        "cspy_seconds": cspy_seconds,
        "cspy_weight_over_optimum": answer.weight / weight if math.isfinite(answer.weight) else None,
        "times_faster_than_cspy": cspy_seconds / seconds,
    }


def _median(rows: list[dict[str, object]], name: str) -> float:
    return float(np.median([float(str(row[name])) for row in rows]))


def _large(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """M = 50, K = 1000."""
    rows: list[dict[str, object]] = []
    for _ in range(1 if smoke else 5):
        problem = family_problem(rng, "like-paper", *((20, 5) if smoke else (1000, 50)))
        near_seconds, near = _timed(lambda problem=problem: least_weight(problem, Limits(gap=0.01)))  # type: ignore[misc]
        seconds, found = _timed(lambda problem=problem: least_weight(problem, Limits(time_limit=60.0)))  # type: ignore[misc]
        rows.append(
            {
                "seconds_to_one_percent": near_seconds if near.gap <= 0.01 else math.inf,
                "seconds_to_optimum": seconds if found.termination is Termination.OPTIMAL else math.inf,
                "gap": found.gap,
                "labels": found.labels,
                "gap_after_passes": [1 - stage.lower / stage.upper for stage in found.stages],
            }
        )
    return {
        "large_rows": rows,
        "large_most_seconds_to_one_percent": max(float(str(row["seconds_to_one_percent"])) for row in rows),
        "large_most_seconds_to_optimum": max(float(str(row["seconds_to_optimum"])) for row in rows),
    }


def _plain_code_differs() -> bool:
    """Whether the code answers differently when it is not compiled."""
    script = (
        "import numpy as np\n"
        "from depl.benchmarks.studies.paths.path_families import FAMILIES, family_problem\n"
        "from depl.heuristics.paths.setting import least_weight\n"
        "for name in FAMILIES:\n"
        "    print(repr(least_weight(family_problem(np.random.default_rng(5), name, 9, 3))))\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    }
    return len(answers) > 1


STUDY = Study(
    name="label-setting",
    summary="Exact label setting: agreement with enumeration and HiGHS, speed among peers, M = 50, K = 1000.",
    goals=(
        Goal(
            "small_problems_answered_differently",
            "small problems on which enumeration, the arc-flow program and the labels differ",
            "==",
            0,
        ),
        Goal("peers_differ", "optima that HiGHS proves at K = 50 and that differ from the labels'", "==", 0),
        Goal("share_proved_at_50", "share of the problems with K = 50 that are proved", "==", 1),
        Goal(
            "median_times_faster_than_highs",
            "times faster than HiGHS on the arc-flow program, K = 50, M = 3, median",
            ">=",
            5,
        ),
        Goal("median_times_faster_than_cspy", "times faster than cspy at K = 50, median", ">=", 10),
        Goal(
            "large_most_seconds_to_one_percent",
            "seconds to a certified gap of 1 % with M = 50, K = 1000, the worst of five",
            "<=",
            10,
        ),
        Goal(
            "large_most_seconds_to_optimum",
            "seconds to the proof with M = 50, K = 1000, the worst of five",
            "<=",
            60,
        ),
        Goal("plain_code_differs", "answers that differ without compilation", "==", 0),
    ),
    run=_run,
    seed=20260415,
)
