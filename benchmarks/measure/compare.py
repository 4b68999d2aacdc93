"""Asking recorded questions again: whether today's code on this machine answers the same."""

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from depl.benchmarks.measure.attempt import VERSION, Attempt, Job, Request, Task
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.measure.registry import ANSWERED
from depl.benchmarks.measure.store import files_of, read_file
from depl.benchmarks.measure.sweep import Workers
from depl.benchmarks.measure.tasks import again, jobs_of
from depl.models.foundation.errors import InvalidInputError

TOLERANCE = 1e-9
"""Relative difference up to which numbers count as equal.

A change that only reorders sums or products, and other processors and libraries, move the last digits:
formulas that were compared differ by 4e-16, and plans sum at most some hundred terms. The toolkit itself
takes costs, times and losses within 1e-9 for the same; what differs by more may also be judged differently.
"""
_OF_THE_CLOCK = frozenset({"time_limit", "interrupted", "hung", "crashed"})
_OF_THE_RUN = ("seconds", "gibibytes")
"""How names of what another run measures differently end, in the answers of studies that measure."""
_COMPARED = ("ending", "solution", "cost", "lower_bound")
_ALSO_OF_ANSWERS = ("violation", "reason")
"""What limits that are counted, and not the clock, leave the same."""


class Difference(NamedTuple):
    """Something that came out differently: of which task, what, recorded and found; None is missing."""

    task: Task
    what: str
    recorded: Any
    found: Any


def repeatable(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Attempts whose outcome does not depend on how fast the machine was, or on accidents."""
    return [
        row
        for row in attempts
        if "looks" in row.settings or (row.ending not in _OF_THE_CLOCK and not _stopped(row.answer))
    ]


def _stopped(answer: Any) -> bool:
    """Whether the clock ended something that an answer tells of."""
    if isinstance(answer, Mapping):
        return any(map(_stopped, answer.values()))
    return any(map(_stopped, answer)) if isinstance(answer, list) else answer in ("time_limit", "interrupted")


def subset(attempts: Sequence[Attempt], seconds: float, rng: np.random.Generator) -> list[Attempt]:
    """Attempts drawn at random that took about so many seconds together when they were recorded.

    Those that do not fit any more are passed over; at least one is returned if there are any.
    """
    order = [attempts[index] for index in rng.permutation(len(attempts))]
    chosen: list[Attempt] = []
    left = seconds
    for attempt in order:
        if attempt.total_seconds <= left or not chosen:
            chosen.append(attempt)
            left -= attempt.total_seconds
    return chosen


def questions(
    source: str,
    able: list[Attempt],
    only: str,
    seconds: float | None,
    seed: int,
    imports: tuple[str, ...] = (),
) -> tuple[list[Attempt], list[Job], Request]:
    """What is asked again of a file or a study: so many seconds of it, or all without a number.

    All of a study that keeps whole answers has what it asks today, and of which there is no attempt, too.
    """
    requests = [request for file in files_of(source) if (request := read_file(file)[0]) is not None]
    of_files = tuple(dict.fromkeys(item for request in requests for item in request.imports))
    asked = Request(suites=(), imports=imports or of_files)
    if seconds is not None:
        return subset(able, seconds, np.random.default_rng(seed)), [], asked
    known, named = {row.task for row in able}, {row.task.suite for row in able}
    suites = tuple(name for name, study in all_suites().items() if name in named and study.tells)
    jobs = jobs_of(Request(suites=suites)) if suites and not requests else []
    return able, [job for job in jobs if job.task not in known and matches(job.task, only)], asked


def matches(task: Task, only: str) -> bool:
    """Whether a pattern as for files, such as ``small-*/depl*``, names a task."""
    return fnmatch.fnmatchcase(f"{task.instance}/{task.configuration}", only)


def asked_again(
    recorded: Sequence[Attempt],
    request: Request,
    workers: Workers,
    new: Sequence[Job] = (),
    step: Callable[[Attempt], None] = lambda found: None,
) -> tuple[list[Difference], list[Attempt]]:
    """Ask recorded questions again, and ``new`` ones that are not recorded, each of which is a difference.

    What is imported, and how long an attempt may take beyond its limit, is as in ``request``; ``step`` is
    told every attempt as soon as it is made. Returned are the differences and the attempts that differ.
    """
    told: list[Difference] = []
    jobs, other = list(new), list[Attempt]()
    for row in recorded:
        try:
            jobs.append(again(row, request))
        except InvalidInputError as error:
            told.append(Difference(row.task, "task", "asked", f"cannot be asked: {error}"))
    known = {row.task: row for row in recorded}
    for found in workers(jobs):
        step(found)
        differ = differences(known.get(found.task), found)
        told += differ
        other += [found] if differ else []
    return told, other


def between(old: Iterable[Attempt], new: Iterable[Attempt]) -> list[Difference]:
    """In what the attempts of two files differ, those among it that only one of them has."""
    before, after = ({row.task: row for row in attempts} for attempts in (old, new))
    return [
        difference
        for task in dict.fromkeys((*before, *after))
        for difference in differences(before.get(task), after.get(task))
    ]


def differences(recorded: Attempt | None, found: Attempt | None) -> list[Difference]:
    """In what two attempts of a task differ: settings, instance, ending, cost and bound; not in time.

    Where limits are counted, everything that the study tells is compared as well. The version of a method is
    not looked at: what is recorded was renamed if it meant another thing. What ended without a proof and is
    stopped by the time limit now is no difference: it had less time, or tells now that the clock decided.
    What is *stuck* was called *exhausted* before. One line alone where only one of them is there.
    """
    if recorded is None or found is None:
        known = recorded or found
        shown = [None if row is None else f"{row.ending} at cost {row.cost}" for row in (recorded, found)]
        return [] if known is None else [Difference(known.task, "answer", *shown)]
    if (recorded.ending, found.ending) == ("exhausted", "stuck"):
        recorded = msgspec.structs.replace(recorded, ending="stuck")
    if recorded.ending in ("exhausted", "stuck") and found.ending == "time_limit":
        return []
    counted = "looks" in recorded.settings and "looks" in found.settings
    # older answers name the looks alone, and the beginning of the fingerprint
    common = [name for name in recorded.settings if name in found.settings and name != VERSION]
    told = [(f"settings.{name}", recorded.settings[name], found.settings[name]) for name in common]
    size = len(recorded.instance_hash)
    told.append(("instance_hash", recorded.instance_hash, found.instance_hash[:size]))
    for name in (*_COMPARED, *(_ALSO_OF_ANSWERS if counted else ())):
        told.append((name, getattr(recorded, name), getattr(found, name)))
    answers = [_lasting(row.answer) if row.ending == ANSWERED else row.answer for row in (recorded, found)]
    for name in sorted(answers[0].keys() | answers[1].keys()):
        told.append((name, answers[0].get(name), answers[1].get(name)))
    absolute = 0.0 if counted else TOLERANCE
    return [Difference(recorded.task, *row) for row in told if not equal(*row[1:], absolute)]


def equal(old: Any, new: Any, absolute: float = 0.0) -> bool:
    """Whether two values are equal: numbers up to `TOLERANCE`, or up to ``absolute``; all else exactly."""
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(equal(*pair, absolute) for pair in zip(old, new, strict=True))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(equal(old[name], new[name], absolute) for name in old)
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= max(TOLERANCE * max(abs(old), abs(new)), absolute)
    return bool(old == new)


def _lasting(answer: Any) -> Any:
    """An answer without what another run measures differently."""
    if isinstance(answer, Mapping):
        kept = {name: value for name, value in answer.items() if not name.endswith(_OF_THE_RUN)}
        return {name: _lasting(value) for name, value in kept.items()}
    return list(map(_lasting, answer)) if isinstance(answer, list) else answer
