"""Answers of several methods in one process, and their figures under the names of the case's record.

What is proved of an instance, what a ratio is formed with, and how failures are counted is written once, in
`depl.benchmarks.analysis`; sweeps are read by the same code. Every plan has passed the verifier inside
`depl.solve`; one that it rejects is counted, and so is a method that refuses an instance.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from depl.benchmarks.analysis.reference import Claim, Reference, reference_of
from depl.benchmarks.analysis.tally import Fate, Spread, Trial, tally
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import VerificationError, solve


@dataclass(frozen=True)
class Answer:
    """What one method said of one instance.

    Attributes
    ----------
    ending : str
        A termination, ``refused`` for an instance that the method does not cover, or ``rejected`` where the
        verifier did not accept the method's own plan.
    cost : float
        Of the plan; infinite without one [cost].
    lower_bound : float
        Minus infinity where there is none, infinite for a proof that there is no plan [cost].
    seconds : float
        Wall time with verification [s].
    result : Result or None
        The whole result, where there is one.
    """

    ending: str
    cost: float
    lower_bound: float
    seconds: float
    result: Result | None = field(default=None, repr=False)

    @property
    def optimal(self) -> bool:
        """Whether it says that its plan is proved optimal."""
        return self.ending == Termination.OPTIMAL.value

    @property
    def infeasible(self) -> bool:
        """Whether it says that there is no plan."""
        return self.ending == Termination.INFEASIBLE.value


def answer(instance: Instance, method: str, time_limit: float, gap: float = 0.0) -> Answer:
    """Let a method solve an instance; refusals and rejected plans are answers, too."""
    started = time.perf_counter()
    try:
        result = uninterrupted(solve(instance, method, time_limit=time_limit, gap=gap))
    except NotCoveredError:
        return Answer("refused", math.inf, -math.inf, time.perf_counter() - started)
    except VerificationError:
        return Answer("rejected", math.inf, -math.inf, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    cost = math.inf if result.cost is None else result.cost
    return Answer(result.termination.value, cost, result.lower_bound, seconds, result)


@dataclass(frozen=True)
class Row:
    """One instance: what the reference method answered, and what each other method did, by name."""

    name: str
    reference: Answer
    answers: dict[str, Answer]

    @property
    def known(self) -> Reference:
        """What all answers come to."""
        answers = {"": self.reference, **self.answers}
        return reference_of([_claim(who, item) for who, item in answers.items()])


def compared(instance: Instance, reference: Answer, methods: Sequence[tuple[str, float, float]]) -> Row:
    """The row of an instance; each method with its time limit [s] and its gap."""
    answers = {name: answer(instance, name, limit, gap) for name, limit, gap in methods}
    return Row(instance.name, reference, answers)


def figures_of(method: str, rows: Sequence[Row]) -> dict[str, object]:
    """All figures of one method, each name with the method's in front.

    Ratios are None where there is nothing to form them of. Those to a bound are of the instances that have a
    positive one; the others are counted.
    """
    name = method.replace("-", "_")
    trials = [_trial(method, row) for row in rows]
    found = tally(trials)
    unbounded = found.fates[Fate.UNBOUNDED]
    without_optimum = found.fates[Fate.BOUNDED] + unbounded
    bounds = found.ratios_to_bound
    figures: dict[str, object] = {
        "refused": found.fates[Fate.REFUSED],
        "rejected": found.fates[Fate.REJECTED],
        "compared": found.fates[Fate.COMPARED],
        "found": found.fates[Fate.COMPARED] + without_optimum,
        "missed": found.unserved,
        "false_infeasible": found.fates[Fate.FALSE_INFEASIBLE],
        "wrong_bounds": found.wrong_bounds,
        "below_optimum": found.below_optimum,
        **_spread(found.ratios),
        "optimal_share": found.optimal_share,
        "unproved_compared": without_optimum,
        "unproved_without_bound": unbounded,
        "unproved_mean_ratio_to_bound": None if bounds is None else bounds.mean,
        "unproved_largest_ratio_to_bound": None if bounds is None else bounds.largest,
        "proved_share": found.proved_share,
        "median_seconds": found.median_seconds,
        "largest_seconds": found.largest_seconds,
        "worst": list(_worst(trials)),
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def _claim(who: str, item: Answer) -> Claim:
    return Claim(who, item.optimal, item.infeasible, item.cost, item.lower_bound)


def _trial(method: str, row: Row) -> Trial:
    item = row.answers[method]
    return Trial(row.name, item.ending, _claim(method, item), row.known, item.seconds)


def _spread(ratios: Spread | None) -> dict[str, float | None]:
    names = {
        "mean_ratio": "mean",
        "quantile_90_ratio": "quantile_90",
        "quantile_99_ratio": "quantile_99",
        "largest_ratio": "largest",
    }
    return {name: None if ratios is None else ratios.named[own] for name, own in names.items()}


def _worst(trials: Sequence[Trial], count: int = 5) -> Iterator[dict[str, object]]:
    """The instances with the largest ratios, to look at."""
    known = [(trial.ratio, trial.instance) for trial in trials if trial.ratio is not None]
    for value, name in sorted(known, reverse=True)[:count]:
        yield {"instance": name, "ratio": value}
