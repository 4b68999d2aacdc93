"""JSON texts, and what they hold: nested keys are joined by ``/``; and YAML files that are as flat."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import Value, shown, value_of
from depl.models.traces.sheets import at, log_text

_ENTRY = re.compile(r"([A-Za-z_][\w./-]*):[ \t]+(\S.*)")


def load_json(text: str, path: object, row: int | None = None) -> Any:
    """What a JSON text says; NaN and infinities are read as Python writes them, all numbers as floats."""
    try:
        return json.loads(text, parse_int=float)
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply to be read", at(path, row)) from error
    except ValueError as error:
        raise InvalidInputError(f"is no JSON ({error})", at(path, row)) from error


def leaves(content: Any, prefix: str = "") -> Iterator[tuple[str, Value | None]]:
    """Numbers and texts of an object, those of objects within by the keys that lead to them.

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
