"""The paper's expanded graph: its speed among peers, its accuracy against the optimum, and its guarantees.

The optimum of a path problem is that of exact labels, `depl.heuristics.paths`.
"""

import itertools
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.paths.random_paths import random_path_problem
from depl.benchmarks.studies.paths.sparse_graph import sparse_graph
from depl.heuristics.baselines.paper_method import depl_paper
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.expanded_graph import expanded_graph, shortest_path
from depl.heuristics.paths.graph_guarantees import relaxed, tightened
from depl.heuristics.paths.layered import cost_down, cost_up
from depl.heuristics.paths.setting import least_weight
from depl.instances.counterexamples import almost_one_level, short_epochs
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.enumeration import enumerate_plans
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMALL, _LARGE = 50, 200


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    peers = _peers(rng, smoke)
    curves, violations = _curves(rng, smoke)
    at_paper = [curve for curve in curves if curve["eta"] == (50 if smoke else 200)]
    return {
        **peers,
        "curves": curves,
        "bicriteria_breaches": violations,
        "worst_share_missed_at_eta_200": max(float(str(curve["missed"])) for curve in at_paper),
        **_families(),
    }


def _seconds(action: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Median wall time and the value."""
    times, value = [], math.nan
    for _ in range(repeats):
        start = time.perf_counter()
        value = action()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), value


def _peers(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """The same graphs by all three; build and search apart."""
    drawn = random_path_problem(rng, 6 if smoke else 20)
    found: dict[str, object] = {}
    apart = 0.0
    for levels, with_networkx in ((8 if smoke else _SMALL, True), (20 if smoke else _LARGE, False)):
        repeats = 2 if smoke else 7
        problem = _just_solvable(drawn, levels)
        own, cost = _seconds(lambda problem=problem, levels=levels: cost_up(problem, levels), repeats)  # type: ignore[misc]
        start = time.perf_counter()
        sparse = sparse_graph(problem, levels)
        built = time.perf_counter() - start
        searched, other = _seconds(sparse.least_weight, max(repeats // 2, 1))
        apart = max(apart, _distance(cost, other))
        name = "small" if with_networkx else "large"
        found |= {
            f"{name}_eta": levels,
            f"{name}_vertices": sparse.matrix.shape[0],
            f"{name}_edges": sparse.matrix.nnz,
            f"{name}_layered_seconds": own,
            f"{name}_csgraph_build_seconds": built,
            f"{name}_csgraph_search_seconds": searched,
            f"{name}_times_faster_than_csgraph": (built + searched) / own,
            f"{name}_times_faster_than_csgraph_search": searched / own,
        }
        for whole in (False, True) if with_networkx else ():
            start = time.perf_counter()
            drawn_graph = expanded_graph(problem, levels, capped=whole, every_vertex=whole)
            built = time.perf_counter() - start
            searched, other = _seconds(lambda drawn_graph=drawn_graph: _shortest(drawn_graph), 1)  # type: ignore[misc]
            apart = max(apart, _distance(cost, other))
            part = "whole" if whole else "small"
            found |= {
                f"{part}_networkx_vertices": len(drawn_graph),
                f"{part}_networkx_build_seconds": built,
                f"{part}_networkx_search_seconds": searched,
                f"{part}_times_faster_than_networkx": (built + searched) / own,
                f"{part}_times_faster_than_networkx_search": searched / own,
            }
    return {**found, "largest_difference_among_peers": apart}


def _just_solvable(problem: AdditiveProblem, levels: int) -> AdditiveProblem:
    """The problem with a little more of both budgets, so that the graph has a path.

    By the bicriteria inequality the last of the steps is enough.
    """
    for part in (0.0, 0.125, 0.25, 0.5, 1.0):
        share = part * problem.epochs / levels
        larger = problem.within(
            problem.maximum_time / (1 - share), problem.maximum_loss + share * problem.initial_loss
        )
        if math.isfinite(cost_up(larger, levels)):
            break
    return larger


def _shortest(whole: object) -> float:
    found = shortest_path(whole)
    return math.inf if found is None else found[0]


def _distance(one: float, other: float) -> float:
    return 0.0 if one == other else abs(one - other) / min(abs(one), abs(other))


def _curves(rng: np.random.Generator, smoke: bool) -> tuple[list[dict[str, object]], int]:
    """cost_up / OPT and cost_down / OPT against eta for 20, 50 and 100 epochs; breaches of the inequality."""
    sizes, count = ((6, 8, 10), 2) if smoke else ((20, 50, 100), 10)
    levels = (25, 50, 100) if smoke else (25, 50, 100, 200, 400, 800, 1600)
    rows: list[dict[str, object]] = []
    breaches = 0
    for epochs in sizes:
        problems = [random_path_problem(rng, epochs) for _ in range(count)]
        optima = [_optimum(problem) for problem in problems]
        for eta in levels:
            up = [cost_up(problem, eta) for problem in problems]
            down = [cost_down(problem, eta) for problem in problems]
            for problem, best, high, low in zip(problems, optima, up, down, strict=True):
                outer, inner = _optimum(tightened(problem, eta)), _optimum(relaxed(problem, eta))
                rising = (inner, low, best, high, outer)
                breaches += sum(one > other * (1 + 1e-9) for one, other in itertools.pairwise(rising))
            rows.append({"epochs": epochs, "eta": eta, **_summary(optima, up, down)})
    return rows, breaches


def _summary(optima: list[float], up: list[float], down: list[float]) -> dict[str, object]:
    above = [high / best for best, high in zip(optima, up, strict=True) if math.isfinite(high)]
    below = [low / best for best, low in zip(optima, down, strict=True)]
    return {
        "missed": 1 - len(above) / len(optima),
        "up_mean": float(np.mean(above)) if above else None,
        "up_max": max(above, default=None),
        "down_mean": float(np.mean(below)),
        "down_min": min(below),
    }


def _optimum(problem: AdditiveProblem) -> float:
    found = least_weight(problem)
    if found.termination not in (Termination.OPTIMAL, Termination.INFEASIBLE):
        raise NotCoveredError("the optimum was not proved; give the label setting more labels")
    return found.weight


def _families() -> dict[str, object]:
    """Families A and B, the graph of ``depl-paper`` against the enumeration."""
    limits = Limits()
    missed = depl_paper(short_epochs(), limits).plan is None
    feasible = enumerate_plans(short_epochs(), limits).plan is not None
    ratios = []
    for price in (10.0, 1000.0):
        instance = almost_one_level(price)
        ratios.append(_cost(instance, depl_paper) / _cost(instance, enumerate_plans))
    return {
        "family_a_missed": missed and feasible,
        "family_b_ratio_10": ratios[0],
        "family_b_ratio_1000": ratios[1],
    }


def _cost(instance: Instance, method: Callable[..., object]) -> float:
    outcome = method(instance, Limits())
    plan = getattr(outcome, "plan", None)
    return math.inf if plan is None else evaluate(instance, plan, quantile=False).cost


def _figure(values: Mapping[str, Any]) -> "Figure":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.canvas import panels
    from depl.benchmarks.figures.legends import make_room, set_title
    from depl.benchmarks.figures.ratio_against_levels import curves_of, ratio_against_levels

    figure, (axes,) = panels(1)
    ratio_against_levels(curves_of(values["curves"]), axes)
    set_title(axes, "random paths")
    make_room(figure)
    return figure


STUDY = Study(
    name="expanded-graph",
    summary="The paper's expanded graph: speed among peers, cost against the optimum over eta, guarantees.",
    goals=(
        Goal(
            "largest_difference_among_peers",
            "relative difference of the costs by the layered search, csgraph and networkx",
            "<=",
            1e-12,
        ),
        Goal(
            "whole_times_faster_than_networkx",
            "times faster than networkx from problem to path, all |M| K eta^2 vertices, eta = 50, K = 20",
            ">=",
            500,
        ),
        Goal(
            "large_times_faster_than_csgraph",
            "times faster than scipy's csgraph from problem to path, reachable vertices, eta = 200, K = 20",
            ">=",
            45,
        ),
        Goal(
            "bicriteria_breaches",
            "breaches of the bicriteria inequality, K = 20, 50, 100",
            "==",
            0,
        ),
        Goal("family_a_missed", "family A: the graph finds nothing where there is a plan", "==", 1),
        Goal("family_b_ratio_1000", "family B with R = 1000: cost over optimum", ">=", 909),
    ),
    run=_run,
    draw=_figure,
    seed=20260401,
)
