"""Runs that were lost, kept in the provenance of their traces, so that who promises counts them as misses.

A run is lost if its loss ended in NaN, if nothing of it could be read, or if it ends before others of its
schedule do. Each ledger is a JSON object of names and reasons under a key of its own.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

Schedules = Sequence[tuple[tuple[str, str], ...]]
"""Model and cluster of the epochs of every run."""

LOST = "lost runs"
"""Those that the traces do not hold."""
ENDED = "ended runs"
"""Those that the traces hold up to where they diverged, or to before their planned end."""
WHOLE = "whole runs"
"""Those that are shorter than others of their schedule as planned."""
AT_RANDOM = "runs cut at random"
"""Those that ended early for reasons that had nothing to do with their losses, as somebody has said."""
LEFT_OUT = "left out"
"""Those that nobody is to count, as somebody has said."""
LEDGERS = (LOST, ENDED, WHOLE, AT_RANDOM, LEFT_OUT)

LEAVE_OUT, CUT_AT_RANDOM, DIVERGED = "--leave-out", "--cut-at-random", "--diverged"


def ledger(provenance: Mapping[str, str], key: str) -> dict[str, str]:
    """Names and reasons of one of `LEDGERS`; refused if it is no JSON object of texts."""
    try:
        return msgspec.json.decode(provenance.get(key, "{}"), type=dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        message = f'must be names and reasons such as {{"seed3": "diverged"}}, a JSON object ({error})'
        raise InvalidInputError(message, f".provenance.{key}") from error


def with_ledgers(provenance: Mapping[str, str], more: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The provenance with further entries in some ledgers."""
    found = dict(provenance)
    for key, entries in more.items():
        if together := {**ledger(found, key), **entries}:
            found[key] = json.dumps(together, ensure_ascii=False)
    return found


def lost_among(provenance: Mapping[str, str], runs: Sequence[str], schedules: Schedules) -> dict[str, str]:
    """Runs that count as misses, with the reason: those that are told, and those that ended too early."""
    random, found = ledger(provenance, AT_RANDOM), ledger(provenance, LOST)
    here = set(runs) - random.keys()
    found |= {name: why for name, why in ledger(provenance, ENDED).items() if name in here}
    excused = {*ledger(provenance, WHOLE), *random}
    for name, why in shorter(runs, schedules).items():
        if name not in excused:
            found.setdefault(name, why)
    return found


def shorter(runs: Sequence[str], schedules: Schedules) -> dict[str, str]:
    """Runs that trained the beginning of what others trained, and where they end."""
    ordered = sorted(set(schedules))
    begun = {one for one, following in pairwise(ordered) if following[: len(one)] == one}
    return {
        run: f"ends at epoch {len(schedule)}, others of its schedule go on"
        for run, schedule in zip(runs, schedules, strict=True)
        if schedule in begun
    }


def listed(entries: Mapping[str, str], most: int = 5) -> str:
    """Names and reasons in words, the first few of them."""
    shown = [f"{name} ({why})" for name, why in list(entries.items())[:most]]
    more = len(entries) - most
    return "; ".join([*shown, f"and {counted(more, 'other')}"] if more > 0 else shown)
