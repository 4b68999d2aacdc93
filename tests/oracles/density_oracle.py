"""Violation probabilities of many plans from sampled densities: the independent judge of batched verdicts.

Shares with `depl.models.risk.contour` neither a transform formula nor an error bound. scipy's densities
of the increments, tilted by exp(-rate x) so that heavy right tails end, are sampled on one grid and
transformed by FFT; the transforms of a plan multiply; the Fourier series of its tilted density, on a
window of one period around its own tilted mean, is integrated term by term against exp(rate x).
Laws on a bounded interval enter by a finite sum. There is no certificate: `Judged` adds to the value an error
that was never seen exceeded: Chernoff's bound at the rate, times 1e-11 plus what may leave the window plus
ten times what every density's transform still is at the highest frequency that the samples can tell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray

_RELATIVE_DOUBT = 1e-11
_NEGLIGIBLE = 1e-16
_HALF_WINDOW = 16.0
_SAMPLES_PER_DEVIATION = 3.0
_FREQUENCIES_AT_ONCE = 1024
_LARGEST_LOG = math.log(1e3)


@dataclass(frozen=True)
class Judged:
    """Interval for P(G <= g) of every plan, shapes (plans,): the value found and its stated error.

    Where digits would be lost, far above the tilted mean, only the lower end says anything.
    """

    lower: FloatArray
    upper: FloatArray

    def __and__(self, other: "Judged") -> "Judged":
        """What two judges together say."""
        return Judged(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))


class DensityOracle:
    """Distribution functions of sums that use term i ``counts[p, i]`` times.

    Parameters
    ----------
    terms : sequence of Term
        Gains are ``-coefficient * X``; with a heavy right tail the coefficient has to be negative.
    counts : array, shape (n, t)
        Of n plans and t terms: whole numbers; every plan has at least one smooth term.
    rate : float
        The tilt [1 / loss], positive; the more of the answer's digits are kept, the nearer
        the tilted mean of a plan lies to the gain asked for.
    fewest, most : int
        Samples per density: between them, as many as the narrowest density needs.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        counts: NDArray[np.floating],
        rate: float,
        fewest: int = 8192,
        most: int = 1 << 17,
    ) -> None:
        self._rate, self._counts = rate, np.asarray(counts, dtype=float)
        tilted = [_tilted(term, rate) for term in terms]
        moments = np.array([_moments(*law) for law in tilted])
        self._means = self._counts @ moments[:, 0]
        spread = math.sqrt(float((self._counts @ moments[:, 1]).max()))
        used = (self._counts > 0).any(axis=0)
        self._period = 2 * _HALF_WINDOW * max(spread, 1.2 * math.sqrt(float(moments[used, 1].max())))
        # One large increment is how a sum leaves the window; what does so comes in on its other side.
        beyond = [
            float(masses[np.abs(values - mean) > 0.4 * self._period].sum())
            for (values, masses), mean in zip(tilted, moments[:, 0], strict=True)
        ]
        narrowest = math.sqrt(float(moments[used, 1].min()))
        wanted = _SAMPLES_PER_DEVIATION * self._period / narrowest
        points = int(min(max(2 ** math.ceil(math.log2(wanted)), fewest), most))
        self._frequencies = 2 * math.pi / self._period * np.arange(points // 2 + 1)
        logs = np.array(
            [self._log_transform(term, mean, points) for term, (mean, _) in zip(terms, moments, strict=True)]
        )
        sampled = np.array([term.law.nodes() is None for term in terms])
        folded = np.where(sampled, np.exp(logs[:, -1].real - logs[:, 0].real), 0.0)
        self._doubt = _RELATIVE_DOUBT + 10 * (self._counts @ (np.array(beyond) + folded))
        self._scale = self._counts @ logs[:, 0].real
        self._coefficients = self._products(logs)
        self._frequencies = self._frequencies[: self._coefficients.shape[1]]

    def judge(self, gains: FloatArray) -> Judged:
        """P(G <= gains[p]) of every plan."""
        low = self._means - self._period / 2
        ceiling = np.minimum(low + 0.97 * self._period, (_LARGEST_LOG - self._scale) / self._rate)
        high = np.maximum(np.minimum(gains, ceiling), low)
        # Relative to the tilted mean, the phase of which `_log_transform` has taken out.
        upper, lower = (high - self._means)[:, None], (low - self._means)[:, None]
        grown = np.exp(1j * upper * self._frequencies) - np.exp(
            self._rate * (lower - upper) + 1j * lower * self._frequencies
        )
        parts = (self._coefficients * grown / (self._rate + 1j * self._frequencies)).real
        parts[:, 1:] *= 2
        chernoff = np.exp(self._scale + self._rate * high)
        value, doubt = chernoff * parts.sum(axis=1) / self._period, self._doubt * chernoff
        known = np.isfinite(value)
        return Judged(
            np.where(known, np.clip(value - doubt, 0.0, 1.0), 0.0),
            np.where(known & (gains <= high), np.clip(value + doubt, 0.0, 1.0), 1.0),
        )

    def _products(self, logs: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Transforms of the plans up to the last frequency at which one of them still matters."""
        parts = []
        for first in range(0, logs.shape[1], _FREQUENCIES_AT_ONCE):
            part = logs[:, first : first + _FREQUENCIES_AT_ONCE]
            with np.errstate(invalid="ignore"):
                total = self._counts @ np.maximum(part.real, -200.0) + 1j * (self._counts @ part.imag)
            total = total - self._scale[:, None]
            kept = np.flatnonzero((total.real > math.log(_NEGLIGIBLE)).any(axis=0))
            parts.append(np.exp(total[:, : int(kept[-1]) + 1 if len(kept) else 0]))
            if not len(kept):
                break
        return np.concatenate(parts, axis=1)

    def _log_transform(self, term: Term, centre: float, points: int) -> NDArray[np.complex128]:
        """Log of E exp(-(rate + i frequency) (weight X) + i frequency centre), at the frequencies."""
        weight = -term.coefficient
        nodes = term.law.nodes()
        if nodes is not None:
            values, masses = nodes
            waves = np.exp(-np.outer(1j * self._frequencies, weight * values - centre))
            total = waves @ (masses * np.exp(-self._rate * weight * values))
            return np.asarray(np.log(total), dtype=complex)
        spacing = self._period / points
        offsets = spacing * (np.arange(points) - points // 2)
        gains = centre + offsets
        with np.errstate(over="ignore", invalid="ignore"):
            tilted = term.law.density(gains / weight) * np.exp(-self._rate * gains) * spacing / abs(weight)
        finite = np.where(np.isfinite(tilted), tilted, 0.0)
        transformed = np.fft.rfft(np.fft.ifftshift(finite))
        return np.asarray(np.log(np.where(transformed == 0, 1e-300, transformed)), dtype=complex)


def _tilted(term: Term, rate: float) -> tuple[FloatArray, FloatArray]:
    """Values of weight X and their probabilities under the tilt exp(-rate weight X), roughly."""
    weight, law = -term.coefficient, term.law
    nodes = law.nodes()
    if nodes is not None:
        values, masses = nodes
    else:
        # Fine near the mean and very far out, wherever the tilted law may lie.
        mean, variance = law.moments()
        spread = math.sqrt(min(variance, 4 * mean**2)) if math.isfinite(variance) else 2 * abs(mean)
        values = mean + 4000 * spread * np.sinh(np.linspace(-10.0, 10.0, 8001)) / math.sinh(10.0)
        masses = law.density(values) * np.gradient(values)
    with np.errstate(divide="ignore"):
        logs = np.log(masses) - rate * weight * values
    tilted = np.exp(logs - logs.max())
    return weight * values, tilted / tilted.sum()


def _moments(values: FloatArray, masses: FloatArray) -> tuple[float, float]:
    mean = float(masses @ values)
    return mean, float(masses @ (values - mean) ** 2)
