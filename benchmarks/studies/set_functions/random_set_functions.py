"""Random set functions: submodular families, and functions that look submodular and are not.

Drawn before anything is solved. In every submodular family at least half of the least minimisers are neither
empty nor everything; tests/heuristics/set_functions/test_families.py holds the generator to that.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from depl.benchmarks.studies.set_functions.random_selections import (
    communicating_selection,
    submodular_selection,
)
from depl.heuristics.set_functions.families import (
    concave_of_weight,
    facility_location,
    iwata,
    square_root,
)
from depl.heuristics.set_functions.functions import FloatArray, IntArray, Oracle, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction, coverage, cut, quadratic

Draw = Callable[[np.random.Generator, int], SetFunction]


def random_cut(rng: np.random.Generator, size: int) -> GraphFunction:
    """About four arcs per element with capacities 1 ... 9, and weights that outweigh some of them."""
    return cut(size, _arcs(rng, size, 4), rng.integers(1, 10, 4 * size), rng.integers(-25, 26, size))


def random_real_cut(rng: np.random.Generator, size: int) -> GraphFunction:
    """The same with real data, whose sums round."""
    return cut(size, _arcs(rng, size, 4), rng.uniform(0, 1, 4 * size), rng.normal(0, 2, size))


def random_grid_cut(rng: np.random.Generator, size: int, largest: int = 20) -> GraphFunction:
    """Two arcs between neighbours of a grid, as in images: hard, because news travels far."""
    width = int(np.ceil(np.sqrt(size)))
    right = np.array([(i, i + 1) for i in range(size - 1) if (i + 1) % width], dtype=np.int64).reshape(-1, 2)
    down = np.array([(i, i + width) for i in range(size - width)], dtype=np.int64).reshape(-1, 2)
    edges = np.concatenate([right, down])
    arcs = np.concatenate([edges, edges[:, ::-1]])
    return cut(
        size, arcs, np.repeat(rng.integers(1, 10, len(edges)), 2), rng.integers(-largest, largest + 1, size)
    )


def hard_grid_cut(rng: np.random.Generator, size: int) -> GraphFunction:
    """A grid cut whose weights are no larger than its capacities, so that large regions move together."""
    return random_grid_cut(rng, size, largest=10)


def random_coverage(rng: np.random.Generator, size: int) -> GraphFunction:
    """2 n groups of one to three elements with weights 1 ... 9, minus a price per element."""
    sizes = np.minimum(rng.integers(1, 4, 2 * size), size).tolist()
    groups = [rng.choice(size, count, replace=False).tolist() for count in sizes]
    return coverage(size, groups, rng.integers(1, 10, 2 * size), -rng.integers(0, 30, size))


def random_quadratic(rng: np.random.Generator, size: int) -> GraphFunction:
    """Negative pair terms on about eight pairs per element, against positive and negative weights."""
    matrix = -rng.integers(1, 10, (size, size)) * (rng.random((size, size)) < 4 / size)
    return quadratic(matrix, rng.integers(-10, 60, size))


def random_square_root(rng: np.random.Generator, size: int) -> SetFunction:
    """A multiple of the root of a weight, against prices and rewards."""
    scale = float(rng.uniform(0.5, 2))
    return concave_of_weight(rng.uniform(0, 1, size), square_root(scale), rng.normal(-0.15, 0.6, size))


def random_facility_location(rng: np.random.Generator, size: int) -> SetFunction:
    """Twice as many customers as sites, against rewards and prices of open ones."""
    return facility_location(rng.integers(0, 20, (size, 2 * size)), -rng.integers(-40, 140, size))


def random_iwata(rng: np.random.Generator, size: int) -> SetFunction:
    """Iwata's function; nothing is drawn."""
    return iwata(size)


SUBMODULAR: Mapping[str, Draw] = MappingProxyType(
    {
        "cut": random_cut,
        "cut with real data": random_real_cut,
        "grid cut": random_grid_cut,
        "coverage": random_coverage,
        "quadratic": random_quadratic,
        "square root": random_square_root,
        "facility location": random_facility_location,
        "iwata": random_iwata,
        "K^ T^": submodular_selection,
    }
)
"""Families whose submodularity follows from their construction."""


def with_a_positive_pair(rng: np.random.Generator, size: int) -> SetFunction:
    """A quadratic that one positive pair keeps from being submodular."""
    matrix = -rng.integers(1, 10, (size, size)) * (rng.random((size, size)) < 4 / size)
    matrix[0, size - 1], matrix[size - 1, 0] = rng.integers(5, 30), 0
    return quadratic(matrix, rng.integers(-10, 60, size))


def convex_of_weight(rng: np.random.Generator, size: int) -> SetFunction:
    """The square of a weight minus rewards, known by its values alone."""
    weights, rewards = rng.integers(1, 6, size), rng.integers(1, 60, size)
    return Oracle(size, lambda subset: _total(weights, subset) ** 2 - _total(rewards, subset))


def disturbed_cut(rng: np.random.Generator, size: int) -> SetFunction:
    """A cut with one random set made much better, known by its values alone: nothing leads there."""
    whole = random_cut(rng, size)
    odd = frozenset(rng.choice(size, int(rng.integers(1, size)), replace=False).tolist())
    return Oracle(size, lambda subset: whole.value(subset) - (1000 if subset == odd else 0))


NOT_SUBMODULAR: Mapping[str, Draw] = MappingProxyType(
    {
        "positive pair": with_a_positive_pair,
        "convex of weight": convex_of_weight,
        "disturbed cut": disturbed_cut,
        "K^ T^": communicating_selection,
    }
)
"""Families that violate submodularity."""


def _arcs(rng: np.random.Generator, size: int, per_element: int) -> IntArray:
    tails = rng.integers(0, size, per_element * size)
    return np.column_stack([tails, (tails + rng.integers(1, max(size, 2), len(tails))) % size])


def _total(amounts: IntArray | FloatArray, subset: frozenset[int]) -> int:
    return int(sum(amounts[list(subset)].tolist()))
