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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize

from depl.models.problem.laws import Normal
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
    point_nodes,
    variance_of,
)
from depl.models.verifier.tolerances import RELATIVE_ROUNDING

ComplexArray: TypeAlias = NDArray[np.complex128]

_SPARED_DIGITS = 5.0
"""Logarithm of what a steeper tilt may cost in digits: 2.2 of the 5 decimals between 1e-15 and
`RELATIVE_ROUNDING`. Set by hand; more shortens the period and loses digits, which shows as width."""
_SAMPLING = 1e-10
"""Greatest change of a transform, of mass 1, by leaving out every second sample: set by hand. Errors fall
geometrically, so those of all samples are about its square; the repetition measures that without proof."""
_FINEST_LEVEL = 12  # doublings of 64 samples, by hand: sharper peaks go to the grid, whose bracket is wider
_SHALLOWEST = 0.03
"""Least tilt times spread: below it a period takes 28 / 0.03 = 900 spreads; a proved, wide bound answers."""
_MANY_PRODUCTS, _MOST_PRODUCTS = 1_000_000, 200_000_000
_NEGLIGIBLE = 1e-14  # size of a transform that has decayed: of the order of its rounding, 100 times 2**-53
_MOST_FREQUENCIES = 2**15  # by hand: time goes with it, and what has not decayed by then goes to the grid
_MOST_CELLS = 2**20  # of a density: 8 MiB for an array of doubles; what needs more goes to the grid
_MOST_FOLDED = 2**24  # cells of a period: 128 MiB for an array of doubles; narrower laws are summed directly
_FIRST_FREQUENCIES = 64  # by hand: doubled until a transform has decayed; more take longer for wide laws
_STEPS_PER_WAVE = 64
"""Steps for half the shortest wave of a density: set by hand. Boole's rule errs by its sixth power; those
waves have decayed, and the repetition measures what is left. Twice as many double the cells."""
_GENTLEST, _TRIED_TILTS = 600.0, 64
"""Logarithm of the gentlest tilt, which a double still holds, and how many are tried where no tilt has a
given relation to its deviation: set by hand, as any is sound and the repetition measures what it gives."""
_SLOPES_AT_ONCE = 32  # as many as stay in the cache of a core


@dataclass(frozen=True)
class _Profile:
    """A law as points and logarithmic weights: exact for atoms, a quadrature for a density."""

    points: FloatArray
    log_weights: FloatArray

    @functools.cached_property
    def _powers(self) -> FloatArray:
        return np.column_stack([np.ones_like(self.points), self.points, self.points**2])

    def tilted(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log E exp(slope X), and mean and variance of X under that tilt; shapes of ``slopes``."""
        found = np.empty((3, len(slopes)))
        for first in range(0, len(slopes), _SLOPES_AT_ONCE):
            part = slice(first, first + _SLOPES_AT_ONCE)
            exponents = self.log_weights + np.outer(slopes[part], self.points)
            largest = exponents.max(axis=1)
            total, mean, square = (np.exp(exponents - largest[:, None]) @ self._powers).T
            found[:, part] = largest + np.log(total), mean / total, square / total - (mean / total) ** 2
        return found[0], found[1], np.maximum(found[2], 0.0)


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

    def cumulants(self, tilt: float) -> FloatArray:
        """log E exp(tilt Y), tilted mean and tilted variance of one copy Y of each increment."""
        if tilt not in self._known:
            self._known[tilt] = self._cumulants(tilt)
        return self._known[tilt]

    def _cumulants(self, tilt: float) -> FloatArray:
        values = np.zeros((3, len(self.increments)))
        for law, indices in self._by_law.items():
            factors = self._factors[indices]
            logarithm, mean, variance = _profile(law).tilted(tilt * factors)
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
        waves, levels = _Waves(period, size), dict[RandomLaw, int]()
        for item, logarithm in zip(self.increments, self.cumulants(tilt)[0], strict=True):
            tilted = _Tilted(item, tilt, float(logarithm))
            if is_smooth(item.law):
                found = _sampled_transform(tilted, waves, levels.get(item.law, 0), refinement)
                values, levels[item.law] = (None, 0) if found is None else found
            else:
                values = _point_transform(tilted, waves, refinement)
            if values is None:
                return None
            mass = float(values[0].real)
            power = (values / mass) ** item.count
            total *= power
            decay *= 1.0 if is_discrete(item.law) else np.abs(power)
            log_moment += item.count * (tilted.logarithm + math.log(mass))
        return total, decay, log_moment


class _Average(NamedTuple):
    """A bracketed mean, and how much of its width is due to the far lower tail."""

    lower: float
    upper: float
    leftover: float


def tail_of_tiltable(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """P(sum > gap), at least one increment smooth and none polynomial; None if out of reach."""
    total = TiltableSum(increments)
    if gap >= total.top:
        return Bracket(0.0, 0.0)
    tilt = _steepest_tilt(total, gap)
    chernoff = total.log_moment(tilt) - tilt * gap
    if chernoff < -60.0:
        return Bracket(0.0, math.exp(chernoff) * 1.001)
    if tilt * total.spread < _SHALLOWEST:
        return _far_below(increments, gap)
    coarse = _half_line(total, gap, 0.8 * tilt, 0)
    fine = None if coarse is None else _half_line(total, gap, tilt, 1)
    if coarse is None or fine is None:
        return None
    value, allowance = fine
    error = 2.0 * abs(value - coarse[0]) + allowance + _doubt(increments) * value
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
    total = TiltableSum(increments)
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


def _half_line(total: TiltableSum, gap: float, tilt: float, refinement: int) -> tuple[float, float] | None:
    """The probability that the sum exceeds ``gap`` and an allowance for wrapping and rounding."""
    chernoff = total.log_moment(tilt) - tilt * gap
    period = (1.0 + 0.15 * refinement) * max(28.0, 28.0 - chernoff) / tilt
    period, wrapped = _period_free_of_rises(total, gap, tilt, period, chernoff - 28.0)
    result = total.transform(tilt, period, refinement)
    if result is None:
        return None
    transform, log_moment = result
    offsets, density = _density_from(transform, period, gap)
    scale = math.exp(log_moment - tilt * gap)
    untilted = np.exp(-tilt * offsets) * density
    fine, wide = (float(integrate.simpson(untilted[::each], x=offsets[::each])) for each in (1, 2))
    value = scale * (16.0 * fine - wide) / 15.0  # Boole's rule: Simpson's with its leading error removed
    rounding = 1e-15 * scale * (1.0 + float(np.abs(density).max()) / tilt)
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


def _period_free_of_rises(
    total: TiltableSum, gap: float, tilt: float, period: float, wanted: float
) -> tuple[float, float]:
    """Lengthen the period until the sum's mass beyond gap + period, amplified by wrapping, is negligible."""
    for _ in range(40):
        bound = _amplified(total, gap, tilt, period)
        if bound < wanted:
            break
        period *= 1.15
    return period, math.exp(min(bound, 0.0)) if bound > -700.0 else 0.0


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


@dataclass(frozen=True)
class _Tilted:
    """One copy of an increment under a tilt; ``logarithm`` is log E exp(tilt * value)."""

    item: Increment
    tilt: float
    logarithm: float

    def density(self, values: FloatArray) -> FloatArray:
        """Tilted density of ``factor * X``."""
        return self.tilted(values, distribution(self.item.law).logpdf(values / self.item.factor))

    def tilted(self, values: FloatArray, log_density: FloatArray) -> FloatArray:
        """Tilted density of ``factor * X`` where the logarithm of X's own is known."""
        exponents = log_density + self.tilt * values - self.logarithm
        return np.asarray(np.exp(exponents) / abs(self.item.factor), dtype=float)

    def extent(self) -> tuple[float, float]:
        """Where X matters."""
        profile = _profile(self.item.law)
        exponents = profile.log_weights + self.tilt * self.item.factor * profile.points
        heavy = np.flatnonzero(exponents > exponents.max() - 46.0)
        first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(exponents) - 1)
        return float(profile.points[first]), float(profile.points[last])


@dataclass(frozen=True)
class _Waves:
    """The frequencies j / period, j = 0, ..., size - 1, at which transforms are wanted."""

    period: float
    size: int


def _point_transform(tilted: _Tilted, waves: _Waves, refinement: int) -> ComplexArray | None:
    """Transform of a tilted law that is given by points: atoms, or a density on an interval."""
    factor = tilted.item.factor
    longest = 4.0 * waves.period / (waves.size * abs(factor) * (1 + refinement))
    points, weights = point_nodes(tilted.item.law, longest)
    if len(points) * waves.size > _MOST_PRODUCTS:
        return None
    values = factor * points
    weights = weights * np.exp(tilted.tilt * values - tilted.logarithm)
    return _wave_sums(values / waves.period, weights, waves.size)


def _sampled_transform(
    tilted: _Tilted, waves: _Waves, level: int, refinement: int
) -> tuple[ComplexArray, int] | None:
    """Transform of one tilted density from its samples, and how finely (a power of two) they lie.

    Samples are uniform, or geometric where that takes fewer (heavy tails next to a sharp peak). They suffice
    when leaving out every second one changes nothing visible: the error of the full set is then far smaller.
    """
    while level <= _FINEST_LEVEL:
        number = 64 * 2**level
        few = number * waves.size <= 2 * _MANY_PRODUCTS and not isinstance(tilted.item.law, Normal)
        for sampler in (_geometric_samples, _uniform_samples) if few else (_uniform_samples,):
            values, weights = sampler(tilted, number, waves)
            signed = weights * (1 - 2 * (np.arange(len(values)) % 2))
            fastest = np.exp(2j * math.pi * waves.size / waves.period * values)
            if max(abs(signed.sum()), abs(signed @ fastest)) < _SAMPLING:
                values, weights = sampler(tilted, number * 2**refinement, waves)
                turns = values / waves.period
                found = _transformed(turns, weights, waves.size, sampler is _uniform_samples)
                return None if found is None else (found, level)
        level += 1
    return None


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


def _geometric_samples(tilted: _Tilted, number: int, _waves: _Waves) -> tuple[FloatArray, FloatArray]:
    """Values of ``factor * X`` in geometric progression, with their masses; not for normal laws."""
    low, high = tilted.extent()
    points, log_density = _geometric_points(tilted.item.law, low, high, number)
    values = tilted.item.factor * points
    spacing = np.abs(values) * (math.log(high / low) / (number - 1))
    return values, tilted.tilted(values, log_density) * spacing


@functools.lru_cache(maxsize=256)
def _geometric_points(law: RandomLaw, low: float, high: float, number: int) -> tuple[FloatArray, FloatArray]:
    """Points in geometric progression with the logarithm of the density; epochs of one model share them."""
    points = np.geomspace(low, high, number)
    return points, np.asarray(distribution(law).logpdf(points), dtype=float)


def _uniform_samples(tilted: _Tilted, number: int, waves: _Waves) -> tuple[FloatArray, FloatArray]:
    """Values at multiples of period / cells; with too few cells a fast wave would look slow."""
    low, high = sorted(tilted.item.factor * end for end in tilted.extent())
    cells = max(4 * waves.size, number * waves.period / (high - low))
    step = waves.period / 2 ** math.ceil(math.log2(cells))
    values = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
    return values, tilted.density(values) * step


def _wave_sums(turns: FloatArray, weights: FloatArray, size: int) -> ComplexArray:
    """Sums of weights * exp(2 pi i j turns) for j = 0, ..., size - 1 (a power of two).

    j is split into a multiple of ``inner`` and a remainder, which turns the double sum into a matrix product.
    """
    inner = 2 ** (size.bit_length() // 2)
    total = np.zeros((size // inner, inner), dtype=complex)
    fraction = turns % 1.0
    for first in range(0, len(turns), 20_000):
        part = slice(first, first + 20_000)
        small = np.exp(2j * math.pi * np.outer(fraction[part], np.arange(inner)))
        large = np.exp(2j * math.pi * np.outer(np.arange(0, size, inner), fraction[part]))
        total += (large * weights[part]) @ small
    return total.ravel()


@functools.lru_cache(maxsize=1024)
def _profile(law: RandomLaw) -> _Profile:
    if not is_smooth(law):
        points, weights = point_nodes(law, math.inf)
        possible = weights > 0  # far points of a narrow law have underflown
        return _Profile(points[possible], np.log(weights[possible]))
    base = distribution(law)
    if isinstance(law, Normal):
        points = np.linspace(law.mean - 40.0 * base.std(), law.mean + 40.0 * base.std(), 1500)
        spacing = np.full(1500, points[1] - points[0])
    else:
        points = np.geomspace(0.5 * base.ppf(1e-60), base.isf(1e-40), 1500)
        spacing = points * math.log(points[1] / points[0])
    return _Profile(points, np.asarray(base.logpdf(points) + np.log(spacing), dtype=float))


def _spread(law: RandomLaw) -> float:
    if is_smooth(law):
        base = distribution(law)
        return float(base.ppf(0.75) - base.ppf(0.25))
    return math.sqrt(variance_of(law))
