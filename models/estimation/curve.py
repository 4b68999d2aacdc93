"""A and B of eq. (8) by least squares under X = 1, with intervals, since B is badly identified.

The improvement of run r at epoch k is Y = A g_k(B) X with g_k(B) = (k + B)^(-1/2). With N_k observations of
sum S_k at epoch k, the least sum of squares for a given B is, but for a constant, -(sum S_k g_k)**2 /
sum N_k g_k**2, so one number, B, is searched for on [-0.99, 100 K]; at the upper end g is constant to half a
per cent. Intervals come from resampled runs, or ratios where there are few. The scale is the one with mean
ratio 1: the mean of Y / g_k(B).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.estimation.choices import RESAMPLES
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.foundation.search import GOLDEN
from depl.models.problem.laws import FloatArray

LEAST_OFFSET = -0.99
"""Least B [epochs]. At -1 the improvement of the first epoch, A / sqrt(1 + B), would be infinite."""

LARGEST_OFFSET_PER_EPOCH = 100.0
"""Greatest B of a fit, as a multiple of the last epoch."""

LEAST_RUNS_TO_RESAMPLE = 10
"""With fewer runs, ratios are resampled instead."""

_NODES, _GOLDEN_STEPS = 160, 40


@dataclass(frozen=True)
class Curve:
    """The curve A / sqrt(k + B) of mean ratio 1.

    Attributes
    ----------
    scale : float
        A [loss]; of the constant shape, the improvement per epoch.
    offset : float
        B [epochs]; infinite for the constant shape.
    scale_bounds, offset_bounds : Interval
        95 % intervals of A and B of the decaying shape; infinite at one end where the constant shape cannot
        be excluded.
    mean_ratio : float
        Mean of x along the curve of least squares itself; far from 1 where improvements do not decay as the
        curve does.
    """

    scale: float
    offset: float
    scale_bounds: Interval
    offset_bounds: Interval
    mean_ratio: float

    @property
    def constant(self) -> bool:
        """Whether the improvement does not decay within the epochs seen."""
        return math.isinf(self.offset)

    def at(self, epochs: FloatArray) -> FloatArray:
        """Expected improvement at epochs k [loss]."""
        return np.asarray(self.scale * _decay(epochs, np.array([self.offset]))[0])


Sums = tuple[FloatArray, FloatArray]
"""How many improvements every row has at every epoch, and their sums [loss]; N_k and S_k, both (b, e)."""


class Curves(NamedTuple):
    """Curves of b rows: A of mean ratio 1, B, and the mean ratio of least squares, all of shape (b,)."""

    scale: FloatArray
    offset: FloatArray
    mean_ratio: FloatArray

    def at(self, epochs: FloatArray) -> FloatArray:
        """Expected improvements of every row at every epoch, shape (b, e) [loss]."""
        return np.asarray(self.scale[:, None] * _decay(epochs, self.offset))


def fit_curve(
    improvements: ArrayLike,
    epochs: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Curve:
    """Fit A and B to observed improvements.

    Parameters
    ----------
    improvements : array (r, e)
        Of every run and epoch; NaN where one was not observed at that epoch [loss].
    epochs : array (e,)
        The k of the columns, different and at least 1.
    rng : numpy.random.Generator
        Of the resampled runs.
    resamples : int
        How often the runs are resampled.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, fewer than three epochs or four improvements were observed, or the loss does
        not move (on average).
    """
    values, ks = checked_improvements(improvements, epochs)
    found = fitted_curves(ks, epoch_sums(values, np.ones((1, len(values)))))
    if not found.scale[0] or not np.isfinite(found.mean_ratio[0]):
        raise InvalidInputError("the loss does not move on average, so that there are no ratios to a curve")
    if len(values) >= LEAST_RUNS_TO_RESAMPLE:
        again = epoch_sums(values, resampling_weights(len(values), rng, resamples))
    else:
        rows, columns = np.nonzero(np.isfinite(values))
        expected = found.at(ks)[0, columns]
        ratios = values[rows, columns] / expected
        drawn = ratios[rng.integers(ratios.size, size=(resamples, ratios.size))]
        again = sums_by_column(expected * drawn, columns)
    resampled = fitted_curves(ks, again)
    scales = np.where(np.isinf(resampled.offset), np.copysign(np.inf, resampled.scale), resampled.scale)
    scale, offset, ratio = (float(numbers[0]) for numbers in found)
    return Curve(scale, offset, _interval(scales), _interval(resampled.offset), ratio)


def fitted_curves(epochs: FloatArray, sums: Sums) -> Curves:
    """The curve of every row; B is infinite for the constant shape."""
    counts, totals = sums
    least, most = math.log1p(LEAST_OFFSET), math.log1p(LARGEST_OFFSET_PER_EPOCH * float(epochs[-1]))
    nodes = np.linspace(least, most, _NODES)

    def height(logs: FloatArray) -> FloatArray:
        return _explained(epochs, sums, logs[:, None])[:, 0]

    found = row_maxima(height, nodes, _explained(epochs, sums, nodes[None, :]), _GOLDEN_STEPS)
    decays = found < nodes[-1] - 1e-3 * (nodes[-1] - nodes[-2])
    offset = np.where(decays, np.maximum(np.expm1(found), LEAST_OFFSET), np.inf)
    decay = _decay(epochs, offset)
    scale = (totals / decay).sum(axis=1) / counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # what does not move on average has no ratios
        ratio = scale * (counts * decay**2).sum(axis=1) / (totals * decay).sum(axis=1)
    return Curves(scale, offset, ratio)


def row_maxima(
    function: Callable[[FloatArray], FloatArray], nodes: FloatArray, heights: FloatArray, steps: int
) -> FloatArray:
    """Where functions of one number are greatest: golden sections around the best of a few points.

    Parameters
    ----------
    function : callable
        Values, shape (b,), of b functions at a point of its own each, shape (b,).
    nodes : float array (q,)
        Ascending.
    heights : float array (b, q)
        Values there.
    """
    best = heights.argmax(axis=1)
    low, high = nodes[np.maximum(best - 1, 0)], nodes[np.minimum(best + 1, len(nodes) - 1)]
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        keep_left = at_left >= at_right
        low, high = np.where(keep_left, low, left), np.where(keep_left, right, high)
        point = np.where(keep_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = function(point)
        left, right = np.where(keep_left, point, right), np.where(keep_left, left, point)
        at_left, at_right = np.where(keep_left, value, at_right), np.where(keep_left, at_left, value)
    return np.asarray((low + high) / 2)


def epoch_sums(values: FloatArray, weights: FloatArray) -> Sums:
    """Of improvements (r, e), NaN where there is none, with each run counted ``weights`` (b, r) times."""
    seen = np.isfinite(values)
    return weights @ seen.astype(float), weights @ np.where(seen, values, 0.0)


def sums_by_column(values: FloatArray, columns: NDArray[np.intp]) -> Sums:
    """Of improvements (b, n), each of which is of the epoch in its column."""
    member = np.eye(columns.max() + 1)[columns]
    return np.broadcast_to(member.sum(axis=0), (len(values), member.shape[1])), values @ member


def resampling_weights(runs: int, rng: np.random.Generator, resamples: int) -> FloatArray:
    """How often each run is drawn when ``runs`` are drawn with replacement, shape (resamples, runs)."""
    return rng.multinomial(runs, np.full(runs, 1 / runs), size=resamples).astype(float)


def checked_improvements(improvements: ArrayLike, epochs: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Improvements (r, e) of the runs that were observed, epochs (e,) ascending; see `fit_curve`."""
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


def _interval(values: FloatArray) -> Interval:
    """Percentiles of resamples, 95 %."""
    lower = np.quantile(values, 0.025, method="lower")
    return Interval(float(lower), float(np.quantile(values, 0.975, method="higher")))


def _decay(epochs: FloatArray, offset: FloatArray) -> FloatArray:
    """g_k(B), shape (b, e); 1 for the constant shape."""
    finite = np.isfinite(offset)
    root = np.sqrt(epochs + np.where(finite, offset, 0.0)[:, None])
    return np.asarray(np.where(finite[:, None], 1 / root, 1.0))


def _explained(epochs: FloatArray, sums: Sums, logs: FloatArray) -> FloatArray:
    """(sum S g)**2 / sum N g**2 at B = exp(logs) - 1; logs of shape (1 or b, q), result (b, q)."""
    squares = 1 / (epochs[:, None] + np.expm1(logs)[:, None, :])
    counts, totals = sums
    if len(logs) == 1:
        return np.asarray((totals @ np.sqrt(squares[0])) ** 2 / (counts @ squares[0]))
    top = np.einsum("be,beq->bq", totals, np.sqrt(squares))
    return np.asarray(top**2 / np.einsum("be,beq->bq", counts, squares))
