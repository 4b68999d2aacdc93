"""Plans without time to spare, or within the tolerance of T_max only: the program proves them all the same.

There the price of time lam may be many times the cost per time, and an error of 1e-9 T_max in a row of the
program counts lam times. Capacity is 10 at price 3, so K epochs with full resources cost 30 K.
"""

import itertools

import numpy as np
import pytest

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.laws import Normal
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import given_scenarios
from depl.models.solving.result import Termination
from tests.cases.sampled_plans import cheapest, meets_all, sequences
from tests.problems import instance as made
from tests.problems import model, site

SPARE = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, -5e-10, -9.9e-10, -1.5e-9)
"""T_max over the fastest time, less 1; of negative ones all but the last are within the tolerance, 1e-9."""


def sampled(models, epochs, clusters=(), maximum_time=1e9):
    """Models as (size, demand, gain); needed are 4, four data are worked on; gains are certain."""
    rows = (
        model(f"m{i}", Normal(mean=gain, variance=1), demand, size)
        for i, (size, demand, gain) in enumerate(models)
    )
    instance = made(*rows, clusters=clusters or (site(),), maximum_epochs=epochs, maximum_time=maximum_time)
    gains = np.broadcast_to([gain for *_, gain in models], (5, epochs, len(models)))
    return SampledProblem(instance, given_scenarios(instance, gains))


@pytest.mark.parametrize("spare", SPARE)
@pytest.mark.parametrize(("size", "demand"), [(1, 2), (2e4, 1e-5)])
def test_the_only_plan_is_proved_optimal_however_little_time_there_is_to_spare(spare, size, demand):
    """Two epochs of size / 2 + 4 demand / x at price 3: their cost is 2 * 24 demand / (T_max - size)."""
    fastest = size + 0.8 * demand
    maximum = fastest * (1 + spare)
    found = solve_sampled(sampled([(size, demand, 2)], 3, maximum_time=maximum))
    if spare < -1e-9:
        assert found.termination is Termination.INFEASIBLE
        assert f"and meets it takes {fastest:.6g}" in found.reason
        return
    assert found.termination is Termination.OPTIMAL
    exact = 60.0 if spare <= 0 else 2 * 2 * 12 * demand / (maximum - size)
    # T_max - size has lost the digits that both had in common
    assert found.cost == pytest.approx(exact, rel=1e-9 + 1e-15 * size / demand)
    assert found.lower_bound == found.cost


def test_among_many_plans_too_the_proof_does_not_depend_on_the_time_to_spare():
    shapes = [
        ([(200, 0.01, 2), (1, 5, 1.8)], 3),
        ([(1, 1e-5, 0.6), (1, 2, 1.7)], 4),
        ([(20, 1, 2), (30, 0.1, 1.9), (1, 0.02, 1)], 3),
    ]
    settled = 0
    free = [sampled(*shape) for shape in shapes]
    least = [
        min(problem.allocation(row).fastest_time for row in sequences(problem) if meets_all(problem, row))
        for problem in free
    ]
    pairs = zip(shapes, least, strict=True)
    for ((models, epochs), fastest), spare in itertools.product(pairs, SPARE[1:7:2]):
        problem = sampled(models, epochs, maximum_time=fastest * (1 + spare))
        found = solve_sampled(problem)
        assert found.termination is Termination.OPTIMAL
        assert found.cost == pytest.approx(cheapest(problem), rel=1e-9)
        settled += len(found.settled)
    assert settled > 0  # some of them are beyond what cuts can prove


@pytest.mark.parametrize("work", [4e-5, 0.4])
def test_a_plan_within_the_tolerance_of_time_is_not_priced_out_by_the_work_of_others(work):
    """On ``site`` full resources cost 30 and take 2 = (1 + 5e-10) T_max; ``other`` keeps T_max, for 30.00003.

    The third place has little work to do and leaves little time for it: the price of time at which its epoch
    takes full resources, 1e5 / work, times 5e-10 T_max is more than the difference of 3e-5.
    """
    clusters = (
        site(),  # 1 + 10 / 10
        site("other", bandwidth=2.5, unit_cost=30.00003 * 0.12),  # 0.8 + 10 / x = 2
        site("costly", bandwidth=4, unit_cost=1000),
    )
    models = [(2, 2.5, 4), (4 * (2 - work / 8), work / 4, 4)]
    problem = sampled(models, 1, clusters, 2 / (1 + 5e-10))
    found = solve_sampled(problem)
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(30, rel=1e-12)
    assert sorted(problem.allocation(row).cost for row in sequences(problem))[:2] == pytest.approx(
        [30, 30.00003], rel=1e-8
    )
