"""Counted policies checked: every combination once more, and every altered field objected to."""

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.counted import counted
from depl.models.policy.planning import solve_policy
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier import policy_ends
from depl.models.verifier.policies import verify_policy
from depl.models.verifier.policy_ends import Count
from depl.models.verifier.policy_walk import walked
from tests.cases.memory_cases import instance_of, random_law
from tests.oracles.policy_counting import Counting


@cache
def planned(seed: int) -> tuple[Instance, TracedLaw, Policy]:
    rng = np.random.default_rng(seed)
    law = random_law(
        rng,
        residuals="per_run",
        scale="log" if seed % 4 == 3 else "loss",
        deviations=(-0.03, 0.05) if rng.random() < 0.5 else (),
        **({"diverged": 1, "unseen_loss": 9.0} if seed % 3 == 0 else {}),
    )
    instance = instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=1.0, quantile_level=0.3
    )
    policy = solve_policy(instance).policy
    assert policy is not None
    return instance, law, policy


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_what_is_counted_is_what_planning_and_every_combination_by_itself_say(seed):
    instance, law, policy = planned(seed)
    found, oracle = Count(policy, walked(instance, policy), law), Counting(policy, law)
    assert found.ends["reached"] == oracle.reached
    assert float(found.cost) == pytest.approx(
        float(oracle.cost), rel=1e-14
    )  # prices may differ in a last bit
    assert sum(found.ends.values()) == 1
    other = counted(policy, law)
    assert found.ends["reached"] == other.reached
    assert float(found.cost) == pytest.approx(other.cost, rel=1e-10)
    assert found.ends["unlike"] == other.unlike
    assert found.fewest == other.runs
    report = verify_policy(instance, policy)
    assert report.ok, report.failures
    assert {item.subject for item in report.checked} >= {"cost", "reached", "runs"}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("claim: reached", lambda d: d["certificate"].update(reached=d["certificate"]["reached"] + 1e-9)),
        ("claim: cost", lambda d: d["certificate"].update(cost=d["certificate"]["cost"] * (1 - 1e-9))),
        ("claim: runs", lambda d: d["certificate"].update(runs=d["certificate"]["runs"] + 1)),
        ("claim: lower_bound", lambda d: d["certificate"].update(lower_bound=1e4)),
        ("claim: ratio", lambda d: d["certificate"].update(ratio=[1e9, 1.0])),
        ("state", lambda d: d["certificate"].update(method="none")),
        ("state", lambda d: d.update(state="ledger")),
        ("law", lambda d: d["nodes"][0]["trainings"][0].update(shift=1.0)),
        ("law", lambda d: d["nodes"][0]["trainings"][0].update(retention=0.123)),
        ("failure_cost", lambda d: d.update(failure_cost=d["failure_cost"] / 4)),
    ],
)
def test_what_is_altered_is_objected_to(rule, change):
    """What all policies share is altered in `test_policies`."""
    instance, _, policy = planned(2)
    document = json.loads(policy.to_json())
    change(document)
    report = verify_policy(instance, Policy.from_json(json.dumps(document)))
    assert not report.ok
    assert rule in {item.equation for item in report.failures}


def test_rows_that_are_moved_change_what_is_counted_or_are_harmless():
    instance, law, policy = planned(2)
    document, objected = json.loads(policy.to_json()), 0
    for number, node in enumerate(document["nodes"]):
        for row in range(len(node["rows"]) - 1):
            for move in (-40, -7, 7, 40):
                other = json.loads(policy.to_json())
                other["nodes"][number]["rows"][row]["upto"] += move
                try:
                    moved = Policy.from_json(json.dumps(other))
                except InvalidInputError:
                    continue
                if not verify_policy(instance, moved).ok:
                    objected += 1
                    continue
                oracle = Counting(moved, law)
                assert oracle.reached >= Fraction(moved.certificate.reached)
                assert float(oracle.cost) <= moved.certificate.cost * (1 + 1e-12)
    assert objected > 0


def test_a_policy_of_one_law_is_not_counted_under_another():
    instance, law, policy = planned(2)
    for residuals, deviations in (("independent", ()), ("per_run", (0.1,))):
        changed = instance.replace(
            traced_law=TracedLaw(
                runs=law.runs, steps=law.steps, jumps=law.jumps, residuals=residuals, deviations=deviations
            )
        )
        document = json.loads(policy.to_json()) | {"instance": changed.fingerprint}
        report = verify_policy(changed, Policy.from_json(json.dumps(document)))
        assert not report.ok


def test_more_combinations_than_are_kept_are_left_undecided(monkeypatch):
    instance, _, policy = planned(2)
    monkeypatch.setattr(policy_ends, "MOST_TOGETHER", 3)
    report = verify_policy(instance, policy)
    assert not report.ok
    assert "more than 3 combinations" in report.failures[0].message
