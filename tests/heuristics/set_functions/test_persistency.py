"""Fixing elements by their extreme gains: the gains against differences of values, and nothing lost by it."""

from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.cases.set_functions.random_set_functions import SUBMODULAR
from depl.heuristics.set_functions.families import facility_location
from depl.heuristics.set_functions.functions import Oracle, all_values, common_denominator, subset_of_index
from depl.heuristics.set_functions.graphs import coverage, cut
from depl.heuristics.set_functions.lovasz import greedy_base
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.persistency import decided_by_gains
from depl.heuristics.set_functions.verdicts import UNKNOWN


@pytest.mark.parametrize("family", SUBMODULAR)
def test_gains_are_differences_of_values(family: str) -> None:
    rng = np.random.default_rng(5)
    for size in (2, 3, 7):
        function = SUBMODULAR[family](rng, size)
        for _ in range(5):
            kind = rng.integers(0, 3, size)
            inside, outside = kind == 1, kind == 2
            gains = function.extreme_gains(inside, outside)
            assert gains is not None
            for element in np.flatnonzero(kind == 0).tolist():
                sets = np.array([inside, inside, ~outside, ~outside])
                sets[1, element], sets[3, element] = True, False
                values = function.values(sets)
                assert gains[0][element] == pytest.approx(values[1] - values[0], rel=1e-9, abs=1e-9)
                assert gains[1][element] == pytest.approx(values[2] - values[3], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("family", SUBMODULAR)
def test_every_minimiser_has_the_first_part_and_the_least_one_misses_the_last(family: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(8):
        function = SUBMODULAR[family](rng, 8)
        parts = decided_by_gains(function)
        assert sorted(np.concatenate(parts).tolist()) == list(range(8))
        values = all_values(function)
        near = np.flatnonzero(values <= values.min() + 1e-9 * (1 + abs(values.min())))
        least = min((subset_of_index(int(index)) for index in near), key=len)
        assert set(parts.first.tolist()) <= least
        assert not set(parts.last.tolist()) & least


@pytest.mark.parametrize("family", SUBMODULAR)
def test_bases_have_the_sign_of_the_part_on_decided_elements(family: str) -> None:
    rng = np.random.default_rng(7)
    function = SUBMODULAR[family](rng, 12)
    parts = decided_by_gains(function)
    for _ in range(5):
        order = np.concatenate([parts.first, rng.permutation(parts.free), parts.last])
        base = greedy_base(function, order).base
        assert (base[parts.first] < 1e-9).all()
        assert (base[parts.last] > -1e-9).all()


@pytest.mark.parametrize("family", SUBMODULAR)
def test_the_search_finds_and_proves_the_same_with_and_without(family: str) -> None:
    rng = np.random.default_rng(8)
    for size in (3, 10, 40):
        function = SUBMODULAR[family](rng, size)
        fixed, plain = minimum_norm_point(function), minimum_norm_point(function, decide=False)
        assert fixed.optimal
        assert plain.optimal
        assert fixed.value == pytest.approx(plain.value, rel=1e-9, abs=1e-9)
        assert fixed.certificate is not None
        assert 0 <= fixed.value - float(fixed.certificate.bound(function).lower) + 1e-9 <= 1.0


def test_a_chain_of_arcs_is_decided_in_rounds() -> None:
    # element 0 pays for itself; the arc 0 -> 1 makes 1 worth it then, and 2 after 1; nobody wants 3
    function = cut(4, [(0, 1), (1, 2)], [4, 2], [-5, 1, 1, 5])
    parts = decided_by_gains(function)
    assert parts.first.tolist() == [0, 1, 2]
    assert parts.last.tolist() == [3]
    assert minimum_norm_point(function).subset == {0, 1, 2}


def test_elements_that_cover_the_same_group_stay_free() -> None:
    # either of 0 and 1 alone loses 1, both together gain 1
    function = coverage(2, [[0, 1]], [3.0], [-2.0, -2.0])
    parts = decided_by_gains(function)
    assert sorted(parts.free.tolist()) == [0, 1]
    found = minimum_norm_point(function)
    assert found.optimal
    assert found.subset == {0, 1}
    assert found.value == -1


def test_a_site_loses_what_it_has_beyond_the_second_best() -> None:
    function = facility_location([[5.0, 1.0], [3.0, 4.0]], [0.0, 0.0])
    nothing = np.zeros(2, dtype=bool)
    gains = function.extreme_gains(nothing, nothing)
    assert gains[0].tolist() == [6.0, 7.0]
    assert gains[1].tolist() == [2.0, 3.0]


def test_nothing_is_decided_for_single_values_or_without_a_proof() -> None:
    whole = cut(3, [(0, 1)], [2], [-3, 1, 5])
    oracle = Oracle(3, whole.value, UNKNOWN)
    assert sorted(decided_by_gains(oracle).free.tolist()) == [0, 1, 2]
    assert not minimum_norm_point(oracle).optimal


def test_the_common_denominator_is_that_of_the_fractions() -> None:
    rng = np.random.default_rng(9)
    for values in (
        rng.normal(0, 1, 50),
        rng.integers(-9, 9, 20).astype(float),
        np.array([0.0, 0.75, -3.0, 1e-300, 2.0**80, 5e-324]),
        np.zeros(2),
    ):
        assert common_denominator(values) == max(Fraction(value).denominator for value in values.tolist())
