"""Ratios of costs to proved optima or certified bounds, and a count of every way in which there is none.

A ratio to the optimum is formed only where the optimum is proved. Plans of other instances are compared with
the best certified bound, in figures of their own. What has no ratio is counted by what became of it; the
`Fate` of every attempt is exactly one, so that the counts add up to the attempts.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import scipy

from depl.benchmarks.analysis.reference import Claim, Reference, below
from depl.models.problem.laws import FloatArray

EXACTLY = 1e-6
"""Relative excess over the optimum up to which a plan counts as optimal."""

CONFIDENCE = 0.95
_RESAMPLES, _BATCH = 2000, 250
_SAME = 1e-13
"""Relative difference up to which means count as equal: some hundred roundings."""
_QUANTILES = (0.5, 0.9, 0.99)


class Fate(Enum):
    """What became of an attempt; exactly one holds."""

    COMPARED = "compared"
    """A plan, compared with the proved optimum."""
    BOUNDED = "bounded"
    """A plan of an instance without a proved optimum, compared with a positive certified bound."""
    UNBOUNDED = "unbounded"
    """A plan that nothing can be compared with: no optimum is proved and no bound is positive."""
    INFEASIBLE = "infeasible"
    """A proof that there is no plan, which no plan contradicts."""
    FALSE_INFEASIBLE = "false_infeasible"
    """The same of an instance for which some method found a plan."""
    MISSED = "missed"
    """It ended without a plan, and another method found one."""
    OPEN = "open"
    """It ended without a plan, and nobody holds one."""
    TIMED_OUT = "timed_out"
    """The time limit came before a plan."""
    REFUSED = "refused"
    """The method does not cover the instance."""
    REJECTED = "rejected"
    """The verifier did not accept its plan."""
    FAILED = "failed"
    """An exception, or an error that the method reports."""
    HUNG = "hung"
    """It had to be killed after its deadline."""
    CRASHED = "crashed"
    """Its process died."""


_BY_ENDING = {
    "time_limit": Fate.TIMED_OUT,
    "refused": Fate.REFUSED,
    "rejected": Fate.REJECTED,
    "failed": Fate.FAILED,
    "error": Fate.FAILED,
    "hung": Fate.HUNG,
    "crashed": Fate.CRASHED,
}


@dataclass(frozen=True)
class Trial:
    """One attempt and what is known of its question.

    Attributes
    ----------
    instance : str
        Trials on one instance are resampled together.
    ending : str
        As in `depl.benchmarks.measure.attempt.Attempt`.
    seconds : float or None
        [s]; None where it did not end by itself.
    """

    instance: str
    ending: str
    claim: Claim
    reference: Reference
    seconds: float | None

    @property
    def fate(self) -> Fate:
        """What became of it."""
        if self.claim.cost < math.inf:
            if self.reference.optimum is not None:
                return Fate.COMPARED
            return Fate.BOUNDED if self.reference.bound > 0 else Fate.UNBOUNDED
        if self.claim.infeasible:
            return Fate.FALSE_INFEASIBLE if self.reference.feasible else Fate.INFEASIBLE
        known = _BY_ENDING.get(self.ending)
        return known or (Fate.MISSED if self.reference.feasible else Fate.OPEN)

    @property
    def ratio(self) -> float | None:
        """Cost over the proved optimum."""
        optimum = self.reference.optimum
        return None if optimum is None or self.claim.cost == math.inf else ratio(self.claim.cost, optimum)

    @property
    def ratio_to_bound(self) -> float | None:
        """Cost over the best certified bound where no optimum is proved."""
        return self.claim.cost / self.reference.bound if self.fate is Fate.BOUNDED else None

    @property
    def wrong_bound(self) -> bool:
        """Whether its own bound, or its own proof of optimality, is contradicted by a verified plan."""
        claimed = self.claim.cost if self.claim.optimal else self.claim.lower_bound
        return not self.claim.infeasible and below(self.reference.cheapest, claimed)

    @property
    def below_optimum(self) -> bool:
        """Whether its verified plan is cheaper than what was called optimal."""
        return self.reference.claimed is not None and below(self.claim.cost, self.reference.claimed)

    @property
    def proved(self) -> bool:
        """Whether it proved its answer, and nothing contradicts that."""
        standing = self.claim.optimal and not self.wrong_bound
        return standing or self.fate is Fate.INFEASIBLE


@dataclass(frozen=True)
class Spread:
    """Mean, quantiles and largest of ratios; quantiles are ratios that occur.

    ``lower`` and ``upper`` bound the mean with 95 % confidence (`mean_interval`); None if not asked for, or
    if there are fewer than two instances.
    """

    count: int
    mean: float
    lower: float | None
    upper: float | None
    quantiles: tuple[float, ...]
    largest: float

    @property
    def named(self) -> dict[str, float | None]:
        """The figures by name, without the count."""
        names = ("median", "quantile_90", "quantile_99")
        return {
            "mean": self.mean,
            "mean_lower": self.lower,
            "mean_upper": self.upper,
            **dict(zip(names, self.quantiles, strict=True)),
            "largest": self.largest,
        }


NO_SPREAD: dict[str, float | None] = dict.fromkeys(
    ("mean", "mean_lower", "mean_upper", "median", "quantile_90", "quantile_99", "largest")
)


@dataclass(frozen=True)
class Tally:
    """All figures of one configuration on a group of instances.

    Attributes
    ----------
    fates : dict of Fate to int
        Every fate; adds up to the number of trials.
    ratios, ratios_to_bound : Spread or None
        Over proved optima, and over certified bounds where no optimum is proved; None without any.
    optimal_share : float or None
        Of the plans compared with an optimum, up to `EXACTLY`.
    at_limit : int
        Plans held when the time limit came; they are compared all the same.
    unserved : int
        Trials without a plan on instances that have one, refusals left out.
    proved_share : float
        Of all trials.
    """

    trials: int
    instances: int
    fates: dict[Fate, int]
    ratios: Spread | None
    ratios_to_bound: Spread | None
    optimal_share: float | None
    at_limit: int
    unserved: int
    proved_share: float
    wrong_bounds: int
    below_optimum: int
    median_seconds: float | None
    largest_seconds: float | None


def tally(trials: Sequence[Trial], rng: np.random.Generator | None = None) -> Tally:
    """Count and compare.

    Parameters
    ----------
    trials : sequence of Trial
        At least one.
    rng : numpy.random.Generator, optional
        For the interval of the mean; without it there is none.
    """
    counts = Counter(trial.fate for trial in trials)
    compared = [(trial.instance, trial.ratio) for trial in trials]
    ratios = [(name, value) for name, value in compared if value is not None]
    bounded = [(trial.instance, trial.ratio_to_bound) for trial in trials]
    exactly = [value <= 1 + EXACTLY for _, value in ratios]
    seconds = [
        trial.seconds for trial in trials if trial.seconds is not None and trial.fate is not Fate.REFUSED
    ]
    return Tally(
        trials=len(trials),
        instances=len({trial.instance for trial in trials}),
        fates={fate: counts[fate] for fate in Fate},
        ratios=_spread(ratios, rng),
        ratios_to_bound=_spread([(name, value) for name, value in bounded if value is not None], rng),
        optimal_share=float(np.mean(exactly)) if exactly else None,
        at_limit=sum(trial.ending == "time_limit" and trial.claim.cost < math.inf for trial in trials),
        unserved=sum(_unserved(trial) for trial in trials),
        proved_share=sum(trial.proved for trial in trials) / len(trials),
        wrong_bounds=sum(trial.wrong_bound for trial in trials),
        below_optimum=sum(trial.below_optimum for trial in trials),
        median_seconds=float(np.median(seconds)) if seconds else None,
        largest_seconds=max(seconds, default=None),
    )


def ratio(cost: float, bound: float) -> float:
    """Cost over bound: 1 where both are 0, infinite where only the bound is, or where it is not positive."""
    if cost == bound:
        return 1.0
    return cost / bound if bound > 0 else math.inf


def mean_interval(
    values: Sequence[tuple[str, float]], rng: np.random.Generator, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """A bootstrap interval of a mean: whole instances are drawn again, their trials together.

    The trials of several seeds on one instance are not independent of each other; instances are. The interval
    is bias-corrected and accelerated (Efron 1987), because ratios are skewed. Equal values give an interval
    of width 0, which says that they were equal, not that the next one will be.

    Parameters
    ----------
    values : sequence of (str, float)
        Instance and value.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of float or None
        None with fewer than two instances, or with an infinite value.
    """
    grouped: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        grouped[name].append(value)
    numbers = np.array([value for _, value in values])
    if len(grouped) < 2 or not np.isfinite(numbers).all():
        return None
    if numbers.min() == numbers.max():
        return float(numbers[0]), float(numbers[0])
    sums = np.array([math.fsum(own) for own in grouped.values()])
    sizes = np.array([float(len(own)) for own in grouped.values()])
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    if np.ptp(without) <= _SAME * np.abs(without).max():  # the acceleration would be 0 / 0
        return float(numbers.mean()), float(numbers.mean())
    found = scipy.stats.bootstrap(
        (sums, sizes),
        _mean_of_groups,
        n_resamples=_RESAMPLES,
        batch=_BATCH,
        vectorized=True,
        paired=True,
        confidence_level=confidence,
        method="BCa",
        rng=rng,
    ).confidence_interval
    return float(found.low), float(found.high)


def _mean_of_groups(sums: FloatArray, sizes: FloatArray, axis: int = -1) -> FloatArray:
    mean: FloatArray = sums.sum(axis=axis) / sizes.sum(axis=axis)
    return mean


def _spread(values: Sequence[tuple[str, float]], rng: np.random.Generator | None) -> Spread | None:
    if not values:
        return None
    numbers = np.array([value for _, value in values])
    interval = None if rng is None else mean_interval(values, rng)
    lower, upper = interval or (None, None)
    quantiles = tuple(float(np.quantile(numbers, level, method="higher")) for level in _QUANTILES)
    return Spread(len(values), float(numbers.mean()), lower, upper, quantiles, float(numbers.max()))


def _unserved(trial: Trial) -> bool:
    return trial.reference.feasible and trial.claim.cost == math.inf and trial.fate is not Fate.REFUSED
