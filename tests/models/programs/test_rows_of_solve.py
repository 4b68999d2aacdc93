"""``depl.solve(..., rows=...)``: the answer, the plan's file and the verifier say what rests on the rows."""

import math

import pyomo.environ as pyo
import pytest

import depl
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.scenarios.draws import draw_scenarios
from tests.cases.sampled_plans import cost, meets_all, sequences

SCENARIOS = 12


def on_both_clusters(model):
    """The cloud, and the edge with all data; excludes every start, as those train on one cluster."""
    model.cloud = pyo.Constraint(expr=sum(model.q[pair] for pair in model.q if pair[0] == "cloud") >= 1)
    model.edge = pyo.Constraint(expr=model.q["edge", "archive+sensors"] >= 1)


def nothing_at_all(model):
    model.never = pyo.Constraint(expr=sum(model.w.values()) <= 0)


@pytest.fixture(scope="module")
def least(tiny):
    """Oracle: the least cost of a plan that keeps the rows, by all sequences one after the other."""
    problem = SampledProblem(tiny, draw_scenarios(tiny, SCENARIOS, seed=4))
    both = [row for row in sequences(problem) if {g.cluster for g in row} == {0, 1}]
    both = [row for row in both if all(len(g.datasets) == 2 for g in row if g.cluster == 1)]
    return min(cost(problem, row) for row in both if meets_all(problem, row))


def test_the_cheapest_plan_under_the_rows_is_found_and_said_to_be_that(tiny, least):
    free = depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4)
    assert (free.rows, free.solution) == ((), depl.Solution.PROVEN_OPTIMAL)
    result = depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=on_both_clusters)
    assert result.cost == pytest.approx(least, rel=1e-9)
    assert result.cost > free.cost * (1 + 1e-6)
    assert {epoch.cluster for epoch in result.plan.epochs} == {"cloud", "edge"}
    assert result.solution is depl.Solution.PROVEN_UNDER_ROWS
    assert result.rows == ("cloud", "edge")
    assert result.to_dict()["rows"] == ["cloud", "edge"]
    for text in (str(result), repr(result)):
        assert "under your rows" in text
    assert "proved under your rows: cloud, edge" in str(result)


def test_the_verifier_says_what_it_checked_and_what_it_took_on_trust(tiny):
    result = depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=on_both_clusters)
    report = depl.check(tiny, result.plan)
    assert report.ok
    trusted = {finding.subject: finding.message for finding in report.repeated}
    assert "cloud, edge" in trusted["rows"]
    assert "on trust" in trusted["rows"]
    assert "keep the rows cloud, edge, taken on trust" in trusted["lower_bound"]
    assert "cost" in {finding.subject for finding in report.checked}
    assert report.proved_bound < result.cost  # of all plans, not of those that keep the rows


def test_rows_that_forbid_every_plan_leave_none_and_say_so(tiny):
    result = depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=nothing_at_all)
    assert (result.termination, result.plan) == (depl.Termination.INFEASIBLE, None)
    assert result.lower_bound == math.inf
    assert "never" in result.reason
    assert "under your rows" in str(result)


def test_a_function_that_adds_nothing_leaves_the_answer_as_it_is(tiny):
    result = depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=lambda model: None)
    assert (result.rows, result.solution) == ((), depl.Solution.PROVEN_OPTIMAL)
    assert result.plan.claims.rows is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda model: model.q["nowhere", "archive"] >= 1, "nowhere.*print sorted.model.w., sorted.model.q."),
        (lambda model: sum(model.q[key] for key in model.q if key[0] == "clowd") == 0, "is the sum empty"),
        (lambda model: model.x[1, "cloud"] <= 2, "has no attribute 'x'|'x'"),
    ],
)
def test_a_row_that_speaks_of_what_is_not_there_is_refused_with_what_to_look_at(tiny, wrong, words):
    def add(model):
        model.own = pyo.Constraint(expr=wrong(model))

    with pytest.raises(InvalidInputError, match=words):
        depl.solve(tiny, "milp", scenarios=SCENARIOS, rows=add)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_rows_on_misses_count_every_scenario(tiny, most):
    """Those included that no plan meets: then no plan keeps the row."""
    problem = SampledProblem(tiny, draw_scenarios(tiny, 50, seed=0))
    kept = [row for row in sequences(problem) if problem.misses(row) <= most and meets_all(problem, row)]
    wanted = min((cost(problem, row) for row in kept), default=math.inf)

    def few(model):
        assert list(model.z) == list(range(1, 51))
        model.few = pyo.Constraint(expr=sum(model.z.values()) <= most)

    result = depl.solve(tiny, "milp", scenarios=50, rows=few)
    if wanted == math.inf:
        assert result.termination is depl.Termination.INFEASIBLE
    else:
        assert result.cost == pytest.approx(wanted, rel=1e-9)
        assert result.scenarios.misses <= most


def test_a_miss_that_no_plan_has_a_choice_about_cannot_be_given_another_value(tiny):
    def meet(model):
        lost = next(iter(model.missed_anyway))
        model.z[lost].fix(0)

    with pytest.raises(InvalidInputError, match="is missed by every plan: leave z"):
        depl.solve(tiny, "milp", scenarios=50, rows=meet)


@pytest.mark.parametrize(
    ("method", "rows", "words"),
    [
        ("exact", nothing_at_all, "no program to add rows to; methods that take them: milp$"),
        ("scenario-search", nothing_at_all, "no program to add rows to"),
        ("milp", "w <= 0", "must be a function that adds constraints"),
    ],
)
def test_methods_without_a_program_and_rows_that_are_no_function_are_refused(tiny, method, rows, words):
    with pytest.raises(InvalidInputError, match=words):
        depl.solve(tiny, method, rows=rows)


def _first(model):
    return next(iter(model.w.values()))


def _with_own_variable(model):
    model.own = pyo.Var(bounds=(0, math.nan))
    return model.own <= _first(model)


NOT_LINEAR = "is not linear; write sums of variables times numbers"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            lambda model: math.nan * _first(model) <= 1,
            "the row 'own_row' has numbers that are not finite: nan",
        ),
        (lambda model: _first(model) + math.nan <= 1, "not finite"),
        (lambda model: _first(model) <= math.nan, "not finite"),
        (lambda model: math.inf * _first(model) <= 1, "not finite"),
        (_with_own_variable, "the row 'own_row' cannot be evaluated: Var 'own'"),
        (lambda model: _first(model) ** 2 <= 1, f"the row 'own_row' {NOT_LINEAR}"),
        (lambda model: _first(model) * sum(model.w.values()) <= 1, NOT_LINEAR),
        (lambda model: pyo.exp(_first(model)) <= 1, NOT_LINEAR),
        (lambda model: _first(model) / _first(model) <= 1, NOT_LINEAR),
    ],
)
def test_rows_that_are_not_linear_or_hold_no_numbers_are_refused_by_name(tiny, row, words):
    def rows(model):
        model.own_row = pyo.Constraint(expr=row(model))

    with pytest.raises(InvalidInputError, match=words) as refused:
        depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=rows)
    assert refused.value.path == "rows"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda model: setattr(model, "own", pyo.SOSConstraint(var=model.w, sos=1)),
            "'own' is a SOSConstraint",
        ),
        (lambda model: _first(model).setub(math.nan), "non-finite upper bound"),
        (lambda model: _first(model).fix(None), "is held to None"),
    ],
)
def test_what_no_linear_program_holds_is_refused(tiny, change, words):
    with pytest.raises(InvalidInputError, match=words):
        depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=change)
