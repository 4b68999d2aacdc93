"""Joining files of attempts: nothing is counted twice, and what differs is kept or said."""

import datetime
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from depl.benchmarks.sweep.attempt import Attempt, Task


class Merged(NamedTuple):
    """What `merged` did.

    Attributes
    ----------
    attempts : list of Attempt
        Every task once per commit, in the order in which they were met.
    repeated : int
        Attempts that were there already, the very same.
    dropped : list of Attempt
        Of a task and commit of which another attempt ended before: a second run, of which one is enough.
    differing : list
        Tasks of which attempts of different commits are kept.
    """

    attempts: list[Attempt]
    repeated: int
    dropped: list[Attempt]
    differing: list[Task]


def merged(attempts: Iterable[Attempt]) -> Merged:
    """Attempts of several files without those that say the same again.

    Attempts of one task and different commits are all kept. Of several of the same commit the one that ended
    first is, whatever it holds: to choose the better one would flatter the method.
    """
    kept: dict[tuple[Task, str], Attempt] = {}
    dropped: list[Attempt] = []
    seen: set[bytes] = set()
    repeated = 0
    for attempt in attempts:
        text = msgspec.json.encode(attempt)
        if text in seen:
            repeated += 1
            continue
        seen.add(text)
        key = attempt.task, attempt.source
        known = kept.get(key)
        if known is None:
            kept[key] = attempt
            continue
        first, second = sorted((known, attempt), key=_end)
        kept[key] = first
        dropped.append(second)
    counts: dict[Task, int] = {}
    for task, _ in kept:
        counts[task] = counts.get(task, 0) + 1
    return Merged(
        list(kept.values()), repeated, dropped, [task for task, count in counts.items() if count > 1]
    )


def _end(attempt: Attempt) -> tuple[float, bytes]:
    """When an attempt ended, in seconds since 1970; its text decides between equal ones."""
    begun = datetime.datetime.fromisoformat(attempt.started).timestamp() if attempt.started else 0.0
    return begun + attempt.total_seconds, msgspec.json.encode(attempt)
