"""The search itself: parts, whole costs, and the clock, against all plans of small problems written out."""

import itertools
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost
from depl.models.exact import search as module
from depl.models.exact.assignments import DataPart
from depl.models.exact.clusters import Clustered
from depl.models.exact.counted import Counted
from depl.models.exact.root_bounds import usual_time_price
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search, Task
from depl.models.foundation.tolerances import ATOM_TOLERANCE, PROOF_TOLERANCE
from depl.models.scenarios.draws import count_misses, given_scenarios, scenario_losses
from depl.models.solving.methods import Cutoff, Limits
from depl.models.solving.result import Termination
from tests.oracles.search import feasible_plans, sampled, tiny_problems
from tests.problems import site


@pytest.fixture
def divided(monkeypatch):
    """No assignments are listed, and two sets of data of a cluster are already halved."""
    monkeypatch.setattr(module, "LARGEST_ASSIGNMENTS", 0)
    monkeypatch.setattr("depl.models.exact.assignments.MOST_CHILDREN", 1)


def search_of(problem, **limits):
    """Ready to search, without a plan."""
    search = Search(Counted(problem), Limits(**limits))
    search.build()
    return search


def within(search, divided):
    """What a part is divided into: of its lengths, bounded no lower, below the incumbent."""

    def children(part):
        found = divided(part)
        assert all(part.bound <= child.bound < search.threshold for child in found)
        lengths = [child.lengths if isinstance(child, DataPart) else (child.length,) for child in found]
        assert set(itertools.chain(*lengths)) <= set(part.lengths)
        return found

    return children


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("seed", range(3))
def test_parts_come_down_to_the_optimum_by_parts_of_their_own(seed, monkeypatch):
    """With the most expensive of all plans as the incumbent, so that hardly anything is cut off."""
    asked = 0
    for problem in tiny_problems(70 + seed, 3):
        plans = sorted((plan for plan in feasible_plans(problem) if plan[1]), key=lambda plan: plan[0])
        if len(plans) < 2:
            continue
        search = search_of(problem)
        search.best = Clustered(plans[-1][1], plans[-1][0], usual_time_price(search.prices))
        monkeypatch.setattr(search, "_divided", within(search, search._divided))
        assert search._divide
        assert search.proved() is Termination.OPTIMAL
        assert search.cost == pytest.approx(plans[0][0], rel=1e-9)
        assert search.lower <= plans[0][0]
        asked += 1
    assert asked


@pytest.mark.usefixtures("divided")
def test_a_plan_is_found_on_parts_just_where_there_is_one():
    """Targets from near the initial loss to far out of reach, with little time and with enough."""
    outcomes = []
    for place, easy in enumerate(tiny_problems(80, 6)):
        target = easy.instance.target
        for share in (0.9, 1.3, 3.0):
            limits = {
                "maximum_loss": target.initial_loss - share * (target.initial_loss - target.maximum_loss),
                "maximum_time": target.maximum_time and target.maximum_time * (0.4 if place % 2 else 1.0),
            }
            problem = sampled(easy.instance.replace(**limits), 5, place)
            search, known = search_of(problem), {plan: cost for cost, plan in feasible_plans(problem) if plan}
            assert search._divide
            found = search._feasible()
            assert found == (search.best is not None) == bool(known)
            assert not found or search.cost == pytest.approx(known[search.best.choices], rel=1e-9)
            outcomes.append(found)
    assert min(outcomes.count(True), outcomes.count(False)) >= 4


@pytest.mark.parametrize("bounds", [(3.0, 7.0), (7.0, 3.0), (5.0, 5.0)])
def test_what_is_left_of_a_task_keeps_the_bound_down(bounds, monkeypatch):
    """Two subproblems that run out of effort: no bound is claimed above either of the two that are left."""
    (problem,) = tiny_problems(70, 1)
    search = search_of(problem)
    assignment = search.assigned[0]
    rests = [Task(bound, assignment, 1, 0.0) for bound in bounds]
    monkeypatch.setattr(search, "_explored", lambda task, effort: rests[task.length])
    monkeypatch.setattr(search, "_unit", 0)
    left = search.explore([Task(1.0, assignment, place, 0.0) for place in (0, 1)], effort=1)
    assert [task.bound for task in left] == sorted(bounds)
    assert search.lower == pytest.approx(min(bounds), rel=1e-8)


UNIT = 3


def reduced(number):
    """A knapsack whose costs are multiples of the unit, and the least by enumeration of all sets."""
    rng = np.random.default_rng([20261123, number])
    weights = rng.integers(1, 30, 7)
    items = Knapsack.of(rng.integers(1, 12, 7).tolist(), weights.tolist(), int(weights.sum() // 2))
    instance, whole = ByCost.reduce(items), items.whole
    sets = itertools.product((0, 1), repeat=7)
    fitting = [taken for taken in sets if np.dot(taken, whole.weights) <= whole.capacity]
    best = max(np.dot(taken, whole.values) for taken in fitting)
    cluster = msgspec.structs.replace(instance.clusters[0], unit_cost=UNIT * instance.clusters[0].unit_cost)
    return sampled(instance.replace(clusters=(cluster,)), 1), UNIT * int(sum(whole.values) - best)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("away", [-4, -UNIT, -1, 0, 1, UNIT, 4, 100])
def test_below_a_cutoff_the_cheapest_plan_is_found_or_proved_absent(number, away):
    problem, optimum = reduced(number)
    told = []
    limits = Limits(cutoff=Cutoff(optimum + away), progress=lambda *row: told.append(row[2]))
    search = Search(Counted(problem), limits)
    outcome = search.answer()
    assert all(bound <= optimum for bound in told)
    if away > 0:  # otherwise there is nothing to find below it
        assert outcome.termination is Termination.OPTIMAL
        assert search.cost == pytest.approx(optimum, rel=1e-12)
    proved = min(optimum, optimum + away)
    assert proved * (1 - PROOF_TOLERANCE) <= outcome.lower_bound <= optimum


def test_a_bound_is_as_good_as_the_next_multiple_unless_only_rounding_puts_it_beyond_one():
    """A plan may cost a multiple that the bound exceeds or misses by what sums are off."""
    problem, _ = reduced(0)
    search = search_of(problem)
    for multiple in (0, 1, 7, 1000):
        for beyond in (-1e-6, -1e-12, 0.0, 1e-12, 5e-4):
            bound = (multiple + beyond) * UNIT
            assert bound <= search._next_cost(bound) <= max(bound, multiple * UNIT)
        for beyond in (2e-3, 0.5, 1 - 1e-6):
            following = (multiple + 1) * UNIT
            found = search._next_cost((multiple + beyond) * UNIT)
            assert following * (1 - PROOF_TOLERANCE) <= found <= following
    assert search._next_cost(math.inf) == math.inf
    assert search_of(sampled(problem.instance.replace(maximum_time=7.5), 1))._next_cost(7.3) == 7.3


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
def test_a_search_that_is_stopped_at_any_look_proves_no_more_than_is_true(bell, method):
    """Of three clusters that differ a little; the leaf that is cut short may be the last one."""
    clusters = tuple(site(f"site{place}", unit_cost=3 + 0.01 * place) for place in range(3))
    similar = bell.replace(clusters=clusters, maximum_loss=7)
    optimum, stopped = depl.solve(similar, method).cost, 0
    for looks in range(7):
        result = depl.solve(similar, method, looks=looks)
        assert result.lower_bound <= optimum * (1 + 1e-9)
        stopped += result.termination is Termination.TIME_LIMIT
        if result.termination is Termination.OPTIMAL:
            assert result.cost == pytest.approx(optimum, rel=1e-9)
    assert stopped >= 3


@pytest.mark.parametrize("decimals", [None, 3])
def test_the_gain_of_a_sequence_is_the_fall_of_the_loss_of_its_plan(decimals):
    for drawn in tiny_problems(6, 12):
        problem = sampled(drawn.instance, 40, decimals=decimals)
        for _, choices in list(feasible_plans(problem))[::9]:
            losses = scenario_losses(problem.instance, problem.scenarios, problem.plan(choices))
            fall = problem.instance.target.initial_loss - problem.gain(choices)
            np.testing.assert_allclose(fall, losses, rtol=0, atol=1e-12)
            assert problem.misses(choices) == count_misses(problem.instance, losses)


def test_a_gain_that_falls_short_by_the_atom_tolerance_meets_the_target(bell):
    gains = [4.0, 4.0 - 0.9 * ATOM_TOLERANCE, 4.0 - 1.1 * ATOM_TOLERANCE]
    scenarios = given_scenarios(bell, np.array(gains)[:, None, None] * np.array([1.0, 0, 0])[None, :, None])
    problem = SampledProblem(bell, scenarios)
    assert problem.misses([problem.configurations[0]]) == 1
