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

from depl.benchmarks.analysis.reference import (
    Claim,
    Reference,
    below,
    claimed,
    ordered,
    question_of,
    references,
)
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt
from depl.models.problem.laws import FloatArray

EXACTLY = 1e-6
"""Relative excess over the optimum up to which a plan counts as optimal."""

CONFIDENCE = 0.95
_RESAMPLES, _BATCH, _SEED = 2000, 250, 20240222
_SAME = 1e-13
"""Relative difference up to which means count as equal: some hundred roundings."""
_QUANTILES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}


class Fate(Enum):
    """What became of an attempt; exactly one holds."""

    COMPARED = "compared"  # a plan, with the proved optimum
    BOUNDED = "bounded"  # a plan without a proved optimum, with a positive certified bound
    UNBOUNDED = "unbounded"  # a plan, and neither
    INFEASIBLE = "infeasible"  # a proof that there is no plan, which no plan contradicts
    FALSE_INFEASIBLE = "false_infeasible"  # the same where some method found a plan
    MISSED = "missed"  # it ended without a plan, and another method found one
    OPEN = "open"  # it ended without a plan, and nobody holds one
    TIMED_OUT = "timed_out"  # the time limit came before a plan
    REFUSED = "refused"  # the method does not cover the instance
    REJECTED = "rejected"  # the verifier did not accept its plan
    FAILED = "failed"  # an exception, or an error that the method reports
    HUNG = "hung"  # it had to be killed after its deadline
    CRASHED = "crashed"  # its process died


_BY_ENDING = {name: Fate(name) for name in ("refused", "rejected", "failed", "hung", "crashed")}
_BY_ENDING |= {"time_limit": Fate.TIMED_OUT, "error": Fate.FAILED}


@dataclass(frozen=True)
class Trial:
    """One attempt and what is known of its question.

    Trials on one ``instance`` are resampled together; ``seconds`` is None where it did not end by itself [s].
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
        said = self.claim.cost if self.claim.optimal else self.claim.lower_bound
        return not self.claim.infeasible and below(self.reference.cheapest, said)

    @property
    def below_optimum(self) -> bool:
        """Whether its verified plan is cheaper than what was called optimal."""
        return self.reference.claimed is not None and below(self.claim.cost, self.reference.claimed)

    @property
    def proved(self) -> bool:
        """Whether it proved its answer, and nothing contradicts that."""
        standing = self.claim.optimal and not self.wrong_bound
        return standing or self.fate is Fate.INFEASIBLE

    @property
    def unserved(self) -> bool:
        """Whether it has no plan where there is one; what a method refuses, it never promised."""
        without = self.reference.feasible and self.claim.cost == math.inf
        return without and self.fate is not Fate.REFUSED


def ratio(cost: float, bound: float) -> float:
    """Cost over bound: 1 where both are 0, infinite where only the bound is, or where it is not positive."""
    if cost == bound:
        return 1.0
    return cost / bound if bound > 0 else math.inf


def trials(attempts: Sequence[Attempt]) -> list[tuple[Attempt, Trial]]:
    """Every attempt with what is known of its question, in an order that does not depend on when it ended."""
    known, found = references(attempts), []
    for item in ordered(attempts):
        said, reference = claimed(item.task.configuration, item), known[question_of(item)]
        found.append((item, Trial(item.task.instance, item.ending, said, reference, item.wall_seconds)))
    return found


def tally(trials: Sequence[Trial], rng: np.random.Generator | None = None) -> dict[str, Cell]:
    """All figures of one configuration on a group of instances.

    ``mean`` to ``largest`` are of ratios to proved optima, with ``bound_`` to certified bounds where no
    optimum is proved; None without any. Then every `Fate` with its count; plans held when the time limit
    came, which are compared all the same (``at_limit``); and `Trial.unserved`. Without ``rng`` there is no
    interval of the mean.
    """
    ratios = [(trial.instance, value) for trial in trials if (value := trial.ratio) is not None]
    bounds = [(trial.instance, value) for trial in trials if (value := trial.ratio_to_bound) is not None]
    optimal = [value <= 1 + EXACTLY for _, value in ratios]
    fates = Counter(trial.fate for trial in trials)
    known = [item.seconds for item in trials if item.seconds is not None and item.fate is not Fate.REFUSED]
    return {
        "attempts": len(trials),
        "instances": len({trial.instance for trial in trials}),
        **_spread(ratios, rng),
        "optimal_share": float(np.mean(optimal)) if optimal else None,
        **{f"bound_{name}": value for name, value in _spread(bounds, rng).items()},
        **{fate.value: fates[fate] for fate in Fate},
        "at_limit": sum(trial.ending == "time_limit" and trial.claim.cost < math.inf for trial in trials),
        "unserved": sum(trial.unserved for trial in trials),
        "proved_share": sum(trial.proved for trial in trials) / len(trials) if trials else None,
        "wrong_bounds": sum(trial.wrong_bound for trial in trials),
        "below_optimum": sum(trial.below_optimum for trial in trials),
        "median_seconds": float(np.median(known)) if known else None,
        "largest_seconds": max(known, default=None),
    }


def _spread(values: Sequence[tuple[str, float]], rng: np.random.Generator | None) -> dict[str, Cell]:
    """Mean with its interval, quantiles that are ratios which occur, and the largest."""
    names = ("mean", "mean_lower", "mean_upper", *_QUANTILES, "largest")
    if not values:
        return dict.fromkeys(names)
    numbers = np.array([value for _, value in values])
    lower, upper = (None if rng is None else mean_interval(values, rng)) or (None, None)
    quantiles = [float(np.quantile(numbers, level, method="higher")) for level in _QUANTILES.values()]
    found = (float(numbers.mean()), lower, upper, *quantiles, float(numbers.max()))
    return dict(zip(names, found, strict=True))


def mean_interval(
    values: Sequence[tuple[str, float]], rng: np.random.Generator
) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of a mean: whole instances are drawn again, their trials together.

    ``values`` are instances with their values. Trials of several seeds on one instance are not independent of
    each other; instances are. The interval is bias-corrected and accelerated (Efron 1987), because ratios are
    skewed. Equal values give an interval of width 0, which says that they were equal, not that the next one
    will be. None with fewer than two instances, or with an infinite value.
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

    def mean_of_groups(sums: FloatArray, sizes: FloatArray, axis: int = -1) -> FloatArray:
        mean: FloatArray = sums.sum(axis=axis) / sizes.sum(axis=axis)
        return mean

    settings = {"n_resamples": _RESAMPLES, "batch": _BATCH, "confidence_level": CONFIDENCE, "method": "BCa"}
    found = scipy.stats.bootstrap(
        (sums, sizes), mean_of_groups, vectorized=True, paired=True, rng=rng, **settings
    ).confidence_interval
    return float(found.low), float(found.high)


def ratio_table(attempts: Sequence[Attempt]) -> Table:
    """Ratios and counts (`tally`) per suite and configuration; intervals are the same every time."""
    rng = np.random.default_rng(_SEED)
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for attempt, trial in trials(attempts):
        key = (attempt.task.suite, attempt.task.configuration, attempt.method, attempt.meaning)
        groups.setdefault(key, []).append(trial)
    rows = tuple((*key, *tally(own, rng).values()) for key, own in groups.items())
    return Table(("suite", "configuration", "method", "meaning", *tally(())), rows)


def reference_table(attempts: Sequence[Attempt]) -> Table:
    """What is known of every question: its optimum or best bound, who proved it, and disputes."""
    known, rows = references(attempts), []
    for question in dict.fromkeys(map(question_of, ordered(attempts))):
        found = known[question]
        bound = found.bound if math.isfinite(found.bound) else None
        cheapest = found.cheapest if found.feasible else None
        held = (found.optimum, found.infeasible, bound, cheapest, found.disputed, " ".join(found.proved_by))
        sample = question.sample or (None, None)
        rows.append((question.suite, question.instance, question.meaning, *sample, *held))
    columns = ("suite", "instance", "meaning", "scenarios", "seed", "optimum", "infeasible", "bound")
    return Table((*columns, "cheapest", "disputed", "proved_by"), tuple(rows))
