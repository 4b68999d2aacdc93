"""One attempt, seen from outside: whatever becomes of the process that solves, an attempt comes back."""

import re
import time

import msgspec

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.process import CallError, CrashedError, HungError, LoneProcess
from depl.benchmarks.measure.provenance import here, made_at, now
from depl.benchmarks.sweep.request import Job

PREPARING = 600.0
"""Seconds for imports and compiling; not on the clock of an attempt."""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/\"':,;]+/)+")
_MODULE = "depl.benchmarks.measure.solving"


def attempt_alone(job: Job, process: LoneProcess) -> Attempt:
    """Make the attempt of a job in another process, and kill that when its time is over.

    Parameters
    ----------
    job : Job
    process : LoneProcess
        Where to solve. It is started anew if the job asks for a fresh one, or the last one hung or crashed.

    Returns
    -------
    Attempt
        ``hung`` or ``crashed`` if the process did not answer; how, is its reason.

    Raises
    ------
    StartError
        If no process can be started: nothing was attempted then.
    """
    if job.fresh:
        process.end()
    content = msgspec.json.encode(job)
    seconds = float(job.blank.settings["time_limit"]) + job.grace
    hashes: list[bytes] = []
    started, clock = now(), time.perf_counter()
    try:
        process.call(f"{_MODULE}:prepare", content, PREPARING)
        started, clock = now(), time.perf_counter()
        answer = process.call(f"{_MODULE}:attempt", content, seconds, hashes.append)
        return msgspec.json.decode(answer, type=Attempt)
    except HungError:
        ending, reason = "hung", f"killed after {time.perf_counter() - clock:.1f} s"
    except CrashedError as error:
        ending, reason = "crashed", without_folders(str(error))
    except CallError as error:
        ending, reason = "failed", without_folders(str(error))
    return msgspec.structs.replace(
        made_at(job.blank, here()),
        ending=ending,
        reason=reason,
        instance_hash=msgspec.json.decode(hashes[0], type=str) if hashes else "",
        started=started,
        total_seconds=time.perf_counter() - clock,
    )


def without_folders(text: str) -> str:
    """``text`` with the files that it names, but not where they lie: attempts are published."""
    return _FOLDERS.sub("", text)
