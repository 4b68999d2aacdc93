"""Limits and Ctrl-C: the loop ends in time with a plan and a valid bound, also inside the tree of HiGHS."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from depl.models.programs.loop import solve_sampled
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.sampled_plans import HARD_OPTIMUM, hard_problem, meets_all

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def hard():
    return hard_problem()


@pytest.fixture(scope="module")
def followed(hard):
    """A search that ends with a gap, and its rows of progress."""
    rows = []
    limits = Limits(gap=0.3, time_limit=60, progress=lambda *row: rows.append(row))
    return solve_sampled(hard, limits=limits), rows


def test_a_wanted_gap_ends_the_search_with_a_certificate(followed):
    check_gap(followed[0], 0.3)


def check_gap(found, gap):
    assert found.termination is Termination.GAP_REACHED
    assert found.cost - found.lower_bound <= gap * found.cost
    assert found.lower_bound <= HARD_OPTIMUM <= found.cost * (1 + 1e-9)


@pytest.mark.parametrize(
    "seconds",  # a busy machine needs one to begin; by default rows of progress are asked within a limit
    [1e-6, pytest.param(4.0, marks=pytest.mark.slow)],
)
def test_at_the_time_limit_there_is_a_plan_and_a_valid_bound(hard, seconds):
    limits = Limits(time_limit=seconds)
    found = solve_sampled(hard, limits=limits)
    assert found.termination is Termination.TIME_LIMIT
    assert 0 <= found.lower_bound <= HARD_OPTIMUM * (1 + 1e-9)
    assert found.reason if found.choices is None else found.cost >= HARD_OPTIMUM * (1 - 1e-9)
    if seconds > 1:
        assert meets_all(hard, tuple(found.choices))
        assert found.lower_bound > 0.3 * HARD_OPTIMUM


def test_rows_of_progress_close_in_on_the_optimum(followed):
    check_rows(followed[1])


@pytest.mark.slow
def test_rows_of_progress_up_to_a_time_limit_close_in_on_the_optimum(hard):
    rows = []
    solve_sampled(hard, limits=Limits(time_limit=1.5, progress=lambda *row: rows.append(row)))
    check_rows(rows)


def check_rows(rows):
    assert len(rows) > 2
    seconds, costs, bounds = (np.array(column) for column in zip(*rows, strict=True))
    assert (np.diff(seconds) >= 0).all()
    assert (np.diff(costs) <= 0).all()
    assert (bounds <= costs).all()
    assert bounds.max() > 0.3 * HARD_OPTIMUM
    assert bounds.max() <= HARD_OPTIMUM * (1 + 1e-9)


def test_an_interrupt_at_any_row_of_progress_gives_the_incumbent(hard):
    for stop in (1, 4):
        rows = []

        def press(*row, rows=rows, stop=stop):
            rows.append(row)
            if len(rows) == stop:
                raise KeyboardInterrupt

        found = solve_sampled(hard, limits=Limits(progress=press))
        assert found.termination is Termination.INTERRUPTED
        assert meets_all(hard, tuple(found.choices))
        assert found.lower_bound <= HARD_OPTIMUM <= found.cost * (1 + 1e-9)


SCRIPT = """
import sys
import depl
from tests.cases.sampled_plans import hard_problem

def tell(seconds, cost, bound):
    if bound > 1:
        print("inside", file=sys.stderr, flush=True)

problem = hard_problem()
result = depl.solve(problem.instance, sys.argv[1], scenarios=problem.scenarios, progress=tell)
print(result.to_json())
"""


def test_ctrl_c_inside_the_tree_of_highs_gives_the_incumbent():
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "milp"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a child of a shell's background job would ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stderr.readline().strip() == "inside"
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=20)
    assert child.returncode == 0, errors
    result = json.loads(output)
    assert result["termination"] == "interrupted"
    assert result["solution"] == "feasible"
    assert 1 < result["lower_bound"] <= HARD_OPTIMUM <= result["cost"] * (1 + 1e-9)
