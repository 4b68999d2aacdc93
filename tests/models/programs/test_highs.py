"""The one place that calls solvers: two interfaces to HiGHS, SCIP, options, limits, Ctrl-C."""

import math
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.programs import highs
from depl.models.programs.highs import Session, Status, solve_program


def knapsack(size=0):
    """Values 3, 4 and 5, weights 2, 3 and 4, room 5: the best are the first two, worth 7."""
    model = pyo.ConcreteModel()
    values, weights = [3, 4, 5], [2, 3, 4]
    if size:
        rng = np.random.default_rng(3)
        values, weights = rng.integers(50, 99, size), rng.integers(50, 99, (size // 2, size))
    weights = np.atleast_2d(weights)
    model.x = pyo.Var(range(len(values)), domain=pyo.Binary)
    model.room = pyo.Constraint(
        range(len(weights)),
        rule=lambda b, i: (
            sum(float(w) * b.x[j] for j, w in enumerate(weights[i]))
            <= (float(weights[i].sum()) / 2 if size else 5.0)
        ),
    )
    model.cost = pyo.Objective(expr=-sum(float(v) * model.x[i] for i, v in enumerate(values)))
    return model


def three(model):
    model.more = pyo.Constraint(expr=model.x[0] + model.x[1] + model.x[2] >= 3)


def without_variables(model):
    model.gone = pyo.Constraint(expr=0 * model.x[0] >= 1)


def unbounded(model):
    model.free = pyo.Var()
    model.tied = pyo.Constraint(expr=model.free + model.x[0] <= 1)
    model.cost.set_value(model.cost.expr + model.free)


def upside_down(model):
    model.cost.set_value(-model.cost.expr)
    model.cost.sense = pyo.maximize


INFEASIBLE = (Status.INFEASIBLE, None, math.inf)


@pytest.mark.parametrize("solve_with", ["highs", "scip"])
@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda model: None, (Status.OPTIMAL, pytest.approx(-7), pytest.approx(-7))),
        (upside_down, (Status.OPTIMAL, pytest.approx(7), pytest.approx(7))),
        (three, INFEASIBLE),
        (without_variables, INFEASIBLE),
    ],
)
def test_what_can_be_said_of_a_program_is_an_answer(change, answer, solve_with):
    model = knapsack()
    change(model)
    said = solve_program(model, solve_with=solve_with)
    assert (said.status, said.objective, said.bound) == answer
    if said.proved:
        assert [round(model.x[i].value) for i in model.x] == [1, 1, 0]


@pytest.mark.parametrize(
    ("options", "solve_with", "words"),
    [
        (
            {"mip_rel_gab": 0.0},
            "highs",
            "options.mip_rel_gab: HiGHS has no such .*did you mean 'mip_rel_gap'",
        ),
        ({"mip_feasibility_tolerance": 1e-12}, "highs", "HiGHS refuses the value 1e-12"),
        ({"limits/gap_": 0.0}, "scip", "options.limits/gap_: SCIP has no such option"),
        ({"limits/gap": -1.0}, "scip", "SCIP refuses the value -1.0"),
        ({}, "cplex", "no solver 'cplex'; known are highs, scip"),
        ({}, "missing", r"pip install 'depl\[scip\]', or solve"),
    ],
)
def test_an_unknown_option_a_bad_value_and_an_unknown_solver_are_refused(
    options, solve_with, words, monkeypatch
):
    if solve_with == "missing":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        solve_with = "scip"
    with pytest.raises(InvalidInputError, match=words):
        solve_program(knapsack(), options=options, solve_with=solve_with)


def test_an_unbounded_program_and_a_limit_of_the_solvers_own_are_answers():
    model = knapsack()
    unbounded(model)
    assert solve_program(model).status is Status.UNBOUNDED
    assert Session(knapsack(60), {"mip_max_nodes": 0}).solve().status is Status.OTHER_LIMIT


def test_an_error_of_the_watcher_stops_the_solver_and_comes_through():
    def fail(_):
        raise ValueError("mine")

    session = Session(knapsack(60))
    with pytest.raises(ValueError, match="mine"):
        session.solve(watch=fail)
    assert session._ended.wait(10)


def test_threads_solve_side_by_side_and_after_one_that_does_not_end(monkeypatch):
    """Locks that all objects of highspy share let one of three solve, and none after a solve that goes on."""
    monkeypatch.setattr(highs, "GRACE", 0.1)
    busy = Session(knapsack(60))
    busy._stop, tell = Deaf(), busy._highs.setOptionValue
    busy._highs.setOptionValue = lambda name, value: None if name == "time_limit" else tell(name, value)
    began = time.perf_counter()
    answer = busy.solve(time_limit=0.5)
    assert time.perf_counter() - began < 30  # the limit holds although HiGHS does not listen
    assert (answer.status, math.isfinite(answer.bound)) == (Status.TIME_LIMIT, True)
    assert not busy._ended.is_set()
    assert busy.solve(time_limit=0.5).status is Status.ERROR  # still busy, and says so
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: Session(knapsack(12)).solve(time_limit=60), range(3)))
    threading.Event.set(busy._stop)
    assert {answer.status for answer in answers} == {Status.OPTIMAL}
    assert len({answer.objective for answer in answers}) == 1
    assert busy._ended.wait(20)


class Deaf(threading.Event):
    """Nobody is told to stop by it."""

    def set(self):
        """Nothing."""


ROOT = Path(__file__).resolve().parents[3]
DOORS = {
    "a method": "import depl; depl.solve(depl.load('tiny'), 'milp', scenarios=20)",
    "Pyomo": """
import pyomo.environ as pyo
from depl.models.programs.highs import solve_program
model = pyo.ConcreteModel()
model.x = pyo.Var(bounds=(1, 2))
model.cost = pyo.Objective(expr=model.x)
assert solve_program(model).objective == 1
""",
    "cuts": """
import numpy as np
from depl.models.programs.cut_program import CutProgram
CutProgram(np.zeros(1), np.ones(1)).solve()
""",
    "cvxpy": """
from depl.heuristics.submodular.families import cut
from depl.heuristics.submodular.minimise import lovasz_planes
lovasz_planes(cut(3, [(0, 1)], [2]))
""",
}


@pytest.mark.slow  # a process each; the locked HiGHS does not greet, and `make newest` runs them
@pytest.mark.parametrize("door", DOORS)
def test_the_first_solve_of_a_process_writes_nothing(door):
    done = subprocess.run(
        [sys.executable, "-c", DOORS[door]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
