"""How far the sum of some terms reaches, by a rough Chernoff bound whose ingredients add up.

Used to choose windows (of the directed grid, of the spectral sum), never to certify: a window chosen
badly makes an interval wide, not wrong. Every term is replaced by its quantiles at about a hundred
levels, cut off where less than ``tail`` is left; the log-transforms of the result at a fixed set of
real rates add up over independent terms, exactly like the labels of Sec. IV-B of the paper.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, Law

_RATE_RATIO = 1.6
"""Ratio of neighbouring rates: one is at most a factor of sqrt(1.6) = 1.26 off the best, which makes the
reach of a normal sum (1.26 + 1 / 1.26) / 2 - 1 = 3 % longer. It guides windows only; the number of rates goes
with 1 / log of it."""


@dataclass(frozen=True, eq=False)
class Reach:
    """Additive description of the spread of a sum.

    Attributes
    ----------
    rates : ndarray, shape (r,)
        The real exponents s > 0 [1 / loss], common to all that are added.
    upward, downward : ndarray, shape (r,)
        log E exp(s Y) and log E exp(-s Y).
    least, greatest : float
        Bounds of Y itself after cutting off the tails [loss].
    """

    rates: FloatArray
    upward: FloatArray
    downward: FloatArray
    least: float
    greatest: float

    def plus(self, other: "Reach", count: int = 1) -> "Reach":
        """The sum with ``count`` independent copies of ``other`` (negative: without them)."""
        return Reach(
            self.rates,
            self.upward + count * other.upward,
            self.downward + count * other.downward,
            self.least + count * other.least,
            self.greatest + count * other.greatest,
        )

    def high(self, probability: float) -> float:
        """A value exceeded with about this probability at most [loss]."""
        return min(self.greatest, float(((self.upward - math.log(probability)) / self.rates).min()))

    def low(self, probability: float) -> float:
        """A value undershot with about this probability at most [loss]."""
        return max(self.least, -float(((self.downward - math.log(probability)) / self.rates).min()))

    def exceedance(self, value: float) -> float:
        """About an upper bound on P(Y > value)."""
        return math.exp(min(0.0, float((self.upward - self.rates * value).min())))

    def shortfall(self, value: float) -> float:
        """About an upper bound on P(Y < value)."""
        return math.exp(min(0.0, float((self.downward + self.rates * value).min())))


def reaches(terms: Sequence[tuple[Term, int]], tail: float) -> list[Reach]:
    """The reach of one copy of every term, all at common rates.

    Parameters
    ----------
    tail : float
        Probability cut off at each end of each term.
    """
    octaves = math.ceil(math.log2(0.1 / tail))
    levels = _levels(octaves)
    side = np.concatenate([levels[:1], np.diff(levels)])
    probabilities = np.concatenate([side, np.full(33, 0.8 / 33), side[::-1]])
    distinct = dict.fromkeys(term.law for term, _ in terms)
    laws = {law: _quantiles(law, octaves) for law in distinct}
    grids = [_scaled(term.coefficient, laws[term.law]) for term, _ in terms]
    counts = np.array([count for _, count in terms])
    rates = _rates(grids, counts, len(levels))
    # Interval j carries probabilities[j] and lies between ends[j] and ends[j + 1].
    found = []
    for grid in grids:
        ends = np.concatenate([grid[:1], grid, grid[-1:]])
        upward = rates * ends[-1] + _log_mean(rates, ends[1:] - ends[-1], probabilities)
        downward = -rates * ends[0] + _log_mean(-rates, ends[:-1] - ends[0], probabilities)
        found.append(Reach(rates, upward, downward, float(ends[0]), float(ends[-1])))
    return found


def total_reach(parts: Sequence[Reach], counts: Sequence[int]) -> Reach:
    """The reach of the whole sum."""
    rates = parts[0].rates
    total = Reach(rates, np.zeros_like(rates), np.zeros_like(rates), 0.0, 0.0)
    for part, count in zip(parts, counts, strict=True):
        total = total.plus(part, count)
    return total


def typical_spread(terms: Sequence[tuple[Term, int]]) -> float:
    """About how far apart the 0.1- and the 0.9-quantile of the sum are [loss]; tails do not count."""
    squares = 0.0
    for term, count in terms:
        low, high = (float(term.law.quantile(0.1, upper=side)) for side in (False, True))
        squares += count * (term.coefficient * (high - low)) ** 2
    return math.sqrt(squares)


def _levels(octaves: int) -> FloatArray:
    """0.1 and its halves, increasing."""
    return np.asarray(0.1 * 2.0 ** -np.arange(octaves, -1, -1.0))


@functools.lru_cache(maxsize=2048)
def _quantiles(law: Law, octaves: int) -> FloatArray:
    """Quantiles of X at the lower, middle and upper levels: the same for every sum that X occurs in."""
    levels = _levels(octaves)
    lower, upper = law.quantile(levels), law.quantile(levels[-2::-1], upper=True)
    found = np.concatenate([lower, law.quantile(np.linspace(0.1, 0.9, 34)[1:]), upper])
    found.flags.writeable = False
    return found


def _scaled(coefficient: float, values: FloatArray) -> FloatArray:
    """The values of coefficient * X, increasing."""
    scaled = coefficient * values
    return np.asarray(np.maximum.accumulate(scaled if coefficient > 0 else scaled[::-1]))


def _log_mean(rates: FloatArray, values: FloatArray, probabilities: FloatArray) -> FloatArray:
    """log of the mean of exp(rate * value), one per rate; the exponents are at most 0 and reach 0."""
    return np.asarray(np.log(np.exp(np.outer(rates, values)) @ probabilities))


def _rates(grids: Sequence[FloatArray], counts: FloatArray, side: int) -> FloatArray:
    """Geometric grid of rates, from well below the whole range's to well above the narrowest term's.

    The first ``side`` quantiles of every grid go up to level 0.1, the last ``side`` begin at level 0.9.
    """
    ranges = np.array([grid[-1] - grid[0] for grid in grids])
    widths = np.array([grid[-side] - grid[side - 1] for grid in grids])
    widths = np.where(widths > 0, widths, ranges)
    if not (widths > 0).any():
        return np.ones(1)
    least, most = 0.01 / float(ranges @ counts), 64 / float(widths[widths > 0].min())
    number = 1 + math.ceil(math.log(most / least) / math.log(_RATE_RATIO))
    return np.asarray(np.geomspace(least, most, number), dtype=float)
