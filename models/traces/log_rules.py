"""The rules for files of loggers: runs that stop, losses that are missing, epochs that occur twice.

A loss that is missing from some epoch on means that the run stopped or diverged there, one in the middle
cannot be guessed. Lines count in the order of writing: among lines with a loss, one whose epoch occurred
before begins a new *branch* there, and later epochs of the old branch go, as nothing was trained on them. One
that goes back to the first epoch begins a second *training*. Without repeats any order is right. So what is
read is always one branch that was trained. What is said of single runs is kept in the provenance.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.traces.lost import (
    AT_RANDOM,
    CUT_AT_RANDOM,
    ENDED,
    LEAVE_OUT,
    LEFT_OUT,
    LOST,
    ledger,
    shorter,
    with_ledgers,
)
from depl.models.traces.sheets import at, number
from depl.models.traces.table import Traces

OnMissing = Literal["refuse", "end", "drop"]
"""Of a run that lacks a loss from some epoch on."""
OnRepeated = Literal["refuse", "last", "first"]
"""Of an epoch that occurs again: which branch counts, the one that was written last or first."""


class What(StrEnum):
    """What was done with something in a file that is not as the table wants it."""

    SHORTER = "shorter"  # the run ends before the longest one; kept
    STOPPED = "stopped"  # the run has no loss from here on; ended before it
    DIVERGED = "diverged"  # the loss is NaN or infinite from here on; the run ended before it
    DROPPED = "dropped"  # the run is left out, because of a missing loss
    REPEATED = (
        "repeated"  # the epoch was logged again, or training went back before it; the line does not count
    )
    SECOND = "second training"  # the run begins again at its first epoch; what follows is a run of its own
    PASSED_OVER = "passed over"  # the line or column is not read


class Note(NamedTuple):
    """One thing that was done with a run or a line of it; ``diverged`` if a loss is NaN or infinite there."""

    what: What
    run: str
    row: int
    why: str = ""  # of a run that was dropped or ended
    diverged: bool = False


@dataclass(frozen=True)
class Line:
    """One epoch of one run: where it stands, and its loss (NaN with ``empty`` for an empty cell)."""

    epoch: int
    row: int
    column: str
    loss: float
    empty: bool
    model: str = ""
    cluster: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        """Whether there is no loss to plan with."""
        return not math.isfinite(self.loss)


class Repeat(NamedTuple):
    """A line whose epoch occurred before, the one that has it, and the least and greatest epoch then."""

    line: Line
    there: Line
    begun: int
    reached: int

    @property
    def in_place(self) -> bool:
        """Whether the epoch is the one that was reached: evaluated again, or trained again."""
        return self.line.epoch == self.reached

    @property
    def begins_again(self) -> bool:
        """Whether it goes back to the first epoch, so that nothing of this training is in what follows.

        The first epoch in place is evaluated again, unless its loss was none: then training began again.
        """
        return self.line.epoch == self.begun and (not self.in_place or self.there.missing)


@dataclass
class Training:
    """One training, as its lines are added one by one.

    ``follows`` began it, where another training stands before it. ``branch`` holds the lines of the last
    branch, also those without a loss in epochs that have none; ``first_branch`` those before anything was
    repeated. ``beyond`` is the first line after a repeat whose epoch the first branch does not reach.
    """

    follows: Repeat | None = None
    branch: dict[int, Line] = field(default_factory=dict)
    first_branch: dict[int, Line] | None = None
    lines: list[Line] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    beyond: Line | None = None
    _begun: int = sys.maxsize  # the least and the greatest epoch with a loss, and the greatest one at all
    _reached: int = -1
    _greatest: int = -1
    _empty: dict[int, Line] = field(default_factory=dict)  # since the last loss, ascending to the next one

    def repeat(self, line: Line) -> Repeat | None:
        """What a line repeats, if anything."""
        there = self.branch.get(line.epoch)
        if line.empty or there is None or there.empty:
            return None
        return Repeat(line, there, self._begun, self._reached)

    def add(self, line: Line) -> None:
        """Add the next line; a repeat drops the old branch from there, or from the empty lines before it."""
        again, epoch = self.repeat(line), line.epoch
        self.lines.append(line)
        while self._empty and next(reversed(self._empty)) >= epoch:
            self._empty.popitem()
        if again is not None:
            self.first_branch = dict(self.branch) if self.first_branch is None else self.first_branch
            self.repeats.append(again)
            start = next(iter(self._empty), epoch)
            at_end = start == self._greatest  # as where every epoch is evaluated twice
            for place in [start] if at_end else [place for place in self.branch if place >= start]:
                del self.branch[place]
            self.branch |= self._empty
            self._reached = self._greatest = epoch
        elif not line.empty and self.beyond is None and self.repeats and epoch > self.repeats[0].reached:
            self.beyond = line
        self._greatest = max(self._greatest, epoch)
        if line.empty:
            self._empty[epoch] = line
            self.branch.setdefault(epoch, line)
        else:
            self.branch[epoch] = line
            self._begun, self._reached = min(self._begun, epoch), max(self._reached, epoch)
            self._empty = {}


def trainings(lines: Iterable[Line]) -> list[Training]:
    """The trainings of a run one after the other, from its lines in the order of writing."""
    found = [Training()]
    for line in lines:
        again = found[-1].repeat(line)
        if again is not None and again.begins_again:
            found.append(Training(again))
        found[-1].add(line)
    return found


def ledgers(notes: Sequence[Note]) -> dict[str, dict[str, str]]:
    """The runs that were lost by what was done, as the provenance keeps them (`depl.models.traces.lost`)."""
    kinds = {LOST: (What.DROPPED,), ENDED: (What.DIVERGED, What.STOPPED)}
    return {key: {note.run: note.why for note in notes if note.what in whats} for key, whats in kinds.items()}


def kept_lines(
    path: str,
    run: str,
    lines: Sequence[Line],
    notes: list[Note],
    on_missing: OnMissing = "refuse",
    on_repeated: OnRepeated = "refuse",
) -> dict[str, list[Line]]:
    """The lines of a run that count, one an epoch, by the names of its trainings. What was done is noted.

    A run is one training unless it went back to the first epoch: the one after is ``run (training 2)``. A
    training that is dropped is not among them.
    """
    found = trainings(lines)
    _require_allowed(path, run, found, on_repeated)
    kept = {}
    for place, part in enumerate(found, start=1):
        name = run if place == 1 else f"{run} (training {place})"
        if part.follows is not None:
            notes.append(Note(What.SECOND, name, part.follows.line.row))
        branch = part.branch if on_repeated == "last" else part.first_branch or part.branch
        for line in part.lines:
            counts = branch.get(line.epoch)
            if counts is not line:
                what = What.PASSED_OVER if line.empty and counts is not None else What.REPEATED
                notes.append(Note(what, name, line.row))
        if whole := _whole(path, name, [branch[epoch] for epoch in sorted(branch)], on_missing, notes):
            kept[name] = whole
    return kept


def matching(patterns: Iterable[str], *names: str) -> str | None:
    """The first pattern that one of the names matches, or is; None if there is none."""
    return next(
        (text for text in patterns if any(text == name or fnmatchcase(name, text) for name in names)), None
    )


def require_used(patterns: Iterable[str], names: Sequence[str], option: str) -> None:
    """Refuse a pattern that no name matches."""
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
    names = [*traces.runs, *lost]
    require_used(patterns, names, LEAVE_OUT)
    out = {name: f"{LEAVE_OUT} {text}" for name in names if (text := matching(patterns, name))}
    kept = [name not in out for name in traces.runs]
    if not any(kept):
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
            entries[ENDED if name in traces.runs else LOST][name] = "diverged, as told"
    return traces.with_provenance(with_ledgers(traces.provenance, entries)) if names else traces


def _require_allowed(path: str, run: str, found: Sequence[Training], on_repeated: OnRepeated) -> None:
    """Refuse what is repeated, unless it may be and is known for what it is."""
    repeats = [again for part in found for again in (part.follows, *part.repeats) if again is not None]
    beyond = next((part.beyond for part in found if part.beyond), None)
    if repeats and on_repeated == "refuse":
        raise InvalidInputError(_refusal(run, repeats[0], beyond), at(path, repeats[0].line.row))
    telling = [(again, name) for again in repeats if (name := _telling(again))]
    if len(telling) > 1 or (telling and telling[0][0].line.epoch == telling[0][0].begun):
        again, name = telling[0]
        here, there = (f"{line.unread[name]!r:.40}" for line in (again.line, again.there))
        message = (
            f"{_stands(run, again)}, with {there} in place of {here}: say which lines are meant (--where "
            f"{name}=..., in Python where={{{name!r}: ...}})"
        )
        raise InvalidInputError(message, at(path, again.line.row, name))
    if beyond is not None and on_repeated == "first":
        message = (
            f"epoch {beyond.epoch} of run {run!r} follows on epochs that were logged again: if these were "
            "trained again, it belongs to the last of them alone, which --on-repeated last reads"
        )
        raise InvalidInputError(message, at(path, beyond.row))


def _stands(run: str, again: Repeat) -> str:
    return f"epoch {again.line.epoch} of run {run!r} stands in row {again.there.row} already"


def _refusal(run: str, again: Repeat, beyond: Line | None) -> str:
    """What a repeat looks like, and which choice reads it."""
    last = "--on-repeated last (on_repeated)"
    if again.begins_again:
        text = f"a second training begins; {last} reads each as a run of its own"
    elif not again.in_place:
        text = (
            f"a restart, which went back to it from epoch {again.reached}; {last} reads what was trained "
            "from here on, in place of the epochs that were lost"
        )
    elif beyond:
        text = f"it was trained or evaluated again; {last} lets the last one count"
    else:
        text = (
            "a repeat; --on-repeated first keeps the earlier one, as of a trainer that evaluates its best "
            "model again at the end, and last the later one, as of an epoch that was trained again"
        )
    differing = _differing(again)
    if differing and (again.in_place or again.begins_again):
        text += "; if these are several metrics or runs, --where KEY=VALUE or --run KEY tells them apart"
        text += "".join([f", as by {name!r}" for name in differing if _is_text(again.line.unread[name])][:1])
    return f"{_stands(run, again)}: {text}"


def _differing(again: Repeat) -> list[str]:
    """What is not read and differs between two lines of an epoch."""
    here, there = again.line.unread, again.there.unread
    return [name for name in here if name in there and here[name] != there[name]]


def _telling(again: Repeat) -> str | None:
    """A column whose texts may tell two lines apart as different things, not as the earlier and the later.

    Numbers and times that are not read tell nothing, as they go on like a clock.
    """
    measured = [  # in a form in which a missing value equals another one
        repr((line.loss, line.model, line.cluster, sorted(line.metrics.items())))
        for line in (again.line, again.there)
    ]
    if measured[0] == measured[1] if again.in_place else not again.begins_again:
        return None
    return next((name for name in _differing(again) if _is_text(again.line.unread[name])), None)


def _is_text(value: float | str) -> bool:
    """Whether a value is neither a number nor a time in the form of ISO 8601."""
    if not isinstance(value, str) or number(value) is not None:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return True
    return False


def _whole(path: str, run: str, lines: list[Line], on_missing: OnMissing, notes: list[Note]) -> list[Line]:
    """The lines of a run that count; none if it is dropped."""
    gap = next((index for index, line in enumerate(lines) if line.missing), None)
    if gap is None:
        return lines
    line = lines[gap]
    diverged = any(not later.empty for later in lines[gap:] if later.missing)
    ends = all(later.missing for later in lines[gap:])
    if on_missing == "refuse" or (on_missing == "end" and not ends):
        way = "end or drop" if ends else "drop alone; losses follow, and a gap cannot be guessed"
        message = f"run {run!r} has no loss in epoch {line.epoch}; --on-missing (on_missing) may be {way}"
        if diverged:
            message += "; it then counts as a miss, as depl fit and depl certify are told"
        raise InvalidInputError(message, at(path, line.row, line.column))
    if on_missing == "drop" or gap == 0:
        what, done, kept = What.DROPPED, "is dropped", 0
    else:
        what = What.DIVERGED if diverged else What.STOPPED
        done, kept = f"{what} and is ended", gap
    why = f"{done}: no loss in epoch {line.epoch} (row {line.row})"
    notes.append(Note(what, run, line.row, why, diverged))
    return lines[:kept]
