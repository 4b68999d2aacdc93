"""Solvers of others on knapsacks, ordinary and with normal weights: each says its value and CPU seconds.

HiGHS and SCIP are those of the development environment. OR-tools is used where it can be imported, and the
label setting of Wang et al. (github.com/AGNORT/SMKP) where `LABEL_SETTING` names its program: neither is a
dependency. That program is built from its sources with an empty file in place of the header of a commercial
solver, which its own algorithm does not use.
"""

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import highspy
import numpy as np
import pyscipopt

from depl.instances.knapsack_files import decimal_text
from depl.instances.reductions.knapsack import ChanceKnapsack, Knapsack
from depl.models.programs.quiet import quiet_highs

LABEL_SETTING = "DEPL_LABEL_SETTING"
"""Environment variable with the path of the program of Wang et al."""

_OR_TOOLS = """
import json, sys, time
from ortools.algorithms.python import knapsack_solver

asked = json.load(sys.stdin)
kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
engine = knapsack_solver.KnapsackSolver(kind, "depl")
engine.set_time_limit(asked["seconds"])
began = time.process_time()
engine.init(asked["values"], [asked["weights"]], [asked["capacity"]])
value = engine.solve()
print(json.dumps([float(value), bool(engine.is_solution_optimal()), time.process_time() - began]))
"""

_VALUE = re.compile(r"The best solution obtained by my labelsetting algorithm is: (\d+)")


class PeerAnswer(NamedTuple):
    """What a solver found, None if nothing; whether it calls that optimal; CPU seconds."""

    value: float | None
    proved: bool
    seconds: float


def timed(solve: Callable[[], tuple[float | None, bool]]) -> PeerAnswer:
    """Run a solver in this process."""
    began = time.process_time()
    value, proved = solve()
    return PeerAnswer(value, proved, time.process_time() - began)


def by_highs(knapsack: Knapsack, seconds: float) -> PeerAnswer:
    """HiGHS, a gap of 0."""
    return timed(lambda: _highs(knapsack, seconds))


def by_scip(knapsack: Knapsack, seconds: float) -> PeerAnswer:
    """SCIP, on an ordinary knapsack."""
    return timed(lambda: _scip(knapsack.values, knapsack.weights, knapsack.capacity, None, 0.0, seconds))


def by_scip_with_cone(knapsack: ChanceKnapsack, seconds: float) -> PeerAnswer:
    """SCIP, with the chance constraint as a second-order cone."""
    return timed(
        lambda: _scip(
            knapsack.values,
            knapsack.means,
            knapsack.capacity,
            knapsack.variances,
            knapsack.safety,
            seconds,
        )
    )


def by_or_tools(knapsack: Knapsack, seconds: float) -> PeerAnswer:
    """The branch and bound for knapsacks of OR-tools, for whole numbers.

    In a process of its own, as OR-tools holds a HiGHS that does not get on with that of highspy; its seconds
    are those of the solve alone.
    """
    asked = {
        "values": [int(value) for value in knapsack.values],
        "weights": [int(weight) for weight in knapsack.weights],
        "capacity": int(knapsack.capacity),
        "seconds": seconds,
    }
    said = subprocess.run(
        (sys.executable, "-c", _OR_TOOLS), input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    value, proved, clock = json.loads(said.stdout)
    return PeerAnswer(value, proved, clock)


def by_label_setting(knapsack: ChanceKnapsack, seconds: float) -> PeerAnswer:
    """The label setting of Wang et al., a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "knapsack.txt"), Path(folder, "answer.txt")
        rows = zip(knapsack.values, knapsack.means, knapsack.variances, strict=True)
        lines = [f"{len(knapsack)} {decimal_text(knapsack.capacity)} {knapsack.safety:.17g}"]
        lines += [" ".join(map(decimal_text, row)) for row in rows]
        source.write_text("\n".join(lines) + "\n", encoding="ascii")
        before = _children()
        command = (os.environ[LABEL_SETTING], "-i", str(source), "-o", str(answer))
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return PeerAnswer(None, False, _children() - before)
    found = _VALUE.search(said.stdout)
    return PeerAnswer(None if found is None else float(found[1]), found is not None, _children() - before)


def peers() -> Mapping[str, Callable[[Knapsack, float], PeerAnswer]]:
    """Of ordinary knapsacks, those that are at hand."""
    found: dict[str, Callable[[Knapsack, float], PeerAnswer]] = {"highs": by_highs, "scip": by_scip}
    if importlib.util.find_spec("ortools") is not None:
        found["or-tools"] = by_or_tools
    return found


def chance_peers() -> Mapping[str, Callable[[ChanceKnapsack, float], PeerAnswer]]:
    """Of knapsacks with normal weights, those that are at hand."""
    found: dict[str, Callable[[ChanceKnapsack, float], PeerAnswer]] = {"scip": by_scip_with_cone}
    if LABEL_SETTING in os.environ:
        found["label-setting"] = by_label_setting
    return found


def _children() -> float:
    """CPU seconds of processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _highs(knapsack: Knapsack, seconds: float) -> tuple[float | None, bool]:
    engine = quiet_highs()
    for name, value in (
        ("mip_rel_gap", 0.0),
        ("time_limit", seconds),
        ("threads", 1),
    ):
        engine.setOptionValue(name, value)
    count = len(knapsack)
    engine.addVars(count, np.zeros(count), np.ones(count))
    places = np.arange(count, dtype=np.int32)
    engine.changeColsCost(count, places, -np.array([float(value) for value in knapsack.values]))
    engine.changeColsIntegrality(count, places, np.array([highspy.HighsVarType.kInteger] * count))
    weights = np.array([float(weight) for weight in knapsack.weights])
    engine.addRow(-highspy.kHighsInf, float(knapsack.capacity), count, places, weights)
    engine.run()
    proved = engine.getModelStatus() == highspy.HighsModelStatus.kOptimal
    information = engine.getInfo()
    held = information.primal_solution_status == 2  # feasible
    return -information.objective_function_value if held else None, proved


def _scip(
    values: Any, weights: Any, capacity: Any, variances: Any | None, safety: float, seconds: float
) -> tuple[float | None, bool]:
    engine = pyscipopt.Model()
    engine.hideOutput()
    engine.setParam("limits/time", seconds)
    taken = [engine.addVar(vtype="B") for _ in values]
    used = pyscipopt.quicksum(float(w) * x for w, x in zip(weights, taken, strict=True))
    if variances is not None:
        deviation = engine.addVar(lb=0.0)
        spread = pyscipopt.quicksum(float(s) * x * x for s, x in zip(variances, taken, strict=True))
        engine.addCons(spread <= deviation * deviation)
        used = used + safety * deviation
    engine.addCons(used <= float(capacity))
    engine.setObjective(
        pyscipopt.quicksum(float(v) * x for v, x in zip(values, taken, strict=True)), "maximize"
    )
    engine.optimize()
    return engine.getObjVal() if engine.getNSols() else None, engine.getStatus() == "optimal"
