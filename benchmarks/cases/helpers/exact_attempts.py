"""One attempt to prove an optimum under scenarios within a time limit, by a method or by SCIP.

The seconds are those of the method alone, without the verification and the fresh sample that `depl.solve`
adds. Compiled kernels are compiled, or read from their cache, before anything is timed.
"""

import importlib.util
import math
import time
from dataclasses import dataclass

import numpy as np

from depl.benchmarks.suites.paper_like import paper_like
from depl.benchmarks.suites.tiny_sampled import SampledInstance
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import DeplError
from depl.models.programs.cutting import solve_sampled
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

SCIP = "scip"
"""Program F2 and its cuts, solved by SCIP in place of HiGHS; an optional library."""


@dataclass(frozen=True)
class ExactAttempt:
    """What came of one attempt.

    Attributes
    ----------
    road : str
        A method, or `SCIP`.
    ending : str
        Why it stopped, or the message of a refusal.
    certified : bool
        Whether it ended with the proof that was asked for.
    seconds : float
        Wall time [s].
    cost : float or None
        Of the plan that is held [cost].
    lower_bound : float or None
        None where there is none [cost].
    """

    road: str
    ending: str
    certified: bool
    seconds: float
    cost: float | None
    lower_bound: float | None


def attempt(road: str, item: SampledInstance, time_limit: float, gap: float = 0.0) -> ExactAttempt:
    """Try to certify an instance to a relative gap within ``time_limit`` seconds.

    A refusal and a plan that the verifier does not accept are endings like others.
    """
    started = time.perf_counter()
    try:
        if road == SCIP:
            return _by_scip(item, time_limit, gap)
        result = uninterrupted(
            solve(item.instance, road, scenarios=item.scenarios, time_limit=time_limit, gap=gap)
        )
    except DeplError as error:
        seconds = time.perf_counter() - started
        return ExactAttempt(road, f"{type(error).__name__}: {error}", False, seconds, None, None)
    return _attempt(road, result.termination, result.wall_seconds, result.cost, result.lower_bound)


def scip_is_installed() -> bool:
    """Whether SCIP is installed."""
    return importlib.util.find_spec("pyscipopt") is not None


def warm_up(road: str) -> None:
    """Compile, or read from the cache, whatever a method compiles."""
    attempt(road, paper_like(np.random.default_rng(0), maximum_epochs=3, scenarios=5), 60.0)
    attempt(
        road,
        paper_like(np.random.default_rng(0), maximum_epochs=3, scenarios=5, clusters=2, datasets=2),
        60.0,
    )


def _by_scip(item: SampledInstance, time_limit: float, gap: float) -> ExactAttempt:
    limits = Limits(gap=gap, time_limit=time_limit, scenarios=item.scenarios)
    problem = SampledProblem(item.instance, item.scenarios)
    started = time.perf_counter()
    found = solve_sampled(problem, limits=limits, solve_with="scip")
    seconds = time.perf_counter() - started
    return _attempt(SCIP, found.termination, seconds, found.cost, found.lower_bound)


def _attempt(
    road: str, termination: Termination, seconds: float, cost: float | None, bound: float
) -> ExactAttempt:
    certified = termination in (Termination.OPTIMAL, Termination.GAP_REACHED)
    held = cost if cost is not None and math.isfinite(cost) else None
    return ExactAttempt(
        road, termination.value, certified, seconds, held, bound if math.isfinite(bound) else None
    )
