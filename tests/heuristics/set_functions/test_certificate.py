"""Certificates are computed again from the function, in rational numbers, and forged ones are refused."""

from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import (
    SUBMODULAR,
    random_real_cut,
)
from depl.heuristics.set_functions.certificate import (
    CertifiedBound,
    GreedyCertificate,
    greedy_certificate,
    proves,
)
from depl.heuristics.set_functions.families import concave_of_weight, square_root
from depl.heuristics.set_functions.functions import all_values
from depl.heuristics.set_functions.graphs import cut
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.models.foundation.errors import InvalidInputError

HALF = Fraction(1, 2)
# 0 -> 1 with capacity 4, weights -3 and 1: f = 0, 1, 1, -2
ARC = cut(2, [(0, 1)], 4, [-3, 1])


def test_the_bound_of_two_orders_is_computed_by_hand() -> None:
    """Bases (1, -3) of the order 0, 1 and (-3, 1) of the order 1, 0; their mean is (-1, -1)."""
    orders = np.array([[0, 1], [1, 0]])
    assert GreedyCertificate(orders[:1], (Fraction(1),)).bound(ARC) == CertifiedBound(-3, 3)
    assert GreedyCertificate(orders, (HALF, HALF)).bound(ARC) == CertifiedBound(-2, 1)
    assert proves(ARC, frozenset({0, 1}), CertifiedBound(Fraction(-2), Fraction(1)))


@pytest.mark.parametrize("family", SUBMODULAR)
def test_no_convex_combination_of_bases_bounds_more_than_the_least_value(family: str) -> None:
    rng = np.random.default_rng(4)
    function = SUBMODULAR[family](rng, 7)
    least = all_values(function).min()
    for _ in range(20):
        orders = [rng.permutation(7) for _ in range(int(rng.integers(1, 5)))]
        certificate = greedy_certificate(orders, rng.random(len(orders)) + 1e-3)
        assert sum(certificate.weights) == 1
        assert certificate.bound(function).lower <= Fraction(float(least)) + Fraction(1, 10**9)


def test_small_and_negative_weights_are_left_out() -> None:
    orders = [np.array([0, 1]), np.array([1, 0]), np.array([0, 1])]
    certificate = greedy_certificate(orders, np.array([0.25, 0.75, 1e-18]))
    assert certificate.weights == (Fraction(1, 4), Fraction(3, 4))


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
def test_forged_combinations_are_refused(orders, weights, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GreedyCertificate(np.array(orders), weights).bound(ARC)


def test_a_certificate_of_another_function_bounds_that_function_only() -> None:
    rng = np.random.default_rng(6)
    one, other = random_real_cut(rng, 8), random_real_cut(rng, 8)
    taken = minimum_norm_point(one).certificate
    assert taken.bound(other).lower <= Fraction(float(all_values(other).min()))
    assert not proves(other, minimum_norm_point(other).subset, taken.bound(other))


def test_a_gap_below_the_granularity_is_no_gap() -> None:
    bound = CertifiedBound(Fraction(-29, 10), Fraction(1))
    assert proves(ARC, frozenset({0, 1}), bound)
    assert not proves(ARC, frozenset({0, 1}), CertifiedBound(Fraction(-3), Fraction(1)))
    assert not proves(ARC, frozenset({0, 1}), CertifiedBound(Fraction(-1), Fraction(1)))


def test_the_error_of_roots_is_on_the_safe_side() -> None:
    function = concave_of_weight([1.0, 2.0, 3.0], square_root(), [-1.0, 0.3, -0.5])
    certificate = greedy_certificate([np.array([0, 2, 1])], np.ones(1))
    chain = function.chain(np.array([0, 2, 1]))
    plain = float(np.minimum(np.diff(chain), 0).sum())
    assert float(certificate.bound(function).lower) == pytest.approx(plain, rel=1e-14)
    assert certificate.bound(function).lower.denominator > 10**50


@pytest.mark.parametrize("family", SUBMODULAR)
def test_bounds_by_integers_are_those_of_sums_of_fractions(family: str) -> None:
    rng = np.random.default_rng(31)
    for size in (2, 6, 25):
        function = SUBMODULAR[family](rng, size)
        orders = [rng.permutation(size) for _ in range(4)]
        for weights in (rng.uniform(0, 1, 4), np.array([0.0, 1e-14, 1.0, 0.3])):
            certificate = greedy_certificate(orders, weights)
            base, error = [Fraction(0)] * size, Fraction(0)
            for order, weight in zip(certificate.orders, certificate.weights, strict=True):
                chain = function.exact_chain(order)
                error = max(error, chain.error)
                for place, element in enumerate(order.tolist()):
                    step = int(chain.numerators[place + 1]) - int(chain.numerators[place])
                    base[element] += weight * Fraction(step, chain.denominator)
            least = function.exact_value(frozenset()) + sum(min(entry, Fraction(0)) for entry in base)
            bound = certificate.bound(function)
            assert bound.lower == least - 2 * (size + 1) * error
            assert bound.largest == max(abs(entry) for entry in base)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 3.7e40, 1e-321])
def test_exact_chains_of_real_data_are_sums_of_fractions(scale: float) -> None:
    rng = np.random.default_rng(32)
    ends = [(0, 1), (1, 2), (3, 2), (2, 0), (4, 1)]
    function = cut(5, ends, scale * rng.uniform(0, 1, 5), scale * rng.normal(0, 1, 5) / 3)
    for _ in range(5):
        order = rng.permutation(5)[:4]
        chain = function.exact_chain(order)
        for count in range(5):
            inside = set(order[:count].tolist())
            truth = sum((Fraction(function.modular[element]) for element in inside), Fraction(0))
            for (tail, head), capacity in zip(ends, function.capacities.tolist(), strict=True):
                truth += Fraction(capacity) if tail in inside and head not in inside else 0
            assert Fraction(int(chain.numerators[count]), chain.denominator) == truth


def test_a_half_beside_two_to_the_51_is_not_lost() -> None:
    # entry 1 is -2**50 - 1/2 in the first order and -2**50 in the second; the other entries are positive
    function = cut(3, [(0, 1)], [0.5], [2.0**51, -(2.0**50), 0.5])
    orders = [np.array([0, 1, 2]), np.array([2, 1, 0])]
    certificate = greedy_certificate(orders, np.array([1.0, 2.0]))
    assert certificate.bound(function).lower == -(2**50) - certificate.weights[0] * HALF
