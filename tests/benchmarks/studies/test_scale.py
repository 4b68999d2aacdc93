"""A solve in a process of its own measures that process, draws what it was told to, and reports failures."""

import numpy as np
import pytest

from depl.benchmarks.studies import scale
from depl.benchmarks.studies.scale import Task, lone_solve, solved
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.foundation.errors import DeplError
from depl.models.solving.solve import solve

TASK = Task("heterogeneous", (2, 2, 2, 4), (3, 1), "exact", 20.0, 60.0)


@pytest.fixture(scope="module")
def alone():
    return lone_solve(TASK)


def test_the_process_draws_and_solves_the_instance_of_its_seed(alone):
    sizes = {"clusters": 2, "datasets": 2, "models": 2, "maximum_epochs": 4}
    known = solve(heterogeneous_instance(np.random.default_rng((3, 1)), **sizes), "exact")
    assert alone.cost == pytest.approx(known.cost, rel=scale._GAP)
    assert 0 <= alone.gap <= alone.early_gap <= 1
    assert alone.seconds > 0


def test_the_peak_is_that_of_the_process_itself(alone):
    """This process holds more than the other one by what is allocated here."""
    held = np.ones(2**26)  # half a GiB
    assert 0.05 < alone.gibibytes < 1.0
    assert solved(TASK).gibibytes > 0.6
    assert held.sum() == held.size


def test_what_has_no_plan_has_no_numbers():
    found = solved(TASK._replace(method="scenario-search", planning_seconds=1e-9))
    assert (found.cost, found.gap, found.early_gap) == (None, 1.0, 1.0)


def test_a_process_that_fails_says_why():
    with pytest.raises(DeplError, match="no method 'none'"):
        lone_solve(TASK._replace(method="none"))
