r"""Conformal prediction sets of classes, and how large they are on average over all splits of the examples.

The set of an example holds every class whose score is at most the r-th smallest of the scores that n others
have for their true classes, r = ceil((n + 1) level) (`depl.models.estimation.certificate.conformal_bound`).
Of N examples any n may calibrate. A class with score s is in the set of one of the others iff fewer than r
of the n have scores below s. If m of the N - 1 have, this has probability

.. math::
   :label: all-splits

   P(\text{class in set}) = P(H \le r - 1), \qquad H \sim \text{Hypergeometric}(N - 1,\, m,\, n).
"""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from depl.models.estimation.certificate import conformal_bound
from depl.models.problem.laws import FloatArray


class Score(Enum):
    """How badly a class suits an example."""

    LABEL = "label"
    """1 - p(class)."""
    CUMULATIVE = "cumulative"
    """Probability of all likelier classes; classes of equal probability have equal scores."""


class SetSizes(NamedTuple):
    """Prediction sets of some examples, on average.

    Attributes
    ----------
    coverage : float
        Share of the sets that hold the true class.
    size : float
        Classes in a set.
    """

    coverage: float
    size: float


def class_scores(probabilities: ArrayLike, score: Score = Score.LABEL) -> FloatArray:
    """The score of each class for each example.

    Parameters
    ----------
    probabilities : array of float, a row per class and a column per example
        One answer per example; the columns sum to 1.
    score : Score

    Returns
    -------
    array of float, a row per class and a column per example
        In [0, 1], up to rounding.
    """
    table = np.asarray(probabilities, dtype=np.float64)
    if score is Score.LABEL:
        return 1 - table
    # row by row, to keep memory at one more table
    return np.stack([np.where(table > row, table, 0.0).sum(axis=0) for row in table])


def mean_prediction_sets(
    scores: FloatArray, labels: NDArray[np.int64], level: float, calibration: int
) -> SetSizes:
    """Coverage and size of the sets, their mean over all splits with so many calibration examples, exactly.

    Parameters
    ----------
    scores : array of float, a row per class and a column per example
        From `class_scores`.
    labels : array of int, one per example
        The true class of each.
    level : float
        Coverage that is asked for, 1 - alpha.
    calibration : int
        How many examples calibrate; at least one, and not all.

    Notes
    -----
    Equation :eq:`all-splits`. Time grows as classes times examples times the logarithm of the latter.
    """
    own = np.take_along_axis(scores, np.asarray(labels)[None, :], axis=0)[0]
    rank = conformal_bound(np.arange(calibration), level).rank  # of any losses: it depends on their number
    within = _within(own.size, calibration, rank)
    below = np.searchsorted(np.sort(own), scores, side="left")
    return SetSizes(
        coverage=float(within[np.searchsorted(np.sort(own), own, side="left")].mean()),
        size=float(within[below - (own < scores)].sum(axis=0).mean()),
    )


@lru_cache(maxsize=64)
def _within(examples: int, calibration: int, rank: int | None) -> FloatArray:
    """By m: probability that a class is in a set if m of the other examples have scores below its own."""
    if rank is None:  # too few examples: sets hold all classes
        return np.ones(examples)
    return np.asarray(stats.hypergeom.cdf(rank - 1, examples - 1, np.arange(examples), calibration))
