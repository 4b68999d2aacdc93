"""Submodularity is proved, refuted with a triple, or unknown; nothing else."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import NOT_SUBMODULAR, SUBMODULAR
from depl.heuristics.set_functions.families import concave_of_weight, iwata, square_root
from depl.heuristics.set_functions.functions import Oracle, Restricted, SetFunction
from depl.heuristics.set_functions.graphs import coverage, cut, quadratic
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.status import check_base, exhaustive, holds_at, random_search, witness
from depl.heuristics.set_functions.verdicts import UNKNOWN, Verdict, Violation, proved
from depl.models.foundation.errors import NotCoveredError

SQUARE = Oracle(5, lambda subset: len(subset) ** 2)


def slow_exchange_test(function: SetFunction) -> bool:
    """Every triple, one by one, with values of its own."""
    elements = range(function.size)
    for count in range(function.size - 1):
        for base in map(frozenset, itertools.combinations(elements, count)):
            for i, j in itertools.combinations(sorted(set(elements) - base), 2):
                gains = function.value(base | {i}) + function.value(base | {j})
                if gains < function.value(base | {i, j}) + function.value(base) - 1e-9:
                    return False
    return True


@pytest.mark.parametrize("family", SUBMODULAR)
def test_families_are_proved_by_construction_and_by_all_triples(family: str) -> None:
    function = SUBMODULAR[family](np.random.default_rng(1), 6)
    assert function.submodularity().verdict is Verdict.PROVED
    assert exhaustive(function).verdict is Verdict.PROVED
    assert slow_exchange_test(function)


@pytest.mark.parametrize("family", NOT_SUBMODULAR)
def test_other_families_are_refuted_with_a_triple_that_holds(family: str) -> None:
    function = NOT_SUBMODULAR[family](np.random.default_rng(2), 6)
    found = exhaustive(function)
    assert found.verdict is Verdict.REFUTED
    assert holds_at(function, found.violation)
    assert not slow_exchange_test(function)
    assert function.submodularity().verdict is not Verdict.PROVED


def test_the_triple_of_a_quadratic_is_its_positive_pair() -> None:
    function = quadratic([[0, -1, 4], [0, 0, -2], [0, 0, 0]])
    violation = function.submodularity().violation
    assert violation == Violation(frozenset({1}), 0, 2, 4.0)
    assert holds_at(function, violation)


def test_a_negative_arc_may_be_made_good_by_a_pair_of_the_same_ends() -> None:
    assert cut(2, [(0, 1), (1, 0)], [-1, 1]).submodularity().proved
    assert exhaustive(cut(2, [(0, 1), (1, 0)], [-1, 1])).proved
    worse = cut(2, [(0, 1), (1, 0)], [-2, 1])
    assert worse.submodularity().violation == exhaustive(worse).violation == Violation(frozenset(), 0, 1, 1.0)


def test_equality_that_rounding_hides_is_decided_in_rational_numbers() -> None:
    """A modular function of decimals: every triple is an equality, and floats miss it by a unit or so."""
    weights = np.array([0.1, 0.2, 0.3, 0.7, 1e-9])
    modular = coverage(5, [[i] for i in range(5)], weights)
    assert modular.rounding > 0
    assert exhaustive(modular).verdict is Verdict.PROVED


def test_equality_of_roots_stays_open() -> None:
    """sqrt(w(S)) with weights 0 is constant in them, but roots are known to 55 digits only."""
    function = concave_of_weight([0.0, 0.0, 2.0], square_root())
    assert exhaustive(function).verdict is Verdict.UNKNOWN
    assert function.submodularity().proved


def test_an_excess_smaller_than_the_declared_error_is_no_refutation() -> None:
    def evaluate(subset: frozenset[int]) -> Fraction:
        return Fraction(len(subset) ** 2, 10**6)

    assert exhaustive(Oracle(3, evaluate)).verdict is Verdict.REFUTED
    assert exhaustive(Oracle(3, evaluate, error=1e-3)).verdict is Verdict.UNKNOWN


def test_too_many_triples_are_refused() -> None:
    with pytest.raises(NotCoveredError, match="at most 18"):
        exhaustive(iwata(19))


def test_random_orders_refute_a_square_of_any_size_and_never_a_submodular_function() -> None:
    rng = np.random.default_rng(3)
    for size in (3, 40):
        function = Oracle(size, lambda subset: len(subset) ** 2)
        found = random_search(function, rng)
        assert found.verdict is Verdict.REFUTED
        assert holds_at(function, found.violation)
    for draw in SUBMODULAR.values():
        assert random_search(draw(rng, 12), rng).verdict is Verdict.PROVED
    assert random_search(Oracle(6, lambda subset: min(len(subset), 3)), rng) == UNKNOWN


def test_the_witness_of_a_base_is_a_violating_triple() -> None:
    """The base of |S|**2 in the order 0 ... 4 is (1, 3, 5, 7, 9); at X = {4} it is 9 > f(X) = 1."""
    order = np.arange(5)
    assert check_base(SQUARE, order, np.diff(SQUARE.chain(order)), order, SQUARE.chain(order)) is None
    found = witness(SQUARE, order, frozenset({4}))
    assert found.verdict is Verdict.REFUTED
    assert found.violation.excess == 2
    assert holds_at(SQUARE, found.violation)


def test_a_triple_that_is_none_does_not_hold() -> None:
    assert not holds_at(iwata(4), Violation(frozenset(), 0, 1, 1.0))


@pytest.mark.parametrize("method", [minimum_norm_point])
def test_the_check_while_running_finds_a_triple(method) -> None:
    rng = np.random.default_rng(12)
    seen = 0
    for _ in range(20):
        function = NOT_SUBMODULAR["disturbed cut"](rng, 6)
        found = method(function)
        if found.status.verdict is Verdict.REFUTED:
            seen += 1
            assert holds_at(function, found.status.violation)
            assert "refuted" in found.remark
    assert seen >= 3


def test_a_part_of_a_refuted_function_is_unknown_and_of_a_proved_one_proved() -> None:
    bad = quadratic([[0, 3], [0, 0]])
    assert Restricted(bad, frozenset(), frozenset()).submodularity() is UNKNOWN
    assert Restricted(iwata(4), frozenset({0}), frozenset({1})).submodularity().proved


def test_all_triples_of_18_elements_are_tried_in_seconds() -> None:
    function = cut(18, [(i, (i * 7 + 3) % 18) for i in range(18) if (i * 7 + 3) % 18 != i], 1.0)
    assert exhaustive(function).proved


def test_reasons_name_the_triple() -> None:
    reason = exhaustive(SQUARE).reason
    assert "i = 0" in reason
    assert "exceed by 2" in reason
    assert math.isfinite(exhaustive(SQUARE).violation.excess)
    assert proved("so").reason == "so"
