"""What a promise is worth when the increments of a run are not independent: docs/estimation.rst.

If R is the variance of their sum over the sum of their variances, a violation of p becomes, for normal
increments, Phi(Phi^{-1}(p) / sqrt(R)): the sum keeps its mean, and its deviation is multiplied by sqrt(R).
"""

import math
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from depl.models.foundation.errors import InvalidInputError


class Dependence(Enum):
    """How the increments of one run hang together."""

    AUTOREGRESSIVE = "ar1"
    SHARED = "shared"


def variance_ratio(deviations: ArrayLike, kind: Dependence, correlation: float) -> float:
    """R: the variance of the sum of the increments over the sum of their variances.

    Parameters
    ----------
    deviations : array (k,)
        Standard deviations of the increments, in the order of the epochs.
    kind : Dependence
    correlation : float
        phi in (-1, 1) of AR(1); rho in [0, 1] of a shared factor.

    Raises
    ------
    InvalidInputError
        If a number is out of range, or nothing varies.
    """
    weights = np.asarray(deviations, dtype=float)
    _check_correlation(kind, correlation)
    squares = float(weights @ weights)
    if weights.ndim != 1 or not (weights >= 0).all() or not 0 < squares < math.inf:
        raise InvalidInputError("standard deviations must be finite, at least 0, and not all 0")
    if kind is Dependence.SHARED:
        return 1 + correlation * (float(weights.sum()) ** 2 / squares - 1)
    # forward recursion: tail_k = sum over i < k of w_i phi^(k - i)
    tail = products = 0.0
    for weight, before in zip(weights[1:], weights[:-1], strict=True):
        tail = correlation * (tail + before)
        products += weight * tail
    return 1 + 2 * products / squares


def normal_violation(nominal: float, ratio: float) -> float:
    """What a violation of ``nominal`` becomes when the variance of the sum is ``ratio`` times as large."""
    _check_nominal(nominal, ratio)
    return float(special.ndtr(special.ndtri(nominal) / math.sqrt(ratio)))


def _check_correlation(kind: Dependence, correlation: float) -> None:
    least = 0.0 if kind is Dependence.SHARED else -1.0
    inside = least <= correlation <= 1 if kind is Dependence.SHARED else -1 < correlation < 1
    if not inside:
        raise InvalidInputError(
            f"the correlation of {kind.value} must lie between {least:g} and 1, not {correlation}"
        )


def _check_nominal(violation: float, ratio: float) -> None:
    if not 0 < violation < 1 or not 0 < ratio < math.inf:
        raise InvalidInputError(
            f"needs a probability inside (0, 1) and a positive ratio, not {violation} and {ratio}"
        )
