"""Random knapsacks, and their solutions by trying everything."""

import itertools
from fractions import Fraction

from depl.instances.reductions.chance import ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack


def random_knapsack(rng, largest=12):
    """Up to ``largest`` items; some have no value or no weight, some do not fit, a third has fractions."""
    count = int(rng.integers(1, largest + 1))
    values, weights = rng.integers(0, 40, count), rng.integers(0, 30, count)
    capacity = int(rng.integers(1, weights.sum() + 2))
    unit = Fraction(1, int(rng.choice([1, 1, 7])))
    return Knapsack.of([int(v) * unit for v in values], [int(w) * unit for w in weights], capacity * unit)


def random_chance_knapsack(rng, largest=9):
    """Up to ``largest`` items, some of them with certain weights."""
    count = int(rng.integers(1, largest + 1))
    means = [int(mean) for mean in rng.integers(1, 30, count)]
    return ChanceKnapsack.of(
        [int(value) for value in rng.integers(1, 40, count)],
        means,
        [Fraction(int(variance), 7) for variance in rng.integers(0, 120, count)],
        int(rng.integers(1, sum(means) + 20)) + Fraction(1, 3),  # certain weights and z = 0 never tie with it
        float(rng.choice([0.5, 0.9, 0.99])),
    )


def subsets(count):
    """All sets of so many items, in increasing order of their size."""
    for size in range(count + 1):
        yield from itertools.combinations(range(count), size)


def best_of_all(knapsack):
    """Best value, by trying everything."""
    return max(knapsack.value_of(items) for items in subsets(len(knapsack)) if knapsack.holds(items))
