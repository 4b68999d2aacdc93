"""Datasets of one density: f depends on their total volume alone, so only the sums next to one volume matter.

With tau_d = rho q_d for all datasets that are still free, f is a function g of the added volume s. By
`depl.heuristics.data.continuous`, g falls and then rises (power, inverse logarithm), or falls, rises and
falls (logarithm). So the best set has no volume, all of it, or one of the two sums of volumes next to the
inner minimum. Those are found exactly

- by halves, for at most 36 datasets: all sums of either half, sorted, and a binary search;
- by reachable sums, where the volumes as written are multiples of a common unit and their total is not too
  many units: a whole number as a set of bits, shifted once per dataset.

This is SUBSET SUM, hence NP-hard; but it is the usual case, because work is volume unless an instance says
otherwise. For more datasets without a common unit, sums are so dense that a part of them comes within
rounding.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from depl.heuristics.data.continuous import best_volume
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem
from depl.heuristics.set_functions.functions import FloatArray, as_set

MOST_BY_HALVES = 36
"""Datasets whose sums are all listed by halves. Set by hand: 2**18 sums of each half take 2 MiB; two datasets
more double both time and memory."""
_MOST_BITS = 200_000_000
"""Bits of the sums that are reachable with the first 1, 2, ... datasets: 25 MB in all. Set by hand: where
they are more, good sets are taken without a proof that a best one is among them."""
_SAME = 1e-12
"""Relative difference of densities that counts as none: products and quotients of decimals in doubles are off
by a few times 1e-16, a thousandth of it."""


def one_density(problem: SelectionProblem) -> float | None:
    """rho if all datasets have it up to rounding and nothing is priced, else None [time / data]."""
    if problem.priced or not isinstance(problem.needed, NeededEpochs) or not problem.size:
        return None
    densities = problem.durations / problem.volumes
    low, high = float(densities.min()), float(densities.max())
    return low if high - low <= _SAME * high else None


def candidates(problem: SelectionProblem, density: float) -> tuple[list[frozenset[int]], bool]:
    """Sets among which a best one is, and whether that is certain; without certainty they are good ones.

    Parameters
    ----------
    problem : SelectionProblem
        Without prices, all of one density.
    density : float
        rho > 0 or 0.
    """
    everything = frozenset(range(problem.size))
    smallest = frozenset({int(np.argmin(problem.volumes))})
    ends = [frozenset[int](), smallest, everything]
    if density == 0 or not isinstance(problem.needed, NeededEpochs):
        return ends, True  # without durations, more data cost nothing
    whole = math.fsum(problem.volumes.tolist())
    inner = inner_minimum(problem.needed, problem.fixed_duration, density, whole)
    if inner is None:
        return ends, True
    if problem.size <= MOST_BY_HALVES:
        return [*ends, *by_halves(problem.volumes, inner)], True
    found = by_reachable_sums(problem.volumes.tolist(), inner)
    if found is not None:
        return [*ends, *found], True
    return [*ends, *_by_parts(problem.volumes, inner)], False


def inner_minimum(needed: NeededEpochs, fixed: float, rate: float, whole: float) -> float | None:
    """Where g has its inner minimum, even if an end is better; None if it has none [data]."""
    found = best_volume(needed, fixed, rate, whole, inner=True)
    return found if 0 < found < whole else None


def by_halves(volumes: FloatArray, target: float) -> list[frozenset[int]]:
    """The set with the greatest sum up to ``target`` and the one with the least sum from it on."""
    half = len(volumes) // 2
    left, right = _sums(volumes[:half]), _sums(volumes[half:])
    order = np.argsort(right, kind="stable")
    above = np.searchsorted(right[order], target - left, side="left")
    found = []
    below = np.maximum(above - 1, 0)
    for places, sign in ((below, -1.0), (np.minimum(above, len(right) - 1), 1.0)):
        distance = sign * (left + right[order[places]] - target)
        # where a half has no sum on this side, the neighbour lies on the other side
        distance[distance < -1e-15 * abs(target)] = np.inf
        best = int(np.argmin(distance))
        if np.isfinite(distance[best]):
            index = best | int(order[places[best]]) << half
            found.append(frozenset(bit for bit in range(len(volumes)) if index >> bit & 1))
    return found


def by_reachable_sums(volumes: Sequence[float], target: float) -> list[frozenset[int]] | None:
    """The same for any number of datasets whose volumes have a common unit; None without a useful one.

    Parameters
    ----------
    volumes : sequence of float
        Read as the decimals they print as.
    target : float
        Volume to come close to.
    """
    decimals = [Fraction(repr(volume)) for volume in volumes]
    scale = math.lcm(*(value.denominator for value in decimals))
    whole = [int(value * scale) for value in decimals]
    unit = math.gcd(*whole)
    counts = [value // unit for value in whole]
    if sum(counts) * len(counts) > _MOST_BITS:
        return None
    reached = [1]
    for count in counts:
        reached.append(reached[-1] | reached[-1] << count)
    wanted = Fraction(target) * scale / unit
    lower = (reached[-1] & ((1 << (math.floor(wanted) + 1)) - 1)).bit_length() - 1
    rest = reached[-1] >> math.ceil(wanted)
    totals = [lower] + ([math.ceil(wanted) + (rest & -rest).bit_length() - 1] if rest else [])
    return [_read_off(total, counts, reached) for total in totals if total >= 0]


def _read_off(total: int, counts: list[int], reached: list[int]) -> frozenset[int]:
    chosen = []
    for place in reversed(range(len(counts))):
        if not reached[place] >> total & 1:
            chosen.append(place)
            total -= counts[place]
    return frozenset(chosen)


def _by_parts(volumes: FloatArray, target: float) -> list[frozenset[int]]:
    """Fix all but 30 datasets by filling up, and choose among those exactly; three spread choices of 30."""
    found = []
    for start in range(3):
        free = np.unique(np.linspace(start, len(volumes) - 1 - start, 30).astype(np.int64))
        fixed = np.setdiff1d(np.arange(len(volumes)), free)
        room = target - float(volumes[free].sum()) / 2
        filled = fixed[np.cumsum(volumes[fixed]) <= room]
        rest = target - float(volumes[filled].sum())
        for chosen in by_halves(volumes[free], rest):
            found.append(as_set(filled) | as_set(free[sorted(chosen)]))
    return found


def _sums(volumes: FloatArray) -> FloatArray:
    """All sums, shape (2**n,); bit i of the index says whether volume i is in."""
    sums = np.zeros(1)
    for volume in volumes.tolist():
        sums = np.concatenate([sums, sums + volume])
    return sums
