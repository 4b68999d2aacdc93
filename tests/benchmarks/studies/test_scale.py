"""The study of scale draws what a task says, and what has no plan or was killed has no numbers."""

import numpy as np
import pytest

from depl.benchmarks.studies import scale
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.solving.solve import solve

TASK = {"suite": "full", "sizes": [2, 2, 2, 4], "limit": 20.0, "seed": [3, 1]}


def test_a_task_draws_and_solves_the_instance_of_its_seed(monkeypatch):
    monkeypatch.setattr(scale, "warm_up", lambda method: None)  # nobody reads the seconds here
    sizes = {"clusters": 2, "datasets": 2, "models": 2, "maximum_epochs": 4}
    known = solve(heterogeneous_instance(np.random.default_rng((3, 1)), **sizes), "depl")
    found = scale._run(TASK)
    assert found["cost"] == pytest.approx(known.cost, rel=scale._GAP)
    assert 0 <= found["gap"] <= found["early_gap"] <= 1
    assert found["seconds"] > 0
    assert scale._gap(None, 3.0) == scale._gap(2.0, 0.0) == 1.0
    assert (scale._gap(4.0, 3.0), scale._gap(0.0, 0.0)) == (0.25, 0.0)


def test_a_killed_process_counts_as_one_without_a_plan():
    row = {**TASK, "cost": 2.0, "gap": 0.25, "early_gap": 0.5, "seconds": 1.0, "peak_gibibytes": 3.0}
    hung = {**TASK, "ending": "hung", "peak_gibibytes": None}
    found = scale._figures([{**one, "suite": name} for name in scale._SUITES for one in (row, hung)])
    assert found["full_gaps"] == [0.25, 1.0]
    assert (found["full_without_plan"], found["full_without_gap"], found["full_largest_gibibytes"]) == (
        1,
        1,
        3,
    )
    assert found["regions_largest_seconds"] == float("inf")
