r"""Centred log-transforms  log E exp(-z (X - E X))  of every law, for complex z, each with an error bound.

What adds up over the epochs of a plan is the *absolute* error of the logarithm; centring removes the term
z E X, which would otherwise dominate the rounding. Laws with an entire density of Y = log X have the
trapezoidal rule on a horizontal line through the saddle point of the integrand, with the bound of a strip
(Trefethen and Weideman, SIAM Review 2014, Theorem 5.1); where |z| is small the integrand is the second-order
remainder exp(-w) - 1 + w, w = z (X - E X). Formulas stand on the page "Risk" (``risk``).
"""

import functools
import math

import numpy as np
from scipy.special import expm1, log1p

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Law
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray, LogVariable
from depl.models.risk.finite_sums import REMAINDER_BELOW, finite_sum

_CHUNK = 16_384  # numbers at once: a few such arrays stay in the cache of a core
_KEPT, _KEPT_SIZE = 256, 1024
"""Transforms that are kept, and up to how many arguments each: 15 MB at most. A loss that was labelled is
certified and checked at the same points again; how many are kept changes seconds, not values."""

_SHARES_OF_ROOM = np.array(
    [0.0, 2e-6, 2e-5, 2e-4, 2e-3, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97]
)


def transformable(term: Term) -> bool:
    """Whether E exp(s coefficient X) is offered for all s > 0: what a loss that the term is part of needs."""
    domain = term.law.transform_domain()
    return domain is not None and math.isinf(domain[1] if term.coefficient < 0 else domain[0])


def centred_log_transform(law: Law, argument: ComplexArray) -> tuple[ComplexArray, FloatArray]:
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
        If the transform does not exist: an untruncated Student-t, or Re z outside of the law's domain.
    """
    z = np.asarray(argument, dtype=complex)
    domain = law.transform_domain()
    if domain is None:
        raise InvalidInputError(f"{law.without_transform}; condition on it instead")
    for end, outside in ((domain[0], z.real <= domain[0]), (domain[1], z.real >= domain[1])):
        if math.isfinite(end) and bool(np.any(outside)):
            side = "<=" if end == domain[0] else ">="
            raise InvalidInputError(
                f"E exp(-z X) of {type(law).__name__} does not exist for Re z {side} {end:g}"
            )
    closed = law.centred_log_transform(z)
    if closed is not None:
        return closed
    variable = law.log_variable()
    if variable is None:
        return finite_sum(law, z)
    if z.size > _KEPT_SIZE:
        return _trapezoid(variable, z)
    value, error = _kept_trapezoid(variable, z.tobytes())
    return value.reshape(z.shape).copy(), error.reshape(z.shape).copy()


# --- laws of exp(Y): trapezoidal rule ----------------------------------------------------------------


@functools.lru_cache(maxsize=_KEPT)
def _kept_trapezoid(variable: LogVariable, arguments: bytes) -> tuple[ComplexArray, FloatArray]:
    """From the bytes of the arguments."""
    return _trapezoid(variable, np.frombuffer(arguments, dtype=complex))


def _trapezoid(variable: LogVariable, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    flat = z.ravel() * variable.unit
    value, error = np.empty(flat.shape, dtype=complex), np.empty(flat.shape)
    small = variable.remainder_ok & (np.abs(flat) * variable.spread < REMAINDER_BELOW)
    for remainder in (True, False):
        chosen = np.flatnonzero(small == remainder)
        # Arguments of like size share a window of the integration variable.
        octave = np.floor(np.log2(np.abs(flat[chosen])) / 3)
        for group in np.unique(octave):
            members = chosen[octave == group]
            value[members], error[members] = _trapezoid_group(variable, flat[members], remainder)
    return value.reshape(z.shape), error.reshape(z.shape)


def _trapezoid_group(
    variable: LogVariable, z: ComplexArray, remainder: bool
) -> tuple[ComplexArray, FloatArray]:
    saddle = variable.turning_point(z)
    angle = -saddle.imag
    peak = (variable.log_density(saddle) - z * (expm1(saddle) - variable.excess)).real
    floor = np.log(np.minimum(1.0, (np.abs(z) * variable.spread) ** 2)) if remainder else peak - 3.0
    floor = floor if remainder else floor - variable.log_norm
    _, step = _choose_step(variable, z, angle, remainder, floor)
    angle = _shared(variable, z, angle, step)
    halfwidth, step = _choose_step(variable, z, angle, remainder, floor)
    points, log_norm, cut = _window(variable, z, saddle.real, angle, step, remainder)
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
    variable: LogVariable, z: ComplexArray, angle: FloatArray, halfwidth: FloatArray, remainder: bool
) -> FloatArray:
    """Log of a bound of the integrand's modulus, integrated over a strip's edges; the density has 1.

    Several half-widths for each argument may be given, as rows.
    """
    mean = 1 + variable.excess
    argument, modulus, linear = np.angle(z), np.abs(z), z.real * mean
    found = []
    for edge in (angle - halfwidth, angle + halfwidth):
        growth = linear + variable.damping(modulus * np.maximum(np.cos(argument - edge), 0.0))
        if remainder:
            growth = np.logaddexp(growth, np.log1p(2 * modulus * mean))
        found.append(growth + variable.inflation(np.abs(edge)))
    return np.maximum(*found)


def _room(variable: LogVariable, z: ComplexArray, angle: FloatArray) -> FloatArray:
    """How far a line may be turned before the integrand ceases to fall, or its density to be bounded."""
    return np.minimum(math.pi / 2 - np.abs(np.angle(z) - angle), variable.largest_angle - np.abs(angle))


def _shared(variable: LogVariable, z: ComplexArray, angle: FloatArray, step: float) -> FloatArray:
    """Angles of lines near those through the saddles, few for many arguments.

    The rule converges on every line that has room; beside its saddle the integrand is a little larger than
    what it adds up to. A common step is about 0.7 standard deviations of the peak (of a normal one,
    2 pi / sqrt(2 * 42)), so that half a step beside it the modulus is larger by exp(0.06) at most.
    """
    near = np.rint(angle / step) * step
    room = _room(variable, z, angle)
    return np.where(_room(variable, z, near) > 0.9 * room, near, angle)


def _choose_step(
    variable: LogVariable, z: ComplexArray, angle: FloatArray, remainder: bool, floor: FloatArray
) -> tuple[FloatArray, float]:
    """Strip half-width for each argument and one common step that brings all errors below 1e-18."""
    room = _room(variable, z, angle)
    best_step, best_width = np.zeros(angle.shape), np.zeros(angle.shape)
    rows = max(1, _CHUNK // len(_SHARES_OF_ROOM))
    for first in range(0, len(z), rows):
        part = slice(first, first + rows)
        widths = _SHARES_OF_ROOM[:, None] * room[part]
        growth = _edge_growth(variable, z[part], angle[part], widths, remainder) - floor[part]
        steps = 2 * math.pi * widths / (np.maximum(growth, 0.0) + 42.0)
        best = np.where(steps > 0, steps, 0.0).argmax(axis=0)
        places = np.arange(len(best))
        best_step[part], best_width[part] = steps[best, places], widths[best, places]
    return best_width, float(best_step.min())


def _window(
    variable: LogVariable,
    z: ComplexArray,
    saddle: FloatArray,
    angle: FloatArray,
    step: float,
    remainder: bool,
) -> tuple[FloatArray, float, float]:
    """Points beyond which the integrand is negligible, log of the density's integral, the share cut off.

    On every line used the modulus of the integrand is log-concave with its peak at, or close to, the saddle.
    """
    reach = 48.0
    first, last = float(saddle.min()) - variable.left, float(saddle.max()) + variable.right
    coarse = np.linspace(first, last, 800)
    density = variable.log_density(coarse.astype(complex)).real
    if remainder:  # at most |density| |z| (1 + exp(y)), up to a constant factor
        inner = outer = density + np.log1p(np.exp(coarse))
    else:
        # Rotated lines damp least where cos(arg z - angle) is smallest, and not at all in the limit.
        cosine = max(float(np.cos(np.angle(z) - angle).min()), 0.0)
        with np.errstate(over="ignore"):
            inner = density - float(np.abs(z).max()) * np.exp(coarse)
            outer = density - float(np.abs(z).min()) * cosine * np.exp(coarse)
    # The last coarse point outside is kept: integrands may fall by dozens of decades in one coarse step.
    low = coarse[max(np.flatnonzero(inner > inner.max() - reach - 32)[0] - 1, 0)]
    high = coarse[min(np.flatnonzero(outer > outer.max() - reach)[-1] + 1, len(coarse) - 1)]
    points = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
    lowest, highest = _support(variable, reach)
    whole_points = np.arange(math.floor(lowest / step), math.ceil(highest / step) + 1) * step
    norm = float(np.exp(variable.log_density(whole_points.astype(complex)).real).sum()) * step
    return points, math.log(norm), math.exp(-reach + 6)


@functools.lru_cache(maxsize=256)
def _support(variable: LogVariable, reach: float) -> tuple[float, float]:
    """Where the density on the real line exceeds exp(-reach), and a little more on either side."""
    span = np.linspace(-variable.left, variable.right, 800)
    whole = span[variable.log_density(span.astype(complex)).real > -reach]
    coarseness = span[1] - span[0]
    return float(whole[0] - coarseness), float(whole[-1] + coarseness)


def _line_sums(
    variable: LogVariable,
    z: ComplexArray,
    angle: FloatArray,
    points: FloatArray,
    top: FloatArray,
    remainder: bool,
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Sums over each argument's own line: of the integrand, of its modulus, of its rounding in EPSILON."""
    sums, moduli, roundings = np.empty(z.shape, dtype=complex), np.empty(z.shape), np.empty(z.shape)
    rows = max(1, _CHUNK // len(points))
    for line in np.unique(angle):  # the density and exp(y) are the same for all arguments of a line
        members = np.flatnonzero(angle == line)
        y = points - 1j * line
        exponent, growth = variable.log_density(y), expm1(y) - variable.excess
        doubt = variable.condition + 4 * np.abs(exponent)
        for first in range(0, len(members), rows):
            keep_time()
            part = members[first : first + rows]
            add = _remainder_sums if remainder else _sums
            sums[part], moduli[part], roundings[part] = add(z[part], exponent, growth, top[part], doubt)
            if not remainder:
                roundings[part] += 4 * np.abs(z[part]) * abs(variable.excess) * moduli[part]
    return sums, moduli, roundings


def _sums(
    z: ComplexArray, exponent: ComplexArray, growth: ComplexArray, top: FloatArray, doubt: FloatArray
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Of exp(exponent - z growth - top), in real numbers: complex exponentials take several times as long."""
    real, imaginary = z.real[:, None], z.imag[:, None]
    modulus = np.exp(exponent.real - real * growth.real + imaginary * growth.imag - top[:, None])
    phase = exponent.imag - real * growth.imag - imaginary * growth.real
    sums = (modulus * np.cos(phase)).sum(axis=1) + 1j * (modulus * np.sin(phase)).sum(axis=1)
    roundings = _dot(modulus, doubt) + 4 * np.abs(z) * _dot(modulus, np.abs(growth))
    return sums, modulus.sum(axis=1), roundings


def _remainder_sums(
    z: ComplexArray, exponent: ComplexArray, growth: ComplexArray, top: FloatArray, doubt: FloatArray
) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Of exp(exponent - top) times r(w) = exp(-w) - 1 + w, w = z growth; the same top for all arguments.

    With w = x + iy, r is expm1(-x) + x - 2 exp(-x) sin(y/2)**2 + i (y - exp(-x) sin y). If expm1 and sine err
    by 2 units in the last place at most, its rounding to first order in w is at most 3 EPSILON |w|, which is
    charged: 2 in expm1, and in the imaginary part 2 in the sine, half for 1 + expm1 and half for the product.
    The rest is below 8 EPSILON |w|**2 (that of w itself is multiplied by |1 - exp(-w)|), which ``doubt``
    charges of |r|, about |w|**2 / 2, with a factor of 16 and more.
    """
    real, imaginary = z.real[:, None], z.imag[:, None]
    density = np.exp(exponent - top[0])
    x = real * growth.real - imaginary * growth.imag
    y = real * growth.imag + imaginary * growth.real
    fall = np.expm1(-x)
    decay = 1 + fall
    r_real, r_imaginary = (fall + x) - 2 * decay * np.sin(0.5 * y) ** 2, y - decay * np.sin(y)
    parts = density.real, density.imag
    sums = np.empty(z.shape, dtype=complex)
    sums.real = _dot(r_real, parts[0]) - _dot(r_imaginary, parts[1])
    sums.imag = _dot(r_real, parts[1]) + _dot(r_imaginary, parts[0])
    mass = np.abs(density)
    moduli = np.abs(z) * float((mass * np.abs(growth)).sum())
    return sums, moduli, 3 * moduli + _dot(np.sqrt(r_real**2 + r_imaginary**2), mass * doubt)


def _dot(rows: FloatArray, column: FloatArray) -> FloatArray:
    """Of each row; a library for linear algebra would wake its threads for every block, and round more."""
    return np.asarray((rows * column).sum(axis=1))
