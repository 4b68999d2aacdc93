"""A and B of eq. (8) by least squares under X = 1, with intervals, since B is badly identified.

The improvement of run r at epoch k is Y = A g_k(B) X with g_k(B) = (k + B)^(-1/2). With N_k observations of
sum S_k at epoch k, the least sum of squares for a given B and the A that attains it are

    R(B) = sum of Y**2 - (sum S_k g_k)**2 / sum N_k g_k**2,    A(B) = sum S_k g_k / sum N_k g_k**2,

so one number, B, is searched for on [-0.99, 100 K]; at the upper end g is constant to half a per cent.
Intervals come from resampled runs, or ratios where there are few. The scale is the one with mean ratio 1.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.golden import GOLDEN
from depl.models.problem.laws import FloatArray

LEAST_OFFSET = -0.99
"""Least B [epochs]. At -1 the improvement of the first epoch, A / sqrt(1 + B), would be infinite."""

LARGEST_OFFSET_PER_EPOCH = 100.0
"""Greatest B of a fit, as a multiple of the last epoch."""

LEAST_RUNS_TO_RESAMPLE = 10
"""With fewer runs, ratios are resampled instead."""

_NODES, _GOLDEN_STEPS = 160, 40


@dataclass(frozen=True)
class ConfidenceInterval:
    """A confidence interval; an end may be infinite."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Curve:
    """The curve A / sqrt(k + B) of mean ratio 1.

    Attributes
    ----------
    scale : float
        A [loss]; of the constant shape, the improvement per epoch.
    offset : float
        B [epochs]; infinite for the constant shape.
    scale_bounds, offset_bounds : ConfidenceInterval
        Confidence intervals of A and B of the decaying shape; infinite at one end where the constant shape
        cannot be excluded. Where the constant shape was asked for, that of the mean, and of nothing.
    mean_ratio : float
        Mean of x along the curve of least squares itself; far from 1 where improvements do not decay as the
        curve does.
    confidence : float
        Level of the intervals.
    by_run : bool
        Whether they come from resampled runs; else from resampled ratios.
    """

    scale: float
    offset: float
    scale_bounds: ConfidenceInterval
    offset_bounds: ConfidenceInterval
    mean_ratio: float
    confidence: float
    by_run: bool

    @property
    def constant(self) -> bool:
        """Whether the improvement does not decay within the epochs seen."""
        return math.isinf(self.offset)

    def at(self, epochs: FloatArray) -> FloatArray:
        """Expected improvement at epochs k [loss]."""
        if self.constant:
            return np.full(np.shape(epochs), self.scale)
        return np.asarray(self.scale / np.sqrt(epochs + self.offset))


@dataclass(frozen=True)
class EpochSums:
    """What a least-squares fit needs of rows of data.

    Attributes
    ----------
    epochs : float array (e,)
        The k that occur, ascending.
    counts, sums : float array (b, e)
        N_k and S_k [loss].
    """

    epochs: FloatArray
    counts: FloatArray
    sums: FloatArray


def fit_curve(
    improvements: ArrayLike,
    epochs: ArrayLike,
    rng: np.random.Generator,
    resamples: int = 999,
    confidence: float = 0.95,
    constant: bool = False,
) -> Curve:
    """Fit A and B to observed improvements.

    Parameters
    ----------
    improvements : array (r, e)
        l(k-1) - l(k) of r runs; NaN where one was not observed at that epoch [loss].
    epochs : array (e,)
        The k of the columns, different and at least 1.
    rng : numpy.random.Generator
        Of the resampled runs.
    resamples : int
        How often the runs are resampled.
    confidence : float
        Level of the intervals.
    constant : bool
        Whether to fit an improvement that does not decay: the mean.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, fewer than three epochs or four improvements were observed, or the loss does
        not move (on average).
    """
    values, ks = checked_improvements(improvements, epochs)
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, not {confidence}")
    if constant:
        return _mean_improvement(values, rng, resamples, confidence)
    whole = epoch_sums(values, ks, np.ones((1, len(values))))
    scale, offset = (float(found[0]) for found in least_squares(whole))
    if scale == 0:
        raise InvalidInputError("the loss does not move on average, so that there are no ratios to a curve")
    factor = float(mean_ratio(whole, np.array([scale]), np.array([offset]))[0])
    by_run = len(values) >= LEAST_RUNS_TO_RESAMPLE
    if by_run:
        scales, offsets = _runs_resampled(values, ks, rng, resamples, confidence)
    else:
        scales, offsets = _ratios_resampled(values, ks, (scale, offset), rng, resamples, confidence)
    return Curve(scale * factor, offset, scales, offsets, factor, confidence, by_run)


def least_squares(sums: EpochSums) -> tuple[FloatArray, FloatArray]:
    """A and B of least squares for every row, both of shape (b,); B infinite for the constant shape."""
    nodes = np.linspace(*_range(sums.epochs), _NODES)
    best = _explained(sums, nodes[None, :]).argmax(axis=1)
    low, high = nodes[np.maximum(best - 1, 0)], nodes[np.minimum(best + 1, _NODES - 1)]
    for _ in range(_GOLDEN_STEPS):
        width = GOLDEN * (high - low)
        left, right = high - width, low + width
        keep_left = _explained(sums, left[:, None]) >= _explained(sums, right[:, None])
        low, high = np.where(keep_left[:, 0], low, left), np.where(keep_left[:, 0], right, high)
    found = (low + high) / 2
    constant = found >= nodes[-1] - 1e-3 * (nodes[-1] - nodes[-2])
    offset = np.where(constant, np.inf, np.maximum(np.expm1(found), LEAST_OFFSET))
    return _scale(sums, offset), offset


def mean_ratio(sums: EpochSums, scale: FloatArray, offset: FloatArray) -> FloatArray:
    """Mean of x = Y / (A g_k) over all improvements of every row, shape (b,)."""
    total = (sums.sums / _decay(sums.epochs, offset)).sum(axis=1)
    return np.asarray(total / (scale * sums.counts.sum(axis=1)))


def curve_values(epochs: FloatArray, scale: FloatArray, offset: FloatArray) -> FloatArray:
    """A / sqrt(k + B) of every row at every epoch, shape (b, e); A itself where B is infinite [loss]."""
    return np.asarray(scale[:, None] * _decay(epochs, offset))


def epoch_sums(values: FloatArray, epochs: FloatArray, weights: FloatArray) -> EpochSums:
    """Counts and sums by epoch, each run counted ``weights`` times.

    Parameters
    ----------
    values : float array (r, e)
        Improvements of r runs, NaN where there is none.
    weights : float array (b, r)
    """
    seen = np.isfinite(values)
    return EpochSums(epochs, weights @ seen.astype(float), weights @ np.where(seen, values, 0.0))


def resampling_weights(runs: int, rng: np.random.Generator, resamples: int) -> FloatArray:
    """How often each run is drawn when ``runs`` are drawn with replacement, shape (resamples, runs)."""
    return rng.multinomial(runs, np.full(runs, 1 / runs), size=resamples).astype(float)


def checked_improvements(improvements: ArrayLike, epochs: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Improvements (r, e) of the runs that were observed, epochs (e,) in ascending order.

    Raises
    ------
    InvalidInputError
        See `fit_curve`.
    """
    values, ks = np.array(improvements, dtype=float), np.array(epochs, dtype=float)
    if values.ndim != 2 or ks.shape != values.shape[1:]:
        raise InvalidInputError(
            f"improvements need the shape (runs, epochs), not {values.shape} for {ks.size} epochs"
        )
    if not (ks >= 1).all() or len(np.unique(ks)) < len(ks):
        raise InvalidInputError("epochs are counted from 1, and no two columns may have the same one")
    if np.isinf(values).any():
        raise InvalidInputError("improvements must be finite; leave unobserved ones out as NaN")
    seen = np.isfinite(values)
    used = seen.any(axis=0)
    if used.sum() < 3 or seen.sum() < 4:
        raise InvalidInputError(
            f"A and B need at least 3 epochs and 4 improvements, not {used.sum()} and {seen.sum()}"
        )
    order = np.argsort(ks[used])
    values, ks = values[seen.any(axis=1)][:, used][:, order], ks[used][order]
    if np.nansum(np.abs(values)) == 0:
        raise InvalidInputError("the loss does not move: all improvements are 0")
    return values, ks


def _mean_improvement(
    values: FloatArray, rng: np.random.Generator, resamples: int, confidence: float
) -> Curve:
    """The constant shape with an interval of the mean; from Student's t where there are few runs."""
    seen = values[np.isfinite(values)]
    mean, nowhere = float(seen.mean()), ConfidenceInterval(math.inf, math.inf)
    by_run = len(values) >= LEAST_RUNS_TO_RESAMPLE
    if by_run:
        sums = epoch_sums(
            values, np.arange(1.0, values.shape[1] + 1), resampling_weights(len(values), rng, resamples)
        )
        bounds = _percentiles(sums.sums.sum(axis=1) / sums.counts.sum(axis=1), confidence)
    else:
        factor = scipy.stats.t.ppf((1 + confidence) / 2, seen.size - 1)
        half = factor * seen.std(ddof=1) / math.sqrt(seen.size)
        bounds = ConfidenceInterval(mean - float(half), mean + float(half))
    return Curve(mean, math.inf, bounds, nowhere, 1.0, confidence, by_run)


def _range(epochs: FloatArray) -> tuple[float, float]:
    """Bounds of log(1 + B)."""
    return math.log1p(LEAST_OFFSET), math.log1p(LARGEST_OFFSET_PER_EPOCH * float(epochs[-1]))


def _decay(epochs: FloatArray, offset: FloatArray) -> FloatArray:
    """g_k(B), shape (b, e); 1 for the constant shape."""
    finite = np.isfinite(offset)
    root = np.sqrt(epochs + np.where(finite, offset, 0.0)[:, None])
    return np.asarray(np.where(finite[:, None], 1 / root, 1.0))


def _scale(sums: EpochSums, offset: FloatArray) -> FloatArray:
    decay = _decay(sums.epochs, offset)
    return np.asarray((sums.sums * decay).sum(axis=1) / (sums.counts * decay**2).sum(axis=1))


def _explained(sums: EpochSums, logs: FloatArray) -> FloatArray:
    """(sum S g)**2 / sum N g**2 at B = exp(logs) - 1; logs of shape (1 or b, q), result (b, q)."""
    squares = 1 / (sums.epochs[:, None] + np.expm1(logs)[:, None, :])
    if len(logs) == 1:
        return np.asarray((sums.sums @ np.sqrt(squares[0])) ** 2 / (sums.counts @ squares[0]))
    top = np.einsum("be,beq->bq", sums.sums, np.sqrt(squares))
    return np.asarray(top**2 / np.einsum("be,beq->bq", sums.counts, squares))


def _runs_resampled(
    values: FloatArray, epochs: FloatArray, rng: np.random.Generator, resamples: int, confidence: float
) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    """Percentile intervals of A (of mean ratio 1) and B over runs drawn with replacement."""
    sums = epoch_sums(values, epochs, resampling_weights(len(values), rng, resamples))
    return _intervals(sums, confidence)


def _intervals(sums: EpochSums, confidence: float) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    scale, offset = least_squares(sums)
    scale = scale * mean_ratio(sums, scale, offset)
    scale = np.where(np.isinf(offset), np.copysign(np.inf, scale), scale)
    return _percentiles(scale, confidence), _percentiles(offset, confidence)


def _percentiles(values: FloatArray, confidence: float) -> ConfidenceInterval:
    ends = (1 - confidence) / 2, (1 + confidence) / 2
    lower = np.quantile(values, ends[0], method="lower")
    return ConfidenceInterval(float(lower), float(np.quantile(values, ends[1], method="higher")))


def _ratios_resampled(
    values: FloatArray,
    epochs: FloatArray,
    fitted: tuple[float, float],
    rng: np.random.Generator,
    resamples: int,
    confidence: float,
) -> tuple[ConfidenceInterval, ConfidenceInterval]:
    """Percentile intervals of A (of mean ratio 1) and B over ratios x drawn anew for every epoch."""
    rows, columns = np.nonzero(np.isfinite(values))
    scale, offset = (np.array([number]) for number in fitted)
    expected = curve_values(epochs, scale, offset)[0, columns]
    ratios = values[rows, columns] / expected
    member = np.eye(len(epochs))[columns]
    counts = np.broadcast_to(member.sum(axis=0), (resamples, len(epochs)))
    drawn = expected * ratios[rng.integers(ratios.size, size=(resamples, ratios.size))]
    return _intervals(EpochSums(epochs, counts, drawn @ member), confidence)
