"""Re-planning: the promise given the state, what the old rest does, and the rule for keeping a promise."""

import math
from fractions import Fraction
from types import SimpleNamespace

import msgspec
import pytest

import depl
from depl.instances.spent_promise import promised_plan, spent_promise
from depl.models.foundation import deadline as clock_module
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.plan import ClusterData, Plan
from depl.models.problem.traced_law import Stage
from depl.models.solving import replanning
from depl.models.solving.replanning import (
    Choice,
    State,
    check_state,
    not_above,
    planned_state,
    remaining_instance,
    replan,
)
from tests.cases.memory_cases import FAR, FULL, instance_of
from tests.cases.traced_law_cases import halves, plan_of
from tests.oracles.traced_law import Oracle
from tests.problems import model, refusal

LUCKY = State(epoch=1, loss=1, model="full")


def models_of(plan):
    return [epoch.model for epoch in plan.epochs]


# --- the rest, old and new -----------------------------------------------------------------------------


@pytest.fixture
def asked(steady, steady_plan, bell):
    """Replan the steady example, or the one with normal increments, from a state after an epoch."""

    def ask(loss, elapsed_time=2.5, *, normal=False, instance=None, method="enumerate", **given):
        state = State(epoch=1, loss=loss, model="net", elapsed_time=elapsed_time)
        return replan(instance or (bell if normal else steady), steady_plan, state, method, **given)

    return ask


@pytest.mark.parametrize(
    ("given", "choice", "resources", "to_go"),
    [
        ({"loss": 8.0}, "old", [4], 12),
        ({"loss": 6.0}, "stop", [], 0),
        ({"loss": 6 + 0.9e-9}, "stop", [], 0),  # met within the tolerance of atoms
        ({"loss": 8.0, "elapsed_time": 3.0}, "retimed", [8 / 1.5], 16),  # the old rest has become too long
        # 8.5 left to 6 needs two more epochs in 2.5: 2 * 8 / x + 1 = 2.5, that is x = 32 / 3 > r = 10.
        ({"loss": 8.5}, "none", None, None),
        # the same epochs have the same law, so to be slower keeps the promise without any certificate
        (
            {"loss": 8, "elapsed_time": 1, "normal": True, "keep_promise": True},
            "retimed",
            [8 / 3.5],
            24 / 3.5,
        ),
        # losses may rise: the old rest may leave the target again, stopping may not
        ({"loss": 5.9, "elapsed_time": 0, "normal": True, "keep_promise": True}, "stop", [], 0),
    ],
    ids=str,
)
def test_what_is_followed_is_the_cheapest_of_what_is_allowed(asked, given, choice, resources, to_go):
    found = asked(**given)
    assert found.choice.value == choice
    assert found.met == (choice == "stop")
    assert found.cost_to_go == (to_go if to_go is None else pytest.approx(to_go))
    assert found.sunk_cost == pytest.approx(12)
    if resources is None:
        assert (found.plan, found.total_cost) == (None, None)
        assert found.result.termination is depl.Termination.INFEASIBLE
        return
    assert [epoch.resources for epoch in found.plan.epochs] == pytest.approx(resources)
    assert found.total_cost == pytest.approx(12 + to_go)
    assert depl.check(found.remaining.replace(quantile_level=0.01), found.plan).ok


def test_a_limit_counts_from_the_entry_and_the_plan_names_all_of_it(steady, steady_plan, monkeypatch):
    clock, asked = SimpleNamespace(now=5.0, perf_counter=lambda: clock.now), []
    judge, plan_again = replanning._old_rest, replanning.solve

    def slow(*given):
        clock.now += 3.0
        return judge(*given)

    def noted(*given, time_limit, **further):
        asked.append(time_limit)
        return plan_again(*given, time_limit=time_limit, **further)

    monkeypatch.setattr(clock_module, "time", clock)
    monkeypatch.setattr(replanning, "_old_rest", slow)
    monkeypatch.setattr(replanning, "solve", noted)
    state = planned_state(steady, steady_plan, 1, 8.0)
    found = replan(steady, steady_plan, state, "enumerate", time_limit=10.0)
    assert asked == [7.0]
    assert found.result.plan.asked.time_limit == 10.0


def test_time_that_is_up_is_infeasible_and_the_old_rest_is_still_judged(asked):
    found = asked(8.0, 5.5)
    assert (found.choice, found.remaining, found.plan, found.total_cost) == (Choice.NONE, None, None, None)
    assert (found.result.termination, found.result.lower_bound) == (depl.Termination.INFEASIBLE, math.inf)
    assert found.result.reason.startswith("resources: T_max = 5 was passed")
    assert found.old.evaluation.violation.exact == 0
    assert found.old.evaluation.cost == pytest.approx(12)
    assert found.old.broken == asked(8.0, 3.0).old.broken == ("training time",)
    with pytest.raises(InvalidInputError, match="no method 'magic'"):
        asked(8.0, 5.5, method="magic")


# --- the rule that keeps the promise -------------------------------------------------------------------


def test_a_count_of_scenarios_does_not_count_as_a_promise():
    """On few scenarios the cheap rest looks good enough for any level; the law decides."""
    found = replan(spent_promise(), promised_plan(), LUCKY, "milp", scenarios=3, seed=1, keep_promise=True)
    assert models_of(found.result.plan) == ["pruned"]
    assert found.choice is Choice.OLD


def lost_instance(steady):
    """The epoch of ``net`` gains 2 for sure, that of ``leap`` 6; from 9.5 ``net`` cannot reach 4 any more."""
    return steady.replace(models=(*steady.models, model("leap", 6, 4)), maximum_loss=4, maximum_time=20)


def test_an_old_rest_that_is_lost_asks_for_omega_again_and_with_nothing_to_win_stopping_loses_nothing(
    asked, steady
):
    found = asked(9.5, 0, instance=lost_instance(steady), keep_promise=True)
    assert found.old.evaluation.violation.exact == 1
    assert (found.level, found.choice, models_of(found.plan)) == (0.9, Choice.NEW, ["leap"])
    found = asked(40, 2, instance=lost_instance(steady), keep_promise=True)
    assert (found.choice, found.plan, found.cost_to_go) == (Choice.STOP, Plan(), 0)
    assert asked(40, 2, instance=lost_instance(steady)).choice is Choice.NONE


def test_intervals_are_compared_end_against_end():
    old = Interval(0.1, 0.2, "given")
    assert not_above(Interval(0.05, 0.1, "given"), old)
    assert not not_above(Interval(0.05, 0.11, "given"), old)
    third = Interval(0.33, 0.34, "given", Fraction(1, 3))
    assert not_above(third, third)
    assert not not_above(old, old)


# --- rules of the sites ----------------------------------------------------------------------------------


def test_the_rest_keeps_the_rules_and_stops_only_with_a_model_that_may_be_last(tiny, tiny_optimum):
    """After one epoch of ``full`` the target is met by luck; what has to be delivered is ``pruned``."""
    bare = msgspec.structs.replace(tiny_optimum, instance=None)
    state = msgspec.structs.replace(planned_state(tiny, tiny_optimum, 1, 6.0), instance=None)
    assert replan(tiny, bare, state, "exact").choice is Choice.STOP
    found = replan(tiny.replace(deployable=("pruned",)), bare, state, "exact")
    assert (found.met, found.choice, models_of(found.plan)) == (False, Choice.NEW, ["pruned"])
    assert found.cost_to_go > 0


def test_an_old_rest_that_breaks_a_rule_is_neither_kept_nor_retimed(tiny, tiny_optimum):
    archive, sensors = tiny.datasets
    moved = tiny.replace(datasets=(archive, msgspec.structs.replace(sensors, clusters=("cloud",))))
    bare = msgspec.structs.replace(tiny_optimum, instance=None)
    state = msgspec.structs.replace(planned_state(tiny, tiny_optimum, 2, 7.0), instance=None)
    found = replan(moved, bare, state, "exact")
    assert found.old.broken == ("datasets on 'edge' that may not be used there",)
    assert (found.old.retimed, found.choice) == (None, Choice.NEW)
    assert not [row for row in found.plan.data if row.cluster == "edge" and "sensors" in row.datasets]
    brought = (ClusterData(cluster="edge", datasets=("sensors",)),)
    with pytest.raises(InvalidInputError, match=r"transferred\[0\].*may not be used on 'edge'"):
        replan(moved, bare, State(epoch=1, loss=9, model="full", transferred=brought), "exact")


def instance(residuals="independent"):
    return instance_of(halves(8, residuals=residuals), maximum_loss=1.5, quantile_level=0.5)


@pytest.mark.parametrize(("residuals", "holds"), [("independent", True), ("per_run", False)])
def test_the_promise_holds_over_all_runs_where_residuals_are_independent(residuals, holds):
    asked = instance(residuals)
    for loss in (2.0, 3.0):
        found = replan(
            asked, plan_of((FULL, FAR)), State(epoch=1, loss=loss, model="full"), keep_promise=True
        )
        assert found.holds_over_all_runs is holds
        missed = Oracle(found.remaining.traced_law).violation(found.plan.schedule, 1.5)
        assert missed <= found.old.evaluation.violation.exact


def test_a_loss_that_no_run_had_leaves_the_old_rest_unknown():
    found = replan(instance(), plan_of((FULL, FAR)), State(epoch=1, loss=9.0, model="full"))
    assert "a loss of 9" in found.old.outside
    assert (found.old.evaluation.violation.lower, found.old.evaluation.violation.upper) == (0, 1)
    assert found.choice is Choice.NONE


def test_a_rest_is_planned_again_from_a_state_of_its_own():
    asked = instance("per_run")
    rest = remaining_instance(asked, State(epoch=0, loss=4.0))
    assert rest.traced_law.trained_before == ()
    state = State(epoch=1, loss=2.5, model="full", stages=(_stage(FULL),))
    assert remaining_instance(rest, state).traced_law == remaining_instance(asked, state).traced_law


def _stage(pair):
    return Stage(model=pair[0], cluster=pair[1], epochs=1)


# --- states -----------------------------------------------------------------------------------------------


def test_a_state_on_a_plan_has_its_stages_under_a_traced_law_alone():
    state = planned_state(instance(), plan_of((FULL, FAR)), 2, 1.0)
    assert state.stages == (_stage(FULL), _stage(FAR))
    assert State.from_json(state.to_json()) == state
    bare = planned_state(instance_of(None), plan_of((FULL, FAR)), 2, 1.0)
    assert bare.stages is None


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ({"epoch": 2, "stages": (FULL,)}, ".stages", "1 epochs in all, but epoch is 2"),
        ({"model": "cut", "stages": (FULL,)}, ".stages[0].model", "but model is 'cut'"),
        ({"epoch": 2, "stages": (FULL, FULL)}, ".stages[1]", "join the two"),
        ({"stages": (("full", "far"),)}, "$.stages", "not those of the plan"),
        ({"stages": (("full", "none"),)}, "$.stages[0].cluster", "'none' is not defined"),
        ({}, "$.stages", "list the stages so far"),
    ],
)
def test_stages_that_do_not_fit_the_state_the_plan_or_the_instance_are_refused(fields, path, said):
    def asked():
        given = {"epoch": 1, "model": "full", **fields}
        if "stages" in given:
            given["stages"] = tuple(map(_stage, given["stages"]))
        state = State(loss=1.0, **given)
        check_state(instance(), state, None if "none" in str(fields) else plan_of((FULL, FAR)))
        remaining_instance(instance(), state)

    error = refusal(asked)
    assert error.path == path
    assert said in error.message
