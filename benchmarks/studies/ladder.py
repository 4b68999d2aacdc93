"""How large an instance each exact method proves in 60 s, from one run: by HiGHS, and by the search.

The instances are of `depl.benchmarks.suites.paper_like` with |M| = 3, |N| = 1, S = 50 and growing K_max, in
two families: switches that cost about half of an epoch's gain, as in the paper's variant, and cheap ones,
with which the scenarios favour different plans. Every method takes growing sizes up to the first that it does
not prove to be optimal within 60 s. Where several methods prove a size, their costs must agree to 1e-9. The
second part compares the search with HiGHS at K_max = 8 over ten seeds of each family; a program that is
stopped at 60 s counts with 60 s, so the ratio is then a bound.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.exact_attempts import as_row, attempt, warm_up
from depl.benchmarks.suites.paper_like import CHEAP_SWITCHES, SWITCH_SHARE, paper_like
from depl.benchmarks.suites.tiny_sampled import SampledInstance

SIZES = (3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60, 100, 200)
PROGRAM = "milp"
SEARCH = "scenario-search"
FAMILIES = {"usual": SWITCH_SHARE, "cheap": CHEAP_SWITCHES}
_SCENARIOS, _SECONDS, _SPEED_SIZE, _SPEED_SEEDS = 50, 60.0, 8, 10
_SMOKE_SCENARIOS = 8

_Draw = Callable[..., SampledInstance]
"""An instance by its size and index."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    seconds = 5.0 if smoke else _SECONDS
    methods = (SEARCH, PROGRAM)
    for method in methods[:1] if smoke else methods:
        warm_up(method)
    values: dict[str, object] = {"seconds_allowed": seconds}
    disagreements = []
    for family in FAMILIES:
        sizes = SIZES[:1] if smoke else SIZES
        draw = partial(_item, family, seed, scenarios=_SMOKE_SCENARIOS if smoke else _SCENARIOS)
        rungs = {method: _climb(method, draw, sizes, seconds) for method in methods}
        values[f"largest_{family}"] = {method: _largest(climbed) for method, climbed in rungs.items()}
        values[f"largest_by_search_{family}"] = _largest(rungs[SEARCH])
        values[f"rungs_{family}"] = {
            method: {str(size): as_row(tried) for size, tried in climbed.items()}
            for method, climbed in rungs.items()
        }
        disagreements.append(_largest_disagreement(rungs))
        size, seeds = (SIZES[0], 1) if smoke else (_SPEED_SIZE, _SPEED_SEEDS)
        values[f"speed_ratio_{family}"] = _speed(draw, size, seeds, seconds)
    return values | {"largest_disagreement": max(disagreements)}


def _item(family: str, seed: int, size: int, index: int = 0, *, scenarios: int) -> SampledInstance:
    """The same instance for every method, whatever else is run."""
    rng = np.random.default_rng([seed, size, index])
    return paper_like(rng, maximum_epochs=size, scenarios=scenarios, switch_share=FAMILIES[family])


def _climb(method: str, draw: _Draw, sizes: tuple[int, ...], seconds: float) -> dict[int, SolveOutcome]:
    """Attempts by size, up to and with the first that does not end in a proof."""
    climbed: dict[int, SolveOutcome] = {}
    for size in sizes:
        climbed[size] = attempt(method, draw(size), seconds)
        if not climbed[size].within_gap:
            break
    return climbed


def _largest(climbed: Mapping[int, SolveOutcome]) -> int:
    """The last size that was proved; 0 if none was."""
    return max((size for size, tried in climbed.items() if tried.within_gap), default=0)


def _largest_disagreement(rungs: Mapping[str, Mapping[int, SolveOutcome]]) -> float:
    """Greatest relative difference of two proved costs of one instance."""
    differences = [0.0]
    for one, other in itertools.combinations(rungs.values(), 2):
        for size in one.keys() & other.keys():
            first, second = one[size], other[size]
            if first.within_gap and second.within_gap and first.cost and second.cost:
                differences.append(abs(first.cost - second.cost) / max(first.cost, second.cost))
    return max(differences)


def _speed(draw: _Draw, size: int, seeds: int, seconds: float) -> float:
    """How many times faster than the program the search is; 0 where the search has no proof."""
    ratios = []
    for index in range(1, seeds + 1):
        item = draw(size, index)
        tried = {method: attempt(method, item, seconds) for method in (SEARCH, PROGRAM)}
        slow = tried[PROGRAM].planning_seconds
        slow = slow if tried[PROGRAM].within_gap else max(seconds, slow)
        ratios.append(slow / tried[SEARCH].planning_seconds if tried[SEARCH].within_gap else 0.0)
    return float(np.median(ratios))


STUDY = Study(
    name="ladder",
    summary="The largest sizes that HiGHS and the search prove in 60 s, and how they compare.",
    goals=(
        Goal("largest_disagreement", "relative difference of costs proved by two methods", "<=", 1e-9),
        Goal(
            "speed_ratio_cheap",
            "median speed of the search over the program, K_max = 8, cheap switches",
            ">=",
            100,
        ),
        Goal("largest_by_search_usual", "K_max that the search proves, |M| = 3, S = 50", ">=", 100),
    ),
    run=_run,
    seed=20260314,
)
