"""Errata E6 and E10 by brute force: corrected reductions from knapsack, counterexamples, what is true."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import Load, load
from depl.models.problem.instance import (
    Cluster,
    ComputeTable,
    Dataset,
    Instance,
    Model,
    Target,
)
from depl.models.problem.laws import Deterministic, Zero
from depl.models.problem.learning import ConstantImprovement, TabledImprovement

ETA = 200

# --- E6 -----------------------------------------------------------------------------------------------

Items = list[tuple[int, int]]
items = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5)


def subsets(count: int) -> list[tuple[bool, ...]]:
    return list(itertools.product([False, True], repeat=count))


def knapsack(chosen: Items, capacity: float) -> int:
    """Best value, by trying everything."""
    totals = [[sum(column) for column in zip((0, 0), *itertools.compress(chosen, taken), strict=True)]
              for taken in subsets(len(chosen))]  # fmt: skip
    return max(value for weight, value in totals if weight <= capacity)


def take_or_skip(
    gains: dict[str, list[float]], work: dict[str, list[float]], capacity: float, loss: float, **limits: float
) -> Instance:
    """One cluster, one dataset, free switches; epoch k of each model has its own gain and work."""

    def model(name: str) -> Model:
        noises = [Deterministic(value=float(gain)) for gain in gains[name]]
        improvement = TabledImprovement(epochs=tuple(ConstantImprovement(noise=noise) for noise in noises))
        compute = ComputeTable(epochs=tuple(float(each) for each in work[name]))
        return Model(name=name, size=0, improvement=improvement, compute=(compute,))

    asked = {"maximum_loss": 0, "quantile_level": 0.9, "maximum_epochs": len(gains["take"])}
    return Instance(
        name="knapsack",
        clusters=(Cluster(name="n", capacity=capacity, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="d", volume=1),),
        models=(model("take"), model("skip")),
        target=Target(initial_loss=loss, **asked, **limits),
        other_switches=Zero(),
    )


def cheapest(instance: Instance) -> float:
    """Least cost over all plans, infinite if none is feasible."""
    best = math.inf
    for length in range(instance.target.maximum_epochs + 1):
        for models in itertools.product(("take", "skip"), repeat=length):
            loss = instance.target.initial_loss
            for k, name in enumerate(models, start=1):
                coefficient, law = instance.model(name).improvement.at(k)
                assert isinstance(law, Deterministic)
                loss -= coefficient * law.value
            loads = [load(instance, k, name, "n", frozenset({"d"})) for k, name in enumerate(models, start=1)]
            if loss <= instance.target.maximum_loss + 1e-9:
                limits = instance.target.maximum_time, instance.target.round_deadline
                best = min(best, allocate(loads, *limits).cost)
    return best


def test_e6_numbers_of_the_page() -> None:
    assert knapsack([(2, 3), (5, 4)], 6) == 4
    assert 3 * 2 <= 6
    assert 3 * 3 == 9
    two = [Load(work=c, price=1.0, capacity=100.0, communication=0.0) for c in (1.0, 4.0)]
    assert allocate(two, 2.0, None).cost == pytest.approx(9 / 2)


@given(items, st.integers(1, 30), st.integers(1, 30))
def test_e6a_a_plan_is_feasible_iff_a_knapsack_reaches_the_value(
    chosen: Items, capacity: int, value: int
) -> None:
    zeros = [0.0] * len(chosen)
    instance = take_or_skip(
        {"take": [v for _, v in chosen], "skip": zeros},
        {"take": [w for w, _ in chosen], "skip": zeros},
        capacity=1.0,
        loss=value,
        maximum_time=capacity,
    )
    assert math.isfinite(cheapest(instance)) == (knapsack(chosen, capacity) >= value)


@given(items, st.integers(1, 30))
def test_e6b_the_least_cost_is_the_total_value_minus_the_knapsack(chosen: Items, capacity: int) -> None:
    last = [0.0] * (len(chosen) - 1) + [capacity + 1.0]
    instance = take_or_skip(
        {"take": [end - w for end, (w, _) in zip(last, chosen, strict=True)], "skip": last},
        {"take": [0.0] * len(chosen), "skip": [v for _, v in chosen]},
        capacity=float(max(v for _, v in chosen)),
        loss=1,
        round_deadline=1,
    )
    assert cheapest(instance) == pytest.approx(sum(v for _, v in chosen) - knapsack(chosen, capacity))


@given(items, st.integers(1, 20), st.floats(0.5, 20))
def test_e6c_with_x_free_the_least_cost_is_the_square_of_the_least_weight(
    chosen: Items, value: int, time: float
) -> None:
    zeros = [0.0] * len(chosen)
    instance = take_or_skip(
        {"take": [v for _, v in chosen], "skip": zeros},
        {"take": [w**2 for w, _ in chosen], "skip": zeros},
        capacity=max(w for w, _ in chosen) * sum(w for w, _ in chosen) / time,
        loss=value,
        maximum_time=time,
    )
    weights = [
        sum(w for (w, _), taken in zip(chosen, which, strict=True) if taken)
        for which in subsets(len(chosen))
        if sum(v for (_, v), taken in zip(chosen, which, strict=True) if taken) >= value
    ]
    wanted = min(weights) ** 2 / time if weights else math.inf
    assert cheapest(instance) == pytest.approx(wanted, rel=1e-9)


# --- E10 ---------------------------------------------------------------------------------------------


def test_e10_counterexample_a_has_time_but_no_levels() -> None:
    duration = Fraction(105, 100)  # in levels
    assert 101 * duration / ETA == pytest.approx(0.53, abs=5e-4)
    assert 101 * math.ceil(duration) == 202
    assert math.ceil(duration) * 101 > ETA


@pytest.mark.parametrize(("price", "ratio"), [(10, 9.09), (1000, 909)])
def test_e10_counterexample_b_has_a_ratio_that_grows_with_the_price(price: int, ratio: float) -> None:
    target = 10  # levels
    moves = [(Fraction(99, 100), 1), (Fraction(1), price)]
    # Exact: c epochs of the cheap and d of the expensive model. Graph: improvements rounded down to levels.
    plans = [(c, d) for c in range(30) for d in range(11) if c * moves[0][0] + d >= target]
    optimum = min(c + d * price for c, d in plans)
    graph = {0: 0}
    for level in range(target):
        for gain, cost in moves:
            reached = min(level + math.floor(gain), target)
            if reached > level:
                graph[reached] = min(graph.get(reached, 10**9), graph[level] + cost)
    assert optimum == 11
    assert graph[target] == 10 * price
    assert graph[target] / optimum == pytest.approx(ratio, rel=1e-3)


Kind = tuple[int, int, int]
"""Duration and gain (which may be negative) in quarters of a level, and cost, of one epoch of a model."""

kinds = st.lists(
    st.tuples(st.integers(0, 9), st.integers(-4, 12), st.integers(1, 20)), min_size=1, max_size=3
)


def exact_optimum(models: list[Kind], epochs: int, time: Fraction, drop: Fraction) -> float:
    best = math.inf
    for length in range(1, epochs + 1):
        for chosen in itertools.combinations_with_replacement(models, length):
            duration, gain, cost = (sum(column) for column in zip(*chosen, strict=True))
            if Fraction(duration, 4) <= time and Fraction(gain, 4) >= drop:
                best = min(best, cost)
    return best


def graph_optimum(models: list[Kind], epochs: int, time: Fraction, drop: Fraction) -> float:
    """Cheapest path when every time is rounded up and every gain down to whole levels."""
    rounded = [(-(-duration // 4) * 4, gain // 4 * 4, cost) for duration, gain, cost in models]
    return exact_optimum(rounded, epochs, time, drop)


@given(kinds, st.integers(1, 5), st.integers(1, 12), st.fractions(0, 10, max_denominator=8))
def test_e10_the_graph_solves_the_problem_for_budgets_smaller_by_one_level_per_epoch(
    models: list[Kind], epochs: int, time: int, drop: Fraction
) -> None:
    graph = graph_optimum(models, epochs, Fraction(time), drop)
    assert exact_optimum(models, epochs, Fraction(time), drop) <= graph
    assert graph <= exact_optimum(models, epochs, Fraction(time - epochs), drop + epochs)
