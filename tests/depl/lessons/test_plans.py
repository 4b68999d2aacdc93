"""The list of all plans of a small instance is complete, and holds no plan that cannot be in time."""

import pytest

import depl
from depl.lessons import plans
from depl.lessons.plans import all_plans
from depl.models.foundation.errors import NotCoveredError


def test_the_cheapest_feasible_plan_of_the_list_is_the_optimum(tiny: depl.Instance) -> None:
    found = [depl.evaluate(tiny, plan) for plan in all_plans(tiny)]
    assert min(each.cost for each in found if each.feasible) == pytest.approx(28, rel=1e-12)
    assert all(each.training_time <= 5 * (1 + 1e-9) for each in found)


def test_the_plans_of_one_epoch_are_every_model_on_every_cluster_with_every_data(tiny: depl.Instance) -> None:
    single = tiny.replace(maximum_epochs=1)
    assert len(all_plans(single)) == 2 * 2 * 3
    # Sending full to the edge and computing on all data takes 2 + 4 / 4 there, on one dataset 2 + 2 / 4.
    assert len(all_plans(single.replace(maximum_time=2.9))) == 2 * 2 * 3 - 1
    assert len(all_plans(single.replace(maximum_time=2.4))) == 2 * 2 * 3 - 3


def test_a_forbidden_switch_is_in_no_plan(tiny: depl.Instance) -> None:
    sequences = {tuple(epoch.model for epoch in plan.epochs) for plan in all_plans(tiny)}
    assert ("full", "pruned") in sequences
    assert ("pruned", "full") not in sequences
    started = tiny.replace(initial_model="pruned")
    assert {epoch.model for plan in all_plans(started) for epoch in plan.epochs} == {"pruned"}


def test_too_many_plans_are_refused(tiny: depl.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLANS", 63)
    with pytest.raises(NotCoveredError, match=r"needs no list"):
        all_plans(tiny)
