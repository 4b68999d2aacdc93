"""The default beside exact search and the loop, instance by instance: proofs, plans, CPU time."""

import math
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from depl.benchmarks.measure.outcome import REFUSED, SolveOutcome, tried
from depl.benchmarks.measure.registry import Goal
from depl.benchmarks.measure.solving import warm_up
from depl.models.problem.instance import Instance

SHARE = 0.8
"""Of a limit, in which exact search has to prove what the default should prove within all of it: issue 21."""
_SAME = 1e-9
"""Relative difference of costs that counts as none; they are sums of the same numbers in other orders."""

GOALS = (
    Goal("missed_count", "proved by exact search in 80 % of the limit, and not by the default", "==", 0),
    Goal("worse_plan_count", "plans that cost more than those of exact search or the loop", "==", 0),
    Goal("median_ratio", "median CPU time over the faster of exact search and the loop", "<=", 1.2),
)


class Question(NamedTuple):
    """An instance and its limits [s]; no long one where the short one says all that the long one would."""

    suite: str
    name: str
    instance: Instance
    limit: float
    long_limit: float | None


class _Answer(NamedTuple):
    """What a method came to, and the CPU time of the whole solve."""

    outcome: SolveOutcome
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether it proved its plan cheapest, or that there is none."""
        return self.outcome.proved_optimal or self.outcome.proved_infeasible

    @property
    def cost(self) -> float:
        """Infinite without a plan."""
        return math.inf if self.outcome.cost is None else self.outcome.cost


def figures(questions: Iterable[Question], warm: bool = True) -> dict[str, object]:
    """Ask all questions, one after another, and count; unless ``warm`` nobody reads the times."""
    for method in ("auto", "enumerate") if warm else ():
        warm_up(method)
    rows = [_row(question) for question in questions]
    return {
        "instances": len(rows),
        "proved_by_exact": sum(row["exact_proved"] for row in rows),
        "proved": sum(row["proved"] for row in rows),
        "missed_count": sum(row["missed"] for row in rows),
        "worse_plan_count": sum(row["worse"] for row in rows),
        "median_ratio": _median([row["ratio"] for row in rows]),
        "rows": rows,
    }


def proved(instance: Instance, limit: float) -> bool:
    """Whether the default proves its answer within the limit [s]."""
    return _asked(instance, "auto", limit).proved


def _row(question: Question) -> dict[str, Any]:
    suite, name, instance, short, long = question
    search = "enumerate" if instance.has_memory else "exact"
    loop = None if instance.has_memory else _asked(instance, "depl", short)
    exact, default = (_asked(instance, method, short) for method in (search, "auto"))
    missed = exact.proved and exact.seconds <= SHARE * short and not default.proved
    if long is not None:
        later = exact if exact.proved else _asked(instance, search, SHARE * long)
        missed = missed or (later.proved and not _asked(instance, "auto", long).proved)
    others = [item for item in (exact, loop) if item is not None and item.outcome.ending != REFUSED]
    return {
        "suite": suite,
        "name": name,
        "search": search,
        "proved": default.proved,
        "exact_proved": exact.proved,
        "loop_proved": loop is not None and loop.proved,
        "missed": missed,
        "worse": default.cost > min((answer.cost for answer in others), default=math.inf) * (1 + _SAME),
        "ratio": _ratio(default, others),
        "seconds": default.seconds,
        "exact_seconds": exact.seconds,
        "loop_seconds": None if loop is None else loop.seconds,
        "cost": default.outcome.cost,
        "lower_bound": default.outcome.lower_bound,
    }


def _asked(instance: Instance, method: str, limit: float) -> _Answer:
    clock = time.process_time()
    outcome = tried(instance, method, time_limit=limit)
    return _Answer(outcome, time.process_time() - clock)


def _ratio(default: _Answer, others: Sequence[_Answer]) -> float | None:
    """CPU time over that of the faster of those that prove as much; None where one of them proves more."""
    if not default.proved and any(answer.proved for answer in others):
        return None
    alike = [answer.seconds for answer in others if answer.proved == default.proved and answer.seconds > 0]
    return default.seconds / min(alike) if alike else None


def _median(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return statistics.median(known) if known else None
