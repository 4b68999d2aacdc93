"""Rows that a caller adds: no plan comes back that they forbid, whatever the start was."""

import math

import msgspec
import numpy as np
import pyomo.environ as pyo
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Dataset, Transfer
from depl.models.programs.cutting import CuttingLoop, solve_sampled
from depl.models.programs.own_rows import OwnRows
from depl.models.programs.sequences import labels
from depl.models.scenarios.draws import draw_scenarios, given_scenarios
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.sampled_plans import cost, meets_all, price_space, sequences


@pytest.fixture(scope="module")
def problem(tiny):
    return SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))


def least(problem, allowed):
    """Oracle: the least cost of all sequences that a predicate allows, one by one."""
    costs = [cost(problem, row) for row in sequences(problem) if allowed(row) and meets_all(problem, row)]
    return min(costs, default=math.inf)


def both_clusters(model):
    """The cloud, and the edge with all data."""
    model.own = pyo.Constraint(expr=sum(model.q[pair] for pair in model.q if pair[0] == "cloud") >= 1)
    model.more = pyo.Constraint(expr=model.q["edge", "archive+sensors"] >= 1)


def on_both(choices):
    return {0, 1} == {g.cluster for g in choices} and all(
        len(g.datasets) == 2 for g in choices if g.cluster == 1
    )


def test_a_row_that_excludes_the_start_yields_the_cheapest_plan_that_it_allows(problem):
    start = CuttingLoop(problem, Limits())._first_plan()
    assert start
    assert not on_both(start)
    found = solve_sampled(problem, Limits(rows=both_clusters))
    assert found.termination is Termination.OPTIMAL
    assert on_both(found.choices)
    assert found.cost == pytest.approx(least(problem, on_both), rel=1e-9)
    assert found.cost > least(problem, lambda row: True) * (1 + 1e-6)  # so the row mattered


def test_rows_that_forbid_every_plan_one_after_the_other_end_in_infeasible_and_never_in_a_forbidden_plan(
    tiny,
):
    instance = tiny.replace(maximum_epochs=2, maximum_loss=10)
    problem = SampledProblem(instance, draw_scenarios(instance, 8, seed=1))
    forbidden = []

    def forbid(model):
        model.own = pyo.ConstraintList()
        for row in forbidden:
            wanted = [(k, *labels(problem, g)) for k, g in enumerate(row, start=1)]
            onward = [model.w[key] for key in model.w if key[0] == len(row) + 1]
            model.own.add(sum(model.w[key] for key in wanted) - sum(onward) <= len(row) - 1)

    total = sum(meets_all(problem, row) for row in sequences(problem))
    assert total > 3
    for _ in range(total + 1):
        found = solve_sampled(problem, Limits(rows=forbid))
        if found.choices is None:
            break
        assert tuple(found.choices) not in forbidden
        assert found.cost == pytest.approx(least(problem, lambda row: row not in forbidden), rel=1e-9)
        forbidden.append(tuple(found.choices))
    assert found.termination is Termination.INFEASIBLE
    assert found.lower_bound == math.inf
    assert "own[1]" in found.reason
    assert len(forbidden) == total


def test_a_variable_fixed_by_the_caller_stays_fixed(problem):
    """The optimum trains on the cloud in epoch 1; forbidden by fixing or by a bound it is another one."""
    free = solve_sampled(problem)
    first = labels(problem, free.choices[0])

    def fix(model):
        model.w[1, *first].fix(0)

    def bound(model):
        model.w[1, *first].setub(0)

    allowed = least(problem, lambda row: labels(problem, row[0]) != first)
    for change in (fix, bound):
        found = solve_sampled(problem, Limits(rows=change))
        assert labels(problem, found.choices[0]) != first
        assert found.cost == pytest.approx(allowed, rel=1e-9)


def test_a_row_over_variables_of_the_callers_own_holds_too(problem):
    def add(model):
        model.chosen = pyo.Var(domain=pyo.Binary)
        model.own = pyo.Constraint(
            expr=sum(model.q[pair] for pair in model.q if pair[0] == "edge") == model.chosen
        )
        model.must = pyo.Constraint(expr=model.chosen >= 1)

    found = solve_sampled(problem, Limits(rows=add))
    on_edge = lambda row: any(g.cluster == 1 for g in row)  # noqa: E731
    names = [place.name for place in problem.instance.clusters]
    assert names[1] == "edge"
    assert on_edge(found.choices)
    assert found.cost == pytest.approx(least(problem, on_edge), rel=1e-9)


def test_not_to_train_is_no_answer_where_a_row_forbids_it(tiny):
    instance = tiny.replace(maximum_loss=tiny.target.initial_loss + 1)
    problem = SampledProblem(instance, draw_scenarios(instance, 8, seed=1))
    assert solve_sampled(problem).choices == []

    def train(model):
        model.own = pyo.Constraint(expr=sum(model.w[key] for key in model.w if key[0] == 1) >= 1)

    found = solve_sampled(problem, Limits(rows=train))
    assert len(found.choices) >= 1
    assert found.cost == pytest.approx(least(problem, lambda row: True), rel=1e-9)

    def any_number(model):
        model.own = pyo.Constraint(expr=sum(model.w[key] for key in model.w if key[0] == 1) <= 1)

    assert solve_sampled(problem, Limits(rows=any_number)).choices == []


@pytest.mark.parametrize("count", [5, pytest.param(8, marks=pytest.mark.slow)])
def test_on_random_instances_a_random_row_is_kept_at_the_least_cost(count):
    drawn = random_instances(
        np.random.default_rng(5),
        count,
        models=(2, 2),
        clusters=(1, 2),
        datasets=(1, 2),
        maximum_epochs=(2, 3),
    )
    held = 0
    for seed, instance in enumerate(drawn):
        problem = SampledProblem(instance, draw_scenarios(instance, 10, seed))
        free = solve_sampled(problem)
        if not free.choices:
            continue
        last, banned = len(free.choices), labels(problem, free.choices[-1])[2]

        def add(model, banned=banned, last=last):
            there = [model.w[key] for key in model.w if key[0] == last and key[3] == banned]
            model.own = pyo.Constraint(expr=sum(there) <= 0)

        def allowed(row, problem=problem, banned=banned, last=last):
            return len(row) < last or labels(problem, row[last - 1])[2] != banned

        found = solve_sampled(problem, Limits(rows=add))
        best = least(problem, allowed)
        held += best > free.cost * (1 + 1e-9)
        if best == math.inf:
            assert found.choices is None
        else:
            assert allowed(found.choices)
            assert found.cost == pytest.approx(best, rel=1e-9)
    assert held >= 3 * count / 8


def test_a_program_as_built_has_no_own_rows(problem):
    """Else the rows of the programs themselves would be taken for a caller's."""
    assert not OwnRows.of(price_space(problem)).any


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda model: pyo.Constraint(expr=model.theta >= 1), "speaks of 'theta'"),
        (lambda model: pyo.Objective(expr=sum(model.w.values())), "the objectives are eq2_cost, own"),
    ],
)
def test_what_the_closed_form_could_not_keep_is_refused(problem, spoil, words):
    def add(model):
        model.own = spoil(model)

    with pytest.raises(NotCoveredError, match=words):
        solve_sampled(problem, Limits(rows=add))


def test_a_plus_in_a_name_does_not_confuse_subsets(tiny):
    """The subset of a and b, and the dataset a+b, must be two configurations of their own."""
    rename = {"archive": "a", "sensors": "a+b"}
    third = Dataset(name="b", volume=tiny.datasets[0].volume)
    datasets = (*(msgspec.structs.replace(row, name=rename[row.name]) for row in tiny.datasets), third)
    transfers = tuple(
        Transfer(dataset=rename[row.dataset], cluster=row.cluster, cost=row.cost) for row in tiny.transfers
    )
    instance = tiny.replace(datasets=datasets, transfers=transfers, data_law=None)
    problem = SampledProblem(
        instance, given_scenarios(instance, np.full((3, instance.target.maximum_epochs, 2), 4.0))
    )
    named = [labels(problem, g) for g in problem.configurations]
    assert len(set(named)) == len(named) == 2 * 7 * 2
    assert solve_sampled(problem).cost == pytest.approx(least(problem, lambda row: True), rel=1e-9)
