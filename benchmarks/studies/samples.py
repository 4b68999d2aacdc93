"""Optima on samples: how large an instance is proved, and how optimistic a sample of few scenarios is.

*Ladder*: instances of `depl.instances.paper_like` with |M| = 3, |N| = 1, S = 50 and growing K_max, by
HiGHS and by the search up to the first size that is not proved within 60 s, where switches cost half of an
epoch's gain and where they are cheap, so that scenarios favour different plans; at K_max = 8 over ten seeds a
program that is stopped counts with 60 s. *Goal sizes*: ten instances each by the search, to 1e-6; what is not
certified counts with infinite seconds. *Optimism*: how often optimal plans on samples miss under the law.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.generator import random_instances
from depl.instances.paper_like import CHEAP_SWITCHES, SWITCH_SHARE, paper_like
from depl.instances.tiny_sampled import SampledInstance
from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Result
from depl.models.solving.solve import solve

PROGRAM, SEARCH = "milp", "scenario-search"
RUNGS = (3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60, 100, 200)
FAMILIES = {"usual": SWITCH_SHARE, "cheap": CHEAP_SWITCHES}
SIZES: Mapping[str, dict[str, int]] = {
    "hundred_epochs": {"maximum_epochs": 100, "models": 3, "scenarios": 200},
    "thousand_scenarios": {"maximum_epochs": 60, "models": 3, "scenarios": 1000},
    "ten_models": {"maximum_epochs": 30, "models": 10, "scenarios": 100},
    "two_clusters_three_datasets": {
        "maximum_epochs": 40,
        "models": 3,
        "scenarios": 100,
        "clusters": 2,
        "datasets": 3,
    },
}
"""The goal sizes."""
_SECONDS, _GAP = 60.0, 1e-6
_SCENARIOS, _SPEED_SIZE, _SEEDS = 50, 8, 10
_SAMPLES, _SAMPLED, _REPEATS, _SAMPLE_SECONDS = (25, 50, 100, 200, 400, 800), 20, 4, 20.0


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    for method in () if smoke else (SEARCH, PROGRAM):  # nobody reads the times of a smoke run
        warm_up(method)
    return {**_ladder(seed, smoke), **_goal_sizes(seed, smoke), **_optimism(rng, smoke)}


def _attempt(method: str, item: SampledInstance, time_limit: float, gap: float = 0.0) -> SolveOutcome:
    """Try to prove the optimum to a relative gap; every error of the toolkit is an ending like others."""
    try:
        return tried(item.instance, method, scenarios=item.scenarios, time_limit=time_limit, gap=gap)
    except DeplError as error:
        return SolveOutcome(method, "failed", math.inf, reason=f"{type(error).__name__}: {error}")


def _ladder(seed: int, smoke: bool) -> dict[str, object]:
    """The last size that each method proves, how their costs differ, and how much faster the search is."""
    seconds, apart = 5.0 if smoke else _SECONDS, [0.0]
    values: dict[str, object] = {}
    for family, share in FAMILIES.items():
        draw = partial(_drawn, seed, share, 8 if smoke else _SCENARIOS)
        proved: dict[str, dict[int, float]] = {
            method: dict(_climbed(method, draw, RUNGS[:1] if smoke else RUNGS, seconds))
            for method in (SEARCH, PROGRAM)
        }
        for size in proved[SEARCH].keys() & proved[PROGRAM].keys():
            one, other = proved[SEARCH][size], proved[PROGRAM][size]
            apart.append(abs(one - other) / max(one, other, 1e-300))
        largest = {method: max(costs, default=0) for method, costs in proved.items()}
        items = [draw(_SPEED_SIZE, index) for index in range(1, 2 if smoke else _SEEDS + 1)]
        values |= {
            f"largest_{family}": largest,
            f"largest_by_search_{family}": largest[SEARCH],
            f"speed_ratio_{family}": float(np.median([_faster(item, seconds) for item in items])),
        }
    return {**values, "largest_disagreement": max(apart)}


def _drawn(
    seed: int, share: tuple[float, float], scenarios: int, size: int, index: int = 0
) -> SampledInstance:
    """The same instance for every method, whatever else is run."""
    rng = np.random.default_rng([seed, size, index])
    return paper_like(rng, maximum_epochs=size, scenarios=scenarios, switch_share=share)


def _climbed(
    method: str, draw: partial[SampledInstance], sizes: Sequence[int], seconds: float
) -> Iterator[tuple[int, float]]:
    """Sizes with proved costs, up to the first that is not proved."""
    for size in sizes:
        found = _attempt(method, draw(size), seconds)
        if not found.within_gap or found.cost is None:
            return
        yield size, found.cost


def _faster(item: SampledInstance, seconds: float) -> float:
    """How many times faster than the program the search is; 0 where the search has no proof."""
    search, program = (_attempt(method, item, seconds) for method in (SEARCH, PROGRAM))
    slow = program.planning_seconds if program.within_gap else max(seconds, program.planning_seconds)
    return slow / search.planning_seconds if search.within_gap else 0.0


def _goal_sizes(seed: int, smoke: bool) -> dict[str, object]:
    values: dict[str, object] = {}
    for position, (name, size) in enumerate(SIZES.items()):
        smaller = {"maximum_epochs": 4, "scenarios": 20} if smoke else {}
        found = [
            _attempt(
                SEARCH,
                paper_like(
                    np.random.default_rng([seed, position, index]),
                    **{**size, **smaller},
                    switch_share=SWITCH_SHARE,
                ),
                2.0 if smoke else _SECONDS,
                _GAP,
            )
            for index in range(1 if smoke else _SEEDS)
        ]
        times = [row.planning_seconds if row.within_gap else math.inf for row in found]
        values |= {
            f"{name}_median_seconds": float(np.median(times)),
            f"{name}_share_certified": float(np.mean([row.within_gap for row in found])),
            f"{name}_largest_gap": max(row.gap for row in found),
        }
    return values


class SampleRow(NamedTuple):
    """One solve on ``size`` scenarios drawn with ``seed``.

    Its ``scenarios`` tell what the plan misses of them, its ``violation`` P(l(K) > l_max) under the law.
    """

    size: int
    seed: int
    result: Result


def sample_size_study(
    instance: Instance,
    method: str,
    sizes: Sequence[int],
    repeats: int,
    seed: int = 0,
    time_limit: float | None = None,
) -> tuple[SampleRow, ...]:
    """Solve ``instance`` on ``repeats`` samples of each size, by size, then by seed.

    The samples of one repeat have one seed (``seed``, ``seed + 1``, ...), so that its smaller samples are
    parts of its larger ones.

    Parameters
    ----------
    method : str
        A registered method that counts scenarios.
    sizes : sequence of int
        S.
    time_limit : float, optional
        Wall seconds of each solve.

    Raises
    ------
    InvalidInputError
        If the method is unknown or works under the law, or a number is out of range.
    """
    if find(method).meaning is not Meaning.SCENARIOS:
        raise InvalidInputError(f"method {method!r} works under the law; choose one that counts scenarios")
    if repeats < 1:
        raise InvalidInputError(f"at least one repeat is needed, not {repeats}")
    return tuple(
        SampleRow(size, first, solve(instance, method, scenarios=size, seed=first, time_limit=time_limit))
        for size in sizes
        for first in range(seed, seed + repeats)
    )


def _optimism(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """Of plans that are optimal on samples: how many break their promise under the law, by S."""
    count, sizes, repeats = (2, _SAMPLES[:2], 1) if smoke else (_SAMPLED, _SAMPLES, _REPEATS)
    drawn = random_instances(
        rng, count, models=(2, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(4, 8)
    )
    broken: dict[int, list[bool]] = {size: [] for size in sizes}
    beside, too_many = [], 0
    for instance in drawn:
        for size, _, result in sample_size_study(
            instance, SEARCH, sizes, repeats, time_limit=_SAMPLE_SECONDS
        ):
            law, told = result.violation, result.scenarios
            if law is not None and told is not None and told.fresh is not None:
                broken[size].append(law.lower > instance.target.violation_budget)
                too_many += told.misses > told.allowed
                beside.append(told.fresh.lower > law.upper or told.fresh.upper < law.lower)
    shares = {size: float(np.mean(flags)) if flags else 0.0 for size, flags in broken.items()}
    return {
        "broken_share_by_size": {str(size): share for size, share in shares.items()},
        "fall_of_broken_share": shares[sizes[0]] - shares[sizes[-1]],
        "too_many_misses": too_many,
        "fresh_intervals_beside_the_law": float(np.mean(beside)) if beside else 0.0,
    }


STUDY = Study(
    name="samples",
    summary="Optima on samples: the largest sizes that are proved in 60 s, and how optimistic a sample is.",
    goals=(
        Goal("largest_disagreement", "relative difference of costs proved by two methods", "<=", 1e-9),
        Goal("speed_ratio_cheap", "speed of the search over the program, K_max = 8, cheap", ">=", 100),
        Goal("largest_by_search_usual", "K_max that the search proves, |M| = 3, S = 50", ">=", 100),
        *(
            Goal(
                f"{name}_median_seconds",
                ", ".join(f"{value} {what.replace('_', ' ')}" for what, value in size.items())
                + ": median seconds",
                "<=",
                _SECONDS,
            )
            for name, size in SIZES.items()
        ),
        Goal("fall_of_broken_share", "fall of the share of broken promises, S = 25 to 800", ">=", 0.05),
        Goal("too_many_misses", "plans that miss more of their own scenarios than allowed", "==", 0),
        Goal(
            "fresh_intervals_beside_the_law",
            "share of 99 % intervals from fresh draws that miss the certified probability",
            "<=",
            0.03,
        ),
    ),
    run=_run,
    seed=20260314,
)
