"""The rest of a run is an ordinary instance: same laws, same loads, same costs, conditional on the state."""

import json
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances, random_plan
from depl.models.evaluation.evaluate import evaluate, plan_steps
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import compose
from depl.models.problem.instance import ComputeTable
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import InverseSqrtImprovement
from depl.models.problem.plan import ClusterData, Plan
from depl.models.solving.replanning import (
    State,
    check_state,
    planned_state,
    remaining_instance,
    remaining_plan,
    sunk_cost,
    time_is_up,
)
from tests.cases.documents import RICH, put, read
from tests.problems import gains, model, refusal

AFTER_ONE = State(epoch=1, loss=9.5, model="net", elapsed_time=2.5)


def drawn(count, seed):
    """Random instances with time for a random plan, a state on it, and the rest of both."""
    rng = np.random.default_rng(seed)
    for instance in random_instances(rng, count):
        plan = msgspec.structs.replace(random_plan(rng, instance), instance=None)
        epoch = int(rng.integers(0, len(plan.epochs) + 1))
        loss = float(rng.uniform(0, instance.target.initial_loss))
        instance = instance.replace(maximum_time=1e6) if instance.target.maximum_time else instance
        state = planned_state(instance, plan, epoch, loss)
        yield instance, plan, state, remaining_instance(instance, state), remaining_plan(plan, state)


def test_sunk_cost_and_cost_to_go_make_the_cost_and_the_mean_is_the_conditional_one():
    transferred = 0
    for instance, plan, state, seen, left in drawn(12, 2):
        whole, rest = evaluate(instance, plan, quantile=False), evaluate(seen, left, quantile=False)
        assert sunk_cost(instance, plan, state) + rest.cost == pytest.approx(whole.cost, rel=1e-12)
        assert state.elapsed_time + rest.training_time == pytest.approx(whole.training_time, rel=1e-12)
        conditional = compose(state.loss, plan_steps(instance, plan)[state.epoch :])
        assert rest.expected_loss == pytest.approx(conditional.mean(), rel=1e-12)
        transferred += 0 < rest.transfer_cost < whole.transfer_cost
    assert transferred > 0


def test_decays_go_on_where_they_stopped_and_tables_lose_the_epochs_that_are_over(steady):
    law = InverseSqrtImprovement(scale=6, offset=0.25, noise=Deterministic(value=1))
    rest = remaining_instance(steady.replace(models=(model("net", law),), maximum_epochs=5), AFTER_ONE)
    assert rest.model("net").improvement.at(1)[0] == 6 / math.sqrt(2.25)
    target = rest.target
    asked = (target.maximum_epochs, target.maximum_time, target.initial_loss, target.initial_model)
    assert asked == (4, 2.5, 9.5, "net")
    net = model("net", gains(1, 2, 3), 1, compute=(ComputeTable(epochs=(5, 6, 7)),))
    instance = steady.replace(models=(net,))
    found = remaining_instance(instance, AFTER_ONE).model("net")
    assert [row.noise.value for row in found.improvement.epochs] == [2, 3]
    assert found.compute[0].epochs == (6, 7)
    over = remaining_instance(instance, State(epoch=3, loss=4, model="net"))
    assert over.target.maximum_epochs == 0
    assert depl.solve(over, "enumerate").cost == 0


def test_states_and_rests_of_rich_instances_are_written_and_read_back(tiny, tiny_optimum):
    state = planned_state(tiny, tiny_optimum, 2, 7.25)
    assert State.from_json(state.to_json()) == state
    assumed = [{"path": "$.models[2].improvement.epochs[0]", "source": "assumed"}]
    instance = read(put(RICH, "provenance", assumed))
    rest = remaining_instance(instance, State(epoch=2, loss=12, model="pruned", elapsed_time=10))
    assert depl.Instance.from_json(rest.to_json()) == rest
    assert rest.provenance[0].path == "$.target.initial_loss"
    assert evaluate(rest, Plan(), quantile=False).expected_loss == 12
    before = State(epoch=0, loss=instance.target.initial_loss)
    assert remaining_instance(instance, before).fingerprint == instance.fingerprint


SENSORS_TWICE = {"cluster": "edge", "datasets": ["a", "a"]}


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"epoch": 0}, r"\$\.model", "before epoch 1"),
        ({"model": None}, r"\$\.model", "name the model"),
        ({"transferred": [SENSORS_TWICE]}, r"\$\.transferred\[0\]\.datasets\[1\]", "twice"),
        ({"transferred": [{"cluster": "edge", "datasets": ["a"]}] * 2}, r"\$\.transferred\[1\]", "twice"),
    ],
)
def test_a_malformed_state_is_refused_with_its_place(changes, path, message):
    document = {"format": "depl-state", "version": 1, "epoch": 1, "loss": 7, "model": "full", **changes}
    with pytest.raises(InvalidInputError, match=rf"^{path}: .*{message}"):
        State.from_json(json.dumps(document))


def brought(cluster, *datasets):
    return {"transferred": (ClusterData(cluster=cluster, datasets=datasets),)}


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"instance": "0" * 64}, r"\$\.instance", "another instance"),
        ({"epoch": 4}, r"\$\.epoch", "K_max = 3"),
        ({"model": "huge"}, r"\$\.model", "'huge' is not defined"),
        ({"model": "pruned"}, r"\$\.model", "the plan trains 'full' at epoch 2"),
        ({"transferred": ()}, r"\$\.transferred", "'sensors'.*list it"),
        (brought("fog", "sensors"), r"\$\.transferred\[0\]\.cluster", "'fog' is not defined"),
        (
            brought("edge", "sensors", "radar"),
            r"\$\.transferred\[0\]\.datasets\[1\]",
            "'radar' is not defined",
        ),
    ],
)
def test_a_state_that_the_run_cannot_be_in_is_refused(tiny, tiny_optimum, changes, path, message):
    state = msgspec.structs.replace(planned_state(tiny, tiny_optimum, 2, 7.0), **changes)
    with pytest.raises(InvalidInputError, match=rf"^{path}: .*{message}"):
        check_state(tiny, state, tiny_optimum)


def test_a_plan_that_a_state_cannot_be_on_is_refused(steady, steady_plan, tiny_optimum):
    late = State(epoch=3, loss=4, model="net")
    for call, where in (
        (lambda: check_state(steady, late, steady_plan), "$.epoch: is 3, but the plan ends after epoch 2"),
        (lambda: planned_state(steady, steady_plan, 3, 4.0), "epoch: must lie between 0 and 2"),
        (lambda: check_state(steady, AFTER_ONE, tiny_optimum), "$.data"),
    ):
        assert where in str(refusal(call)), str(refusal(call))


def test_time_that_has_run_out_leaves_nothing_but_its_tolerance_in_which_stopping_is_feasible(steady):
    late = msgspec.structs.replace(AFTER_ONE, elapsed_time=5.1)
    assert "T_max = 5 was passed" in time_is_up(steady, late)
    with pytest.raises(InvalidInputError, match=r"^\$\.elapsed_time"):
        remaining_instance(steady, late)
    assert time_is_up(steady.replace(maximum_time=None, round_deadline=3), late) is None
    for elapsed in (5.0, 5.0 * (1 + 4e-10)):
        rest = remaining_instance(steady, msgspec.structs.replace(AFTER_ONE, elapsed_time=elapsed))
        assert 0 < rest.target.maximum_time <= 5.1e-9
        assert depl.solve(rest, "enumerate").plan is None
        assert depl.solve(rest.replace(maximum_loss=9.5), "enumerate").cost == 0
