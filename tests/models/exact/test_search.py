"""The search itself: parts, whole costs, and the clock, against all plans of small problems written out."""

import itertools
import math

import msgspec
import numpy as np
import pytest

from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost
from depl.models.exact import search as module
from depl.models.exact.assignments import assignments
from depl.models.exact.clusters import Clustered
from depl.models.exact.counted import Counted
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search, Task
from depl.models.foundation.tolerances import ATOM_TOLERANCE, PROOF_TOLERANCE
from depl.models.scenarios.draws import count_misses, given_scenarios, scenario_losses
from depl.models.solving.limits import Cutoff, Limits
from depl.models.solving.result import Termination
from tests.oracles.search import feasible_plans, sampled, tiny_problems


def search_of(problem, **limits):
    """Ready to search, without a plan."""
    search = Search(Counted(problem), Limits(**limits))
    search.build()
    return search


@pytest.mark.parametrize("bounds", [(3.0, 7.0), (7.0, 3.0), (5.0, 5.0)])
def test_what_is_left_of_a_task_keeps_the_bound_down(bounds, monkeypatch):
    """Two subproblems that run out of effort: no bound is claimed above either of the two that are left."""
    (problem,) = tiny_problems(70, 1)
    search = search_of(problem)
    search.best, assignment = Clustered((), 100.0, 0.0), search.assigned[0]
    rests = [Task(bound, assignment, 1, 0.0) for bound in bounds]
    monkeypatch.setattr(search, "_explored", lambda task, effort: rests[task.length])
    monkeypatch.setattr(search, "_unit", 0)
    left = search.explore([Task(1.0, assignment, place, 0.0) for place in (0, 1)], effort=1)
    assert [task.bound for task in left] == sorted(bounds)
    assert search.lower == pytest.approx(min(bounds), rel=1e-8)


@pytest.mark.parametrize("divided", [False, True])
def test_the_most_kinds_of_an_assignment_are_known_before_all_are_listed(divided, monkeypatch):
    """Those of the assignment that has most, or, where they are too many to list, no fewer than any has."""
    for problem in tiny_problems(71, 12):
        most = max(len(item.models) for item in assignments(problem))
        if divided:
            monkeypatch.setattr(module, "few_assignments", lambda _: False)
        found = search_of(problem).most_kinds
        assert most <= found <= len(problem.instance.models) * len(problem.instance.clusters)
        assert divided or found == most


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


def test_an_incumbent_that_costs_as_much_as_the_cutoff_is_proved_optimal():
    for cutoff, ending in (5.0, Termination.OPTIMAL), (4.9, Termination.EXHAUSTED):
        search = search_of(tiny_problems(70, 1)[0], cutoff=Cutoff(cutoff))
        search.best = Clustered((), 5.0, 0.0)
        assert search.ended() is ending
    without = search_of(tiny_problems(70, 1)[0])._outcome(Termination.EXHAUSTED)
    assert without.reason == "no plan is cheaper than the one that is known"


def test_a_bound_that_is_the_cost_itself_is_lowered_by_what_is_granted_to_proofs(bell):
    """One kind, no time, and what is needed is gained exactly: the bound is the cost at any price of gain."""
    scenarios = given_scenarios(bell, np.full((1, 3, 1), 4.0 / 3))
    problem = SampledProblem(bell.replace(maximum_time=None, round_deadline=2.0), scenarios)
    search = search_of(problem)
    (assignment,) = search.assigned
    cost = float(assignment.cheapest(problem.psi(0.0)).sum()) + assignment.transfers
    search.best = Clustered((), cost, 0.0)
    assert cost * (1 - 1e-8) <= search._bounded(assignment)[2].bound < cost


def test_no_plan_of_a_part_costs_less_than_the_bound_of_the_part(monkeypatch):
    """All parts of parts, down to single assignments, beside a plan that costs twice the least."""
    monkeypatch.setattr(module, "few_assignments", lambda _: False)
    checked = 0
    for problem in tiny_problems(91, 8, maximum_epochs=2):
        search = search_of(problem)
        plans = [(cost, choices) for cost, choices in feasible_plans(problem) if choices]
        price = 0.3 if problem.maximum_time is not None else 0.0
        search.best = Clustered((), 2 * min((cost for cost, _ in plans), default=1.0), price)
        waiting = search._divided(search._parts.everything())
        while waiting:
            part = waiting.pop()
            if isinstance(part, Task):
                continue
            waiting += search._divided(part)
            for cost, choices in plans:
                held = {g.cluster: g.datasets for g in choices}
                sets = [{problem.subsets[data] for data in row} for row in part.offers]
                inside = len(choices) in part.lengths and all(held[n] in sets[n] for n in held)
                if inside and all(n in held for n, pays in enumerate(part.obliged) if pays):
                    assert part.bound <= cost * (1 + 1e-9)
                    checked += 1
    assert checked > 50
