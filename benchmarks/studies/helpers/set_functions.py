"""Random problems of stage 1 and set functions: submodular ones, and some that look so and are not.

Drawn before anything is solved. In every submodular family at least half of the least minimisers are neither
empty nor everything; tests/heuristics/submodular/test_minimise.py holds the generator to that.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs, VolumeLaw
from depl.heuristics.data.problem import SelectionProblem, selection_of_numbers
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.submodular.families import (
    concave_of_weight,
    coverage,
    cut,
    facility_location,
    iwata,
    quadratic,
    square_root,
)
from depl.heuristics.submodular.function import FloatArray, IntArray, SetFunction, oracle
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw

Draw = Callable[[np.random.Generator, int], SetFunction]
LAWS = ("log", "inverse_log", "power")


def random_selection(
    rng: np.random.Generator, size: int, law: str | None = None, priced: bool = False, base: bool = False
) -> SelectionProblem:
    """A problem whose optimum may be a single dataset, everything, or something between.

    Its law is one of `LAWS`, drawn by default; ``priced``: transfers cost something; ``base``: Q0 > 0 for
    sure, so that f is finite without data.
    """
    volumes = rng.uniform(0.2, 1.0, size)
    whole = float(volumes.sum())
    start = float(rng.uniform(0.01, 1) * whole * rng.choice([0.1, 1.0]))
    if not base and rng.random() < 1 / 3:
        start = 0.0
    densities = rng.uniform(0.3, 1.7, size) * float(rng.choice([0.1, 1.0, 10.0]))
    durations = volumes * densities
    fixed = float(rng.choice([0.0, rng.uniform(0, 2), durations.sum() * rng.uniform(0, 2)]))
    transfers = rng.uniform(0, 1, size) * float(rng.choice([0.01, 0.1])) * (fixed + 0.1) if priced else 0.0
    needed = NeededEpochs(_law(rng, law or str(rng.choice(LAWS)), start, whole))
    return selection_of_numbers(needed, volumes, durations, fixed, transfers)


def _law(rng: np.random.Generator, kind: str, start: float, whole: float) -> VolumeLaw:
    if kind == "log":
        b = float(rng.uniform(0.2, 3))
        return LogDataLaw(a=b * (math.log(start + whole) + rng.uniform(0.05, 2)), b=b, base_volume=start)
    if kind == "inverse_log":
        return InverseLogDataLaw(base_volume=start)
    return PowerDataLaw(p=float(rng.uniform(0.1, 2)), base_volume=start)


def submodular_selection(rng: np.random.Generator, size: int) -> SelectionProblem:
    """K^ T^ where computing dominates (E4), and transfers about as expensive as what a dataset gains."""
    start, b = 2.0 * size, float(rng.uniform(1, 5))
    volumes = rng.uniform(0.5, 1.5, size)
    law = LogDataLaw(a=b * (0.6 + math.log(start)), b=b, base_volume=start)
    durations = volumes * rng.uniform(0.9, 1.1, size)
    transfers = rng.uniform(0, 0.9, size) * b * volumes
    return selection_of_numbers(NeededEpochs(law), volumes, durations, 0.9 * start, transfers)


def communicating_selection(rng: np.random.Generator, size: int) -> SelectionProblem:
    """K^ T^ where communication dominates (t0 > t1 Q0 by far): not submodular, and an optimum between."""
    volumes = rng.uniform(0.5, 1.5, size)
    whole, start = float(volumes.sum()), float(rng.uniform(0.1, 0.6))
    b = float(rng.uniform(0.5, 3))
    law = LogDataLaw(a=b * (math.log(start + whole) + rng.uniform(0.1, 1.5)), b=b, base_volume=start)
    durations = volumes * rng.uniform(0.5, 2, size)
    fixed = float(rng.uniform(0.3, 1.2) * durations.sum())
    return selection_of_numbers(NeededEpochs(law), volumes, durations, fixed)


def random_cut(rng: np.random.Generator, size: int) -> SetFunction:
    """About four arcs per element with capacities 1 ... 9, and weights that outweigh some of them."""
    return cut(size, _arcs(rng, size), rng.integers(1, 10, 4 * size), rng.integers(-25, 26, size))


def random_real_cut(rng: np.random.Generator, size: int) -> SetFunction:
    """The same with real data, whose sums round."""
    return cut(size, _arcs(rng, size), rng.uniform(0, 1, 4 * size), rng.normal(0, 2, size))


def _arcs(rng: np.random.Generator, size: int) -> IntArray:
    tails = rng.integers(0, size, 4 * size)
    return np.column_stack([tails, (tails + rng.integers(1, max(size, 2), len(tails))) % size])


def grid_cut(rng: np.random.Generator, size: int, largest: int = 20) -> SetFunction:
    """Two arcs between neighbours of a grid, as in images: hard, because news travels far.

    With weights up to 10, no larger than the capacities, large regions move together.
    """
    width = int(np.ceil(np.sqrt(size)))
    right = np.array([(i, i + 1) for i in range(size - 1) if (i + 1) % width], dtype=np.int64).reshape(-1, 2)
    down = np.array([(i, i + width) for i in range(size - width)], dtype=np.int64).reshape(-1, 2)
    edges = np.concatenate([right, down])
    arcs, capacities = np.concatenate([edges, edges[:, ::-1]]), np.repeat(rng.integers(1, 10, len(edges)), 2)
    return cut(size, arcs, capacities, rng.integers(-largest, largest + 1, size))


def _coverage(rng: np.random.Generator, size: int) -> SetFunction:
    """Twice as many groups of one to three elements, minus a price per element."""
    sizes = np.minimum(rng.integers(1, 4, 2 * size), size).tolist()
    groups = [rng.choice(size, count, replace=False).tolist() for count in sizes]
    return coverage(size, groups, rng.integers(1, 10, 2 * size), -rng.integers(0, 30, size))


def _quadratic(rng: np.random.Generator, size: int, positive: bool = False) -> SetFunction:
    """Negative pair terms on about eight pairs per element; one positive pair keeps it from submodularity."""
    matrix = -rng.integers(1, 10, (size, size)) * (rng.random((size, size)) < 4 / size)
    if positive:
        matrix[0, size - 1], matrix[size - 1, 0] = rng.integers(5, 30), 0
    return quadratic(matrix, rng.integers(-10, 60, size))


def _square_root(rng: np.random.Generator, size: int) -> SetFunction:
    scale = float(rng.uniform(0.5, 2))
    return concave_of_weight(rng.uniform(0, 1, size), square_root(scale), rng.normal(-0.15, 0.6, size))


def _convex_of_weight(rng: np.random.Generator, size: int) -> SetFunction:
    """The square of a weight minus rewards, known by its values alone."""
    weights, rewards = rng.integers(1, 6, size), rng.integers(1, 60, size)
    return oracle(size, lambda subset: _total(weights, subset) ** 2 - _total(rewards, subset))


def _total(amounts: IntArray | FloatArray, subset: frozenset[int]) -> int:
    return int(sum(amounts[list(subset)].tolist()))


def _disturbed_cut(rng: np.random.Generator, size: int) -> SetFunction:
    """A cut with one random set made much better, known by its values alone: nothing leads there."""
    whole = random_cut(rng, size)
    odd = frozenset(rng.choice(size, int(rng.integers(1, size)), replace=False).tolist())
    return oracle(size, lambda subset: whole.value(subset) - (1000 if subset == odd else 0))


SUBMODULAR: Mapping[str, Draw] = {
    "cut": random_cut,
    "cut with real data": random_real_cut,
    "grid cut": grid_cut,
    "coverage": _coverage,
    "quadratic": _quadratic,
    "square root": _square_root,
    "facility location": lambda rng, size: facility_location(
        rng.integers(0, 20, (size, 2 * size)), -rng.integers(-40, 140, size)
    ),
    "iwata": lambda rng, size: iwata(size),
    "K^ T^": lambda rng, size: selection_function(submodular_selection(rng, size)),
}
"""Families whose submodularity follows from their construction."""
NOT_SUBMODULAR: Mapping[str, Draw] = {
    "positive pair": lambda rng, size: _quadratic(rng, size, positive=True),
    "convex of weight": _convex_of_weight,
    "disturbed cut": _disturbed_cut,
    "K^ T^": lambda rng, size: selection_function(communicating_selection(rng, size)),
}
"""Families that violate submodularity."""
