"""JSON Lines: one object per line, as plain loops and many tools write; nested keys are joined by ``/``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import EMPTY, LoggedRun, Point, Value
from depl.models.traces.csv_files import number


def read_json_lines(path: str | Path, name: str) -> LoggedRun:
    """The points of a file.

    Raises
    ------
    InvalidInputError
        With the line that is no object, or if there is none.
    """
    points = tuple(_points(str(path), read_text(path).removeprefix("\ufeff")))
    if not points:
        raise InvalidInputError("holds no line; one JSON object per line is needed", str(path))
    return LoggedRun(name, str(path), points)


def flat(content: Any, prefix: str = "") -> dict[str, Value]:
    """Numbers and texts of an object, those of objects within by the keys that lead to them."""
    found: dict[str, Value] = {}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            found |= flat(value, f"{name}/")
        elif isinstance(value, str) and value.lower() not in EMPTY:
            told = number(value) if value.lower() in NOT_FINITE else None
            found[name] = value if told is None else told
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = float(value)
    return found


NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")
"""Texts that stand for numbers JSON does not have."""


def load_json(text: str, path: str, row: int | None = None) -> Any:
    """What a JSON text says; NaN and infinities are read as Python writes them.

    Raises
    ------
    InvalidInputError
        With the place.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = path if row is None else f"{path}, row {row}"
        raise InvalidInputError(f"is no JSON ({error})", where) from error


def _points(path: str, text: str) -> Iterator[Point]:
    for row, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        content = load_json(line, path, row)
        if not isinstance(content, dict):
            message = f"must be a JSON object, not {type(content).__name__}"
            raise InvalidInputError(message, f"{path}, row {row}")
        yield Point(row, flat(content))
