"""The relaxation three ways, the program with whole epochs, and what the programs say of one another."""

import math

import numpy as np
import pytest

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.program import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError
from tests.cases.placement_cases import least_cost, split_pair


def problems(count: int, transfers: bool) -> list[PlacementProblem]:
    rng = np.random.default_rng(11)
    return [
        random_placement(rng, 3, int(rng.integers(2, 5)), 9, transfers=transfers, deadline=i % 2 == 0)
        for i in range(count)
    ]


@pytest.mark.parametrize("count", [5, pytest.param(12, marks=pytest.mark.slow)])
def test_perspective_cuts_and_the_dual_meet(count: int) -> None:
    for problem in problems(count, transfers=False):
        found, dual = PerspectiveProgram.of(problem).relax(), best_price(problem)
        assert found.objective == pytest.approx(dual.value, rel=1e-8)
        assert dual.value * (1 - 1e-7) <= found.lower_bound <= dual.value * (1 + 1e-9)
        assert found.shares is not None
        off = np.abs(found.shares - np.round(found.shares)) > 1e-6 * np.maximum(found.shares, 1.0)
        assert off.any(axis=1).sum() <= 1  # at most one class is split over clusters


@pytest.mark.parametrize("count", [5, pytest.param(12, marks=pytest.mark.slow)])
def test_with_transfers_the_certified_bound_is_that_of_the_program(count: int) -> None:
    for problem in problems(count, transfers=True):
        found, least = PerspectiveProgram.of(problem).relax(), least_cost(problem)
        assert found.lower_bound == pytest.approx(found.objective, rel=1e-6)
        assert found.lower_bound <= least * (1 + 1e-9)


def test_every_set_of_cuts_is_a_lower_bound() -> None:
    problem = problems(1, transfers=False)[0]
    program = PerspectiveProgram.of(problem)
    for share, u in ((0.3, 0.5), (1.0, 0.2)):  # the true cost share^2 / phi is above every tangent
        phi = share / u
        tangents = [2 * slope * share - slope**2 * phi for slope in program.slopes]
        assert max(tangents) <= share**2 / phi * (1 + 1e-12)
    fine = 1 - ((1.3 - 1) / (1.3 + 1)) ** 2
    assert max(2 * slope - slope**2 / 0.5 for slope in program.slopes) >= fine * 0.5


@pytest.mark.parametrize("transfers", [False, True])
def test_highs_with_whole_epochs_finds_the_least_of_all(transfers: bool) -> None:
    for problem in problems(5, transfers):
        small = problem.replace(counts=np.minimum(problem.counts, 2))
        answer = PerspectiveProgram.of(small).solve()
        assert answer.cost == pytest.approx(least_cost(small), rel=1e-9)
        assert answer.cost * (1 - 1e-6) <= answer.lower_bound <= answer.cost * (1 + 1e-6)


def test_placements_agree_with_highs_where_there_are_too_many_to_be_listed() -> None:
    rng = np.random.default_rng(4)
    for i in range(5):
        problem = random_placement(rng, 5, 6, 60, transfers=i % 2 == 0)
        answer, reference = place(problem), PerspectiveProgram.of(problem).solve(gap=1e-7)
        assert answer.cost <= reference.cost * (1 + 1e-6)
        assert answer.lower_bound <= reference.cost * (1 + 1e-9)
        assert reference.lower_bound <= answer.cost * (1 + 1e-6)


def test_infeasible_programs_say_so() -> None:
    assert PerspectiveProgram.of(split_pair(0.15)).relax().objective == math.inf
    assert PerspectiveProgram.of(split_pair(0.15)).solve().assignment is None
    late = split_pair(2.2).replace(round_deadline=0.05)
    assert PerspectiveProgram.of(late).relax().shares is None
    assert PerspectiveProgram.of(late).solve().lower_bound == math.inf
    with pytest.raises(InvalidInputError, match="gap"):
        PerspectiveProgram.of(late).solve(gap=-1)
