"""One attempt, in the process that solves: make the instance, solve it, take the study's measures.

`prepare` and `attempt` are called through `depl.benchmarks.measure.process`. What is prepared (imports,
compiled kernels) is not on an attempt's clock.
"""

import contextlib
import functools
import importlib
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec

from depl.benchmarks.measure.attempt import Attempt, Job, without_folders
from depl.benchmarks.measure.catalogue import draws_of, having
from depl.benchmarks.measure.outcome import REFUSED, cpu_seconds, epochs_by_model, finite, tried
from depl.benchmarks.measure.provenance import here, now, place_of
from depl.benchmarks.measure.registry import ANSWERED, Study, plain
from depl.benchmarks.measure.tasks import configuration_of
from depl.instances.library import load
from depl.models.foundation.compiling import compiled_at_once
from depl.models.foundation.documents import document
from depl.models.foundation.errors import DeplError, NotCoveredError
from depl.models.solving.methods import registered
from depl.models.solving.solve import solve

_SHIPPED = frozenset(method.name for method in registered())
_LETS_RUN = {"auto": ("exact", "density-greedy", "depl")}
"""Methods that a method lets run; on ``tiny`` the first of them proves its plan, and the others stay cold."""

_WARM = ("tiny", "paper-alexnet-9")
"""Shipped instances of laws with atoms and of laws with densities, which need different kernels."""

_WARM_UP_SECONDS = 60.0
_RESET_PEAK = "5"  # of /proc/PID/clear_refs, see proc(5)


def prepare(job: Job) -> None:
    """Import what a job needs, and compile, or read from the cache, what its method compiles."""
    here()
    having([job.task.suite], job.request.imports)
    # a user's method may do anything: that belongs on the clock; and looks are no clock
    if job.blank.method in _SHIPPED and "looks" not in job.blank.settings:
        warm_up(job.blank.method)


def attempt(job: Job) -> Attempt:
    """Make the attempt of a job in this process; whatever is raised becomes its ending."""
    started = now()
    clock = time.perf_counter()
    peak_known = _reset_peak() or job.request.fresh
    known: dict[str, Any] = {}
    study = having([job.task.suite], job.request.imports)[job.task.suite]
    try:
        if study.run is None:
            _solve_into(known, study, job)
        else:
            cpu = cpu_seconds()
            known["answer"] = plain(study.name, study.run(job.blank.labels))
            known |= {"ending": ANSWERED, "cpu_seconds": cpu_seconds() - cpu}
    except NotCoveredError as error:
        known |= {"ending": REFUSED, "reason": str(error)}
    except BaseException as error:  # noqa: BLE001 - an attempt that fails is an attempt
        known |= {"ending": "failed", "reason": _told(error)}
    return msgspec.structs.replace(
        job.blank,
        **place_of(here()),
        started=started,
        total_seconds=time.perf_counter() - clock,
        peak_gibibytes=peak_gibibytes() if peak_known else None,
        **known,
    )


@functools.cache
def warm_up(method: str) -> None:
    """Solve small shipped instances, so that what is compiled is compiled before a clock runs.

    What only other instances need imported is imported, too: `scipy.stats`, at the first use of a density.
    """
    importlib.import_module("scipy.stats")
    for name in _LETS_RUN.get(method, (method,)):
        for instance in _WARM:
            with compiled_at_once(), contextlib.suppress(DeplError):  # if it fails, the attempt shall tell
                solve(load(instance), name, time_limit=_WARM_UP_SECONDS)


def peak_gibibytes() -> float:
    """Greatest resident memory of this process [GiB]; on Linux since the last reset."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak) / 2**20
    except (OSError, ValueError):
        import resource  # of Unix alone

        unit = 2**30 if sys.platform == "darwin" else 2**20  # of bytes there, of kibibytes elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _solve_into(known: dict[str, Any], study: Study, job: Job) -> None:
    """Put what becomes known of an attempt into ``known``, so that an exception loses none of it."""
    draw = draws_of(study.name, job.request.imports)[job.task.instance]
    instance, own = draw.made()
    known["instance_hash"] = instance.fingerprint
    asked = configuration_of(study, job.task.configuration, job.blank.settings["time_limit"])
    own = None if asked.scenarios is None else own
    outcome = tried(  # Ctrl-C does not come to this process: a method that raises it fails
        instance,
        asked.solver,
        gap=asked.gap,
        time_limit=None if asked.looks else asked.time_limit,
        seed=job.task.seed,
        scenarios=own or asked.scenarios,
        options=asked.options,
        looks=asked.looks,
    )
    known |= {name: getattr(outcome, name) for name in ("ending", "cost", "lower_bound")}
    known |= {"reason": outcome.reason or None, "solve_seconds": outcome.seconds}
    known["solve_cpu_seconds"] = outcome.cpu_seconds
    result = outcome.result
    if result is None:
        return
    violation, plan = result.violation, result.plan
    timed = ("epochs", "wall_seconds", "cpu_seconds", "build_seconds")
    known |= {name: getattr(result, name) for name in timed}
    known |= {
        "solution": result.solution.value,
        "violation": None if violation is None else (violation.lower, violation.upper),
        "epochs_by_model": {} if plan is None else epochs_by_model(instance, plan),
        "plan": None if plan is None else document(plan),
        "stage_seconds": dict(result.stage_seconds),
    }
    if study.measure is not None:
        measures = study.measure(draw, instance, result)
        known["measures"] = {name: finite(value) for name, value in measures.items()}
    if study.tells is not None:
        known |= {"answer": dict(study.tells(instance, own, result)), "plan": None}


def _told(error: BaseException) -> str:
    """What an error says, and where in a study it came from, if it did."""
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if "studies" in Path(step.filename).parts]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return without_folders(f"{type(error).__name__}: {error}{place}")


def _reset_peak() -> bool:
    """Let `peak_gibibytes` begin anew; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True
