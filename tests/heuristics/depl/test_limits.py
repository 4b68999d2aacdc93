"""Progress and decisions of the loop, what it does at its limits, and the list of few plans."""

import itertools
from collections import Counter

import numpy as np
import pytest

import depl
from depl.heuristics.depl import method
from depl.models.evaluation.evaluate import plan_cost
from depl.models.problem.learning import PowerDataLaw
from depl.models.solving.decisions import Stage
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.cases.loop_cases import crowded


def test_decisions_name_the_parts_of_the_plan_and_incumbents_become_cheaper(tiny):
    """The bound says little of six epochs, and more time would not raise it: the loop is stuck."""
    result = depl.solve(tiny, "depl")
    assert result.termination is Termination.STUCK
    assert 0 < result.lower_bound < 28
    kept = [item for item in result.decisions if item.kept]
    costs = [item.cost for item in result.decisions if item.stage is Stage.RESOURCES]
    assert costs == sorted(set(costs), reverse=True)
    last = {item.stage: item for item in kept[:-1]}
    assert kept[-1].cost == pytest.approx(result.cost)
    assert kept[-1].lower_bound == pytest.approx(result.lower_bound)
    counted = {
        Stage.MODELS: Counter(epoch.model for epoch in result.plan.epochs),
        Stage.RESOURCES: Counter(epoch.cluster for epoch in result.plan.epochs),
    }
    for stage, counts in counted.items():
        assert all(f"{count} {name}" in last[stage].choice for name, count in counts.items())
    assert last[Stage.RESOURCES].cost == pytest.approx(result.cost)


@pytest.fixture(scope="module")
def many_datasets():
    return crowded(np.random.default_rng([6, 11, 2]), PowerDataLaw(p=0.5), datasets=12, deadline=True)


def test_no_step_goes_on_for_long_wherever_the_time_limit_strikes(many_datasets, monkeypatch):
    """The clock counts questions: after so many, time is up, and few more are asked."""
    for most in (0, 3, 100):
        asked = itertools.count()
        monkeypatch.setattr(Limits, "expired", lambda _, asked=asked, most=most: next(asked) >= most)
        result = depl.solve(many_datasets, "depl", time_limit=1)
        assert result.termination is Termination.TIME_LIMIT
        assert next(asked) < most + 40


def test_what_a_time_limit_leaves_once_nothing_raises_the_bound_is_for_further_choices_of_data(
    many_datasets, monkeypatch
):
    """Without patience nothing is tried before; the plan to start from is one that such a try betters."""
    monkeypatch.setattr(method, "_PATIENCE", 0)
    start = depl.solve(many_datasets, "random").plan.bare()
    costs = [depl.solve(many_datasets, "depl", start=start, time_limit=limit).cost for limit in (None, 600)]
    assert costs[0] == pytest.approx(plan_cost(many_datasets, start))
    assert costs[1] < 0.5 * costs[0]


def test_where_no_plan_is_found_few_plans_are_listed_and_prove_that_there_is_none(tiny):
    """`exact` proves it by another way; the best 0.7-quantile of the instance is 5."""
    hard = tiny.replace(maximum_loss=4.0)
    assert depl.solve(hard, "exact").termination is Termination.INFEASIBLE
    result = depl.solve(hard, "depl")
    assert (result.termination, result.plan) == (Termination.INFEASIBLE, None)
    assert result.lower_bound == float("inf")
    assert result.reason
    assert result.decisions[-1].choice == "every class of plans"


def test_a_plan_that_every_label_misses_is_found_in_the_list(tiny, monkeypatch):
    """As if labels, which no law with atoms is bound to follow, led nowhere."""
    monkeypatch.setattr(method._Loop, "_search", lambda _: None)
    monkeypatch.setattr(method._Loop, "_insist", lambda _: None)
    result = depl.solve(tiny, "depl")
    assert (result.termination, result.cost) == (Termination.OPTIMAL, pytest.approx(28, rel=1e-9))
    assert result.decisions[-1].kept
    monkeypatch.setattr(method, "_FEW_CLASSES", 3)
    result = depl.solve(tiny, "depl")
    assert (result.termination, result.plan) == (Termination.EXHAUSTED, None)
