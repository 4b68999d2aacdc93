"""Datasets of one density: f depends on their total volume alone, so only the sums next to one volume matter.

With tau_d = rho q_d for all datasets that are still free, f is a function g of the added volume s, Q = Q0 +
s, and with g = K(Q) (t0 + rho Q) its derivative has the sign of

    power        (1 - p) rho Q - p t0                rises or is negative
    inverse_log  (1 + Q) ln(1 + Q) - Q - t0 / rho    rises
    log          K(Q) / b - 1 - t0 / (rho Q)         rises up to Q = t0 / rho, falls after

So g falls and then rises, or under the logarithm falls, rises and falls; the best set has no volume, all of
it, or one of the two sums of volumes next to the inner minimum. Those are found exactly by halves, for at
most 36 datasets (all sums of either half, and a binary search), or by reachable sums, where volumes as
written are multiples of a common unit (a whole number as a set of bits, shifted once per dataset). This is
SUBSET SUM, hence NP-hard, and the usual case, as work is volume unless an instance says otherwise.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem
from depl.models.problem.laws import FloatArray

MOST_BY_HALVES = 36
"""Datasets whose sums are all listed by halves. Set by hand: 2**18 sums of each half take 2 MiB; two datasets
more double both time and memory."""

_MOST_BITS = 200_000_000
"""Bits of the sums that are reachable with the first 1, 2, ... datasets: 25 MB in all. Set by hand: where
they are more, good sets are taken without a proof that a best one is among them."""

_SAME = 1e-12
"""Relative difference of densities that counts as none: products and quotients of decimals in doubles are off
by a few times 1e-16, a thousandth of it."""

Sets = list[frozenset[int]]


def one_density(problem: SelectionProblem) -> float | None:
    """rho if all datasets have it up to rounding and nothing is priced, else None [time / data]."""
    if problem.priced or not isinstance(problem.needed, NeededEpochs) or not problem.size:
        return None
    densities = problem.durations / problem.volumes
    low, high = float(densities.min()), float(densities.max())
    return low if high - low <= _SAME * high else None


def candidates(problem: SelectionProblem, density: float) -> tuple[Sets, bool]:
    """Sets among which a best one is, and whether that is certain; without certainty they are good ones.

    Parameters
    ----------
    problem : SelectionProblem
        Without prices, all of one density.
    density : float
        rho > 0 or 0.
    """
    smallest = frozenset({int(np.argmin(problem.volumes))})
    ends = [frozenset[int](), smallest, frozenset(range(problem.size))]
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
    """Where K(s) (fixed + rate s) has its inner minimum on [0, whole]; None if it has none [data].

    Parameters
    ----------
    needed : NeededEpochs
        K^, positive at ``whole`` [epochs].
    fixed : float
        T^ without added volume [time].
    rate : float
        Duration per volume, positive [time / data].
    whole : float
        W > 0 [data].

    Returns
    -------
    float or None
        To about 1e-12 relative to ``whole``, even if an end is better.
    """
    if needed.constant:
        return None

    def rise(volume: float) -> float:
        """The derivative over -K' > 0, which keeps its sign: T^ < -K/K' rate."""
        return float(rate * needed.at(volume) / -needed.slope(volume) - (fixed + rate * volume))

    turn = whole  # where the sign may start to fall: at Q = t0 / rho under the logarithm
    if needed.logarithmic:
        base = needed.base_volume
        turn = min(whole, max((fixed - rate * base) / rate - base, 0.0))
    low = 1e-12 * whole if needed.base_volume == 0 else 0.0  # K^ is infinite at Q = 0, so g falls from there
    if not (low < turn and rise(low) < 0 < rise(turn)):
        return None
    return float(brentq(rise, low, turn, xtol=1e-13 * whole))


def by_halves(volumes: FloatArray, target: float) -> Sets:
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


def by_reachable_sums(volumes: Sequence[float], target: float) -> Sets | None:
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


def _by_parts(volumes: FloatArray, target: float) -> Sets:
    """Fix all but 30 datasets by filling up, and choose among those exactly; three spread choices of 30."""
    found = []
    for start in range(3):
        free = np.unique(np.linspace(start, len(volumes) - 1 - start, 30).astype(np.int64))
        fixed = np.setdiff1d(np.arange(len(volumes)), free)
        filled = fixed[np.cumsum(volumes[fixed]) <= target - float(volumes[free].sum()) / 2]
        for chosen in by_halves(volumes[free], target - float(volumes[filled].sum())):
            found.append(frozenset(filled.tolist()) | frozenset(free[sorted(chosen)].tolist()))
    return found


def _sums(volumes: FloatArray) -> FloatArray:
    """All sums, shape (2**n,); bit i of the index says whether volume i is in."""
    sums = np.zeros(1)
    for volume in volumes.tolist():
        sums = np.concatenate([sums, sums + volume])
    return sums
