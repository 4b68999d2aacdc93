"""The nearest values of each limit: reached and out of reach by enumeration, alone and on either side."""

import pytest

from depl.instances.library import load
from depl.models.exact.listing import enumerate_plans
from depl.models.solving import edge as module
from depl.models.solving.edge import Budget, any_plan, nearest_values
from depl.models.solving.limits import Limits
from depl.models.solving.solve import solve
from depl.showing.limits import explain_instance
from tests.cases.memory_cases import instance_of
from tests.cases.traced_law_cases import halves

FIELDS = {limit.symbol: limit.field for limit in Budget}
TINY = load("tiny")


def moved(instance):
    return {item.limit.symbol: item for item in nearest_values(instance, any_plan(instance))}


def exists(instance, name, value):
    """Whether there is a plan with one limit replaced, by listing all plans."""
    changed = instance.replace(**{FIELDS[name]: int(value) if name == "K_max" else value})
    return enumerate_plans(changed, Limits()).plan is not None


@pytest.mark.parametrize(
    "changes",
    [{}, {"maximum_epochs": 1}, {"quantile_level": 0.95}, {"maximum_time": 1.5, "round_deadline": 1.6}],
    ids=str,
)
def test_what_is_reached_has_a_plan_and_what_is_out_of_reach_has_none(changes, monkeypatch):
    monkeypatch.setattr(module, "_SHARE", 0.4)  # ends that are further apart take fewer solves
    instance = TINY.replace(**changes)
    feasible = enumerate_plans(instance, Limits()).plan is not None
    found = moved(instance)
    assert set(found) == set(FIELDS) - ({"tau"} if "round_deadline" not in changes else set())
    for name, item in found.items():
        if item.reached is None:
            assert item.proved
            assert not exists(instance, name, item.loosest)
            continue
        slack = 1e-9 * (1 if name != "omega" else -1)
        assert exists(instance, name, item.reached + (slack if name != "K_max" else 0))
        if item.failed is not None:
            assert item.proved
            assert not exists(instance, name, item.failed)
        tighter = item.reached > item.own if name == "omega" else item.reached < item.own
        assert feasible == tighter or item.reached == item.own


def test_what_was_only_not_found_is_not_called_proved(monkeypatch):
    monkeypatch.setattr(module, "any_plan", lambda instance: solve(instance, "density-greedy"))
    hopeless = TINY.replace(maximum_loss=-40.0)
    monkeypatch.setattr("depl.showing.limits.any_plan", module.any_plan)
    text = explain_instance(hopeless)
    assert text.startswith("'tiny': no plan was found, and it is not proved that there is none.")
    assert "not omega alone: with omega = 0.01, too, no plan was found" in text
    assert "was not reached; that proves nothing" in text
    assert "proved out of reach" not in text


def test_under_a_fitted_law_the_time_that_binds_is_named():
    """Both epochs of the runs are needed: 8 / 8 + 2 / 4 and 3 / 2 / 5 + 1 are the least times of the two."""
    instance = instance_of(halves(20, unseen_loss=9.0), maximum_loss=2.0, maximum_time=1.0)
    text = explain_instance(instance)
    assert text.startswith(
        "'traced': no plan can be promised on these runs: proved under the law fitted to them."
    )
    assert "T_max" in text.split("alone would do")[0]
    assert "all under the fitted law" in text
    assert moved(instance)["T_max"].reached == pytest.approx(1.5 + 1.3)
