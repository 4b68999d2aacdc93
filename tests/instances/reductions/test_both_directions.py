"""Reductions without a solver: every set of items against its plan, and every plan against its items."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from depl.instances.reductions.chance import Chance
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources, unbounded
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.plan import Plan
from tests.cases.knapsack_cases import best_of_all, random_chance_knapsack, random_knapsack, subsets
from tests.problems import plan as made

SMALL = Knapsack.of([3, 4, 5], [2, 3, 4], 6)


def judged(instance, plan):
    """Whether a plan is feasible, and its cost."""
    found = evaluate(instance, plan, quantile=False)
    return found.feasible, found.cost


def all_schedules(instance, longest):
    """Every sequence of models of a reduction, with full resources where there is work."""
    found = [Plan()]
    for length in range(1, longest + 1):
        for names in itertools.product([model.name for model in instance.models], repeat=length):
            if all(map(instance.may_follow, names[:-1], names[1:])):
                rows = [(name, "site", float(work(instance, k, name) > 0)) for k, name in enumerate(names)]
                found.append(made(*rows))
    return found


def work(instance, k, name):
    table = instance.model(name).compute
    return instance.model(name).demand if table is None else table[0].epochs[k]


@pytest.mark.parametrize("seed", range(6))
def test_every_set_of_items_is_a_plan_that_is_as_feasible_and_costs_what_it_should(seed):
    """By time, by cost and with free resources, for which a plan costs the square of its weight."""
    knapsack = random_knapsack(np.random.default_rng(seed), largest=6)
    best = best_of_all(knapsack)
    by_cost, free = ByCost.reduce(knapsack), FreeResources.reduce(knapsack, best)
    by_time = [(value, ByTime.reduce(knapsack, value)) for value in {best, best / 2 + 1}]
    for items in subsets(len(knapsack)):
        fits, worth = knapsack.holds(items), knapsack.value_of(items)
        for value, instance in by_time:
            assert judged(instance, ByTime.plan_of(knapsack, items)) == (fits and worth >= value, 0)
        feasible, cost = judged(by_cost, ByCost.plan_of(knapsack, items))
        assert (feasible, ByCost.value_of_cost(knapsack, cost)) == (fits, worth)
        feasible, cost = judged(free, FreeResources.plan_of(knapsack, items))
        weight = FreeResources.weight_of_cost(knapsack, cost)
        assert (feasible, weight) == (worth >= best, knapsack.weight_of(items))
        for reduction in (ByTime, ByCost, FreeResources):
            assert reduction.solution_of(reduction.plan_of(knapsack, items)) == items


@pytest.mark.parametrize("seed", range(6))
def test_random_weights_fit_with_the_probability_iff_the_plan_is_feasible(seed):
    knapsack = random_chance_knapsack(np.random.default_rng(seed), largest=5)
    instance = Chance.reduce(knapsack)
    for items in subsets(len(knapsack)):
        plan = Chance.plan_of(knapsack, items)
        feasible, cost = judged(instance, plan)
        slack = knapsack.slack(items)
        assert feasible == (slack >= 0) or abs(slack) < 1e-9
        assert Chance.value_of_cost(knapsack, cost) == knapsack.value_of(items)
        assert Chance.solution_of(plan) == items


def test_by_time_every_feasible_plan_holds_a_good_set_also_if_it_stops_early_or_trains_slowly():
    instance = ByTime.reduce(SMALL, 7)
    found = set()
    for plan in all_schedules(instance, 3):
        if judged(instance, plan)[0]:
            items = ByTime.solution_of(plan)
            assert SMALL.holds(items)
            assert SMALL.value_of(items) >= 7
            found.add((items, len(plan.epochs)))
    assert found == {((0, 1), 2), ((0, 1), 3), ((0, 2), 3)}
    slow = Plan.from_json(ByTime.plan_of(SMALL, (0, 1)).to_json().replace("1.0", "0.7"))
    assert not judged(instance, slow)[0]  # weight 5, but 5 / 0.7 > 6
    nothing = Knapsack.of([1, 1], [1, 0], 0)  # without capacity only items without weight are taken
    instance = ByTime.reduce(nothing, 1)
    assert [judged(instance, ByTime.plan_of(nothing, items))[0] for items in ((0,), (1,))] == [False, True]


def test_unbounded_a_plan_is_a_multiset_and_feasible_iff_it_fits_and_reaches_the_value():
    instance = unbounded(SMALL, 9)
    assert instance.target.maximum_epochs == 3
    good = []
    for plan in all_schedules(instance, 3):
        items = [int(epoch.model.removeprefix("item-")) for epoch in plan.epochs]
        fits = sum(SMALL.weights[item] for item in items) <= SMALL.capacity
        reaches = sum(SMALL.values[item] for item in items) >= 9
        assert judged(instance, plan) == (fits and reaches, 0)
        good += [items] if fits and reaches else []
    assert good == [[0, 0, 0]]


# --- large numbers --------------------------------------------------------------------------------------


def test_sums_that_differ_by_one_in_six_hundred_million_are_told_apart():
    big = 299_999_999
    both, one = (0, 1), (0,)
    for capacity, fits in ((2 * big, True), (2 * big - 1, False)):
        sack = Knapsack.of([big, big, 1], [big, big, 1], capacity)
        by_time, by_cost = ByTime.reduce(sack, 2 * big), ByCost.reduce(sack)
        assert judged(by_time, ByTime.plan_of(sack, both))[0] == fits
        assert judged(by_cost, ByCost.plan_of(sack, both))[0] == fits
        feasible, cost = judged(by_cost, ByCost.plan_of(sack, one))
        assert feasible
        assert ByCost.value_of_cost(sack, cost) == big
        cheaper = judged(by_cost, ByCost.plan_of(sack, (0, 2)))[1]
        assert ByCost.value_of_cost(sack, cheaper) == big + 1
    free = FreeResources.reduce(sack, 2 * big)
    _, cost = judged(free, FreeResources.plan_of(sack, both))
    assert FreeResources.weight_of_cost(sack, cost) == 2 * big


# --- refusals -------------------------------------------------------------------------------------------


HUGE = Knapsack.of([10**14, 1], [10**14, 1], 10**14)
FINE = Knapsack.of([Fraction(10**14 + 1, 10**14), 1], [Fraction(1, 10**14), 1], 1)
OTHER = made(("full", "site"))
CONFUSED = "could confuse two sums"


@pytest.mark.parametrize(
    ("function", "arguments", "error", "words"),
    [
        *((ByCost.reduce, [sack], NotCoveredError, CONFUSED) for sack in (HUGE, FINE)),
        *((ByTime.reduce, [sack, 1], NotCoveredError, CONFUSED) for sack in (HUGE, FINE)),
        *((FreeResources.reduce, [sack, 1], NotCoveredError, CONFUSED) for sack in (HUGE, FINE)),
        (unbounded, [Knapsack.of([1], [0], 1), 1], InvalidInputError, "for ever"),
        (unbounded, [Knapsack.of([1], [2], 1), 1], NotCoveredError, "no item fits"),
        (ByCost.plan_of, [SMALL, [3]], InvalidInputError, "no item 3"),
        (ByCost.plan_of, [SMALL, [1, 1]], InvalidInputError, "twice"),
        *(
            (reduction.solution_of, [OTHER], InvalidInputError, "full")  # a plan of another instance
            for reduction in (ByTime, ByCost, FreeResources, Chance)
        ),
    ],
)
def test_what_no_reduction_can_say_is_refused(function, arguments, error, words):
    with pytest.raises(error, match=words):
        function(*arguments)
