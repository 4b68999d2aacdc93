"""The extension, its cvxpy program, and certificates: computed again in rational numbers, or refused."""

from fractions import Fraction

import cvxpy
import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import SUBMODULAR, random_cut, random_real_cut
from depl.heuristics.submodular.families import concave_of_weight, cut, square_root
from depl.heuristics.submodular.function import Verdict, all_gains, all_values, exhaustive, oracle
from depl.heuristics.submodular.lovasz import (
    CertifiedBound,
    GreedyCertificate,
    as_integers,
    cutting_planes,
    extension_program,
    greedy_certificate,
    lovasz_extension,
    proves,
)
from depl.heuristics.submodular.minimise import lovasz_planes
from depl.heuristics.submodular.minimum_norm import minimum_norm_point
from depl.models.foundation.errors import InvalidInputError
from tests.oracles.minimum_cut import least_value

HALF = Fraction(1, 2)
# 0 -> 1 with capacity 4, weights -3 and 1: f = 0, 1, 1, -2
ARC = cut(2, [(0, 1)], 4, [-3, 1])


@pytest.mark.parametrize("family", SUBMODULAR)
def test_the_extension_is_f_on_indicators_and_an_average_of_level_sets_between(family: str) -> None:
    rng = np.random.default_rng(9)
    function = SUBMODULAR[family](rng, 5)
    for index, value in enumerate(all_values(function)):
        indicator = np.array([index >> bit & 1 for bit in range(5)], dtype=float)
        assert lovasz_extension(function, indicator) == pytest.approx(value, abs=1e-9)
    x = rng.random(5)
    cuts = np.sort(np.concatenate([[0.0, 1.0], x]))
    levels = [function.value(np.flatnonzero(x > t).tolist()) for t in (cuts[1:] + cuts[:-1]) / 2]
    assert lovasz_extension(function, x) == pytest.approx(float(np.diff(cuts) @ levels), abs=1e-9)


# --- the program ----------------------------------------------------------------------------------------


def test_the_cuts_of_two_orders_bound_an_arc_from_below() -> None:
    """Bases (1, -3) and (-3, 1): min over the cube of max(x0 - 3 x1, -3 x0 + x1) is -2 at (1, 1)."""
    problem = extension_program(np.array([[1.0, -3.0], [-3.0, 1.0]]))
    assert problem.solve(solver=cvxpy.HIGHS) == pytest.approx(-2)
    assert problem.var_dict["x"].value == pytest.approx([1, 1])


@pytest.mark.parametrize("family", SUBMODULAR)
def test_cutting_planes_return_the_program_whose_value_proves_the_minimum(family: str) -> None:
    function = SUBMODULAR[family](np.random.default_rng(4), 7)
    minimum, planes = lovasz_planes(function)
    assert minimum.optimal
    # a whole-numbered function is solved when the bound is less than 1 below
    least = float(all_gains(function).min())
    assert least - max(1e-6, function.whole) <= planes.program.value * planes.unit <= least + 1e-6
    assert planes.program.status == cvxpy.OPTIMAL


def test_cutting_planes_stopped_early_are_not_optimal_but_bound() -> None:
    function = random_cut(np.random.default_rng(5), 30)
    for minimum, _ in (lovasz_planes(function, programs=1), lovasz_planes(function, seconds=0)):
        assert not minimum.optimal
        assert minimum.lower_bound <= least_value(function)


# --- certificates ---------------------------------------------------------------------------------------


def test_the_bound_of_two_orders_is_computed_by_hand() -> None:
    """Bases (1, -3) of the order 0, 1 and (-3, 1) of the order 1, 0; their mean is (-1, -1)."""
    orders = np.array([[0, 1], [1, 0]])
    assert GreedyCertificate(orders[:1], (Fraction(1),)).bound(ARC) == CertifiedBound(-3, 3)
    assert GreedyCertificate(orders, (HALF, HALF)).bound(ARC) == CertifiedBound(-2, 1)
    assert proves(ARC, frozenset({0, 1}), CertifiedBound(Fraction(-2), Fraction(1)))


@pytest.mark.parametrize("family", SUBMODULAR)
def test_bounds_are_sums_of_fractions_and_never_more_than_the_least_value(family: str) -> None:
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
            if size == 7:
                assert bound.lower <= Fraction(float(all_gains(function).min()))


def test_a_function_that_falls_short_of_submodularity_is_bounded_all_the_same() -> None:
    """Every certificate, less short n**2 / 4, is below the least value of disturbed cuts."""
    rng = np.random.default_rng(33)
    passed = 0
    for _ in range(40):
        whole, noise = random_cut(rng, 6), rng.integers(-3, 4, 64).tolist()
        table = {}

        def value(chosen: frozenset[int], whole=whole, noise=noise, table=table) -> int:
            return table.setdefault(chosen, int(whole.value(chosen)) + noise[sum(1 << i for i in chosen)])

        function = oracle(6, value)
        found = exhaustive(function)
        assert found.verdict is Verdict.REFUTED
        least = Fraction(float(all_gains(function).min()))
        certificate = cutting_planes(function).certificate
        passed += certificate.bound(function).lower > least
        assert certificate.bound(function, found.short).lower <= least
    assert passed  # that something was taken off mattered


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


@pytest.mark.parametrize(
    ("lower", "proof"), [(Fraction(-29, 10), True), (Fraction(-3), False), (Fraction(-1), False)]
)
def test_of_whole_numbers_a_gap_below_one_is_none_and_a_bound_above_proves_nothing(lower, proof) -> None:
    assert proves(ARC, frozenset({0, 1}), CertifiedBound(lower, Fraction(1))) is proof
    thirds = concave_of_weight([1.0, 2.0], square_root(), [-3.0, 0.5])
    assert not proves(thirds, minimum_norm_point(thirds).subset, CertifiedBound(lower - 7, Fraction(1)))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 3.7e40, 1e-321])
def test_floats_are_integers_times_a_power_of_two(scale: float) -> None:
    numbers = scale * np.random.default_rng(1).normal(0, 1, (3, 5)) * 10.0 ** np.arange(5)
    numbers[0, 0] = 0.0
    whole, bits = as_integers(numbers)
    for integer, number in zip(whole.ravel().tolist(), numbers.ravel().tolist(), strict=True):
        assert integer * Fraction(2) ** bits == Fraction(number)
    assert not as_integers(np.zeros((2, 2)))[0].any()


def test_a_half_beside_two_to_the_51_is_not_lost() -> None:
    # entry 1 is -2**50 - 1/2 in the first order and -2**50 in the second; the other entries are positive
    function = cut(3, [(0, 1)], [0.5], [2.0**51, -(2.0**50), 0.5])
    orders = [np.array([0, 1, 2]), np.array([2, 1, 0])]
    certificate = greedy_certificate(orders, np.array([1.0, 2.0]))
    wanted = -(2**50) - certificate.weights[0] * HALF
    slack = 8 * Fraction(function.noise(np.array([function.chain(order) for order in orders])))
    assert certificate.bound(function).lower + slack == wanted
