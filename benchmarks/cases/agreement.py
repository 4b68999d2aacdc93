"""Whether enumeration, verifier and risk say the same on the random family.

Every instance is solved by enumeration; `depl.solve` hands the plan to the independent verifier, which
recomputes cost, time, resources and probability by methods of its own and refuses any claim that does not
agree. What is counted here is how often they agree, how often optimality was proved, and how often the
certificate had to leave a cheaper class of plans undecided.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from depl.benchmarks.runner.registry import Case, Goal
from depl.instances.generator import random_instances
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import VerificationError, solve

_INSTANCES = 200


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    count = 2 if smoke else _INSTANCES
    instances = list(
        random_instances(rng, count, models=(2, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(3, 6))
    )
    results: list[Result] = []
    refused: list[str] = []
    for instance in instances:
        try:
            results.append(uninterrupted(solve(instance, "enumerate")))
        except VerificationError as error:
            refused.append(f"{instance.name}: {error}")
    endings = Counter(result.termination.value for result in results)
    plans = [(result, result.plan) for result in results if result.plan is not None and result.plan.epochs]
    widths = [r.violation.upper - r.violation.lower for r, _ in plans if r.violation is not None]
    return {
        "instances": count,
        "disagreements": len(refused),
        "refused": refused,
        "endings": dict(endings),
        "proven_share": (endings[Termination.OPTIMAL.value] + endings[Termination.INFEASIBLE.value]) / count,
        "switching_share": _share(len({e.model for e in plan.epochs}) > 1 for _, plan in plans),
        "two_cluster_share": _share(len(plan.data) > 1 for _, plan in plans),
        "proven_optimal": sum(result.solution is Solution.PROVEN_OPTIMAL for result in results),
        "largest_violation_width": max(widths, default=0.0),
        "median_seconds": float(np.median([result.wall_seconds for result in results])),
        "largest_seconds": max(result.wall_seconds for result in results),
    }


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return float(np.mean(values)) if values else 0.0


CASE = Case(
    name="agreement",
    summary="Enumeration, verifier and risk on 200 random instances with two meanings of every number.",
    goals=(
        Goal("disagreements", "plans of the enumeration that the independent verifier refuses", "==", 0),
        Goal("proven_share", "share of instances with a proof of optimality or infeasibility", ">=", 0.95),
    ),
    run=_run,
    seed=20260214,
)
