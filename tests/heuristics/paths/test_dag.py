"""Cheapest paths on any graph without cycles, against the enumeration of all paths in fractions."""

import itertools
import math
import time
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import depl
from depl import paths
from depl.heuristics.paths import dag_labels
from depl.heuristics.paths.dag import dag, exact_arcs
from depl.heuristics.paths.dag_bounds import good_prices, least_completions
from depl.heuristics.paths.dag_labels import DagSearch, cheapest_path, pareto
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.solving.result import Termination

Arcs = list[tuple[object, object, float, tuple[float, ...]]]


def random_arcs(rng: np.random.Generator, count: int, width: int, kind: str) -> Arcs:
    """Arcs between shuffled names, forward in a hidden order; parallel ones among them."""
    names = [f"v{place}" for place in rng.permutation(count)]
    ends = [(i, j) for i, j in itertools.combinations(range(count), 2) if j == i + 1 or rng.random() < 0.6]
    ends += [ends[int(place)] for place in rng.integers(0, len(ends), 3)]
    rng.shuffle(ends)
    draw = {
        "whole": lambda: int(rng.integers(0, 9)),
        "negative": lambda: int(rng.integers(-5, 6)),
        "decimal": lambda: round(float(rng.uniform(0, 2)), 1),
        "real": lambda: float(rng.normal()),
        "huge": lambda: int(rng.integers(0, 9)) * 10**25 + int(rng.integers(0, 3)),
    }[kind]
    return [(names[i], names[j], draw(), tuple(draw() for _ in range(width))) for i, j in ends]


def hidden_ends(arcs: Arcs) -> tuple[object, object]:
    """The vertex that no arc enters, and the one that none leaves."""
    tails, heads = {arc[0] for arc in arcs}, {arc[1] for arc in arcs}
    return (tails - heads).pop(), (heads - tails).pop()


def written(value: float) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def all_paths(arcs: Arcs, source: object, target: object) -> list[tuple[Fraction, ...]]:
    """Cost and resources of every path, by going on from each in every way."""
    found, waiting = [], [(source, (Fraction(0),) * (1 + len(arcs[0][3])))]
    while waiting:
        vertex, sums = waiting.pop()
        if vertex == target:
            found.append(sums)
        for tail, head, cost, used in arcs:
            if tail == vertex:
                step = [written(cost), *map(written, used)]
                waiting.append((head, tuple(a + b for a, b in zip(sums, step, strict=True))))
    return found


def draws(count: int):
    rng = np.random.default_rng(2602)
    kinds = ["whole", "negative", "decimal", "real", "huge"]
    for place in range(count):
        kind, width = kinds[place % len(kinds)], place // len(kinds) % 4
        arcs = random_arcs(rng, int(rng.integers(4, 9)), width, kind)
        source, target = hidden_ends(arcs) if rng.random() < 0.8 else (arcs[0][0], arcs[-1][1])
        known = all_paths(arcs, source, target)
        values = known or [(Fraction(0),) * (1 + width)]
        limits = [
            float(rng.choice([float(row[1 + column]) for row in values])) + float(rng.integers(-1, 2)) / 8
            for column in range(width)
        ]
        if width > 1 and rng.random() < 0.3:
            limits[0] = math.inf
        yield arcs, source, target, limits, known


def within(rows: list[tuple[Fraction, ...]], limits: list[float]) -> list[tuple[Fraction, ...]]:
    return [
        row
        for row in rows
        if all(
            limit == math.inf or used <= written(limit) for used, limit in zip(row[1:], limits, strict=True)
        )
    ]


@pytest.mark.parametrize("count", [120, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_cheapest_path_and_the_front_are_those_of_all_paths(count: int) -> None:
    infeasible = several = 0
    for arcs, source, target, limits, known in draws(count):
        allowed = within(known, limits)
        found = paths.cheapest(arcs, source, target, limits)
        points = paths.front(arcs, source, target, limits)
        if not allowed:
            infeasible += 1
            assert found.termination is Termination.INFEASIBLE
            assert (found.path, found.cost, found.lower_bound) == (None, math.inf, math.inf)
            assert points == ()
            continue
        assert found.optimal
        assert found.path.exact[0] == min(row[0] for row in allowed)
        assert found.path.exact in allowed
        assert found.lower_bound == found.cost == float(found.path.exact[0])
        wanted = {
            row
            for row in allowed
            if not any(
                other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in allowed
            )
        }
        assert {point.exact for point in points} == wanted
        assert len(points) == len(wanted)
        several += len(wanted) > 1
    assert infeasible > count / 20
    assert several > count / 5


def test_a_path_is_made_of_the_arcs_that_were_given() -> None:
    arcs = [("s", "m", 5, 1), ("s", "m", 2, 9), ("m", "t", 1, 1), ("s", "m", 3, 2), ("x", "s", 0, 0)]
    found = paths.cheapest(arcs, "s", "t", 3)
    assert found.path.arcs == (3, 2)
    assert found.path.vertices == ("s", "m", "t")
    assert (found.cost, found.resources) == (4.0, (3.0,))
    assert found.proof.startswith("optimal: every label")


def test_decimals_keep_a_limit_that_their_binary_sums_break() -> None:
    arcs = [(place, place + 1, 1.1, 0.1) for place in range(10)]
    assert math.fsum([0.1] * 10) == 1.0 < sum(Fraction(0.1) for _ in range(10))
    found = paths.cheapest(arcs, 0, 10, 1)
    assert found.optimal
    assert found.path.exact == (11, 1)
    tight = paths.cheapest(arcs, 0, 10, 0.9999999999999999)
    assert tight.termination is Termination.INFEASIBLE
    assert tight.proof == "infeasible: no path keeps the limits"


def test_a_graph_of_networkx_is_read_by_its_attributes() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("Source", 1, weight=2, res_cost=np.array([1.0, 2.5]))
    graph.add_edge("Source", 1, weight=1, res_cost=np.array([9.0, 0.5]))
    graph.add_edge(1, "Sink", weight=-4, res_cost=np.array([1.0, 0.5]))
    found = paths.cheapest(graph, "Source", "Sink", [3, 3], cost="weight", resources="res_cost")
    assert (found.cost, found.resources, found.path.arcs) == (-2.0, (2.0, 3.0), (0, 2))
    with pytest.raises(InvalidInputError, match="has no attribute 'cost'"):
        paths.cheapest(graph, "Source", "Sink", [3, 3])
    with pytest.raises(InvalidInputError, match="a directed graph"):
        paths.cheapest(nx.Graph(), 0, 1, 1)


def test_a_cycle_is_refused_by_its_name() -> None:
    arcs = [("s", "a", 1, 1), ("a", "b", 1, 1), ("b", "c", 1, 1), ("c", "a", 1, 1), ("b", "t", 1, 1)]
    with pytest.raises(
        InvalidInputError, match=r"close the cycle (a -> b -> c|b -> c -> a|c -> a -> b) -> ."
    ):
        paths.cheapest(arcs, "s", "t", 9)
    with pytest.raises(InvalidInputError, match="close the cycle s -> s"):
        paths.cheapest([("s", "s", 1, 1)], "s", "s", 9)


@pytest.mark.parametrize("seed", range(5))
def test_the_cycle_that_is_named_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = [tuple(rng.integers(0, 8, 2).tolist()) for _ in range(14)]
    assert not nx.is_directed_acyclic_graph(nx.DiGraph(ends))
    with pytest.raises(InvalidInputError) as refused:
        paths.cheapest([(*pair, 1, 1) for pair in ends], ends[0][0], ends[0][1], 1)
    cycle = [int(word) for word in str(refused.value).split("cycle ")[1].split(";")[0].split(" -> ")]
    assert cycle[0] == cycle[-1]
    assert all(pair in ends for pair in itertools.pairwise(cycle))


@pytest.mark.parametrize(
    ("arcs", "limits", "message"),
    [
        ([("s", "t", 1)], 1, r"arcs\[0\]: must be a tail, a head, a cost and resources"),
        ([("s", "t", 1, [1, 2])], 1, r"arcs\[0\]: 2 resources for 1 limits"),
        ([("s", "t", math.nan, 1)], 1, r"arcs\[0\]: must be finite"),
        ([("s", "t", 1, math.inf)], 1, r"arcs\[0\]: must be finite"),
        ([("s", "t", 1, 1)], math.nan, r"limits\[0\]: must be finite"),
        ([("s", "t", 1, 1)], -math.inf, r"limits\[0\]: must be finite"),
        ([("s", "u", 1, 1)], 1, "target: there is no arc at 't'"),
        ([("u", "t", 1, 1)], 1, "source: there is no arc at 's'"),
    ],
)
def test_what_is_no_such_graph_is_refused(arcs, limits, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        paths.cheapest(arcs, "s", "t", limits)


def test_ends_that_need_no_search() -> None:
    arcs = [("s", "t", 1, 1), ("t", "u", 1, 1)]
    assert depl.paths.cheapest(arcs, "u", "s", 9).proof == "infeasible: no path leads from u to s"
    assert paths.front(arcs, "u", "s", 9) == ()
    same = paths.cheapest(arcs, "t", "t", 0)
    assert (same.cost, same.resources, same.optimal) == (0.0, (0.0,), True)
    assert len(paths.front(arcs, "t", "t", 0)) == 1
    assert paths.cheapest(arcs, "t", "t", -1).termination is Termination.INFEASIBLE


def hard_arcs(rng: np.random.Generator, layers: int, width: int) -> Arcs:
    """A layered graph in which what is cheap uses much, in two resources."""
    arcs: Arcs = [("s", (0, j), 0, (0, 0)) for j in range(width)]
    for k in range(layers):
        for i, j in itertools.product(range(width), repeat=2):
            used = rng.integers(1, 100, 2)
            cost = 210 - int(used.sum()) + int(rng.integers(0, 20))
            arcs.append(((k, i), (k + 1, j), cost, tuple(used.tolist())))
    return [*arcs, *(((layers, j), "t", 0, (0, 0)) for j in range(width))]


def test_what_comes_to_its_end_early_is_an_interval_that_holds_the_optimum() -> None:
    arcs = hard_arcs(np.random.default_rng(1), 14, 5)
    limits = [14 * 45, 14 * 45]
    whole = paths.cheapest(arcs, "s", "t", limits)
    assert whole.optimal
    few = paths.cheapest(arcs, "s", "t", limits, most_labels=500)
    assert few.termination is Termination.EXHAUSTED
    assert few.lower_bound <= whole.cost <= few.cost
    assert few.proof.startswith("the labels came to an end")
    none = paths.cheapest(arcs, "s", "t", limits, time_limit=0.0)
    assert none.termination is Termination.TIME_LIMIT
    assert none.lower_bound <= whole.cost <= none.cost
    with pytest.raises(NotCoveredError, match="more than 500 labels"):
        paths.front(arcs, "s", "t", limits, most_labels=500)


def test_narrow_passes_do_not_change_what_is_proved(monkeypatch) -> None:
    arcs = hard_arcs(np.random.default_rng(2), 8, 4)
    limits = [8 * 42, 8 * 42]
    wide = paths.cheapest(arcs, "s", "t", limits)
    monkeypatch.setattr(dag_labels, "FIRST_WIDTH", 1)
    monkeypatch.setattr(dag_labels, "WIDER", 2)
    narrow = paths.cheapest(arcs, "s", "t", limits)
    assert narrow.optimal
    assert narrow.cost == wide.cost


def test_bounds_hold_of_all_paths() -> None:
    for arcs, source, target, limits, known in draws(60):
        exact = exact_arcs(arcs, limits)
        graph = dag(exact, source, target)
        if graph is None or graph.count < 2:
            continue
        least, _ = least_completions(graph, graph.numbers[:, 0])
        assert Fraction(int(least[0]), graph.units[0]) == min(row[0] for row in known)
        search = DagSearch(graph)
        allowed = within(known, limits)
        if allowed and search.reachable:
            for one in good_prices(graph, search.limited)[0]:
                bound = Fraction(float(one.completions[0]) - one.rest) / graph.units[0]
                assert bound <= min(row[0] for row in allowed)
            assert cheapest_path(graph).lower is not None


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_labels_kept_are_those_that_none_dominates(width: int) -> None:
    rng = np.random.default_rng(width)
    for kind in (np.int64, object):
        rows = rng.integers(0, 6, (60, width)).astype(kind)
        kept = [tuple(row) for row in rows[pareto(rows)].tolist()]
        every = {tuple(row) for row in rows.tolist()}
        wanted = {row for row in every if not any(o != row and all(map(int.__le__, o, row)) for o in every)}
        assert sorted(kept) == sorted(wanted)


def test_a_graph_of_a_hundred_thousand_arcs_takes_seconds() -> None:
    rng = np.random.default_rng(3)
    count = 2000
    tails = rng.integers(0, count - 1, 100_000)
    heads = np.minimum(tails + rng.integers(1, 60, len(tails)), count - 1)
    used = rng.integers(1, 50, len(tails))
    costs = 60 - used + rng.integers(0, 30, len(tails))
    arcs = list(zip(tails.tolist(), heads.tolist(), costs.tolist(), used.tolist(), strict=True))
    arcs += [(place, place + 1, 100, 1) for place in range(count - 1)]
    started = time.perf_counter()
    found = paths.cheapest(arcs, 0, count - 1, 600)
    assert found.optimal
    assert time.perf_counter() - started < 60
