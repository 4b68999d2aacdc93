"""Policies against trees of all losses, with which planning shares no code; simulated and recorded runs."""

import math
from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.instances.spent_promise import COSTS, VIOLATION, spent_promise
from depl.models.policy import follow, planning
from depl.models.policy.follow import RISK, Simulation, _bernstein, replay, simulate
from depl.models.policy.planning import solve_policy
from depl.models.problem.laws import Empirical
from depl.models.problem.policy import STOP, Policy
from depl.models.risk.sampling import both_ends
from depl.models.solving.result import Termination
from tests.cases.memory_cases import instance_of, random_law
from tests.cases.policy_cases import TWO, claiming, judge, random_tiny, tiny
from tests.cases.policy_files import BIG, LITTLE, branches, node, replayed, training
from tests.cases.same_runs import table
from tests.oracles.policy_processes import hull, traced_tree_of, tree_of
from tests.problems import atoms, refusal


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Cells enough for the lattices of `tiny` instances of three epochs."""
    monkeypatch.setattr(planning, "GRIDS", (65_536,))


def random_traced(seed):
    """An instance with a law of runs or of their logarithms; and whether runs may be given up at once."""
    rng = np.random.default_rng(seed)
    law = random_law(rng, residuals="independent", scale="log" if rng.random() < 0.4 else "loss")
    instance = instance_of(
        law,
        round_deadline=6.0,
        maximum_time=None,
        maximum_epochs=2,
        maximum_loss=round(float(rng.uniform(0.7, 1.5)), 2),
        quantile_level=round(float(rng.uniform(0.2, 0.9)), 2),
        deployable=("cut",) if rng.random() < 0.3 else None,
    )
    return instance, bool(rng.random() < 0.3)


def solved(instance, **options):
    try:
        return solve_policy(instance, gap=1e-3, time_limit=None, **options)
    except depl.NotCoveredError as error:
        if "no policy is certified to reach" in str(error) or "trained first" in str(error):
            return None  # no success to be bought, or no model to begin with
        raise


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_that_lists_every_policy_has_the_same_best_ones(seed):
    tree = tree_of(random_tiny(np.random.default_rng(seed), epochs=2), abandon_at_start=bool(seed % 2))
    assert hull(replace(tree, kept=set, _points={}).policies()) == tree.policies()


@pytest.mark.parametrize("seed", range(16))
def test_no_bound_is_above_the_best_policy_and_no_certificate_bolder_than_the_tree(seed):
    """Also where runs may be given up at once; there the least ratio is enclosed as narrowly."""
    instance, abandon = random_tiny(np.random.default_rng(seed)), seed % 3 == 2
    found, tree = solved(instance, abandon_at_start=abandon), tree_of(instance, abandon_at_start=abandon)
    if found is not None:
        judge(instance, tree, found)
        if found.ratio is not None:
            ratio = float(tree.ratio())
            assert ratio * (1 - 2e-3) <= found.ratio[0] <= found.ratio[1] <= ratio * (1 + 2e-3)


@pytest.mark.parametrize("seed", range(100, 108))
def test_neither_is_so_under_laws_of_runs_whose_first_loss_is_random(seed, monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (2048,))
    instance, abandon = random_traced(seed)
    found = solved(instance, abandon_at_start=abandon)
    if found is not None:
        judge(instance, traced_tree_of(instance, abandon_at_start=abandon), found)


@pytest.mark.parametrize("seed", range(200, 203))
def test_the_price_of_a_failure_is_that_of_the_first_grid_and_bounds_hold_at_the_last_one(seed, monkeypatch):
    instance, abandon = random_traced(seed)
    monkeypatch.setattr(planning, "GRIDS", (128, 512, 2048))
    monkeypatch.setattr(planning, "_FIRST_WORK", 1)
    found = solved(instance, abandon_at_start=abandon)
    if found is None or found.policy is None:
        return
    judge(instance, traced_tree_of(instance, abandon_at_start=abandon), found)
    assert found.failure_cost == pytest.approx(1.5 * found.ratio[1], rel=1e-12)
    assert found.policy.failure_cost == found.failure_cost
    assert depl.evaluate_policy(instance, found.policy).ok


def test_a_price_below_the_cost_of_a_success_is_refused_and_one_above_it_never_quits_at_once():
    instance = tiny(atoms(0.1, 0.4), atoms(0.2, 0.6), quantile_level=0.5)
    ratio = float(tree_of(instance).ratio())
    assert "not to train would be best" in str(refusal(solve_policy, instance, failure_cost=0.999 * ratio))
    found = solve_policy(instance, failure_cost=1.001 * ratio, abandon_at_start=True)
    policy = found.policy
    index = round((1.0 - policy.grid.origin) / policy.grid.step)  # the ledger holds this loss exactly
    assert next(row.action for row in policy.nodes[0].rows if index <= row.upto) != STOP


def test_a_policy_keeps_the_promise_that_planning_again_with_the_same_omega_spends():
    """Who plans again delivers 0.70 or 347/380 (u = 5/19); the policy 0.95, for less than the plan."""
    instance = spent_promise()
    found, tree = solve_policy(instance, gap=1e-6), tree_of(instance)
    cost, failure = tree.followed(found.policy)
    assert failure == VIOLATION
    assert found.policy.certificate.exactly == "19/20"
    assert depl.evaluate_policy(instance, found.policy).ok
    assert (found.cost, found.reached) == pytest.approx((float(cost), 0.95), rel=1e-9)
    rho, budget = Fraction(found.failure_cost), instance.target.violation_budget
    assert found.objective == pytest.approx(float(tree.best(rho, budget)), rel=1e-9)
    assert found.cost < sum(COSTS[name] for name in ("full", "distilled"))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_promised_with_equality_is_found_and_a_little_more_is_proved_infeasible(seed):
    rng = np.random.default_rng(seed)
    small, large = (np.sort(rng.choice(np.arange(-1, 5), 2, replace=False)) / 8 for _ in range(2))
    given = {"maximum_loss": 0.5, "maximum_epochs": 3, "switches": (), "quantile_level": 0.5}
    instance = tiny(*(Empirical(values=tuple(x.tolist())) for x in (small, large)), **given)
    least = tree_of(instance).least_failure()
    if not 0 < least < 1:
        return
    instance = instance.replace(quantile_level=float(1 - least))  # dyadic, so it is this number
    found = solve_policy(instance, time_limit=None)
    assert found.policy is not None, found.reason
    assert tree_of(instance).followed(found.policy)[1] == least
    assert Fraction(found.policy.certificate.exactly) == 1 - least
    assert depl.evaluate_policy(instance, found.policy).ok
    more = instance.replace(quantile_level=float(1 - least) + 1e-6)
    assert solve_policy(more, time_limit=None).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("claim", ["20/21", "1/1"])
def test_a_fraction_that_is_more_than_the_chain_delivers_is_objected_to(claim):
    instance = spent_promise()
    policy = solve_policy(instance, gap=1e-6).policy
    report = depl.evaluate_policy(instance, claiming(policy, exactly=claim))
    assert [item.equation for item in report.failures] == ["(3)"]
    wrong = policy.to_json().replace('"19/20"', '"21/20"')
    assert "is no probability" in str(refusal(Policy.from_json, wrong))


# --- runs that follow a policy --------------------------------------------------------------------------


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
    assert simulate(instance, policy, 1).refuted == ()


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


def test_every_seed_is_followed_along_the_decisions_of_the_policy():
    found = replay(replayed(), branches())
    assert [(run.seed, run.epochs, run.switched, run.cost, run.end) for run in found.runs] == [
        ("a", 2, 1, 3.0, "reached"),  # 1.5 is low enough to switch, and then 0.9
        ("b", 3, 2, 5.0, "reached"),  # 1.9 is not; 1.6 in the second epoch, and then 0.6
        ("c", 2, 1, 3.0, "reached"),  # 0.9 would do, but big may not be the last
        ("d", 0, None, 0.0, "beyond"),  # 5.0 is above the grid
    ]
    assert (found.delivered, found.cost) == (0.75, 2.75)
    tables = pytest.approx((0.19412, 0.99369), abs=1e-5)  # of Clopper and Pearson
    assert found.delivered_interval == tables


def of_one_seed(*trained, first=0):
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
