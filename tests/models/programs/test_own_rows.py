"""Rows that a caller adds: no plan comes back that they forbid, and all say that the answer rests on them."""

import math

import pyomo.environ as pyo
import pytest

import depl
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.programs.formulations import labels
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.limits import Limits
from depl.models.solving.result import Solution, Termination
from tests.cases.sampled_plans import cheapest, meets_all, sequences

SCENARIOS = 12


@pytest.fixture(scope="module")
def problem(tiny):
    return SampledProblem(tiny, draw_scenarios(tiny, SCENARIOS, seed=4))


def solve(tiny, rows, **options):
    return depl.solve(tiny, "milp", scenarios=SCENARIOS, seed=4, rows=rows, **options)


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
    result = solve(tiny, on_both_clusters, options={"form": form})
    assert result.cost == pytest.approx(cheapest(problem, allowed=on_both), rel=1e-9)
    assert result.cost > cheapest(problem) * (1 + 1e-6)  # so the rows mattered
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
        others = cheapest(problem, allowed=lambda row: row not in forbidden)
        assert found.cost == pytest.approx(others, rel=1e-9)
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
    allowed = cheapest(problem, allowed=lambda row: labels(problem, row[0]) != first)
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
    assert found.cost == pytest.approx(cheapest(problem, allowed=on_edge), rel=1e-9)


@pytest.mark.parametrize(
    ("level", "size", "few", "wanted"),
    [(0.7, 50, True, 0), (0.7, 50, True, 3), (0.5, 8, False, 3)],
    ids=["no plan keeps it", "plans that miss less", "z may be 1 where the scenario is met"],
)
def test_rows_on_misses_count_every_scenario(tiny, level, size, few, wanted):
    """Those included that no plan meets."""
    instance = tiny.replace(quantile_level=level)
    problem = SampledProblem(instance, draw_scenarios(instance, size, seed=0))

    def rows(model):
        assert list(model.z) == list(range(1, size + 1))
        missed = sum(model.z.values())
        model.own = pyo.Constraint(expr=missed <= wanted if few else missed >= wanted)

    def keeps(row):
        return problem.misses(row) <= wanted if few else problem.misses(row) >= wanted

    found = solve_sampled(problem, Limits(rows=rows))
    assert found.cost == pytest.approx(cheapest(problem, allowed=keeps), rel=1e-9)
    assert found.choices is None or keeps(found.choices)


# --- what is refused


def first(model):
    return next(iter(model.w.values()))


def own(row):
    """Adds a row."""
    return lambda model: setattr(model, "own", pyo.Constraint(expr=row(model)))


def with_own_variable(model):
    model.mine = pyo.Var(bounds=(0, math.nan))
    return model.mine <= first(model)


def of(kind, **options):
    """Adds what is no row."""
    return lambda model: setattr(model, "own", kind(**{key: get(model) for key, get in options.items()}))


NOT_LINEAR = "the row 'own' is not linear; write sums of variables times numbers"
REFUSED = {
    "a coefficient": (own(lambda m: math.nan * first(m) <= 1), "'own' has numbers .* not finite: nan"),
    "a bound": (own(lambda m: first(m) <= math.nan), "not finite"),
    "a bound of a variable": (own(with_own_variable), "the row 'own' cannot be evaluated: Var 'mine'"),
    "a square": (own(lambda m: first(m) ** 2 <= 1), NOT_LINEAR),
    "a quotient": (own(lambda m: first(m) / first(m) <= 1), NOT_LINEAR),
    "an index": (own(lambda m: m.q["nowhere", "archive"] >= 1), "nowhere.*print sorted.model.w., sorted"),
    "no variable": (own(lambda m: sum(m.q[k] for k in m.q if k[0] == "clowd") == 0), "is the sum empty"),
    "the other form": (own(lambda m: m.x[1, "cloud"] <= 2), "has no attribute 'x'|'x'"),
    "resources": (own(lambda m: m.theta <= 1), "the row 'own' speaks of 'theta', but resources"),
    "a set": (of(pyo.SOSConstraint, var=lambda m: m.w, sos=lambda _: 1), "'own' is a SOSConstraint"),
    "an objective": (of(pyo.Objective, expr=first), "the objectives are eq2_cost, own"),
    "a bound that is no number": (lambda m: first(m).setub(math.nan), "non-finite upper bound"),
    "held to nothing": (lambda m: first(m).fix(None), "is held to None"),
    "a miss of every plan": (lambda m: m.z[next(iter(m.missed_anyway))].fix(0), "by every plan: leave z"),
    "no function": ("w <= 0", "must be a function that adds constraints"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_no_linear_program_of_the_method_holds_is_refused_by_name(tiny, reason):
    rows, words = REFUSED[reason]
    with pytest.raises((InvalidInputError, NotCoveredError), match=words):
        depl.solve(tiny, "milp", scenarios=50, rows=rows)


def test_rows_on_resources_and_for_methods_without_a_program_are_refused(tiny, problem):
    with pytest.raises(NotCoveredError, match="the row 'own' speaks of 'x', but resources"):
        solve_sampled(problem, Limits(rows=own(lambda m: next(iter(m.x.values())) <= 1)), form="cone")
    for method in ("exact", "scenario-search"):
        with pytest.raises(InvalidInputError, match=r"no program .*; methods that take them: milp$"):
            depl.solve(tiny, method, rows=on_both_clusters)
