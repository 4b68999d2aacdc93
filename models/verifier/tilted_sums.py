"""Sums of independent increments of which at least one has a smooth density: tilted, sampled and convolved.

Every density is multiplied by exp(tilt y), tilt > 0, so that loss-lowering tails, which may be polynomial,
become exponential and small probabilities ordinary. Samples give the discrete Fourier transforms, their
product that of the sum; the density of the sum is untilted and integrated above the threshold. What wraps
round the period is bounded; discretisation is measured by a repetition with another tilt, a longer period and
finer samples. The page "The verifier" has the argument.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from depl.models.problem.laws import Law, Normal
from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    distribution,
    ends,
    expectation,
    is_discrete,
    is_smooth,
    number_of_points,
    point_nodes,
    spread,
    variance_of,
)
from depl.models.verifier.tolerances import RELATIVE_ROUNDING

ComplexArray: TypeAlias = NDArray[np.complex128]

_SPARED_DIGITS = 4.0
"""Logarithm of what a steeper tilt may cost in digits: 1.7 of the 5 decimals between 1e-15 and
`RELATIVE_ROUNDING`. Set by hand; more shortens the period and loses digits, which shows as width."""
_SHALLOWEST = 0.02
"""Least tilt times spread: below it a period takes 28 / 0.02 = 1400 spreads; a proved, wide bound answers."""
_NEGLIGIBLE = 1e-14  # size of a transform that has decayed: of the order of its rounding, 100 times 2**-53
_FREQUENCIES = (64, 2**15)  # by hand: doubled until a transform has decayed; what has not by then is rounded
_AGAIN, _TRIED = 1e-9, 4
"""Relative error up to which the last transforms of other thresholds answer, or up to little more than there:
set by hand. Errors are counted for each threshold, so any value is sound; it trades time for width."""
_STEPS_PER_WAVE = 16
"""Steps of a density for its shortest wave: set by hand. Those waves have decayed; the rule errs by the
eighth power of a step, and the repetition measures what is left. Twice as many double the cells."""
_TILTS = np.exp(np.arange(-9.0, 5.0, 0.125))
"""Tilts in terms of the spread of a sum: set by hand, as any is sound."""
_LOWEST, _HIGHEST, _STEP = -9.0, 8.5, 0.25
"""Logarithms of slopes of single laws, by extent or spread: set by hand, to ten times the steepest tilt of a
sum. Below the least, it is the mean that matters."""
_PROFILE_POINTS = 400  # of a law, for logarithms of its moments alone; any number is sound, as is any tilt

_SAMPLING = 1e-10
"""Greatest change of a transform, of mass 1, by leaving out every second sample: set by hand. Errors fall
geometrically, so those of all samples are about its square; the repetition measures that without proof."""
_FINEST_LEVEL = 12  # doublings of 64 samples, by hand: sharper peaks are rounded, whose bracket is wider
_MANY_PRODUCTS, _MOST_PRODUCTS = 1_000_000, 200_000_000
_MOST_FOLDED = 2**24  # cells of a period, 128 MiB of doubles


def tilted_tail(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """P(sum > gap), all of whose increments have moments for rising loss; None if out of reach.

    The transforms of gaps before serve again where the bracket is about as narrow: l_max and both ends of
    a claimed quantile are asked one by one.
    """
    total = _summed(tuple(increments))
    if gap >= total.top:
        return Bracket(0.0, 0.0)
    for coarse, fine, relative in total.known[-_TRIED:]:
        value, error = total.integrated(gap, coarse, fine)
        if error <= max(_AGAIN, 1.2 * relative) * value:
            return _around(value, error)
    exponents = total.log_moments(total.tilts) - total.tilts * gap
    steepest = np.flatnonzero(exponents <= exponents.min() + _SPARED_DIGITS)[-1]
    tilt, exponent = float(total.tilts[steepest]), float(exponents[steepest])
    if exponent < -60.0:
        return Bracket(0.0, math.exp(exponent) * 1.001)
    if tilt * total.spread < _SHALLOWEST:
        return _far_below(increments, gap)
    pair = total.spectrum(gap, 0.8 * tilt, 0), total.spectrum(gap, tilt, 1)
    if pair[0] is None or pair[1] is None:
        return None
    value, error = total.integrated(gap, pair[0], pair[1])
    total.known.append((pair[0], pair[1], error / value if value > 0.0 else math.inf))
    return _around(value, error)


def _around(value: float, error: float) -> Bracket:
    return Bracket(min(1.0, max(0.0, value - error)), min(1.0, value + error))


class _Spectrum(NamedTuple):
    """The transform of a tilted sum at j / period, j = 0, 1, ..., and log E exp(tilt * sum)."""

    tilt: float
    period: float
    transform: ComplexArray
    log_moment: float


class _Profile:
    """Points and logarithmic weights of a law, exact for atoms, and logarithms of its moments."""

    def __init__(self, law: Law) -> None:
        self.points, self.log_weights = _profile_points(law)
        weights = np.exp(self.log_weights)
        self.mean = float(weights @ self.points / weights.sum())
        narrow = spread(law) or 1.0
        lowest = _LOWEST - math.log(max(narrow, float(np.ptp(self.points)) / 100.0))
        self._slopes = np.exp(np.arange(lowest, _HIGHEST - math.log(narrow), _STEP))
        self._known: dict[float, tuple[FloatArray, FloatArray]] = {}

    def cumulants(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """About log E exp(slope X), for slopes of one sign, and the variance of X under that tilt.

        Interpolated between convex values: never too low, so that what is bounded by them stays bounded.
        """
        sign = float(np.sign(slopes.flat[0]))
        if sign not in self._known:
            self._known[sign] = self._cumulants(sign * self._slopes)
        log_moments, variances = self._known[sign]
        places, grid = np.log(np.abs(slopes)), np.log(self._slopes)
        return slopes * self.mean + np.interp(places, grid, log_moments), np.interp(places, grid, variances)

    def _cumulants(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log E exp(slope (X - mean)), and the variance."""
        distances = self.points - self.mean
        exponents = self.log_weights + np.outer(slopes, distances)
        largest = exponents.max(axis=1)
        powers = np.stack([np.ones_like(distances), distances, distances**2], axis=1)
        total, first, second = (np.exp(exponents - largest[:, None]) @ powers).T
        return largest + np.log(total), np.maximum(second / total - (first / total) ** 2, 0.0)

    def extent(self, slope: float) -> tuple[float, float]:
        """Where X matters under a tilt."""
        exponents = self.log_weights + slope * self.points
        heavy = np.flatnonzero(exponents > exponents.max() - 46.0)
        first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(exponents) - 1)
        return float(self.points[first]), float(self.points[last])


_profile = functools.lru_cache(maxsize=1024)(_Profile)


def _profile_points(law: Law) -> tuple[FloatArray, FloatArray]:
    if not is_smooth(law):
        points, weights = point_nodes(law, math.inf)
        possible = weights > 0  # far points of a narrow law have underflown
        return points[possible], np.log(weights[possible])
    base = distribution(law)
    if isinstance(law, Normal):
        points = np.linspace(-40.0, 40.0, _PROFILE_POINTS) * math.sqrt(law.variance) + law.mean
        spacing = np.full(len(points), points[1] - points[0])
    else:
        low, high = float(base.ppf(np.float64(1e-60))), float(base.isf(np.float64(1e-40)))
        points = np.geomspace(0.5 * low, high, _PROFILE_POINTS)
        spacing = points * math.log(points[1] / points[0])
    return points, np.asarray(base.logpdf(points) + np.log(spacing), dtype=float)


class _Sum:
    """The sum of increments that have exponential moments on the side of rising loss."""

    def __init__(self, increments: tuple[Increment, ...]) -> None:
        self._by_law: dict[Law, list[tuple[float, int]]] = {}
        for item in increments:
            self._by_law.setdefault(item.law, []).append((item.factor, item.count))
        self.top = math.fsum(item.count * ends(item)[1] for item in increments)
        spreads = [item.count * (item.factor * spread(item.law)) ** 2 for item in increments]
        self.spread = math.sqrt(math.fsum(spreads))
        self.tilts = _TILTS / self.spread
        dense = [item for item in increments if not is_discrete(item.law)]
        doubts = [item.count * distribution(item.law).doubt for item in dense]
        self._doubt = RELATIVE_ROUNDING + math.fsum(doubts)
        self.known: list[tuple[_Spectrum, _Spectrum, float]] = []  # with the relative error of an answer

    def log_moments(self, tilts: FloatArray) -> FloatArray:
        """About log E exp(tilt * sum), and never less."""
        found: FloatArray = self._cumulants(tilts)[0]
        return found

    def _cumulants(self, tilts: FloatArray) -> FloatArray:
        """The same, and below it the variance of what has a density, under the tilts."""
        found = np.zeros((2, len(tilts)))
        for law, pairs in self._by_law.items():
            factors, counts = np.array(pairs).T
            for part in (factors > 0, factors < 0):
                if part.any():
                    logarithms, variances = _profile(law).cumulants(np.outer(factors[part], tilts))
                    found[0] += counts[part] @ logarithms
                    found[1] += 0.0 if is_discrete(law) else (counts * factors**2)[part] @ variances
        return found

    def spectrum(self, gap: float, tilt: float, refinement: int) -> _Spectrum | None:
        """Of the tilted sum, on a period that suits ``gap``; None if it decays too slowly."""
        logarithm, variance = self._cumulants(np.array([tilt]))[:, 0].tolist()
        chernoff = logarithm - tilt * gap
        period = (1.0 + 0.15 * refinement) * max(28.0, 28.0 - chernoff) / tilt
        for _ in range(40):  # until the mass beyond gap + period, amplified by wrapping, is negligible
            if self._amplified(gap, tilt, period) < chernoff - 28.0:
                break
            period *= 1.15
        least, most = _FREQUENCIES
        needed = 8.0 * period / (2.0 * math.pi * math.sqrt(variance)) if variance > 0.0 else math.inf
        size = 2 ** math.ceil(math.log2(max(least, min(needed, 2.0 * most))))
        while size <= most:
            found = self._transform(tilt, period, size, refinement)
            if found is None:
                return None
            transform, decay, log_moment = found
            if decay[3 * size // 4 :].max() < _NEGLIGIBLE:
                return _Spectrum(tilt, period, transform, log_moment)
            size *= 2
        return None

    def _transform(
        self, tilt: float, period: float, size: int, refinement: int
    ) -> tuple[ComplexArray, FloatArray, float] | None:
        """The first ``size`` values, their decay (without atoms, which revive) and log E exp(tilt * sum)."""
        total, decay, log_moment = np.ones(size, dtype=complex), np.ones(size), 0.0
        for law, pairs in self._by_law.items():
            waves, level = _Waves(law, tilt, period, size, refinement), 0
            for factor, count in pairs:
                shift = float(_profile(law).cumulants(np.array([tilt * factor]))[0][0])
                if is_smooth(law):
                    found, level = waves.of_samples(factor, shift, level)
                else:
                    found = waves.of_points(factor, shift)
                if found is None:
                    return None
                mass = float(found[0].real)
                log_moment += count * (math.log(mass) + shift)
                powers = (found / mass) ** count
                total *= powers
                decay *= 1.0 if is_discrete(law) else np.abs(powers)
        return total, decay, log_moment

    def _amplified(self, start: float, tilt: float, period: float) -> float:
        """Logarithm of a bound of exp(tilt period) P(sum > start + period)."""
        if start + period >= self.top:
            return -math.inf
        steeper = tilt * np.array([1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0])
        return float((self.log_moments(steeper) - steeper * start - (steeper - tilt) * period).min())

    def integrated(self, gap: float, coarse: _Spectrum, fine: _Spectrum) -> tuple[float, float]:
        """The probability that the sum exceeds ``gap`` by the finer transform, and what it may be off."""
        value, allowance = self._half_line(gap, fine)
        other = self._half_line(gap, coarse)[0]
        return value, 2.0 * abs(value - other) + allowance + self._doubt * value

    def _half_line(self, gap: float, spectrum: _Spectrum) -> tuple[float, float]:
        """The integral of the density above ``gap``, and an allowance for wrapping and rounding."""
        tilt, period, transform, log_moment = spectrum
        cells = _STEPS_PER_WAVE * len(transform)
        turned = transform * np.exp(-2j * math.pi * np.arange(len(transform)) * (gap / period))
        density = np.fft.irfft(np.conj(turned), cells) * (cells / period)
        step, scale = period / cells, math.exp(min(log_moment - tilt * gap, 600.0))
        untilted = np.exp(-tilt * step * np.arange(cells)) * density
        value = scale * step * float(untilted.sum() + _END_WEIGHTS @ untilted[:8])
        rounding = 1e-15 * scale * (1.0 + float(np.abs(density).max()) / tilt)
        wrapped = math.exp(min(self._amplified(gap, tilt, period), 0.0))
        return value, math.exp(-tilt * period) * 1.01 + wrapped + rounding


_summed = functools.lru_cache(maxsize=16)(_Sum)  # with cores, one threshold asks for several sums

_POWERS = np.arange(8.0)
_END_WEIGHTS = np.linalg.solve(np.power.outer(_POWERS, _POWERS).T, -zeta(-_POWERS) - (_POWERS == 0.0))
"""What the first eight terms of a sum over k = 0, 1, ... count more or less, so that it is the integral from
0 for powers below the eighth: the regularised sum of k**n is zeta(-n), and one more for n = 0."""


class _Waves(NamedTuple):
    """Transforms under a tilt of increments of one law, at j / period, j = 0, ..., size - 1.

    They are divided by exp(shift), the interpolated moment.
    """

    law: Law
    tilt: float
    period: float
    size: int
    refinement: int

    def of_points(self, factor: float, shift: float) -> ComplexArray | None:
        """Of atoms, or of a density on an interval."""
        longest = 4.0 * self.period / (self.size * abs(factor) * (1 + self.refinement))
        if number_of_points(self.law, longest) * self.size > _MOST_PRODUCTS:
            return None
        points, weights = point_nodes(self.law, longest)
        weights = weights * np.exp(self.tilt * factor * points - shift)
        return _wave_sums(factor * points / self.period, weights, self.size)

    def of_samples(self, factor: float, shift: float, level: int) -> tuple[ComplexArray | None, int]:
        """Of a density, and how finely it is sampled: uniformly, or geometrically where that takes fewer.

        Samples suffice when leaving out every second one changes nothing visible: the error of the full set
        is then far smaller.
        """
        ends = _profile(self.law).extent(self.tilt * factor)
        for finer in range(level, _FINEST_LEVEL + 1):
            number = (64 + 32 * self.refinement) * 2**finer
            few = number * self.size <= 2 * _MANY_PRODUCTS and not isinstance(self.law, Normal)
            for geometric in (True, False) if few else (False,):
                turns, weights = self._samples(factor, shift, ends, number, geometric)
                signed = weights * (1 - 2 * (np.arange(len(turns)) % 2))
                fastest = np.exp(2j * math.pi * self.size * turns)
                if max(abs(signed.sum()), abs(signed @ fastest)) < _SAMPLING:
                    return _transformed(turns, weights, self.size, not geometric), finer
        return None, level

    def _samples(
        self, factor: float, shift: float, ends: tuple[float, float], number: int, geometric: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Values as parts of the period, and masses.

        Uniform ones are multiples of a period over a power of two; with too few a fast wave would look slow.
        """
        low, high = sorted(factor * end for end in ends)
        if geometric:
            values = factor * np.geomspace(*ends, number)
            spacings = np.abs(values) * (math.log(ends[1] / ends[0]) / (number - 1))
        else:
            cells = max(4 * self.size, number * self.period / (high - low))
            step = self.period / 2 ** math.ceil(math.log2(cells))
            values = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
            spacings = np.full(len(values), step)
        exponents = distribution(self.law).logpdf(values / factor) + self.tilt * values - shift
        return values / self.period, np.exp(exponents) * (spacings / abs(factor))


def _transformed(turns: FloatArray, weights: FloatArray, size: int, uniform: bool) -> ComplexArray | None:
    """Sums of weights * exp(2 pi i j turns), j < size: by the fast transform if they are many.

    None if there are too many for either: samples of a law so narrow that a period has too many cells.
    """
    if not uniform or len(turns) * size < _MANY_PRODUCTS:
        return _wave_sums(turns, weights, size)
    cells = round(1.0 / (turns[1] - turns[0]))
    if cells > _MOST_FOLDED:
        return _wave_sums(turns, weights, size) if len(turns) * size <= _MOST_PRODUCTS else None
    folded = np.bincount(np.rint(turns * cells).astype(int) % cells, weights, cells)
    return np.conj(np.fft.rfft(folded)[:size])


def _wave_sums(turns: FloatArray, weights: FloatArray, size: int) -> ComplexArray:
    """Sums of weights * exp(2 pi i j turns) for j = 0, ..., size - 1 (a power of two).

    j is split into a multiple of ``inner`` and a remainder, which turns the double sum into a matrix product.
    """
    inner = 2 ** (size.bit_length() // 2)
    total = np.zeros((size // inner, inner), dtype=complex)
    for first in range(0, len(turns), 20_000):
        part = slice(first, first + 20_000)
        large = _waves(turns[part] * inner, size // inner) * weights[part]
        total += large @ _waves(turns[part], inner).T
    return total.ravel()


def _waves(turns: FloatArray, size: int) -> ComplexArray:
    """exp(2 pi i j turns) for j = 0, ..., size - 1 (a power of two), as rows: each j by its binary digits."""
    found = np.ones((1, len(turns)), dtype=complex)
    while len(found) < size:
        found = np.concatenate([found, found * np.exp(2j * math.pi * (turns * len(found) % 1.0))])
    return found


def _far_below(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """Cantelli's bound where the sum almost certainly exceeds ``gap``; None where it says nothing."""
    mean = math.fsum(item.count * item.factor * expectation(item.law) for item in increments)
    variance = math.fsum(item.count * item.factor**2 * variance_of(item.law) for item in increments)
    if mean <= gap or not math.isfinite(variance):
        return None
    return Bracket((mean - gap) ** 2 / ((mean - gap) ** 2 + variance), 1.0)
