"""What is left out while a price is sought changes nothing."""

import numpy as np
import pytest

import depl.heuristics.placement.dual as module
from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, lagrangian
from depl.heuristics.placement.problem import PlacementProblem


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
