"""Runs counted as `depl.models.problem.counting.Counting` says: how many are needed, and what they weigh."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.documents import decimal
from depl.models.problem.affine_law import Known, RunRecord
from depl.models.problem.laws import FloatArray
from depl.models.risk.counts import upper_end

_SHARES = 10**6
"""Probabilities with a confidence are multiples of 1 / _SHARES above the true ones, so that they are exact
numbers."""


def runs_to_carry(level: float, confidence: float | None = None, diverged: int = 0) -> int:
    """Fewest runs of one plan that can carry a promise of ``level``, if none of them misses the target.

    Without a confidence n runs carry n / (n + 1): 9, 19 and 99 for 0.90, 0.95 and 0.99. With one they must
    satisfy level**n <= 1 - confidence: 29, 59 and 299 at 0.95. Where d more diverged, n carry
    n / (n + d + 1); with a confidence the upper end for d of n + d must be within 1 - level.
    """
    if confidence is None:
        omega = Fraction(decimal(level))
        return math.ceil((diverged + 1) * omega / (1 - omega))

    def short(runs: int) -> bool:
        end = upper_end(diverged, runs + diverged, 1 - confidence)
        return end > float(1 - decimal(level)) * (1 + 1e-12)

    least, enough = 0, 1
    while short(enough):
        least, enough = enough, 2 * enough
    while enough - least > 1:  # short until least, and no longer from enough on: the end falls with the runs
        middle = (least + enough) // 2
        least, enough = (middle, enough) if short(middle) else (least, middle)
    return enough


def settled_losses(
    runs: Sequence[RunRecord],
    last: int,
    epochs: int,
    known: Known | None = None,
    retained: FloatArray | None = None,
) -> FloatArray:
    """What runs count with after epoch ``last``, all of them on the same schedule until then.

    Above every limit lie as many of the losses returned as there were runs above it after that one of the
    last ``epochs`` epochs after which they were most; l(0) is not among them. Where all runs end with this
    epoch, no search has picked it out of those that they went through, and it counts alone.

    Parameters
    ----------
    known : Known, optional
        The state of another run under way on this schedule; only later epochs are then looked at, and what
        runs retain of their loss after epoch e is replaced by what this run retains of its own.
    retained : float array (last - e,)
        What is left of that loss after epochs e + 1, ..., last; with ``known`` alone.

    Returns
    -------
    float array (n,)
        Ascending [loss].
    """
    picked = any(len(run.losses) > last + 1 for run in runs)
    begun = 0 if known is None else known.epoch
    first = max(begun + 1, last + 1 - epochs) if picked else last
    table = np.array([run.losses[first : last + 1] for run in runs])
    if known is not None and retained is not None:
        apart = known.loss - np.array([run.losses[begun] for run in runs])
        table = table + np.outer(apart, retained[first - begun - 1 :])
    found: FloatArray = np.sort(table, axis=0).max(axis=1)
    return found


@lru_cache(maxsize=256)
def confident_weights(runs: int, confidence: float) -> NDArray[np.int64]:
    """Weights of n ascending losses and of one unseen: x above a limit weigh what may be with the confidence.

    Returns
    -------
    int array (n + 1,)
        Those of the last x + 1 add up to the upper end of the one-sided Clopper-Pearson interval of x of n,
        rounded up and one millionth more, times their sum.
    """
    ends = [upper_end(above, runs, 1 - confidence) for above in range(runs)]
    # where an end is such a multiple, rounding must not decide; the one more is greater than either
    shares = np.array([min(_SHARES, math.ceil(end * _SHARES - 1e-3) + 1) for end in ends] + [_SHARES])
    weights = np.diff(shares, prepend=0)[::-1]
    weights.flags.writeable = False
    return weights
