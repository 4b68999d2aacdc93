"""The cvxpy problems hold what they say: evaluated at a point, changed, and solved by another solver."""

import cvxpy
import numpy as np
import pytest

from depl.benchmarks.cases.set_functions.random_set_functions import (
    SUBMODULAR,
    random_coverage,
    random_cut,
    random_real_cut,
)
from depl.heuristics.set_functions.convex import (
    convex_cutting_planes,
    disciplined,
    disciplined_program,
    lovasz_program,
)
from depl.heuristics.set_functions.functions import all_values
from depl.heuristics.set_functions.graphs import GraphFunction, cut
from depl.heuristics.set_functions.lovasz import lovasz_extension
from depl.heuristics.set_functions.max_flow import max_flow
from depl.models.foundation.errors import NotCoveredError

# 0 -> 1 with capacity 4, weights -3 and 1: f = 0, 1, 1, -2
ARC = cut(2, [(0, 1)], 4, [-3, 1])


def both(rng: np.random.Generator, size: int) -> GraphFunction:
    """Arcs and groups in one function."""
    one, other = random_cut(rng, size), random_coverage(rng, size)
    return GraphFunction(
        one.modular + other.modular,
        one.tails,
        one.heads,
        one.capacities,
        other.groups,
        other.starts,
        other.weights,
    )


def test_the_disciplined_program_at_a_fixed_point_is_the_extension() -> None:
    rng = np.random.default_rng(1)
    for function in (both(rng, 6), random_real_cut(rng, 5), ARC):
        problem = disciplined_program(function)
        point = rng.random(function.size)
        fixed = cvxpy.Problem(problem.objective, [*problem.constraints, problem.var_dict["x"] == point])
        value = fixed.solve(solver=cvxpy.HIGHS)
        assert value == pytest.approx(lovasz_extension(function, point), abs=1e-9)
        assert problem.is_dcp()


def test_the_disciplined_minimum_is_that_of_the_sets_and_of_another_solver() -> None:
    function = both(np.random.default_rng(2), 8)
    answer = disciplined(function)
    assert answer.minimum.value == all_values(function).min()
    assert answer.minimum.optimal
    assert answer.problem.value == pytest.approx(answer.minimum.value, abs=1e-7)
    assert answer.problem.solve(solver=cvxpy.CLARABEL) == pytest.approx(answer.minimum.value, abs=1e-5)


def test_a_returned_problem_can_be_changed_at_most_three_elements_may_be_taken() -> None:
    function = random_cut(np.random.default_rng(3), 6)
    problem = disciplined(function).problem
    x = problem.var_dict["x"]
    bounded = cvxpy.Problem(problem.objective, [*problem.constraints, cvxpy.sum(x) <= 3])
    table = all_values(function)
    within = min(value for index, value in enumerate(table) if index.bit_count() <= 3)
    assert bounded.solve(solver=cvxpy.HIGHS) <= within + 1e-9


def test_the_cuts_of_two_orders_bound_an_arc_from_below() -> None:
    """Bases (1, -3) and (-3, 1): min over the cube of max(x0 - 3 x1, -3 x0 + x1) is -2 at (1, 1)."""
    problem = lovasz_program(2, 0.0, np.array([[1.0, -3.0], [-3.0, 1.0]]))
    assert problem.solve(solver=cvxpy.HIGHS) == pytest.approx(-2)
    assert problem.var_dict["x"].value == pytest.approx([1, 1])


@pytest.mark.parametrize("family", SUBMODULAR)
def test_cutting_planes_return_the_problem_whose_value_proves_the_minimum(family: str) -> None:
    function = SUBMODULAR[family](np.random.default_rng(4), 7)
    answer = convex_cutting_planes(function)
    assert answer.minimum.optimal
    # a whole-numbered function is solved when the bound is less than 1 below
    slack = max(1e-6, float(function.granularity))
    least = float(all_values(function).min())
    assert least - slack <= answer.problem.value * answer.unit <= least + 1e-6
    assert answer.problem.status == cvxpy.OPTIMAL


def test_cutting_planes_stopped_early_are_not_optimal_but_bound() -> None:
    function = random_cut(np.random.default_rng(5), 30)
    for answer in (convex_cutting_planes(function, iterations=1), convex_cutting_planes(function, seconds=0)):
        assert not answer.minimum.optimal
        assert answer.minimum.lower_bound <= max_flow(function).value


def test_a_disciplined_cut_on_1000_elements_equals_the_minimum_cut() -> None:
    function = random_cut(np.random.default_rng(6), 1000)
    answer = disciplined(function)
    assert answer.minimum.optimal
    assert answer.minimum.value == max_flow(function).value


def test_a_negative_arc_is_refused() -> None:
    with pytest.raises(NotCoveredError, match="negative arc"):
        disciplined_program(cut(2, [(0, 1)], -1))
