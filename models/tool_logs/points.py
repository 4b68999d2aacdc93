"""What a tool has logged, before anything is decided: runs, and points of named values in their order."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from depl.models.traces.sheets import number

Value = float | str
"""A number, or a text that is none."""

TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "transformers", "jsonl", "csv")
"""Whose logs are read."""


class Point(NamedTuple):
    """What was logged at one moment.

    Attributes
    ----------
    row : int
        Line or record of the file, from 1.
    values : mapping of str to float or str
        By key; what is missing is not there.
    missing : frozenset of str
        Keys that were logged with nothing that could be a number: null, an empty cell, a list or true.
    """

    row: int
    values: Mapping[str, Value]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LoggedRun:
    """One run, or one file of several runs that a key tells apart.

    Attributes
    ----------
    name : str
        As the tool calls it, or as its file or folder is called.
    path : str
        Where it stands.
    points : tuple of Point
        In the order of the file.
    settings : mapping of str to str
        Hyperparameters that were logged with it.
    remarks : mapping of str to str
        What of its files is not read, and why.
    """

    name: str
    path: str
    points: tuple[Point, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)

    def logged_keys(self) -> dict[str, int]:
        """The keys with how many points have them, in the order in which they first occur."""
        found: dict[str, int] = {}
        for point in self.points:
            for key in point.values:
                found[key] = found.get(key, 0) + 1
        return found

    def keys_of(self, name: str) -> list[str]:
        """The key of that name, or else those that end with it, also where it was logged without a value."""
        keys = dict.fromkeys(key for point in self.points for key in (*point.values, *sorted(point.missing)))
        return [name] if name in keys else [key for key in keys if key.endswith(f"/{name}")]


@dataclass(frozen=True)
class ToolLog:
    """What one tool has logged.

    Attributes
    ----------
    tool : str
        One of `TOOLS`.
    why : str
        By what it was recognised; empty where it was told.
    runs : tuple of LoggedRun
    first : int or None
        What the tool calls the first epoch; None where its users decide.
    passed_over : tuple of str
        What is not read and no run, in words, such as columns of extremes.
    lost : mapping of str to str
        Runs of which there is nothing to read, by name, and why: files that are logs and cannot be read, and
        logs of the same tool without the key of the loss.
    unread : mapping of str to str
        Files that are no logs, and why.
    left_out : mapping of str to str
        Files and runs that were to be left out, and by what.
    """

    tool: str
    why: str
    runs: tuple[LoggedRun, ...]
    first: int | None = None
    passed_over: tuple[str, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


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


def figure_of(value: Value | None) -> float | None:
    """A value as a number, texts of a number, too; None for any other."""
    return number(value.strip()) if isinstance(value, str) else value


def shown(value: Value) -> str:
    """A value as a text: a whole number has no point."""
    return value if isinstance(value, str) else f"{value:.15g}"


def cell_values(header: Iterable[str], cells: Iterable[str]) -> dict[str, Value | None]:
    """The cells of a line by the names of their columns, None where one is empty."""
    found: dict[str, Value | None] = {}
    for key, cell in zip(header, cells, strict=True):
        value = number(cell)
        found[key] = None if cell.lower() in EMPTY else cell if value is None else value
    return found


EMPTY = ("", "na", "n/a", "null", "none", "-")
"""What cells say that hold nothing."""
_NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")
"""Texts that stand for numbers JSON does not have."""


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
