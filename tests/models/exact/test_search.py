"""The search itself: parts, whole costs, and the clock, against all plans of small problems written out."""

import itertools
import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances, random_plan
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost
from depl.models.exact import clusters
from depl.models.exact import search as module
from depl.models.exact.assignments import DataPart
from depl.models.exact.choices import Configuration
from depl.models.exact.clusters import Clustered
from depl.models.exact.counted import Counted
from depl.models.exact.root_bounds import usual_time_price
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search, Task
from depl.models.foundation.tolerances import ATOM_TOLERANCE, PROOF_TOLERANCE
from depl.models.problem.instance import Cluster, Instance
from depl.models.scenarios.draws import count_misses, draw_scenarios, given_scenarios, scenario_losses
from depl.models.solving.methods import Cutoff, Limits
from depl.models.solving.result import Result, Termination
from tests.oracles.search import consistent, feasible_plans, sampled, tiny_problems

Priced = tuple[float, tuple[Configuration, ...]]


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """No assignments are listed, and two sets of data of a cluster are already halved."""
    monkeypatch.setattr(module, "LARGEST_ASSIGNMENTS", 0)
    monkeypatch.setattr("depl.models.exact.assignments.MOST_CHILDREN", 1)


def search_of(problem: SampledProblem) -> Search:
    """Ready to search, without a plan."""
    search = Search(Counted(problem), Limits())
    search.build()
    return search


def plans_of(problem: SampledProblem) -> list[Priced]:
    """All feasible plans of at least one epoch, cheapest first."""
    return sorted((plan for plan in feasible_plans(problem) if plan[1]), key=lambda plan: plan[0])


def belongs(problem: SampledProblem, part: DataPart, choices: tuple[Configuration, ...]) -> bool:
    """Whether a plan uses what a part allows, all that it obliges to be used, and one of its lengths."""
    used = {chosen.cluster: problem.subsets.index(chosen.datasets) for chosen in choices}
    return (
        len(choices) in part.lengths
        and all(data in part.offers[cluster] for cluster, data in used.items())
        and all(cluster in used for cluster, obliged in enumerate(part.obliged) if obliged)
    )


def has(problem: SampledProblem, task: Task, choices: tuple[Configuration, ...]) -> bool:
    """Whether a plan is one of a task that has just its data."""
    options = {place for row in task.assignment.options for place in row}
    places = {problem.configurations.index(chosen) for chosen in choices}
    paid = task.assignment.transfers == pytest.approx(problem.transfers(choices), rel=1e-12, abs=1e-12)
    return len(choices) == task.length and places <= options and paid


def require_kept(search: Search, part: DataPart, plans: list[Priced]) -> int:
    """Every plan of a part below the threshold is one of what it is divided into, all the way down."""
    problem, followed = search.problem, 0
    assert isinstance(problem, SampledProblem)
    children = search._divided(part)
    assert all(part.bound <= child.bound < search.threshold for child in children)
    below = [plan for plan in plans if belongs(problem, part, plan[1]) and plan[0] < search.threshold]
    for cost, choices in below:
        if part.whole:
            found = [item for item in children if isinstance(item, Task) and has(problem, item, choices)]
        else:
            parts = [item for item in children if isinstance(item, DataPart)]
            found = [item for item in parts if belongs(problem, item, choices)]
        assert len(found) == 1
        assert found[0].bound <= cost
        followed += part.whole
    for child in children:
        if isinstance(child, DataPart):
            assert set(child.lengths) <= set(part.lengths)
            followed += require_kept(search, child, below)
        else:
            assert child.length in part.lengths
    return followed


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("seed", range(3))
def test_every_plan_below_the_incumbent_is_in_one_of_the_tasks_that_a_part_comes_down_to(seed: int) -> None:
    """With the most expensive of all plans as the incumbent, so that hardly anything is cut off."""
    followed = 0
    for problem in tiny_problems(70 + seed, 3):
        plans = plans_of(problem)
        if len(plans) < 2:
            continue
        search = search_of(problem)
        search.best = Clustered(plans[-1][1], plans[-1][0], usual_time_price(search.prices))
        assert search._divide
        followed += require_kept(search, search._parts.everything(), plans)
        search.best = Clustered(plans[-1][1], plans[-1][0], usual_time_price(search.prices))
        assert search.proved() is Termination.OPTIMAL
        assert search.cost == pytest.approx(plans[0][0], rel=1e-9)
    assert followed > 20


@pytest.mark.usefixtures("divided")
def test_a_plan_is_found_on_parts_just_where_there_is_one() -> None:
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
            search = search_of(problem)
            assert search._divide
            found = search._feasible()
            known = plans_of(problem)
            assert found == (search.best is not None) == bool(known)
            outcomes.append(found)
            if search.best is not None:
                assert consistent(problem, search.best.choices)
                assert problem.misses(search.best.choices) <= problem.allowed
                cost = {choices: cost for cost, choices in known}[search.best.choices]
                assert math.isclose(search.best.cost, cost, rel_tol=1e-9)
    assert min(outcomes.count(True), outcomes.count(False)) >= 4


@pytest.mark.parametrize("bounds", [(3.0, 7.0), (7.0, 3.0), (5.0, 5.0)])
def test_what_is_left_of_a_task_keeps_the_bound_down(
    bounds: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def knapsack(number: int) -> Knapsack:
    """Seven items; what all values have in common is divided out."""
    rng = np.random.default_rng([20261123, number])
    weights = rng.integers(1, 30, 7)
    return Knapsack.of(rng.integers(1, 12, 7).tolist(), weights.tolist(), int(weights.sum() // 2))


def on_one_scenario(instance: Instance) -> SampledProblem:
    """No loss is random, so one scenario says all."""
    return SampledProblem(instance, draw_scenarios(instance, 1))


def reduced(number: int) -> tuple[Instance, int]:
    """An instance whose costs are multiples of the unit, and the least by enumeration of all sets."""
    drawn = knapsack(number)
    values, weights = drawn.whole.values, drawn.whole.weights
    subsets = itertools.product((0, 1), repeat=len(values))
    fitting = [taken for taken in subsets if np.dot(taken, weights) <= drawn.whole.capacity]
    least = int(sum(values) - max(np.dot(taken, values) for taken in fitting))
    return with_work(ByCost.reduce(drawn), UNIT), UNIT * least


def with_work(instance: Instance, times: float) -> Instance:
    """All costs that many times greater, and the resources with them."""
    (cluster,) = instance.clusters
    return instance.replace(clusters=(msgspec.structs.replace(cluster, unit_cost=cluster.unit_cost * times),))


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("away", [-4, -UNIT, -1, 0, 1, UNIT, 4, 100])
def test_below_a_cutoff_the_cheapest_plan_is_found_or_proved_absent(number, away):
    instance, optimum = reduced(number)
    told: list[float] = []
    limits = Limits(cutoff=Cutoff(optimum + away), progress=lambda seconds, cost, bound: told.append(bound))
    search = Search(Counted(on_one_scenario(instance)), limits)
    outcome = search.answer()
    assert all(bound <= optimum for bound in told)
    if away > 0:  # otherwise there is nothing to find below it
        assert outcome.termination is Termination.OPTIMAL
        assert search.cost == pytest.approx(optimum, rel=1e-12)
        assert optimum * (1 - PROOF_TOLERANCE) <= outcome.lower_bound <= optimum
    else:
        assert (optimum + away) * (1 - PROOF_TOLERANCE) <= outcome.lower_bound <= optimum


@pytest.mark.parametrize("number", range(12))
def test_only_plans_half_a_unit_below_the_next_that_is_excluded_are_looked_for(number):
    """With a cutoff, the greatest multiple of the unit below it, and nothing half a unit above that."""
    instance, optimum = reduced(number)
    for away in (-1.0, 0.0, 0.25, 1.0, 1.5, 2.0, UNIT):
        search = Search(Counted(on_one_scenario(instance)), Limits(cutoff=Cutoff(optimum + away)))
        search.build()
        unit = search._unit
        assert unit == UNIT
        greatest = (math.ceil((optimum + away) / unit) - 1) * unit
        assert greatest < search.threshold <= greatest + unit / 2


def test_a_bound_is_as_good_as_the_next_multiple_unless_only_rounding_puts_it_beyond_one():
    """A plan may cost a multiple that the bound exceeds or misses by what sums are off."""
    instance, _ = reduced(0)
    search = Search(Counted(on_one_scenario(instance)), Limits())
    search.build()
    for multiple in (0, 1, 7, 1000):
        for beyond in (-1e-6, -1e-12, 0.0, 1e-12, 5e-4):
            bound = (multiple + beyond) * UNIT
            assert bound <= search._next_cost(bound) <= max(bound, multiple * UNIT)
        for beyond in (2e-3, 0.5, 1 - 1e-6):
            following = (multiple + 1) * UNIT
            found = search._next_cost((multiple + beyond) * UNIT)
            assert following * (1 - PROOF_TOLERANCE) <= found <= following
    assert search._next_cost(math.inf) == math.inf
    search = Search(Counted(on_one_scenario(instance.replace(maximum_time=7.5))), Limits())
    search.build()
    assert search._next_cost(7.3) == 7.3


ENOUGH = 5_000
"""Choices after which a search that does not ask for the time is stopped by the test."""


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Clusters of a sequence can be chosen in ways without number, each as good as the one before."""
    tried: list[object] = []

    def near(_: object, __: object, options: list[tuple[int, ...]], ___: object) -> Iterator[Sequence[int]]:
        for _ in range(ENOUGH):
            tried.append(options)
            yield [row[0] for row in options]
        raise AssertionError("it goes on although the time is up")

    monkeypatch.setattr(clusters, "_near", near)
    monkeypatch.setattr(clusters, "_ROUNDING", -1.0)  # there is always something left to try
    return tried


def answer(instance: Instance, method: str, most: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, int]:
    """A solve whose time is up after so many looks at the clock, and how many there were."""
    looks = itertools.count(1)
    monkeypatch.setattr(Limits, "expired", lambda _: next(looks) > most)
    result = depl.solve(instance, method, time_limit=1)
    return result, next(looks) - 1


@pytest.fixture
def similar(bell: Instance) -> Instance:
    """Three clusters that differ a little in their price; each may train all epochs."""
    prices = (3.0, 3.01, 3.02)
    clusters = [
        Cluster(name=f"site{index}", capacity=10, bandwidth=2, unit_cost=price)
        for index, price in enumerate(prices)
    ]
    return bell.replace(clusters=tuple(clusters), maximum_loss=7)


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
@pytest.mark.parametrize("most", [20, 200])
def test_many_ways_to_choose_clusters_do_not_hold_up_a_search_whose_time_is_up(
    similar: Instance, endless: list[object], method: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, looks = answer(similar, method, most, monkeypatch)
    assert result.termination is Termination.TIME_LIMIT
    assert result.plan is not None
    assert endless
    assert len(endless) <= most
    assert looks <= most + 10


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
@pytest.mark.parametrize("step", [7, pytest.param(3, marks=pytest.mark.slow)])
def test_a_search_that_is_stopped_anywhere_proves_no_more_than_is_true(
    similar: Instance, method: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the optimum that the whole search proves; the leaf that is cut short may be the last one."""
    optimum = depl.solve(similar, method)
    assert optimum.termination is Termination.OPTIMAL
    for most in range(0, 36, step):
        with monkeypatch.context() as patched:
            result, _ = answer(similar, method, most, patched)
        assert result.lower_bound <= optimum.cost * (1 + 1e-9)
        if result.termination is Termination.OPTIMAL:
            assert result.cost == pytest.approx(optimum.cost, rel=1e-9)


def choices_of(problem: SampledProblem, plan) -> list[Configuration]:
    clusters = [item.name for item in problem.instance.clusters]
    models = [item.name for item in problem.instance.models]
    return [
        Configuration(clusters.index(e.cluster), plan.datasets(e.cluster), models.index(e.model))
        for e in plan.epochs
    ]


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(6)
    found = []
    for index, instance in enumerate(random_instances(rng, 25, maximum_epochs=(3, 6))):
        decimals = [None, 3][index % 2]
        problem = SampledProblem(instance, draw_scenarios(instance, 40, seed=index, decimals=decimals))
        found.append((problem, random_plan(rng, instance)))
    return found


def test_the_gain_of_a_sequence_is_the_fall_of_the_loss_of_its_plan(pairs):
    for problem, plan in pairs:
        losses = scenario_losses(problem.instance, problem.scenarios, plan)
        gain = problem.gain(choices_of(problem, plan))
        np.testing.assert_allclose(problem.instance.target.initial_loss - gain, losses, rtol=0, atol=1e-12)
        assert problem.misses(choices_of(problem, plan)) == count_misses(problem.instance, losses)


def test_a_gain_that_falls_short_by_the_atom_tolerance_meets_the_target(bell):
    gains = [4.0, 4.0 - 0.9 * ATOM_TOLERANCE, 4.0 - 1.1 * ATOM_TOLERANCE]
    scenarios = given_scenarios(bell, np.array(gains)[:, None, None] * np.array([1.0, 0, 0])[None, :, None])
    problem = SampledProblem(bell, scenarios)
    assert problem.misses([problem.configurations[0]]) == 1
