"""A certificate of a chosen plan from held-out runs that needs no law of the losses.

Let l_(1) <= ... <= l_(n) be the final losses of n fresh runs of the plan. The *confidence bound of the
quantile* is l_(r) with r = n - x, x the most exceedances that certify: if l_(r) < l_omega, at least r runs
fell below l_omega, and each does so with probability at most omega. The *split conformal bound* is l_(r)
with r = ceil((n + 1) omega): the next run is equally likely to take each of the n + 1 ranks. Ties make both
cautious, never wrong; a run without a final loss counts as infinite. docs/estimation.rst says what each
promises, why only fresh runs judge, and why once.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from depl.models.estimation.binomial import (
    Verdict,
    allowed_exceedances,
    binomial_p_values,
    least_runs,
    verdict,
    violation_of,
)
from depl.models.estimation.held_out import HeldOut
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.showing import Shown
from depl.models.problem.laws import FloatArray
from depl.models.risk.counts import ConfidenceInterval, both_ends, upper_end
from depl.models.risk.discrete import decimal


@dataclass(frozen=True)
class QuantileBound:
    """An order statistic of held-out losses as an upper bound.

    Attributes
    ----------
    value : float
        The bound [loss]; infinite where there is none.
    rank : int or None
        Which of the sorted losses it is, counted from 1; None where there are too few runs.
    least_runs : int
        The fewest runs that give a rank.
    """

    value: float
    rank: int | None
    least_runs: int


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """What held-out runs prove about P(l(K) <= l_max) >= omega.

    Attributes
    ----------
    target, level, confidence : float
        l_max [loss], omega and c.
    runs, exceedances : int
        Held-out runs, and how many of them count as ending above the target.
    allowed : int or None
        The most exceedances that certify so many runs; None where not even none does.
    verdict : Verdict
    p_value : float
        P(as few exceedances or fewer) for a promise broken by a hair; certified where it is at most 1 - c.
    refuting_p_value : float
        P(as many exceedances or more) for a promise just kept: the one-sided exact binomial test.
    violation : ConfidenceInterval
        Of P(l(K) > l_max), Clopper-Pearson with confidence c, both sides.
    greatest_violation : float
        One-sided: with confidence c, P(l(K) > l_max) is at most this.
    quantile : QuantileBound
        With confidence c, l_omega(K) is at most this.
    conformal : QuantileBound
        The next run is at most this with probability omega, averaged over the held-out runs.
    needed : int
        The fewest runs that certify with so many exceedances; of a new sample, its size fixed before.
    stopped, diverged, flat : tuple of str
        Runs that exceed because they have no final loss, or because they cannot be told from other runs.
    """

    target: float
    level: float
    confidence: float
    runs: int
    exceedances: int
    allowed: int | None
    verdict: Verdict
    p_value: float
    refuting_p_value: float
    violation: ConfidenceInterval
    greatest_violation: float
    quantile: QuantileBound
    conformal: QuantileBound
    needed: int
    stopped: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether the promise is kept, with the confidence asked for."""
        return self.verdict is Verdict.CERTIFIED


def certificate(
    judges: HeldOut | ArrayLike, target: float, level: float, confidence: float = 0.95
) -> Certificate:
    """Certify that a plan keeps its promise, from runs of it that nobody saw when it was chosen.

    Parameters
    ----------
    judges : HeldOut or array of float
        As `depl.models.estimation.held_out.held_out` finds them; or final losses of runs that are known to be
        independent and unseen, infinite or NaN for those that have none, which exceed.
    target : float
        l_max [loss], or a bound on the error rate.
    level : float
        omega.
    confidence : float
        c, in [0.5, 1).

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, the target is not finite, or omega or the confidence
        are out of range.
    """
    found = judges if isinstance(judges, HeldOut) else None
    final = _sorted(judges.losses if isinstance(judges, HeldOut) else judges)
    if not math.isfinite(target):
        raise InvalidInputError(f"must be a finite number, not {target}", ".target")
    count, runs = int(np.count_nonzero(final > target)), final.size
    certifying, refuting = binomial_p_values(count, runs, level)
    told = verdict(count, runs, level, confidence)
    risk = float(1 - decimal(confidence))
    return Certificate(
        target=float(target),
        level=float(level),
        confidence=float(confidence),
        runs=runs,
        exceedances=count,
        allowed=allowed_exceedances(runs, level, confidence),
        verdict=told,
        p_value=certifying,
        refuting_p_value=refuting,
        violation=ConfidenceInterval(*both_ends(count, runs, risk)),
        greatest_violation=upper_end(count, runs, risk),
        quantile=loss_bound(final, level, confidence),
        conformal=loss_bound(final, level, None),
        needed=least_runs(level, confidence, count),
        stopped=() if found is None else found.stopped,
        diverged=() if found is None else found.diverged,
        flat=() if found is None else found.flat,
    )


def loss_bound(losses: ArrayLike, level: float, confidence: float | None = 0.95) -> QuantileBound:
    """The least order statistic that bounds the omega-quantile, or without a confidence the next run.

    Parameters
    ----------
    losses : array of float, one per run
        Of independent runs, NaN counts as infinite; for the next run they need be exchangeable with it only.
    confidence : float, optional
        That the bound is at least the omega-quantile. None for the *split conformal* one, which the next run
        does not exceed with probability omega, on average over the runs.

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, or omega or the confidence are out of range.
    """
    final, omega = _sorted(losses), 1 - violation_of(level)
    if confidence is None:
        rank, least = math.ceil((final.size + 1) * omega), math.ceil(omega / (1 - omega))
    else:
        allowed = allowed_exceedances(final.size, level, confidence)
        rank = final.size + 1 if allowed is None else final.size - allowed
        least = least_runs(level, confidence)
    if rank > final.size:
        return QuantileBound(math.inf, None, least)
    return QuantileBound(float(final[rank - 1]), rank, least)


def _sorted(losses: ArrayLike) -> FloatArray:
    """Ascending, runs without a loss last."""
    column = np.asarray(losses, dtype=np.float64)
    if column.ndim != 1 or not column.size:
        raise InvalidInputError("needs one final loss per run, and at least one run", ".losses")
    if np.isneginf(column).any():
        raise InvalidInputError("minus infinity is no loss", f".losses[{int(np.argmin(column))}]")
    return np.sort(np.where(np.isnan(column), np.inf, column))
