"""What came of one solve, whoever measures it: a case, a sweep, a figure.

A solve ends by a termination of `depl.models.solving.result.Termination`; ``refused`` if the method does not
cover the instance; ``rejected`` if the verifier did not accept the method's own plan. Sweeps, which look at a
process from outside, know further endings (`depl.benchmarks.measure.attempt.Attempt`).
"""

import math
import os
import time
from collections import Counter
from typing import Any, NamedTuple

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.methods import Registered
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import VerificationError, solve

REFUSED, REJECTED = "refused", "rejected"

_PROOFS = (Termination.OPTIMAL, Termination.GAP_REACHED, Termination.INFEASIBLE)


class SolveOutcome(NamedTuple):
    """What one method said of one instance.

    ``ending`` says in one word why it ended, ``reason`` why it was refused or rejected, or why there is no
    plan. Cost and bound are None without a plan, or without a finite bound [cost]. ``seconds`` are wall time
    with the verification, ``planning_seconds`` of the method alone (of the whole where that is not known),
    ``cpu_seconds`` with the verification and with processes that were started [s].
    """

    method: str
    ending: str
    seconds: float
    planning_seconds: float
    cpu_seconds: float
    cost: float | None = None
    lower_bound: float | None = None
    reason: str = ""
    result: Result | None = None

    @property
    def proved(self) -> bool:
        """Whether it answers the question with a proof, to the gap that was asked for."""
        return self.ending in [proof.value for proof in _PROOFS]

    @property
    def gap(self) -> float:
        """(cost - bound) / cost of what is held; infinite without a plan or a bound."""
        if self.cost is None or self.lower_bound is None:
            return math.inf
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0


def tried(instance: Instance, method: str | Registered, **settings: Any) -> SolveOutcome:
    """Let a method solve an instance; a refusal and a rejected plan are outcomes like others.

    Settings are those of `depl.models.solving.solve.solve`; its other errors come through, and Ctrl-C.
    """
    started, cpu = time.perf_counter(), cpu_seconds()
    name = method.name if isinstance(method, Registered) else method
    try:
        result = uninterrupted(solve(instance, method, **settings))
    except (NotCoveredError, VerificationError) as error:
        ending = REFUSED if isinstance(error, NotCoveredError) else REJECTED
        seconds = time.perf_counter() - started
        return SolveOutcome(name, ending, seconds, seconds, cpu_seconds() - cpu, reason=str(error))
    stopped, reason = result.termination, result.reason or ""
    if result.claimed and stopped in _PROOFS:  # what nobody checked is no reference for others
        reason = f"claims {stopped.value!r}, lower bound {result.lower_bound:.12g}: not checked by depl"
        stopped = Termination.EXHAUSTED
    seconds, bound = time.perf_counter() - started, None if result.claimed else finite(result.lower_bound)
    taken = (seconds, result.wall_seconds, cpu_seconds() - cpu)
    return SolveOutcome(name, stopped.value, *taken, finite(result.cost), bound, reason, result)


def cpu_seconds() -> float:
    """CPU time of this process, and of those that it started and that have ended [s]."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def finite(value: float | None) -> float | None:
    """The number, and None for what JSON cannot hold."""
    return float(value) if value is not None and math.isfinite(value) else None


def epochs_by_model(instance: Instance, plan: Plan | None) -> dict[str, int]:
    """Epochs of a plan trained with each model, in the order of the instance; 0 without a plan."""
    counts = Counter(epoch.model for epoch in (plan or Plan()).epochs)
    return {model.name: counts[model.name] for model in instance.models}
