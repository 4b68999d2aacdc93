"""A plan that is followed until the target is reached: where it stops, what it costs, and its log."""

import math
from pathlib import Path

import msgspec
import pytest

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan


@pytest.fixture(scope="module")
def instance() -> Instance:
    return depl.load("tiny")


@pytest.fixture(scope="module")
def plan(instance: Instance) -> Plan:
    """Three epochs, on the cloud and then on the edge."""
    names = [cluster.name for cluster in instance.clusters]
    data = [{"cluster": name, "datasets": [instance.datasets[0].name]} for name in names[:2]]
    schedule = [(instance.models[0].name, names[0]), (instance.models[-1].name, names[0])]
    schedule.append((instance.models[-1].name, names[1]))
    return Plan(
        data=data, epochs=[{"model": model, "cluster": at, "resources": 2.0} for model, at in schedule]
    )


def test_a_run_stops_as_soon_as_its_target_is_reached_and_pays_for_its_epochs_alone(
    instance: Instance, plan: Plan
) -> None:
    controller, target = Controller(plan, instance=instance), instance.target.maximum_loss
    controller.start(50.0)
    assert controller.observe(math.nextafter(target + 1e-3, math.inf)).kind == "switch"
    assert controller.observe(target) == Stop("reached", 2, target)
    begun = Plan(data=plan.data[:1], epochs=plan.epochs[:2])
    assert math.isclose(controller.cost, depl.evaluate(instance, begun).cost, rel_tol=1e-12)
    assert "from" not in controller.why()


def test_a_model_that_may_not_be_the_last_is_trained_on_below_the_target(
    instance: Instance, plan: Plan
) -> None:
    target = msgspec.structs.replace(instance.target, deployable=(plan.epochs[-1].model,))
    instance = msgspec.structs.replace(instance, target=target)
    controller = Controller(plan, instance=instance)
    assert [controller.start(1.0).kind, controller.observe(1.0).kind] == ["continue", "switch"]
    assert controller.observe(1.0) == Stop("reached", 2, 1.0)
    other = msgspec.structs.replace(target, deployable=(plan.epochs[0].model,))
    with pytest.raises(InvalidInputError, match=r"ends with '.*', which may not be the last model"):
        Controller(plan, instance=msgspec.structs.replace(instance, target=other))


def test_a_plan_without_its_instance_and_with_another_one_is_refused(
    instance: Instance, plan: Plan, tmp_path: Path
) -> None:
    needed = r"Controller\(plan, instance=instance\)"
    for given in (plan, plan.to_json()):
        with pytest.raises(InvalidInputError, match=needed):
            Controller(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="made for another instance"):
        Controller(msgspec.structs.replace(plan, instance="0" * 64), instance=instance)
    with pytest.raises(
        InvalidInputError, match="must be Plan, the path of its file or its JSON text, not dict"
    ):
        Controller({}, instance=instance)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cannot be read"):
        Controller(tmp_path / "none.json", instance=instance)
