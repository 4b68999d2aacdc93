"""Bounds by prices: no feasible plan is lost, and no bound exceeds the optimum."""

import math

import msgspec
import numpy as np
import pytest

import depl
from depl.models.exact import assignments as assignments_module
from depl.models.exact import root_bounds
from depl.models.exact.assignments import (
    assignments,
    everything_allowed,
    few_assignments,
)
from depl.models.exact.counted import CountedSubproblem
from depl.models.exact.root_bounds import best_root_bound, certificate_in_time, length_bounds, root_bound
from depl.models.solving.limits import Limits
from depl.models.solving.result import DualBound, Termination
from tests.oracles.search import (
    cheapest,
    feasible_plans,
    required_by,
    sampled,
    tiny_problems,
    with_negative_switches,
)
from tests.problems import refusal

TINY = depl.load("tiny")


def offered(problem, assignment):
    members = [problem.configurations[g] for row in assignment.options for g in row]
    return {(g.cluster, g.datasets) for g in members}


def drawn(seed):
    problem = tiny_problems(10 + seed, 4)[-1]
    return with_negative_switches(problem) if seed % 2 else problem


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 13, 19])
def test_no_feasible_plan_below_the_cutoff_is_pruned_or_below_a_bound(seed):
    """Bounds of its number of epochs, at any price of gain, and what its mean gain has to be; as leaves."""
    problem = drawn(seed)
    everything = list(assignments(problem))
    order = np.arange(problem.size)[::-1].copy()
    plans = sorted((plan for plan in feasible_plans(problem) if plan[1]), key=lambda plan: plan[0])
    assert plans
    for cost, choices in plans[:: max(1, len(plans) // 30)]:
        used, length = {(g.cluster, g.datasets) for g in choices}, len(choices)
        assignment = next(a for a in everything if offered(problem, a) == used)
        multiplier = problem.allocation(choices).multiplier
        sample, costs = problem.sample(assignment), assignment.cheapest(problem.psi(multiplier))
        each = [length_bounds(sample, costs, (price,), problem.needed) for price in (1.0, 4.0)]
        both = length_bounds(sample, costs, (1.0, 4.0), problem.needed)
        np.testing.assert_array_equal(both, np.maximum(*each))
        paid = problem.paid(multiplier) - assignment.transfers
        assert both[length] - paid <= cost * (1 + 1e-9)

        assert problem.gain(choices).mean() >= required_by(sample.ordered(order, length))

        cutoff = cost * (1 + 1e-9) + 1e-9
        prices_of_time = tuple(f * multiplier for f in (1.0, 0.3, 2.0)) if multiplier else (0.0,)
        search = CountedSubproblem(problem, assignment, length, prices_of_time, cutoff, order)
        assert search.root_bound <= cost * (1 + 1e-9)
        positions = [problem.configurations.index(g) for g in choices]
        wanted = [next(j for j, row in enumerate(assignment.options) if g in row) for g in positions]
        leaves = []
        while not search.finished:
            leaf = search.proceed(5)  # few nodes per call: pausing must lose nothing
            leaves += [] if leaf is None else [tuple(leaf)]
        assert tuple(wanted) in leaves
        assert len(set(leaves)) == len(leaves)


@pytest.mark.parametrize("seed", range(5))
def test_root_bounds_are_no_more_than_the_optimum(seed):
    """What they are at any prices, the verifier says again (`test_exact_site_rules`)."""
    problem = tiny_problems(30 + seed, 2)[1]
    best = best_root_bound(problem, float(problem.instance.target.maximum_time is not None))
    assert best.bound == root_bound(problem, best.time_price, best.gain_price)
    assert 0 <= best.bound <= cheapest(problem) * (1 + 1e-9)


@pytest.mark.parametrize("limits", [{}, {"maximum_time": None, "round_deadline": 4.0}])
def test_where_a_plan_needs_no_epoch_or_may_have_none_the_best_root_bound_is_zero(limits):
    """At prices that can be charged: time has none without T_max."""
    for changed in ({"maximum_loss": TINY.target.initial_loss}, {"maximum_epochs": 0}):
        problem = sampled(TINY.replace(**changed, **limits), 20)
        assert best_root_bound(problem, 0.0 if limits else 3.0) == DualBound(0.0, 0.0, 0.0)
    for prices in ((math.inf, 1.0), (0.0, math.inf), (0.5 if limits else -0.5, 1.0)):
        assert "must be" in str(refusal(root_bound, problem, *prices))


def test_more_assignments_than_the_root_bound_tells_apart_are_relaxed_together(monkeypatch):
    """Twelve equal clusters, any of two datasets on each, three epochs."""
    clusters = tuple(msgspec.structs.replace(TINY.clusters[0], name=f"c{index}") for index in range(12))
    problem = sampled(TINY.replace(clusters=clusters, transfers=()), 10)
    number = 12 * 3 + 66 * 3**2 + 220 * 3**3
    assert not few_assignments(problem)
    for most in (number - 1, number):
        monkeypatch.setattr(assignments_module, "LARGEST_ASSIGNMENTS", most)
        assert few_assignments(problem) == (most == number)
    monkeypatch.undo()
    relaxed = everything_allowed(problem)
    assert sorted(g for row in relaxed.options for g in row) == list(range(len(problem.configurations)))
    assert 0 < best_root_bound(problem, 1.0).bound < math.inf


def test_the_certificate_is_the_best_of_those_that_time_leaves(monkeypatch):
    """At the usual price all that is needed costs as much as the plan and its time; or nothing is needed."""
    problem, free = sampled(TINY, 20), sampled(TINY.replace(maximum_loss=TINY.target.initial_loss), 20)
    whole = Limits(), Termination.OPTIMAL
    assert certificate_in_time(problem, 1.0, 0.0, *whole) == DualBound(0.0, 0.0, 0.0)
    monkeypatch.setattr(root_bounds, "ALLOWANCE", 0.0)
    for late in ((Limits(), Termination.INTERRUPTED), (Limits(time_limit=1e-9), Termination.TIME_LIMIT)):
        assert certificate_in_time(problem, 1.0, 7.0, *late) is None
    usual = (7.0 + 2.0 * TINY.target.maximum_time) / problem.needed
    for of, price, found in (problem, usual, [3, 5, 4]), (problem, usual, [5, 3, 4]), (free, 0.0, [3, 4, 5]):
        left, asked = list(found), []
        monkeypatch.setattr(
            root_bounds, "root_bound", lambda _, *at, a=asked, b=left: a.append(at) or b.pop(0)
        )
        monkeypatch.setattr(root_bounds, "best_root_bound", lambda *_, b=left: DualBound(9.0, 9.0, b.pop(0)))
        certificate = certificate_in_time(of, 2.0, 7.0, *whole)
        assert asked == [(2.0, pytest.approx(price)), (2.0, pytest.approx(0.9 * price))]
        assert certificate == DualBound(*(*asked, (9.0, 9.0))[found.index(5)], 5)
