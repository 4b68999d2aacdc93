"""Weak duality: no price proves more than the cheapest plan, and the best prices prove the relaxation."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from depl.heuristics.bounds.dual import Cut, CuttingPlanes, Part, Prices, _rest, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import (
    Requirement,
    VarianceRange,
    certified_requirement,
    largest_variance,
    least_score,
)
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Instance, Transfer
from tests.cases.loop_cases import dual_of, every_sequence, moments, plain, psi
from tests.oracles.brute_force import cheapest_by_brute_force, every_plan
from tests.problems import drawn


def whole(instance):
    learning = Learning.of(instance)
    sites = Sites.of(instance, listed_sites(instance), DataFactors(instance))
    part = Part(sites.transfers / instance.target.maximum_epochs)
    return dual_of(instance, learning, sites), part, learning


def exactly(fall):
    return Requirement(fall, (VarianceRange(0.0, 0.0, 0.0, 0.0),))


@pytest.fixture(scope="module")
def some():
    return drawn([6, 3], 8, models=(1, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(1, 3))


def random_prices(rng, dual, spread):
    unit = max(dual.highest_cost, 1e-6)
    time = unit / dual.maximum_time if dual.maximum_time is not None else 0.0
    lam, gamma = 10 ** rng.uniform(-3, 2), unit * 10 ** rng.uniform(-2, 2)
    nu = unit / max(spread, 1e-6) * rng.uniform(-1, 1) * rng.integers(2)
    return Prices(float(time * lam), float(gamma), float(nu))


def chosen_at_random(rng, largest):
    """One that has nothing to do with the law of the loss."""
    ends = [0.0, *(largest * np.sort(rng.uniform(0, 1, 2))).tolist(), largest * 1.001]
    score = float(rng.uniform(0, 2))
    ranges = (
        VarianceRange(a, b, score * math.sqrt(a), score * math.sqrt(b)) for a, b in itertools.pairwise(ends)
    )
    return Requirement(float(rng.uniform(0, 3)), tuple(ranges))


def asked(requirement, variance):
    """What a plan of this variance has to gain."""
    pieces = [piece for piece in requirement.ranges if piece.low <= variance <= piece.high]
    ends = ((piece.low, piece.high, piece.margin_low, piece.margin_high) for piece in pieces)
    margins = (np.interp(variance, (a, b), (low, high)) if b > a else low for a, b, low, high in ends)
    return requirement.fall + float(min(margins, default=math.inf))


def test_no_prices_prove_more_than_a_plan_costs_that_keeps_what_is_asked_or_meets_the_target(some):
    """Against every plan: under requirements by chance, and under what is certainly needed."""
    rng = np.random.default_rng(1)
    compared = certified = 0
    for instance in some:
        dual, part, learning = whole(instance)
        largest = largest_variance(*learning.with_stand_ins())
        if not np.isfinite(learning.variances).all():
            continue
        plans = [(cost, *moments(instance, plan)) for cost, plan in every_plan(instance)]
        needed = certified_requirement(instance, learning.third_ratio, largest)
        for requirement in (chosen_at_random(rng, largest), chosen_at_random(rng, largest), needed):
            if requirement is None:
                continue
            if requirement is needed:
                least, _ = cheapest_by_brute_force(instance)
            else:
                kept = (cost for cost, gain, variance in plans if gain >= asked(requirement, variance))
                least = min(kept, default=math.inf)
            for _ in range(8):
                assert min(dual.values(part, requirement, random_prices(rng, dual, largest))) <= least
            best = dual.bound(part, requirement, start_prices(dual, part, requirement))
            assert best.value <= least
            if requirement is needed and math.isfinite(best.value):  # it is worth what its own prices prove
                again = min(dual.values(part, requirement, best.prices))
                assert again == pytest.approx(best.value, rel=1e-9, abs=1e-9 * dual.highest_cost)
            compared += math.isfinite(least) and best.value > 0
            certified += requirement is needed and 0 < best.value < math.inf
    assert compared > 0.6 * len(some)
    assert certified > 0.3 * len(some)


def test_the_cheapest_sequence_is_that_of_all_sequences(some):
    rng = np.random.default_rng(3)
    for instance in some:
        dual, part, learning = whole(instance)
        for _ in range(2):
            prices = random_prices(rng, dual, 1.0)
            least, cut = dual.cheapest(part, prices)
            best = brute_cheapest(instance, learning, part, prices)
            assert least <= best
            assert least == pytest.approx(best, rel=1e-9, abs=1e-9 * dual.highest_cost)
            total = (
                cut.cost + prices.time * cut.time - prices.gain * cut.gain + prices.variance * cut.variance
            )
            charged = total + float(cut.uses @ part.charges)
            assert charged == pytest.approx(best, rel=1e-9, abs=1e-9 * dual.highest_cost)
            assert cut.uses.sum() == len(cut.models) == len(cut.sites)


def brute_cheapest(instance, learning, part, prices):
    """Every sequence of models, with the best site for each epoch by itself, in scalars."""
    tau = instance.target.round_deadline or math.inf
    listed = listed_sites(instance)

    def epoch(k, m):
        best = math.inf
        for o, (n, chosen) in enumerate(listed):
            demand = load(instance, k + 1, instance.models[m].name, instance.clusters[n].name, chosen)
            h = instance.learning_factor(chosen)
            value = psi(demand, prices.time, tau)[0] + float(part.charges[o])
            value -= prices.gain * h * learning.gains[k, m]
            best = min(best, value + prices.variance * h * h * learning.variances[k, m])
        return best

    known = {
        (k, m): epoch(k, m)
        for k in range(instance.target.maximum_epochs)
        for m in range(len(instance.models))
    }
    found = math.inf
    for models in every_sequence(instance.target.maximum_epochs, len(instance.models)):
        rows = [len(instance.models), *models[:-1]]
        if not all(learning.allowed[p, m] for p, m in zip(rows, models, strict=True)):
            continue
        switches = [
            prices.gain * learning.switch_losses[p, m] + prices.variance * learning.switch_variances[p, m]
            for p, m in zip(rows, models, strict=True)
        ]
        found = min(found, sum(known[k, m] for k, m in enumerate(models)) + sum(switches))
    return found


# --- closed forms --------------------------------------------------------------------------------------


MIXED = plain((1.0, 2.0), (1.0, 8.0), maximum_time=None, round_deadline=1.5, epochs=2, target=7.0)
"""Gains 1 and 2 for works 1 and 8; tau - s = 1, so x = c: (1, 3) and (2, 24) span the relaxation."""


@pytest.mark.parametrize(
    ("instance", "fall", "value"),
    [
        # K' = fall / 2 epochs of c = 8 at kappa = 3 cost (K' sqrt(24))**2 / (T - K' / 2)
        *((plain(), fall, (fall / 2) ** 2 * 24 / (5 - fall / 4)) for fall in (3.0, 5.5)),
        (plain(), 6.5, math.inf),  # three epochs gain 6
        (plain(maximum_time=2.5), 4.0, math.inf),  # two epochs take 2.6
        (plain(maximum_time=None, round_deadline=2.0), 3.0, 24.0),  # x = 8 / 1.5 in 1.5 epochs
        (MIXED, 3.0, 3 + 24),
        (MIXED, 2.5, 3 + 3 + 21 / 2),
        (plain(clusters=((0.0, 10.0),)), 4.0, 0.0),
    ],
    ids=lambda value: value.name if isinstance(value, Instance) else None,
)
def test_the_best_prices_prove_closed_forms(instance, fall, value):
    dual, part, _ = whole(instance)
    found = dual.bound(part, exactly(fall), start_prices(dual, part, exactly(fall))).value
    assert found == pytest.approx(value, rel=2e-5, abs=1e-6)
    assert found <= value * (1 + 1e-9)


def test_charges_are_paid_in_proportion_and_what_is_paid_counts_whole():
    """Three epochs at most: an epoch pays a third of F = 9, and 1.5 epochs pay half; paid ones pay all."""
    bare = plain(maximum_time=None, round_deadline=2.0)
    instance = bare.replace(transfers=(Transfer(dataset="data", cluster="c0", cost=9.0),))
    dual, part, _ = whole(instance)
    assert part.charges.tolist() == [3.0]
    start = start_prices(dual, part, exactly(3.0))
    assert dual.bound(part, exactly(3.0), start).value == pytest.approx(24 + 4.5, rel=2e-5)
    obliged = Part(np.zeros(1), 9.0)
    assert dual.bound(obliged, exactly(3.0), start).value == pytest.approx(24 + 9, rel=2e-5)
    assert dual.bound(Part(np.array([math.inf])), exactly(3.0), start).value == math.inf
    assert dual.values(Part(np.array([math.inf])), exactly(3.0), start) == [math.inf]


@pytest.mark.parametrize("share", [1.0, 1 - 9e-10])
@pytest.mark.parametrize("epochs", [2, 3])
def test_a_plan_that_uses_the_tolerance_of_the_time_limit_is_not_excluded(share, epochs):
    """Two epochs with full resources take 2.6 and cost 60, a billionth less time is within the tolerance."""
    instance = plain(maximum_time=2.6 * share, epochs=epochs)
    demand = load(instance, 1, "m0", "c0", frozenset({"data"}))
    cost = allocate([demand, demand], instance.target.maximum_time, None).cost
    assert cost == 60
    dual, part, _ = whole(instance)
    rng = np.random.default_rng(4)
    for _ in range(10):
        prices = Prices(10 ** rng.uniform(0, 9), 10 ** rng.uniform(0, 9), 0.0)
        assert dual.values(part, exactly(4.0), prices)[0] <= cost
    found = dual.bound(part, exactly(4.0), start_prices(dual, part, exactly(4.0)))
    assert cost * (1 - 2e-5) <= found.value <= cost


# --- the machinery -------------------------------------------------------------------------------------


def test_a_bound_may_stop_at_the_cutoff_and_is_still_a_bound():
    dual, part, _ = whole(plain())
    start = Prices(5.0, 10.0, 0.0)
    full = dual.bound(part, exactly(3.0), start)
    early = dual.bound(part, exactly(3.0), start, cutoff=full.value / 2)
    assert full.value / 2 <= early.value <= full.value * (1 + 1e-9)
    assert early.ranges == ()
    assert full.ranges == exactly(3.0).ranges


def test_the_least_over_the_ranges_counts_and_open_ones_are_named(bell):
    dual, part, _ = whole(bell)
    pieces = (VarianceRange(0, 1, 0, 0), VarianceRange(1, 2, 1.0, 1.0), VarianceRange(2, 4, 2.0, 2.0))
    alone = [dual.bound(part, Requirement(2.0, (piece,)), Prices(5.0, 10.0, 0.0)).value for piece in pieces]
    found = dual.bound(part, Requirement(2.0, pieces), Prices(5.0, 10.0, 0.0))
    assert found.value == pytest.approx(min(alone), rel=2e-5)
    assert alone[0] < alone[1] < alone[2]
    within = dual.bound(part, Requirement(2.0, pieces), Prices(5.0, 10.0, 0.0), cutoff=alone[1] * 0.99)
    assert within.ranges == (pieces[0],)


def test_nothing_is_proved_by_a_price_of_what_has_no_end():
    piece = VarianceRange(1.0, 2.0, 0.5, 0.6, excess_low=0.1, excess_high=math.inf, rough_high=math.inf)
    prices = Prices(0.0, 1.0, 0.3)
    assert math.isfinite(_rest(4.0, piece, None, prices))
    assert math.isfinite(_rest(4.0, piece, None, prices._replace(excess=-1.0, roughness=-1.0)))
    assert _rest(4.0, piece, None, prices._replace(excess=1.0)) == -math.inf
    assert _rest(4.0, piece, None, prices._replace(roughness=1.0)) == -math.inf


def test_a_cut_without_end_of_time_asks_for_nothing_and_one_that_is_refused_ends_the_search():
    part, start = Part(np.zeros(1)), Prices(0.5, 1.0, 0.0)
    cut = Cut(np.zeros(1, int), np.zeros(1, int), 2.0, 1.0, 5.0, 0.0, np.ones(1, int))
    other = replace(cut, cost=1.0, gain=3.0)

    def solved(*cuts):
        program = CuttingPlanes(part, 4.0, VarianceRange(0, 0, 0, 0), [], start, 3.0, same_time=False)
        for item in cuts:
            program.add(item)
        return program.solve()

    assert solved(cut, other)[0] == pytest.approx(1.5)  # half of each
    assert solved(cut, replace(cut, time=math.inf, cost=0.0), other) == solved(cut, other)
    assert solved(cut, other, replace(cut, gain=1e300)) == (math.inf, None)


# --- what is certainly needed ------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("count", [1, 4, 40, 400, 100_000])
@pytest.mark.parametrize("budget", [0.5, 0.05, 1e-3])
def test_gamma_sums_and_their_mirrors_gain_as_much_as_the_bound_asks_for(budget, count, unit):
    """An exponential law has E |Y - 1|**3 = 12 / e - 2; with either sign, whatever the unit of loss."""
    ratio, deviation = (12 / math.e - 2) * unit, math.sqrt(count) * unit
    asked = least_score(budget, ratio, deviation**2)
    needed = (count - stats.gamma.ppf(budget, count)) * unit
    mirrored = (stats.gamma.isf(budget, count) - count) * unit
    assert asked * deviation <= min(needed, mirrored)


def test_with_many_epochs_the_bound_tends_to_the_normal_quantile_in_every_unit():
    for unit in (1e-3, 1.0, 1e3):
        found = least_score(0.05, unit, 1e8 * unit**2)
        assert special.ndtri(0.95) - 1e-3 < found < special.ndtri(0.95)
