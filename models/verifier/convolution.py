"""Sums of independent increments with smooth densities, by sampling scipy's densities and convolving them.

The verifier's numerical core. Everything is an ordinary convolution on a grid, done in the Fourier domain:

1. Multiply the density of every increment by exp(theta y), theta > 0 (exponential tilting). The loss-lowering
   tails, which may be polynomial, become exponential, and small probabilities become ordinary ones.
2. Sample the tilted densities, each as finely as it needs; the discrete Fourier transform of the samples is
   the transform of the density, up to what lies beyond the Nyquist frequency. Atoms and truncated laws enter
   by a direct sum over their points.
3. Multiply, transform back to the density of the sum, remove the tilt, integrate above the threshold.

What wraps round the period is bounded: mass of the sum far below comes back at most exp(-theta * period)
times, mass far above by a Chernoff bound. Discretisation is measured by repeating the computation with
another tilt, a longer period and finer samples. Untruncated Student-t increments cannot be tilted; their
joint exceedance comes from `depl.models.verifier.jumps` and is averaged over the density of the rest.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize

from depl.models.verifier.factors import MANY, series_over
from depl.models.verifier.jumps import Exceedance
from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    RandomLaw,
    absolute_deviation,
    density_doubt,
    distribution,
    ends,
    expectation,
    is_discrete,
    is_smooth,
    variance_of,
)
from depl.models.verifier.tilted import Tilted, Waves, profile, transform_of
from depl.models.verifier.tolerances import RELATIVE_ROUNDING

ComplexArray: TypeAlias = NDArray[np.complex128]

_SPARED_DIGITS = 5.0
"""Logarithm of what a steeper tilt may cost in digits: 2.2 of the 5 decimals between 1e-15 and
`RELATIVE_ROUNDING`. Set by hand; more shortens the period and loses digits, which shows as width."""
_SHALLOWEST = 0.03
"""Least tilt times spread: below it a period takes 28 / 0.03 = 900 spreads; a proved, wide bound answers."""
_NEGLIGIBLE = 1e-14  # size of a transform that has decayed: of the order of its rounding, 100 times 2**-53
_MOST_FREQUENCIES = 2**15  # by hand: time goes with it, and what has not decayed by then goes to the grid
_MOST_CELLS = 2**20  # of a density: 8 MiB for an array of doubles; what needs more goes to the grid
_FIRST_FREQUENCIES = 64  # by hand: doubled until a transform has decayed; more take longer for wide laws
_ABOUT, _NARROW = 1.2, 1e-7
"""How much wider, relative to its probability, a bracket from kept transforms may be, and what is narrow
enough to keep them: set by hand. Any value is sound, as errors are counted for each gap; they trade time for
width."""
_STEPS_PER_WAVE = 64
"""Steps for half the shortest wave of a density: set by hand. Boole's rule errs by its sixth power; those
waves have decayed, and the repetition measures what is left. Twice as many double the cells."""
_GENTLEST, _TRIED_TILTS = 600.0, 64
"""Logarithm of the gentlest tilt, which a double still holds, and how many are tried where no tilt has a
given relation to its deviation: set by hand, as any is sound and the repetition measures what it gives."""


class _Spectrum(NamedTuple):
    """The transform of a tilted sum on a period, and log E exp(tilt * sum)."""

    tilt: float
    period: float
    transform: ComplexArray
    log_moment: float


class _Kept(NamedTuple):
    """Two transforms, and the relative error of the probability that they were made for."""

    coarse: _Spectrum
    fine: _Spectrum
    relative: float


class TiltableSum:
    """The sum of increments that have exponential moments on the side of rising loss."""

    def __init__(self, increments: Sequence[Increment]) -> None:
        self.increments = tuple(increments)
        self._by_law: dict[RandomLaw, list[int]] = {}
        for index, item in enumerate(self.increments):
            self._by_law.setdefault(item.law, []).append(index)
        self._factors = np.array([item.factor for item in self.increments])
        self._counts = np.array([item.count for item in self.increments])
        self.top = math.fsum(item.count * ends(item)[1] for item in self.increments)
        spreads = [item.count * (item.factor * _spread(item.law)) ** 2 for item in self.increments]
        self.spread = math.sqrt(math.fsum(spreads))
        self._reach = 0.0  # frequency (turns per unit) at which an earlier transform had decayed
        self._known: dict[float, FloatArray] = {}  # cumulants by tilt: most are asked for several times
        self._transformed: dict[tuple[float, float, int], tuple[ComplexArray, float] | None] = {}
        self.kept: _Kept | None = None  # the transforms of the gap that was asked for last

    def cumulants(self, tilt: float) -> FloatArray:
        """log E exp(tilt Y), tilted mean and tilted variance of one copy Y of each increment."""
        if tilt not in self._known:
            self._known[tilt] = self._cumulants(tilt)
        return self._known[tilt]

    def _cumulants(self, tilt: float) -> FloatArray:
        values = np.zeros((3, len(self.increments)))
        for law, indices in self._by_law.items():
            factors = self._factors[indices]

            def cumulants(factors: FloatArray, law: RandomLaw = law) -> FloatArray:
                return np.stack(profile(law).tilted(tilt * factors), axis=1)

            series = series_over(cumulants, factors) if _alike(law, factors) else None
            logarithm, mean, variance = (
                cumulants(factors) if series is None else series.for_factors(factors)
            ).T
            values[:, indices] = logarithm, factors * mean, factors**2 * variance
        return values

    def log_moment(self, tilt: float) -> float:
        """log E exp(tilt * sum)."""
        return float(self._counts @ self.cumulants(tilt)[0])

    def tilted_moments(self, tilt: float) -> tuple[float, float]:
        """Mean and standard deviation of the tilted sum."""
        _, mean, variance = self.cumulants(tilt)
        return float(self._counts @ mean), math.sqrt(float(self._counts @ variance))

    def _random_deviation(self, tilt: float) -> float:
        """Tilted deviation of what has a density; its transform decays no faster than a normal one's."""
        variance = self._counts * self.cumulants(tilt)[2]
        return math.sqrt(float(variance[[not is_discrete(item.law) for item in self.increments]].sum()))

    def transform(self, tilt: float, period: float, refinement: int) -> tuple[ComplexArray, float] | None:
        """Transform of the tilted sum at 2 pi j / period, j = 0, 1, ..., and log E exp(tilt * sum).

        None if it has not decayed within the most frequencies and samples that are affordable.
        """
        key = tilt, period, refinement
        if key not in self._transformed:
            self._transformed[key] = self._decayed(*key)
        return self._transformed[key]

    def _decayed(self, tilt: float, period: float, refinement: int) -> tuple[ComplexArray, float] | None:
        size = max(_FIRST_FREQUENCIES, 2 ** math.floor(math.log2(max(1.0, self._reach * period))))
        if self._random_deviation(tilt) * _MOST_FREQUENCIES < period:
            return None
        while size <= _MOST_FREQUENCIES:
            result = self._transform(tilt, period, size, refinement)
            if result is None:
                return None
            total, decay, log_moment = result
            if decay[3 * size // 4 :].max() < _NEGLIGIBLE:
                self._reach = size / period
                return total, log_moment
            size *= 2
        return None

    def _transform(
        self, tilt: float, period: float, size: int, refinement: int
    ) -> tuple[ComplexArray, FloatArray, float] | None:
        """The first ``size`` values, their decay (without atoms, which revive) and the moment."""
        total, decay, log_moment = np.ones(size, dtype=complex), np.ones(size), 0.0
        waves, rows = Waves(period, size), max(1, _MOST_CELLS // size)
        for law, indices in self._by_law.items():
            transforms = self._transforms(law, np.array(indices), tilt, waves, refinement)
            for first in range(0, len(indices), rows):
                part = np.array(indices[first : first + rows])
                found = transforms(part)
                if found is None:
                    return None
                counts = self._counts[part]
                log_moment += float(counts @ (self.cumulants(tilt)[0, part] + found[:, -1].real))
                powers = found[:, :-1] if counts.max() == 1 else found[:, :-1] ** counts[:, None]
                total *= powers.prod(axis=0)
                decay *= 1.0 if is_discrete(law) else np.abs(powers).prod(axis=0)
        return total, decay, log_moment

    def _transforms(
        self, law: RandomLaw, indices: NDArray[np.intp], tilt: float, waves: Waves, refinement: int
    ) -> Callable[[NDArray[np.intp]], ComplexArray | None]:
        """What gives those of one copy of some increments of a law, as rows.

        They are divided by the mass, whose logarithm is the last column.
        """
        level = 0

        def transforms(factors: FloatArray, logarithms: FloatArray) -> ComplexArray | None:
            nonlocal level
            rows = np.empty((len(factors), waves.size + 1), dtype=complex)
            for row, factor, logarithm in zip(rows, factors, logarithms, strict=True):
                tilted = Tilted(law, float(factor), tilt, float(logarithm))
                found = transform_of(tilted, waves, level, refinement)
                if found is None:
                    return None
                values, level = found
                mass = float(values[0].real)
                row[:-1], row[-1] = values / mass, math.log(mass)
            return rows

        def sampled(factors: FloatArray) -> ComplexArray | None:
            return transforms(factors, profile(law).tilted(tilt * factors)[0])

        factors = self._factors[indices]
        series = series_over(sampled, factors, refinement) if _alike(law, factors) else None
        if series is not None:
            return lambda part: series.for_factors(self._factors[part])
        return lambda part: transforms(self._factors[part], self.cumulants(tilt)[0, part])


def _alike(law: RandomLaw, factors: FloatArray) -> bool:
    """Whether a law has a density and so many factors, all of one sign, that they are interpolated."""
    return is_smooth(law) and len(factors) >= MANY and bool((np.sign(factors) == np.sign(factors[0])).all())


class _Average(NamedTuple):
    """A bracketed mean, and how much of its width is due to the far lower tail."""

    lower: float
    upper: float
    leftover: float


@functools.lru_cache(maxsize=2)
def summed(increments: tuple[Increment, ...]) -> TiltableSum:
    """The sum of some increments, kept: l_max and both ends of a claimed quantile are asked one by one."""
    return TiltableSum(increments)


def tail_of_tiltable(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """P(sum > gap), at least one increment smooth and none polynomial; None if out of reach.

    The transforms of the gap before serve again where the bracket is about as narrow as it was there.
    """
    total = summed(tuple(increments))
    if gap >= total.top:
        return Bracket(0.0, 0.0)
    doubt, kept = _doubt(increments), total.kept
    if kept is not None and kept.relative <= _NARROW:
        value, error = _compared(total, kept.coarse, kept.fine, gap, doubt)
        if error <= _ABOUT * kept.relative * value:
            return _around(value, error)
    tilt = _steepest_tilt(total, gap)
    chernoff = total.log_moment(tilt) - tilt * gap
    if chernoff < -60.0:
        return Bracket(0.0, math.exp(chernoff) * 1.001)
    if tilt * total.spread < _SHALLOWEST:
        return _far_below(increments, gap)
    coarse = _spectrum(total, gap, 0.8 * tilt, 0)
    fine = None if coarse is None else _spectrum(total, gap, tilt, 1)
    if coarse is None or fine is None:
        return None
    value, error = _compared(total, coarse, fine, gap, doubt)
    total.kept = _Kept(coarse, fine, error / value if value > 0.0 else math.inf)
    return _around(value, error)


def _compared(
    total: TiltableSum, coarse: _Spectrum, fine: _Spectrum, gap: float, doubt: float
) -> tuple[float, float]:
    """The probability by the finer of two transforms, and what it may be off."""
    value, allowance = _half_line(total, gap, fine)
    return value, 2.0 * abs(value - _half_line(total, gap, coarse)[0]) + allowance + doubt * value


def _around(value: float, error: float) -> Bracket:
    return Bracket(min(1.0, max(0.0, value - error)), min(1.0, value + error))


def tail_with_polynomial(
    increments: Sequence[Increment], jumps: Exceedance, jump_scale: float, gap: float
) -> Bracket | None:
    """P(sum of increments + sum of polynomial ones > gap), the latter given by their exceedance.

    Parameters
    ----------
    jump_scale : float
        Length on which ``jumps`` changes.
    """
    total = summed(tuple(increments))
    held: tuple[float, _Average] | None = None
    for relative_tilt in (0.7, 0.25, 0.08):
        tilt = _relative_tilt(total, relative_tilt)
        found = _whole_line(total, jumps, jump_scale, gap, tilt, 1)
        if found is None:
            break
        held = tilt, found
        if found.leftover < 5e-6 * found.upper:
            break
    if held is None:
        return None
    tilt, fine = held
    coarse = _whole_line(total, jumps, jump_scale, gap, 1.1 * tilt, 0)
    if coarse is None:
        return None
    error = 2.0 * max(abs(fine.lower - coarse.lower), _doubt(increments) * fine.upper)
    return Bracket(min(1.0, max(0.0, fine.lower - error)), min(1.0, fine.upper + error))


def _doubt(increments: Sequence[Increment]) -> float:
    """Relative error that is granted to sums over densities."""
    return RELATIVE_ROUNDING + math.fsum(item.count * density_doubt(item.law) for item in increments)


def _spectrum(total: TiltableSum, gap: float, tilt: float, refinement: int) -> _Spectrum | None:
    """Of the tilted sum, on a period that suits ``gap``."""
    chernoff = total.log_moment(tilt) - tilt * gap
    period = (1.0 + 0.15 * refinement) * max(28.0, 28.0 - chernoff) / tilt
    period = _period_free_of_rises(total, gap, tilt, period, chernoff - 28.0)
    result = total.transform(tilt, period, refinement)
    return None if result is None else _Spectrum(tilt, period, *result)


def _half_line(total: TiltableSum, gap: float, spectrum: _Spectrum) -> tuple[float, float]:
    """The probability that the sum exceeds ``gap`` and an allowance for wrapping and rounding."""
    tilt, period, transform, log_moment = spectrum
    offsets, density = _density_from(transform, period, gap)
    scale = math.exp(min(log_moment - tilt * gap, _GENTLEST))
    untilted = np.exp(-tilt * offsets) * density
    fine, wide = (float(integrate.simpson(untilted[::each], x=offsets[::each])) for each in (1, 2))
    value = scale * (16.0 * fine - wide) / 15.0  # Boole's rule: Simpson's with its leading error removed
    rounding = 1e-15 * scale * (1.0 + float(np.abs(density).max()) / tilt)
    bound = _amplified(total, gap, tilt, period)
    wrapped = math.exp(min(bound, 0.0)) if bound > -700.0 else 0.0
    return value, math.exp(-tilt * period) * 1.01 + wrapped + rounding


def _whole_line(
    total: TiltableSum, jumps: Exceedance, jump_scale: float, gap: float, tilt: float, refinement: int
) -> _Average | None:
    """The mean of the jumps' exceedance at gap - sum."""
    centre, deviation = total.tilted_moments(tilt)
    log_moment = total.log_moment(tilt)
    top = _highest(total, centre, deviation, tilt)
    period = max(32.0 / tilt, 1.2 * (top - centre))
    result = total.transform(tilt, period, refinement)
    if result is None:
        return None
    transform, log_moment = result
    finest = max(
        2 * _STEPS_PER_WAVE // 8 * len(transform), math.ceil(6.0 * (1 + refinement) * period / jump_scale)
    )
    if finest > _MOST_CELLS:
        return None
    offsets, density = _density_from(transform, period, top - period, 2 ** math.ceil(math.log2(finest)))
    place = top - period + offsets[:-1]
    kept = place > centre - 11.5 / tilt
    place, step = place[kept], float(offsets[1])
    mass = step * density[:-1][kept] * np.exp(log_moment - tilt * place)
    below = max(0.0, 1.0 - float(mass.sum()))
    lower, upper = jumps(gap - place)
    edge = float(jumps(gap - place[:1])[1][0])
    wrapped = math.exp(-tilt * period) * 1.01
    leftover = below * edge
    return _Average(float(mass @ lower) - wrapped, float(mass @ upper) + leftover + wrapped, leftover)


def _far_below(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """A plain bound where the sum almost certainly exceeds ``gap``: Cantelli's, else Markov's."""
    mean = math.fsum(item.count * item.factor * expectation(item.law) for item in increments)
    variance = math.fsum(item.count * item.factor**2 * variance_of(item.law) for item in increments)
    below = mean - gap
    if below <= 0.0:
        return None
    if math.isfinite(variance):
        return Bracket(below**2 / (below**2 + variance), 1.0)
    size = math.fsum(item.count * abs(item.factor) * absolute_deviation(item.law) for item in increments)
    return Bracket(max(0.0, 1.0 - size / below), 1.0)


def _density_from(
    transform: ComplexArray, period: float, start: float, cells: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Offsets from ``start`` over one period, both ends included, and the tilted density there."""
    size = cells or 2 * _STEPS_PER_WAVE * len(transform)
    angles = 2.0 * math.pi * np.arange(len(transform)) * (start / period)
    spectrum = np.conj(transform * np.exp(-1j * angles))
    density = np.fft.irfft(spectrum, size) * (size / period)
    return np.linspace(0.0, period, size + 1), np.append(density, density[0])


def _steepest_tilt(total: TiltableSum, gap: float) -> float:
    """The largest tilt under which exceeding ``gap`` is still not too ordinary to be computed accurately.

    exp(log E exp(tilt * sum) - tilt * gap) is the size of the terms whose sum is the probability. It is
    least at the saddle; a steeper tilt costs digits, of which a few can be spared, and shortens the period.
    """

    def exponent(logarithm: float) -> float:
        tilt = math.exp(logarithm)
        return total.log_moment(tilt) - tilt * gap

    centre = -math.log(total.spread)
    found = optimize.minimize_scalar(
        exponent, bounds=(centre - 9.0, centre + 5.0), method="bounded", options={"xatol": 0.02}
    )
    saddle, spared = float(found.x), float(found.fun) + _SPARED_DIGITS
    if exponent(centre + 5.0) <= spared:
        return math.exp(centre + 5.0)
    return math.exp(
        float(optimize.brentq(lambda place: exponent(place) - spared, saddle, centre + 5.0, xtol=0.02))
    )


def _relative_tilt(total: TiltableSum, relative: float) -> float:
    """The tilt that equals ``relative`` over the standard deviation of the sum under that tilt.

    Any tilt serves, more or less well. So where the deviation vanishes as the tilt grows, and there may be no
    such tilt, it is the one that comes nearest among some.
    """

    def excess(logarithm: float) -> float:
        tilt = math.exp(logarithm)
        return math.log(max(tilt * total.tilted_moments(tilt)[1] / relative, 1e-300))

    centre = -math.log(total.spread)
    low, high = centre - 30.0, centre + 5.0
    while excess(low) > 0.0 and low > -_GENTLEST:  # a far tail outweighs all that is usual
        low -= 30.0
    if excess(high) < 0.0:
        high = max(np.linspace(low, high, _TRIED_TILTS).tolist(), key=excess)
    if excess(low) > 0.0 or excess(high) < 0.0:
        return math.exp(high if excess(high) < 0.0 else low)
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-3)))


def _period_free_of_rises(total: TiltableSum, gap: float, tilt: float, period: float, wanted: float) -> float:
    """Lengthen the period until the sum's mass beyond gap + period, amplified by wrapping, is negligible."""
    for _ in range(40):
        if _amplified(total, gap, tilt, period) < wanted:
            break
        period *= 1.15
    return period


def _amplified(total: TiltableSum, start: float, tilt: float, period: float) -> float:
    """Logarithm of a bound of exp(tilt period) P(sum > start + period)."""
    if start + period >= total.top:
        return -math.inf
    steeper = [tilt * multiple for multiple in (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)]
    return min(total.log_moment(other) - other * start - (other - tilt) * period for other in steeper)


def _highest(total: TiltableSum, centre: float, deviation: float, tilt: float) -> float:
    """A value so high that the sum's mass above it, wrapped round, does not matter."""
    top = centre + 8.0 * deviation
    for _ in range(200):
        if top >= total.top:
            return total.top + deviation
        if _amplified(total, top - 32.0 / tilt, tilt, 32.0 / tilt) < -35.0:
            return top
        top += deviation
    return top


@functools.lru_cache(maxsize=1024)
def _spread(law: RandomLaw) -> float:
    if is_smooth(law):
        base = distribution(law)
        return float(base.ppf(0.75) - base.ppf(0.25))
    return math.sqrt(variance_of(law))
