"""Good plans under one assignment keep what they promise: cheaper than asked for, in time, and improved."""

import itertools
import math

import pytest

import depl
from depl.models.exact.assignments import Assignment, assignments
from depl.models.exact.incumbents import Neighbourhood
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
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


def test_nothing_is_offered_that_is_not_below_the_cutoff():
    for problem in tiny_problems(70, 6):
        prices = Prices.of(problem)
        for assignment in assignments(problem):
            near = Neighbourhood(problem, prices, assignment)
            assert near.one_switch(1.0, -1e9) is None
            assert near.exchanged([0], 1.0, -1e9) is None
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


def test_exchanges_find_cheaper_plans_from_where_there_are_some():
    """From the most expensive plan that meets the target, one that costs less is found every time."""
    found = 0
    for problem in tiny_problems(50, 8):
        prices = Prices.of(problem)
        for assignment in assignments(problem):
            near = Neighbourhood(problem, prices, assignment)
            plans = []
            for kinds in at_most_one_switch(problem, assignment):
                plan = near.costed(kinds, 1.0, math.inf)
                if plan is not None and problem.misses(plan.choices) <= problem.allowed:
                    plans.append((plan.cost, kinds, plan))
            if len({round(cost, 6) for cost, _, _ in plans}) > 1:
                cost, kinds, plan = max(plans)
                found += near.improved(kinds, plan)[1].cost < cost * (1 - 1e-6)
    assert found >= 5
