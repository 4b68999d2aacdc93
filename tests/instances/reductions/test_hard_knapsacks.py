"""Hard families of knapsacks: their recipe, and their optima found by planning."""

from fractions import Fraction

import numpy as np
import pytest

from depl.instances.hard_knapsacks import FAMILIES, hard_knapsack
from depl.instances.reductions.knapsack import Knapsack, best_by_branching, best_by_capacity, best_by_value
from depl.instances.reductions.to_planning import solve_knapsack, solver
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from tests.cases.knapsack_cases import best_of_all, random_knapsack


def columns(family, largest=1000):
    sack = hard_knapsack(family, 400, np.random.default_rng(5), largest)
    return np.array([int(v) for v in sack.values]), np.array([int(w) for w in sack.weights])


def test_the_families_relate_values_and_weights_as_published():
    values, weights = columns("strongly-correlated")
    assert set(values - weights) == {100}
    assert 1 <= weights.min() <= 20
    assert 980 <= weights.max() <= 1000
    values, weights = columns("inverse-strongly-correlated")
    assert set(weights - values) == {100}
    values, weights = columns("almost-strongly-correlated")
    assert set(values - weights) == set(range(98, 103))
    values, weights = columns("weakly-correlated")
    assert np.all(np.abs(values - weights) <= 100)
    values, weights = columns("subset-sum")
    assert np.array_equal(values, weights)
    values, weights = columns("similar-weights")
    assert weights.min() >= 100_000
    assert weights.max() <= 100_100
    values, weights = columns("multiple-strongly-correlated")
    assert np.array_equal(values - weights, np.where(weights % 6 == 0, 300, 200))
    values, weights = columns("profit-ceiling")
    assert np.all((values % 3 == 0) & (values >= weights) & (values < weights + 3))
    values, weights = columns("circle")
    exact = 2 / 3 * np.sqrt(4 * 1000**2 - (weights - 2000.0) ** 2)
    assert np.all((values <= exact + 1e-9) & (values > exact - 1 - 1e-9))
    values, weights = columns("strongly-correlated-spanner")  # items are multiples of two
    assert weights.max() <= 2000
    assert len({Fraction(int(v), int(w)) for v, w in zip(values, weights, strict=True)}) <= 2
    assert len(set(weights)) <= 20


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "weakly-correlated-spanner" else [])
        for name in sorted(FAMILIES)
    ],
)
def test_hard_knapsacks_have_the_optimum_of_the_dynamic_program(family):
    largest = 100 if family != "similar-weights" else 1000
    sack = hard_knapsack(family, 12, np.random.default_rng([7, 12]), largest)
    found = solve_knapsack(sack, "by-cost", solver("scenario-search", 60))
    reference = best_by_value(sack)
    assert found.proved
    assert found.value == reference.value
    assert found.items is not None
    assert sack.holds(found.items)


@pytest.mark.parametrize("seed", range(8))
def test_programs_and_branching_agree_with_all_sets(seed):
    sack = random_knapsack(np.random.default_rng([4, seed]), 9)
    best = best_of_all(sack)
    for found in (best_by_capacity(sack), best_by_value(sack), best_by_branching(sack)):
        assert found.value == best == sack.value_of(found.items)
        assert sack.holds(found.items)


LARGE = Knapsack.of([10**9, 10**9 - 1], [10**9, 10**9 - 1], 10**9)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda rng: best_by_capacity(LARGE), NotCoveredError, "entries, more than"),
        (lambda rng: best_by_value(LARGE), NotCoveredError, "entries, more than"),
        (
            lambda rng: best_by_branching(hard_knapsack("strongly-correlated", 50, rng), most_nodes=10),
            NotCoveredError,
            "within 10 nodes",
        ),
        (lambda rng: hard_knapsack("circle", 5, rng, part=2), InvalidInputError, "R >= 10"),
        (lambda rng: hard_knapsack("circle", 5, rng, largest=5), InvalidInputError, "R >= 10"),
        (lambda rng: hard_knapsack("other", 5, rng), InvalidInputError, "known are uncorrelated"),
    ],
)
def test_what_is_too_large_or_too_hard_or_without_a_recipe_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(np.random.default_rng(0))
    assert best_by_branching(LARGE).value == 10**9
