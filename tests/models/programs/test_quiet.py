"""HiGHS writes nothing on standard output, whoever makes the first object of a process."""

import subprocess
import sys
from pathlib import Path

import pytest

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
