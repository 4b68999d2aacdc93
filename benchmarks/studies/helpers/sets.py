r"""Conformal prediction sets of classes, and how large they are on average over all splits of the examples.

The score of a class is one less its probability. The set of an example holds every class whose score is at
most the r-th smallest of the scores that n others have for their true classes, r = ceil((n + 1) level)
(`depl.models.estimation.certificate.conformal_bound`).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from depl.models.estimation.certificate import conformal_bound
from depl.models.problem.laws import FloatArray


class SetSizes(NamedTuple):
    """Share of the sets that hold the true class, and classes in a set, on average."""

    coverage: float
    size: float


def mean_prediction_sets(
    probabilities: ArrayLike, labels: NDArray[np.int64], level: float, calibration: int
) -> SetSizes:
    r"""Coverage and size of the sets, their mean over all splits with so many calibration examples, exactly.

    Parameters
    ----------
    probabilities : array of float, a row per class and a column per example
        Whose columns sum to 1.
    labels : array of int, one per example
        The true class of each.
    level : float
        Coverage that is asked for, 1 - alpha.
    calibration : int
        How many examples calibrate; at least one, and not all.

    Notes
    -----
    Of N examples any n may calibrate. A class with score s is in the set of one of the others iff fewer than
    r of the n have scores below s. If m of the N - 1 have, this has probability

    .. math::
       :label: all-splits

       P(\text{class in set}) = P(H \le r - 1), \qquad H \sim \text{Hypergeometric}(N - 1,\, m,\, n).

    Time grows as classes times examples times the logarithm of the latter.
    """
    scores = 1 - np.asarray(probabilities, dtype=np.float64)
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
