"""Good plans under one assignment keep what they promise: cheaper than asked for and in time."""

import dataclasses
import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest

import depl
from depl.models.exact.assignments import Assignment, assignments
from depl.models.exact.first_plans import Neighbourhood
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Switch
from depl.models.problem.laws import Forbidden
from depl.models.scenarios.draws import draw_scenarios
from tests.oracles.search import sampled, tiny_problems

TINY = depl.load("tiny")


def at_most_one_switch(problem: SampledProblem, assignment: Assignment) -> list[tuple[int, ...]]:
    """Kinds of all plans with at most two blocks."""
    found = set()
    for length in range(1, problem.epochs + 1):
        for one, other in itertools.product(range(len(assignment.models)), repeat=2):
            for split in range(length + 1):
                kinds = (one,) * split + (other,) * (length - split)
                models = [problem.initial_model, *(int(assignment.models[kind]) for kind in kinds)]
                pairs = [pair for pair in itertools.pairwise(models) if pair[0] is not None]
                if all(problem.may_follow[pair] for pair in pairs):
                    found.add(kinds)
    return sorted(found)


def gains_enough(
    problem: SampledProblem, assignment: Assignment, kinds: tuple[int, ...], needed: float
) -> bool:
    choices = [problem.configurations[assignment.options[kind][0]] for kind in kinds]
    return int((problem.gain(choices) < needed).sum()) <= problem.allowed


def cheapest_of(
    problem: SampledProblem,
    assignment: Assignment,
    plans: Iterable[tuple[int, ...]],
    multiplier: float,
) -> float:
    """Least price of those that the rules allow and that gain enough; infinite if there is none."""
    prices, target = Prices.of(problem), problem.instance.target
    psi = assignment.cheapest(prices.at(multiplier))
    charge = assignment.transfers - multiplier * (target.maximum_time or 0.0)
    least = math.inf
    for kinds in plans:
        models = [problem.initial_model, *(int(assignment.models[kind]) for kind in kinds)]
        pairs = [pair for pair in itertools.pairwise(models) if pair[0] is not None]
        allowed = all(problem.may_follow[pair] for pair in pairs) and problem.may_end[models[-1]]
        cost = charge + sum(psi[k, kind] for k, kind in enumerate(kinds))
        if allowed and cost < least and gains_enough(problem, assignment, kinds, problem.needed):
            least = cost
    return least


@pytest.mark.parametrize("initial", [None, "first", "last"])
def test_plans_of_one_switch_are_the_cheapest_of_all_written_out(initial):
    """Also from an initial model, whose switch loses something else at every epoch."""
    found = 0
    for problem in begun_with(tiny_problems(50, 20), initial):
        for assignment in assignments(problem):
            near, multiplier = Neighbourhood(problem, Prices.of(problem), assignment), 0.0
            if problem.instance.target.maximum_time is not None:
                multiplier = 0.7
            written = at_most_one_switch(problem, assignment)
            least = cheapest_of(problem, assignment, written, multiplier)
            kinds = near.one_switch(multiplier, 1e5)
            if kinds is None:
                assert least > 1e5
                continue
            assert cheapest_of(problem, assignment, [tuple(kinds)], multiplier) == pytest.approx(least)
            found += 1
    assert found > 10


def begun_with(problems: list[SampledProblem], place: str | None) -> list[SampledProblem]:
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
            instance = instance.replace(
                switches=(Switch(previous=names[0], following=names[1], law=Forbidden()),)
            )
        scenarios = draw_scenarios(instance, 12)
        losses = rng.normal(0.0, scenarios.improvements.mean(), scenarios.switch_losses.shape)
        changed.append(SampledProblem(instance, dataclasses.replace(scenarios, switch_losses=losses)))
    return changed


def test_nothing_is_offered_that_is_not_below_the_cutoff():
    for problem in tiny_problems(70, 6):
        prices = Prices.of(problem)
        for assignment in assignments(problem):
            near = Neighbourhood(problem, prices, assignment)
            assert near.one_switch(1.0, -1e9) is None
            kinds = near.one_switch(1.0, math.inf)
            assert kinds is None or tuple(kinds) in at_most_one_switch(problem, assignment)


@pytest.mark.parametrize("limit", ["loose", "tight", "short", "none"])
def test_a_plan_with_at_most_one_switch_is_in_time_where_one_written_out_is(limit):
    """The tightest limit is the time of the fastest plan that gains enough: it keeps it."""
    problem = sampled(TINY.replace(maximum_time=None, round_deadline=50.0), 10)
    for assignment in assignments(problem):
        times = assignment.cheapest(Prices.of(problem).fastest)
        for needed in (0.3 * problem.needed, 0.6 * problem.needed, problem.needed, 100.0 * problem.needed):
            sums = [
                sum(times[k, kind] for k, kind in enumerate(kinds))
                for kinds in at_most_one_switch(problem, assignment)
                if gains_enough(problem, assignment, kinds, needed)
            ]
            least = min(sums, default=math.inf)
            if not math.isfinite(least) and limit != "none":
                continue
            factor = {"loose": 2.0, "tight": 1.0, "short": 1 - 1e-6, "none": math.inf}[limit]
            maximum_time = None if limit == "none" else least * factor
            near = Neighbourhood(problem, Prices(Prices.of(problem).costs, maximum_time), assignment)
            assert near.in_time(needed) == (math.isfinite(least) and limit != "short")


def test_without_a_time_limit_the_round_deadline_excludes_what_is_slower():
    """Just where no epoch of any kind keeps it, no plan does."""
    for deadline, possible in ((50.0, True), (1e-6, False)):
        problem = sampled(TINY.replace(maximum_time=None, round_deadline=deadline), 10)
        found = [
            Neighbourhood(problem, Prices.of(problem), item).in_time(0.3 * problem.needed)
            for item in assignments(problem)
        ]
        assert any(found) == possible
