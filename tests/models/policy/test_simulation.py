"""Runs that follow a policy: simulated ones agree with the tree of all losses, recorded ones by hand."""

import math

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.policy import follow, planning
from depl.models.policy.replay import replay
from depl.models.policy.simulation import RISK, Simulation, _bernstein, simulate
from depl.models.risk.sampling import both_ends
from depl.models.traces.table import Traces
from tests.cases.policy_cases import TWO, claiming
from tests.cases.policy_files import BIG, LITTLE, branches, node, replayed, training
from tests.cases.same_runs import table
from tests.oracles.policy_processes import tree_of


@pytest.fixture
def planned(monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (128,))
    return TWO, planning.solve_policy(TWO, gap=0.0).policy


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


# --- recorded runs ---------------------------------------------------------------------------------------


def test_every_seed_is_followed_along_the_decisions_of_the_replayed():
    found = replay(replayed(), branches())
    assert [(run.seed, run.epochs, run.switched, run.cost, run.end) for run in found.runs] == [
        ("a", 2, 1, 3.0, "reached"),  # 1.5 is low enough to switch, and then 0.9
        ("b", 3, 2, 5.0, "reached"),  # 1.9 is not; 1.6 in the second epoch, and then 0.6
        ("c", 2, 1, 3.0, "reached"),  # 0.9 would do, but big may not be the last
        ("d", 0, None, 0.0, "beyond"),  # 5.0 is above the grid
    ]
    assert (found.delivered, found.cost, found.per_success) == (0.75, 2.75, 11 / 3)
    tables = pytest.approx((0.19412, 0.99369), abs=1e-5)  # of Clopper and Pearson
    assert found.delivered_interval == tables
    assert found.cost_interval[0] < 2.75 < found.cost_interval[1]


def of_one_seed(*trained: tuple[tuple[str, str], float], first: int = 0) -> Traces:
    """A branch with the given models and losses, from a first epoch on."""
    pairs, losses = zip(*trained, strict=True)
    return table({"s/1": losses}, first, pairs[1 - first :])


OTHER = of_one_seed((LITTLE, 2.0), (LITTLE, 1.5), (("other", "edge"), 1.0))
NOTHING = of_one_seed((BIG, 2.0), (BIG, 0.0), (LITTLE, 1.0))


@pytest.mark.parametrize(
    ("scale", "runs", "words"),
    [
        ("loss", branches("b", (1,)), r"run 'b/1', epoch 2: it was trained for 1 epochs only"),
        ("loss", branches("a", (2,)), r"run 'a/2', epoch 1: no branch of it switches"),
        ("loss", OTHER, r"run 's/1', epoch 0: the policy goes on with 'big' on 'edge', which no run did"),
        ("log", NOTHING, r"epoch 1: a loss of 0 has no logarithm"),
    ],
)
def test_what_was_not_trained_is_refused_with_run_and_epoch(scale, runs, words):
    with pytest.raises(depl.NotCoveredError, match=words):
        replay(replayed(scale), runs)


def test_a_run_begins_without_its_first_loss_where_the_policy_does_not_decide_on_it():
    forgetful = node(0, None, (training(BIG, 1, 1.5, 0.0, 2.0),), ((39, 0),), False)
    unseen = of_one_seed((BIG, 1.5), (LITTLE, 0.9), first=1)
    for state in ("observed", "ledger"):
        found = replay(replayed(first=forgetful, state=state), unseen)
        assert [(run.epochs, run.switched, run.end) for run in found.runs] == [(2, 1, "reached")]
    with pytest.raises(depl.NotCoveredError, match="epoch 0: the loss was not evaluated there"):
        replay(replayed(), unseen)
