"""Chance-constrained knapsacks with normal weights, solved through their reduction to planning (Property 1).

Random items in the manner of Pisinger's weakly correlated family: values near the mean weights, standard
deviations of 5 to 30 % of them, half of all mean weight as the capacity. Files of one's own are read by
`depl.instances.chance_knapsack_files`.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial

import numpy as np

from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.instances.reductions.chance_knapsack import reduce, value_of_cost
from depl.instances.reductions.knapsack import ChanceKnapsack
from depl.models.problem.instance import Instance
from depl.models.solving.result import Result

ITEMS = (10, 20, 40)
LEVELS = (0.9, 0.99)
_DRAWS = 2
_SEED = 240214346


def drawn_knapsack(items: int, level: float, number: int) -> ChanceKnapsack:
    """The knapsack of that number."""
    rng = np.random.default_rng([_SEED, items, round(1000 * level), number])
    means = [int(mean) for mean in rng.integers(10, 101, items)]
    values = [max(1, mean + int(rng.integers(-10, 11))) for mean in means]
    shares = rng.integers(5, 31, items)  # hundredths
    variances = [
        Fraction(round((mean * int(share) / 100) ** 2 * 10), 10)
        for mean, share in zip(means, shares, strict=True)
    ]
    return ChanceKnapsack.of(values, means, variances, sum(means) // 2, level)


def knapsack_value(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """``value``: what the items are worth that the plan takes."""
    if result.cost is None:
        return {"value": None}
    labels = draw.labels
    items, number = int(labels["items"]), int(labels["number"])
    knapsack = drawn_knapsack(items, float(labels["omega"]), number)
    return {"value": float(value_of_cost(knapsack, result.cost))}


def _instance(items: int, level: float, number: int) -> Instance:
    return reduce(drawn_knapsack(items, level, number))


def _draws() -> Iterator[Draw]:
    for items in ITEMS:
        for level in LEVELS:
            for number in range(_DRAWS):
                labels = {"items": items, "omega": level, "number": number}
                build = partial(_instance, items, level, number)
                yield Draw(f"items-{items:03d}-omega-{level}-{number}", labels, build)


SUITE = Suite(
    name="chance-knapsack",
    summary="Chance-constrained knapsacks of 10 to 40 items, planned through their reduction.",
    draws=lambda: tuple(_draws()),
    configurations=tuple(
        Configuration(method, time_limit=10.0) for method in ("exact", "depl", "density-greedy")
    ),
    measure=knapsack_value,
)
