"""Policies of tiny and shipped instances: promises, bounds, time, what is counted over runs, and refusals."""

import itertools
from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.models.foundation.errors import NotCoveredError
from depl.models.policy import follow as counting
from depl.models.policy import planning, request
from depl.models.policy.dynamic import Price, Table
from depl.models.policy.follow import counted, simulate
from depl.models.policy.grid import Grid
from depl.models.policy.planning import Caps, capped, proxy, solve_policy
from depl.models.policy.process import keeps_time, process
from depl.models.policy.request import Request, policy_of
from depl.models.problem.laws import Normal
from depl.models.problem.policy import STOP
from depl.models.solving.result import Termination
from tests.cases.memory_cases import CUT, FULL, fitted, instance_of, run_of
from tests.cases.policy_cases import claiming, judge, tiny
from tests.oracles.policy_processes import tree_of
from tests.problems import atoms


@pytest.mark.parametrize(("rung", "gain", "above"), [("static", 0.3, 1e-9), ("optimal", 0.150321049, 1e-6)])
def test_a_plan_that_is_certain_is_the_policy_however_little_it_has_to_spare_and_none_if_missed(
    rung, gain, above
):
    """Two epochs are needed; no grid of 262,144 cells tells apart what they end with and the target."""
    instance = tiny(gain, gain, maximum_loss=1 - 2 * gain + above, quantile_level=0.9)
    found = solve_policy(instance, rung, time_limit=None)
    assert found.cost == pytest.approx(2.0, rel=1e-12)
    assert (found.reached, found.gap) == (1, pytest.approx(0, abs=1e-9))
    assert depl.evaluate_policy(instance, found.policy).ok
    missed = solve_policy(instance.replace(maximum_loss=1 - 3 * gain - 1e-7), time_limit=None)
    assert (missed.termination, missed.policy) == (Termination.INFEASIBLE, None)


def test_a_search_that_has_no_time_costs_no_more_than_a_fixed_plan_has_on_its_first_grid(monkeypatch):
    """The promise binds, so there are several sweeps; a clock ticks once for every look."""
    monkeypatch.setattr(planning, "GRIDS", (512,))
    noises = Normal(mean=0.14, variance=0.004), Normal(mean=0.25, variance=0.009)
    instance = tiny(*noises, maximum_epochs=4, quantile_level=0.95)

    def within(rung, looks):
        ticks = itertools.count()
        monkeypatch.setattr(planning, "now", lambda: float(next(ticks)))
        return solve_policy(instance, rung, time_limit=looks).objective, next(ticks)

    static, enough = within("static", 1e9)
    best, all_looks = within("optimal", 1e9)
    assert best < 0.99 * static
    found = [within("optimal", looks)[0] for looks in range(enough, all_looks, 12)]
    assert found[0] is None or found[0] <= static
    assert all(value is not None and value <= static for value in found[1:])
    assert found[1] == static


def test_a_policy_that_claims_what_it_does_not_do_never_leaves_the_planner(monkeypatch):
    whole = planning.policy_of

    def bold(*arguments):
        policy = whole(*arguments)
        return claiming(policy, cost=0.9 * policy.certificate.cost)

    monkeypatch.setattr(planning, "GRIDS", (128,))
    monkeypatch.setattr(planning, "policy_of", bold)
    with pytest.raises(depl.VerificationError, match="claim: cost"):
        solve_policy(tiny(0.3, 0.5, maximum_loss=0.35))


TWO = tiny(0.3, 0.5)
SURE = tiny(0.3, 0.7, maximum_loss=0.35)
"""Without chance the least expected cost of a success is the cheapest plan: one epoch of the second, 2.5."""


@pytest.mark.parametrize(
    ("ask", "refused", "told"),
    [
        (lambda: process(depl.load("tiny")), depl.NotCoveredError, "give a round_deadline"),
        (lambda: solve_policy(TWO, data={}), depl.InvalidInputError, "names no cluster"),
        (lambda: solve_policy(TWO, "best"), depl.InvalidInputError, "must be one of static, optimal"),
        (lambda: solve_policy(TWO, failure_cost=0), depl.InvalidInputError, "a positive number or 'ratio'"),
        (lambda: solve_policy(SURE, failure_cost=2.4), depl.InvalidInputError, r"2\.5 to 2\.5: not to train"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_what_to_do(ask, refused, told):
    with pytest.raises(refused, match=told):
        ask()


def test_where_epochs_cost_nothing_a_price_of_a_failure_has_to_be_given():
    instance = tiny(0.3, 0.5, maximum_loss=0.35)
    free = instance.replace(clusters=(msgspec.structs.replace(instance.clusters[0], unit_cost=0.0),))
    with pytest.raises(depl.InvalidInputError, match=r"costs nothing here.*give a number"):
        solve_policy(free)
    assert solve_policy(free, failure_cost=2.0).cost == 0


@pytest.mark.parametrize("failure_cost", ["ratio", 3.0])
def test_where_the_target_is_met_before_the_first_epoch_the_policy_stops_at_once(failure_cost):
    instance = tiny(atoms(0.1, 0.3), 0.5, initial_loss=0.35)
    found = solve_policy(instance, failure_cost=failure_cost)
    assert (found.termination, found.cost, found.gap) == (Termination.GAP_REACHED, 0, 0)
    assert found.reached == pytest.approx(1, abs=1e-15)
    assert depl.Controller(found.policy).start(0.35).reason == "reached"
    assert depl.evaluate_policy(instance, found.policy).ok
    bold = msgspec.structs.replace(found.policy, instance=instance.replace(initial_loss=0.45).fingerprint)
    assert not depl.evaluate_policy(instance.replace(initial_loss=0.45), bold).ok


def test_where_it_is_met_by_a_model_that_may_not_be_the_last_the_policy_trains():
    instance = tiny(0.1, 0.1, initial_loss=0.35, initial_model="small", deployable=("large",))
    assert solve_policy(instance, time_limit=None).cost == pytest.approx(2.5, rel=1e-6)


def test_upper_bounds_of_a_policy_are_never_rounded_down():
    found = solve_policy(depl.load("tiny"), "static")
    rng = np.random.default_rng(5)
    rounded = 0
    for cost, failure, reached in rng.uniform(0.01, [9.0, 30.0, 1.0], (60, 3)).tolist():
        policy = claiming(found.policy, cost=cost, reached=reached)
        result = replace(found, policy=policy, failure_cost=failure)
        missed = 1 - Fraction(reached)
        told = result.to_dict()
        assert told["violation"]["upper"] >= missed
        assert told["objective"] >= Fraction(cost) + Fraction(failure) * missed
        assert told["per_success"] >= Fraction(cost) / Fraction(reached)
        rounded += Fraction(1 - reached) < missed
        assert told["violation"]["upper"] == pytest.approx(1 - reached, rel=1e-15)
    assert rounded  # that 1 - reached would be too small mattered
    ended = planning._ended(replace(found, lower_bound=0.01), Termination.EXHAUSTED)
    assert (ended.termination, ended.policy.certificate.lower_bound) == (Termination.STUCK, 0.01)
    assert not replace(found, policy=None, failure_cost=0.5).promise_binds


# --- a limit of the training time -----------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (16_384,))
    monkeypatch.setattr(request, "_CELLS", 256)


def limited(maximum_time, **target):
    """Two models, five epochs; work of 1 and 2.5 an epoch."""
    laws = atoms(0.0, 0.1, 0.3), atoms(0.1, 0.3)
    given = {"round_deadline": None, "maximum_epochs": 5, "quantile_level": 0.7, **target}
    return tiny(*laws).replace(maximum_time=maximum_time, **given)


@pytest.mark.parametrize("maximum_time", [2.0, 7.0])
def test_the_policy_is_one_of_the_instance_and_what_is_claimed_holds_in_its_class(maximum_time):
    instance = limited(maximum_time)
    found = solve_policy(instance, gap=1e-3, time_limit=None)
    epochs, share = found.policy.maximum_epochs, found.policy.round_deadline
    assert epochs * share == pytest.approx(maximum_time)
    assert found.restriction.startswith(f"at most {epochs} epochs of at most")
    class_of_it = instance.replace(maximum_epochs=epochs, round_deadline=share)
    judge(class_of_it, tree_of(class_of_it), found)
    report = depl.evaluate_policy(instance, found.policy)
    assert report.ok, report.failures
    assert not simulate(instance, found.policy, 10_000, seed=3).refuted


def test_of_the_numbers_of_epochs_the_one_is_taken_whose_policies_cost_least():
    instance = limited(4.0)
    found = solve_policy(instance, gap=1e-3, time_limit=None, failure_cost=30.0)
    values = {}
    for epochs in range(1, 6):
        share = instance.replace(maximum_epochs=epochs, round_deadline=4.0 / epochs)
        best = tree_of(share).best(30, share.target.violation_budget)
        if best is not None:
            values[epochs] = float(best)
    assert values[found.policy.maximum_epochs] < min(values.values()) * 1.01
    assert found.objective < min(values.values()) * 1.02


def test_a_limit_that_all_epochs_keep_restricts_nothing():
    instance = limited(5.0, round_deadline=1.0)
    assert keeps_time(instance)
    found = solve_policy(instance, gap=1e-3, time_limit=None)
    assert found.restriction == ""
    assert found.policy.round_deadline is None


def test_longer_epochs_more_of_them_or_a_longer_deadline_are_objected_to():
    instance = limited(4.2, round_deadline=1.5)
    policy = solve_policy(instance, gap=1e-3, time_limit=None).policy
    for changes, rules in (
        ({"round_deadline": policy.round_deadline * 1.2}, {"(2)", "(4)"}),
        ({"round_deadline": 1.6}, {"target"}),
        ({"round_deadline": None}, {"(2)", "(4)", "target"}),
        ({"maximum_epochs": 6}, {"target"}),
    ):
        report = depl.evaluate_policy(instance, msgspec.structs.replace(policy, **changes))
        assert rules & {item.equation for item in report.failures}, changes


def test_where_no_class_keeps_the_promise_nothing_is_called_infeasible():
    found = solve_policy(limited(4.0, quantile_level=0.99, maximum_epochs=2), gap=1e-3, time_limit=None)
    assert (found.policy, found.termination) == (None, Termination.EXHAUSTED)
    assert "no policy of at most" in found.reason
    with pytest.raises(depl.NotCoveredError, match="no epoch can be trained within maximum_time"):
        solve_policy(limited(0.001))


# --- counted over combinations of runs ------------------------------------------------------------------


def switching(*designs, **target):
    """Runs by their number and the epochs of their two stages; losses fall to 0.7, a little apart."""
    stages = [(first, later) for runs, first, later in designs for _ in range(runs)]
    runs = [
        run_of([(FULL, first), (CUT, later)], np.array(LOSSES[: 1 + first + later]) + 0.001 * place)
        for place, (first, later) in enumerate(stages)
    ]
    law = fitted(runs, np.random.default_rng(3), residuals="per_run")
    limits = {"round_deadline": 6.0, "maximum_time": None, "maximum_epochs": 4}
    return instance_of(law, **limits | target)


LOSSES = (2.0, 1.5, 0.8, 0.75, 0.7)
SHORT = switching((6, 1, 3), (12, 1, 1), maximum_loss=0.9, quantile_level=0.6)
"""Six runs trained the second stage for three epochs, twelve more for one; one epoch is enough."""
CROSSED = switching((12, 2, 1), (12, 1, 3), maximum_loss=1.0, quantile_level=0.3)
"""Twelve runs trained the second stage for three epochs after one of the first, twelve for one after two."""


def of_all_ways(caps):
    """A policy that may train whatever the caps allow, now this and now that as the loss rises."""
    chain = capped(process(proxy(CROSSED)), caps)
    grid = Grid.of(chain, 256)
    cells = np.arange(grid.cells)
    actions = tuple(
        (cells % len(node.trainings) if node.trainings else np.full(grid.cells, STOP)).astype(np.int16)
        for node in chain.nodes
    )
    start = next(number for number, item in enumerate(chain.starts) if chain.nodes[item.node].trainings)
    table = Table(actions, start, 1e3, 0.7, 1e3)
    return policy_of(Request(CROSSED, CROSSED), chain, grid, table, Price(1e3, None), "observed")


def test_there_is_an_answer_as_soon_as_a_fixed_plan_keeps_the_promise(monkeypatch):
    best = []

    def interrupted(search, _):
        best.append(search.value)
        raise KeyboardInterrupt

    monkeypatch.setattr(planning._Search, "narrowed", interrupted)
    found = solve_policy(SHORT)
    assert best == [pytest.approx(found.objective)]
    assert found.termination is Termination.INTERRUPTED
    assert found.policy is not None
    assert found.reached >= 0.6


def test_more_epochs_are_tried_where_those_that_the_proxy_asks_for_keep_no_promise(monkeypatch):
    """The first class has two epochs, after which a third of the runs is below the target."""
    monkeypatch.setattr(planning, "restriction", lambda *_: 2)
    instance = SHORT.replace(maximum_time=20.0, maximum_loss=0.805)
    found = solve_policy(instance)
    assert (found.policy.maximum_epochs, found.policy.round_deadline) == (3, 6.0)
    assert found.restriction.startswith("at most 3 epochs of at most 6 each")
    assert depl.evaluate_policy(instance, found.policy).ok
    nothing = solve_policy(instance.replace(quantile_level=0.99))
    assert (nothing.policy, nothing.termination) == (None, Termination.EXHAUSTED)
    assert "Record more runs" in nothing.reason
    assert nothing.restriction.startswith("at most 4 epochs of at most 5 each")


def test_no_stage_begins_later_than_those_that_lend_to_it():
    for caps in (Caps(2, 1), Caps(1, 3)):
        assert counted(of_all_ways(caps), CROSSED.traced_law).runs == 12
    with pytest.raises(NotCoveredError, match=r"outside the support.*began with it after 2 epochs or more"):
        counted(of_all_ways(Caps(2, 3)), CROSSED.traced_law)


def test_more_combinations_than_can_be_followed_are_refused(monkeypatch):
    policy = of_all_ways(Caps(2, 1))
    monkeypatch.setattr(counting, "MOST_PATHS", most := 12 * 12)
    assert counted(policy, CROSSED.traced_law).runs == 12
    monkeypatch.setattr(counting, "MOST_PATHS", most - 1)
    with pytest.raises(NotCoveredError, match="more than 143 combinations of runs had to be"):
        counted(policy, CROSSED.traced_law)


def test_ordinary_runs_get_a_policy_or_one_sentence_names_the_option_that_gives_one():
    """By default too few plans, or a margin for plans that were never run, stand in the way."""
    every = recorded_traces("digits-alexnet-slow-fitting")
    runs, setup = every.select(np.arange(0, len(every.runs), 4)), load_setup("closed-loop")
    with pytest.raises(NotCoveredError, match=r"^the traces hold too few plans [^.]*fit with --care 0"):
        solve_policy(depl.fit(runs, setup))
    asked = {"maximum_loss": 1.2, "maximum_epochs": 40, "quantile_level": 0.8}
    instance = depl.fit(runs, setup, care=None).replace(**asked)
    found = solve_policy(instance, "static", switch_epochs=(12,), time_limit=None)
    assert found.policy is not None, found.reason
    assert found.policy.certificate.method == "counted"
    told = solve_policy(depl.load("digits-alexnet"), time_limit=1e-3).reason
    assert "moved up by the margin for plans that were never run: fit with --care 0" in told
