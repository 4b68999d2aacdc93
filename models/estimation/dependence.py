r"""What a promise is worth when the increments of a run are not independent.

The paper's law lets every epoch draw its noise afresh. Let w_k be the standard deviation of the increment of
epoch k and R the variance of their sum over the sum of their variances, which is 1 under independence. For
normal increments a plan that misses with probability p under the independent law then misses with

    Phi(Phi^{-1}(p) / sqrt(R)),

because the sum keeps its mean and its standard deviation is multiplied by sqrt(R). Two kinds of dependence:

- AR(1): increments i and j have correlation phi^|i - j|, R = sum w_i w_j phi^|i-j| / sum w_i**2;
- a factor shared by all epochs of a run: every two have correlation rho, and
  R = 1 + rho ((sum w)**2 / sum w**2 - 1).

AR(1) of 0.3 takes 1 % to 4.2 % within 30 epochs; a shared factor grows with their number without end.
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
