"""The least weight over a budget, against enumeration at every budget."""

import math

import numpy as np
import pytest

from depl.benchmarks.cases.paths.path_families import family_problem
from depl.benchmarks.figures.front import front_figure
from depl.heuristics.paths.fronts import front, spread_budgets, whole_front
from depl.heuristics.paths.readings import Against
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.additive_cases import all_paths, brute_force
from tests.cases.label_cases import small_problem
from tests.cases.picture_cases import require_legends_outside

COUNTS = [18, pytest.param(60, marks=pytest.mark.slow)]
"""Of drawn problems."""


def at(problem, against, budget):
    if against is Against.LOSS:
        return problem.within(problem.maximum_time, budget)
    return problem.within(budget, problem.maximum_loss)


@pytest.mark.parametrize("against", Against)
@pytest.mark.parametrize("count", COUNTS)
def test_every_point_of_a_front_is_the_optimum_of_enumeration(against, count):
    feasible = 0
    for seed in range(count):
        problem = small_problem(seed)
        points = front(problem, against, spread_budgets(problem, against, 7))
        budgets = [point.budget for point in points]
        assert budgets == sorted(budgets, reverse=True)
        for point in points:
            best = brute_force(at(problem, against, point.budget))
            assert point.outcome.weight == pytest.approx(best, rel=1e-9)
            feasible += math.isfinite(best)
    assert feasible > count / 3


@pytest.mark.parametrize("against", Against)
@pytest.mark.parametrize("count", COUNTS)
def test_the_spread_ends_where_nothing_is_feasible_and_where_more_changes_nothing(against, count):
    for seed in range(count):
        problem = small_problem(seed)
        if against is Against.LOSS:
            problem = problem.within(math.inf, problem.maximum_loss)
        budgets = spread_budgets(problem, against, 5)
        if not budgets:
            assert math.isinf(brute_force(problem.within(math.inf, problem.maximum_loss)))
            continue
        tight, loose = budgets[0], budgets[-1]
        assert math.isfinite(brute_force(at(problem, against, tight + 1e-9)))
        assert math.isinf(brute_force(at(problem, against, tight - 1e-6)))
        more = brute_force(at(problem, against, loose + 10.0))
        assert brute_force(at(problem, against, loose)) == pytest.approx(more, rel=1e-9)


@pytest.mark.parametrize("against", Against)
@pytest.mark.parametrize("count", COUNTS)
def test_the_whole_front_has_every_step(against, count):
    steps = 0
    for seed in range(count):
        problem = small_problem(seed)
        problem = problem.within(1.3 * problem.maximum_time, problem.initial_loss - 0.1)
        found = whole_front(problem, against, 10**6)
        best = []
        totals = [problem.totals(path) for path in [(), *all_paths(problem)] if problem.feasible(path)]
        for weight, time, loss in sorted(
            totals, key=lambda item: (item[0], item[2 if against is Against.LOSS else 1])
        ):
            needed = loss if against is Against.LOSS else time
            if not best or needed < best[-1][0] - 1e-8:
                best.append((needed, weight))
        points = [point for point in found if point.outcome.path is not None]
        assert [point.budget for point in points] == pytest.approx([row[0] for row in best], abs=1e-8)
        assert [point.outcome.weight for point in points] == pytest.approx([row[1] for row in best], rel=1e-8)
        steps += len(points)
    assert steps > 0.7 * count


def test_a_front_breaks_off_at_the_time_limit():
    problem = family_problem(np.random.default_rng(7), "free", 60, 3)
    points = front(
        problem, Against.LOSS, [problem.maximum_loss, 0.9 * problem.maximum_loss], Limits(time_limit=0.0)
    )
    assert [point.outcome.termination for point in points] == [Termination.TIME_LIMIT]
    assert len(whole_front(problem, Against.LOSS, 3, Limits(time_limit=0.0))) == 1


def test_bounds_carry_over_to_tighter_budgets():
    problem = family_problem(np.random.default_rng(7), "free", 60, 3)
    budgets = np.linspace(0.99, 1, 5) * problem.maximum_loss
    points = front(problem, Against.LOSS, budgets.tolist(), Limits(gap=0.05))
    bounds = [point.outcome.lower_bound for point in points]
    assert bounds == sorted(bounds)
    assert all(point.outcome.gap <= 0.05 for point in points)


def test_one_budget_is_no_spread():
    with pytest.raises(InvalidInputError, match="at least 2"):
        spread_budgets(small_problem(3), Against.LOSS, 1)


def test_the_figure_shows_the_feasible_points_as_a_falling_staircase():
    axes = front_figure([(3.0, 1.0), (1.0, None), (2.0, 4.0)], "loss", "sum of sqrt(kappa c)")
    require_legends_outside(axes.get_figure())
    line, crosses = axes.get_lines()
    assert crosses.get_xdata().tolist() == [1]
    assert "EXPECTED loss" in axes.get_title(loc="left")
    assert line.get_xydata().tolist() == [[2, 4], [3, 1]]
    assert line.get_drawstyle() == "steps-post"
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlabel() == r"bound on the expected loss $E[\ell(K)]$"
    assert axes.get_ylabel() == "least sum of sqrt(kappa c)"
