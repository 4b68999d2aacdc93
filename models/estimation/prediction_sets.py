r"""Conformal prediction sets of classes, and how large they are on average.

A network gives every example a probability for each class. A *score* says how badly a class suits an example:

*label score*, 1 - p(class);

*cumulative score*, the probability of all classes that are likelier than this one. It is 0 for the likeliest
class, so its sets are never empty.

n calibration examples have the scores of their true classes. With T the r-th smallest of them and
r = ceil((n + 1) * level), the set of another example holds every class whose score is at most T
(`depl.models.estimation.certificate.conformal_bound`, with scores in the place of losses). If the examples
are exchangeable, the true class is in it with probability at least ``level``, and exactly r / (n + 1) where
no two of the scores are equal. With n < level / (1 - level) there is no such r, and sets hold all classes.

**All splits at once.** N held-out examples can be split into n that calibrate and N - n that are tested in
very many ways. The mean over all of them needs no sampling. For a test example i the n others are a uniform
subset of the N - 1. A class with score s is in the set iff fewer than r of the n have scores below s. If m
of the N - 1 have, their number among the n is hypergeometric:

.. math::
   :label: all-splits

   P(\text{class in set}) = P(H \le r - 1), \qquad H \sim \text{Hypergeometric}(N - 1,\, m,\, n).

Summed over the classes this is the mean size of the set of i; for the true class alone it is the coverage;
for the two smallest scores it tells how often the set is empty or a single class. Without ties the coverage
is r / (n + 1) again, whatever the network: it says nothing about how good the network is. The size does.

[5], [6] of the paper; its sentences on such sets are judged by the benchmark ``prediction-sets``.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from depl.models.estimation.certificate import conformal_bound
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

_SUM_TOLERANCE = 1e-4  # probabilities come in single precision

Indices = NDArray[np.int64]


class Score(Enum):
    """How badly a class suits an example."""

    LABEL = "label"
    """1 - p(class)."""
    CUMULATIVE = "cumulative"
    """Probability of all likelier classes; classes of equal probability have equal scores."""


@dataclass(frozen=True)
class SetSizes:
    """Prediction sets of some examples, on average.

    Attributes
    ----------
    calibration : int
        n, examples that calibrate.
    rank : int or None
        r, which of their ascending scores is the threshold; None where there are too few.
    coverage : float
        Share of the sets that hold the true class.
    size : float
        Classes in a set.
    empty, single : float
        Shares of the sets with no class and with one.
    """

    calibration: int
    rank: int | None
    coverage: float
    size: float
    empty: float
    single: float


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

    Raises
    ------
    InvalidInputError
        If there is no class or no example, or a column is no distribution.
    """
    table = np.asarray(probabilities, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise InvalidInputError("needs a row per class and a column per example", ".probabilities")
    proper = (table >= 0).all(axis=0) & (np.abs(table.sum(axis=0) - 1) <= _SUM_TOLERANCE)
    if not proper.all():
        message = "is no distribution over the classes"
        raise InvalidInputError(message, f".probabilities[:, {int(np.argmin(proper))}]")
    return 1 - table if score is Score.LABEL else _likelier(table)


def prediction_sets(scores: ArrayLike, labels: ArrayLike, level: float, calibration: ArrayLike) -> SetSizes:
    """Sets from one split of the examples.

    Parameters
    ----------
    scores : array of float, a row per class and a column per example
        From `class_scores`.
    labels : array of int, one per example
        The true class of each.
    level : float
        Coverage that is asked for, 1 - alpha.
    calibration : array of int
        The examples that calibrate, each once; all others are tested.

    Raises
    ------
    InvalidInputError
        If scores and labels do not fit each other, the level is out of range, or the examples to calibrate
        are none, all, unknown or repeated.
    """
    table, own = _checked(scores, labels)
    chosen = np.asarray(calibration)
    known = chosen.ndim == 1 and chosen.dtype.kind in "iu" and 0 < chosen.size < own.size
    if not known or not np.isin(chosen, np.arange(own.size)).all() or np.unique(chosen).size < chosen.size:
        raise InvalidInputError("needs some examples, not all, each once", ".calibration")
    bound = conformal_bound(own[chosen], level)
    tested = np.delete(np.arange(own.size), chosen)
    sizes = (table[:, tested] <= bound.value).sum(axis=0)
    return SetSizes(
        calibration=int(chosen.size),
        rank=bound.rank,
        coverage=float(np.mean(own[tested] <= bound.value)),
        size=float(sizes.mean()),
        empty=float(np.mean(sizes == 0)),
        single=float(np.mean(sizes == 1)),
    )


def mean_prediction_sets(scores: ArrayLike, labels: ArrayLike, level: float, calibration: int) -> SetSizes:
    """The mean of `prediction_sets` over all splits with so many calibration examples, exactly.

    Parameters
    ----------
    scores : array of float, a row per class and a column per example
    labels : array of int, one per example
    level : float
        Coverage that is asked for, 1 - alpha.
    calibration : int
        How many examples calibrate; at least one, and not all.

    Raises
    ------
    InvalidInputError
        If scores and labels do not fit each other, or the level or the number is out of range.

    Notes
    -----
    Equation :eq:`all-splits`. Time grows as classes times examples times the logarithm of the latter.
    """
    table, own = _checked(scores, labels)
    if not 0 < calibration < own.size:
        message = f"must lie between 1 and {own.size - 1}, not at {calibration}"
        raise InvalidInputError(message, ".calibration")
    rank = conformal_bound(np.arange(calibration), level).rank  # of any losses: it depends on their number
    within = _within(own.size, calibration, rank)
    below = np.searchsorted(np.sort(own), table, side="left") - (own < table)
    inside = within[below]
    highest = np.sort(inside, axis=0)[::-1]  # the class of the least score is inside most often
    second = highest[1] if len(highest) > 1 else np.zeros_like(own)
    return SetSizes(
        calibration=int(calibration),
        rank=rank,
        coverage=float(within[np.searchsorted(np.sort(own), own, side="left")].mean()),
        size=float(inside.sum(axis=0).mean()),
        empty=float(1 - highest[0].mean()),
        single=float((highest[0] - second).mean()),
    )


def _likelier(table: FloatArray) -> FloatArray:
    """Probability of the strictly likelier classes; example by example to keep memory at one more table."""
    found = np.empty_like(table)
    for index, row in enumerate(table):
        found[index] = np.where(table > row, table, 0.0).sum(axis=0)
    return found


@lru_cache(maxsize=64)
def _within(examples: int, calibration: int, rank: int | None) -> FloatArray:
    """By m: probability that a class is in a set if m of the other examples have scores below its own."""
    below = np.arange(examples)
    if rank is None:
        found = np.ones(examples)
    else:
        found = np.asarray(stats.hypergeom.cdf(rank - 1, examples - 1, below, calibration))
    found.setflags(write=False)
    return found


def _checked(scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """All scores, and those of the true classes."""
    table, true = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise InvalidInputError("needs a finite score per class and example", ".scores")
    if true.shape != table.shape[1:] or true.dtype.kind not in "iu":
        raise InvalidInputError("needs one class per example", ".labels")
    if true.size < 2 or not np.isin(true, np.arange(len(table))).all():
        raise InvalidInputError("needs two examples or more, with classes that have scores", ".labels")
    return table, np.take_along_axis(table, true[None, :], axis=0)[0]
