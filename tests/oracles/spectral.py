"""P(l(K) > l_max) from sampled densities and a Fourier series: an uncertified, sharp oracle.

It shares no transform formula and no complex contour with `depl.models.risk.contour`. Densities are
tilted by exp(s y), so that heavy tails on the good side stay short and small probabilities keep
their digits. The characteristic function of each smooth term is the discrete Fourier transform of
its sampled density (the trapezoidal rule), that of a truncated Student-t or an empirical term a
finite sum; the product gives the Fourier coefficients of the tilted density of the sum, repeated
with the period of the window, and the series is integrated term by term.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray
from depl.models.risk.lower_bound.tilted import tilted_term
from depl.models.risk.reach import Reach, reaches, total_reach
from depl.models.risk.transforms import transformable

ComplexArray = NDArray[np.complex128]

_DECAYED = 1e-10
_COVERED = 1e-11
_NATS = (0.1, 1.0)
_LARGEST_LOG_BOUND = 7.0
"""Logarithm of a Chernoff bound; times 1e-13, a greater one leaves too few digits of a probability."""


def spectral_violation(
    loss: FinalLoss, maximum_loss: float, points: int = 1024, tail: float = 1e-16
) -> float:
    """P(l(K) > maximum_loss) from sampled densities: a Fourier series on one window, no transform formula.

    Parameters
    ----------
    points : int
        Samples per density, and twice the number of Fourier coefficients used.
    tail : float
        Probability, under the tilt, that may lie outside the window at each end. Laws that are heavy on
        the bad side (untruncated Student-t) cannot be tilted; their window is wide, so raise ``points``
        or ``tail``.

    Returns
    -------
    float
        Without certificate. The error is about ``tail`` plus 1e-13 times the Chernoff bound (times 1
        without tilt).

    Raises
    ------
    NotCoveredError
        If ``points`` cannot resolve every density on the window, the coefficients have not decayed
        to 1e-10 (no smooth term, or too few points), or only a tilt that costs all digits would do.
    """
    if not loss.terms:
        return float(loss.constant > maximum_loss)
    refusal = NotCoveredError("no window was found")
    for window in _spectral_windows(loss, maximum_loss - loss.constant, tail):
        try:
            return _spectral_sum(loss.terms, window, points, tail)
        except NotCoveredError as error:
            refusal = error
    raise refusal


@dataclass(frozen=True)
class _SpectralWindow:
    """Where a Fourier series lives: densities weighted by exp(rate * y), integrated from ``threshold`` on.

    ``ends`` are those of the sum, ``term_ends`` those of every term.
    """

    rate: float
    threshold: float
    ends: tuple[float, float]
    term_ends: tuple[tuple[float, float], ...]


def _spectral_windows(loss: FinalLoss, threshold: float, tail: float) -> Iterator[_SpectralWindow]:
    """Windows to try: at the saddle of ``threshold`` (untilted below the mean), then with more tilt.

    More tilt shortens heavy tails on the good side, and costs digits where it exceeds the saddle. The two
    further rates move the law by about 0.1 and 1 nat.
    """
    counts = [count for _, count in loss.terms]
    parts = reaches(loss.terms, tail / sum(counts))
    total = total_reach(parts, counts)
    if any(_heavy_increase(term) for term, _ in loss.terms):
        ends = tuple((part.low(tail), part.high(tail)) for part in (total, *parts))
        yield _SpectralWindow(0.0, max(ends[0][0], threshold), ends[0], ends[1:])
        return
    # A tilt lifts what was negligible, so its window needs quantiles far beyond ``tail``.
    deep_parts = reaches(loss.terms, tail**2.5 / sum(counts))
    deep = total_reach(deep_parts, counts)
    first = 0.0
    if threshold > loss.mean() - loss.constant:
        first = float(deep.rates[np.argmin(deep.upward - deep.rates * threshold)])
    further = [float(deep.rates[np.argmin((deep.upward + nats) / deep.rates)]) for nats in _NATS]
    pairs = list(zip((total, *parts), (deep, *deep_parts), strict=True))
    for rate in [first, *(rate for rate in further if rate > first)]:
        (low, high), *terms = (_tilted_ends(*pair, rate, tail) for pair in pairs)
        # Without tilt nothing lies below the window; with tilt the window must reach the threshold.
        low, start = (low, max(low, threshold)) if rate == 0 else (min(low, threshold), threshold)
        yield _SpectralWindow(rate, start, (low, high), tuple(terms))


def _spectral_sum(
    terms: Sequence[tuple[Term, int]], window: _SpectralWindow, points: int, tail: float
) -> float:
    """The integral of the Fourier series from the threshold to the end of the window."""
    rate, start, (low, high) = window.rate, window.threshold, window.ends
    if start >= high or (rate == 0 and start <= low):
        return float(start <= low)
    period = max(high - low, *(greatest - least for least, greatest in window.term_ends)) * 1.04
    frequencies: FloatArray = 2 * np.pi / period * np.arange(points // 2 + 1, dtype=float)
    product: ComplexArray = np.ones(len(frequencies), dtype=complex)
    log_mass = -rate * start
    for (term, count), (least, greatest) in zip(terms, window.term_ends, strict=True):
        values, weights = _tilted_masses(term, rate, (least + greatest) / 2, period, points)
        total = float(weights.sum())
        found = math.log(max(total, 1e-300)) + rate * (least + greatest) / 2
        expected = tilted_term(term, rate).log_transform if rate else 0.0
        if not abs(found - expected) < _COVERED + 10 * tail:
            raise NotCoveredError(
                f"{points} samples cannot both resolve and cover the density of {term.law}; "
                "give more points, or a larger tail"
            )
        log_mass += count * expected
        product = product * (_characteristic(values, weights, frequencies, points) / total) ** count
    if log_mass > _LARGEST_LOG_BOUND:
        raise NotCoveredError(
            "far on the likely side of the threshold a tilt costs all digits, and without one the window "
            "is too wide; give more points, or a larger tail"
        )
    if float(np.abs(product[-max(1, points // 20) :]).max()) > _DECAYED:
        raise NotCoveredError(
            f"the characteristic function has not decayed within {points // 2} frequencies; give more points "
            "(no number suffices if no law is smooth)"
        )
    exponents, reach = rate + 1j * frequencies, (period + low + high) / 2 - start
    # The integrals of exp(-exponent * (y - start)) over the rest of the period that belongs to the window.
    waves = np.full(len(exponents), reach, dtype=complex)
    np.divide(-np.expm1(-exponents * reach), exponents, out=waves, where=exponents != 0)
    parts = (product * np.exp(-1j * frequencies * start) * waves).real
    value = math.exp(log_mass) * (float(parts[0]) + 2 * float(parts[1:].sum())) / period
    return min(max(value, 0.0), 1.0)


def _heavy_increase(term: Term) -> bool:
    """Whether the term has no exponential moment in the direction that raises the loss."""
    return not transformable(term)


def _tilted_ends(shallow: Reach, deep: Reach, rate: float, tail: float) -> tuple[float, float]:
    """Where the law tilted by one of the rates of ``deep`` (or by 0) lies, up to ``tail`` at each end."""
    if rate == 0:
        return shallow.low(tail), shallow.high(tail)
    index, budget = int(np.searchsorted(deep.rates, rate)), -math.log(tail)
    here, below, above = deep.upward[index], slice(None, index), slice(index + 1, None)
    lows = (here - deep.upward[below] - budget) / (rate - deep.rates[below])
    highs = (deep.upward[above] - here + budget) / (deep.rates[above] - rate)
    low = max([shallow.low(tail), float((here - budget) / rate), *lows.tolist()])
    return low, max(low, min([deep.greatest, *highs.tolist()]))


def _tilted_masses(
    term: Term, rate: float, centre: float, period: float, points: int
) -> tuple[FloatArray, FloatArray]:
    """Values of Y = coefficient * X and their masses times exp(rate * (y - centre)).

    A smooth law is sampled at ``points`` values, one period around the centre.
    """
    law, coefficient = term.law, term.coefficient
    nodes = law.nodes()
    if nodes is not None:
        values, weights = coefficient * nodes[0], nodes[1]
    else:
        spacing = period / points
        values = np.asarray(centre + spacing * (np.arange(points) - points // 2), dtype=float)
        weights = law.density(values / coefficient) * spacing / abs(coefficient)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by the caller
        return values, weights * np.exp(rate * (values - centre))


def _characteristic(
    values: FloatArray, weights: FloatArray, frequencies: FloatArray, points: int
) -> ComplexArray:
    """Sum of weight * exp(i frequency * value), by FFT where the values are the samples of one period."""
    spacing = 2 * np.pi / float(frequencies[1]) / points
    if len(values) == points and np.allclose(np.diff(values), spacing, rtol=1e-6):
        return np.asarray(np.exp(1j * frequencies * values[0]) * np.conj(np.fft.rfft(weights)))
    return np.asarray(np.exp(1j * np.outer(frequencies, values)) @ weights)
