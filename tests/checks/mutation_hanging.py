"""When does a run hang? By what it takes of the processor, or by doing nothing; never by a busy machine.

A run that waits for a processor counts as running, so that a check with the lowest priority on a busy machine
says the same as one on a quiet machine. Read from ``/proc``, so on Linux alone.
"""

import time
from collections.abc import Callable
from os import sysconf
from pathlib import Path
from typing import NamedTuple

HUNG = -9
"""What `awaited` returns for a run that hangs: the code of a process that was killed."""

IDLE = 120.0
"""Seconds of the wall in which no process of a run has asked for a processor: no test sleeps that long."""

_LOOK = 0.5
"""Seconds between two looks at the processes of a run."""

_RUNNING = "RD"
"""States of a process that runs, waits for a processor, or waits for a disk."""


class Process(NamedTuple):
    """Its parent, its state, and CPU seconds with those of its children that have ended."""

    parent: int
    state: str
    spent: float


def awaited(
    process: int,
    ended: Callable[[], int | None],
    seconds: float,
    idle: float = IDLE,
    look: float = _LOOK,
) -> int:
    """The exit code of a process, or `HUNG`: the caller ends it.

    Parameters
    ----------
    ended
        The exit code, or None as long as it runs.
    seconds
        Of the processor, for the process and all that it starts.
    idle
        Of the wall, in which none of them runs or waits for a processor.
    """
    pause, waited, last = 0.001, 0.0, time.monotonic()
    while (code := ended()) is None:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
        passed = time.monotonic() - last
        if passed < look:
            continue
        last += passed
        busy, spent = effort(process)
        waited = 0.0 if busy else waited + passed
        if spent > seconds or waited > idle:
            code = ended()  # it may have ended since it was last asked
            return HUNG if code is None else code
    return code


def effort(process: int) -> tuple[bool, float]:
    """Whether a process or one that it started runs or waits for a processor, and their CPU seconds."""
    known = {int(path.name): found for path in Path("/proc").glob("[0-9]*") if (found := _read(path))}
    members, waiting = set[int](), {process} & known.keys()
    while waiting:
        members |= waiting
        waiting = {number for number, found in known.items() if found.parent in waiting} - members
    found = [known[number] for number in members]
    return any(one.state in _RUNNING for one in found), sum(one.spent for one in found)


def _read(path: Path) -> Process | None:
    """What the system says of a process; None if it has ended meanwhile."""
    try:
        fields = (path / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return Process(int(fields[1]), fields[0], sum(map(int, fields[11:15])) / sysconf("SC_CLK_TCK"))
