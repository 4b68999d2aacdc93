"""The rest of a run is an ordinary instance: same laws, same loads, same costs, conditional on the state."""

import json
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances, random_plan
from depl.models.evaluation.evaluate import epoch_loads, evaluate, plan_steps
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import compose
from depl.models.problem.instance import ComputeTable, Model
from depl.models.problem.laws import Deterministic, Normal
from depl.models.problem.learning import InverseSqrtImprovement, TabledImprovement
from depl.models.problem.plan import ClusterData, Plan
from depl.models.risk.certify import certified_violation
from depl.models.solving.observed_state import (
    State,
    check_state,
    planned_state,
    remaining_instance,
    remaining_plan,
    sunk_cost,
    time_is_up,
)
from tests.cases.documents import RICH, put, read

AFTER_ONE = State(epoch=1, loss=9.5, model="net", elapsed_time=2.5)


def drawn(count, seed=0):
    """Random instances with a random plan, a random epoch of it, and a random loss."""
    rng = np.random.default_rng(seed)
    for instance in random_instances(rng, count):
        plan = random_plan(rng, instance)
        epoch = int(rng.integers(0, len(plan.epochs) + 1))
        yield instance, plan, epoch, float(rng.uniform(0, instance.target.initial_loss))


def roomy(instance, plan):
    """The instance with time for the whole plan."""
    return instance.replace(maximum_time=1e6) if instance.target.maximum_time else instance


# --- the law of the rest -------------------------------------------------------------------------------


def test_the_steps_of_the_rest_are_those_of_the_run_after_the_state():
    checked = 0
    for instance, plan, epoch, loss in drawn(80):
        instance, plan = roomy(instance, plan), msgspec.structs.replace(plan, instance=None)
        state = planned_state(instance, plan, epoch, loss)
        rest, left = remaining_instance(instance, state), remaining_plan(plan, state)
        steps, wanted = plan_steps(rest, left), plan_steps(instance, plan)[epoch:]
        assert len(steps) == len(wanted)
        for found, due in zip(steps, wanted, strict=True):
            assert found.retention == due.retention
            assert found.shift == pytest.approx(due.shift, rel=1e-14)
            assert [term.law for term in found.terms] == [term.law for term in due.terms]
            for one, other in zip(found.terms, due.terms, strict=True):
                assert one.coefficient == pytest.approx(other.coefficient, rel=1e-14)
        assert epoch_loads(rest, left) == epoch_loads(instance, plan)[epoch:]
        checked += len(steps)
    assert checked > 100


@pytest.mark.parametrize("count", [20, pytest.param(40, marks=pytest.mark.slow)])
def test_the_certified_violation_of_the_rest_is_that_of_the_conditional_law(count):
    """The intervals of the shifted instance and of the run's own later steps contain the same number."""
    inside = 0
    for instance, plan, epoch, loss in drawn(count, seed=1):
        instance, plan = roomy(instance, plan), msgspec.structs.replace(plan, instance=None)
        state = planned_state(instance, plan, epoch, loss)
        found = evaluate(remaining_instance(instance, state), remaining_plan(plan, state), quantile=False)
        conditional = compose(loss, plan_steps(instance, plan)[epoch:])
        due = certified_violation(conditional, instance.target.maximum_loss)
        # Coefficients differ in the last place, which moves a probability by about as much.
        assert found.violation.lower <= due.upper + 1e-12
        assert due.lower <= found.violation.upper + 1e-12
        assert found.expected_loss == pytest.approx(conditional.mean(), rel=1e-12)
        inside += 0 < due.middle < 1
    assert inside >= count / 4


def test_the_conditional_law_given_the_first_epochs_is_the_one_that_is_sampled():
    """E over l(e) of the conditional violation is the violation of the whole plan (tower property)."""
    instance, plan, _, _ = next(item for item in drawn(30, seed=4) if len(item[1].epochs) >= 4)
    instance = roomy(instance, plan).replace(models=tuple(map(normal, instance.models)))
    instance = instance.replace(
        maximum_loss=compose(instance.target.initial_loss, steps_of(instance, plan)).mean()
    )
    first = compose(instance.target.initial_loss, steps_of(instance, plan)[:2])
    rng = np.random.default_rng(0)
    draws = first.constant + sum(
        count * term.coefficient * term.law.sample(rng, 400) for term, count in first.terms
    )
    bare = msgspec.structs.replace(plan, instance=None)
    seen = []
    for loss in draws.tolist():
        state = planned_state(instance, bare, 2, loss)
        rest = evaluate(remaining_instance(instance, state), remaining_plan(bare, state), quantile=False)
        seen.append(rest.violation.middle)
    whole = evaluate(instance, bare, quantile=False).violation.middle
    assert np.mean(seen) == pytest.approx(whole, abs=4 * np.std(seen) / math.sqrt(len(seen)))


def normal(model):
    """The model with a normal improvement that falls with the epoch."""
    law = Normal(mean=1, variance=0.25)
    return msgspec.structs.replace(model, improvement=InverseSqrtImprovement(scale=1, noise=law))


def steps_of(instance, plan):
    return plan_steps(instance, msgspec.structs.replace(plan, instance=None))


def test_the_decay_goes_on_where_it_stopped(steady):
    net = Model(
        name="net",
        size=1,
        demand=2,
        improvement=InverseSqrtImprovement(scale=6, offset=0.25, noise=Deterministic(value=1)),
    )
    rest = remaining_instance(steady.replace(models=(net,), maximum_epochs=5), AFTER_ONE)
    assert rest.model("net").improvement.offset == 1.25
    assert rest.model("net").improvement.at(1)[0] == 6 / math.sqrt(2.25)
    assert rest.target.maximum_epochs == 4
    assert rest.target.maximum_time == 2.5
    assert rest.target.initial_loss == 9.5
    assert rest.target.initial_model == "net"


def test_tables_lose_the_epochs_that_are_over(steady):
    rows = tuple({"noise": Deterministic(value=value)} for value in (1, 2, 3))
    net = Model(
        name="net",
        size=1,
        improvement=TabledImprovement(epochs=rows),
        compute=(ComputeTable(epochs=(5, 6, 7)),),
    )
    instance = steady.replace(models=(net,))
    found = remaining_instance(instance, AFTER_ONE).model("net")
    assert [row.noise.value for row in found.improvement.epochs] == [2, 3]
    assert found.compute[0].epochs == (6, 7)
    over = remaining_instance(instance, State(epoch=3, loss=4, model="net"))
    assert over.target.maximum_epochs == 0
    assert depl.solve(over, "enumerate").cost == 0


def test_a_state_before_the_first_epoch_leaves_the_problem_as_it_is():
    instance = read(RICH)
    state = State(epoch=0, loss=instance.target.initial_loss)
    assert remaining_instance(instance, state).fingerprint == instance.fingerprint


# --- costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [12, pytest.param(80, marks=pytest.mark.slow)])
def test_sunk_cost_and_cost_to_go_make_the_cost(count):
    transferred = 0
    for instance, plan, epoch, loss in drawn(count, seed=2):
        instance, plan = roomy(instance, plan), msgspec.structs.replace(plan, instance=None)
        state = planned_state(instance, plan, epoch, loss)
        whole = evaluate(instance, plan, quantile=False)
        rest = evaluate(remaining_instance(instance, state), remaining_plan(plan, state), quantile=False)
        assert sunk_cost(instance, plan, state) + rest.cost == pytest.approx(whole.cost, rel=1e-12)
        assert state.elapsed_time + rest.training_time == pytest.approx(whole.training_time, rel=1e-12)
        transferred += 0 < rest.transfer_cost < whole.transfer_cost
    assert transferred > 0


def test_data_that_are_there_are_free_and_others_are_not(tiny, tiny_optimum):
    state = planned_state(tiny, tiny_optimum, 2, 7.0)
    assert sunk_cost(tiny, tiny_optimum, state) == 1 + 24
    rest = remaining_instance(tiny, state)
    assert rest.transfer_cost("sensors", "cloud") == 0
    assert rest.transfer_cost("archive", "edge") == 2
    assert rest.target.maximum_time == pytest.approx(5 - 2 * (4 / 3 + 0.5))
    early = msgspec.structs.replace(
        state, transferred=(*state.transferred, ClusterData(cluster="edge", datasets=("archive",)))
    )
    assert remaining_instance(tiny, early).transfer_cost("archive", "edge") == 0
    assert sunk_cost(tiny, tiny_optimum, early) == 1 + 24 + 2


# --- what is refused -----------------------------------------------------------------------------------


def test_a_state_is_written_and_read_back(tiny, tiny_optimum):
    state = planned_state(tiny, tiny_optimum, 2, 7.25)
    text = state.to_json()
    assert State.from_json(text) == state
    assert json.loads(text)["format"] == "depl-state"


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"epoch": -1}, r"\$\.epoch", ">= 0"),
        ({"epoch": 0}, r"\$\.model", "before epoch 1"),
        ({"model": None}, r"\$\.model", "name the model"),
        ({"elapsed_time": -1}, r"\$\.elapsed_time", ">= 0"),
        ({"loss": None}, r"\$\.loss", "float"),
        ({"colour": 1}, r"\$", "unknown field"),
        ({"format": "depl-plan"}, r"\$\.format", "depl-state"),
        ({"version": 2}, r"\$\.version", "not known"),
        ({"transferred": [{"cluster": "edge", "datasets": []}]}, r"\$\.transferred\[0\]\.datasets", ">= 1"),
        (
            {"transferred": [{"cluster": "edge", "datasets": ["a", "a"]}]},
            r"\$\.transferred\[0\]\.datasets\[1\]",
            "twice",
        ),
        (
            {"transferred": [{"cluster": "edge", "datasets": ["a"]}] * 2},
            r"\$\.transferred\[1\]",
            "twice",
        ),
    ],
)
def test_a_malformed_state_is_refused_with_its_place(changes, path, message):
    document = {"format": "depl-state", "version": 1, "epoch": 1, "loss": 7, "model": "full", **changes}
    with pytest.raises(InvalidInputError, match=rf"^{path}: .*{message}"):
        State.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"instance": "0" * 64}, r"\$\.instance", "another instance"),
        ({"epoch": 4}, r"\$\.epoch", "K_max = 3"),
        ({"model": "huge"}, r"\$\.model", "no model 'huge'"),
        ({"model": "pruned"}, r"\$\.model", "the plan trains 'full' at epoch 2"),
        ({"transferred": ()}, r"\$\.transferred", "'sensors'.*list it"),
        (
            {"transferred": (ClusterData(cluster="fog", datasets=("sensors",)),)},
            r"\$\.transferred\[0\]\.cluster",
            "no cluster 'fog'",
        ),
        (
            {"transferred": (ClusterData(cluster="edge", datasets=("sensors", "radar")),)},
            r"\$\.transferred\[0\]\.datasets\[1\]",
            "no dataset 'radar'",
        ),
    ],
)
def test_a_state_that_the_run_cannot_be_in_is_refused(tiny, tiny_optimum, changes, path, message):
    state = msgspec.structs.replace(planned_state(tiny, tiny_optimum, 2, 7.0), **changes)
    with pytest.raises(InvalidInputError, match=rf"^{path}: .*{message}"):
        check_state(tiny, state, tiny_optimum)


def test_a_state_beyond_the_plan_is_refused(steady, steady_plan):
    with pytest.raises(InvalidInputError, match=r"^\$\.epoch: is 3, but the plan ends after epoch 2"):
        check_state(steady, State(epoch=3, loss=4, model="net"), steady_plan)
    with pytest.raises(InvalidInputError, match="between 0 and 2"):
        planned_state(steady, steady_plan, 3, 4.0)


def test_a_plan_of_another_instance_is_refused(steady, tiny_optimum):
    with pytest.raises(InvalidInputError, match=r"^\$\.data"):
        check_state(steady, AFTER_ONE, tiny_optimum)


def test_time_that_has_run_out_leaves_nothing_to_plan(steady):
    late = msgspec.structs.replace(AFTER_ONE, elapsed_time=5.1)
    assert "T_max = 5 was passed" in time_is_up(steady, late)
    with pytest.raises(InvalidInputError, match=r"^\$\.elapsed_time"):
        remaining_instance(steady, late)
    assert time_is_up(steady.replace(maximum_time=None, round_deadline=3), late) is None


def test_time_that_is_just_used_up_leaves_its_tolerance_so_that_stopping_is_feasible(steady):
    for elapsed in (5.0, 5.0 * (1 + 4e-10)):
        rest = remaining_instance(steady, msgspec.structs.replace(AFTER_ONE, elapsed_time=elapsed))
        assert 0 < rest.target.maximum_time <= 5.1e-9
        assert depl.solve(rest, "enumerate").plan is None
        assert depl.solve(rest.replace(maximum_loss=9.5), "enumerate").cost == 0


def test_the_schema_of_rich_instances_survives_a_state():
    """Every field that an instance can have, seen from after two epochs, written and read back."""
    instance = read(
        put(RICH, "provenance", [{"path": "$.models[2].improvement.epochs[0]", "source": "assumed"}])
    )
    state = State(epoch=2, loss=12, model="pruned", elapsed_time=10)
    rest = remaining_instance(instance, state)
    assert depl.Instance.from_json(rest.to_json()) == rest
    assert rest.provenance[0].path == "$.target.initial_loss"
    assert evaluate(rest, Plan(), quantile=False).expected_loss == 12
