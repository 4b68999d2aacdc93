"""The cvxpy problems hold what they say: evaluated at a point, changed, and solved by another solver."""

import cvxpy
import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import (
    SUBMODULAR,
    random_cut,
)
from depl.heuristics.set_functions.convex import (
    convex_cutting_planes,
    lovasz_program,
)
from depl.heuristics.set_functions.functions import all_values
from tests.oracles.minimum_cut import least_value


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
        assert answer.minimum.lower_bound <= least_value(function)
