"""Solvers of others on knapsacks, ordinary and with normal weights: each says its value and CPU seconds.

OR-tools is used where it can be imported, and the label setting of Wang et al. (github.com/AGNORT/SMKP) where
`LABEL_SETTING` names its program: neither is a dependency. That program is built from its sources with an
empty file in place of the header of a commercial solver, which its own algorithm does not use.
"""

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, milp

from depl.benchmarks.measure.outcome import cpu_seconds
from depl.instances.knapsack_files import decimal_text
from depl.instances.reductions.chance import ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack

LABEL_SETTING = "DEPL_LABEL_SETTING"
"""Environment variable with the path of the program of Wang et al."""

_OR_TOOLS = """
import json, sys, time
from ortools.algorithms.python import knapsack_solver

seconds, *asked = json.load(sys.stdin)
kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
engine = knapsack_solver.KnapsackSolver(kind, "depl")
engine.set_time_limit(seconds)
began = time.process_time()
engine.init(*asked)
value = engine.solve()
print(json.dumps([float(value), bool(engine.is_solution_optimal()), time.process_time() - began]))
"""
_VALUE = re.compile(r"The best solution obtained by my labelsetting algorithm is: (\d+)")


class PeerAnswer(NamedTuple):
    """What a solver found, None if nothing; whether it calls that optimal; CPU seconds."""

    value: float | None
    proved: bool
    seconds: float


def by_highs(knapsack: Knapsack, seconds: float) -> PeerAnswer:
    """HiGHS, a gap of 0."""
    began = time.process_time()
    found = milp(
        -np.array(knapsack.values, dtype=float),
        integrality=1,
        bounds=(0, 1),
        constraints=LinearConstraint(np.array([knapsack.weights], dtype=float), ub=float(knapsack.capacity)),
        options={"mip_rel_gap": 0.0, "time_limit": seconds},
    )
    value = None if found.x is None else -float(found.fun)
    return PeerAnswer(value, found.status == 0, time.process_time() - began)


def by_scip(knapsack: Knapsack | ChanceKnapsack, seconds: float) -> PeerAnswer:
    """SCIP, which is given a second-order cone where weights are normal."""
    import pyscipopt  # optional, so imported where it is used

    began = time.process_time()
    engine = pyscipopt.Model()
    engine.hideOutput()
    engine.setParam("limits/time", seconds)
    taken = [engine.addVar(vtype="B") for _ in knapsack.values]

    def total(amounts: Any) -> Any:
        return pyscipopt.quicksum(float(each) * x for each, x in zip(amounts, taken, strict=True))

    if isinstance(knapsack, ChanceKnapsack):
        deviation = engine.addVar(lb=0.0)
        squares = (float(each) * x * x for each, x in zip(knapsack.variances, taken, strict=True))
        engine.addCons(pyscipopt.quicksum(squares) <= deviation * deviation)
        used = total(knapsack.means) + knapsack.safety * deviation
    else:
        used = total(knapsack.weights)
    engine.addCons(used <= float(knapsack.capacity))
    engine.setObjective(total(knapsack.values), "maximize")
    engine.optimize()
    value = engine.getObjVal() if engine.getNSols() else None
    return PeerAnswer(value, engine.getStatus() == "optimal", time.process_time() - began)


def by_or_tools(knapsack: Knapsack, seconds: float) -> PeerAnswer:
    """The branch and bound for knapsacks of OR-tools, for whole numbers.

    In a process of its own, as OR-tools holds a HiGHS that does not get on with that of highspy; its seconds
    are those of the solve alone.
    """
    asked = list(map(int, knapsack.values)), [list(map(int, knapsack.weights))], [int(knapsack.capacity)]
    given, command = json.dumps([seconds, *asked]), (sys.executable, "-c", _OR_TOOLS)
    said = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return PeerAnswer(*json.loads(said.stdout))


def by_label_setting(knapsack: ChanceKnapsack, seconds: float) -> PeerAnswer:
    """The label setting of Wang et al., a process of its own."""
    began, said = cpu_seconds(), ""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "knapsack.txt"), Path(folder, "answer.txt")
        rows = zip(knapsack.values, knapsack.means, knapsack.variances, strict=True)
        lines = [f"{len(knapsack)} {decimal_text(knapsack.capacity)} {knapsack.safety:.17g}"]
        lines += [" ".join(map(decimal_text, row)) for row in rows]
        source.write_text("\n".join(lines) + "\n", encoding="ascii")
        command = (os.environ[LABEL_SETTING], "-i", str(source), "-o", str(answer))
        with contextlib.suppress(subprocess.TimeoutExpired):
            said = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=False
            ).stdout
    found = _VALUE.search(said)
    return PeerAnswer(found and float(found[1]), found is not None, cpu_seconds() - began)


def peers(knapsack: Knapsack | ChanceKnapsack) -> Mapping[str, Callable[[Any, float], PeerAnswer]]:
    """The solvers for a knapsack that are at hand."""
    scip = {} if importlib.util.find_spec("pyscipopt") is None else {"scip": by_scip}
    if isinstance(knapsack, ChanceKnapsack):
        return scip | ({"label-setting": by_label_setting} if LABEL_SETTING in os.environ else {})
    others = {} if importlib.util.find_spec("ortools") is None else {"or-tools": by_or_tools}
    return {"highs": by_highs, **scip, **others}
