"""A certificate of a chosen plan from held-out runs that needs no law of the losses.

Let l_(1) <= ... <= l_(n) be the final losses of n fresh runs of the plan. The *confidence bound of the
quantile* is l_(r) with r = n - x, x the most exceedances that certify: if l_(r) < l_omega, at least r runs
fell below l_omega, and each does so with probability at most omega. The *split conformal bound* is l_(r)
with r = ceil((n + 1) omega): the next run is equally likely to take each of the n + 1 ranks. Ties make both
cautious, never wrong; a run without a final loss counts as infinite. docs/estimation.rst says what each
promises, why only fresh runs judge, and why once.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.models.estimation.binomial import (
    HIGHEST_LEVEL,
    allowed_exceedances,
    certifies,
    certifying_p_value,
    clopper_pearson,
    greatest_violation,
    least_runs,
    refutes,
    refuting_p_value,
)
from depl.models.estimation.curve import ConfidenceInterval
from depl.models.estimation.held_out import ChosenBy, held_out
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.showing import Shown
from depl.models.problem.plan import Plan
from depl.models.risk.discrete import decimal
from depl.models.traces.table import Schedule, Traces


class Verdict(Enum):
    """What the held-out runs say of the promise."""

    CERTIFIED = "certified"
    """It is kept, with the confidence asked for."""
    UNDECIDED = "undecided"
    """It may be kept or not: the runs are too few to tell."""
    REFUTED = "refuted"
    """It is broken, with the confidence asked for."""


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


def certify(
    traces: Traces,
    target: float,
    level: float,
    confidence: float = 0.95,
    *,
    chosen_by: ChosenBy,
    plan: Plan | Schedule | None = None,
    metric: str = "loss",
    diverged: Iterable[str] = (),
) -> Certificate:
    """Certify that a plan keeps its promise, from runs of it that nobody saw when it was chosen.

    Parameters
    ----------
    traces : Traces
        Runs of the plan.
    target : float
        l_max [loss], or a bound on the error rate.
    level : float
        omega.
    confidence : float
        c, in [0.5, 1).
    chosen_by : Traces, Instance, or iterable of these
        What was used to choose the plan; none of its runs may be in ``traces``. ``()`` for nothing.
    plan : Plan or Schedule, optional
        What the runs were to train; it may be left out where the provenance of the traces says it.
    metric : str
        ``loss`` or ``error_rate``.
    diverged : iterable of str
        Those that diverged; they exceed, also where ``traces`` does not hold them.

    Raises
    ------
    InvalidInputError
        As `depl.models.estimation.held_out.held_out` and `certificate`.
    """
    judges = held_out(traces, chosen_by, plan, metric, diverged)
    return certificate(judges.losses, target, level, confidence, judges.stopped, judges.diverged, judges.flat)


def certificate(
    losses: ArrayLike,
    target: float,
    level: float,
    confidence: float = 0.95,
    stopped: tuple[str, ...] = (),
    diverged: tuple[str, ...] = (),
    flat: tuple[str, ...] = (),
) -> Certificate:
    """The same from final losses, for runs that are known to be independent and unseen.

    Parameters
    ----------
    losses : array of float, one per run
        Final losses; infinite or NaN for runs that have none, which exceed.

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, the target is not finite, or omega or the confidence
        are out of range.
    """
    final = _sorted(losses)
    if not math.isfinite(target):
        raise InvalidInputError(f"must be a finite number, not {target}", ".target")
    count = int(np.count_nonzero(final > target))
    runs = final.size
    return Certificate(
        target=float(target),
        level=float(level),
        confidence=float(confidence),
        runs=runs,
        exceedances=count,
        allowed=allowed_exceedances(runs, level, confidence),
        verdict=_verdict(count, runs, level, confidence),
        p_value=certifying_p_value(count, runs, level),
        refuting_p_value=refuting_p_value(count, runs, level),
        violation=clopper_pearson(count, runs, confidence),
        greatest_violation=greatest_violation(count, runs, confidence),
        quantile=quantile_bound(final, level, confidence),
        conformal=conformal_bound(final, level),
        needed=least_runs(level, confidence, count),
        stopped=stopped,
        diverged=diverged,
        flat=flat,
    )


def quantile_bound(losses: ArrayLike, level: float, confidence: float = 0.95) -> QuantileBound:
    """The least order statistic that is at least the omega-quantile with the confidence asked for.

    Parameters
    ----------
    losses : array of float, one per run
        Of independent runs; NaN counts as infinite.

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, or omega or the confidence are out of range.
    """
    final = _sorted(losses)
    allowed = allowed_exceedances(final.size, level, confidence)
    rank = None if allowed is None else final.size - allowed
    value = math.inf if rank is None else float(final[rank - 1])
    return QuantileBound(value, rank, least_runs(level, confidence))


def conformal_bound(losses: ArrayLike, level: float) -> QuantileBound:
    """The order statistic that the next run does not exceed with probability omega, on average.

    Parameters
    ----------
    losses : array of float, one per run
        Of runs that are exchangeable with the next one; NaN counts as infinite.

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, or omega is out of range.
    """
    final = _sorted(losses)
    least = conformal_runs(level)
    rank = math.ceil((final.size + 1) * decimal(level))
    if rank > final.size:
        return QuantileBound(math.inf, None, least)
    return QuantileBound(float(final[rank - 1]), rank, least)


def conformal_runs(level: float) -> int:
    """The fewest runs that give a conformal bound: omega / (1 - omega), rounded up.

    Raises
    ------
    InvalidInputError
        If omega is out of range.
    """
    if not 0 < level <= HIGHEST_LEVEL:
        message = f"omega must lie strictly above 0 and at most at {HIGHEST_LEVEL}, not at {level}"
        raise InvalidInputError(message, ".level")
    omega: Fraction = decimal(level)
    return math.ceil(omega / (1 - omega))


def _verdict(exceedances: int, runs: int, level: float, confidence: float) -> Verdict:
    if certifies(exceedances, runs, level, confidence):
        return Verdict.CERTIFIED
    return Verdict.REFUTED if refutes(exceedances, runs, level, confidence) else Verdict.UNDECIDED


def _sorted(losses: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ascending, runs without a loss last."""
    column = np.asarray(losses, dtype=np.float64)
    if column.ndim != 1 or not column.size:
        raise InvalidInputError("needs one final loss per run, and at least one run", ".losses")
    if np.isneginf(column).any():
        raise InvalidInputError("minus infinity is no loss", f".losses[{int(np.argmin(column))}]")
    return np.sort(np.where(np.isnan(column), np.inf, column))
