"""The extension, its cvxpy program, and certificates: computed again in rational numbers, or refused."""

from fractions import Fraction

import cvxpy
import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import SUBMODULAR, random_cut
from depl.heuristics.submodular.families import concave_of_weight, cut, square_root
from depl.heuristics.submodular.function import Verdict, all_gains, exhaustive, oracle
from depl.heuristics.submodular.lovasz import (
    CertifiedBound,
    GreedyCertificate,
    as_integers,
    cutting_planes,
    greedy_certificate,
    proves,
)
from depl.heuristics.submodular.minimise import lovasz_planes
from depl.models.foundation.errors import InvalidInputError

HALF = Fraction(1, 2)
# 0 -> 1 with capacity 4, weights -3 and 1: f = 0, 1, 1, -2
ARC = cut(2, [(0, 1)], 4, [-3, 1])


# --- the program ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SUBMODULAR)
def test_cutting_planes_return_the_program_whose_value_proves_the_minimum(family):
    function = SUBMODULAR[family](np.random.default_rng(4), 7)
    minimum, planes = lovasz_planes(function, seconds=600.0)
    assert minimum.optimal
    # a whole-numbered function is solved when the bound is less than 1 below
    least = float(all_gains(function).min())
    assert least - max(1e-6, function.whole) <= planes.program.value * planes.unit <= least + 1e-6
    assert planes.program.status == cvxpy.OPTIMAL


# --- certificates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SUBMODULAR)
def test_bounds_are_sums_of_fractions_and_never_more_than_the_least_value(family):
    rng = np.random.default_rng(31)
    for size in (2, 7, 25):
        function = SUBMODULAR[family](rng, size)
        orders = [rng.permutation(size) for _ in range(4)]
        for weights in (rng.uniform(0, 1, 4), np.array([0.0, 1e-14, 1.0, 0.3])):
            certificate = greedy_certificate(orders, weights)
            assert sum(certificate.weights) == 1
            base, noise = [Fraction(0)] * size, 0.0
            for order, weight in zip(certificate.orders, certificate.weights, strict=True):
                gains = function.chain(order)
                noise = max(noise, function.noise(gains))
                for place, element in enumerate(order.tolist()):
                    base[element] += weight * (Fraction(gains[place + 1]) - Fraction(gains[place]))
            bound = certificate.bound(function)
            least = sum(min(entry, Fraction(0)) for entry in base)
            assert bound.lower == least - 2 * (size + 1) * Fraction(noise)
            assert bound.largest == max(abs(entry) for entry in base)
            assert certificate.bound(function, 0.25).lower == bound.lower - Fraction(size**2, 16)
            if size == 7:
                assert bound.lower <= Fraction(float(all_gains(function).min()))


def test_a_function_that_falls_short_of_submodularity_is_bounded_all_the_same():
    """Every certificate, less short n**2 / 4, is below the least value of disturbed cuts."""
    rng = np.random.default_rng(33)
    passed = 0
    while not passed:  # that something was taken off matters
        whole, noise = random_cut(rng, 6), rng.integers(-3, 4, 64).tolist()
        table = {}

        def value(chosen, whole=whole, noise=noise, table=table):
            return table.setdefault(chosen, int(whole.value(chosen)) + noise[sum(1 << i for i in chosen)])

        function = oracle(6, value)
        found = exhaustive(function)
        assert found.verdict is Verdict.REFUTED
        least = Fraction(float(all_gains(function).min()))
        certificate = cutting_planes(function).certificate
        passed += certificate.bound(function).lower > least
        assert certificate.bound(function, found.short).lower <= least


@pytest.mark.parametrize(
    ("orders", "weights", "message"),
    [
        ([[0, 1]], (HALF,), "sum exactly 1"),
        ([[0, 1], [1, 0]], (Fraction(3, 2), -HALF), "nonnegative"),
        ([[0, 0]], (Fraction(1),), "permutation"),
        ([[0]], (Fraction(1),), "permutation"),
        ([[0, 1]], (HALF, HALF), "as many weights"),
    ],
)
def test_forged_combinations_are_refused(orders, weights, message):
    with pytest.raises(InvalidInputError, match=message):
        GreedyCertificate(np.array(orders), weights).bound(ARC)


@pytest.mark.parametrize(
    ("lower", "proof"), [(Fraction(-29, 10), True), (Fraction(-3), False), (Fraction(-1), False)]
)
def test_of_whole_numbers_a_gap_below_one_is_none_and_a_bound_above_proves_nothing(lower, proof):
    assert proves(ARC, frozenset({0, 1}), CertifiedBound(lower, Fraction(1))) is proof


def test_of_other_numbers_a_gap_of_a_billionth_is_none_counted_from_the_end_of_the_noise():
    thirds = concave_of_weight([1.0, 2.0], square_root(), [-3.0, 0.5])
    gain, most = Fraction(thirds.gain([0])), Fraction(7, 10**9)
    noise = Fraction(thirds.noise(np.array([float(gain)])))
    for least, proof in ((gain + noise - most, True), (gain - most, False)):
        assert proves(thirds, frozenset({0}), CertifiedBound(least, Fraction(7))) is proof


def test_weights_of_0_and_a_function_of_zeros_are_bounded():
    none = cut(2, [], 1)
    assert GreedyCertificate(np.array([[0, 1], [1, 0]]), (Fraction(1), Fraction(0))).bound(none).lower == 0
    assert lovasz_planes(none)[0].optimal
    for numbers in ([0.0, 4.0], [1.0, 4.0]):
        whole, bits = as_integers(np.array(numbers))
        assert [number * Fraction(2) ** bits for number in whole] == numbers
