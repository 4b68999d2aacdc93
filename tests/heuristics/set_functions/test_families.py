"""Set functions: every way of asking for a value gives the same one; generators draw what they say."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import NOT_SUBMODULAR, SUBMODULAR
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.families import (
    capped,
    concave_of_weight,
    facility_location,
    iwata,
    logarithm,
    parabola,
    square_root,
)
from depl.heuristics.set_functions.functions import (
    Oracle,
    Restricted,
    SetFunction,
    all_values,
    subset_of_index,
)
from depl.heuristics.set_functions.graphs import coverage, cut, quadratic
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

DRAWS = {**SUBMODULAR, **{f"not submodular: {name}": draw for name, draw in NOT_SUBMODULAR.items()}}


def drawn(name: str, count: int, smallest: int = 2, largest: int = 8) -> list[SetFunction]:
    rng = np.random.default_rng(sorted(DRAWS).index(name))
    return [DRAWS[name](rng, int(rng.integers(smallest, largest + 1))) for _ in range(count)]


def test_a_cut_counts_the_arcs_that_leave() -> None:
    # 0 -> 1 -> 2 with capacities 3 and 4; weights -1, 0, 2
    function = cut(3, [(0, 1), (1, 2)], [3, 4], [-1, 0, 2])
    assert [function.value(subset) for subset in ([], [0], [1], [0, 1], [2], [0, 1, 2])] == [0, 2, 4, 3, 2, 1]


def test_coverage_counts_the_groups_that_are_met() -> None:
    function = coverage(3, [[0, 1], [1, 2], [2]], [5, 7, 1], [-6, -6, -6])
    assert [function.value(subset) for subset in ([], [0], [1], [2], [0, 2])] == [0, -1, 6, 2, 1]


def test_a_quadratic_counts_every_pair_inside_once() -> None:
    function = quadratic([[1, -2, 0], [-3, 0, -4], [0, 0, 2]], [10, 20, 30])
    assert [function.value(subset) for subset in ([0], [0, 1], [1, 2], [0, 1, 2])] == [11, 26, 48, 54]


def test_concave_shapes_have_their_values() -> None:
    weights = [1.0, 3.0]
    assert concave_of_weight(weights, square_root(2)).value([0, 1]) == 4
    assert concave_of_weight(weights, logarithm()).value([1]) == pytest.approx(math.log(4))
    assert concave_of_weight(weights, parabola(5), [0, -1]).value([0, 1]) == 3


def test_a_capped_weight_has_its_values() -> None:
    function = concave_of_weight([1.0, 2.0], capped(2.5), [0, 1])
    assert [function.value(subset) for subset in ([], [0], [1], [0, 1])] == [0, 1, 3, 3.5]


@pytest.mark.parametrize("shape", [parabola(0.5), capped(2.5)])
def test_whole_data_under_a_shape_that_is_not_whole_lose_no_fraction(shape) -> None:
    """|S| (1/2 - |S|): the values -1/2 and -3 are no multiples of 1, and nothing may round them."""
    function = concave_of_weight([1.0, 2.0], shape)
    assert function.granularity == 0
    chain = function.exact_chain(np.array([0, 1]))
    exact = [Fraction(int(value), chain.denominator) for value in chain.numerators]
    assert exact == [Fraction(function.value(range(count))) for count in range(3)]
    assert brute_force(function).value == min(function.value(subset) for subset in ([], [0], [1], [0, 1]))


def test_facility_location_takes_the_best_open_site_for_every_customer() -> None:
    function = facility_location([[3, 0, 1], [2, 5, 1]], [-4, -6])
    assert [function.value(subset) for subset in ([], [0], [1], [0, 1])] == [0, 0, 2, -1]


@pytest.mark.parametrize("size", [1, 2, 3, 6, 10])
def test_iwata_has_its_known_values(size: int) -> None:
    function = iwata(size)
    for subset in itertools.chain.from_iterable(itertools.combinations(range(size), k) for k in (0, 1, 2)):
        count = len(subset)
        expected = count * (size - count) - sum(5 * (i + 1) - 2 * size for i in subset)
        assert function.value(subset) == expected


@pytest.mark.parametrize("name", DRAWS)
def test_chains_tables_and_rational_values_agree(name: str) -> None:
    rng = np.random.default_rng(1)
    for function in drawn(name, 6):
        table = all_values(function)
        order = rng.permutation(function.size)[: int(rng.integers(0, function.size + 1))]
        chain, exact = function.chain(order), function.exact_chain(order)
        for count in range(len(order) + 1):
            index = sum(1 << int(element) for element in order[:count])
            assert chain[count] == pytest.approx(table[index], abs=1e-9)
            truth = Fraction(int(exact.numerators[count]), exact.denominator)
            assert abs(Fraction(chain[count]) - truth) <= Fraction(function.rounding) + exact.error
            if function.granularity:
                assert (truth / function.granularity).denominator == 1


@pytest.mark.parametrize("name", DRAWS)
def test_a_restriction_has_the_values_of_the_whole(name: str) -> None:
    for function in drawn(name, 3, smallest=4):
        part = Restricted(function, frozenset({1}), frozenset({0, 3}))
        assert part.size == function.size - 3
        for index, value in enumerate(all_values(part)):
            whole = part.whole(subset_of_index(index))
            assert 1 in whole
            assert not whole & {0, 3}
            assert value == pytest.approx(function.value(whole), abs=1e-9)
        order = np.arange(part.size)
        assert float(part.exact_chain(order).last) == pytest.approx(part.chain(order)[-1], abs=1e-9)


def test_irrational_values_are_computed_to_many_digits() -> None:
    function = concave_of_weight([2.0], square_root())
    chain = function.exact_chain(np.array([0]))
    assert 0 < chain.error < Fraction(1, 10**50)
    assert abs(chain.last**2 - 2) < Fraction(1, 10**50)


@pytest.mark.parametrize("name", SUBMODULAR)
def test_half_of_the_minimisers_are_neither_empty_nor_everything(name: str) -> None:
    found = [(brute_force(function).subset, function.size) for function in drawn(name, 40, 4, 10)]
    assert sum(0 < len(subset) < size for subset, size in found) >= 20


def test_a_restriction_refuses_what_is_forced_and_forbidden_at_once() -> None:
    with pytest.raises(InvalidInputError, match="different"):
        Restricted(iwata(3), frozenset({1}), frozenset({1}))
    with pytest.raises(InvalidInputError, match="must exist"):
        Restricted(iwata(3), frozenset({3}), frozenset())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cut(2, [(0, 2)], 1), "arcs"),
        (lambda: cut(2, [(1, 1)], 1), "arcs"),
        (lambda: cut(2, [(0, 1)], [1, 2]), "do not fit"),
        (lambda: cut(2, [(0, 1)], math.inf), "finite"),
        (lambda: cut(0, [], 1), "at least one"),
        (lambda: coverage(2, [[]], 1), "groups"),
        (lambda: coverage(2, [[2]], 1), "groups"),
        (lambda: coverage(2, [[0]], -1), "weights"),
        (lambda: quadratic([1, 2]), "square"),
        (lambda: concave_of_weight([-1], square_root()), "weights"),
        (lambda: square_root(-1), "scale"),
        (lambda: facility_location([[-1]]), "benefits"),
        (lambda: facility_location([[1]], math.nan), "modular"),
        (lambda: iwata(0), "size"),
        (lambda: Oracle(1, lambda subset: math.inf).value([]), "finite on every set"),
    ],
)
def test_what_is_no_set_function_is_refused(make, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_too_many_subsets_are_refused() -> None:
    with pytest.raises(NotCoveredError, match="21 elements"):
        all_values(iwata(21))
