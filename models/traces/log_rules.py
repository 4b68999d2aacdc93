"""The rules for files of loggers: runs that stop, losses that are missing, epochs that occur twice.

- a loss that is missing (an empty cell, NaN, infinite) from some epoch on means that the run stopped or
  diverged there: refused, or the run is ended before it or dropped, as the caller decides;
- a loss that is missing in the middle of a run cannot be guessed: refused, or the run is dropped;
- an epoch that occurs twice is refused, or the branch counts that was written last or first
  (`depl.models.traces.restarts`); of two lines for one epoch, one with an empty loss, the other one counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple, get_args

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import Sheet, assembled, names_column, number
from depl.models.traces.lost import ENDED, LOST
from depl.models.traces.restarts import Line, Repeat, Training, trainings
from depl.models.traces.table import Traces

OnMissing = Literal["refuse", "end", "drop"]
OnRepeated = Literal["refuse", "last", "first"]


class What(StrEnum):
    """What was done with something in a file that is not as the table wants it."""

    SHORTER = "shorter"
    """The run ends before the longest one; kept."""
    STOPPED = "stopped"
    """The run has no loss from here on; ended before it."""
    DIVERGED = "diverged"
    """The loss is NaN or infinite from here on; the run ended before it."""
    DROPPED = "dropped"
    """The run is left out, because of a missing loss."""
    REPEATED = "repeated"
    """The epoch was logged again, or goes as training went back before it; the line does not count."""
    SECOND = "second training"
    """The run begins again at its first epoch; what follows is a run of its own."""
    PASSED_OVER = "passed over"
    """The line or column is not read."""


class Note(NamedTuple):
    """One thing that was done.

    Attributes
    ----------
    what : What
    text : str
        A sentence.
    run : str
        Name of the run; empty where it is about a column.
    row : int, optional
        Row of the file.
    diverged : bool
        Whether a loss is NaN or infinite there.
    """

    what: What
    text: str
    run: str = ""
    row: int | None = None
    diverged: bool = False


@dataclass(frozen=True)
class Rules:
    """What the caller decides.

    Attributes
    ----------
    on_missing : {"refuse", "end", "drop"}
        Of a run that lacks a loss from some epoch on.
    on_repeated : {"refuse", "last", "first"}
        Of an epoch that occurs again: which branch counts, the one that was written last or first.
    """

    on_missing: OnMissing = "refuse"
    on_repeated: OnRepeated = "refuse"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("on_missing", self.on_missing, get_args(OnMissing)),
            ("on_repeated", self.on_repeated, get_args(OnRepeated)),
        ):
            if value not in known:
                raise InvalidInputError(f"must be one of {', '.join(known)}, not {value!r}", f".{name}")


NO_RUN_LEFT = "no run is left; see the rules for missing losses"
"""What is said where every run was dropped."""


def ledgers(notes: Sequence[Note]) -> dict[str, dict[str, str]]:
    """The runs that were lost by what was done, as the provenance keeps them (`depl.models.traces.lost`)."""
    kinds = {LOST: (What.DROPPED,), ENDED: (What.DIVERGED, What.STOPPED)}
    return {
        key: {note.run: note.text.removeprefix(f"run {note.run!r} ") for note in notes if note.what in whats}
        for key, whats in kinds.items()
    }


def kept_lines(
    sheet: Sheet, run: str, lines: Sequence[Line], notes: list[Note], rules: Rules
) -> dict[str, list[Line]]:
    """The lines of a run that count, one an epoch, by the names of its trainings. What was done is noted.

    A run is one training unless it went back to the first epoch: the one after is ``run (training 2)``. A
    training that is dropped is not among them.
    """
    found = trainings(lines)
    _require_allowed(sheet, run, found, rules)
    kept = {}
    for place, part in enumerate(found, start=1):
        name = run if place == 1 else f"{run} (training {place})"
        if part.follows is not None:
            row = part.follows.line.row
            text = f"run {run!r} begins again in row {row}: from there on it is run {name!r}"
            notes.append(Note(What.SECOND, text, name, row))
        single = _single(name, part, rules.on_repeated, notes)
        if whole := _whole(sheet, name, single, rules.on_missing, notes):
            kept[name] = whole
    return kept


def _require_allowed(sheet: Sheet, run: str, found: Sequence[Training], rules: Rules) -> None:
    """Refuse what is repeated, unless it may be and is known for what it is."""
    repeats = [again for part in found for again in (part.follows, *part.repeats) if again is not None]
    if repeats and rules.on_repeated == "refuse":
        raise _refusal(sheet, run, repeats[0], any(part.beyond for part in found))
    telling = [(again, name) for again in repeats if (name := _telling(again))]
    if len(telling) > 1 or (telling and telling[0][0].is_first):
        again, name = telling[0]
        here, there = (f"{line.unread[name]!r:.40}" for line in (again.line, again.there))
        raise sheet.error(
            f"{_stands(run, again)}, with {there} in place of {here}: say which lines are meant (--where "
            f"{name}=..., in Python where={{{name!r}: ...}})",
            again.line.row,
            name,
        )
    beyond = next((part.beyond for part in found if part.beyond), None)
    if beyond is not None and rules.on_repeated == "first":
        message = (
            f"epoch {beyond.epoch} of run {run!r} follows on epochs that were logged again: if these were "
            "trained again, it belongs to the last of them alone, which --on-repeated last reads"
        )
        raise sheet.error(message, beyond.row)


def _stands(run: str, again: Repeat) -> str:
    return f"epoch {again.line.epoch} of run {run!r} stands in row {again.there.row} already"


def _refusal(sheet: Sheet, run: str, again: Repeat, beyond: bool) -> InvalidInputError:
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
        by = [name for name in differing if _is_text(again.line.unread[name])][:1]
        text += "; if these are several metrics or runs, --where KEY=VALUE or --run KEY tells them apart"
        text += "".join(f", as by {name!r}" for name in by)
    return sheet.error(f"{_stands(run, again)}: {text}", again.line.row)


def _differing(again: Repeat) -> list[str]:
    """What is not read and differs between two lines of an epoch."""
    here, there = again.line.unread, again.there.unread
    return [name for name in here if name in there and here[name] != there[name]]


def _telling(again: Repeat) -> str | None:
    """A column whose texts may tell two lines apart as different things, not as the earlier and the later.

    Numbers and times that are not read tell nothing, as they go on like a clock.
    """
    if again.in_place and _measured(again.line) == _measured(again.there):
        return None
    texts = (name for name in _differing(again) if _is_text(again.line.unread[name]))
    return next(texts, None) if again.in_place or again.begins_again else None


def _is_text(value: float | str) -> bool:
    """Whether a value is neither a number nor a time."""
    return isinstance(value, str) and number(value) is None and not _is_time(value)


def _single(run: str, part: Training, on_repeated: OnRepeated, notes: list[Note]) -> list[Line]:
    """One line per epoch, ascending: the branch that counts."""
    branch = part.branch if on_repeated == "last" or part.first_branch is None else part.first_branch
    for line in part.lines:
        counts = branch.get(line.epoch)
        if counts is line:
            continue
        what, text = What.REPEATED, f"training went back before epoch {line.epoch} of run {run!r}"
        if counts is not None:
            what = What.PASSED_OVER if line.empty else What.REPEATED
            had = "the loss of its epoch" if line.empty else f"epoch {line.epoch} of run {run!r} again"
            text = f"row {counts.row} has {had}"
        notes.append(Note(what, f"row {line.row} is passed over: {text}", run, line.row))
    return [branch[epoch] for epoch in sorted(branch)]


def _measured(line: Line) -> tuple[str, ...]:
    """What a line says, in a form in which a missing value equals another one."""
    return tuple(map(repr, (line.loss, line.model, line.cluster, sorted(line.metrics.items()))))


def _is_time(cell: str) -> bool:
    """Whether a text is a time in the form of ISO 8601."""
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


def _whole(
    sheet: Sheet, run: str, lines: Sequence[Line], on_missing: OnMissing, notes: list[Note]
) -> list[Line]:
    """The lines of a run that count; none if it is dropped."""
    gap = next((index for index, line in enumerate(lines) if line.missing), None)
    if gap is None:
        return list(lines)
    line = lines[gap]
    diverged = any(not later.empty for later in lines[gap:] if later.missing)
    ends = all(later.missing for later in lines[gap:])
    if on_missing == "refuse" or (on_missing == "end" and not ends):
        way = "end or drop" if ends else "drop alone; losses follow, and a gap cannot be guessed"
        message = f"run {run!r} has no loss in epoch {line.epoch}; --on-missing (on_missing) may be {way}"
        if diverged:
            message += "; it then counts as a miss, as depl fit and depl certify are told"
        raise sheet.error(message, line.row, line.column)
    place = f"no loss in epoch {line.epoch} (row {line.row})"
    if on_missing == "drop" or gap == 0:
        text = f"run {run!r} is dropped: {place}"
        notes.append(Note(What.DROPPED, text, run, line.row, diverged))
        return []
    what = What.DIVERGED if diverged else What.STOPPED
    notes.append(Note(what, f"run {run!r} {what} and is ended: {place}", run, line.row, diverged))
    return list(lines[:gap])


def table_of(sheet: Sheet, runs: Mapping[str, Sequence[Line]]) -> Traces:
    """The table of runs whose lines were kept."""
    lines = [line for kept in runs.values() for line in kept]
    names = [run for run, kept in runs.items() for _ in kept]
    rows = [line.row for line in lines]
    metrics = {name: np.array([line.metrics[name] for line in lines]) for name in lines[0].metrics}
    return assembled(
        sheet,
        rows,
        {
            "run": names_column(sheet, rows, "run", names),
            "model": names_column(sheet, rows, "model", [line.model for line in lines]),
            "cluster": names_column(sheet, rows, "cluster", [line.cluster for line in lines]),
        },
        np.array([line.epoch for line in lines], dtype=np.int64),
        {"loss": np.array([line.loss for line in lines]), **metrics},
    )
