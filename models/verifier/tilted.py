"""Transforms of one increment under an exponential tilt, from samples of its density or from its points.

Multiplying a density by exp(tilt * value) makes loss-lowering tails exponential; `convolution` multiplies the
transforms of many increments.
"""

import functools
import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.laws import Normal
from depl.models.verifier.laws import FloatArray, RandomLaw, distribution, is_smooth, point_nodes

ComplexArray: TypeAlias = NDArray[np.complex128]

_SAMPLING = 1e-10
"""Greatest change of a transform, of mass 1, by leaving out every second sample: set by hand. Errors fall
geometrically, so those of all samples are about its square; the repetition measures that without proof."""
_FINEST_LEVEL = 12  # doublings of 64 samples, by hand: sharper peaks go to the grid, whose bracket is wider
_MANY_PRODUCTS, _MOST_PRODUCTS = 1_000_000, 200_000_000
_MOST_FOLDED = 2**24  # cells of a period: 128 MiB for an array of doubles; narrower laws are summed directly
_SLOPES_AT_ONCE = 32  # as many as stay in the cache of a core


@dataclass(frozen=True)
class Profile:
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


@functools.lru_cache(maxsize=1024)
def profile(law: RandomLaw) -> Profile:
    """Of a law, kept."""
    if not is_smooth(law):
        points, weights = point_nodes(law, math.inf)
        possible = weights > 0  # far points of a narrow law have underflown
        return Profile(points[possible], np.log(weights[possible]))
    base = distribution(law)
    if isinstance(law, Normal):
        points = np.linspace(law.mean - 40.0 * base.std(), law.mean + 40.0 * base.std(), 1500)
        spacing = np.full(1500, points[1] - points[0])
    else:
        points = np.geomspace(0.5 * base.ppf(1e-60), base.isf(1e-40), 1500)
        spacing = points * math.log(points[1] / points[0])
    return Profile(points, np.asarray(base.logpdf(points) + np.log(spacing), dtype=float))


@dataclass(frozen=True)
class Tilted:
    """One copy of ``factor * X`` under a tilt; ``logarithm`` is log E exp(tilt * value)."""

    law: RandomLaw
    factor: float
    tilt: float
    logarithm: float

    def density(self, values: FloatArray) -> FloatArray:
        """Tilted density of ``factor * X``."""
        return self.tilted(values, distribution(self.law).logpdf(values / self.factor))

    def tilted(self, values: FloatArray, log_density: FloatArray) -> FloatArray:
        """Tilted density of ``factor * X`` where the logarithm of X's own is known."""
        exponents = log_density + self.tilt * values - self.logarithm
        return np.asarray(np.exp(exponents) / abs(self.factor), dtype=float)

    def extent(self) -> tuple[float, float]:
        """Where X matters."""
        law = profile(self.law)
        exponents = law.log_weights + self.tilt * self.factor * law.points
        heavy = np.flatnonzero(exponents > exponents.max() - 46.0)
        first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(exponents) - 1)
        return float(law.points[first]), float(law.points[last])


@dataclass(frozen=True)
class Waves:
    """The frequencies j / period, j = 0, ..., size - 1, at which transforms are wanted."""

    period: float
    size: int


def transform_of(
    tilted: Tilted, waves: Waves, level: int, refinement: int
) -> tuple[ComplexArray, int] | None:
    """Transform of one tilted law, and how finely its density was sampled."""
    if is_smooth(tilted.law):
        return _sampled_transform(tilted, waves, level, refinement)
    values = _point_transform(tilted, waves, refinement)
    return None if values is None else (values, level)


def _point_transform(tilted: Tilted, waves: Waves, refinement: int) -> ComplexArray | None:
    """Transform of a tilted law that is given by points: atoms, or a density on an interval."""
    factor = tilted.factor
    longest = 4.0 * waves.period / (waves.size * abs(factor) * (1 + refinement))
    points, weights = point_nodes(tilted.law, longest)
    if len(points) * waves.size > _MOST_PRODUCTS:
        return None
    values = factor * points
    weights = weights * np.exp(tilted.tilt * values - tilted.logarithm)
    return _wave_sums(values / waves.period, weights, waves.size)


def _sampled_transform(
    tilted: Tilted, waves: Waves, level: int, refinement: int
) -> tuple[ComplexArray, int] | None:
    """Transform of one tilted density from its samples, and how finely (a power of two) they lie.

    Samples are uniform, or geometric where that takes fewer (heavy tails next to a sharp peak). They suffice
    when leaving out every second one changes nothing visible: the error of the full set is then far smaller.
    """
    while level <= _FINEST_LEVEL:
        number = 64 * 2**level
        few = number * waves.size <= 2 * _MANY_PRODUCTS and not isinstance(tilted.law, Normal)
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


def _geometric_samples(tilted: Tilted, number: int, _waves: Waves) -> tuple[FloatArray, FloatArray]:
    """Values of ``factor * X`` in geometric progression, with their masses; not for normal laws."""
    low, high = tilted.extent()
    points, log_density = _geometric_points(tilted.law, low, high, number)
    values = tilted.factor * points
    spacing = np.abs(values) * (math.log(high / low) / (number - 1))
    return values, tilted.tilted(values, log_density) * spacing


@functools.lru_cache(maxsize=256)
def _geometric_points(law: RandomLaw, low: float, high: float, number: int) -> tuple[FloatArray, FloatArray]:
    """Points in geometric progression with the logarithm of the density; epochs of one model share them."""
    points = np.geomspace(low, high, number)
    return points, np.asarray(distribution(law).logpdf(points), dtype=float)


def _uniform_samples(tilted: Tilted, number: int, waves: Waves) -> tuple[FloatArray, FloatArray]:
    """Values at multiples of period / cells; with too few cells a fast wave would look slow."""
    low, high = sorted(tilted.factor * end for end in tilted.extent())
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
