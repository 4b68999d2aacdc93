"""What rounding may not do: make a false proof, or hide the range of a function behind its constant.

The oracle is a second implementation in rational numbers: all subsets, one by one.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.set_functions import random_real_cut
from depl.heuristics.set_functions.answers import Proof
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.functions import Oracle, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.k_best import k_best
from depl.heuristics.set_functions.minimise import minimise
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.status import check_base, exhaustive, holds_at
from depl.heuristics.set_functions.verdicts import Verdict, proved

Table = dict[frozenset[int], Fraction]
SEARCHES = ["minimum-norm-point", "lovasz"]


def subsets(size: int) -> list[frozenset[int]]:
    """All of them, small ones first."""
    counts = range(size + 1)
    return [frozenset(chosen) for count in counts for chosen in itertools.combinations(range(size), count)]


def exact_exchange(table: Table, size: int) -> bool:
    """Submodularity by all triples in rational numbers."""
    return all(
        table[base | {i}] + table[base | {j}] >= table[base | {i, j}] + table[base]
        for base in subsets(size)
        for i, j in itertools.combinations(sorted(set(range(size)) - base), 2)
    )


def exact_cut(function: GraphFunction, constant: Fraction) -> Table:
    """A cut and a constant, term by term in rational numbers."""
    arcs = list(
        zip(function.tails.tolist(), function.heads.tolist(), function.capacities.tolist(), strict=True)
    )
    return {
        chosen: constant
        + sum((Fraction(function.modular[i]) for i in chosen), Fraction(0))
        + sum((Fraction(c) for i, j, c in arcs if i in chosen and j not in chosen), Fraction(0))
        for chosen in subsets(function.size)
    }


def rounded_sums(rng: np.random.Generator, size: int) -> Table:
    """Sums of weights rounded to floats: in truth modular, as it stands off by a unit in the last place."""
    weights = rng.uniform(0.1, 1, size)
    return {chosen: Fraction(float(weights[sorted(chosen)].sum())) for chosen in subsets(size)}


def thirds(rng: np.random.Generator, size: int) -> Table:
    """Numbers that are no floats: concave in the size, at some sets too large by a 2**-70th."""
    wrong = subsets(size)[int(rng.integers(1 << size))] if rng.random() < 0.5 else None
    return {
        chosen: Fraction(len(chosen), 3) + (Fraction(1, 2**70) if chosen == wrong else 0)
        for chosen in subsets(size)
    }


@pytest.mark.parametrize("family", [rounded_sums, thirds])
def test_all_triples_decide_as_rational_numbers_do_though_floats_see_equality(family) -> None:
    rng = np.random.default_rng(1901)
    verdicts = []
    for place in range(60):
        size = 3 + place % 3
        table = family(rng, size)
        found = exhaustive(Oracle(size, table.__getitem__))
        assert found.proved == exact_exchange(table, size)
        assert found.proved or holds_at(Oracle(size, table.__getitem__), found.violation)
        verdicts.append(found.verdict)
    assert Verdict.REFUTED in verdicts
    assert Verdict.UNKNOWN not in verdicts


def test_a_violation_by_one_unit_in_the_last_place_is_found() -> None:
    """f(0 1) exceeds f(0) + f(1) by 2**-53, which the float sum of these two does not show."""
    table = {frozenset(): 0.0, frozenset({0}): 1.0, frozenset({1}): 2.0**-53}
    function = Oracle(2, lambda chosen: table.get(chosen, 1.0 + 2.0**-52))
    assert table[frozenset({0})] + table[frozenset({1})] - (1.0 + 2.0**-52) - 0.0 < 0
    table[frozenset({1})] = 2.0**-52 * (1 - 2.0**-53)
    assert table[frozenset({0})] + table[frozenset({1})] - (1.0 + 2.0**-52) - 0.0 == 0
    found = exhaustive(function)
    assert found.verdict is Verdict.REFUTED
    assert found.violation.excess == 2.0**-105


def test_all_subsets_tell_values_apart_that_no_float_does() -> None:
    """At 10**20 floats are 16384 apart."""

    def evaluate(chosen: frozenset[int]) -> int:
        return 10**20 - (3 if chosen == {1} else 0) - (1 if chosen == {0, 2} else 0)

    found = brute_force(Oracle(3, evaluate))
    assert found.subset == {1}
    assert found.optimal


def test_all_subsets_of_values_with_an_error_are_called_optimal_only_within_it() -> None:
    def evaluate(chosen: frozenset[int]) -> float:
        return 1.0 - 0.001 * len(chosen)

    assert brute_force(Oracle(3, evaluate)).optimal
    doubtful = brute_force(Oracle(3, evaluate, error=0.01))
    assert doubtful.proof is Proof.NONE
    assert doubtful.lower_bound <= 0.987
    assert "known to" in doubtful.remark


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", SEARCHES)
def test_a_constant_of_a_million_millions_costs_no_digit_of_the_optimum(method: str, count: int) -> None:
    rng = np.random.default_rng(1902)
    proofs = 0
    for place in range(count):
        size = 5 + place % 4
        base = random_real_cut(rng, size)
        table = exact_cut(base, Fraction(10) ** 12)
        for function in (
            replace(base, constant=1e12),
            Oracle(size, table.__getitem__, known=proved("a cut")),
        ):
            found = minimise(function, method)
            span = max(table.values()) - min(table.values())
            settled = found.proof is not Proof.NONE
            proofs += settled
            if settled:
                assert table[found.subset] - min(table.values()) <= span / 10**9
    assert proofs == 2 * count  # the claim above is not empty


def test_ranks_do_not_depend_on_a_constant() -> None:
    base = random_real_cut(np.random.default_rng(1903), 6)
    table = exact_cut(base, Fraction(0))
    wanted = sorted(table.values())[:8]
    found = k_best(replace(base, constant=1e12), 8, minimum_norm_point)
    values = [float(table[item.subset]) for item in found]
    assert values == pytest.approx([float(x) for x in wanted], rel=1e-9)
    assert all(item.optimal for item in found)


def test_a_violation_beside_a_large_constant_is_noticed_while_a_method_runs() -> None:
    """|S|**2 + 10**12: the base of one order passes f on the prefixes of the opposite one by up to 20."""
    function = Oracle(5, lambda chosen: len(chosen) ** 2 + 10**12)
    order, other = np.arange(5), np.arange(5)[::-1]
    base = np.diff(function.chain(order))
    found = check_base(function, order, base, other, function.chain(other))
    assert found is not None
    assert holds_at(function, found.violation)


def test_noise_of_floats_is_no_violation() -> None:
    """Sums of decimals: floats miss equality, rational numbers decide, and nothing is refuted by noise."""
    weights = np.array([0.1, 0.2, 0.3, 0.7, 1e-9])

    def evaluate(chosen: frozenset[int]) -> Fraction:
        return Fraction(10) ** 12 + sum((Fraction(weights[i]) for i in chosen), Fraction(0))

    function: SetFunction = Oracle(5, evaluate)
    rng = np.random.default_rng(1904)
    for _ in range(50):
        order, other = rng.permutation(5), rng.permutation(5)
        base = np.empty(5)
        base[order] = np.diff(function.chain(order))
        assert check_base(function, order, base, other, function.chain(other)) is None


# --- what a caller tells ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [minimum_norm_point])
def test_what_a_caller_tells_of_an_oracle_is_named_as_the_condition(method) -> None:
    function = Oracle(6, lambda chosen: len(chosen) * (5 - len(chosen)), known=proved("concave"))
    assert function.submodularity().verdict is Verdict.TOLD
    found = method(function)
    assert found.value == -6
    assert found.proof is Proof.TOLD
    assert not found.optimal
    assert found.lower_bound == -np.inf
    assert found.remark == "optimal if what you told holds: concave"


def test_no_false_claim_about_an_oracle_is_called_optimal() -> None:
    """Random tables under `known=proved`: whatever is said, nothing wrong is called optimal outright."""
    rng = np.random.default_rng(1905)
    caught = 0
    for _ in range(40):
        table = {chosen: Fraction(int(rng.integers(-9, 10))) for chosen in subsets(5)}
        if exact_exchange(table, 5):
            continue
        for method in (minimum_norm_point,):
            found = method(Oracle(5, table.__getitem__, known=proved("so I believe")))
            assert not found.optimal
            caught += found.status.verdict is Verdict.REFUTED
            if found.status.violation is not None:
                assert holds_at(Oracle(5, table.__getitem__), found.status.violation)
    assert caught == 40  # every one of them


def test_the_bases_of_an_answer_are_checked_against_each_other_before_what_was_told_is_repeated() -> None:
    """A cut with one set lowered: a single base closes the gap, and its own orders show the violation."""

    def evaluate(chosen: frozenset[int]) -> int:
        return -5 if len(chosen) == 2 else -len(chosen)

    found = minimum_norm_point(Oracle(4, evaluate, known=proved("so I believe")), iterations=3)
    assert found.proof is Proof.NONE
    assert found.status.verdict is Verdict.REFUTED
    assert "refuted" in found.remark
