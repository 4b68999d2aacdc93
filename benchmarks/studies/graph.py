"""Model selection as paths: exact labels and the paper's expanded graph, beside each other and their peers.

The labels (`depl.heuristics.paths.setting`) are compared with HiGHS on the arc-flow program and with cspy,
which is measured where it can be imported; a test compares them with all paths. The graph's cost, rounded up
and down, is compared with the optimum, which the labels prove: how often it finds the optimum, how far it is
off on average and at worst, how often it finds no path, and how long it takes. A peer that is stopped counts
as if it had ended there.
"""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.path_peers import arc_flow_optimum, cspy_optimum, has_cspy
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem, random_path_problem
from depl.heuristics.paper.loop import depl_paper
from depl.heuristics.paper.models import cost_down, cost_up, with_budgets
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.setting import least_weight
from depl.instances.counterexamples import almost_one_level, short_epochs
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.enumeration import enumerate_plans
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PEER_SECONDS, _LARGE_SECONDS = 20.0, 60.0
_SAME, _EXACT = 1e-7, 1e-9
"""Relative differences that count as none: of weights by HiGHS, whose rows hold to 1e-9, and of our own."""
_LEVELS = (10, 25, 50, 100, 200, 400, 800, 1600)
_PAPER_LEVELS = 200


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    least_weight(family_problem(np.random.default_rng(0), "free", 6, 2))  # compile
    return {
        **_label_peers(rng, smoke),
        **_large(rng, *((1, 20, 5) if smoke else (5, 1000, 50))),
        **_against_optimum(rng, smoke),
        **_counterexamples(),
    }


def _timed(action: Callable[..., Any], *given: object) -> tuple[float, Any]:
    """Wall time and the answer."""
    start = time.perf_counter()
    answer = action(*given)
    return time.perf_counter() - start, answer


def _apart(one: float, other: float) -> float:
    """Relative difference."""
    return 0.0 if one == other else abs(one - other) / min(abs(one), abs(other))


def _label_peers(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """K = 50, M = 3: how many times longer the peers take."""
    proved, differs = [], 0
    faster: dict[str, list[float]] = {"highs": [], "cspy": []}
    limit = 2.0 if smoke else _PEER_SECONDS
    for family, _ in itertools.product(FAMILIES[:2] if smoke else FAMILIES, range(1 if smoke else 3)):
        problem = family_problem(rng, family, 8 if smoke else 50, 3)
        own, found = _timed(least_weight, problem)
        seconds, program = _timed(arc_flow_optimum, problem, limit)
        proved.append(found.termination is Termination.OPTIMAL)
        differs += program.proved and _apart(program.weight, found.weight) > _SAME
        faster["highs"].append(seconds / own)
        if has_cspy():
            seconds, _ = _timed(cspy_optimum, problem, limit)
            faster["cspy"].append(seconds / own)
    return {
        "peers_differ": differs,
        "share_proved_at_50": float(np.mean(proved)),
        **{
            f"median_times_faster_than_{name}": float(np.median(ratios)) if ratios else None
            for name, ratios in faster.items()
        },
    }


def _large(rng: np.random.Generator, count: int, epochs: int, models: int) -> dict[str, object]:
    """Seconds to 1 % and to the proof, infinite without, the worst of ``count``."""
    near, proof = [], []
    for _ in range(count):
        problem = family_problem(rng, "like-paper", epochs, models)
        seconds, found = _timed(least_weight, problem, Limits(gap=0.01))
        near.append(seconds if found.gap <= 0.01 else math.inf)
        seconds, found = _timed(least_weight, problem, Limits(time_limit=_LARGE_SECONDS))
        proof.append(seconds if found.termination is Termination.OPTIMAL else math.inf)
    return {"large_most_seconds_to_one_percent": max(near), "large_most_seconds_to_optimum": max(proof)}


def _against_optimum(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """The graph's cost over the optimum for K = 20, 50 and 100, and breaches of the bicriteria inequality."""
    rows, breaches = [], 0
    for epochs in (6, 8, 10) if smoke else (20, 50, 100):
        problems = [random_path_problem(rng, epochs) for _ in range(2 if smoke else 10)]
        optima = [_optimum(problem) for problem in problems]
        for eta in _LEVELS[1:4] if smoke else _LEVELS:
            found = [_timed(cost_up, p, eta) for p in problems]
            up, down = [cost for _, cost in found], [cost_down(p, eta) for p in problems]
            if eta > epochs:  # else the tighter budgets of the inequality are negative
                for problem, *inner in zip(problems, down, optima, up, strict=True):
                    outer = [_optimum(with_budgets(problem, eta, sign)) for sign in (1, -1)]
                    rising = (outer[0], *inner, outer[1])
                    breaches += sum(one > other * (1 + _EXACT) for one, other in itertools.pairwise(rising))
            row = {"epochs": epochs, "eta": eta, "seconds": float(np.mean([seconds for seconds, _ in found]))}
            rows.append(row | _ratios(optima, up, down))
    return {
        "curves": rows,
        "bicriteria_breaches": breaches,
        "worst_share_missed_at_eta_200": max(
            row["missed"] for row in rows if row["eta"] == (50 if smoke else _PAPER_LEVELS)
        ),
    }


def _ratios(optima: Sequence[float], up: Sequence[float], down: Sequence[float]) -> dict[str, Any]:
    """Over the optimum: of the graph's paths, where it has one, and of its lower bounds."""
    above = [high / best for best, high in zip(optima, up, strict=True) if math.isfinite(high)]
    below = [low / best for best, low in zip(optima, down, strict=True)]
    return {
        "missed": 1 - len(above) / len(optima),
        "optimal": sum(ratio <= 1 + _EXACT for ratio in above) / len(optima),
        "up_mean": float(np.mean(above)) if above else None,
        "up_max": max(above, default=None),
        "down_mean": float(np.mean(below)),
        "down_min": min(below),
    }


def _optimum(problem: AdditiveProblem) -> float:
    """By exact labels; infinite if there is no path."""
    found = least_weight(problem)
    if found.termination not in (Termination.OPTIMAL, Termination.INFEASIBLE):
        raise NotCoveredError("the optimum was not proved; give the label setting more labels")
    return found.weight


def _counterexamples() -> dict[str, object]:
    """Families A and B, the graph of ``depl-paper`` against the enumeration."""
    limits, ratios = Limits(), {}
    missed, known = (method(short_epochs(), limits).plan for method in (depl_paper, enumerate_plans))
    for price in (10.0, 1000.0):
        instance = almost_one_level(price)
        plans = [method(instance, limits).plan for method in (depl_paper, enumerate_plans)]
        costs = [
            math.inf if plan is None else evaluate(instance, plan, quantile=False).cost for plan in plans
        ]
        ratios[f"family_b_ratio_{price:.0f}"] = costs[0] / costs[1]
    return {"family_a_missed": missed is None and known is not None, **ratios}


def _figure(values: Mapping[str, Any]) -> "Figure":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.levels import curves_of, ratio_against_levels
    from depl.benchmarks.figures.style import make_room, panels, set_title

    figure, (axes,) = panels(1)
    ratio_against_levels(curves_of(values["curves"]), axes)
    set_title(axes, "random paths")
    make_room(figure)
    return figure


STUDY = Study(
    name="graph",
    summary="Model selection as paths: exact labels and the paper's expanded graph beside their peers.",
    goals=(
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
            _LARGE_SECONDS,
        ),
        Goal("bicriteria_breaches", "breaches of the bicriteria inequality, K = 20, 50, 100", "==", 0),
        Goal("family_a_missed", "family A: the graph finds nothing where there is a plan", "==", 1),
        Goal("family_b_ratio_1000", "family B with R = 1000: cost over optimum", ">=", 909),
    ),
    run=_run,
    draw=_figure,
    seed=20260401,
)
