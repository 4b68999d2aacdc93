"""Optima on samples: how large an instance is proved, and how optimistic a sample of few scenarios is.

*Ladder*: instances of `depl.instances.paper_like` with |M| = 3, |N| = 1, S = 50 and growing K_max, by
HiGHS and by the search up to the first size that is not proved within 60 s, where switches cost half of an
epoch's gain and where they are cheap, so that scenarios favour different plans; at K_max = 8 over ten seeds a
program that is stopped counts with 60 s. *Optimism*: how often optimal plans on samples miss under the law.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import answer
from depl.instances.generator import Range, random_instance
from depl.instances.paper_like import CHEAP_SWITCHES, SWITCH_SHARE, paper_like
from depl.models.solving.solve import solve

PROGRAM, SEARCH = "milp", "scenario-search"
RUNGS = (3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60, 100, 200)
FAMILIES = {"usual": SWITCH_SHARE, "cheap": CHEAP_SWITCHES}
_SECONDS = 60.0
_SCENARIOS, _SPEED_SIZE, _SEEDS = 50, 8, 10
_SAMPLES, _SAMPLED, _REPEATS, _SAMPLE_SECONDS = (25, 50, 100, 200, 400, 800), 20, 4, 20.0
_SAMPLED_SIZES: Mapping[str, Range] = {
    "models": (2, 3),
    "clusters": (1, 2),
    "datasets": (1, 2),
    "maximum_epochs": (4, 8),
}


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    drawn = {"scenarios": 8 if smoke else _SCENARIOS, "limit": 5.0 if smoke else _SECONDS}
    for family, method in itertools.product(FAMILIES, (SEARCH, PROGRAM)):
        sizes = RUNGS[:1] if smoke else RUNGS
        yield {"group": "ladder", "family": family, "method": method, "sizes": sizes, "seed": [seed], **drawn}
    for family, number in itertools.product(FAMILIES, range(1, 2 if smoke else _SEEDS + 1)):
        yield {"group": "speed", "family": family, "seed": [seed, number], **drawn}
    samples, repeats = (_SAMPLES[:2], 1) if smoke else (_SAMPLES, _REPEATS)
    for number, size in itertools.product(range(2 if smoke else _SAMPLED), samples):
        for repeat in range(repeats):
            yield {"group": "optimism", "scenarios": size, "repeat": repeat, "seed": [seed, number]}


def _run(task: Row) -> Row:
    """Costs that were proved by K_max, up to the first size that is not; or what came of a solve or two."""
    if task["group"] == "optimism":
        return _beside_the_law(task)
    speed = {"models": 3, "scenarios": task["scenarios"], "maximum_epochs": _SPEED_SIZE}
    if task["group"] == "speed":
        return {method: _attempt(method, task, speed) for method in (SEARCH, PROGRAM)}
    proved = {}
    for size in task["sizes"]:
        found = _attempt(task["method"], task, {**speed, "maximum_epochs": size})
        if not found["proved"]:
            break
        proved[str(size)] = found["cost"]
    return {"proved": proved}


def _attempt(method: str, task: Row, size: Mapping[str, int]) -> dict[str, Any]:
    """Try to prove the optimum: of the same instance for every method, whatever is run."""
    rng = np.random.default_rng([*task["seed"], size["maximum_epochs"]])
    item = paper_like(rng, **size, switch_share=FAMILIES[task["family"]])
    return answer(item.instance, method, task["limit"], scenarios=item.scenarios)


def _beside_the_law(task: Row) -> Row:
    """Of a plan that is optimal on a sample: its misses there, under the law and on fresh draws.

    The samples of one repeat have one seed, so that its smaller samples are parts of its larger ones.
    """
    instance = random_instance(np.random.default_rng(task["seed"]), **_SAMPLED_SIZES)
    sample = {"scenarios": task["scenarios"], "seed": task["repeat"], "time_limit": _SAMPLE_SECONDS}
    result = solve(instance, SEARCH, **sample)
    law, told = result.violation, result.scenarios
    if law is None or told is None or told.fresh is None:
        return {"broken": None, "stopped": result.termination.value}
    return {
        "broken": law.lower > instance.target.violation_budget,
        "too_many": told.misses > told.allowed,
        "beside": told.fresh.lower > law.upper or told.fresh.upper < law.lower,
        "stopped": result.termination.value,
    }


def _figures(rows: Sequence[Row]) -> Row:
    ladder, speed, optimism = (
        [row for row in rows if row["group"] == group] for group in ("ladder", "speed", "optimism")
    )
    values: dict[str, Any] = {}
    apart = [0.0]
    for family in FAMILIES:
        proved = {row["method"]: row["proved"] for row in ladder if row["family"] == family}
        for size in proved[SEARCH].keys() & proved[PROGRAM].keys():
            one, other = proved[SEARCH][size], proved[PROGRAM][size]
            apart.append(abs(one - other) / max(one, other, 1e-300))
        largest = {method: max(map(int, costs), default=0) for method, costs in proved.items()}
        values[f"largest_{family}"], values[f"largest_by_search_{family}"] = largest, largest[SEARCH]
        faster = [_times_faster(row) for row in speed if row["family"] == family]
        values[f"speed_ratio_{family}"] = float(np.median(faster))
    judged = [row for row in optimism if row["broken"] is not None]
    by_size = {
        str(size): _mean([row["broken"] for row in judged if row["scenarios"] == size])
        for size in dict.fromkeys(row["scenarios"] for row in optimism)
    }
    first, *_, last = by_size.values()
    return values | {
        "largest_disagreement": max(apart),
        "broken_share_by_size": by_size,
        "fall_of_broken_share": first - last,
        "too_many_misses": sum(row["too_many"] for row in judged),
        "fresh_intervals_beside_the_law": _mean([row["beside"] for row in judged]),
    }


def _times_faster(row: Row) -> float:
    """How many times faster than the program the search is; 0 where the search has no proof."""
    search, program = row[SEARCH], row[PROGRAM]
    slow = max(program["planning_seconds"], 0.0 if program["proved"] else row["limit"])
    return slow / search["planning_seconds"] if search["proved"] else 0.0


def _mean(flags: Sequence[bool]) -> float:
    return float(np.mean(flags)) if flags else 0.0


STUDY = Study(
    name="samples",
    summary="Optima on samples: the largest sizes that are proved in 60 s, and how optimistic a sample is.",
    goals=(
        Goal("largest_disagreement", "relative difference of costs proved by two methods", "<=", 1e-9),
        Goal("speed_ratio_cheap", "speed of the search over the program, K_max = 8, cheap", ">=", 100),
        Goal("largest_by_search_usual", "K_max that the search proves, |M| = 3, S = 50", ">=", 100),
        Goal("fall_of_broken_share", "fall of the share of broken promises, S = 25 to 800", ">=", 0.05),
        Goal("too_many_misses", "plans that miss more of their own scenarios than allowed", "==", 0),
        Goal(
            "fresh_intervals_beside_the_law",
            "share of 99 % intervals from fresh draws that miss the certified probability",
            "<=",
            0.03,
        ),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20260314,
)
