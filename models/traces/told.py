"""What is said of single runs: leave them out, count them as lost, or take their ends for random.

All of it is kept in the provenance, so that it stands beside what is promised.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.traces.lost import AT_RANDOM, ENDED, LEFT_OUT, LOST, ledger, shorter, with_ledgers
from depl.models.traces.table import Traces

LEAVE_OUT = "--leave-out"
CUT_AT_RANDOM = "--cut-at-random"
DIVERGED = "--diverged"
TOLD_DIVERGED = "diverged, as told"
"""Why a run counts as lost of which nothing else is known."""


def matching(patterns: Iterable[str], *names: str) -> str | None:
    """The first pattern that one of the names matches, or is; None if there is none."""
    return next(
        (text for text in patterns if any(text == name or fnmatchcase(name, text) for name in names)), None
    )


def require_used(patterns: Sequence[str], names: Sequence[str], option: str) -> None:
    """Refuse a pattern that no name matches.

    Raises
    ------
    InvalidInputError
        With the names that are near.
    """
    for pattern in patterns:
        if not any(matching([pattern], name) for name in names):
            raise InvalidInputError(
                f"no run and no file is called {pattern!r}; {advice(pattern, names)}", option
            )


def without(traces: Traces, patterns: Sequence[str]) -> Traces:
    """The traces without runs whose names match, be they lost or here.

    Raises
    ------
    InvalidInputError
        If a pattern matches nothing, or no run is left.
    """
    if not patterns:
        return traces
    lost = ledger(traces.provenance, LOST)
    require_used(patterns, [*traces.runs, *lost], LEAVE_OUT)
    out = {
        name: f"{LEAVE_OUT} {text}" for name in (*traces.runs, *lost) if (text := matching(patterns, name))
    }
    kept = np.array([name not in out for name in traces.runs])
    if not kept.any():
        raise InvalidInputError("leaves out every run", LEAVE_OUT)
    told = {key: text for key, text in traces.provenance.items() if key != LOST}
    entries = {LOST: {name: why for name, why in lost.items() if name not in out}, LEFT_OUT: out}
    return traces.select(kept).with_provenance(with_ledgers(told, entries))


def cut_at_random(traces: Traces, patterns: Sequence[str]) -> Traces:
    """The traces, of which runs that match ended early for reasons unlike their losses.

    Raises
    ------
    InvalidInputError
        If a pattern matches no run that ends early, or one that diverged.
    """
    if not patterns:
        return traces
    ended = ledger(traces.provenance, ENDED)
    early = [name for name in traces.runs if name in {*shorter(traces.runs, traces.schedules), *ended}]
    require_used(patterns, early, CUT_AT_RANDOM)
    names = [name for name in early if matching(patterns, name)]
    for name in names:
        if ended.get(name, "").startswith("diverged"):
            raise InvalidInputError(f"run {name!r} {ended[name]}: that is no end at random", CUT_AT_RANDOM)
    entries = {AT_RANDOM: dict.fromkeys(names, "as told")}
    return traces.with_provenance(with_ledgers(traces.provenance, entries))


def counted_as_lost(traces: Traces, names: Sequence[str]) -> Traces:
    """The traces, of which these runs, here or not, diverged."""
    entries: dict[str, dict[str, str]] = {LOST: {}, ENDED: {}}
    for name in names:
        if name not in traces.lost:
            entries[ENDED if name in traces.runs else LOST][name] = TOLD_DIVERGED
    return traces.with_provenance(with_ledgers(traces.provenance, entries)) if names else traces
