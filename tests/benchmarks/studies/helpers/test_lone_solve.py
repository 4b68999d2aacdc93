"""A solve in a process of its own measures that process, draws what it was told to, and reports failures."""

import msgspec
import numpy as np
import pytest

from depl.benchmarks.studies.helpers.lone_solve import LoneSolveError, Task, lone_solve, measure
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.solving.solve import solve

SIZES = {"clusters": 2, "datasets": 2, "models": 2, "maximum_epochs": 4}
TASK = Task(**SIZES, seed=(3, 1), method="exact", time_limit=20.0, gap=0.0)


@pytest.fixture(scope="module")
def alone():
    return lone_solve(TASK)


def test_the_process_draws_and_solves_the_instance_of_its_seed(alone):
    instance, reference = heterogeneous_instance_with_plan(np.random.default_rng((3, 1)), **SIZES)
    known = solve(instance, "exact")
    assert alone.termination == "optimal"
    assert alone.cost == pytest.approx(known.cost, rel=1e-12)
    assert alone.gap == 0
    assert alone.reference_cost == pytest.approx(evaluate(instance, reference, quantile=False).cost)
    assert alone.cost <= alone.reference_cost
    assert alone.epochs == known.epochs


def test_seconds_with_verification_are_more_than_those_of_the_method(alone):
    assert 0 < alone.planning_seconds < alone.seconds


def test_the_peak_is_that_of_the_process_itself(alone):
    """This process holds more than the other one by what is allocated here."""
    held = np.ones(2**26)  # half a GiB
    assert 0.05 < alone.peak_gibibytes < 1.0
    assert measure(TASK).peak_gibibytes > 0.6
    assert held.sum() == held.size


def test_what_has_no_plan_has_no_numbers():
    found = measure(msgspec.structs.replace(TASK, method="scenario-search", time_limit=1e-9))
    assert found.termination == "time_limit"
    assert found.epochs is None
    assert found.cost is None


def test_a_process_that_fails_says_why():
    with pytest.raises(LoneSolveError, match="no method 'none'"):
        lone_solve(msgspec.structs.replace(TASK, method="none"))
