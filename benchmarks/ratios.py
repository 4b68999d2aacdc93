"""How far the answers of a method lie from proven optima, and which feasible instances it fails.

An instance counts by what a reference method proved of it: its optimum, that it has no plan, or a certified
interval only. A ratio is formed with a proven optimum; instances without one are kept apart, with their
ratio to the best lower bound that anybody certified. Every plan has passed the verifier inside
`depl.solve`; one that it rejects is counted, and so is a method that refuses an instance.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.models.errors import NotCoveredError
from depl.models.problem import Instance
from depl.models.result import Result, Termination
from depl.models.solve import VerificationError, solve

EXACTLY = 1e-6
"""Relative excess over the optimum up to which a plan counts as optimal."""

BOUND_TOLERANCE = 1e-7
"""Relative amount up to which a bound above the optimum, or a cost below it, is put down to rounding."""


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
        result = solve(instance, method, time_limit=time_limit, gap=gap)
    except NotCoveredError:
        return Answer("refused", math.inf, -math.inf, time.perf_counter() - started)
    except VerificationError:
        return Answer("rejected", math.inf, -math.inf, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    cost = math.inf if result.cost is None else result.cost
    return Answer(result.termination.value, cost, result.lower_bound, seconds, result)


@dataclass(frozen=True)
class Row:
    """One instance: what the reference proved, and what each method answered, by name."""

    name: str
    reference: Answer
    answers: dict[str, Answer]

    @property
    def feasible(self) -> bool:
        """Whether anybody holds a plan."""
        return any(item.cost < math.inf for item in (self.reference, *self.answers.values()))

    @property
    def best_bound(self) -> float:
        """The best certified lower bound; the optimum where that is proved [cost]."""
        if self.reference.optimal:
            return self.reference.cost
        known = [self.reference.lower_bound, *(item.lower_bound for item in self.answers.values())]
        return max(bound for bound in known if bound < math.inf or not self.feasible)


def compared(instance: Instance, reference: Answer, methods: Sequence[tuple[str, float, float]]) -> Row:
    """The row of an instance; each method with its time limit [s] and its gap."""
    answers = {name: answer(instance, name, limit, gap) for name, limit, gap in methods}
    return Row(instance.name, reference, answers)


def ratio(cost: float, bound: float) -> float:
    """Cost over bound: 1 where both are 0, infinite where only the bound is, or where it is not positive."""
    if cost == bound:
        return 1.0
    return cost / bound if bound > 0 else math.inf


def figures_of(method: str, rows: Sequence[Row]) -> dict[str, object]:
    """All figures of one method, each name with the method's in front.

    Ratios are None where there is nothing to form them of. Those to a bound are of the instances that have a
    positive one; the others are counted.
    """
    name = method.replace("-", "_")
    given = [(row, row.answers[method]) for row in rows]
    proved = [(row, item) for row, item in given if row.reference.optimal]
    ratios = sorted(ratio(item.cost, row.reference.cost) for row, item in proved if item.cost < math.inf)
    apart = [
        ratio(item.cost, row.best_bound)
        for row, item in given
        if item.cost < math.inf and not row.reference.optimal
    ]
    bounded = [value for value in apart if value < math.inf]
    seconds = [item.seconds for _, item in given if item.ending != "refused"]
    counts = {ending: sum(item.ending == ending for _, item in given) for ending in ("refused", "rejected")}
    figures: dict[str, object] = {
        **counts,
        "compared": len(ratios),
        "found": sum(item.cost < math.inf for _, item in given),
        "missed": sum(_missed(row, item) for row, item in given),
        "false_infeasible": sum(row.feasible and item.infeasible for row, item in given),
        "wrong_bounds": sum(_wrong(row, item) for row, item in proved),
        "below_optimum": sum(item.cost < row.reference.cost * (1 - BOUND_TOLERANCE) for row, item in proved),
        **_spread(ratios),
        "unproved_compared": len(apart),
        "unproved_without_bound": len(apart) - len(bounded),
        "unproved_mean_ratio_to_bound": float(np.mean(bounded)) if bounded else None,
        "unproved_largest_ratio_to_bound": max(bounded, default=None),
        "proved_share": float(np.mean([item.optimal or item.infeasible for _, item in given])),
        "median_seconds": float(np.median(seconds)) if seconds else None,
        "largest_seconds": max(seconds, default=None),
        "worst": list(_worst(method, proved)),
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def _missed(row: Row, item: Answer) -> bool:
    """Whether the method covers a feasible instance and holds no plan."""
    return row.feasible and item.cost == math.inf and item.ending != "refused"


def _wrong(row: Row, item: Answer) -> bool:
    return item.lower_bound > row.reference.cost * (1 + BOUND_TOLERANCE)


def _spread(ratios: Sequence[float]) -> dict[str, object]:
    if not ratios:
        return dict.fromkeys(
            ("mean_ratio", "quantile_90_ratio", "quantile_99_ratio", "largest_ratio", "optimal_share")
        )
    values = np.array(ratios)
    return {
        "mean_ratio": float(values.mean()),
        "quantile_90_ratio": float(np.quantile(values, 0.9, method="higher")),
        "quantile_99_ratio": float(np.quantile(values, 0.99, method="higher")),
        "largest_ratio": float(values.max()),
        "optimal_share": float(np.mean(values <= 1 + EXACTLY)),
    }


def _worst(method: str, proved: Sequence[tuple[Row, Answer]], count: int = 5) -> Iterator[dict[str, object]]:
    """The instances with the largest ratios, to look at."""
    known = [(ratio(item.cost, row.reference.cost), row.name) for row, item in proved if item.cost < math.inf]
    for value, name in sorted(known, reverse=True)[:count]:
        yield {"instance": name, "ratio": value}
