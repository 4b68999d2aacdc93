"""JSON Lines: one object per line, as plain loops and many tools write; nested keys are joined by ``/``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import LoggedRun, Value, point_of, value_of
from depl.models.tool_logs.reading import reader
from depl.models.traces.sheets import MOST_COLUMNS
from depl.models.traces.text_files import encoding_of, first_bytes, log_text

Objects = list[tuple[int, dict[str, Any]]]
"""The objects of a file with their lines."""
_LOOKED_AT = 2**20
"""Bytes of a file that are looked at to tell what it holds."""


def run_of(path: str | Path, name: str, objects: Objects) -> LoggedRun:
    """The run of a file, every object a point.

    Raises
    ------
    InvalidInputError
        If an object has too many keys.
    """
    for row, content in objects:
        if len(content) > MOST_COLUMNS:
            message = f"has {len(content)} keys; at most {MOST_COLUMNS} are read"
            raise InvalidInputError(message, f"{path}, row {row}")
    return LoggedRun(name, str(path), tuple(point_of(row, leaves(content)) for row, content in objects))


@reader
def objects_of(path: str | Path) -> Objects:
    """The objects of a file.

    Raises
    ------
    InvalidInputError
        With the line that is no object, or if there is none.
    """
    found: Objects = []
    for row, line in enumerate(log_text(path).split("\n"), start=1):
        if line.strip():
            content = load_json(line, str(path), row)
            if not isinstance(content, dict):
                message = f"must be a JSON object, not {type(content).__name__}"
                raise InvalidInputError(message, f"{path}, row {row}")
            found.append((row, content))
    if not found:
        raise InvalidInputError("holds no line; one JSON object per line is needed", str(path))
    return found


def holds_lines(path: Path) -> bool:
    """Whether a file begins with two objects, each on a line of its own."""
    content = first_bytes(path, _LOOKED_AT)
    text = content.decode(encoding_of(content), errors="ignore")
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()][:2]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return False
    try:
        return isinstance(load_json(lines[0], str(path)), dict)
    except InvalidInputError:
        return False


def leaves(content: Any, prefix: str = "") -> Iterator[tuple[str, Value | None]]:
    """Numbers and texts of an object, those of objects within by the keys that lead to them.

    What is neither, and stands where one could, is None; what is no object holds none.
    """
    for key, item in content.items() if isinstance(content, dict) else ():
        if isinstance(item, dict):
            yield from leaves(item, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value_of(item)


def flat(content: Any) -> dict[str, Value]:
    """The same without what is missing."""
    return {key: value for key, value in leaves(content) if value is not None}


def load_json(text: str, path: str, row: int | None = None) -> Any:
    """What a JSON text says; NaN and infinities are read as Python writes them, all numbers as floats.

    Raises
    ------
    InvalidInputError
        With the place.
    """
    where = path if row is None else f"{path}, row {row}"
    try:
        return json.loads(text, parse_int=float)
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply to be read", where) from error
    except ValueError as error:
        raise InvalidInputError(f"is no JSON ({error})", where) from error
