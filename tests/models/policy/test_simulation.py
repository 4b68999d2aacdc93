"""Simulated runs agree with the tree of all losses, and refute what is claimed too boldly."""

import math

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.policy import follow, planning
from depl.models.policy.simulation import RISK, Simulation, _bernstein, simulate
from depl.models.problem.laws import Empirical
from depl.models.risk.sampling import both_ends
from tests.cases.policy_cases import tiny
from tests.oracles.policy_processes import tree_of


@pytest.fixture
def planned(monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (128,))
    instance = tiny(
        Empirical(values=(-0.1, 0.1, 0.3), weights=(1.0, 1.0, 2.0)),
        Empirical(values=(0.1, 0.4)),
        prices=(1.0, 2.1),
        maximum_loss=0.35,
        quantile_level=0.45,
    )
    return instance, planning.solve_policy(instance, gap=0.0).policy


def claiming(policy, **claims):
    return msgspec.structs.replace(policy, certificate=msgspec.structs.replace(policy.certificate, **claims))


def test_shares_and_costs_are_those_of_the_tree_and_nothing_is_refuted(planned):
    instance, policy = planned
    found = simulate(instance, policy, 20_000, seed=4)
    cost, failure = (float(x) for x in tree_of(instance).followed(policy))
    assert found.refuted == ()
    assert found.reached + found.abandoned + found.exhausted + found.beyond == found.runs == 20_000
    low, high = found.reached_interval
    assert low <= 1 - failure <= high
    assert found.cost_interval[0] <= cost <= found.cost_interval[1]
    assert found.epochs == pytest.approx(depl.evaluate_policy(instance, policy).course.epochs, abs=0.05)
    assert found.deviation <= found.greatest_cost / 2


def test_claims_that_are_too_bold_are_refuted(planned):
    instance, policy = planned
    cost, failure = (float(x) for x in tree_of(instance).followed(policy))
    bold = simulate(instance, claiming(policy, reached=1 - failure + 0.02, cost=cost * 0.98), 200_000)
    assert [text.partition(":")[0] for text in bold.refuted] == [
        f"P(reached) >= {1 - failure + 0.02:.9g}",
        f"expected cost <= {cost * 0.98:.9g}",
    ]


def test_a_policy_of_another_instance_or_of_no_epoch_that_is_allowed_is_refused(planned):
    instance, policy = planned
    other = instance.replace(deployable=("large",))
    bold = msgspec.structs.replace(policy, instance=other.fingerprint)
    for asked, words in (
        ((instance.replace(maximum_loss=0.36), policy), "another instance"),
        ((instance, policy, 0), "must be 1 to"),
        ((other, bold), "does not allow 'small' to be the last model"),
    ):
        with pytest.raises(depl.InvalidInputError, match=words):
            simulate(*asked)


def test_a_ledger_that_falls_below_the_loss_is_noticed(planned, monkeypatch):
    instance, policy = planned
    monkeypatch.setattr(
        follow, "rounded_indices", lambda values, step, up: np.floor(values / step).astype(np.int64)
    )
    assert any("never below the loss: it was" in text for text in simulate(instance, policy, 100).refuted)


def test_intervals_are_those_of_clopper_and_pearson_and_of_maurer_and_pontil():
    for count, runs in ((0, 10), (3, 10), (10, 10)):
        exact = stats.binomtest(count, runs).proportion_ci(0.95, "exact")
        assert both_ends(count, runs, 0.05) == pytest.approx((exact.low, exact.high), abs=1e-9)
    result = Simulation(101, 0, 0, 0, 0, 3.0, 2.0, 1.0, 10.0)
    wanted = math.sqrt(2 * 4 * math.log(2 / RISK) / 101) + 70 * math.log(2 / RISK) / 300
    assert _bernstein(result) == pytest.approx(wanted)
