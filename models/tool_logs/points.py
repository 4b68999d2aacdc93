"""What a tool has logged, before anything is decided: runs, and points of named values in their order."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from depl.models.traces.csv_files import number

Value = float | str
"""A number, or a text that is none."""

TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "jsonl", "csv")
"""Whose logs are read."""


class Point(NamedTuple):
    """What was logged at one moment.

    Attributes
    ----------
    row : int
        Line or record of the file, from 1.
    values : mapping of str to float or str
        By key; what is missing is not there.
    """

    row: int
    values: Mapping[str, Value]


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
    """

    name: str
    path: str
    points: tuple[Point, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    def logged_keys(self) -> dict[str, int]:
        """The keys with how many points have them, in the order in which they first occur."""
        found: dict[str, int] = {}
        for point in self.points:
            for key in point.values:
                found[key] = found.get(key, 0) + 1
        return found


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
    """

    tool: str
    why: str
    runs: tuple[LoggedRun, ...]
    first: int | None = None
    passed_over: tuple[str, ...] = ()


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


def cell_values(header: Iterable[str], cells: Iterable[str]) -> dict[str, Value]:
    """The cells of a line that are not empty, by the names of their columns."""
    found: dict[str, Value] = {}
    for key, cell in zip(header, cells, strict=True):
        if cell.lower() not in EMPTY:
            value = number(cell)
            found[key] = cell if value is None else value
    return found


EMPTY = ("", "na", "n/a", "null", "none", "-")
"""What cells say that hold nothing."""
_NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")
"""Texts that stand for numbers JSON does not have."""


def merged(points: Iterable[tuple[int, float, str, Value]], clock: str) -> tuple[Point, ...]:
    """Values that were logged one by one, (row, step, key, value), as points of one step each.

    A key that is logged again at a step begins another point: a run that went on after a crash, say.
    """
    found: list[tuple[int, dict[str, Value]]] = []
    last: dict[float, dict[str, Value]] = {}
    for row, step, key, value in points:
        values = last.get(step)
        if values is None or key in values:
            values = {clock: step}
            last[step] = values
            found.append((row, values))
        values[key] = value
    return tuple(Point(row, values) for row, values in found)
