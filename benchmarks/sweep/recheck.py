"""Solving a part of recorded attempts again: whether today's code on this machine finds the same."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.comparing import TOLERANCE, equal
from depl.benchmarks.sweep.earlier import VERSION

_OF_THE_CLOCK = frozenset({"time_limit", "interrupted", "hung", "crashed"})


class Difference(NamedTuple):
    """Something that came out differently: of which attempt, what, recorded and found."""

    attempt: Attempt
    name: str
    recorded: object
    found: object


def repeatable(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Attempts whose outcome does not depend on how fast the machine was, or on accidents."""
    return [attempt for attempt in attempts if attempt.ending not in _OF_THE_CLOCK]


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


def differences(recorded: Attempt, found: Attempt) -> list[Difference]:
    """In what two attempts of a task differ: settings, instance, ending, cost and bound; not in time.

    The version of a method is not looked at: what is recorded was renamed if it meant another thing. What
    ended without a proof and is stopped by the time limit now is no difference: it had less time, or tells
    now that the clock decided. What is *stuck* was called *exhausted* before.
    """
    if (recorded.ending, found.ending) == ("exhausted", "stuck"):
        recorded = msgspec.structs.replace(recorded, ending="stuck")
    if recorded.ending in ("exhausted", "stuck") and found.ending == "time_limit":
        return []
    told = []
    for name in ("settings", "instance_hash", "ending", "solution", "cost", "lower_bound"):
        before, after = (_compared(getattr(attempt, name)) for attempt in (recorded, found))
        if not equal(before, after, absolute=TOLERANCE):
            told.append(Difference(recorded, name, before, after))
    return told


def _compared(value: object) -> object:
    return {key: item for key, item in value.items() if key != VERSION} if isinstance(value, dict) else value
