"""Whether the increments of real runs are independent, as the paper's law has them, and what follows if not.

Runs of one *schedule* (model and cluster of every epoch) are compared: an increment is l(k-1) - l(k), less
its mean over these runs. The *variance ratio*, of their sum over the sum of their variances, decides (E14):
above 1.5 promises are broken, below 0.7 targets that are reached are called unreachable. Tests permute:
under independence increments of epoch k may be exchanged between runs of a schedule, so p-values hold for
every sample size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from depl.models.estimation.choices import RESAMPLES
from depl.models.estimation.curve import resampling_weights
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.laws import FloatArray

USABLE = (0.7, 1.5)
"""Variance ratios between which the independent law may be used."""

LAGS = 5
"""Autocorrelations are told up to this lag."""


@dataclass(frozen=True)
class Tested:
    """A statistic with its two-sided permutation p-value under independence."""

    value: float
    p_value: float


@dataclass(frozen=True)
class Independence:
    """How the increments of runs hang together.

    Attributes
    ----------
    runs, epochs : int
        Runs that share their schedule with another one, and epochs of the longest.
    variance_ratio : Tested
        Var(sum) / sum of Var; 1 under independence.
    bounds : Interval
        Its 95 % interval over resampled runs.
    autocorrelations : tuple of Tested
        Mean correlation of increments that are 1, 2, ... epochs apart; 0 under independence.
    start_correlation : Tested or None
        Of the first loss with the whole improvement after it; None if all runs of a schedule begin alike.
    deviations : tuple of float
        Standard deviation of the increment of each epoch between runs of one schedule [loss].
    """

    runs: int
    epochs: int
    variance_ratio: Tested
    bounds: Interval
    autocorrelations: tuple[Tested, ...]
    start_correlation: Tested | None
    deviations: tuple[float, ...]

    @property
    def usable(self) -> bool:
        """Whether the variance ratio lies within `USABLE`."""
        return USABLE[0] <= self.variance_ratio.value <= USABLE[1]

    @property
    def clearly_unusable(self) -> bool:
        """Whether the whole interval of the variance ratio lies outside `USABLE`."""
        return self.bounds.upper < USABLE[0] or self.bounds.lower > USABLE[1]

    def violation(self, nominal: float) -> float:
        """What a promised violation becomes at this variance ratio, for normal increments."""
        ratio = self.variance_ratio.value
        return float(special.ndtr(special.ndtri(nominal) / math.sqrt(ratio))) if ratio else 0.0


def independence(
    losses: Sequence[FloatArray], rng: np.random.Generator, resamples: int = RESAMPLES
) -> Independence:
    """Test the increments of runs for independence.

    Parameters
    ----------
    losses : sequence of float array (r, e + 1)
        For every schedule the losses l(0), ..., l(e) of its r runs. Schedules with a single run say nothing
        and are left out; the attribute ``runs`` counts the others.
    rng : numpy.random.Generator
        Of resampled and permuted runs.
    resamples : int
        How many of each.

    Raises
    ------
    InvalidInputError
        If fewer than three runs share their schedule, a loss is not finite, or nothing varies.
    """
    blocks = [np.asarray(block, dtype=float) for block in losses if len(block) > 1]
    runs = sum(map(len, blocks))
    if runs < 3:
        raise InvalidInputError(f"dependence shows between runs of one schedule; {runs} of them are too few")
    if not all(np.isfinite(block).all() for block in blocks):
        raise InvalidInputError("losses must be finite in every epoch of a schedule")
    centred = [_centred(block) for block in blocks]
    table = _stacked(centred)
    gram = table.T @ table
    if not np.trace(gram[1:, 1:]) > 0:
        raise InvalidInputError("nothing varies between runs of one schedule")
    observed = _statistics(gram)
    permuted = np.empty((resamples, observed.size))
    for row in permuted:
        exchanged = _stacked([rng.permuted(part, axis=0) for part in centred])
        row[:] = _statistics(exchanged.T @ exchanged)
    tested = [_tested(float(value), column) for value, column in zip(observed, permuted.T, strict=True)]
    freedom = sum((len(part) - 1) * (np.arange(1, table.shape[1]) < part.shape[1]) for part in centred)
    return Independence(
        runs=runs,
        epochs=table.shape[1] - 1,
        variance_ratio=tested[0],
        bounds=_resampled_ratio(table[:, 1:], rng, resamples),
        autocorrelations=tuple(tested[2:]),
        start_correlation=tested[1] if gram[0, 0] > 0 else None,
        deviations=tuple(np.sqrt(np.diag(gram)[1:] / freedom).tolist()),
    )


def _centred(block: FloatArray) -> FloatArray:
    """Start and increments of runs of one schedule, less their means over the runs; shape (r, e + 1)."""
    changes = np.column_stack([block[:, 0], block[:, :-1] - block[:, 1:]])
    rest = changes - changes.mean(axis=0)
    rest[:, np.ptp(changes, axis=0) == 0] = 0.0  # the mean of equal numbers may be off by rounding
    return np.asarray(rest)


def _stacked(parts: Sequence[FloatArray]) -> FloatArray:
    """Rows one below the other, filled up with zeros."""
    longest = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, longest - part.shape[1]))) for part in parts])


def _statistics(gram: FloatArray) -> FloatArray:
    """Variance ratio, start correlation and autocorrelations, from sums of products of the columns.

    A correlation without variance is 0.
    """
    increments = gram[1:, 1:]
    whole, size = float(increments.sum()), len(increments)
    roots = np.sqrt(np.diag(increments))
    both = math.sqrt(max(gram[0, 0] * whole, 0.0))
    found = [whole / np.trace(increments), float(gram[0, 1:].sum()) / both if both > 0 else 0.0]
    for lag in range(1, min(LAGS, size - 1) + 1):
        products = roots[:-lag] * roots[lag:]
        moving = products > 0
        correlations = np.diag(increments, lag)[moving] / products[moving]
        found.append(float(correlations.mean()) if moving.any() else 0.0)
    return np.array(found)


def _tested(value: float, permuted: FloatArray) -> Tested:
    """Twice the smaller tail of the permuted values, the observed one among them; at most 1."""
    slack = 1e-12 * max(1.0, abs(value))  # equal sums in another order differ by rounding
    above = 1 + np.count_nonzero(permuted >= value - slack)
    below = 1 + np.count_nonzero(permuted <= value + slack)
    return Tested(value, min(1.0, 2 * float(min(above, below)) / (1 + permuted.size)))


def _resampled_ratio(increments: FloatArray, rng: np.random.Generator, resamples: int) -> Interval:
    """95 % percentile interval of the variance ratio over resampled runs."""
    weights = resampling_weights(len(increments), rng, resamples)
    sums = weights @ increments.sum(axis=1) ** 2, weights @ (increments**2).sum(axis=1)
    ratios = np.divide(*sums, out=np.ones(resamples), where=sums[1] > 0)
    return Interval(*np.quantile(ratios, [0.025, 0.975]).tolist())
