"""Chance-constrained knapsacks solved without planning: a dynamic program over value and variance.

For every total value and every total variance, in whole numbers, the least total mean, item by item. A value
can be reached iff for some variance the least mean is at most W - z sqrt(variance). Exact up to this
comparison, and sharing no code with the methods that solve instances.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.instances.reductions.dynamic_programs import MOST_CELLS
from depl.instances.reductions.knapsack import ChanceKnapsack, common_unit
from depl.models.foundation.errors import NotCoveredError

_UNREACHED = np.int64(2**62)


@dataclass(frozen=True)
class ChanceSolution:
    """Items by their places from 0, in increasing order, and their value."""

    items: tuple[int, ...]
    value: Fraction


def best_by_value_and_variance(knapsack: ChanceKnapsack) -> ChanceSolution:
    """Items of most value that fit with the probability.

    Raises
    ------
    NotCoveredError
        If items times values times variances, as whole numbers, are more than `MOST_CELLS`.
    """
    columns = [knapsack.values, knapsack.means, knapsack.variances]
    units = [common_unit(column) for column in columns]
    values, means, variances = (
        [int(number / unit) for number in column] for column, unit in zip(columns, units, strict=True)
    )
    shape = (sum(values) + 1, sum(variances) + 1)
    if len(knapsack) * shape[0] * shape[1] > MOST_CELLS:
        raise NotCoveredError(
            f"a dynamic program would need {len(knapsack)} times {shape[0]} times {shape[1]} entries, more "
            f"than {MOST_CELLS:.0e}; take fewer items, or numbers with fewer digits"
        )
    least = np.full(shape, _UNREACHED)
    least[0, 0] = 0
    taken = []
    for value, mean, variance in zip(values, means, variances, strict=True):
        better = np.zeros(shape, dtype=np.bool_)
        with_item = least[: shape[0] - value, : shape[1] - variance] + mean
        better[value:, variance:] = with_item < least[value:, variance:]
        least[value:, variance:] = np.minimum(with_item, least[value:, variance:])
        taken.append(np.packbits(better))
    deviations = np.sqrt(np.arange(shape[1]) * float(units[2]))
    room = (float(knapsack.capacity) - knapsack.safety * deviations) / float(units[1])
    value, variance = (int(axis[-1]) for axis in np.nonzero(least <= room))
    items = []
    for item in range(len(knapsack) - 1, -1, -1):
        cell = value * shape[1] + variance
        if taken[item][cell >> 3] >> (7 - (cell & 7)) & 1:
            items.append(item)
            value, variance = value - values[item], variance - variances[item]
    chosen = tuple(reversed(items))
    return ChanceSolution(chosen, knapsack.value_of(chosen))
