"""Policies counted over combinations of runs, against every combination followed by itself."""

import msgspec
import numpy as np
import pytest

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy import planning
from depl.models.policy.counted import counted
from depl.models.policy.counted_planner import Caps
from depl.models.policy.planning import solve_policy
from depl.models.verifier.policies import verify_policy
from tests.cases.counted_policies import of_all_ways, of_two_switches
from tests.cases.memory_cases import instance_of, random_law
from tests.oracles.policy_counting import Counting


def test_no_stage_begins_later_than_those_that_lend_to_it():
    instance = of_two_switches()
    for caps in (Caps(2, 1), Caps(1, 3)):
        assert counted(of_all_ways(instance, caps), instance.traced_law).runs == 12
    with pytest.raises(NotCoveredError, match=r"outside the support.*began with it after 2 epochs or more"):
        counted(of_all_ways(instance, Caps(2, 3)), instance.traced_law)


def test_the_verifier_objects_to_a_stage_that_begins_later_than_those_that_lend_to_it():
    instance = of_two_switches()
    for caps, late in ((Caps(1, 3), False), (Caps(2, 1), False), (Caps(2, 3), True)):
        policy = of_all_ways(instance, caps)
        claims = msgspec.structs.replace(policy.certificate, method="counted", cost=1e9, reached=0.3, runs=12)
        report = verify_policy(instance, msgspec.structs.replace(policy, certificate=claims))
        told = [item.message for item in report.failures if item.equation == "support"]
        assert told == ["'cut' on 'edge' may begin after 2 epochs, its donors 1 at most"] * late


def test_planning_takes_the_stages_that_runs_lend_to():
    instance = of_two_switches()
    policy = solve_policy(instance, time_limit=None).policy
    assert policy is not None
    assert verify_policy(instance, policy).ok


@pytest.mark.parametrize("seed", range(12))
def test_cost_and_probability_are_those_of_every_combination_followed_by_itself(seed, monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (512,))
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
