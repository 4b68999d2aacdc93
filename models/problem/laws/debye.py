"""log K_a by Debye's uniform expansion: the transform of the inverse gamma law of large shape.

See `depl.models.risk.transforms` for the formula.
"""

import functools
from fractions import Fraction

import numpy as np
from scipy.special import log1p

from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray

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
