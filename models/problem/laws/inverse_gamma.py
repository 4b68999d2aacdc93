"""The inverse gamma law, that of X in eq. (8) of the paper."""

import functools
import math
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from msgspec import Meta
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import expm1, log1p

from depl.models.foundation.documents import Positive
from depl.models.problem.laws.law import (
    MOMENT_ROUNDING,
    Law,
    Moments,
    Nodes,
    require_one_pair,
    require_spread,
)
from depl.models.problem.laws.log_variable import (
    COARSEST,
    EPSILON,
    FINEST,
    LEFT,
    RIGHT,
    ComplexArray,
    FloatArray,
    LogVariable,
    log_norm,
    weighed,
)

_TEMME_FROM = 2e5
"""Least shape for which the lower tail of the gamma law is computed here. scipy 1.17 adds up 2000 terms of a
series there, which leaves out 1e-5 of it at 1e6, 2 % at 1e7 and 38 % at 1e8; with two terms of the expansion
the rest is below 1e-12 of the tail."""

_TEMME_DEVIATIONS = 4.0
"""Standard deviations below the mean from which on; scipy uses the expansion itself until 4.5."""


class InverseGamma(Law, frozen=True, kw_only=True, tag="inverse_gamma"):
    """Inverse gamma law, given by (shape, scale) or by (mean, variance).

    The density is proportional to ``x**(-shape - 1) * exp(-scale / x)`` on x > 0. With moments,
    shape = mean**2 / variance + 2 and scale = mean (shape - 1). A shape of at most 1 is refused:
    such a law has no mean.
    """

    wording: ClassVar[str] = "inverse gamma"
    for_switches: ClassVar[bool] = False
    unimodal: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    heavy_right_tail: ClassVar[bool] = True
    decays: ClassVar[bool] = True
    tilts: ClassVar[bool] = True

    shape: Annotated[float, Meta(gt=1)] | None = None
    scale: Positive | None = None
    mean: Positive | None = None
    variance: Positive | None = None

    def validate(self) -> None:
        """Require exactly one of the two parameter pairs, and some spread."""
        require_one_pair(self, ("shape", "scale"), ("mean", "variance"))
        shape, _ = self.shape_scale()
        require_spread(1 / (shape - 2) if shape > 2 else math.inf)

    def shape_scale(self) -> tuple[float, float]:
        """Shape (> 1) and scale (> 0), whichever way the law was given."""
        if self.shape is not None and self.scale is not None:
            return self.shape, self.scale
        mean, variance = self.moments()
        shape = mean**2 / variance + 2
        return shape, mean * (shape - 1)

    def moments(self) -> Moments:
        """Mean ``scale / (shape - 1)``; the variance is infinite for shape <= 2."""
        if self.mean is not None and self.variance is not None:
            return Moments(self.mean, self.variance)
        shape, scale = self.shape_scale()
        mean = scale / (shape - 1)
        return Moments(mean, mean**2 / (shape - 2) if shape > 2 else math.inf)

    def survival(self, x: ArrayLike) -> FloatArray:
        """Regularised lower incomplete gamma function of ``scale / x``; by Temme where scipy loses digits."""
        (shape, scale), points = self.shape_scale(), np.asarray(x, dtype=float)
        found = super().survival(points)
        if shape < _TEMME_FROM:
            return found
        far = points > scale / (shape - _TEMME_DEVIATIONS * math.sqrt(shape))
        tail = _lower_tail(shape, np.where(far, scale / np.where(far, points, 1.0), 0.5 * shape))
        return np.asarray(np.where(far, tail, found))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Reciprocals of gamma draws."""
        shape, scale = self.shape_scale()
        return scale / rng.standard_gamma(shape, size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Reciprocals of gamma quantiles."""
        shape, scale = self.shape_scale()
        return np.asarray(scale / special.gammainccinv(shape, np.asarray(u, dtype=float)), dtype=float)

    def distribution(self) -> Any:
        """scipy's inverse gamma."""
        shape, scale = self.shape_scale()
        return scipy.stats.invgamma(shape, 0.0, scale)

    def mean_rounding(self) -> float:
        """One product by the weight; before it a difference and a quotient, if shape and scale were given."""
        return (1.51 if self.mean is None else 0.51) * abs(self.moments().mean)

    def third_moment(self) -> float:
        """By E |.|**3 <= sqrt(E (.)**2 E (.)**4), or where that is infinite by |X - m|**3 <= max(X, m)**3."""
        (mean, variance), (shape, scale) = self.moments(), self.shape_scale()
        if not math.isfinite(variance):
            return math.inf
        if 3 < shape <= 4.5:
            raw = scale**3 / ((shape - 1) * (shape - 2) * (shape - 3))
            return (raw + mean**3) * (1 + MOMENT_ROUNDING)
        return variance * math.sqrt(variance) * math.sqrt(_kurtosis(shape)) * (1 + MOMENT_ROUNDING)

    def argument_sensitivity(self, greatest: float) -> float:
        """x f(x) is g**a exp(-g) / Gamma(a) at g = scale / x, greatest at g = a: Stirling."""
        return math.sqrt(self.shape_scale()[0])

    def transform_domain(self) -> tuple[float, float]:
        """Re z > 0."""
        return 0.0, math.inf

    def centred_log_transform(self, z: ComplexArray) -> tuple[ComplexArray, FloatArray] | None:
        """By Debye's expansion, for large shapes."""
        shape, scale = self.shape_scale()
        return debye(shape, scale, z) if shape >= DEBYE_FROM else None

    def log_variable(self) -> LogVariable:
        """Of the reciprocal of a gamma variable."""
        return _log_gamma(*self.shape_scale())

    def tilt_points(self, least: float) -> Nodes:
        """The trapezoidal rule for log X, whose density is analytic and falls double exponentially.

        To the left it goes as far as any tilt can move the law, to the right to where X has no mass left, and
        further where E X comes from far out, until e**(-u X) is nothing for the ``least`` u.
        """
        mean, (shape, scale) = self.moments().mean, self.shape_scale()
        spread = math.sqrt(float(special.polygamma(1, shape)))
        step = min(FINEST * spread, COARSEST)
        peak = math.log(scale / shape)
        last = min(peak + max(-RIGHT / (shape - 1), 12 * spread), math.log(-LEFT * mean / least) + 1)
        ends = math.log(scale / (shape - LEFT)), max(last, peak - RIGHT / shape)
        grid = np.arange(ends[0] - 0.5, ends[1] + 1, step)
        return weighed(grid, -shape * (grid - peak) - scale * np.exp(-grid) + shape, mean)


def _kurtosis(shape: float) -> float:
    """E (X - E X)**4 / Var**2 where it is finite."""
    if shape <= 4:
        return math.inf
    return 3 + 6 * (5 * shape - 11) / ((shape - 3) * (shape - 4))


@functools.lru_cache(maxsize=256)
def _log_gamma(a: float, b: float) -> LogVariable:
    def log_density(y: ComplexArray) -> ComplexArray:
        return np.asarray(-a * (y + expm1(-y)), dtype=complex)

    remainder_ok = a > 1.5  # else the tail of the remainder is too long for the rule
    return LogVariable(
        unit=b / a,
        excess=1 / (a - 1),
        spread=a / (a - 1) * min(1 / math.sqrt(max(a - 2, 0.25)), 2.0),
        log_density=log_density,
        inflation=lambda angle: -a * np.log(np.cos(angle)),
        damping=np.zeros_like,
        turning_point=lambda z: np.log(2 / (1 + np.sqrt(1 + 4 * z / a))),
        largest_angle=1.5,
        condition=16 + 4 * math.sqrt(a),
        remainder_ok=remainder_ok,
        left=9.0,
        right=9.0 + 64 / (a - 1 if remainder_ok else a),
        log_norm=log_norm(log_density, 9.0, 9.0 + 64 / a),
    )


def _lower_tail(shape: float, g: FloatArray) -> FloatArray:
    """P(shape, g) of the gamma law for a large shape and g below it.

    Temme's expansion (DLMF 8.12.3, 8.12.8 to 8.12.10) with the terms c_0 and c_1, its exponential taken out.
    """
    lack = (g - shape) / shape
    powers = np.arange(2, 21)
    series = (np.minimum(-lack, 0.1)[..., None] ** powers / powers).sum(axis=-1)
    with np.errstate(divide="ignore"):
        half = np.where(lack > -0.1, series, lack - np.log1p(lack))  # eta**2 / 2
    eta = -np.sqrt(2 * half)
    first = 1 / lack - 1 / eta
    second = 1 / eta**3 - 1 / lack**3 - 1 / lack**2 - 1 / (12 * lack)
    rest = (first + second / shape) / math.sqrt(2 * math.pi * shape)
    return np.asarray(np.exp(-shape * half) * (0.5 * special.erfcx(np.sqrt(shape * half)) - rest))


DEBYE_FROM = 35.0
"""Least shape: from here on 20 terms reach double precision."""

_DEBYE_TERMS = 20
"""Terms at most: enough for double precision from `DEBYE_FROM` on. The first one left out is bounded and
counted, so any number is sound."""


@functools.cache
def _debye_polynomials(count: int) -> tuple[tuple[Fraction, ...], ...]:
    """U_0 .. U_count of Debye's expansion (Abramowitz and Stegun 9.3.10), lowest power first."""
    polynomials: list[list[Fraction]] = [[Fraction(1)]]
    for _ in range(count):
        last = polynomials[-1]
        following = [Fraction(0)] * (len(last) + 3)
        for power, coefficient in enumerate(last):
            if power:
                following[power + 1] += coefficient * power / 2
                following[power + 3] -= coefficient * power / 2
            following[power + 1] += coefficient / (8 * (power + 1))
            following[power + 3] -= 5 * coefficient / (8 * (power + 3))
        polynomials.append(following)
    return tuple(tuple(polynomial) for polynomial in polynomials)


@functools.cache
def _debye_maxima() -> FloatArray:
    """max |U_k(1/q)| over Re u >= 0 for every k: attained on the boundary 1/q = (1 + i v)^(-1/2), v real.

    Extended precision, since the coefficients of the later polynomials cancel.
    """
    v = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 2000)]).astype(np.longdouble)
    p = (1 + 1j * v) ** np.longdouble(-0.5)
    maxima = []
    for polynomial in _debye_polynomials(_DEBYE_TERMS + 1):
        total = np.zeros_like(p)
        for c in reversed(polynomial):
            total = total * p + np.longdouble(c.numerator) / np.longdouble(c.denominator)
        maxima.append(float(np.abs(total).max()))
    return np.array(maxima)


@functools.lru_cache(maxsize=256)
def _debye_series(shape: float) -> tuple[tuple[float, ...], float]:
    """Coefficients of (D(p) - D(1)) / ((p - 1)(1 + D(1))), lowest first; bound of the first omitted term."""
    sizes = _debye_maxima() / shape ** np.arange(_DEBYE_TERMS + 2)
    enough = np.flatnonzero(sizes[5:] < EPSILON / 8)
    terms = 4 + int(enough[0]) if len(enough) else _DEBYE_TERMS
    polynomials = _debye_polynomials(_DEBYE_TERMS + 1)
    combined = [Fraction(0)] * len(polynomials[terms])
    for k in range(1, terms + 1):
        scale = Fraction((-1) ** k) / Fraction(shape) ** k
        for power, coefficient in enumerate(polynomials[k]):
            combined[power] += scale * coefficient
    quotient = [combined[-1]]
    for coefficient in reversed(combined[1:-1]):
        quotient.append(quotient[-1] + coefficient)
    at_one = 1 + sum(combined)
    return tuple(float(c / at_one) for c in reversed(quotient)), float(sizes[terms + 1])


def debye(shape: float, scale: float, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """log E exp(-z (X - E X)) of an inverse gamma law, and a bound of its absolute error."""
    u = scale * z
    ratio = 4 * u / shape**2
    q: ComplexArray = np.sqrt(1 + ratio).astype(np.complex128)
    t = ratio / (1 + q)
    coefficients, omitted = _debye_series(shape)
    leading = shape * (_log1p_minus(t / 2) + t * t / 4)
    drift = u / (shape * (shape - 1))
    correction = -t / q * _horner(coefficients, np.reciprocal(q))
    value = leading + drift - log1p(t) / 2 + log1p(correction)
    size = (
        (1 + sum(map(abs, coefficients[:4]))) * np.abs(t)
        + np.abs(drift)
        + np.abs(leading)
        + shape * np.abs(t) ** 2 / 4
    )
    # The expansion is asymptotic: its remainder is a small multiple of the first omitted term (Olver
    # 1974, ch. 10, (7.14)), and vanishes with t because the constant was fixed at t = 0.
    return value, 8 * EPSILON * size + 4 * omitted * np.minimum(1.0, 50 * np.abs(t))


def _horner(coefficients: tuple[float, ...], p: ComplexArray) -> ComplexArray:
    total: ComplexArray = np.full(p.shape, coefficients[-1], dtype=np.complex128)
    for coefficient in reversed(coefficients[:-1]):
        total *= p
        total += coefficient
    return total


def _log1p_minus(x: ComplexArray) -> ComplexArray:
    """log(1 + x) - x without cancellation for small x: 2 atanh(w) - x with w = x / (2 + x)."""
    near = np.abs(x) < 0.3
    small = np.where(near, x, 0)
    w = small / (2 + small)
    square = w * w
    series = np.zeros_like(small)
    for k in range(23, 1, -2):
        series = series * square + 1 / k
    return np.asarray(np.where(near, w * (2 * square * series - small), log1p(x) - x), dtype=complex)
