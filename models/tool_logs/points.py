"""What a tool has logged, before anything is decided: runs, and points of named values in their order."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from depl.models.foundation.documents import reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.sheets import at, log_text, number

Value = float | str
"""A number, or a text that is none."""

TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "transformers", "jsonl", "csv")
"""Whose logs are read."""
EMPTY = ("", "na", "n/a", "null", "none", "-")
"""What cells say that hold nothing."""
_NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")
"""Texts that stand for numbers JSON does not have."""
SETTINGS = "hparams.yaml"
"""What Lightning writes beside its logs."""
_ENTRY = re.compile(r"([A-Za-z_][\w./-]*):[ \t]+(\S.*)")
UNFINISHED = "unfinished, as a process that was killed leaves it: not read"
"""What is said of the last record of a file, or its last line."""


class Point(NamedTuple):
    """What was logged at one moment, by key."""

    row: int  # line or record of the file, from 1
    values: Mapping[str, Value]
    missing: frozenset[str] = frozenset()  # logged with no number or text: null, an empty cell, a list, true


@dataclass(frozen=True)
class LoggedRun:
    """One run, or one file of several runs that a key tells apart."""

    tool: str  # one of `TOOLS`
    why: str  # by what it was recognised
    name: str  # as the tool calls it, or as its file or folder is called
    path: str
    points: tuple[Point, ...]  # in the order of the file
    settings: Mapping[str, str] = field(default_factory=dict)  # hyperparameters that were logged with it
    remarks: Mapping[str, str] = field(default_factory=dict)  # what of its files is not read, and why
    passed_over: tuple[str, ...] = ()  # columns of its file that are no runs

    def logged_keys(self) -> dict[str, int]:
        """The keys with how many points have them, in the order in which they first occur."""
        return Counter(key for point in self.points for key in point.values)

    def keys_of(self, name: str) -> list[str]:
        """The key of that name, or else those that end with it, also where it was logged without a value."""
        keys = dict.fromkeys(key for point in self.points for key in (*point.values, *sorted(point.missing)))
        return [name] if name in keys else [key for key in keys if key.endswith(f"/{name}")]


Reader = Callable[[Path], Iterator[LoggedRun]]
"""What makes runs of a file, or of a folder that is a run."""


class TrippedError(InvalidInputError):
    """A file that no reader was written for: it is refused, and the reader has to learn of it."""


def runs_of(read: Reader, path: Path) -> list[LoggedRun]:
    """All runs that a reader makes, which then raises nothing but `InvalidInputError` with a place."""
    try:
        return list(read(path))
    except InvalidInputError as error:
        if error.path:
            raise
        raise InvalidInputError(error.message, str(path)) from error
    except OSError as error:
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", str(path)) from error
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply to be read", str(path)) from error
    except MemoryError as error:
        raise InvalidInputError("does not fit into the memory", str(path)) from error
    except Exception as error:
        message = f"cannot be read as a log ({type(error).__name__}: {error}); leave it out"
        raise TrippedError(message, str(path)) from error


def point_of(row: int, found: Iterable[tuple[str, Value | None]]) -> Point:
    """The point of these values, of which None is missing."""
    told = dict(found)
    values = {key: value for key, value in told.items() if value is not None}
    return Point(row, values, frozenset(told.keys() - values.keys()))


def value_of(content: object) -> Value | None:
    """What was logged, if it is a number or a text; None for what is neither, or says that it holds nothing.

    What only texts can say in JSON (``"NaN"``) is a number, and so is every whole one: one of 400 digits is
    infinite.
    """
    if isinstance(content, str):
        if content.lower() in EMPTY:
            return None
        return float(content) if content.lower() in _NOT_FINITE else content
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    try:
        return float(content)
    except OverflowError:
        return math.copysign(math.inf, content)


def leaves(content: Any, prefix: str = "") -> Iterator[tuple[str, Value | None]]:
    """Numbers and texts of an object, those of objects within by keys that are joined by ``/``.

    What is neither, and stands where one could, is None; what is no object holds none.
    """
    for key, item in content.items() if isinstance(content, dict) else ():
        if isinstance(item, dict):
            yield from leaves(item, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value_of(item)


def settings_of(content: Any) -> dict[str, str]:
    """The same as hyperparameters, without what is missing, and what W&B keeps for itself."""
    told = {key: shown(value) for key, value in leaves(content) if value is not None}
    return {key: value for key, value in told.items() if key.partition("/")[0] != "_wandb"}


def load_json(text: str, path: object, row: int | None = None) -> Any:
    """What a JSON text says; NaN and infinities are read as Python writes them, all numbers as floats."""
    try:
        return json.loads(text, parse_int=float)
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply to be read", at(path, row)) from error
    except ValueError as error:
        raise InvalidInputError(f"is no JSON ({error})", at(path, row)) from error


def read_flat(path: Path) -> dict[str, str]:
    """Keys at the margin of a YAML file and their scalar values; what is nested or a list is left out."""
    found = {}
    for line in log_text(path).split("\n"):
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None or match[2][0] in "[{&*!|>#":
            continue
        value = match[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1].replace("''", "'")
        found[match[1]] = value
    return found


def flat_settings(folder: Path) -> dict[str, str]:
    """The hyperparameters that Lightning has written into a folder, if it has."""
    return read_flat(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}


def figure_of(value: Value | None) -> float | None:
    """A value as a number, texts of a number, too; None for any other."""
    return number(value.strip()) if isinstance(value, str) else value


def shown(value: Value) -> str:
    """A value as a text: a whole number has no point."""
    return value if isinstance(value, str) else f"{value:.15g}"


def merged(points: Iterable[tuple[int, float, str, Value | None]], clock: str) -> tuple[Point, ...]:
    """Values that were logged one by one, (row, step, key, value), as points of one step each.

    A key that is logged again at a step begins another point: a run that went on after a crash, say. What
    was logged from that step on is complete then, as what follows is of another branch. None is a value that
    is missing.
    """
    found: list[tuple[int, dict[str, Value | None]]] = []
    last: dict[float, dict[str, Value | None]] = {}
    reached = -math.inf
    for row, step, key, value in points:
        values = last.get(step)
        if values is not None and key in values:
            if step < reached:
                last = {place: others for place, others in last.items() if place < step}
                reached = step
            values = None
        if values is None:
            values = {clock: step}
            last[step] = values
            found.append((row, values))
        values[key] = value
        reached = max(reached, step)
    return tuple(point_of(row, values.items()) for row, values in found)
