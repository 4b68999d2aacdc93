"""The best sets in order, against all subsets."""

import itertools

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import NOT_SUBMODULAR, SUBMODULAR
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.families import iwata
from depl.heuristics.set_functions.functions import all_values
from depl.heuristics.set_functions.graphs import cut
from depl.heuristics.set_functions.k_best import k_best, ranked
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.models.foundation.errors import InvalidInputError

# 0 -> 1 with capacity 4, weights -3 and 1: f = 0, 1, 1, -2
ARC = cut(2, [(0, 1)], 4, [-3, 1])


def test_all_sets_of_an_arc_come_in_order() -> None:
    found = list(ranked(ARC))
    assert [item.value for item in found] == [-2, 0, 1, 1]
    assert [item.subset for item in found[:2]] == [frozenset({0, 1}), frozenset()]
    assert {item.subset for item in found[2:]} == {frozenset({0}), frozenset({1})}
    assert all(item.optimal for item in found)


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", SUBMODULAR)
def test_the_twelve_best_sets_match_enumeration(family: str, count: int) -> None:
    rng = np.random.default_rng(14)
    for _ in range(count):
        function = SUBMODULAR[family](rng, 7)
        found = k_best(function, 12)
        expected = np.sort(all_values(function))[:12]
        assert [item.value for item in found] == pytest.approx(expected.tolist(), abs=1e-9)
        assert len({item.subset for item in found}) == 12
        assert all(item.optimal for item in found)
        assert all(item.lower_bound <= item.value for item in found)


def test_ranks_of_a_heuristic_are_not_called_proved() -> None:
    function = NOT_SUBMODULAR["convex of weight"](np.random.default_rng(1), 6)
    assert not any(item.optimal for item in k_best(function, 3, minimum_norm_point))
    exact = k_best(function, 3, brute_force)
    assert [item.value for item in exact] == np.sort(all_values(function))[:3].tolist()
    assert all(item.optimal for item in exact)


def test_there_are_no_more_sets_than_subsets() -> None:
    assert len(k_best(iwata(3), 100)) == 8
    with pytest.raises(InvalidInputError, match="at least 1"):
        k_best(iwata(3), 0)


@pytest.mark.parametrize("price", [-3, 3])
def test_the_best_nonempty_set_is_found_where_nothing_is_best(price: int) -> None:
    function = cut(4, [(0, 1), (1, 2), (2, 3)], [1, 2, 3], price)
    values = {
        subset: function.value(subset)
        for size in (1, 2, 3, 4)
        for subset in map(frozenset, itertools.combinations(range(4), size))
    }
    found = next(each for each in ranked(function) if each.subset)
    assert found.optimal
    assert found.subset
    assert found.value == min(values.values())
