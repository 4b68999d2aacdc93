"""Model selection as paths: exact labels and the paper's expanded graph, beside each other and their peers.

The labels (`depl.heuristics.paths.search`) are compared with HiGHS on the arc-flow program and with cspy,
which is measured where it can be imported; a test compares them with all paths. The graph's cost, rounded up
and down, is compared with the optimum, which the labels prove: how often it finds the optimum, how far it is
off on average and at worst, how often it finds no path, and how long it takes. A peer that is stopped counts
as if it had ended there.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import SAME
from depl.benchmarks.studies.helpers.path_peers import PeerPath, arc_flow_optimum, cspy_optimum, has_cspy
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paper.network import cost_down, cost_up, with_budgets
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.search import least_weight
from depl.models.foundation.compiling import compiled_at_once
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PEER_SECONDS, _LARGE_SECONDS = 20.0, 60.0
_ROUNDING = 1e-7
"""Relative difference that counts as none of weights by HiGHS, whose rows hold to 1e-9."""
_LEVELS = (10, 25, 50, 100, 200, 400, 800, 1600)
_PAPER_LEVELS = 200
_FEWEST = 20
"""Epochs from which times count; those of a smoke run, which has fewer, are read by nobody."""


def _labels(problem: AdditiveProblem, limits: Limits) -> PeerPath:
    found = least_weight(problem, limits)
    proofs = (Termination.OPTIMAL, Termination.INFEASIBLE, Termination.GAP_REACHED)
    return PeerPath(found.weight, found.termination in proofs)


_METHODS: Mapping[str, Callable[[AdditiveProblem], PeerPath]] = {
    "labels": lambda problem: _labels(problem, Limits(time_limit=_LARGE_SECONDS)),
    "labels to 1 %": lambda problem: _labels(problem, Limits(gap=0.01)),
    "highs": lambda problem: arc_flow_optimum(problem, _PEER_SECONDS),
    "cspy": lambda problem: PeerPath(cspy_optimum(problem, _PEER_SECONDS), proved=False),
}
_ASKED = {"peers": ("labels", "highs", "cspy"), "large": ("labels", "labels to 1 %"), "curves": ("labels",)}


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    for family, number in itertools.product(FAMILIES, range(1 if smoke else 3)):
        yield {"group": "peers", "drawn": (family, 8 if smoke else 50, 3), "seed": [seed, number]}
    for number in range(1 if smoke else 5):
        sizes = (10, 5) if smoke else (1000, 50)
        yield {"group": "large", "drawn": ("like-paper", *sizes), "seed": [seed, number]}
    levels = (25, 50, _PAPER_LEVELS) if smoke else _LEVELS
    for epochs, number in itertools.product((6, 8) if smoke else (20, 50, 100), range(2 if smoke else 10)):
        for eta in levels:
            drawn = ("like-paper", epochs, 3)
            yield {"group": "curves", "drawn": drawn, "eta": eta, "seed": [seed, number]}


def _run(task: Row) -> Row:
    """Weight, proof and wall seconds by method."""
    if task["drawn"][1] >= _FEWEST:
        with compiled_at_once():
            least_weight(family_problem(np.random.default_rng(0), "free", 6, 2))
    problem = family_problem(np.random.default_rng(task["seed"]), *task["drawn"])
    answer: dict[str, Any] = {}
    for name in _ASKED[task["group"]]:
        if name != "cspy" or has_cspy():
            start = time.perf_counter()
            weight, proved = _METHODS[name](problem)
            answer[name] = {"weight": weight, "proved": proved, "seconds": time.perf_counter() - start}
    return {**answer, **_expanded(problem, task["eta"])} if "eta" in task else answer


def _expanded(problem: AdditiveProblem, eta: int) -> Row:
    """The graph's costs over the optimum, None without a path, and breaches of the bicriteria inequality."""
    optimum, start = _optimum(problem), time.perf_counter()
    high = cost_up(problem, eta)
    seconds, low, breaches = time.perf_counter() - start, cost_down(problem, eta), 0
    if eta > problem.epochs:  # else the tighter budgets of the inequality are negative
        wide, tight = (_optimum(with_budgets(problem, eta, sign)) for sign in (1, -1))
        rising = itertools.pairwise((wide, low, optimum, high, tight))
        breaches = sum(one > other * (1 + SAME) for one, other in rising)
    up = high / optimum if math.isfinite(high) else None
    return {"up": up, "down": low / optimum, "graph_seconds": seconds, "breaches": breaches}


def _optimum(problem: AdditiveProblem) -> float:
    """By exact labels; infinite if there is no path."""
    weight, proved = _METHODS["labels"](problem)
    if not proved:
        raise NotCoveredError("the optimum was not proved; give the label setting more labels")
    return weight


def _figures(rows: Sequence[Row]) -> Row:
    from depl.benchmarks.analysis.reference import pd  # which only analysis needs

    peers, large, curves = ([row for row in rows if row["group"] == group] for group in _ASKED)

    def faster(name: str) -> float | None:
        ratios = [row[name]["seconds"] / row["labels"]["seconds"] for row in peers if name in row]
        return float(np.median(ratios)) if ratios else None

    def most(name: str) -> float:
        return max(row[name]["seconds"] if row[name]["proved"] else math.inf for row in large)

    points = pd.DataFrame({"epochs": row["drawn"][1], **row} for row in curves).groupby(["epochs", "eta"])
    told = points.agg(
        missed=("up", lambda ratios: ratios.isna().mean()),
        optimal=("up", lambda ratios: (ratios <= 1 + SAME).mean()),
        up_mean=("up", "mean"),
        up_max=("up", "max"),
        down_mean=("down", "mean"),
        down_min=("down", "min"),
        seconds=("graph_seconds", "mean"),
    )
    pairs = [(row["highs"], row["labels"]["weight"]) for row in peers]
    return {
        "peers_differ": sum(
            highs["proved"] and not math.isclose(highs["weight"], weight, rel_tol=_ROUNDING)
            for highs, weight in pairs
        ),
        "share_proved_at_50": float(np.mean([row["labels"]["proved"] for row in peers])),
        "median_times_faster_than_highs": faster("highs"),
        "median_times_faster_than_cspy": faster("cspy"),
        "large_most_seconds_to_one_percent": most("labels to 1 %"),
        "large_most_seconds_to_optimum": most("labels"),
        "curves": told.reset_index().to_dict("records"),  # over the optimum, where the graph has a path
        "bicriteria_breaches": sum(row["breaches"] for row in curves),
        "worst_share_missed_at_eta_200": float(told.xs(_PAPER_LEVELS, level="eta")["missed"].max()),
    }


def _figure(values: Mapping[str, Any]) -> "Figure":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.levels import curves_of, ratio_against_levels
    from depl.benchmarks.figures.style import finished, panels, set_title

    figure, (axes,) = panels(1)
    ratio_against_levels(curves_of(values["curves"]), axes)
    set_title(axes, "random paths")
    return finished(figure)


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
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    draw=_figure,
    seed=20260401,
)
