"""The calculus: every node has the values and the proof that it says, against code that shares nothing.

The oracle of each draw is a function of a Python set that is written down anew here; it is compared on all
subsets, its triples are tried one by one, and its minimum is found by trying everything.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import depl
from depl import submodular
from depl.heuristics.set_functions.answers import Proof
from depl.heuristics.set_functions.combinations import WeightedSum
from depl.heuristics.set_functions.expressions import Expression, Monotone
from depl.heuristics.set_functions.functions import all_bounded_values
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.status import exhaustive
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

Value = Callable[[frozenset[int]], float]
Draw = tuple[Expression, Value]


def subsets(size: int) -> list[frozenset[int]]:
    return [frozenset(i for i in range(size) if index >> i & 1) for index in range(1 << size)]


# --- draws: an expression, and the same function written down anew --------------------------------------


def modular(rng: np.random.Generator, n: int) -> Draw:
    weights = rng.normal(size=n)
    return submodular.modular(weights), lambda chosen: math.fsum(weights[i] for i in chosen)


def directed_cut(rng: np.random.Generator, n: int) -> Draw:
    arcs = list(itertools.permutations(range(n), 2))
    capacities = dict(zip(arcs, rng.uniform(0, 1, len(arcs)).tolist(), strict=True))
    return (
        submodular.cut(n, arcs, list(capacities.values())),
        lambda chosen: math.fsum(c for (i, j), c in capacities.items() if i in chosen and j not in chosen),
    )


def undirected_cut(rng: np.random.Generator, n: int) -> Draw:
    edges = list(itertools.combinations(range(n), 2))
    capacities = dict(zip(edges, rng.integers(0, 9, len(edges)).tolist(), strict=True))
    return (
        submodular.cut(n, edges, list(capacities.values()), directed=False),
        lambda chosen: sum(c for (i, j), c in capacities.items() if (i in chosen) != (j in chosen)),
    )


def coverage(rng: np.random.Generator, n: int) -> Draw:
    groups = [set(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist()) for _ in range(2 * n)]
    weights = rng.uniform(0, 3, 2 * n).tolist()
    return (
        submodular.coverage(n, [sorted(group) for group in groups], weights),
        lambda chosen: math.fsum(w for group, w in zip(groups, weights, strict=True) if group & chosen),
    )


def facility_location(rng: np.random.Generator, n: int) -> Draw:
    table = rng.integers(0, 9, (n, 5))
    return submodular.facility_location(table), lambda chosen: sum(
        max((int(table[i, c]) for i in chosen), default=0) for c in range(5)
    )


def concave(rng: np.random.Generator, n: int) -> Draw:
    weights, total = rng.uniform(0, 2, n), float(rng.uniform(1, 3))
    shape, plain = [
        (submodular.square_root(total), lambda w: total * math.sqrt(w)),
        (submodular.logarithm(total), lambda w: total * math.log(1 + w)),
        (submodular.parabola(total), lambda w: w * (total - w)),
        (submodular.capped(total), lambda w: min(w, total)),
    ][int(rng.integers(4))]
    return submodular.concave(weights, shape), lambda chosen: plain(math.fsum(weights[i] for i in chosen))


def concave_of_several(rng: np.random.Generator, n: int) -> Draw:
    table = rng.uniform(0, 2, (3, n))
    return (
        submodular.concave(table, submodular.square_root()),
        lambda chosen: math.fsum(math.sqrt(math.fsum(row[i] for i in chosen)) for row in table),
    )


def uniform_rank(rng: np.random.Generator, n: int) -> Draw:
    rank = int(rng.integers(0, n + 1))
    return submodular.uniform_rank(n, rank), lambda chosen: min(len(chosen), rank)


def partition_rank(rng: np.random.Generator, n: int) -> Draw:
    blocks, most = rng.integers(0, 3, n).tolist(), rng.integers(0, 4, 3).tolist()
    return (
        submodular.partition_rank(blocks, most),
        lambda chosen: sum(min(count, most[b]) for b, count in Counter(blocks[i] for i in chosen).items()),
    )


def graphic_rank(rng: np.random.Generator, n: int) -> Draw:
    edges = [tuple(rng.integers(0, 5, 2).tolist()) for _ in range(n)]  # loops and parallel edges among them

    def rank(chosen: frozenset[int]) -> int:
        """The most edges of an independent set, by trying all of them: a forest has no closed walk."""
        sizes = range(len(chosen), -1, -1)
        tried = itertools.chain.from_iterable(itertools.combinations(sorted(chosen), k) for k in sizes)
        return next(len(part) for part in tried if is_forest([edges[i] for i in part]))

    return submodular.graphic_rank(edges), rank


def is_forest(edges: list[tuple[int, int]]) -> bool:
    """Leaves are plucked until nothing is left."""
    while edges:
        degrees = Counter(vertex for edge in edges for vertex in edge)
        kept = [edge for edge in edges if edge[0] == edge[1] or min(degrees[v] for v in edge) > 1]
        if len(kept) == len(edges):
            return False
        edges = kept
    return True


def entropy(rng: np.random.Generator, n: int) -> Draw:
    law = rng.uniform(0, 1, (2,) * n) * (rng.random((2,) * n) < 0.7)
    law.flat[0] = 1.0
    total = law.sum()

    def value(chosen: frozenset[int]) -> float:
        marginal: dict[tuple[int, ...], float] = {}
        for outcome in itertools.product(range(2), repeat=n):
            seen = tuple(outcome[i] for i in sorted(chosen))
            marginal[seen] = marginal.get(seen, 0.0) + law[outcome] / total
        return -math.fsum(p * math.log(p) for p in marginal.values() if p > 0)

    return submodular.entropy(law), value


def log_det(rng: np.random.Generator, n: int) -> Draw:
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + rng.choice([0.01, 1.5]) * np.eye(n)
    matrix = (matrix + matrix.T) / 2

    def value(chosen: frozenset[int]) -> float:
        rows = sorted(chosen)
        return float(np.log(np.linalg.eigvalsh(matrix[np.ix_(rows, rows)])).sum()) if rows else 0.0

    return submodular.log_det(matrix), value


def added(rng: np.random.Generator, n: int) -> Draw:
    names = [LEAVES[int(place)] for place in rng.choice(len(LEAVES), 3, replace=False)]
    parts = [draw(rng, n) for draw in names]
    factors = [0.5, 2, Fraction(1, 3)]
    return (
        submodular.total([part for part, _ in parts], factors),
        lambda chosen: math.fsum(float(c) * f(chosen) for c, (_, f) in zip(factors, parts, strict=True)),
    )


def with_prices(rng: np.random.Generator, n: int) -> Draw:
    part, value = LEAVES[int(rng.integers(len(LEAVES)))](rng, n)
    prices = rng.uniform(-0.5, 1.5, n)
    return (
        part - submodular.modular(prices),
        lambda chosen: value(chosen) - math.fsum(prices[i] for i in chosen),
    )


def restricted(rng: np.random.Generator, n: int) -> Draw:
    part, value = with_prices(rng, n + 2)
    kept = sorted(rng.choice(n + 2, n, replace=False).tolist())
    return submodular.restricted(part, kept), lambda chosen: value(frozenset(kept[i] for i in chosen))


def contracted(rng: np.random.Generator, n: int) -> Draw:
    part, value = with_prices(rng, n + 2)
    inside = frozenset(rng.choice(n + 2, 2, replace=False).tolist())
    free = [i for i in range(n + 2) if i not in inside]
    return (
        submodular.contracted(part, inside),
        lambda chosen: value(inside | frozenset(free[i] for i in chosen)),
    )


def complement(rng: np.random.Generator, n: int) -> Draw:
    part, value = with_prices(rng, n)
    return submodular.complement(part), lambda chosen: value(frozenset(range(n)) - chosen)


def truncated(rng: np.random.Generator, n: int) -> Draw:
    part, value = RISING[int(rng.integers(len(RISING)))](rng, n)
    limit = 0.6 * value(frozenset(range(n)))
    if rng.random() < 0.5:
        return submodular.truncated(part, limit), lambda chosen: min(value(chosen), limit)
    falling = submodular.truncated(submodular.complement(part), limit)
    return falling, lambda chosen: min(value(frozenset(range(n)) - chosen), limit)


RISING = [
    coverage,
    facility_location,
    concave_of_several,
    uniform_rank,
    partition_rank,
    graphic_rank,
    entropy,
]
LEAVES = [*RISING, modular, directed_cut, undirected_cut, concave, log_det]
NODES = [*LEAVES, added, with_prices, restricted, contracted, complement, truncated]


def drawn(draw: Callable[[np.random.Generator, int], Draw], count: int = 6) -> list[Draw]:
    rng = np.random.default_rng(NODES.index(draw) + 2601)
    return [draw(rng, int(rng.integers(2, 7))) for _ in range(count)]


@pytest.mark.parametrize("draw", NODES)
def test_a_node_has_the_values_of_the_function_written_down_anew(draw) -> None:
    rng = np.random.default_rng(5)
    for function, value in drawn(draw):
        n = function.size
        found, errors = all_bounded_values(function)
        wanted = np.array([value(chosen) for chosen in subsets(n)])
        assert found == pytest.approx(wanted, abs=1e-8)
        order = rng.permutation(n)[: int(rng.integers(0, n + 1))]
        exact, ends = function.exact_chain(order), function.exact_ends(order)
        chain = function.chain(order)
        for count in range(len(order) + 1):
            truth = Fraction(int(exact.numerators[count]), exact.denominator)
            index = sum(1 << int(i) for i in order[:count])
            assert abs(Fraction(float(found[index])) - truth) <= Fraction(float(errors[index])) + exact.error
            assert abs(Fraction(float(chain[count])) - truth) <= Fraction(function.rounding) + exact.error
            if function.granularity:
                assert (truth / function.granularity).denominator == 1
        assert abs(ends.last - exact.last) <= ends.error + exact.error


@pytest.mark.parametrize("draw", NODES)
def test_what_is_proved_by_composition_holds_of_all_triples(draw) -> None:
    for function, value in drawn(draw):
        assert function.submodularity().verdict is Verdict.PROVED
        n, at = function.size, {chosen: value(chosen) for chosen in subsets(function.size)}
        for base in at:
            for i, j in itertools.combinations(sorted(set(range(n)) - base), 2):
                assert at[base | {i}] + at[base | {j}] >= at[base | {i, j}] + at[base] - 1e-9
        assert exhaustive(function).verdict in (Verdict.PROVED, Verdict.UNKNOWN)  # roots leave equality open


@pytest.mark.parametrize("draw", NODES)
def test_what_is_said_to_be_monotone_is(draw) -> None:
    for function, value in drawn(draw):
        signs = {Monotone.RISES: (1,), Monotone.FALLS: (-1,), Monotone.BOTH: (1, -1), Monotone.UNKNOWN: ()}
        for sign in signs[function.monotone]:
            for chosen in subsets(function.size):
                for i in set(range(function.size)) - chosen:
                    assert sign * (value(chosen | {i}) - value(chosen)) >= -1e-9


@pytest.mark.parametrize("draw", NODES)
def test_the_minimum_is_that_of_all_subsets_and_is_called_optimal(draw) -> None:
    rng = np.random.default_rng(7)
    for part, value in drawn(draw):
        prices = rng.uniform(0, 1, part.size)
        function = part - submodular.modular(prices)
        found = submodular.minimise(function)
        least = min(value(chosen) - math.fsum(prices[i] for i in chosen) for chosen in subsets(part.size))
        assert found.value == pytest.approx(least, abs=1e-8)
        assert found.lower_bound <= found.value + 1e-12
        assert found.words == "optimal", found.remark
        assert found.proof is Proof.CERTIFICATE


@pytest.mark.slow
@pytest.mark.parametrize("draw", NODES)
def test_ten_elements_of_every_node(draw) -> None:
    rng = np.random.default_rng(10)
    function, value = draw(rng, 10)
    wanted = np.array([value(chosen) for chosen in subsets(10)])
    assert all_bounded_values(function)[0] == pytest.approx(wanted, abs=1e-8)
    index = np.arange(1 << 10)
    for i, j in itertools.combinations(range(10), 2):
        base = index[(index & (1 << i | 1 << j)) == 0]
        slack = wanted[base | 1 << i] + wanted[base | 1 << j] - wanted[base | 1 << i | 1 << j] - wanted[base]
        assert slack.min() >= -1e-9
    assert submodular.minimise(function).value == pytest.approx(wanted.min(), abs=1e-8)


# --- reasons, and what is not proved ---------------------------------------------------------------------


def test_reasons_name_the_steps_from_the_last_to_the_first() -> None:
    rank = submodular.graphic_rank([(0, 1), (1, 2), (0, 2)])
    function = submodular.truncated(rank, 1) - submodular.modular([1, 0, 0])
    assert function.reasons == (
        "a sum with nonnegative coefficients",
        "a monotone function cut off at 1",
        "the rank of the forests of a graph",
        "a modular function",
    )
    assert function.submodularity().reason == "; ".join(function.reasons)
    assert "proved submodular, not known to be monotone" in repr(function)
    assert function.value([1, 2]) == 1


def test_sums_of_graph_functions_stay_one_network_and_others_do_not() -> None:
    whole = submodular.cut(3, [(0, 1)], 2) + 0.5 * submodular.coverage(3, [[0, 2], [1]], [4, 6])
    assert isinstance(whole.function, GraphFunction)
    assert whole.value([0]) == 4
    assert submodular.minimise(whole - submodular.modular([9, 0, 0])).words == "optimal"
    third = Fraction(1, 3) * submodular.cut(3, [(0, 1)], 2)
    assert isinstance(third.function, WeightedSum)
    assert third.exact_value([0]) == Fraction(2, 3)
    assert (0 * whole).monotone is Monotone.BOTH


def test_sums_of_sums_are_one_sum_with_one_network_in_it() -> None:
    rank = submodular.uniform_rank(3, 2)
    parts = [
        submodular.cut(3, [(0, 1)], 2),
        rank,
        submodular.modular([1, 2, 3]),
        submodular.cut(3, [(1, 2)], 5),
    ]
    function = 2 * (parts[0] + parts[1]) + 0.5 * (parts[2] + parts[3] + rank)
    assert isinstance(function.function, WeightedSum)
    assert [type(term).__name__ for term in function.function.terms] == [
        "GraphFunction",
        "MatroidRank",
        "MatroidRank",
    ]
    assert function.value([0, 1]) == 2 * (0 + 2) + 0.5 * (3 + 5 + 2)
    assert (1 * rank).function is rank.function


def test_a_claim_makes_everything_that_is_built_of_it_conditional() -> None:
    own = submodular.claimed(4, lambda chosen: len(chosen) * (3 - len(chosen)), "concave in the size")
    function = submodular.complement(own + submodular.uniform_rank(4, 2))
    assert function.submodularity().verdict is Verdict.TOLD
    found = submodular.minimise(function)
    assert not found.optimal
    assert found.lower_bound == -math.inf
    assert found.words == (
        "optimal if what you told holds: the complement, where unions and intersections change places; a sum "
        "with nonnegative coefficients; claimed: concave in the size; the rank of a "
        "uniform matroid"
    )
    assert submodular.minimise(function, method="brute-force").words == "optimal"


def test_a_false_claim_is_found_out_or_stays_a_condition() -> None:
    wrong = submodular.claimed(5, lambda chosen: len(chosen) ** 2 - 3 * len(chosen), "so I believe")
    found = submodular.minimise(wrong + submodular.modular([1.0] * 5))
    assert found.status.verdict is Verdict.REFUTED or found.proof is Proof.ENUMERATION


def test_a_table_whose_triples_were_tried_is_optimal_and_asked_no_more() -> None:
    asked = []

    def evaluate(chosen: frozenset[int]) -> Fraction:
        asked.append(chosen)
        return Fraction(len(chosen) * (5 - len(chosen)), 7) - len(chosen & {1, 2})

    kept = submodular.tried(submodular.claimed(5, evaluate, "concave, less a modular function"))
    asked.clear()
    found = submodular.minimise(kept + submodular.modular([-0.25] * 5))
    assert found.words == "optimal"
    assert found.subset == frozenset(range(5))
    assert not asked
    with pytest.raises(InvalidInputError, match=r"refuted: A = \[\], i = 0, j = 1 exceed by 2"):
        submodular.tried(submodular.claimed(3, lambda chosen: len(chosen) ** 2, "no"))
    with pytest.raises(NotCoveredError, match="at most 18 elements, not 19"):
        submodular.tried(submodular.uniform_rank(19, 3))


def test_a_function_of_which_nothing_is_known_is_tried_on_all_subsets_or_left_without_a_claim() -> None:
    found = depl.submodular.minimise(lambda chosen: abs(len(chosen) - 2), size=4)
    assert (found.value, found.words) == (0, "optimal")
    large = depl.submodular.minimise(lambda chosen: abs(len(chosen) - 2), size=25)
    assert not large.optimal
    assert "submodularity is" in large.words


def test_an_ill_conditioned_matrix_has_values_in_integers() -> None:
    """The Hilbert matrix of ten rows has the condition number 1e13; its determinant is 2.16e-53."""
    hilbert = np.array([[1 / (i + j + 1) for j in range(10)] for i in range(10)])
    function = submodular.log_det(hilbert)
    assert function.rounding < 1e-9
    exact = [[Fraction(value) for value in row] for row in hilbert.tolist()]
    determinant = Fraction(1)
    for k in range(10):
        determinant *= exact[k][k]
        for row in exact[k + 1 :]:
            factor = row[k] / exact[k][k]
            row[:] = [value - factor * above for value, above in zip(row, exact[k], strict=True)]
    assert function.value(range(10)) == pytest.approx(math.log(determinant), rel=1e-14)


def test_log_det_rises_only_if_all_eigenvalues_exceed_one() -> None:
    assert submodular.log_det([[3.0, 1.0], [1.0, 3.0]]).monotone is Monotone.RISES
    assert submodular.log_det([[2.0, 1.5], [1.5, 2.0]]).monotone is Monotone.UNKNOWN


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: submodular.cut(2, [(0, 1)], -1), "capacities: must not be negative"),
        (lambda: submodular.coverage(2, [[0]], -1), "weights"),
        (lambda: submodular.concave([1.0], math.sqrt), "say what only you know by claimed"),
        (lambda: submodular.concave([-1.0], submodular.square_root()), "weights"),
        (lambda: submodular.partition_rank([0, 2], [1, 1]), "blocks"),
        (lambda: submodular.partition_rank([0], [-1]), "most"),
        (lambda: submodular.graphic_rank([]), "edges"),
        (lambda: submodular.entropy([[0.5, -0.5]]), "law: must be nonnegative"),
        (lambda: submodular.entropy([0.0, 0.0]), "not all 0"),
        (lambda: submodular.entropy(0.5), "an axis for each variable"),
        (lambda: submodular.log_det([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: submodular.log_det([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (lambda: submodular.log_det([1.0]), "square"),
        (lambda: -1 * submodular.uniform_rank(2, 1), "supermodular"),
        (lambda: math.nan * submodular.uniform_rank(2, 1), "finite"),
        (lambda: submodular.total([]), "at least one term"),
        (lambda: submodular.total([submodular.uniform_rank(2, 1)], [1, 2]), "2 coefficients for 1 terms"),
        (lambda: submodular.uniform_rank(2, 1) + submodular.uniform_rank(3, 1), "the same elements"),
        (lambda: submodular.uniform_rank(2, 1) - submodular.uniform_rank(2, 1), "only a modular function"),
        (lambda: submodular.truncated(submodular.cut(2, [(0, 1)], 1), 0.5), "not known to be monotone"),
        (lambda: submodular.truncated(submodular.uniform_rank(2, 1), math.inf), "limit: must be finite"),
        (lambda: submodular.restricted(submodular.uniform_rank(2, 1), [2]), "elements of 0 ... 1"),
        (lambda: submodular.minimise(len), "how many elements"),
        (lambda: submodular.minimise(3), "must be a set function"),
        (lambda: submodular.minimise(submodular.uniform_rank(2, 1), method="simplex"), "known are"),
    ],
)
def test_what_proves_nothing_is_refused_in_words(make, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_laws_and_matrices_that_are_too_large_are_refused() -> None:
    with pytest.raises(NotCoveredError, match="131072 entries"):
        submodular.entropy(np.ones((2,) * 17))
    with pytest.raises(NotCoveredError, match="101 rows"):
        submodular.log_det(np.eye(101))


def test_adding_what_is_no_expression_is_a_type_error() -> None:
    for act in (lambda f: f + 1, lambda f: f - 1, lambda f: f * "2"):
        with pytest.raises(TypeError):
            act(submodular.uniform_rank(2, 1))
