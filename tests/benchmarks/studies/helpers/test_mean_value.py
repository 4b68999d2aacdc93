"""The mean-value problem, its repair and the bound over prices: worked out by hand, and by enumeration."""

import math
from itertools import pairwise

import numpy as np
import pytest

from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.studies.helpers.mean_value import (
    GAIN_FACTORS,
    STEP,
    TIME_FACTORS,
    mean_value,
    price_curve,
    repair,
)
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import Undeclared
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.cases.loop_cases import plain


def test_tiny_by_hand():
    """By means, full gains 4 on all data, pruned 2.5, and a switch loses .375; 8.5 are needed.

    One epoch of full and two of pruned on all data gain 8.625, cheapest with full on cloud, pruned on edge:
    (4 + sqrt 2 + sqrt 2)^2 / (5 - .5 - 1 - 1) and 3 for both transfers. The 6 of full is needed then, so
    the promise of .7 is kept in half of the runs. More gain by means takes two epochs of full on all data;
    the cheapest of those is the optimum, 28, which keeps the promise with probability 3/4.
    """
    found = repair(load("tiny"), 10.0, 10)
    first, second = found.plans
    assert first.cost == pytest.approx((4 + 2 * math.sqrt(2)) ** 2 / 2.5 + 3, rel=1e-9)
    assert first.expected_loss == pytest.approx(15 - 8.625, abs=1e-12)
    assert (first.violation.lower, first.violation.upper) == pytest.approx((0.5, 0.5))
    assert not first.kept
    assert [(epoch.model, epoch.cluster) for epoch in first.plan.epochs] == [
        ("full", "cloud"),
        ("pruned", "edge"),
        ("pruned", "edge"),
    ]
    assert second.cost == pytest.approx(28, rel=1e-9)
    assert second.violation.upper == pytest.approx(0.25)
    assert found.repaired is second


def test_a_promise_of_a_half_by_hand():
    """At omega = .5 the plan by means keeps the promise, too dear: its mean gain of 8.625 is not needed.

    Where the 6 of full comes, a pruned epoch on all data and one on sensors alone add enough: 9.25 at least.
    By means that is 7.375. Full and pruned on cloud and pruned on edge cost 1 for one transfer and
    (4 + sqrt 8 + 1)^2 / (5 - .5 - .25 - 1).
    """
    half = load("tiny").replace(quantile_level=0.5)
    (only,) = repair(half, 10.0, 10).plans
    optimum = solve(half, "exact").cost
    assert only.kept
    assert optimum == pytest.approx((5 + math.sqrt(8)) ** 2 / 3.25 + 1, rel=1e-9)
    value_of_the_stochastic_solution = only.cost - optimum
    assert value_of_the_stochastic_solution == pytest.approx(12.6 + 6.4 * math.sqrt(2) - optimum, rel=1e-9)
    assert value_of_the_stochastic_solution > 1.79


def test_a_promise_that_nothing_keeps_is_not_repaired():
    """Three epochs of full on all data gain most, 14 or more with probability 1/2 only."""
    found = repair(load("tiny").replace(quantile_level=0.9), 10.0, 20)
    assert found.ending == "beyond"
    assert found.repaired is None
    assert all(not plan.kept for plan in found.plans)
    losses = [plan.expected_loss for plan in found.plans]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(15 - 12)


def test_too_many_targets_are_no_repair():
    found = repair(load("tiny"), 10.0, 1)
    assert (found.ending, len(found.plans), found.repaired) == ("stopped", 1, None)


@pytest.fixture(scope="module")
def drawn():
    sizes = {"models": (1, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (1, 4)}
    return random_instances(np.random.default_rng([26, 7]), 8, **sizes)


def test_means_are_those_of_the_law(drawn):
    """A plan's loss in the mean-value problem is its expected loss, and its cost is the same."""
    seen = 0
    for instance in drawn:
        plan = solve(instance, "enumerate").plan
        if plan is None:
            continue
        bare = type(plan)(data=plan.data, epochs=plan.epochs)
        under, by_means = evaluate(instance, bare), evaluate(mean_value(instance), bare)
        assert by_means.expected_loss == pytest.approx(under.expected_loss, rel=1e-12, abs=1e-12)
        assert by_means.cost == pytest.approx(under.cost, rel=1e-12)
        assert by_means.violation.upper in (0.0, 1.0)
        seen += bool(plan.epochs)
    assert seen >= 5


def test_the_steps_of_a_repair_are_optima_by_enumeration_too(drawn):
    compared = 0
    for instance in drawn:
        level = instance.target.maximum_loss
        for plan in repair(instance, 10.0, 30).plans:
            other = solve(mean_value(instance).replace(maximum_loss=level), "enumerate")
            assert other.termination is Termination.OPTIMAL
            assert plan.cost == pytest.approx(other.cost, rel=1e-9)
            level = plan.expected_loss - STEP
            compared += 1
    assert compared >= 10


def test_best_exp_finds_the_repaired_plan(drawn):
    single = random_instances(
        np.random.default_rng(5), 6, models=(2, 2), clusters=(1, 1), datasets=(1, 1), maximum_epochs=(2, 5)
    )
    compared = 0
    for instance in (*drawn, *single):
        found, other = repair(instance, 10.0, 60).repaired, tried(instance, "expected-cost", time_limit=10)
        if found is not None and other.cost is not None:
            assert found.cost == pytest.approx(other.cost, rel=1e-9)
            assert found.cost >= solve(instance, "exact", time_limit=10).cost * (1 - 1e-9)
            compared += 1
    assert compared >= 4


def test_what_has_no_means_is_refused():
    with pytest.raises(NotCoveredError, match="law for every increment"):
        mean_value(load("digits-alexnet"))
    with pytest.raises(NotCoveredError, match="law for every increment"):
        mean_value(load("tiny").replace(other_switches=Undeclared()))


def test_forbidden_switches_stay_forbidden():
    assert mean_value(load("tiny")).other_switches.forbids


def test_three_epochs_by_hand():
    """Nothing is random and three equal epochs are needed; x t = 8, a unit of x costs 3, and each waits .5.

    At a price lam of time an epoch costs psi = 2 sqrt(24 lam) + lam / 2, and 30 + 1.3 lam once x is at its
    capacity, 10. Gains priced so that every epoch is worth it prove 3 psi - 5 lam. The best lam is
    (3 sqrt 24 / 3.5)^2, where this is the optimum 9 * 24 / 3.5; at f times that it is 2 sqrt f - f of it.
    """
    instance = plain(target=4.0)
    optimum, best = 9 * 24 / 3.5, 9 * 24 / 3.5**2
    assert solve(instance, "enumerate").cost == pytest.approx(optimum, rel=1e-9)
    curve = price_curve(instance, optimum)
    assert curve["best"] == pytest.approx(1, rel=1e-4)
    assert curve["time_price"] == pytest.approx(best, rel=0.02)  # the maximum is flat
    for factor, share in zip(TIME_FACTORS, curve["over_time_price"], strict=True):
        price = factor * curve["time_price"]
        by_hand = 6 * np.sqrt(24 * price) - 3.5 * price if factor <= 2 else 90 - 1.1 * price
        assert share == pytest.approx(max(by_hand, 0) / optimum, abs=1e-4)


def test_every_point_is_a_bound_and_curves_are_concave():
    seen = 0
    drawn = random_instances(
        np.random.default_rng(5), 8, models=(1, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 5)
    )
    for instance in (load("tiny"), *drawn):
        answer = solve(instance, "exact", time_limit=10)
        if instance.target.maximum_time is None or not answer.cost:
            continue
        try:
            curve = price_curve(instance, answer.cost)
        except NotCoveredError:
            continue
        for factors, name in ((TIME_FACTORS, "over_time_price"), (GAIN_FACTORS, "over_gain_price")):
            shares = curve[name]
            assert max(shares) <= curve["best"] * (1 + 1e-3) + 1e-9
            assert max(shares) <= 1 + 1e-9
            assert _concave(factors, shares)
        seen += 1
    assert seen >= 5


def test_what_has_no_price_of_time_is_refused():
    instance = load("tiny").replace(maximum_time=None, round_deadline=3.0)
    with pytest.raises(NotCoveredError, match="T_max"):
        price_curve(instance, 1.0)


def _concave(factors, shares) -> bool:
    """Where the curve is above 0, slopes do not rise by more than the tolerance of the cutting planes."""
    above = [(x, y) for x, y in zip(factors, shares, strict=True) if y > 0]
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(above)]
    return all(later <= earlier + 0.02 for earlier, later in pairwise(slopes))
