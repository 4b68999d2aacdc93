"""What the mean gain over all scenarios has to be, which no scenario can choose for itself.

Long plans are charged for it (`depl.models.exact.charged.Priced`). What S - p met scenarios require of the
mean gain of a plan is this: let e_s be the least that scenario s ends above the mean, over all
sequences of the length. If a plan of mean gain Y meets all scenarios outside a set I of at most p, then

    S Y >= sum over s not in I of max(needed, Y + e_s) + sum over s in I of (Y + e_s).

So with short_s = max(0, needed - Y - e_s), the sum of all e_s and of the short_s but the p largest is at
most 0. That sum does not increase with Y; the least Y at which it is at most 0 is required of every plan.
"""

import math

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.problem.laws import FloatArray

_SLACK = 1e-9
"""Rounding granted to a sum of deviations, relative to the gains that they are differences of and to what is
needed, on which proofs rest: an epoch adds about 2**-53 of its gains, so 1e-9 is far more than enough. It
lowers what is required by as much."""


def required_means(sample: Sample, mean: Sample, open_kinds: NDArray[np.bool_]) -> FloatArray:
    """Least mean gain of a plan that meets S - p scenarios, by number of epochs; shape (K + 1,) [loss].

    Minus infinity where nothing is required, 0 where no sequence of that length exists.

    Parameters
    ----------
    mean : Sample
        The mean of all scenarios, as the only one.
    open_kinds : bool array (K, J)
        Which kinds an epoch may have.
    """
    apart = sample._replace(
        gains=sample.gains - mean.gains, switch_losses=sample.switch_losses - mean.switch_losses
    )
    least = priced_prefixes(apart, np.where(open_kinds, 0.0, math.inf), -1.0)
    size = _size(sample)
    return np.array([_required(row, sample.needed, sample.allowed, size) for row in least])


def _size(sample: Sample) -> float:
    """At least the sum of all gains and losses of a sequence in a scenario, without their signs."""
    gains = np.where(np.isfinite(sample.gains), np.abs(sample.gains), 0.0)
    losses = np.where(np.isfinite(sample.switch_losses), np.abs(sample.switch_losses), 0.0)
    each = gains.max(axis=(1, 2), initial=0.0) + losses.max(axis=(1, 2, 3), initial=0.0)
    return float(each.sum())


def _required(deviations: FloatArray, needed: float, allowed: int, size: float) -> float:
    """needed - c for the largest c with [sum of all e] + [sum of max(0, c - e) but the p smallest e] <= 0.

    Between two of the e that sum is linear in c, so c is found among the pieces.
    """
    if not np.all(np.isfinite(deviations)):
        return 0.0
    kept = np.sort(deviations)[allowed:]
    slack = _SLACK * (float(np.abs(deviations).max()) + abs(needed) + size) * len(deviations)
    room = slack - float(deviations.sum())  # exact deviations sum to at most 0, up to rounding
    if room < 0:
        return math.inf
    parts = (room + np.cumsum(kept)) / np.arange(1, len(kept) + 1)
    ends = np.append(kept[1:], math.inf)
    return needed - float(parts[np.argmax(parts <= ends)])
