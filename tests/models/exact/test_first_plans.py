"""First plans under one assignment keep what they promise, and charges by a price of gain exclude no plan."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from depl.instances.hard_knapsacks import hard_knapsack
from depl.instances.reductions.knapsack import best_by_capacity
from depl.models.exact import counted
from depl.models.exact.assignments import assignments
from depl.models.exact.clusters import cheapest_clusters
from depl.models.exact.counted import CountedSubproblem
from depl.models.exact.first_plans import Neighbourhood, priced_plan
from depl.models.exact.kernels import Sample
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.laws import Forbidden
from depl.models.scenarios.draws import draw_scenarios
from tests.oracles.search import choices_of, kinds_of, tiny_problems
from tests.problems import switches


def at_most_one_switch(problem, assignment):
    """Kinds of all plans with at most two blocks."""
    for length in range(1, problem.epochs + 1):
        for kinds in kinds_of(problem, assignment, length):
            if sum(one != other for one, other in itertools.pairwise(kinds)) <= 1:
                yield kinds


def cheapest_of(problem, assignment, plans, multiplier):
    """Least price of those that the rules allow and that gain enough; infinite if there is none."""
    target = problem.instance.target
    psi = assignment.cheapest(Prices.of(problem).at(multiplier))
    charge = assignment.transfers - multiplier * (target.maximum_time or 0.0)
    least = math.inf
    for kinds in plans:
        cost = charge + sum(psi[k, kind] for k, kind in enumerate(kinds))
        choices = choices_of(problem, assignment, kinds)
        ends = problem.may_end[choices[-1].model]
        if ends and cost < least and problem.misses(choices) <= problem.allowed:
            least = cost
    return least


@pytest.mark.parametrize("initial", [None, "first", "last"])
def test_plans_of_one_switch_are_the_cheapest_of_all_written_out(initial):
    """Also from an initial model, whose switch loses something else at every epoch."""
    found = 0
    for problem in begun_with(tiny_problems(50, 20), initial):
        for assignment in assignments(problem):
            near = Neighbourhood(problem, Prices.of(problem), assignment)
            multiplier = 0.0 if problem.instance.target.maximum_time is None else 0.7
            least = cheapest_of(problem, assignment, at_most_one_switch(problem, assignment), multiplier)
            kinds = near.one_switch(multiplier, 1e5)
            if kinds is None:
                assert least > 1e5
                continue
            assert cheapest_of(problem, assignment, [tuple(kinds)], multiplier) == pytest.approx(least)
            found += 1
    assert found > 10


def begun_with(problems, place):
    """The same, where switches lose and win as much as epochs gain; from their first or last model on.

    In some of them the first model cannot be left.
    """
    changed, rng = [], np.random.default_rng(71)
    for number, problem in enumerate(problems):
        names = [model.name for model in problem.instance.models]
        instance = problem.instance
        if place is not None:
            instance = instance.replace(initial_model=names[0 if place == "first" else -1])
        if number % 3 == 0 and len(names) > 1:  # of the two ways one is barred
            instance = instance.replace(switches=switches({(names[0], names[1]): Forbidden()}))
        scenarios = draw_scenarios(instance, 12)
        losses = rng.normal(0.0, scenarios.improvements.mean(), scenarios.switch_losses.shape)
        changed.append(SampledProblem(instance, dataclasses.replace(scenarios, switch_losses=losses)))
    return changed


def test_no_plan_below_the_cutoff_is_charged_too_much(monkeypatch):
    """Every plan that meets the target keeps every limit of a subproblem with its own cost as the cutoff."""
    monkeypatch.setattr(counted, "LONG", 1)
    charged = 0
    for problem in tiny_problems(33, 12):
        prices = Prices.of(problem)
        for assignment in assignments(problem):
            for sequence in kinds_of(problem, assignment, 2):
                plan = cheapest_clusters(problem, prices, assignment, sequence, 0.0, math.inf, lambda: True)
                if plan is None or problem.misses(plan.choices) > problem.allowed:
                    continue
                if problem.transfers(plan.choices) != assignment.transfers:  # a plan of another assignment
                    continue
                cutoff = plan.cost * (1 + 1e-9)
                part = CountedSubproblem(
                    problem, prices, assignment, 2, (plan.multiplier,), cutoff, np.arange(problem.size)
                )
                charges = part._charges
                spent = sum(charges.values[:, k, kind] for k, kind in enumerate(sequence))
                assert np.all(spent <= charges.limits + 1e-9 * cutoff)
                assert not part.finished
                charged += part._priced is not None
    assert charged > 20


def test_values_that_are_multiples_of_a_few_are_combined_to_nearly_the_best_packing():
    """One price of gain, and exchanges of single items, leave such knapsacks 1 to 6 % off."""
    rng = np.random.default_rng(5)
    packing = hard_knapsack("strongly-correlated-spanner", 200, rng, part=30, parts=99)
    values, weights = (np.array(row, dtype=float) for row in (packing.values, packing.weights))
    # an item is left out at the cost of its value, and "gains" its weight
    costs, gains = (np.stack([row, np.zeros(200)], axis=1) for row in (values, weights))
    free, any_model = np.zeros((200, 2, 2, 1)), np.ones(2, bool)
    needed = float(weights.sum()) - packing.capacity
    sample = Sample(gains[..., None], free, np.ones((2, 2), bool), np.arange(2), -1, needed, 0, any_model)
    found = np.array(priced_plan(sample, costs))
    packed = float(values[len(found) :].sum() + values[: len(found)][found == 1].sum())
    assert weights[: len(found)][found == 0].sum() >= sample.needed
    best = best_by_capacity(packing).value
    assert 0.995 * best <= packed <= best
