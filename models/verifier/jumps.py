"""Sums of untruncated Student-t increments: probabilities of large jumps of the loss, bracketed.

Both tails of such an increment are polynomial, so that no exponential moment exists and nothing can be
tilted. One increment is scipy's own distribution; several are convolved on a wide grid, and what leaves that
grid is accounted for by the principle of the single large jump.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy import ndimage

from depl.models.problem.laws import StudentT
from depl.models.verifier.laws import FloatArray, Increment, RandomLaw, distribution, exceedance, peak_width
from depl.models.verifier.tolerances import RELATIVE_ROUNDING

Exceedance: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Lower and upper bound, elementwise, of the probability that a sum exceeds a threshold."""

_CELLS = 2**20
"""Cells of the grid: 80,000 widths of the narrowest increment, a quarter of them to either side. What jumps
farther is bracketed; twice as many narrow that bracket where two large jumps matter, in twice the time."""


@functools.lru_cache(maxsize=2)  # 8 MiB each: the thresholds of one plan are asked one by one
def polynomial_exceedance(increments: tuple[Increment, ...]) -> tuple[Exceedance, float]:
    """Exceedance of a sum of untruncated Student-t increments, and the length on which it changes."""
    widths = [abs(item.factor) * peak_width(item.law) for item in increments]
    if len(increments) == 1 and increments[0].count == 1:
        return functools.partial(_single_exceedance, increments[0]), widths[0]
    return _JumpSum(increments, min(widths)).exceedance, min(widths)


def _single_exceedance(item: Increment, threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
    value = exceedance(item, threshold)
    return value * (1.0 - RELATIVE_ROUNDING), value * (1.0 + RELATIVE_ROUNDING)


class _JumpSum:
    """A sum of untruncated Student-t increments on a wide grid, with a bracket for what leaves the grid.

    Each centred increment is kept within [-W, W] on a period of 4 W. Unless two of the n increments exceed
    W / (2 n) in size, an event of probability at most (sum of tails)^2 / 2, one increment above W carries
    the sum above W / 2, one below -W carries it below -W / 2, and nothing wraps round. Within W / 2 of the
    centre, P(sum > x) is therefore the grid's value plus the upper tails beyond W, up to the probability
    of that event.
    """

    def __init__(self, increments: Sequence[Increment], width: float) -> None:
        self._step = 0.08 * width
        self._cells = _CELLS
        period = self._step * self._cells
        self._reach = period / 4.0
        self._centre = math.fsum(item.count * item.factor * _location(item.law) for item in increments)
        number = sum(item.count for item in increments)
        self._beyond = math.fsum(item.count * _size_tail(item, self._reach) / 2.0 for item in increments)
        large = math.fsum(item.count * _size_tail(item, self._reach / (2 * number)) for item in increments)
        self._two_large = min(1.0, large**2 / 2.0) + 1e-14
        self._tail = self._tail_on_grid(increments, period)

    def exceedance(self, threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of P(sum > threshold), elementwise."""
        inside = np.clip(threshold - self._centre, -self._reach / 2.0, self._reach / 2.0)
        cells = inside / self._step + self._cells // 2
        value = ndimage.map_coordinates(self._tail, cells[None, :], order=5, mode="nearest") + self._beyond
        lower = np.where(threshold - self._centre > self._reach / 2.0, 0.0, value - self._two_large)
        upper = np.where(threshold - self._centre < -self._reach / 2.0, 1.0, value + self._two_large)
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)

    def _tail_on_grid(self, increments: Sequence[Increment], period: float) -> FloatArray:
        """P(every increment on the grid, centred sum > x) at x = -period / 2, ..., period / 2 - step."""
        places = self._step * (np.arange(self._cells) - self._cells // 2)
        product = np.ones(self._cells // 2 + 1, dtype=complex)
        for item in increments:
            law = distribution(item.law)
            density = law.pdf(_location(item.law) + places / item.factor) / abs(item.factor)
            density[np.abs(places) > self._reach] = 0.0
            product *= np.fft.rfft(np.fft.ifftshift(density) * self._step) ** item.count
        frequencies = 2.0 * math.pi / period * np.arange(len(product))
        product[-1] = 0.0
        waves = np.zeros_like(product)
        waves[1:] = product[1:] / (1j * frequencies[1:])
        mass = float(product[0].real)
        rising = np.fft.fftshift(np.fft.irfft(waves, self._cells)) / self._step
        integral = rising - rising[0] + mass * (places - places[0]) / period
        return np.asarray(mass - integral, dtype=float)


def _location(law: RandomLaw) -> float:
    if not isinstance(law, StudentT):
        raise TypeError("only a Student-t jumps")
    return law.location


def _size_tail(item: Increment, size: float) -> float:
    """P(|X - location| * |coefficient| > size)."""
    location = _location(item.law)
    return float(2.0 * distribution(item.law).sf(location + size / abs(item.factor)))
