"""Policies counted over combinations of runs, against every combination followed by itself."""

import numpy as np
import pytest

from depl.models.policy import planner
from depl.models.policy.solve import solve_policy
from tests.cases.memory_cases import instance_of, random_law
from tests.oracles.policy_counting import Counting


@pytest.mark.parametrize("seed", range(12))
def test_cost_and_probability_are_those_of_every_combination_followed_by_itself(seed, monkeypatch):
    monkeypatch.setattr(planner, "GRIDS", (512,))
    rng = np.random.default_rng(seed)
    law = random_law(
        rng,
        residuals="per_run",
        scale="log" if rng.random() < 0.4 else "loss",
        deviations=(-0.03, 0.0, 0.05) if rng.random() < 0.5 else (),
        **({"diverged": 1, "unseen_loss": 9.0} if seed % 3 == 0 else {}),
    )
    instance = instance_of(
        law,
        round_deadline=6.0,
        maximum_time=None,
        maximum_epochs=int(rng.integers(2, 5)),
        maximum_loss=round(float(rng.uniform(0.7, 1.5)), 2),
        quantile_level=0.3,
    )
    found = solve_policy(instance, gap=1e-3)
    assert found.policy is not None
    counting = Counting(found.policy, law)
    assert found.cost == pytest.approx(float(counting.cost), rel=1e-9)
    assert found.cost >= float(counting.cost)
    assert found.reached == pytest.approx(float(counting.reached), rel=1e-14)
    assert found.reached <= counting.reached
