"""Rows that a caller adds: no plan comes back that they forbid, and all say that the answer rests on them."""

import math

import pyomo.environ as pyo
import pytest

import depl
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.programs.formulations import labels
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Limits
from depl.models.solving.result import Solution, Termination
from tests.cases.sampled_plans import cost, meets_all, sequences

SCENARIOS = 12


@pytest.fixture(scope="module")
def problem(tiny):
    return SampledProblem(tiny, draw_scenarios(tiny, SCENARIOS, seed=4))


def solve(tiny, rows, **options):
    return depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=rows, **options)


def least(problem, allowed=lambda row: True):
    """Oracle: the least cost of all sequences that a predicate allows, one by one."""
    costs = [cost(problem, row) for row in sequences(problem) if allowed(row) and meets_all(problem, row)]
    return min(costs, default=math.inf)


def on_both_clusters(model):
    """The cloud, and the edge with all data; excludes every first plan, as those train on one cluster."""
    model.cloud = pyo.Constraint(expr=sum(model.q[pair] for pair in model.q if pair[0] == "cloud") >= 1)
    model.edge = pyo.Constraint(expr=model.q["edge", "archive+sensors"] >= 1)


def on_both(choices):
    return {0, 1} == {g.cluster for g in choices} and all(
        len(g.datasets) == 2 for g in choices if g.cluster == 1
    )


# --- the cheapest plan that keeps them


@pytest.mark.parametrize("form", ["price", "cone"])
def test_the_cheapest_plan_under_the_rows_is_found_and_said_to_be_that(tiny, problem, form):
    if form == "cone":
        pytest.importorskip("pyscipopt")
    result = solve(tiny, on_both_clusters, options={"form": form})
    assert result.cost == pytest.approx(least(problem, on_both), rel=1e-9)
    assert result.cost > least(problem) * (1 + 1e-6)  # so the rows mattered
    assert {epoch.cluster for epoch in result.plan.epochs} == {"cloud", "edge"}
    assert result.solution is Solution.PROVEN_UNDER_ROWS
    assert result.rows == ("cloud", "edge")
    assert result.to_dict()["rows"] == ["cloud", "edge"]
    assert all("under your rows" in text for text in (str(result), repr(result)))
    assert "proved under your rows: cloud, edge" in str(result)


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
    assert (found.termination, found.lower_bound) == (Termination.INFEASIBLE, math.inf)
    assert "the rows own[1], own[2], own[3], own[4] and" in found.reason
    assert len(forbidden) == total
    result = depl.solve(instance, "milp", scenarios=8, seed=1, rows=forbid)
    assert (result.plan, result.rows) == (None, ("own",))
    assert "under your rows" in str(result)


def test_a_variable_fixed_or_bounded_by_the_caller_stays_so(problem):
    """The optimum trains on the cloud in epoch 1; forbidden by fixing or by a bound it is another one."""
    first = labels(problem, solve_sampled(problem).choices[0])
    allowed = least(problem, lambda row: labels(problem, row[0]) != first)
    for change in (lambda item: item.fix(0), lambda item: item.setub(0)):
        rows = lambda model, change=change: change(model.w[1, *first])  # noqa: E731
        found = solve_sampled(problem, Limits(rows=rows))
        assert labels(problem, found.choices[0]) != first
        assert found.cost == pytest.approx(allowed, rel=1e-9)
        assert [item.parent_component().name for item in found.own] == ["w"]


def test_a_row_over_variables_of_the_callers_own_holds_too(problem):
    def add(model):
        model.x = pyo.Var(domain=pyo.Binary)  # a name that the other form has for resources
        model.own = pyo.Constraint(expr=sum(model.q[p] for p in model.q if p[0] == "edge") == model.x)
        model.must = pyo.Constraint(expr=model.x >= 1)

    found = solve_sampled(problem, Limits(rows=add))
    on_edge = lambda row: any(g.cluster == 1 for g in row)  # noqa: E731
    assert problem.instance.clusters[1].name == "edge"
    assert on_edge(found.choices)
    assert found.cost == pytest.approx(least(problem, on_edge), rel=1e-9)


@pytest.mark.parametrize("most", [0, 3])
def test_rows_on_misses_count_every_scenario(tiny, most):
    """Those included that no plan meets: then no plan keeps the row."""
    problem = SampledProblem(tiny, draw_scenarios(tiny, 50, seed=0))
    wanted = least(problem, lambda row: problem.misses(row) <= most)

    def few(model):
        assert list(model.z) == list(range(1, 51))
        model.few = pyo.Constraint(expr=sum(model.z.values()) <= most)

    result = depl.solve(tiny, "milp", scenarios=50, rows=few)
    if wanted == math.inf:
        assert result.termination is Termination.INFEASIBLE
    else:
        assert result.cost == pytest.approx(wanted, rel=1e-9)
        assert result.scenarios.misses <= most


@pytest.mark.parametrize("most", [3])
def test_rows_that_ask_for_misses_are_kept_by_plans_that_miss(tiny, most):
    """The program lets z be 1 where the scenario is met: such a plan is none of the answers."""
    instance = tiny.replace(quantile_level=0.5)
    problem = SampledProblem(instance, draw_scenarios(instance, 8, seed=2))

    def many(model):
        model.many = pyo.Constraint(expr=sum(model.z.values()) >= most)

    found = solve_sampled(problem, Limits(rows=many))
    wanted = least(problem, lambda row: problem.misses(row) >= most)
    assert (math.inf if found.choices is None else found.cost) == pytest.approx(wanted, rel=1e-9)
    assert found.cost == math.inf or problem.misses(found.choices) >= most


# --- what is refused


def first(model):
    return next(iter(model.w.values()))


def with_own_variable(model):
    model.own = pyo.Var(bounds=(0, math.nan))
    return model.own <= first(model)


NOT_LINEAR = "the row 'own_row' is not linear; write sums of variables times numbers"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (lambda m: math.nan * first(m) <= 1, "the row 'own_row' has numbers that are not finite: nan"),
        (lambda m: first(m) + math.nan <= 1, "not finite"),
        (lambda m: first(m) <= math.nan, "not finite"),
        (lambda m: math.inf * first(m) <= 1, "not finite"),
        (with_own_variable, "the row 'own_row' cannot be evaluated: Var 'own'"),
        (lambda m: first(m) ** 2 <= 1, NOT_LINEAR),
        (lambda m: first(m) * sum(m.w.values()) <= 1, NOT_LINEAR),
        (lambda m: pyo.exp(first(m)) <= 1, NOT_LINEAR),
        (lambda m: first(m) / first(m) <= 1, NOT_LINEAR),
        (lambda m: m.q["nowhere", "archive"] >= 1, "nowhere.*print sorted.model.w., sorted.model.q."),
        (lambda m: sum(m.q[key] for key in m.q if key[0] == "clowd") == 0, "is the sum empty"),
        (lambda m: m.x[1, "cloud"] <= 2, "has no attribute 'x'|'x'"),
        (lambda m: m.theta >= 1, "speaks of 'theta'"),
    ],
)
def test_rows_that_are_not_linear_or_speak_of_what_is_not_there_are_refused_by_name(tiny, row, words):
    def rows(model):
        model.own_row = pyo.Constraint(expr=row(model))

    with pytest.raises(DeplError, match=words):
        solve(tiny, rows)


def add(name, item):
    """Adds what is no row, or no row alone."""
    return lambda model: setattr(model, name, item(model))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (
            add("own", lambda m: pyo.SOSConstraint(var=m.w, sos=1)),
            InvalidInputError,
            "'own' is a SOSConstraint",
        ),
        (
            add("own", lambda m: pyo.Objective(expr=sum(m.w.values()))),
            NotCoveredError,
            "the objectives are eq2_cost, own",
        ),
        (lambda m: first(m).setub(math.nan), InvalidInputError, "non-finite upper bound"),
        (lambda m: first(m).fix(None), InvalidInputError, "is held to None"),
        (
            lambda m: m.z[next(iter(m.missed_anyway))].fix(0),
            InvalidInputError,
            "is missed by every plan: leave z",
        ),
        ("w <= 0", InvalidInputError, "must be a function that adds constraints"),
    ],
)
def test_what_no_linear_program_holds_is_refused(tiny, change, kind, words):
    with pytest.raises(kind, match=words):
        depl.solve(tiny, "milp", scenarios=50, rows=change)


@pytest.mark.parametrize("form", ["price", "cone"])
def test_a_row_on_resources_is_refused_in_each_form(problem, form):
    if form == "cone":
        pytest.importorskip("pyscipopt")

    def add(model):
        model.own = pyo.Constraint(expr=next(model.component_data_objects(pyo.Var)) >= 0)
        resources = model.theta if form == "price" else next(iter(model.x.values()))
        model.cheap = pyo.Constraint(expr=resources <= 1)

    with pytest.raises(NotCoveredError, match=r"the row 'cheap' speaks of '(theta|x)', but resources"):
        solve_sampled(problem, Limits(rows=add), form=form)


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
def test_methods_without_a_program_are_refused(tiny, method):
    with pytest.raises(InvalidInputError, match=r"no program to add rows to; methods that take them: milp$"):
        depl.solve(tiny, method, rows=on_both_clusters)
