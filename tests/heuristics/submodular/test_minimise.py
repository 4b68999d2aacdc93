"""One contract for all minimisers: the least value, a certificate that holds, and no false claims."""

import itertools
import math

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import NOT_SUBMODULAR, SUBMODULAR, random_real_cut
from depl.heuristics.submodular.answers import Minimum, Proof, concluded
from depl.heuristics.submodular.families import cut, iwata
from depl.heuristics.submodular.function import Verdict, all_values, oracle, proved
from depl.heuristics.submodular.lovasz import greedy_certificate, proves
from depl.heuristics.submodular.minimise import METHODS, brute_force, lovasz_planes, minimise, ranked
from depl.heuristics.submodular.minimum_norm import minimum_norm_point
from depl.heuristics.submodular.submodularity import holds_at
from depl.models.foundation.errors import NotCoveredError
from tests.oracles.minimum_cut import graph_of, least_value

GENERAL = ["minimum-norm-point", "lovasz"]


def agrees(function, method, least):
    """The contract: the least value, called optimal, with a certificate that is checked here again."""
    found = minimise(function, method)
    assert found.value == pytest.approx(least, abs=1e-9)
    assert found.value == pytest.approx(function.value(found.subset), abs=1e-12)
    assert found.optimal, f"{method}: {found.remark}"
    assert found.lower_bound <= found.value
    if found.proof is Proof.CERTIFICATE:
        bound = found.certificate.bound(function)
        assert proves(function, found.subset, bound)
        assert float(function.start + bound.lower) <= least + 1e-9
    else:
        assert found.proof is Proof.ENUMERATION


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", SUBMODULAR)
def test_every_method_finds_the_least_value_of_every_family(family, method):
    rng = np.random.default_rng(20260801)
    for size in (1, 2, 3, 6):
        if family == "grid cut" and size == 1:
            continue  # a grid of one point has no arcs to draw
        function = SUBMODULAR[family](rng, size) if size > 1 else iwata(1)
        least = float(all_values(function).min())
        agrees(function, method, least)


def test_no_optimum_is_claimed_on_a_sample_of_30_functions_that_are_not_submodular():
    rng = np.random.default_rng(77)
    draws = list(NOT_SUBMODULAR.values())
    wrong = 0
    for place in range(30):
        function = draws[place % len(draws)](rng, int(rng.integers(4, 9)))
        least = float(all_values(function).min())
        found = minimise(function, "minimum-norm-point")
        assert not found.optimal
        assert found.lower_bound == -math.inf
        assert not found.status.proved
        wrong += found.value > least + 1e-9
        if found.status.violation is not None:
            assert holds_at(function, found.status.violation)
        assert minimise(function).value == pytest.approx(least)
        assert minimise(function).proof is Proof.ENUMERATION
    assert wrong > 6  # that no optimum was claimed mattered


@pytest.mark.parametrize("method", GENERAL)
def test_an_oracle_is_optimal_only_if_what_its_caller_told_holds(method):
    def evaluate(subset):
        return len(subset) * (5 - len(subset)) - 3 * (0 in subset) - 3 * (1 in subset) - 2 * (4 in subset)

    assert not minimise(oracle(5, evaluate), method).optimal
    found = minimise(oracle(5, evaluate, known=proved("concave in the number of elements")), method)
    assert found.proof is Proof.TOLD
    assert not found.optimal
    assert "optimal if what you told holds: concave in the number of elements" in found.remark
    assert (found.value, found.subset) == (-8, frozenset(range(5)))


def test_a_bound_above_the_value_contradicts_what_the_caller_said_and_proves_nothing():
    """f = |S|**2 - 2.5 |S| is -1.5 at one element; mean (0.5, 0.5, 0.5) of three bases gives the bound 0."""
    function = oracle(3, lambda subset: len(subset) ** 2 - 2.5 * len(subset), known=proved("a lie"))
    orders = [np.roll(np.arange(3), shift) for shift in range(3)]
    certificate = greedy_certificate(orders, np.ones(3))
    assert certificate.bound(function).lower == 0
    told = concluded(function, frozenset({0}), certificate, 3)
    assert told.proof is Proof.NONE
    assert "refuted: A = [], i = 0, j = 1" in told.remark
    believed = concluded(function, frozenset({0}), certificate, 3, status=proved("a lie"))
    assert believed.proof is Proof.NONE
    assert "not submodular" in believed.remark


def test_a_base_that_fails_on_the_prefix_of_another_order_refutes_what_was_told():
    """f is 1 where 0 and 2 are together: along both orders gains of neighbours are exchanged rightly."""
    function = oracle(3, lambda subset: int({0, 2} <= subset), known=proved("a lie"))
    certificate = greedy_certificate([np.arange(3), np.arange(3)[::-1]], np.ones(2))
    assert concluded(function, frozenset(), certificate, 2).status.verdict is Verdict.REFUTED


# --- sizes beyond all subsets: two independent methods ------------------------------------------------


@pytest.mark.parametrize("family", ["cut", "cut with real data", "coverage", "quadratic"])
@pytest.mark.parametrize("size", [40, 150])
def test_the_minimum_norm_point_equals_the_minimum_cut(family, size):
    function = SUBMODULAR[family](np.random.default_rng(size), size)
    point = minimum_norm_point(function)
    assert point.optimal
    assert point.value == pytest.approx(least_value(function), rel=1e-12)
    assert 0 < len(point.subset) < size


def test_data_of_twelve_orders_of_magnitude_end_in_a_proof_or_in_no_claim():
    rng = np.random.default_rng(12)
    unproved = 0
    for _ in range(12):
        base = graph_of(random_real_cut(rng, 8))
        arcs = np.column_stack([base.tails, base.heads])
        spread = [part * 10.0 ** rng.uniform(-6, 6, len(part)) for part in (base.capacities, base.modular)]
        function = cut(8, arcs, *spread)
        least = all_values(function).min()
        found = minimise(function)
        unproved += not found.optimal
        assert found.lower_bound <= least + 1e-9 * abs(least)
        if found.optimal:
            bound = found.certificate.bound(function)
            assert found.value - least <= 1e-9 * max(abs(least), float(bound.largest))
    assert unproved < 12


# --- what a caller tells ------------------------------------------------------------------------------


def test_no_false_claim_about_an_oracle_is_called_optimal():
    """Random tables under `known=proved`: whatever is said, nothing wrong is called optimal outright."""
    rng = np.random.default_rng(1905)
    sizes = range(6)
    subsets = [frozenset(chosen) for size in sizes for chosen in itertools.combinations(range(5), size)]
    caught = 0
    for _ in range(40):
        table = {chosen: int(rng.integers(-9, 10)) for chosen in subsets}
        function = oracle(5, table.__getitem__, proved("so I believe"))
        found = minimum_norm_point(function)
        assert not found.optimal
        caught += found.status.verdict is Verdict.REFUTED
        if found.status.violation is not None:
            assert holds_at(function, found.status.violation)
    assert caught == 40  # every one of them


# --- limits and refusals ------------------------------------------------------------------------------


def test_a_method_that_is_stopped_early_says_so_and_keeps_a_valid_bound():
    function = SUBMODULAR["grid cut"](np.random.default_rng(2), 64)
    least = least_value(function)
    for method, stops in (
        (minimum_norm_point, ({"iterations": 2}, {"seconds": 0.0})),
        (lambda *given, **stop: lovasz_planes(*given, **stop)[0], ({"programs": 1}, {"seconds": 0.0})),
    ):
        for stop in stops:
            found = method(function, **stop)
            assert isinstance(found, Minimum)
            assert not found.optimal
            assert found.lower_bound <= least <= found.value
            assert "gap" in found.remark


def test_all_subsets_tell_values_apart_that_no_float_does_and_know_what_errors_hide():
    """At 10**20 floats are 16384 apart."""

    def evaluate(chosen):
        return 10**20 - (3 if chosen == {1} else 0) - (1 if chosen == {0, 2} else 0)

    found = brute_force(oracle(3, evaluate))
    assert (found.subset, found.optimal) == ({1}, True)
    doubtful = brute_force(oracle(3, lambda chosen: 1.0 - 0.001 * len(chosen), error=0.01))
    assert doubtful.proof is Proof.NONE
    assert doubtful.lower_bound <= 0.987
    assert "known to" in doubtful.remark


def test_uncovered_functions_are_refused():
    with pytest.raises(NotCoveredError):
        minimise(iwata(21), "brute-force")


# --- the best sets in order ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SUBMODULAR)
def test_the_twelve_best_sets_match_enumeration(family):
    function = SUBMODULAR[family](np.random.default_rng(14), 7)
    found = list(itertools.islice(ranked(function), 12))
    expected = np.sort(all_values(function))[:12]
    assert [item.value for item in found] == pytest.approx(expected.tolist(), abs=1e-9)
    assert len({item.subset for item in found}) == 12
    assert all(item.optimal for item in found)
    assert all(item.lower_bound <= item.value for item in found)


def test_ranks_of_a_heuristic_are_not_called_proved():
    function = NOT_SUBMODULAR["convex of weight"](np.random.default_rng(1), 6)
    assert not any(item.optimal for item in list(itertools.islice(ranked(function, minimum_norm_point), 3)))
    exact = list(itertools.islice(ranked(function, brute_force), 3))
    assert [item.value for item in exact] == np.sort(all_values(function))[:3].tolist()
    assert all(item.optimal for item in exact)
    assert len(list(ranked(iwata(3)))) == 8
