"""How large an instance each exact method proves in 60 s, from one run: F1, F2, the search, and SCIP.

The instances are of `depl.benchmarks.suites.paper_like` with |M| = 3, |N| = 1, S = 50 and growing K_max, in
two families: switches that cost about half of an epoch's gain, as in the paper's variant, and cheap ones,
with which the scenarios favour different plans. Every method takes growing sizes up to the first that it does
not prove to be optimal within 60 s. Where several methods prove a size, their costs must agree to 1e-9. The
second part compares the search with the better of the two programs at K_max = 8 over ten seeds of each
family; a program that is stopped at 60 s counts with 60 s, so the ratio is then a bound.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from depl.benchmarks.cases.helpers.exact_attempts import (
    SCIP,
    ExactAttempt,
    attempt,
    scip_is_installed,
    warm_up,
)
from depl.benchmarks.runner.registry import Case, Goal
from depl.benchmarks.suites.paper_like import CHEAP_SWITCHES, SWITCH_SHARE, paper_like
from depl.benchmarks.suites.tiny_sampled import SampledInstance

SIZES = (3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60, 100, 200)
PROGRAMS = ("milp", "milp-resource")
SEARCH = "scenario-search"
FAMILIES = {"usual": SWITCH_SHARE, "cheap": CHEAP_SWITCHES}
_SCENARIOS, _SECONDS, _SPEED_SIZE, _SPEED_SEEDS = 50, 60.0, 8, 10


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    seconds = 5.0 if smoke else _SECONDS
    roads = (SEARCH, *PROGRAMS, *([SCIP] if scip_is_installed() else []))
    for road in roads:
        warm_up(road)
    values: dict[str, object] = {"seconds_allowed": seconds}
    disagreements = []
    for family in FAMILIES:
        sizes = SIZES[:1] if smoke else SIZES
        rungs = {road: _climb(road, family, seed, sizes, seconds) for road in roads}
        values[f"largest_{family}"] = {road: _largest(climbed) for road, climbed in rungs.items()}
        values[f"largest_by_search_{family}"] = _largest(rungs[SEARCH])
        values[f"rungs_{family}"] = {
            road: {str(size): asdict(tried) for size, tried in climbed.items()}
            for road, climbed in rungs.items()
        }
        disagreements.append(_largest_disagreement(rungs))
        size, seeds = (SIZES[0], 1) if smoke else (_SPEED_SIZE, _SPEED_SEEDS)
        speed = _speed(family, seed, size, seeds, seconds)
        values |= {f"{name}_{family}": value for name, value in speed.items()}
    return values | {"largest_disagreement": max(disagreements)}


def _item(family: str, seed: int, size: int, index: int = 0) -> SampledInstance:
    """The same instance for every method, whatever else is run."""
    rng = np.random.default_rng([seed, size, index])
    return paper_like(rng, maximum_epochs=size, scenarios=_SCENARIOS, switch_share=FAMILIES[family])


def _climb(
    road: str, family: str, seed: int, sizes: tuple[int, ...], seconds: float
) -> dict[int, ExactAttempt]:
    """Attempts by size, up to and with the first that does not end in a proof."""
    climbed: dict[int, ExactAttempt] = {}
    for size in sizes:
        climbed[size] = attempt(road, _item(family, seed, size), seconds)
        if not climbed[size].certified:
            break
    return climbed


def _largest(climbed: Mapping[int, ExactAttempt]) -> int:
    """The last size that was proved; 0 if none was."""
    return max((size for size, tried in climbed.items() if tried.certified), default=0)


def _largest_disagreement(rungs: Mapping[str, Mapping[int, ExactAttempt]]) -> float:
    """Greatest relative difference of two proved costs of one instance."""
    differences = [0.0]
    for one, other in itertools.combinations(rungs.values(), 2):
        for size in one.keys() & other.keys():
            first, second = one[size], other[size]
            if first.certified and second.certified and first.cost and second.cost:
                differences.append(abs(first.cost - second.cost) / max(first.cost, second.cost))
    return max(differences)


def _speed(family: str, seed: int, size: int, seeds: int, seconds: float) -> dict[str, object]:
    """How many times faster than the better program the search is; 0 where the search has no proof."""
    ratios, rows = [], []
    for index in range(1, seeds + 1):
        item = _item(family, seed, size, index)
        tried = {road: attempt(road, item, seconds) for road in (SEARCH, *PROGRAMS)}
        programs = min(
            tried[road].seconds if tried[road].certified else max(seconds, tried[road].seconds)
            for road in PROGRAMS
        )
        ratios.append(programs / tried[SEARCH].seconds if tried[SEARCH].certified else 0.0)
        rows.append({road: asdict(row) for road, row in tried.items()})
    return {
        "speed_ratio": float(np.median(ratios)),
        "speed_ratio_geometric_mean": math.exp(float(np.mean(np.log(np.maximum(ratios, 1e-9))))),
        "speed_ratio_least": min(ratios),
        "speed_proved_by_a_program": sum(any(row[road]["certified"] for road in PROGRAMS) for row in rows),
        "speed_rows": rows,
    }


CASE = Case(
    name="ladder",
    summary="The largest sizes that F1, F2, the search and SCIP prove in 60 s, and how they compare.",
    goals=(
        Goal("largest_disagreement", "relative difference of costs proved by two roads", "<=", 1e-9),
        Goal(
            "speed_ratio_cheap",
            "median speed of the search over the better program, K_max = 8, cheap switches",
            ">=",
            100,
        ),
        Goal("largest_by_search_usual", "K_max that the search proves, |M| = 3, S = 50", ">=", 100),
    ),
    run=_run,
    seed=20260314,
)
