"""Solve an instance by a named method and return only what the independent verifier accepts."""

import importlib.metadata
import math
import platform
import time
from dataclasses import replace

import msgspec

from depl.models.errors import DeplError, InvalidInputError
from depl.models.evaluation import Evaluation, evaluate
from depl.models.methods import Limits, Outcome, Progress, find
from depl.models.plan import Bounds, Claims, Plan
from depl.models.problem import Instance
from depl.models.result import Range, Result, Solution, Termination
from depl.models.verifier import verify

_LIBRARIES = ("depl", "numpy", "scipy", "msgspec")


class VerificationError(DeplError):
    """A solver's own plan failed the verifier: a defect of depl, or of a registered method."""


def solve(
    instance: Instance,
    method: str = "enumerate",
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Find a cheapest plan whose final loss meets its target with its target probability.

    Parameters
    ----------
    instance : Instance
    method : str
        A registered method.
    gap : float
        Relative gap (cost - lower bound) / cost that is good enough.
    time_limit : float, optional
        Wall seconds.
    seed : int
        Seed of methods that draw; the same seed gives the same result.
    progress : callable, optional
        Receives (seconds, incumbent, bound).

    Raises
    ------
    InvalidInputError
        For an unknown method, an impossible option, or an instance that the method does not cover.
    VerificationError
        If the method's plan fails the independent verifier.
    """
    if not 0 <= gap < 1:
        raise InvalidInputError(f"gap must lie in [0, 1), not {gap}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidInputError(f"time_limit must be positive, not {time_limit}")
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = find(method).run(instance, Limits(gap, time_limit, seed, progress))
    if not isinstance(outcome, Outcome):
        outcome = Outcome(Termination.EXHAUSTED, outcome)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return _result(instance, method, seed, outcome, seconds)


def _result(
    instance: Instance, method: str, seed: int, outcome: Outcome, seconds: tuple[float, float]
) -> Result:
    proven = outcome.termination is Termination.OPTIMAL
    result = Result(
        termination=outcome.termination,
        solution=Solution.NONE,
        method=method,
        plan=None,
        cost=None,
        lower_bound=math.inf if outcome.termination is Termination.INFEASIBLE else outcome.lower_bound,
        reason=outcome.reason,
        instance=instance.fingerprint,
        seed=seed,
        versions=_versions(),
        wall_seconds=seconds[0],
        cpu_seconds=seconds[1],
        build_seconds=outcome.build_seconds,
    )
    if outcome.plan is None:
        return result
    evaluation = evaluate(instance, outcome.plan)
    plan = _claiming(instance, outcome, evaluation, method)
    _require_verified(instance, plan, method)
    quantile = evaluation.quantile
    return replace(
        result,
        solution=Solution.PROVEN_OPTIMAL if proven else Solution.FEASIBLE,
        plan=plan,
        cost=evaluation.cost,
        lower_bound=evaluation.cost if proven else min(outcome.lower_bound, evaluation.cost),
        violation=Range(evaluation.violation.lower, evaluation.violation.upper),
        quantile=None if quantile is None else Range(quantile.lower, quantile.upper),
        epochs=evaluation.epochs,
        training_time=evaluation.training_time,
        expected_loss=evaluation.expected_loss,
    )


def _claiming(instance: Instance, outcome: Outcome, evaluation: Evaluation, method: str) -> Plan:
    """The plan with its instance and everything that the verifier should recompute."""
    bare = outcome.plan or Plan()
    quantile = evaluation.quantile
    claims = Claims(
        cost=evaluation.cost,
        training_time=evaluation.training_time,
        violation=Bounds(lower=evaluation.violation.lower, upper=evaluation.violation.upper),
        quantile=None if quantile is None else Bounds(lower=quantile.lower, upper=quantile.upper),
        cheapest_resources=True if outcome.termination is Termination.OPTIMAL else None,
        lower_bound=outcome.lower_bound if math.isfinite(outcome.lower_bound) else None,
        method=method,
    )
    return msgspec.structs.replace(bare, instance=instance.fingerprint, claims=claims)


def _require_verified(instance: Instance, plan: Plan, method: str) -> None:
    report = verify(instance, plan)
    if not report.ok:
        failed = "; ".join(finding.message for finding in report.findings if not finding.ok)
        raise VerificationError(f"the plan of method {method!r} fails the independent verifier: {failed}")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:  # run from a source tree that was not installed
            found[library] = "not installed"
    return found
