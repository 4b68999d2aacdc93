r"""Centred log-transforms  log E exp(-z (X - E X))  of every law, for complex z, each with an error bound.

The certified quantile adds these over the epochs of a plan, so what counts is the *absolute* error of
the logarithm. Centring removes the term z E X, which would otherwise dominate the rounding.

Inverse gamma (shape a, scale b, u = b z). The transform is 2 u^(a/2) K_a(2 sqrt u) / Gamma(a).
For a >= 35 Debye's uniform expansion of K_a, rearranged so that nothing cancels: with
q = sqrt(1 + 4 u / a^2), t = q - 1 and D(p) = sum_k (-1)^k U_k(p) / a^k,

    a [log1p(t/2) - t/2 + t^2/4] + u/(a (a-1)) - log1p(t)/2 + log1p((D(1/q) - D(1)) / (1 + D(1))).

(The constant of the expansion is fixed by the value 0 at u = 0; the last difference is -t/q times a
polynomial, by synthetic division.) For smaller a, and for the
lognormal, X = e^Y with an entire density of Y, and the trapezoidal rule on a horizontal line through
the saddle point of the integrand converges geometrically: on a strip of half-width d around the line
the error is at most 2 M / (exp(2 pi d / h) - 1), M being the larger integral of the modulus over the
strip's edges (Trefethen and Weideman, SIAM Review 2014, Theorem 5.1), which is bounded in closed form
here. Where |z| is small the integrand is the second-order remainder exp(-w) - 1 + w, w = z (X - E X),
whose integral is the transform minus one, so that hundreds of equal epochs do not add up rounding.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1, lambertw, log1p

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import NoiseLaw
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.finite_sums import finite_sum

ComplexArray = NDArray[np.complex128]
FloatArray = NDArray[np.float64]

EPSILON = float(np.finfo(float).eps)
DEBYE_FROM = 35.0
_DEBYE_TERMS = 20
_REMAINDER_BELOW = 1.0
_CHUNK = 16_384  # numbers at once: a few such arrays stay in the cache of a core
_SHARES_OF_ROOM = (2e-6, 2e-5, 2e-4, 2e-3, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97)


def has_transform(law: NoiseLaw) -> bool:
    """Whether exponential moments exist on the side that a gain (or a switch) needs."""
    return not isinstance(law, StudentT) or law.truncated


def decays(law: NoiseLaw) -> bool:
    """Whether |E exp(-(c + i t) X)| is log-log concave in t, so that a secant bounds its tail.

    True for the normal law and for generalised gamma convolutions (Thorin), among them the inverse
    gamma and the lognormal: each gamma factor is ((1 + c s)^2 + (s t)^2)^(-alpha/2), log-log concave.
    """
    return isinstance(law, InverseGamma | Lognormal | Normal)


def centred_log_transform(law: NoiseLaw, argument: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """log E exp(-z (X - E X)) and a bound of its absolute error (modulo 2 pi i).

    The bound also covers an argument that is itself rounded by a relative 2^-52. It is certified up to
    double rounding: discretisation and truncation errors are bounded by theorems, the accumulation of
    rounding by generous multiples of the sizes of what is added.

    Parameters
    ----------
    argument : complex array
        z, any shape; the real part must be positive for laws with a heavy right tail.

    Returns
    -------
    value, error : complex and float arrays of the same shape

    Raises
    ------
    InvalidInputError
        If the transform does not exist: untruncated Student-t, or Re z <= 0 under a heavy right tail.
    """
    z = np.asarray(argument, dtype=complex)
    if not has_transform(law):
        raise InvalidInputError(
            "an untruncated Student-t has no exponential moments; condition on it instead"
        )
    if law.heavy_right_tail and bool(np.any(z.real <= 0)):
        raise InvalidInputError(f"E exp(-z X) of {type(law).__name__} does not exist for Re z <= 0")
    if isinstance(law, Normal):
        value = z * z * (law.variance / 2)
        return value, 4 * EPSILON * np.abs(value)
    if isinstance(law, InverseGamma) and law.shape_scale()[0] >= DEBYE_FROM:
        return _debye(*law.shape_scale(), z)
    if isinstance(law, InverseGamma | Lognormal):
        return _trapezoid(_log_variable(law), z)
    return finite_sum(law, z)


# --- inverse gamma of large shape -------------------------------------------------------------------


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


def _debye(shape: float, scale: float, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
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


# --- laws of exp(Y): trapezoidal rule ----------------------------------------------------------------


@dataclass(frozen=True)
class _LogVariable:
    """X = unit * exp(Y) as the trapezoidal rule sees it; the density of Y peaks at or near 0.

    Without the unit, points y of the size of log X would be rounded by so much that the density, and
    with a narrow law the rule itself, lost several digits.

    ``log_density`` continues the logarithm of the density of Y (up to a constant) to complex y;
    ``inflation(angle)`` bounds the log of the factor by which its modulus integral grows on the
    line Im y = -angle; ``damping(a)`` bounds log E exp(-a exp(Y)) for a >= 0; ``turning_point``
    gives the saddle of log_density(y) - z exp(y); ``excess`` is E exp(Y) - 1, ``condition`` the
    rounding of exp(log_density) at its peak in EPSILON.
    """

    unit: float
    excess: float
    spread: float
    log_density: Callable[[ComplexArray], ComplexArray]
    inflation: Callable[[FloatArray], FloatArray]
    damping: Callable[[FloatArray], FloatArray]
    turning_point: Callable[[ComplexArray], ComplexArray]
    largest_angle: float
    condition: float
    remainder_ok: bool
    left: float
    right: float
    log_norm: float


@functools.lru_cache(maxsize=256)
def _log_variable(law: InverseGamma | Lognormal) -> _LogVariable:
    return _log_gamma(*law.shape_scale()) if isinstance(law, InverseGamma) else _log_normal(law)


def _log_gamma(a: float, b: float) -> _LogVariable:
    def log_density(y: ComplexArray) -> ComplexArray:
        return np.asarray(-a * (y + expm1(-y)), dtype=complex)

    remainder_ok = a > 1.5  # else the tail of the remainder is too long for the rule
    return _LogVariable(
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
        log_norm=_log_norm(log_density, 9.0, 9.0 + 64 / a),
    )


def _log_normal(law: Lognormal) -> _LogVariable:
    mu, sigma = law.log_parameters()
    unit = math.exp(mu) if law.mean is None else law.mean * math.exp(-(sigma**2) / 2)

    def log_density(y: ComplexArray) -> ComplexArray:
        return -(y**2) / (2 * sigma**2)

    def damping(a: FloatArray) -> FloatArray:
        # exp(y) >= exp(t) (1 + y - t) for every t; this one is the best. Without it a narrow law, for which
        # E exp(-z (X - E X)) is small against exp(Re z E X), would be summed over a million points.
        t = -lambertw(a * sigma**2).real
        return np.asarray(t * (1 - t / 2) / sigma**2, dtype=float)

    return _LogVariable(
        unit=unit,
        excess=math.expm1(sigma**2 / 2),
        spread=math.exp(sigma**2 / 2) * min(math.sqrt(math.expm1(sigma**2)), 2.0),
        log_density=log_density,
        inflation=lambda angle: angle**2 / (2 * sigma**2),
        damping=damping,
        turning_point=lambda z: -lambertw(z * sigma**2),
        largest_angle=math.inf,
        condition=16.0,
        remainder_ok=True,
        left=12 * sigma,
        right=12 * sigma + 3 * sigma**2,
        log_norm=math.log(sigma * math.sqrt(2 * math.pi)),
    )


def _log_norm(log_density: Callable[[ComplexArray], ComplexArray], left: float, right: float) -> float:
    """Logarithm of the integral of exp(log_density), well enough to choose a step by."""
    points = np.linspace(-left, right, 4001)
    values = np.exp(log_density(points.astype(complex)).real)
    return math.log(float(values.sum()) * (points[1] - points[0]))


def _trapezoid(variable: _LogVariable, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    flat = z.ravel() * variable.unit
    value, error = np.empty(flat.shape, dtype=complex), np.empty(flat.shape)
    small = variable.remainder_ok & (np.abs(flat) * variable.spread < _REMAINDER_BELOW)
    for remainder in (True, False):
        chosen = np.flatnonzero(small == remainder)
        # Arguments of like size share a window of the integration variable.
        octave = np.floor(np.log2(np.abs(flat[chosen])) / 3)
        for group in np.unique(octave):
            members = chosen[octave == group]
            value[members], error[members] = _trapezoid_group(variable, flat[members], remainder)
    return value.reshape(z.shape), error.reshape(z.shape)


def _trapezoid_group(
    variable: _LogVariable, z: ComplexArray, remainder: bool
) -> tuple[ComplexArray, FloatArray]:
    saddle = variable.turning_point(z)
    angle = -saddle.imag
    peak = (variable.log_density(saddle) - z * (expm1(saddle) - variable.excess)).real
    floor = np.log(np.minimum(1.0, (np.abs(z) * variable.spread) ** 2)) if remainder else peak - 3.0
    floor = floor if remainder else floor - variable.log_norm
    halfwidth, step = _choose_step(variable, z, angle, remainder, floor)
    points, log_norm, cut = _window(variable, z, saddle, step, remainder)
    # Integrands are scaled by exp(-top) so that neither they nor the centring overflow.
    top = np.full(len(z), log_norm) if remainder else peak
    sums, moduli, roundings = (
        total * step for total in _line_sums(variable, z, angle, points, top, remainder)
    )
    offset = 0.0 if remainder else top - log_norm
    exponent = 2 * math.pi * halfwidth / step
    edges = _edge_growth(variable, z, angle, halfwidth, remainder)
    discretisation = 2 * np.exp(edges - offset - exponent) / -np.expm1(-exponent)
    absolute = discretisation + cut * moduli + EPSILON * roundings
    total = 1 + sums if remainder else sums
    value = log1p(sums) if remainder else np.log(sums) + offset
    size = np.maximum(np.abs(total) - absolute, np.abs(total) * 1e-3)
    return np.asarray(value, dtype=complex), np.asarray(absolute / size, dtype=float)


def _edge_growth(
    variable: _LogVariable, z: ComplexArray, angle: FloatArray, halfwidth: FloatArray, remainder: bool
) -> FloatArray:
    """Log of a bound of the integrand's modulus, integrated over a strip's edges; the density has 1."""
    mean = 1 + variable.excess
    found = []
    for edge in (angle - halfwidth, angle + halfwidth):
        size = np.abs(z) * np.maximum(np.cos(np.angle(z) - edge), 0.0)
        growth = z.real * mean + variable.damping(size)
        if remainder:
            growth = np.logaddexp(growth, np.log1p(2 * np.abs(z) * mean))
        found.append(growth + variable.inflation(np.abs(edge)))
    return np.maximum(*found)


def _choose_step(
    variable: _LogVariable, z: ComplexArray, angle: FloatArray, remainder: bool, floor: FloatArray
) -> tuple[FloatArray, float]:
    """Strip half-width for each argument and one common step that brings all errors below 1e-18."""
    room = np.minimum(math.pi / 2 - np.abs(np.angle(z) - angle), variable.largest_angle - np.abs(angle))
    best_step, best_width = np.zeros(angle.shape), np.zeros(angle.shape)
    for share in _SHARES_OF_ROOM:
        width = share * room
        growth = _edge_growth(variable, z, angle, width, remainder) - floor
        step = 2 * math.pi * width / (np.maximum(growth, 0.0) + 42.0)
        better = step > best_step
        best_step, best_width = np.where(better, step, best_step), np.where(better, width, best_width)
    return best_width, float(best_step.min())


def _window(
    variable: _LogVariable, z: ComplexArray, saddle: ComplexArray, step: float, remainder: bool
) -> tuple[FloatArray, float, float]:
    """Points beyond which the integrand is negligible, log of the density's integral, the share cut off.

    On every line used the modulus of the integrand is log-concave with its peak at the saddle.
    """
    reach = 48.0
    first, last = float(saddle.real.min()) - variable.left, float(saddle.real.max()) + variable.right
    coarse = np.linspace(first, last, 800)
    density = variable.log_density(coarse.astype(complex)).real
    if remainder:  # at most |density| |z| (1 + exp(y)), up to a constant factor
        inner = outer = density + np.log1p(np.exp(coarse))
    else:
        # Rotated lines damp least where cos(arg z - angle) is smallest, and not at all in the limit.
        cosine = max(float(np.cos(np.angle(z) + saddle.imag).min()), 0.0)
        with np.errstate(over="ignore"):
            inner = density - float(np.abs(z).max()) * np.exp(coarse)
            outer = density - float(np.abs(z).min()) * cosine * np.exp(coarse)
    # The last coarse point outside is kept: integrands may fall by dozens of decades in one coarse step.
    low = coarse[max(np.flatnonzero(inner > inner.max() - reach - 32)[0] - 1, 0)]
    high = coarse[min(np.flatnonzero(outer > outer.max() - reach)[-1] + 1, len(coarse) - 1)]
    points = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
    span = np.linspace(-variable.left, variable.right, 800)
    whole = span[variable.log_density(span.astype(complex)).real > -reach]
    coarseness = span[1] - span[0]
    whole_points = (
        np.arange(math.floor((whole[0] - coarseness) / step), math.ceil((whole[-1] + coarseness) / step) + 1)
        * step
    )
    norm = float(np.exp(variable.log_density(whole_points.astype(complex)).real).sum()) * step
    return points, math.log(norm), math.exp(-reach + 6)


def _line_sums(
    variable: _LogVariable,
    z: ComplexArray,
    angle: FloatArray,
    points: FloatArray,
    top: FloatArray,
    remainder: bool,
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Sums over each argument's own line: of the integrand, of its modulus, of its rounding in EPSILON."""
    sums, moduli, roundings = np.empty(z.shape, dtype=complex), np.empty(z.shape), np.empty(z.shape)
    rows = max(1, _CHUNK // len(points))
    for first in range(0, len(z), rows):
        part = slice(first, first + rows)
        y = points[None, :] - 1j * angle[part, None]
        shifted = z[part, None] * (expm1(y) - variable.excess)
        exponent, size = variable.log_density(y), np.abs(shifted)
        doubt = variable.condition + 4 * np.abs(exponent)
        if remainder:
            density = np.exp(exponent - top[part, None])
            values = density * (expm1(-shifted) + shifted)
            moduli[part] = (np.abs(density) * size).sum(axis=1)
            roundings[part] = 4 * moduli[part] + (np.abs(values) * doubt).sum(axis=1)
        else:
            values = np.exp(exponent - shifted - top[part, None])
            modulus = np.abs(values)
            moduli[part] = modulus.sum(axis=1)
            doubt += 4 * size + 4 * np.abs(z[part, None]) * abs(variable.excess)
            roundings[part] = (modulus * doubt).sum(axis=1)
        sums[part] = values.sum(axis=1)
    return sums, moduli, roundings
