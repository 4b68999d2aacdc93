"""Progress and decisions of the loop, what it does at its limits, and the list of few plans."""

import itertools
import math

import numpy as np
import pytest

import depl
from depl.heuristics.depl import method
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.problem.instance import Instance
from depl.models.problem.learning import PowerDataLaw
from depl.models.solving.decisions import Stage
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Result, Termination
from tests.cases.loop_cases import crowded

Row = tuple[float, float, float]


@pytest.fixture(scope="module")
def followed(tiny: Instance) -> tuple[Result, list[Row]]:
    """A whole search, and its rows of progress."""
    rows: list[Row] = []
    return depl.solve(tiny, "depl", progress=lambda *row: rows.append(row)), rows


def test_rows_of_progress_fall_to_the_cost_and_a_loop_that_ends_with_a_gap_is_stuck(followed):
    """Its bound says little of six epochs, and more time would not raise it."""
    result, rows = followed
    assert result.termination is Termination.STUCK
    assert 0 < result.lower_bound < 28
    costs = [cost for _, cost, _ in rows]
    assert len(costs) > 1
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(result.cost)
    assert all(bound <= costs[-1] for _, _, bound in rows)


def test_decisions_name_data_models_and_clusters_of_the_plan(followed: tuple[Result, list[Row]]) -> None:
    result, _ = followed
    kept = [item for item in result.decisions if item.kept]
    last = {item.stage: item for item in kept[:-1]}
    assert kept[-1].choice == "no further choice of data"
    assert kept[-1].cost == pytest.approx(result.cost)
    assert kept[-1].lower_bound == pytest.approx(result.lower_bound)
    for row in result.plan.data:
        assert f"{', '.join(row.datasets)} on {row.cluster}" in last[Stage.DATA].choice
    for name in {epoch.model for epoch in result.plan.epochs}:
        count = sum(epoch.model == name for epoch in result.plan.epochs)
        assert f"{count} {name}" in last[Stage.MODELS].choice
    for name in {epoch.cluster for epoch in result.plan.epochs}:
        count = sum(epoch.cluster == name for epoch in result.plan.epochs)
        assert f"{count} {name}" in last[Stage.RESOURCES].choice
    assert last[Stage.RESOURCES].cost == pytest.approx(result.cost)


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)])
def many_datasets(request: pytest.FixtureRequest) -> Instance:
    """Of normal laws; the other has heavy ones and many clusters, and its bound takes seconds."""
    if request.param:
        return heterogeneous_instance(
            np.random.default_rng(11), clusters=30, datasets=12, models=4, maximum_epochs=20
        )
    return crowded(np.random.default_rng([6, 11, 2]), PowerDataLaw(p=0.5), datasets=12, deadline=True)


def test_no_step_goes_on_for_long_wherever_the_time_limit_strikes(many_datasets, monkeypatch):
    """The clock counts questions: after so many, time is up, and few more are asked."""
    for most in (0, 3, 100):
        asked = itertools.count()
        monkeypatch.setattr(Limits, "expired", lambda _, asked=asked, most=most: next(asked) >= most)
        result = depl.solve(many_datasets, "depl", time_limit=1)
        assert result.termination is Termination.TIME_LIMIT
        assert next(asked) < most + 40


def test_with_many_datasets_a_bound_comes_before_a_plan_and_only_rises(many_datasets: Instance) -> None:
    rows: list[tuple[float, float]] = []

    def until_a_plan(_: float, cost: float, bound: float) -> None:
        rows.append((cost, bound))
        if math.isfinite(cost):
            raise KeyboardInterrupt

    result = depl.solve(many_datasets, "depl", progress=until_a_plan)
    assert rows[0][0] == math.inf
    assert 0 < rows[0][1] <= rows[-1][1]
    assert [bound for _, bound in rows] == sorted(bound for _, bound in rows)
    assert result.termination is Termination.INTERRUPTED
    assert result.cost == rows[-1][0]
    assert result.cost >= result.lower_bound == rows[-1][1]


@pytest.mark.parametrize(
    "target", [4.0, *(pytest.param(target, marks=pytest.mark.slow) for target in (3.0, 4.5))]
)
def test_where_no_plan_is_found_few_plans_are_listed_and_prove_that_there_is_none(tiny, target):
    """`exact` proves it by another way; the best 0.7-quantile of the instance is 5."""
    hard = tiny.replace(maximum_loss=target)
    assert depl.solve(hard, "exact").termination is Termination.INFEASIBLE
    result = depl.solve(hard, "depl")
    assert (result.termination, result.plan) == (Termination.INFEASIBLE, None)
    assert result.lower_bound == float("inf")
    assert f"target {target:g} at omega" in result.reason
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


def test_an_interrupt_within_the_list_ends_the_loop(tiny: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Outcome:
        return Outcome(Termination.INTERRUPTED, None, 0.0, "for a test")

    monkeypatch.setattr(method, "enumerate_plans", interrupted)
    assert depl.solve(tiny.replace(maximum_loss=3), "depl").termination is Termination.INTERRUPTED
