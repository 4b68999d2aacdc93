"""How many runs does a user need? Delivered probability and extra cost of plans on estimated laws.

The truth are instances of the paper's kind with up to 12 epochs whose optimum, proved by ``exact``, uses more
than a third of the allowed violation (plans with room to spare forgive any error). Then all laws are
perturbed by 5 to 50 %, each parameter up or down on its own, or estimated from n drawn runs of every model
and n observed switches; once taken as they come out, once carefully (improvements lowered to their 90 %
confidence bound). Every estimated instance is solved by ``exact`` with a time limit, and its plan is judged
under the true laws.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial

import numpy as np

from depl.benchmarks.runner.registry import Case, Goal
from depl.benchmarks.suites.paper_like import CHEAP_SWITCHES, paper_like
from depl.models.estimation.estimated import Parameter, perturbed, refitted, scaled
from depl.models.estimation.regret import RegretRow, Trial, regret_row, runs_needed, trial, true_optimum
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance

_INSTANCES, _REPEATS = 5, 6
_SIZES = (0.05, 0.1, 0.2, 0.5)
_RUNS = (5, 10, 20, 50, 100, 200)
_CAREFUL = 0.9
_SECONDS = 10.0
_TIGHT = 1 / 3
_DRAWS = 60

Truth = tuple[Instance, float]
Estimate = Callable[[Instance], Instance]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    count, repeats, seconds = (1, 1, 5.0) if smoke else (_INSTANCES, _REPEATS, _SECONDS)
    sizes, runs = (_SIZES[:1], _RUNS[:1]) if smoke else (_SIZES, _RUNS)
    truths = _truths(rng, count, smoke)

    def row(label: str, estimate: Estimate, times: int = repeats) -> RegretRow:
        return regret_row(label, _trials(truths, estimate, times, seconds))

    by_size = [row(f"{size:.0%}", partial(perturbed, size=size, rng=rng)) for size in sizes]
    by_runs = [row(str(n), partial(refitted, runs=n, rng=rng)) for n in runs]
    careful = [row(str(n), partial(refitted, runs=n, rng=rng, confidence=_CAREFUL)) for n in runs]
    single = [
        row(f"{part.value} {change:+.0%}", partial(scaled, parameter=part, factor=1 + change), times=1)
        for part in ([Parameter.SCALE] if smoke else Parameter)
        for change in (-0.1, 0.1)
    ]
    at_twenty = careful[min(2, len(careful) - 1)]
    return {
        "instances": len(truths),
        "perturbed": [asdict(item) for item in by_size],
        "one_parameter": [asdict(item) for item in single],
        "refitted": [asdict(item) for item in by_runs],
        "careful": [asdict(item) for item in careful],
        "runs_needed": runs_needed(runs, by_runs),
        "careful_runs_needed": runs_needed(runs, careful),
        "mean_excess_at_most_runs": by_runs[-1].mean_excess,
        "extra_cost_at_most_runs": by_runs[-1].extra_cost,
        "careful_kept_at_20": at_twenty.kept,
        "careful_extra_cost_at_20": at_twenty.extra_cost,
    }


def _truths(rng: np.random.Generator, count: int, smoke: bool) -> list[Truth]:
    """Instances whose proved optimum is tight, with its cost."""
    found: list[Truth] = []
    for _ in range(_DRAWS):
        epochs = 5 if smoke else int(rng.integers(8, 13))
        drawn = paper_like(
            rng, maximum_epochs=epochs, scenarios=400, quantile_level=0.95, switch_share=CHEAP_SWITCHES
        ).instance
        try:
            best = true_optimum(drawn, time_limit=_SECONDS)
        except InvalidInputError:  # not proved in time: no yardstick
            continue
        tight = _TIGHT * float(drawn.target.violation_budget)
        if best.violation is None or best.cost is None or (best.violation.upper < tight and not smoke):
            continue
        found.append((drawn, best.cost))
        if len(found) == count:
            break
    return found


def _trials(truths: list[Truth], estimate: Estimate, times: int, seconds: float) -> list[Trial]:
    return [
        trial(true, estimate(true), cost, time_limit=seconds) for true, cost in truths for _ in range(times)
    ]


CASE = Case(
    name="estimation-regret",
    summary="Plans on laws that were perturbed or fitted to 5 to 200 runs, judged under the true laws.",
    goals=(
        Goal("instances", "true instances with a tight, proved optimum", ">=", _INSTANCES),
        Goal(
            "runs_needed",
            "runs from which on nine plans in ten miss at most twice as often as allowed",
            "<=",
            100,
        ),
        Goal(
            "careful_runs_needed",
            "the same with improvements lowered to their 90 % confidence bound",
            "<=",
            20,
        ),
        Goal("mean_excess_at_most_runs", "200 runs: mean true violation over the allowed one", "<=", 1.2),
        Goal("extra_cost_at_most_runs", "200 runs: mean extra cost of plans that keep", "<=", 0.05),
        Goal("careful_kept_at_20", "20 runs, carefully: share of plans that keep their promise", ">=", 0.8),
        Goal("careful_extra_cost_at_20", "20 runs, carefully: mean extra cost", "<=", 0.1),
    ),
    run=_run,
    seed=20261121,
)
