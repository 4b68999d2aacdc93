"""All sequences in order of their real cost: the whole list written out, ties, bounds, budgets."""

import dataclasses
import itertools
import math
from collections import Counter

import numpy as np
import pytest

from depl.heuristics.paths.real_cost_problem import RealCostProblem, real_cost_problem
from depl.heuristics.paths.real_cost_ranking import Ranking, k_best
from depl.models.exact.enumeration import build_plan
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.real_cost_cases import drawn, every_sequence, random_problem


def problems(seed: int, count: int) -> list[RealCostProblem]:
    rng = np.random.default_rng([seed])
    found = [random_problem(rng, 4, 2, 2, stationary=n % 2 == 0) for n in range(count)]
    return found + [real_cost_problem(*drawn(rng, 4)) for _ in range(count)]


def test_the_ranking_is_the_sorted_enumeration():
    for problem in problems(20271, 15):
        every = every_sequence(problem)
        found, lower = k_best(dataclasses.replace(problem, steps=None), 40)
        costs = [cost for cost, _, _ in every]
        assert [item.cost for item in found] == pytest.approx(costs[:40], rel=1e-9, abs=1e-12)
        assert len({item.sequence for item in found}) == len(found)
        for item in found:
            assert problem.cost(item.sequence) == pytest.approx(item.cost, rel=1e-9, abs=1e-12)
            assert problem.loss(item.sequence) == item.loss
        if len(every) <= 40:
            assert lower == math.inf
        else:
            assert found[-1].cost * (1 - 1e-9) <= lower <= costs[40] * (1 + 1e-9)


def test_a_class_has_one_cost_and_its_sequences_come_by_loss():
    for problem in problems(20272, 8):
        every = every_sequence(problem)
        seen, last = 0, 0.0
        for group in Ranking(dataclasses.replace(problem, steps=None)):
            found = list(group.sequences())
            losses = [item.loss for item in found]
            assert losses == sorted(losses)
            assert losses[0] == pytest.approx(group.least_loss, abs=1e-12)
            assert {len(item.sequence) for item in found} == {group.epochs}
            assert group.cost >= last * (1 - 1e-12)
            seen, last = seen + len(found), group.cost
        assert seen == len(every)


def test_the_bound_of_what_is_left_is_below_everything_that_follows():
    for problem in problems(20273, 6):
        ranking = Ranking(problem)
        bounds = [(group.cost, ranking.lower_bound) for group in ranking]
        for (_, bound), (cost, _) in itertools.pairwise(bounds):
            assert bound <= cost
        assert ranking.lower_bound == math.inf
        assert ranking.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)


def test_sequences_made_of_the_same_steps_appear_once():
    merged = 0
    for problem in problems(20274, 10)[10:]:
        every = every_sequence(problem)
        alike = Counter(multiset(problem, sequence) for _, _, sequence in every)
        found = [item.sequence for group in Ranking(problem) for item in group.sequences()]
        assert {multiset(problem, sequence) for sequence in found} == set(alike)
        # One multiset may open clusters of equal loads in several ways, which are classes of their own.
        assert len(found) <= len(every)
        merged += len(every) - len(found)
    assert merged > 0


def multiset(problem: RealCostProblem, sequence: tuple[int, ...]) -> tuple[int, ...]:
    before = (problem.start, *(problem.kinds[g][1] for g in sequence))
    return tuple(sorted(int(problem.steps[k, before[k], g]) for k, g in enumerate(sequence)))


def test_the_first_of_the_ranking_may_be_to_train_nothing(steady):
    problem = real_cost_problem(steady.replace(maximum_loss=10), {"site": frozenset({"data"})})
    found, lower = k_best(problem, 2)
    assert [item.sequence for item in found] == [(), (0,)]
    assert found[0].cost == 0
    assert found[1].cost == pytest.approx(24 / 4.5)
    assert 24 / 4.5 < lower <= 4 * 24 / 4  # what two epochs cost


def test_an_infeasible_problem_ranks_nothing(steady):
    ranking = Ranking(real_cost_problem(steady.replace(maximum_loss=3), {"site": frozenset({"data"})}))
    assert list(ranking) == []
    assert ranking.termination is Termination.INFEASIBLE
    assert ranking.lower_bound == math.inf


def test_a_budget_of_prefixes_ends_in_a_bound():
    ended = 0
    for problem in problems(20275, 6):
        costs = [cost for cost, _, _ in every_sequence(dataclasses.replace(problem, steps=None))]
        ranking = Ranking(dataclasses.replace(problem, steps=None), most_prefixes=12)
        found = [item.cost for group in ranking for item in group.sequences()]
        assert found == pytest.approx(costs[: len(found)], rel=1e-9, abs=1e-12)
        if ranking.termination is Termination.EXHAUSTED:
            assert ranking.lower_bound <= costs[len(found)] * (1 + 1e-9)
            ended += 1
    assert ended > 0


def test_an_expired_time_limit_ends_the_ranking():
    rng = np.random.default_rng(20276)
    for _ in range(10):
        problem = random_problem(rng, 4, 2, 2)
        ranking = Ranking(problem, Limits(time_limit=0))
        list(ranking)
        assert ranking.termination in (Termination.TIME_LIMIT, Termination.INFEASIBLE)
        costs = [cost for cost, _, _ in every_sequence(problem)]
        assert ranking.lower_bound <= min(costs, default=math.inf) * (1 + 1e-9)


def test_a_count_below_one_is_refused(steady):
    with pytest.raises(InvalidInputError, match="at least 1"):
        k_best(real_cost_problem(steady, {"site": frozenset({"data"})}), 0)


def test_the_second_candidate_of_the_hand_solved_instance_is_its_optimum(tiny, tiny_optimum):
    data = {row.cluster: frozenset(row.datasets) for row in tiny_optimum.data}
    problem = real_cost_problem(tiny, data)
    found, _ = k_best(problem, 2)
    plan = build_plan(tiny, data, problem.configurations(found[1].sequence))
    assert (plan.data, plan.epochs) == (tiny_optimum.data, tiny_optimum.epochs)
    assert found[1].cost == pytest.approx(28, rel=1e-12)
    assert found[0].cost < 28  # it keeps the target in the mean only
