"""What is left out while a price is sought, or while moves are tried, changes nothing."""

import itertools
import math

import numpy as np
import pytest

import depl.heuristics.placement.dual as module
from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, lagrangian
from depl.heuristics.placement.improving import _applied, _evaluated
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.proof import _compositions


def drawn(seed: int, clusters: int = 200) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    return random_placement(rng, 12, clusters, 300, transfers=seed % 2 == 1, deadline=seed // 2 % 2 == 1)


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_left_out_of_the_search_for_a_price_only_where_none_is_cheapest(seed, monkeypatch):
    problem = drawn(seed)
    sizes, usual = [], module._Near.narrow

    def watched(near, step, low, high):
        usual(near, step, low, high)
        sizes.append(len(near._columns))
        for price in np.geomspace(low, high, 5) if low > 0 else ():
            here, everywhere = near.lagrangian(price), lagrangian(problem, price)
            assert here.value == everywhere.value
            assert (here.choice == everywhere.choice).all()
            assert (here.times == everywhere.times).all()

    monkeypatch.setattr(module._Near, "narrow", watched)
    narrowed = best_price(problem)
    monkeypatch.setattr(module._Near, "narrow", lambda *_: None)
    whole = best_price(problem)
    assert narrowed.value == whole.value
    assert narrowed.multiplier == whole.multiplier
    for one, other in ((narrowed.slow, whole.slow), (narrowed.fast, whole.fast)):
        assert (one.choice == other.choice).all()
    if narrowed.multiplier > 0:
        assert min(sizes) < 100


@pytest.mark.parametrize("seed", range(4))
def test_moves_cost_what_the_assignments_after_them_do(seed):
    problem, rng = drawn(seed, clusters=9), np.random.default_rng(seed)
    start = np.zeros(problem.dimensions, dtype=np.int64)
    for g, count in enumerate(problem.counts.tolist()):
        np.add.at(start[g], rng.integers(0, 9, count), 1)
    trials = []
    for size in (1, 2) * 40:
        moves, left = [], start.copy()
        for _ in range(size):
            g, n = rng.choice(np.argwhere(left > 0))
            moves.append((int(g), int(n), int(rng.integers(0, 9))))
            left[g, n] -= 1
        trials.append(tuple(moves))
    found = _evaluated(problem, start, trials)
    expected = problem.evaluate([_applied(start, moves) for moves in trials])
    assert found.costs == pytest.approx(expected.costs, rel=1e-14)
    assert found.multipliers == pytest.approx(expected.multipliers, rel=1e-13)
    assert (found.feasible == expected.feasible).all()


def test_compositions_are_all_splits_within_the_gaps():
    rng = np.random.default_rng(8)
    seen = 0
    for _ in range(60):
        count, places = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        extras = rng.choice([0.0, 0.4, 1.0, 2.5, math.inf], (places, 1)) + rng.uniform(0, 0.2, (places, 2))
        extras[int(rng.integers(places))] = [0.0, rng.uniform(0, 0.1)]
        gaps = np.array([rng.uniform(0.5, 4.0), math.inf])
        rows = [row for row in itertools.product(range(count + 1), repeat=places) if sum(row) == count]
        weights = np.where(np.isinf(extras[:, 0]), 1e9, extras[:, 0])
        expected = {row for row in rows if np.dot(row, weights) <= gaps[0]}
        found = _compositions(count, extras, gaps)
        assert {tuple(row) for row in found.tolist()} == expected
        seen += len(expected) > 1
    assert seen > 20
