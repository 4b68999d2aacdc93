"""The label setting is exact: against enumeration, the arc-flow program, closed forms and invariances."""

import dataclasses
import math

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.path_peers import arc_flow_optimum
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paper.network import cost_down, cost_up
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.setting import least_weight
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.additive_cases import random_problem
from tests.cases.label_cases import best_of_all, require_agreement, small_problem
from tests.cases.uncompiled import compiled_and_plain

SAMPLE = range(60)
DIFFERENTIAL = range(1000, 1600)


def problem_by_hand(
    weights: list[list[float]],
    gains: list[list[float]],
    *,
    times: list[list[float]] | None = None,
    switch: float = 0.0,
    initial: float = 10.0,
    target: float,
    latest: float = math.inf,
) -> AdditiveProblem:
    """Two models, weights and gains by epoch and model; every switch costs the same."""
    array = np.array(gains)
    losses = np.repeat(-array[:, None, :], 3, axis=1)
    losses[:, :2] += (1 - np.eye(2)) * switch
    return AdditiveProblem(
        models=("a", "b"),
        weights=np.array(weights),
        times=np.array(times if times is not None else np.ones_like(array).tolist()),
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=initial,
        maximum_loss=target,
        maximum_time=latest,
    )


def test_a_sample_of_small_problems_has_the_optimum_of_enumeration_and_of_the_program():
    feasible = 0
    for seed in SAMPLE:
        problem = small_problem(seed)
        best = best_of_all(problem)
        feasible += math.isfinite(best)
        require_agreement(problem, least_weight(problem), best)
    assert 0.3 * len(SAMPLE) <= feasible <= 0.7 * len(SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", DIFFERENTIAL)
def test_small_problem(seed):
    problem = small_problem(seed)
    require_agreement(problem, least_weight(problem), best_of_all(problem))


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_too_large_to_enumerate_have_the_optimum_of_the_program(family):
    problem = family_problem(np.random.default_rng(3), family, 15, 3)
    answer = arc_flow_optimum(problem)
    assert answer.proved
    require_agreement(problem, least_weight(problem), answer.weight)


def test_a_heavier_label_of_lower_loss_does_not_hide_a_lighter_one():
    # b, b gains 6 at weight 8 and must go on to 7; a, b gains 4 at weight 3 and reaches 7 with b for 4 more
    problem = problem_by_hand(
        [[1.0, 6.0], [9.0, 2.0], [9.0, 4.0]], [[1.0, 3.0], [0.0, 3.0], [0.0, 3.0]], target=3.0
    )
    found = least_weight(problem)
    assert found.path.models == (0, 1, 1)
    assert found.weight == 7


def test_a_loss_above_the_first_one_may_come_back():
    # the first epoch of either model does harm: l rises to 11 before the second brings it to 1
    problem = problem_by_hand([[1.0, 9.0], [1.0, 9.0]], [[-1.0, -1.0], [10.0, 0.0]], target=1.0)
    assert least_weight(problem).path.models == (0, 0)


def test_the_number_of_epochs_is_free():
    # one expensive epoch does what five cheap ones do
    weights, gains = [[1.0, 4.5]] * 5, [[1.0, 5.0]] * 5
    assert least_weight(problem_by_hand(weights, gains, target=5.0)).path.models == (1,)
    expensive = [[1.0, 5.5]] * 5
    assert least_weight(problem_by_hand(expensive, gains, target=5.0)).path.models == (0,) * 5
    assert least_weight(problem_by_hand(expensive, gains, target=5.0, latest=4.0)).path.models == (1,)


def test_whole_numbers_are_met_with_equality():
    # 0.1 + 0.2 + 0.4 is more than 0.7 in floating point, and both budgets are met exactly
    parts = [[0.1, 9.0], [0.2, 9.0], [0.4, 9.0]]
    problem = problem_by_hand(parts, parts, times=parts, initial=0.7, target=0.0, latest=0.7)
    problem = dataclasses.replace(problem, losses=np.where(problem.losses < -1, 5.0, problem.losses))
    assert least_weight(problem).path.models == (0, 0, 0)
    assert least_weight(problem.within(0.7 * (1 - 1e-8), 0.0)).termination is Termination.INFEASIBLE
    assert least_weight(problem.within(0.7, -1e-8)).termination is Termination.INFEASIBLE


def test_what_is_met_already_needs_no_epoch_and_what_cannot_be_met_says_why():
    problem = problem_by_hand([[1.0, 1.0]], [[1.0, 1.0]], target=10.0)
    met = least_weight(problem)
    assert (met.termination, met.path.models, met.lower_bound, met.gap) == (Termination.OPTIMAL, (), 0.0, 0.0)
    high = least_weight(problem.within(5.0, 8.5))
    assert high.reason == "models: target 8.5 unreachable; lowest loss 9"
    slow = least_weight(problem.within(0.25, 9.0))
    assert slow.termination is Termination.INFEASIBLE
    assert slow.reason.startswith("models: target 9 unreachable; lowest loss")
    assert least_weight(problem.within(-1.0, 9.0)).termination is Termination.INFEASIBLE
    assert least_weight(problem.within(0.0, 9.0)).termination is Termination.INFEASIBLE


def test_too_little_time_for_several_epochs_is_proved_and_said():
    problem = problem_by_hand([[1.0, 1.0]] * 4, [[1.0, 2.0]] * 4, times=[[1.0, 2.5]] * 4, target=6.0)
    assert least_weight(problem.within(4.0, 6.0)).path.time == 4.0
    slow = least_weight(problem.within(3.9, 6.0))
    assert slow.termination is Termination.INFEASIBLE
    assert "within T_max 3.9; the least time is at least" in slow.reason


def test_epochs_that_weigh_nothing_are_found_as_such():
    problem = problem_by_hand([[0.0, 1.0]] * 4, [[1.0, 9.0]] * 4, target=7.0)
    found = least_weight(problem)
    assert (found.termination, found.weight, found.lower_bound) == (Termination.OPTIMAL, 0.0, 0.0)


def test_weights_many_orders_apart_keep_the_proof_sharp():
    # the optimum is 3e-9 among weights of 1e6
    problem = problem_by_hand([[1e-9, 1e6]] * 4, [[1.0, 4.0]] * 4, target=7.0)
    require_agreement(problem, least_weight(problem), 3e-9)


def test_losses_too_large_for_the_tolerance_are_refused():
    problem = problem_by_hand([[1.0, 1.0]] * 4, [[1e9, 1e9]] * 4, initial=4e9, target=0.0)
    with pytest.raises(NotCoveredError, match="larger unit"):
        least_weight(problem)


def test_names_and_units_do_not_matter():
    for seed in range(0, 40, 3):
        problem = small_problem(seed)
        found = least_weight(problem)
        order = np.random.default_rng(seed).permutation(problem.start)
        rows = [*order, problem.start]
        renamed = dataclasses.replace(
            problem,
            weights=7 * problem.weights[:, order],
            times=0.5 * problem.times[:, order],
            losses=problem.losses[:, rows][:, :, order],
            allowed=problem.allowed[:, rows][:, :, order],
            maximum_time=0.5 * problem.maximum_time,
        )
        other = least_weight(renamed)
        assert other.termination is found.termination
        assert other.weight == pytest.approx(7 * found.weight, rel=1e-9)


def test_fifty_epochs_lie_between_the_graphs():
    problem = random_problem(np.random.default_rng(12), 50, 3)
    problem = dataclasses.replace(problem, initial_loss=40.0, maximum_loss=15.0, maximum_time=25.0)
    found = least_weight(problem)
    assert len(found.path.models) > 20
    assert cost_down(problem, 300) <= found.weight <= cost_up(problem, 300) < math.inf


@pytest.mark.parametrize("gap", [0.05, 0.01, 1e-3])
def test_a_wanted_gap_is_certified(gap):
    problem = family_problem(np.random.default_rng(3), "free", 30, 3)
    best = least_weight(problem)
    assert best.termination is Termination.OPTIMAL
    found = least_weight(problem, Limits(gap=gap))
    assert found.termination in (Termination.GAP_REACHED, Termination.OPTIMAL)
    assert found.lower_bound <= best.weight * (1 + 1e-9)
    assert best.weight * (1 - 1e-9) <= found.weight <= best.weight / (1 - gap)
    assert found.gap <= gap
    assert found.labels <= best.labels


def test_stages_narrow_an_interval_that_holds_the_optimum():
    problem = family_problem(np.random.default_rng(7), "free", 60, 3)
    rows: list[tuple[float, float]] = []
    found = least_weight(problem, Limits(progress=lambda _, upper, lower: rows.append((lower, upper))))
    assert found.termination is Termination.OPTIMAL
    assert len(rows) > 1
    assert [lower for lower, _ in rows] == sorted(lower for lower, _ in rows)
    assert all(lower <= found.weight <= upper for lower, upper in rows)


@pytest.mark.parametrize("most_labels", [1, 100, 5000])
def test_a_budget_of_labels_ends_in_an_interval_that_holds_the_optimum(most_labels):
    problem = family_problem(np.random.default_rng(7), "free", 60, 3)
    best = least_weight(problem).weight
    found = least_weight(problem, most_labels=most_labels)
    assert found.termination is Termination.EXHAUSTED
    assert 0 < found.lower_bound <= best * (1 + 1e-9)
    assert found.weight >= best * (1 - 1e-9)
    assert found.weight == math.inf or problem.feasible(found.path.models)


def test_a_time_limit_ends_in_an_interval_that_holds_the_optimum():
    problem = family_problem(np.random.default_rng(7), "free", 60, 3)
    best = least_weight(problem).weight
    found = least_weight(problem, Limits(time_limit=0.0))
    assert found.termination is Termination.TIME_LIMIT
    assert 0 < found.lower_bound <= best * (1 + 1e-9) <= found.weight * (1 + 2e-9)


def test_compiled_and_plain_code_find_the_same():
    compiled, plain = compiled_and_plain(
        "import numpy as np\n"
        "from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem\n"
        "from depl.heuristics.paths.setting import least_weight\n"
        "for family in FAMILIES:\n"
        "    print(repr(least_weight(family_problem(np.random.default_rng(5), family, 9, 3))))\n"
    )
    assert compiled == plain
    assert compiled.count("OPTIMAL") == len(FAMILIES)
