"""Certified probabilities and quantiles of the final loss for every law, by a directed-rounding grid.

Every term is rounded up and rounded down to a grid, and the sums of the rounded terms, by one transform each,
enclose the truth: for laws with atoms, for heavy tails with infinite variance and for
untruncated Student-t alike. The price is a width of about (number of terms) * step * density, so every other
evaluator is the better one where it applies. Bounds are derived on the page "Risk" (``risk``).
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.interval import Interval, float_above, float_below
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.risk.discrete import decimal, is_discrete

EVALUATOR = "directed grid"
POINTS = 2**18
"""Points of a grid unless told otherwise: set by hand, some tenths of a second for a dozen increments."""

Terms = Sequence[tuple[Term, int]]

_TAILS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-11)
"""Probabilities that windows may leave out. What leaves a window moves in the direction of rounding, and
matters only if the other increments are beyond their reach as well, so any value is sound."""

_MATTERS = 0.02
"""Share of what is left out that is reckoned to matter, relative to the probability asked for: set by hand.
The tail for which it and the rounding are least together is taken; every tail is sound."""

_LEAST_TAIL, _WRAPPED, _LEAST_LIKELY = 1e-15, 1e-13, 1e-12
"""Least probability that the sum may leave its window with, and least one that windows are chosen for: about
what transforms round away. They guide windows; what leaves them is bounded."""

_LEVELS = 0.5 ** np.arange(1.0, 64.0)
_WEIGHTS = np.append(_LEVELS[:-1] / 2, _LEVELS[-1])
"""Levels between which a law stands at one quantile, to guide windows, and their probabilities."""

_RATE_RATIO = 1.8
"""Ratio of neighbouring rates: one is a factor of 1.35 off the best at most, which makes the reach of a
normal sum 5 % longer. It guides windows only; the number of rates goes with 1 / log of it."""

_STEPS_PER_OCTAVE = 8
"""Steps have at most four binary digits, so that their products with indices below 2**49 are exact; they are
coarser than asked by an eighth at most. Soundness needs a power of 2: twice as many save a sixteenth of the
width and cost one digit."""

_COARSER, _PASSES = 16, 3
"""How much coarser the grids are on which the range of a quantile is narrowed, and how often: set by hand.
Fewer leave wider intervals for heavy tails."""

_LEAST_RELATIVE_WIDTH = 1e-10
"""Least width of a window relative to its farthest value: indices stay below 1e10 times the number of points,
which 64-bit integers hold. Survival functions are granted 8 roundings of their argument, so what doubles
cannot tell apart costs width only."""

SUMMATION_ERROR = 64 * UNIT_ROUNDOFF
"""Rounding of a sum of nonnegative masses that add up to 1, on which soundness rests: numpy adds blocks of
128 in 8 strands and the blocks in pairs, so 2**23 masses take 16 + 3 + 16 = 35 roundings each at most."""


def grid_violation(loss: FinalLoss, maximum_loss: float, points: int = POINTS) -> Interval:
    """Interval certain to contain P(l(K) > maximum_loss).

    Parameters
    ----------
    maximum_loss : float
        l_max [loss]. An atom at most 1e-9 above it counts as met.
    points : int
        About how many grid points, at most 2**22; the width falls in proportion to its inverse.
    """
    # With a continuous term the final loss has no atoms, so there is nothing to be lenient about.
    threshold = Fraction(maximum_loss) + (EXACT_ATOM_TOLERANCE if is_discrete(loss) else 0)
    random_part = threshold - Fraction(loss.constant)
    terms = loss.reduced().terms
    if not terms:
        return Interval.around(Fraction(random_part < 0), EVALUATOR)
    guide, value = _Guide.of(terms), float(random_part)
    up, down = _sums(guide, (value, value), guide.likely(value), points)
    # Both grids have the same step, and a grid point exceeds the threshold iff its index does this one.
    index = math.floor(random_part / Fraction(up.step))
    upper, lower = up.above(index) + up.error, down.above(index) - down.error
    return Interval(max(0.0, lower), min(1.0, upper), EVALUATOR)


def grid_quantile(loss: FinalLoss, level: float | Fraction, points: int = POINTS) -> Interval:
    """Interval certain to contain the quantile of the final loss: the smallest v with P(l(K) <= v) >= level.

    Parameters
    ----------
    level : float or Fraction
        omega in (0, 1); a float is read as the decimal that it prints as.
    points : int
        About how many grid points.

    Returns
    -------
    Interval
        In units of loss; an end is infinite where the grid cannot tell (more points may help).
    """
    terms, constant, budget = loss.reduced().terms, Fraction(loss.constant), 1 - decimal(level)
    if not terms:
        return Interval.around(constant, EVALUATOR)
    guide = _Guide.of(terms)
    low, high = guide.around(float(level))
    # The reach is rough for heavy tails: zoom with few points, then once with all.
    lower, upper = -math.inf, math.inf
    for count in [max(16, points // _COARSER)] * _PASSES + [points]:
        least, most = _quantile(guide, budget, (low, high), count)
        lower, upper = max(lower, least), min(upper, most)
        low, high = max(low, lower), min(high, upper)
        if not low < high:
            break
    return Interval(
        float_below(constant + Fraction(lower)) if math.isfinite(lower) else lower,
        float_above(constant + Fraction(upper)) if math.isfinite(upper) else upper,
        EVALUATOR,
    )


class RoundedLaw(NamedTuple):
    """A law rounded up or down to a grid, on points from the index ``first`` on and at infinity.

    ``masses`` are the probabilities of the points, shape (n,), ``escaped`` that of +infinity (up) or of
    -infinity (down); ``error`` bounds how far off the distribution function of what is stored is.
    """

    first: int
    masses: FloatArray
    escaped: float
    error: float


def rounded(term: Term, step: float, first: int, last: int) -> tuple[RoundedLaw, RoundedLaw]:
    """``coefficient * X`` rounded up and rounded down, on the grid points ``first`` to ``last``.

    ``step`` is the grid spacing [loss], of few binary digits so that its multiples are exact.
    """
    error, (upper, lower) = _error(term), _exceedances(term, step, first - 1, last)
    up = np.concatenate([[1 - upper[1]], upper[1:-1] - upper[2:]])
    down = np.concatenate([lower[:-2] - lower[1:-1], [lower[-2]]])
    return _trimmed(first, up, float(upper[-1]), error), _trimmed(first, down, 1 - float(lower[0]), error)


def _trimmed(first: int, masses: FloatArray, escaped: float, error: float) -> RoundedLaw:
    """Without the points at either end that have no mass."""
    some = np.flatnonzero(masses)
    begin, end = (int(some[0]), int(some[-1]) + 1) if len(some) else (0, 1)
    return RoundedLaw(first + begin, masses[begin:end], escaped, error)


def _error(term: Term) -> float:
    return SUMMATION_ERROR + (len(term.law.atoms()[0]) * UNIT_ROUNDOFF if term.law.has_atoms else 0.0)


def _exceedances(term: Term, step: float, first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """P(Y > index) for Y = coefficient * X / step rounded up, at least, and rounded down, at most.

    At the indices from ``first`` to ``last``; neither rises.
    """
    law = term.law
    if law.has_atoms:
        values, weights = law.atoms()
        unit = Fraction(term.coefficient) / Fraction(step)
        found = []
        for rounding in (math.ceil, math.floor):
            places = [rounding(unit * Fraction(value)) for value in values.tolist()]
            inside = np.array([min(max(place, first), last + 1) for place in places])
            order = np.argsort(inside)
            tails = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
            found.append(tails[np.searchsorted(inside[order], np.arange(first, last + 1), side="right")])
        return found[0], found[1]
    arguments = np.arange(first, last + 2, dtype=float) * step / term.coefficient
    above = law.survival(arguments) if term.coefficient > 0 else law.cdf(arguments)
    slack = law.survival_slack(arguments)
    upper = np.minimum(above * (1 + law.tail_error) + slack, 1.0)
    lower = np.maximum(above * (1 - law.tail_error) - slack, 0.0)
    return np.maximum.accumulate(upper[::-1])[::-1][:-1], np.minimum.accumulate(lower)[1:]


def short_step(step: float, terms: Terms) -> float:
    """``step`` rounded up to few binary digits; to one if there are only atoms, so that integers fit."""
    digits = 1 if all(term.law.has_atoms for term, _ in terms) else _STEPS_PER_OCTAVE
    octave = 2.0 ** math.floor(math.log2(step))
    return math.ceil(step / octave * digits) / digits * octave


@dataclass(frozen=True, eq=False)
class _Guide:
    """How far sums of the terms reach, roughly: a Chernoff bound of quantiles, whose logarithms add up.

    ``values`` are quantiles at `_LEVELS` from either side. A window chosen badly makes an interval wide, not
    wrong.
    """

    terms: Terms
    counts: FloatArray
    values: FloatArray
    rates: FloatArray
    logarithms: FloatArray

    @classmethod
    def of(cls, terms: Terms) -> "_Guide":
        """With as many rates as serve from the whole range to the narrowest term."""
        levels = np.append(0.75 * _LEVELS[:-1], _LEVELS[-1])
        laws = dict.fromkeys(term.law for term, _ in terms)
        quantiles = {
            law: np.concatenate([law.quantile(levels)[::-1], law.quantile(levels, upper=True)])
            for law in laws
        }
        values = np.array([np.sort(term.coefficient * quantiles[term.law]) for term, _ in terms])
        counts = np.array([float(count) for _, count in terms])
        ranges, middle = values[:, -1] - values[:, 0], len(levels)
        widths = values[:, middle + 2] - values[:, middle - 3]
        widths = np.where(widths > 0, widths, ranges)
        rates = np.ones(1)
        if (widths > 0).any():
            ends = 0.01 / float(ranges @ counts), 64 / float(widths[widths > 0].min())
            number = 1 + math.ceil(math.log(ends[1] / ends[0]) / math.log(_RATE_RATIO))
            rates = np.geomspace(*ends, number)
        return cls(terms, counts, values, rates, np.empty(0)).within(values[:, 0], values[:, -1])

    def within(self, first: FloatArray, last: FloatArray) -> "_Guide":
        """With every term moved into a window of its own."""
        values, masses = (
            np.clip(self.values, first[:, None], last[:, None]),
            np.append(_WEIGHTS[::-1], _WEIGHTS),
        )
        ends = np.array([values[:, -1], -values[:, 0]])
        signed = np.array([values, -values])
        # log E exp(rate * Y) and log E exp(-rate * Y) of every term, shape (2, terms, rates)
        logarithms = np.log(np.exp((signed - ends[:, :, None])[:, :, None, :] * self.rates[:, None]) @ masses)
        logarithms += ends[:, :, None] * self.rates
        return _Guide(self.terms, self.counts, values, self.rates, logarithms)

    def without(self, tail: float) -> "_Guide":
        """With values beyond quantiles at so small a level moved to these."""
        cut = min(int(np.searchsorted(-_LEVELS, -tail)), len(_LEVELS) - 1)
        middle = len(_LEVELS)
        return self.within(self.values[:, middle - 1 - cut], self.values[:, middle + cut])

    def reach(self, counts: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
        """Values that sums with these counts, a row each, leave with about this probability at most."""
        sums = np.einsum("nt,str->snr", counts, self.logarithms)
        high, low = ((sums - math.log(tail)) / self.rates).min(axis=2)
        return np.maximum(counts @ self.values[:, 0], -low), np.minimum(counts @ self.values[:, -1], high)

    def rate(self, counts: FloatArray, side: int, value: float) -> tuple[float, float]:
        """The best rate for P(sum > value), or below it, with its sign, and the logarithm of the bound."""
        sign = 1 - 2 * side
        exponents = counts @ self.logarithms[side] - sign * self.rates * value
        best = int(np.argmin(exponents))
        return sign * float(self.rates[best]), min(float(exponents[best]), 0.0)

    def around(self, level: float) -> tuple[float, float]:
        """A range that contains a quantile of the sum, as far as the reach can tell."""
        guide = self.without(min(1e-6, 0.01 * (1 - level), 0.01 * level) / float(self.counts.sum()))
        low = guide.reach(self.counts[None], 0.9 * level)[0]
        high = guide.reach(self.counts[None], 0.9 * (1 - level))[1]
        margin = 0.01 * (high - low) + _LEAST_RELATIVE_WIDTH * np.maximum(np.abs(low), np.abs(high))
        return float((low - margin)[0]), float((high + margin)[0])

    def likely(self, value: float) -> float:
        """About P(sum > value), or P(sum < value) if that is less: by one increment far out, or by all."""
        middle, weights = len(_LEVELS), np.append(_WEIGHTS[::-1], _WEIGHTS)
        rest, guide = self.counts @ self.values[:, middle], self.without(_TAILS[0] / float(self.counts.sum()))
        far = (value - rest + self.values[:, middle])[:, None]
        jumps = (self.counts @ (self.values > far) @ weights, self.counts @ (self.values < far) @ weights)
        sides = (
            max(float(jumps[side]), math.exp(guide.rate(self.counts, side, value)[1])) for side in (0, 1)
        )
        return max(min(sides), _LEAST_LIKELY)

    def tail(self, ends: tuple[float, float], likely: float, points: int) -> float:
        """That of `_TAILS` for which rounding and what is left out cost least together."""
        total, middle, costs = float(self.counts.sum()), len(_LEVELS), []
        widths = self.values[:, middle + 2] - self.values[:, middle - 3]
        spread = max(math.sqrt(float(self.counts @ widths**2)), 1e-300)
        for tail in _TAILS:
            low, high = self.without(tail / (4 * total)).reach(self.counts[None], tail / 4)
            width = max(float(high[0]), ends[1]) - min(float(low[0]), ends[0])
            costs.append((total * width / (points * spread) + _MATTERS * tail / likely, tail))
        return min(costs)[1]


@dataclass(frozen=True, eq=False)
class _Sum:
    """The sum of all terms rounded in one direction: one of them, and all others modulo the window.

    ``masses`` are those of the others on points from ``first`` on, ``escaped`` is theirs at infinity where
    that is above; ``tails`` are P(the one > index) from ``start`` on. ``error`` bounds how far off `above` is
    in the direction that matters.
    """

    step: float
    first: int
    masses: FloatArray
    escaped: float
    start: int
    tails: FloatArray
    error: float

    def above(self, index: int) -> float:
        """Probability of exceeding a grid point, as stored."""
        place = index - self.first - self.start + 1
        return float((self.masses * self.tails[place - len(self.masses) : place][::-1]).sum()) + self.escaped

    def quantile(self, budget: Fraction, error: float, low: int, high: int) -> float:
        """The least of some grid points with P(sum > point) + error <= budget; infinite at an end."""

        def held(index: int) -> bool:
            return Fraction(self.above(index) + error) <= budget

        least = low + bisect.bisect_left(range(low, high), True, key=held)
        return -math.inf if least == low else math.inf if least == high else least * self.step


def _quantile(
    guide: _Guide, budget: Fraction, bracket: tuple[float, float], points: int
) -> tuple[float, float]:
    """Certified bounds of the quantile of the random part; infinite where it is outside the bracket."""
    up, down = _sums(guide, bracket, float(min(budget, 1 - budget)), points)
    ends = math.floor(bracket[0] / up.step) - 1, math.ceil(bracket[1] / up.step) + 1
    # P(L > x) <= P(L up > x) <= p puts the quantile at x or below it. P(L >= x) >= P(L down >= x) > p puts it
    # at x or above it; that is the last point whose predecessor is still exceeded with more than p.
    upper, lower = up.quantile(budget, up.error, *ends), down.quantile(budget, -down.error, *ends)
    return (bracket[1] if lower == math.inf else lower), (bracket[0] if upper == -math.inf else upper)


def _sums(guide: _Guide, ends: tuple[float, float], likely: float, points: int) -> tuple[_Sum, _Sum]:
    """The sum of the terms rounded up and down, for thresholds between the ends."""
    total, number = float(guide.counts.sum()), len(guide.terms)
    share = guide.tail(ends, likely, points) / (4 * total)
    own = max((4 * total * share) ** 2, _LEAST_TAIL) / (4 * total)
    # A term matters only where the others can make up for it, and where it can lie itself.
    low, high = guide.without(share).reach(guide.counts - np.eye(number), share)
    near, middle = guide.without(own), len(_LEVELS)
    # Between quantiles at least, the farther out the more terms: many moved by a little would add up.
    far = int(math.log2(4 * math.sqrt(total)))
    firsts = np.maximum(np.minimum(ends[0] - high, guide.values[:, middle - far]), near.values[:, 0])
    lasts = np.minimum(np.maximum(ends[1] - low, guide.values[:, middle + far - 1]), near.values[:, -1])
    near, one = near.within(firsts, lasts), int(np.argmax(lasts - firsts))
    others = guide.counts - np.eye(number)[one]
    bounded = all(term.law.has_atoms for term, _ in guide.terms)
    wrapped = _WRAPPED if bounded else max(4e-4 * total * share * likely, _WRAPPED)
    low, high = near.reach(others[None], wrapped)
    start, stop = float(low[0]), float(high[0])
    farthest = max(abs(start), abs(stop), *map(abs, ends), float(np.abs([firsts, lasts]).max()), 1e-290)
    count = sum(count for _, count in guide.terms)
    width = max(stop - start, ends[1] - ends[0], _LEAST_RELATIVE_WIDTH * farthest)
    # Rounding moves a sum by up to one step per term, so the window grows by that much.
    step = short_step(width / max(points - 2 * count, points / 2), guide.terms)
    first, last = math.floor(start / step) - count, math.ceil(stop / step) + count
    size = fft.next_fast_len(max(last - first + 1, 16), real=True)
    edges = (first + size) * step, first * step
    folds = [_Folded(step, first, size, near.rate(others, side, edges[side])[0]) for side in (0, 1)]
    for place, (term, _) in enumerate(guide.terms):
        keep_time()
        if others[place]:
            window = math.floor(firsts[place] / step), math.ceil(lasts[place] / step)
            for fold, law in zip(folds, rounded(term, step, *window), strict=True):
                fold.add(law, int(others[place]))
    begin = math.floor(ends[0] / step) - (first + size) - 2
    term = guide.terms[one][0]
    tails = _exceedances(term, step, begin, math.ceil(ends[1] / step) - first + 2)
    up, down = (fold.sum(begin, side, _error(term)) for fold, side in zip(folds, tails, strict=True))
    return up, down


class _Folded:
    """A sum of rounded laws modulo ``size`` grid points, as the product of their transforms.

    Only what leaves the window upwards (downwards) can make the sum rounded up (down) too small (large):
    that has a Chernoff bound at ``rate``.
    """

    def __init__(self, step: float, first: int, size: int, rate: float) -> None:
        self._step, self._first, self._size, self._rate = step, first, size, rate
        self._spectrum: NDArray[np.complex128] = np.ones(size // 2 + 1, dtype=complex)
        self._place, self._kept, self._error, self._count = 0, 1.0, 2 * SUMMATION_ERROR, 0
        self._norms, self._least, self._beyond, self._farthest = 0.0, 1.0, 0.0, 0

    def add(self, law: RoundedLaw, count: int) -> None:
        """Independent copies of one law."""
        masses = np.bincount(np.arange(len(law.masses)) % self._size, law.masses, minlength=self._size)
        self._spectrum *= _power(fft.rfft(masses), count)
        self._place += count * law.first
        self._farthest += count * (law.first + (len(law.masses) - 1 if self._rate > 0 else 0))
        self._kept *= (1.0 - law.escaped) ** count
        self._error += count * (law.error + SUMMATION_ERROR)
        self._count += count
        norm = math.sqrt(
            float(np.square(masses).sum())
        )  # without BLAS, whose threads cost more than they save
        self._norms, self._least = self._norms + count * norm, min(self._least, norm)
        exponents = self._rate * self._step * (law.first + np.arange(len(law.masses)))
        top = float(exponents.max())
        self._beyond += count * (top + math.log(max(float(law.masses @ np.exp(exponents - top)), 1e-300)))

    def sum(self, start: int, tails: FloatArray, doubt: float) -> _Sum:
        """With one law more, by its tails, and the bound of the page "Risk" for transforms and products."""
        masses, wrapped, upwards = np.zeros(self._size), 0.0, self._rate > 0
        masses[0] = 1.0
        if self._count:
            masses = np.maximum(fft.irfft(self._spectrum, self._size), 0.0)
        edge = self._first + (self._size if upwards else 0)
        if self._farthest >= edge if upwards else self._farthest < edge:
            wrapped = math.exp(min(self._beyond - self._rate * edge * self._step, 0.0)) * (1 + 1e-9)
        masses = np.roll(masses, (self._place - self._first) % self._size)
        relative = 8 * (math.log2(self._size) + 1) * UNIT_ROUNDOFF
        norms = relative * self._norms + (4 * UNIT_ROUNDOFF + relative) * self._count * self._least
        error = self._error + doubt + 1.01 * math.sqrt(self._size) * norms + wrapped
        escaped = 1.0 - self._kept if upwards else 0.0
        return _Sum(self._step, self._first, masses, escaped, start, tails, error)


def _power(spectrum: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """By repeated squaring: numpy's own goes by logarithms for great powers."""
    if count == 1:
        return spectrum
    half = _power(spectrum, count // 2)
    return half * half * spectrum if count % 2 else half * half
