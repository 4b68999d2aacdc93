"""Cheapest paths within limits on any graph without cycles (`depl.paths`), beside a table of states and cspy.

Small graphs are solved again by a dynamic program over all that can be used, which compares no labels. On
layered graphs cspy is the peer, in its own, bidirectional way and forward, each stopped at a limit; the
faster way counts, and a limit as if it had ended there. What is counted, too, are graphs on which cspy ended
by itself at a path that costs more than the proved optimum. Without cspy its figures are None.
"""

import importlib.metadata
import math
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from depl.benchmarks.cases.paths.cspy_peer import has_cspy
from depl.benchmarks.cases.paths.resource_graphs import (
    ResourceGraph,
    cspy_cost,
    layered_graph,
    least_cost_by_states,
    sparse_graph,
)
from depl.benchmarks.runner.registry import Case, Goal
from depl.heuristics.paths.dag_answers import PathAnswer, cheapest
from depl.models.solving.result import Termination

_SECONDS = 10.0
_SIZES = ((10, 5, 1), (20, 5, 1), (30, 10, 1), (10, 5, 2), (20, 5, 2), (30, 10, 2))
"""Layers, width and resources. Three resources are left out: there both come to the limit."""
_DECIDED = (Termination.OPTIMAL, Termination.INFEASIBLE)

_Answer = TypeVar("_Answer")


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    _answer(layered_graph(rng, 2, 2, 2))  # compile
    rows = [
        _row(layered_graph(rng, *size), size, 2.0 if smoke else _SECONDS)
        for size in (((4, 3, 1),) if smoke else _SIZES)
        for _ in range(1 if smoke else 3)
    ]
    ratios = [float(str(row["times_faster_than_cspy"])) for row in rows if "cspy_both_seconds" in row]
    costs = [
        (float(str(row[f"cspy_{name}_cost"])), row) for name in ("both", "forward") for row in rows if ratios
    ]
    return {
        **_agreement(rng, 20 if smoke else 600),
        "rows": rows,
        "cspy_version": importlib.metadata.version("cspy") if ratios else None,
        "share_proved": float(np.mean([bool(row["proved"]) for row in rows])),
        "median_times_faster_than_cspy": float(np.median(ratios)) if ratios else None,
        "cspy_cheaper": sum(cost < float(str(row["cost"])) for cost, row in costs) if ratios else None,
        "cspy_ended_at_a_dearer_path": sum(bool(row.get("cspy_wrong")) for row in rows) if ratios else None,
    }


def _agreement(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Small graphs with costs of both signs, by the table of states."""
    wrong = infeasible = 0
    for place in range(count):
        graph = sparse_graph(rng, int(rng.integers(2, 9)), 1 + place % 3)
        found, best = _answer(graph), least_cost_by_states(graph)
        infeasible += math.isinf(best)
        wrong += found.termination not in _DECIDED or found.cost != best or found.lower_bound != best
    return {"small_graphs": count, "small_graphs_infeasible": infeasible, "answered_differently": wrong}


def _row(graph: ResourceGraph, size: tuple[int, int, int], limit: float) -> dict[str, object]:
    seconds, found = _timed(lambda: _answer(graph, limit))
    row: dict[str, object] = {
        "layers": size[0],
        "width": size[1],
        "resources": size[2],
        "seconds": seconds,
        "cost": found.cost,
        "labels": found.labels,
        "proved": found.optimal,
    }
    if not has_cspy():
        return row
    ended = False
    for direction in ("both", "forward"):
        own, cost = _timed(lambda direction=direction: cspy_cost(graph, direction, limit))  # type: ignore[misc]
        row[f"cspy_{direction}_seconds"], row[f"cspy_{direction}_cost"] = own, cost
        ended |= own < limit and found.optimal and cost > found.cost
    quickest = min(float(str(row[f"cspy_{name}_seconds"])) for name in ("both", "forward"))
    return row | {"cspy_wrong": ended, "times_faster_than_cspy": quickest / seconds}


def _answer(graph: ResourceGraph, limit: float | None = None) -> PathAnswer:
    return cheapest(graph.arcs, "Source", "Sink", graph.limits, time_limit=limit)


def _timed(action: Callable[[], _Answer]) -> tuple[float, _Answer]:
    start = time.perf_counter()
    answer = action()
    return time.perf_counter() - start, answer


CASE = Case(
    name="dag-paths",
    summary="Cheapest paths within limits on any graph without cycles, beside a table of states and cspy.",
    goals=(
        Goal("answered_differently", "small graphs that a table of all states answers differently", "==", 0),
        Goal("share_proved", "share of the layered graphs that are proved in ten seconds", "==", 1),
        Goal("cspy_cheaper", "layered graphs on which a path of cspy is cheaper", "==", 0),
        Goal("median_times_faster_than_cspy", "times faster than cspy's faster way, median", ">=", 10),
    ),
    run=_run,
    seed=20261126,
)
