"""One solve of a drawn instance in a process of its own: seconds, gap and peak memory.

Only a process of its own has a peak memory of its own, and numerical libraries read how many threads they may
use (one, here) when they start: `depl.benchmarks.measure.process`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

import msgspec
import numpy as np

from depl.benchmarks.measure.outcome import finite
from depl.benchmarks.measure.process import CallError, CrashedError, HungError, LoneProcess, Tell
from depl.benchmarks.measure.solving import peak_gibibytes, warm_up
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.instances.regions import regional_instance_with_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.clock import cpu_seconds
from depl.models.foundation.errors import DeplError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.solve import solve

FAMILIES: Mapping[str, Callable[..., tuple[Instance, Plan]]] = {
    "heterogeneous": heterogeneous_instance_with_plan,
    "regions": regional_instance_with_plan,
}

_GRACE = 1800.0
"""Wall seconds beyond the time limit for imports, compiling, the draw, the verification, and for what else
runs on the machine where the limit is one of CPU seconds."""


class LoneSolveError(DeplError):
    """The process of a solve failed."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What to draw and how to solve it.

    The time limit is in seconds, with ``cpu_clock`` of the CPU; a ``family`` is one of `FAMILIES`. A bound is
    early that is reported within ``early_seconds``.
    """

    clusters: int
    datasets: int
    models: int
    maximum_epochs: int
    seed: tuple[int, ...]
    method: str
    time_limit: float
    gap: float
    family: str = "heterogeneous"
    cpu_clock: bool = False
    early_seconds: float = 0.0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    Attributes
    ----------
    termination : str
    cost, lower_bound, gap : float or None
        None without a plan, or without a bound [cost; cost; 1].
    reference_cost : float
        Of the drawn plan that gave the instance its limits [cost].
    seconds : float
        Wall time of `depl.solve`, verification included [s].
    planning_seconds, cpu_seconds : float
        Wall and CPU time of the method alone [s].
    solving_cpu_seconds : float
        CPU time of `depl.solve`, verification included [s].
    early_gap : float
        What the early bound is below the final plan, as a share of its cost; 1 without one.
    peak_gibibytes : float
        Greatest resident memory of the process.
    epochs : int or None
        Of the plan.
    """

    termination: str
    cost: float | None
    lower_bound: float | None
    gap: float | None
    reference_cost: float
    seconds: float
    planning_seconds: float
    cpu_seconds: float
    solving_cpu_seconds: float
    early_gap: float
    peak_gibibytes: float
    epochs: int | None


def lone_solve(task: Task) -> Measured:
    """Solve in a fresh process, one thread for numerical libraries.

    Raises
    ------
    LoneSolveError
        If the process fails, or has not answered half an hour after the time limit; the message says how.
    """
    with LoneProcess() as process:
        try:
            found: Measured = process.call(measured, task, task.time_limit + _GRACE)
        except (HungError, CrashedError, CallError) as error:
            raise LoneSolveError(f"the solve of {task} failed: {error}") from error
    return found


def measured(task: Task, tell: Tell) -> Measured:
    """Called by `lone_solve` in the other process."""
    return measure(task)


def measure(task: Task) -> Measured:
    """Draw and solve in this process."""
    warm_up(task.method)
    instance, reference = FAMILIES[task.family](
        np.random.default_rng(task.seed),
        clusters=task.clusters,
        datasets=task.datasets,
        models=task.models,
        maximum_epochs=task.maximum_epochs,
    )
    drawn = time.perf_counter()
    reports: list[tuple[float, float, float]] = []
    cpu = time.process_time()
    with cpu_seconds() if task.cpu_clock else nullcontext():
        result = solve(
            instance,
            task.method,
            time_limit=task.time_limit,
            gap=task.gap,
            progress=lambda *report: reports.append(report),
        )
    cpu, done = time.process_time() - cpu, time.perf_counter()
    return Measured(
        termination=result.termination.value,
        cost=result.cost,
        lower_bound=finite(result.lower_bound),
        gap=finite(result.gap),
        reference_cost=evaluate(instance, reference, quantile=False).cost,
        seconds=done - drawn,
        planning_seconds=result.wall_seconds,
        cpu_seconds=result.cpu_seconds,
        solving_cpu_seconds=cpu,
        early_gap=_gap_by(task.early_seconds, reports, result.cost),
        peak_gibibytes=peak_gibibytes(),
        epochs=result.epochs,
    )


def _gap_by(seconds: float, reports: Sequence[tuple[float, float, float]], cost: float | None) -> float:
    """Of the best bound of that time."""
    known = max((bound for at, _, bound in reports if at <= seconds), default=0.0)
    if cost is None or known <= 0:
        return 1.0
    return 1 - known / cost if cost > 0 else 0.0
