"""Set functions: values by hand and in 60 digits, what rounding may leave open, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import NOT_SUBMODULAR, SUBMODULAR
from depl.heuristics.submodular.families import (
    capped,
    concave_of_weight,
    coverage,
    cut,
    facility_location,
    iwata,
    logarithm,
    parabola,
    quadratic,
    square_root,
)
from depl.heuristics.submodular.function import (
    UNKNOWN,
    ExactSums,
    Verdict,
    Violation,
    all_gains,
    all_values,
    exhaustive,
    oracle,
    subset_of_index,
)
from depl.heuristics.submodular.submodularity import check_exchanges, holds_at, random_search
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from tests.oracles.sixty_digits import digits, total


def subsets(size):
    """All of them, small ones first."""
    counts = range(size + 1)
    return [frozenset(chosen) for count in counts for chosen in itertools.combinations(range(size), count)]


# --- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (
            coverage(3, [[0, 1], [1, 2], [2]], [5, 7, 1], [-6, -6, -6]),
            {"": 0, "0": -1, "1": 6, "2": 2, "02": 1},
        ),
        (
            quadratic([[1, -2, 0], [-3, 0, -4], [0, 0, 2]], [10, 20, 30]),
            {"0": 11, "01": 26, "12": 48, "012": 54},
        ),
        (iwata(3), {"0": 2 - 5 + 6, "12": 2 - 10 - 15 + 12}),
    ],
)
def test_values_by_hand(function, wanted):
    for chosen, value in wanted.items():
        assert function.value(map(int, chosen)) == pytest.approx(value, rel=1e-15)


def exact_cut(rng):
    scale = 10.0 ** rng.uniform(-6, 6, 12)
    ends = [tuple(rng.choice(5, 2, replace=False).tolist()) for _ in range(12)]
    capacities, linear = scale * rng.uniform(0, 1, 12), rng.normal(0, 1, 5)

    def value(chosen):
        leaving = [place for place, (i, j) in enumerate(ends) if i in chosen and j not in chosen]
        return total(linear, chosen) + total(capacities, leaving)

    return cut(5, ends, capacities, linear), value


def exact_concave(rng):
    weights, linear, scale = rng.uniform(0, 1, 5), rng.normal(0, 1, 5), float(rng.uniform(0.5, 2))
    shapes = [
        (square_root(scale), lambda w: Fraction(scale) * digits("sqrt", w)),
        (logarithm(scale), lambda w: Fraction(scale) * digits("ln", 1 + w)),
        (parabola(scale), lambda w: w * (Fraction(scale) - w)),
        (capped(scale), lambda w: min(w, Fraction(scale))),
    ]
    shape, exact = shapes[int(rng.integers(4))]

    def value(chosen):
        return exact(total(weights, chosen)) + total(linear, chosen)

    return concave_of_weight(weights, shape, linear), value


def exact_facility(rng):
    benefits, linear = rng.uniform(0, 1, (5, 4)), rng.normal(0, 1, 5)

    def value(chosen):
        best = [max((benefits[site, one] for site in chosen), default=0.0) for one in range(4)]
        return sum(map(Fraction, best)) + total(linear, chosen)

    return facility_location(benefits, linear), value


@pytest.mark.parametrize("draw", [exact_cut, exact_concave, exact_facility])
def test_gains_are_within_their_noise_of_60_digits_and_the_noise_is_small(draw):
    rng = np.random.default_rng(31)
    for _ in range(30):
        function, exact = draw(rng)
        start = exact(frozenset())
        assert abs(function.start - start) <= Fraction(function.noise(np.array([float(start)])))
        gains = all_gains(function)
        noise = Fraction(function.noise(gains))
        truth = [exact(subset_of_index(index)) - start for index in range(len(gains))]
        assert max(abs(Fraction(gain) - true) for gain, true in zip(gains, truth, strict=True)) <= noise
        assert noise <= Fraction(1, 10**13) * max(1, *map(abs, truth), abs(start) * 100)
        order = rng.permutation(5)
        for count, gain in enumerate(function.chain(order).tolist()):
            assert abs(Fraction(gain) - exact(frozenset(order[:count].tolist())) + start) <= noise


@pytest.mark.parametrize("share", [0, 2])
def test_what_cancels_has_the_noise_of_what_it_is_made_of(share):
    weight = 1e8 / 3
    total = share * weight
    function = concave_of_weight([weight], parabola(total), -weight * (total - weight))
    error = Fraction(weight * (total - weight)) - Fraction(weight) * (Fraction(total) - Fraction(weight))
    assert function.gain([0]) == 0
    assert 0 < abs(error) <= function.noise(np.zeros(1))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 3.7e40, 1e-321])
def test_sums_are_off_by_one_rounding_whatever_their_number(scale):
    rng = np.random.default_rng(32)
    numbers = scale * rng.normal(0, 1, 500) / 3
    sums, sets = ExactSums(numbers), rng.random((20, 500)) < 0.5
    found = sums.over(sets)
    for row, value in zip(sets, found, strict=True):
        assert abs(Fraction(value) - total(numbers, np.flatnonzero(row))) <= Fraction(sums.noise(found))
    assert sums.noise(found) <= 3e-16 * np.abs(found).max()
    whole = ExactSums(rng.integers(-(10**9), 10**9, 500))
    assert whole.exact
    assert whole.noise(whole.over(sets)) == 0


# --- submodular or not ----------------------------------------------------------------------------------


def exact_exchange(table, size):
    """Submodularity by all triples in rational numbers."""
    return all(
        table[base | {i}] + table[base | {j}] >= table[base | {i, j}] + table[base]
        for base in subsets(size)
        for i, j in itertools.combinations(sorted(set(range(size)) - base), 2)
    )


@pytest.mark.parametrize("family", SUBMODULAR)
def test_families_are_proved_by_construction_and_by_all_triples_up_to_rounding(family):
    function = SUBMODULAR[family](np.random.default_rng(1), 6)
    found = exhaustive(function)
    assert function.known.verdict is Verdict.PROVED
    assert function.restricted(frozenset({0}), frozenset({1})).known.proved
    assert found.verdict is Verdict.PROVED or found.short < 1e-13
    assert found.proved or family in {"cut with real data", "square root", "K^ T^"}


@pytest.mark.parametrize("family", NOT_SUBMODULAR)
def test_other_families_are_refuted_with_a_triple_that_holds(family):
    function = NOT_SUBMODULAR[family](np.random.default_rng(2), 6)
    found = exhaustive(function)
    assert found.verdict is Verdict.REFUTED
    assert holds_at(function, found.violation)
    assert not exact_exchange({chosen: Fraction(function.value(chosen)) for chosen in subsets(6)}, 6)
    assert function.known.verdict is not Verdict.PROVED
    assert found.violation.excess <= found.short < math.inf


def nearly_modular(chosen):
    """f(0 1) exceeds f(0) + f(1) by 2**-105, which the float sum of these two does not show."""
    table = {frozenset(): 0.0, frozenset({0}): 1.0, frozenset({1}): 2.0**-52 * (1 - 2.0**-53)}
    return table.get(chosen, 1.0 + 2.0**-52)


def small_square(chosen):
    return Fraction(len(chosen) ** 2, 10**6)


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (concave_of_weight([0.0, 0.0, 2.0], square_root()), Verdict.UNKNOWN),  # constant in the first two
        (oracle(3, lambda chosen: Fraction(len(chosen), 3)), Verdict.UNKNOWN),  # numbers that are no floats
        (oracle(2, lambda chosen: 1.5e308 if chosen else 0.0), Verdict.UNKNOWN),  # sums overflow
        (oracle(3, small_square, error=1e-3), Verdict.UNKNOWN),
        (oracle(3, small_square), Verdict.REFUTED),  # without an error that hides it
        (oracle(2, nearly_modular), Verdict.REFUTED),
    ],
)
def test_what_rounding_leaves_open_stays_open_and_nothing_else(function, verdict):
    found = exhaustive(function)
    assert found.verdict is verdict
    assert function.size != 2 or verdict is Verdict.UNKNOWN or found.violation.excess == 2.0**-105


def test_random_orders_refute_a_square_of_any_size_and_never_a_submodular_function():
    rng = np.random.default_rng(3)
    for size in (3, 40):
        function = oracle(size, lambda subset: len(subset) ** 2)
        found = random_search(function, rng)
        assert found.verdict is Verdict.REFUTED
        assert holds_at(function, found.violation)
        assert found.violation.excess == 2
    small = oracle(2, lambda subset: 1e-9 * (len(subset) == 2))
    assert check_exchanges(small, np.arange(2), small.chain(np.arange(2))).violation.excess == 1e-9
    for draw in SUBMODULAR.values():
        assert random_search(draw(rng, 12), rng).verdict is Verdict.PROVED
    assert random_search(oracle(6, lambda subset: min(len(subset), 3)), rng) == UNKNOWN
    assert not holds_at(iwata(4), Violation(frozenset(), 0, 1, 1.0))


# --- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cut(2, [(0, 2)], 1), "arcs"),
        (lambda: cut(2, [(1, 1)], 1), "arcs"),
        (lambda: cut(2, [(0, 1)], [1, 2]), "do not fit"),
        (lambda: cut(2, [(0, 1)], math.inf), "finite"),
        (lambda: cut(0, [], 1), "at least one"),
        (lambda: coverage(2, [[]], 1), "groups"),
        (lambda: coverage(2, [[0, 2]], 1), "groups"),
        (lambda: coverage(2, [[0], [1]], [1, -1]), "weights"),
        (lambda: quadratic([1, 2]), "square"),
        (lambda: quadratic([[1, 2]]), "square"),
        (lambda: concave_of_weight([-1], square_root()), "weights"),
        (lambda: square_root(-1), "scale"),
        (lambda: facility_location([[-1]]), "benefits"),
        (lambda: facility_location([[1, math.inf]]), "benefits"),
        (lambda: facility_location([[1]], math.nan), "modular"),
        (lambda: iwata(0), "size"),
        (lambda: oracle(1, lambda subset: math.inf), "finite on every set"),
        (lambda: iwata(3).restricted(frozenset({1}), frozenset({1})), "different"),
        (lambda: iwata(3).restricted(frozenset({3}), frozenset()), "must exist"),
    ],
)
def test_what_is_no_set_function_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_too_many_subsets_and_triples_are_refused():
    with pytest.raises(NotCoveredError, match="21 elements"):
        all_values(iwata(21))
    with pytest.raises(NotCoveredError, match="at most 18"):
        exhaustive(iwata(19))
    assert exhaustive(cut(18, [(i, (i * 7 + 3) % 18) for i in range(18) if i not in {4, 13}], 1.0)).proved
