"""The least A(Delta) of `depl.models.risk.lower_bound.bound`, by a characteristic function with remainder.

W, T and F lie in intervals. Up to some Y the integral is computed panel by panel with the remainder of the
logarithm, or a circle around what F contributes; beyond, |f| is bounded by a power. Formulas and the error of
the quadrature are on the page "The loop with bounds" (``loop``).
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.problem.laws import FloatArray

Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]

_POINTS = 12
"""Gauss points of a panel, n of the page's formula. The error, 3e-13 times the modulus, is counted, so
any number is sound; a point more is a factor of 16 in error and 8 % in time."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_POINTS)
_GAUSS = 64 / 15 * 4.0 ** (2 - 2 * _POINTS) / (1 - 1 / 16)
"""Error of the rule over M r, by the formula of the page."""

_HALF_WIDTH, _WIDEST_HALF, _MOST_PANELS = 0.6, 0.42, 24
_SUBSTEPS = 6
"""Steps of a panel beyond Y. The value at the left counts, so any number is sound; twice as many halve what
is lost by that, set by hand."""

_REACH = 3.5
"""End of the panels in units of W**(-1/2): a normal characteristic function is exp(-3.5**2 / 2) = 0.002
there. What lies beyond is bounded, so any value is sound; more panels cost time in proportion."""

_VARIANCE_STEP, _MOST_VARIANCES = 0.016, 16
_THIRD_STEP, _MOST_THIRDS = 0.12, 3
_STARTS = np.array([-2.4, -1.6, -1.0, -0.5])
_HIGHEST, _FARTHEST, _BISECTIONS = 2.0, 2.4, 12
_CIRCLE_STEP, _CIRCLE_SAMPLES, _CIRCLE_END = 0.1, 5, 24.0
_ROUNDING = 1e-9
"""What sums may be off, on which soundness rests. A panel is used only if its modulus times its doubt is
below the bound at Y = 0, so summands stay below about 10, and 288 of them are off by 288 times 10 times
2**-53 = 3e-13."""

_HUGE = 50.0
"""Exponent of the doubt from which panels are not used, and half the cap of exponents against overflow. Any
value of this size is sound: a panel that meets the cap, one of the first three, loses at least exp(98) times
3e-13 / pi, so it is never taken."""


@functools.cache
def circles() -> tuple[Complexes, Floats]:
    """Centre and radius of a circle around g on [0, b] for b = 0.1, 0.2, ..., shapes (n,)."""
    step = _CIRCLE_STEP / _CIRCLE_SAMPLES
    x = step * np.arange(round(_CIRCLE_END / step) + 1)
    small = np.where(x < 0.5, x, 0.0)
    series = sum((1j * small) ** n / (n + 4) for n in range(40))  # the terms left out are below 1e-12
    z = np.where(x < 0.5, 1.0, x)
    g = np.where(x < 0.5, series, (-np.log1p(-1j * z) - 1j * z + z**2 / 2 + 1j * z**3 / 3) / z**4)
    last = _CIRCLE_SAMPLES * np.arange(1, round(_CIRCLE_END / _CIRCLE_STEP) + 1)
    centres = (g[0] + g[last]) / 2
    radii = [abs(g[: end + 1] - centre).max() for end, centre in zip(last, centres, strict=True)]
    return centres, np.array(radii) + step / 2 / 5 + _ROUNDING


def largest_shifts(
    allowed: FloatArray,
    variances: FloatArray,
    thirds: FloatArray,
    fourths: FloatArray,
    own: float,
    widest: float,
) -> FloatArray:
    """Greatest Delta seen with A(Delta) > ``allowed`` in every cell; -infinity where there is none.

    Infinity where W and T show that no plan is in the cell.

    Parameters
    ----------
    allowed : ndarray
        Shape (n,).
    variances : ndarray
        Least and greatest W of a cell, shape (n, 2).
    thirds, fourths : ndarray
        The same for T and F.
    own : float
        Greatest F of switches.
    widest : float
        Greatest Y.
    """
    found = _largest_shifts(allowed, variances, thirds, fourths, own, widest, *circles())
    return np.asarray(found, dtype=float)


@kernel()
def _largest_shifts(
    allowed: Floats,
    variances: Floats,
    thirds: Floats,
    fourths: Floats,
    own: float,
    widest: float,
    centres: Complexes,
    radii: Floats,
) -> Floats:
    found = np.full(allowed.size, -math.inf)
    for i in range(allowed.size):
        low, high = variances[i]
        if low > high or thirds[i, 0] > thirds[i, 1] or fourths[i, 0] > fourths[i, 1]:
            found[i] = math.inf  # no plans
            continue
        if not 0 < low <= high:
            continue
        half = min(_HALF_WIDTH / math.sqrt(low), _WIDEST_HALF)
        count = min(_MOST_PANELS, math.ceil(_REACH / (half * math.sqrt(low))))
        offsets, spreads = _remainders(half, count, fourths[i], own, centres, radii)
        terms, lost, phases = _prepared(
            variances[i], thirds[i], fourths[i, 1], widest, half, count, offsets, spreads
        )
        found[i] = _bisected(allowed[i], terms, lost, phases)
    return found


@kernel()
def _remainders(
    half: float, count: int, fourths: Floats, own: float, centres: Complexes, radii: Floats
) -> tuple[Complexes, Floats]:
    """What stands in f beside W and T on every panel, and how far off it may be, times y**4."""
    offsets, spreads = np.zeros(count, dtype=np.complex128), np.full(count, fourths[1] / 24)
    switches = min(own, fourths[1])
    for p in range(count):
        place = math.ceil(2 * half * (p + 1) / _CIRCLE_STEP) - 1
        if place >= radii.size:
            continue
        centre, radius = centres[place], radii[place]
        off = fourths[1] * radius + (fourths[1] - fourths[0]) / 2 * abs(centre)
        off = (off + switches * max(abs(centre) + 0.25 - radius, 0.0)) / 6
        if off < spreads[p]:
            offsets[p], spreads[p] = centre * (fourths[0] + fourths[1]) / 12, off
    return offsets, spreads


@kernel()
def _prepared(
    variances: Floats,
    thirds: Floats,
    fourth: float,
    widest: float,
    half: float,
    count: int,
    offsets: Complexes,
    spreads: Floats,
) -> tuple[Complexes, Floats, Floats]:
    """Integrands at the nodes without e**(i y Delta), shape (cells, nodes), what they lose, and the nodes."""
    size, y = _NODES.size, _points(half, count)
    rows = min(_MOST_VARIANCES, max(1, math.ceil(math.log(variances[1] / variances[0]) / _VARIANCE_STEP)))
    ratio = (variances[1] / variances[0]) ** (1 / rows)
    terms = np.zeros((rows * _MOST_THIRDS, y.size), dtype=np.complex128)
    lost = np.full(rows * _MOST_THIRDS, -math.inf)
    for i in range(rows):
        low = variances[0] * ratio**i
        high = low * ratio * (1 + _ROUNDING)
        least, most = thirds
        parts = min(_MOST_THIRDS, max(1, math.ceil((most - least) / _THIRD_STEP)))
        away = (most - least) / 2 / parts + _ROUNDING
        furthest = max(abs(least), abs(most))
        loss, used = _lost(low, high, away, furthest, fourth, widest, half, count, offsets, spreads, y)
        for t in range(parts):
            third = least + (2 * t + 1) * (most - least) / 2 / parts
            lost[i * _MOST_THIRDS + t] = loss
            for p in range(used):
                for j in range(size):
                    k = p * size + j
                    power = offsets[p] * y[k] ** 4 - (low + high) / 4 * y[k] ** 2
                    value = np.exp(power - 1j * third / 6 * y[k] ** 3) / (1 - 1j * y[k])
                    terms[i * _MOST_THIRDS + t, k] = value * _WEIGHTS[j] * half / math.pi
    return terms, lost, y


@kernel()
def _points(half: float, count: int) -> Floats:
    y = np.empty(count * _NODES.size)
    for p in range(count):
        for j in range(_NODES.size):
            y[p * _NODES.size + j] = half * (2 * p + 1 + _NODES[j])
    return y


@kernel()
def _lost(
    low: float,
    high: float,
    away: float,
    furthest: float,
    fourth: float,
    widest: float,
    half: float,
    count: int,
    offsets: Complexes,
    spreads: Floats,
    y: Floats,
) -> tuple[float, int]:
    """What the integral up to Y may be off and what lies beyond, at the best Y; and its panels."""
    beyond = np.empty(count + 1)
    beyond[count] = _behind(2 * half * count, low, fourth)
    for p in range(count - 1, -1, -1):
        beyond[p] = beyond[p + 1]
        for s in range(_SUBSTEPS):
            left = 2 * half * (p + s / _SUBSTEPS)
            step = math.asinh(left + 2 * half / _SUBSTEPS) - math.asinh(left)
            beyond[p] += step / math.pi * _modulus(left, low, fourth)
    best, used, near = beyond[0], 0, 0.0
    for p in range(count):
        end = 2 * half * (p + 1)
        if end > widest or (spreads[p] + abs(offsets[p])) * end**4 > _HUGE:
            break
        for j in range(_WEIGHTS.size):
            at = y[p * _WEIGHTS.size + j]
            size = math.exp(offsets[p].real * at**4 - low * at**2 / 2) / math.sqrt(1 + at**2)
            off = math.expm1(spreads[p] * at**4) + (high - low) / 4 * at**2 + away * at**3 / 6
            near += (1 + 1e-6) * _WEIGHTS[j] * half / math.pi * size * off
        near += _misread(p, low, high, away, furthest, half, offsets[p], spreads[p])
        if near + beyond[p + 1] < best:
            best, used = near + beyond[p + 1], p + 1
    return best + _ROUNDING, used


@kernel()
def _modulus(y: float, variance: float, fourth: float) -> float:
    """At least |f|."""
    if fourth <= 0:
        return math.exp(-variance * y**2 / 2)
    return math.exp(-3 * variance**2 / fourth * math.log1p(y**2 * fourth / (6 * variance)))


@kernel()
def _behind(y: float, variance: float, fourth: float) -> float:
    """At least the integral of |f| / y over pi from some y on."""
    if fourth <= 0:
        return math.exp(-variance * y**2 / 2) / (variance * y**2) / math.pi
    z = y**2 * fourth / (6 * variance)
    return (1 + 1 / z) * _modulus(y, variance, fourth) / (6 * variance**2 / fourth) / math.pi


@kernel()
def _misread(
    p: int,
    low: float,
    high: float,
    away: float,
    furthest: float,
    half: float,
    offset: complex,
    spread: float,
) -> float:
    """What the rule of Gauss may be off on a panel, in the integral and in what it may be off."""
    across, centre = 1.875 * half, half * (2 * p + 1)
    inner, outer = max(centre - 2.125 * half, 0.0), centre + 2.125 * half
    size = math.hypot(outer, across)
    power = -low * inner**2 / 2 + high * across**2 / 2 + furthest * (3 * outer**2 * across + across**3) / 6
    power += abs(offset) * size**4 + across * _FARTHEST
    off = math.expm1(min(spread * size**4, 2 * _HUGE)) + (high - low) / 4 * size**2 + away * size**3 / 6
    return _GAUSS * half / math.pi * math.exp(min(power, 2 * _HUGE)) / (1 - across) * (1 + off)


@kernel()
def _bisected(allowed: float, terms: Complexes, lost: Floats, y: Floats) -> float:
    """Greatest Delta seen at which A is more than ``allowed`` in all cells; A falls, so any will do."""
    left, right = -math.inf, _HIGHEST
    for start in _STARTS:
        if _exceeds(start, allowed, terms, lost, y):
            left = start
            break
    if left == -math.inf:
        return left
    for _ in range(_BISECTIONS):
        middle = (left + right) / 2
        if _exceeds(middle, allowed, terms, lost, y):
            left = middle
        else:
            right = middle
    return left


@kernel()
def _exceeds(shift: float, allowed: float, terms: Complexes, lost: Floats, y: Floats) -> bool:
    turned = np.exp(1j * shift * y)
    needed = allowed * math.exp(shift)
    for row in range(lost.size):
        if lost[row] == -math.inf:
            continue
        total = 0.0
        for k in range(y.size):
            total += turned[k].real * terms[row, k].real - turned[k].imag * terms[row, k].imag
        if not total - lost[row] > needed:
            return False
    return True
