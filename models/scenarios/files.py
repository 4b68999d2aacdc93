"""Scenarios in a file: numpy's npz with a format, a version and the arrays, never a pickle.

The archive holds ``format``, ``version``, ``improvements`` and ``switch_losses``, and ``seed`` and
``decimals`` where the scenarios have them. Other programs read it by ``numpy.load``; for arrays of another
origin there is `depl.models.scenarios.draws.given_scenarios`.
"""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from depl.models.foundation.archives import read_npz_arrays
from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import Scenarios, given_scenarios

FORMAT = "depl-scenarios"
VERSION = 1
"""Version of the format."""

_ARRAYS = "improvements", "switch_losses"
_LONGEST_SEED = 1000
"""Digits; Python itself reads about 4300."""


def save_scenarios(scenarios: Scenarios, path: str | Path) -> None:
    """Write scenarios so that a reader sees the old file or the new one, never half of it.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content |= {name: getattr(scenarios, name) for name in _ARRAYS}
    for name in ("seed", "decimals"):
        if (value := getattr(scenarios, name)) is not None:
            content[name] = str(value)  # seeds have no limit
    page = io.BytesIO()
    np.savez_compressed(page, **content)
    write_bytes(path, page.getvalue())


def load_scenarios(path: str | Path, instance: Instance) -> Scenarios:
    """Read scenarios for an instance.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is of another format or version, or lacks an array; or if an array has
        another shape than the instance needs or holds what is not a finite number. The path names the
        file and the array.
    """
    content = read_npz_arrays(path)

    def refuse(name: str, message: str) -> InvalidInputError:
        return InvalidInputError(message, f"{path}: {name}")

    for name in ("format", "version", *_ARRAYS):
        if name not in content:
            raise refuse(name, "is missing in the file; write it with save_scenarios")
    form, version = str(content["format"]), str(content["version"])
    if form != FORMAT:
        raise refuse("format", f"is {form!r}; a {FORMAT!r} file is needed here")
    if version != str(VERSION):
        message = f"{version} is not known to this depl, which reads {VERSION}; update one of them"
        raise refuse("version", message)
    numbers: dict[str, int] = {}
    for name in {"seed", "decimals"} & set(content):
        text = str(content[name])
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_SEED):
            raise refuse(name, f"must be a whole number from 0 on, not {text[:40]}")
        numbers[name] = int(text)
    for name in _ARRAYS:
        if content[name].dtype.kind not in "fiu":
            raise refuse(name, f"holds {content[name].dtype}, not numbers")
    try:
        improvements, switches = (content[name] for name in _ARRAYS)
        scenarios = given_scenarios(instance, improvements, switches, numbers.get("decimals"))
    except InvalidInputError as error:
        place = f"{path}: {error.path.removeprefix('.')}" if error.path else str(path)
        raise InvalidInputError(error.message, place) from error
    return replace(scenarios, seed=numbers.get("seed"))
