"""Numbers of numpy given to `solve` and returned to it are numbers everywhere."""

import json

import numpy as np
import pytest

from depl.models.solving.methods import Outcome, register
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve


@pytest.mark.parametrize("method", ["exact", "depl-paper", "scenario-search"])
def test_numbers_of_numpy_are_numbers_everywhere(tiny, method):
    """The same solve by plain numbers is the oracle; results and plans must be written as well."""
    options = {"eta": np.int64(50)} if method == "depl-paper" else {}
    scenarios = {"scenarios": np.int64(20)} if method == "scenario-search" else {}
    instance = tiny.replace(
        maximum_loss=np.float64(6.5), quantile_level=np.float64(0.7), maximum_epochs=np.int64(3)
    )
    assert instance.fingerprint == tiny.fingerprint
    limits = {"gap": np.float64(0.01), "time_limit": np.float64(60), "seed": np.int64(3)}
    found = solve(instance, method, **limits, **scenarios, options=options)
    plain = solve(
        tiny,
        method,
        gap=0.01,
        time_limit=60.0,
        seed=3,
        **{name: int(value) for name, value in scenarios.items()},
        options={name: int(value) for name, value in options.items()},
    )
    assert found.plan == plain.plan
    again = json.loads(found.to_json())
    assert (again["cost"], again["lower_bound"], again["seed"]) == (plain.cost, plain.lower_bound, 3)
    assert again["plan"] == json.loads(plain.to_json())["plan"]


def test_a_bound_of_numpy_is_written(tiny, tiny_optimum, own_methods):
    outcome = Outcome(Termination.EXHAUSTED, tiny_optimum, np.float64(3))
    register("bounded-by-numpy", lambda instance, limits: outcome)
    assert json.loads(solve(tiny, "bounded-by-numpy").to_json())["lower_bound"] == 3
