"""Scenarios in a file: numpy's npz with a format, a version and the arrays, never a pickle.

The archive holds ``format``, ``version``, ``improvements`` and ``switch_losses``, and ``seed`` and
``decimals`` where the scenarios have them. Other programs read it by ``numpy.load``; for arrays of another
origin there is `depl.models.scenarios.draws.given_scenarios`.
"""

import io
from collections.abc import Mapping
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

_LONGEST_SEED = 1000
"""Digits; Python itself reads about 4300."""


def save_scenarios(scenarios: Scenarios, path: str | Path) -> None:
    """Write scenarios so that a reader sees the old file or the new one, never half of it.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "improvements": scenarios.improvements,
        "switch_losses": scenarios.switch_losses,
    }
    numbers = {"seed": scenarios.seed, "decimals": scenarios.decimals}
    content |= {
        name: str(value) for name, value in numbers.items() if value is not None
    }  # seeds have no limit
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
    for name in ("format", "version", "improvements", "switch_losses"):
        if name not in content:
            raise InvalidInputError("is missing in the file; write it with save_scenarios", f"{path}: {name}")
    _require_header(path, content)
    seed, decimals = (_whole(path, content, name) for name in ("seed", "decimals"))
    arrays = [_numbers(path, content, name) for name in ("improvements", "switch_losses")]
    try:
        scenarios = given_scenarios(instance, arrays[0], arrays[1], decimals)
    except InvalidInputError as error:
        place = f"{path}: {error.path.removeprefix('.')}" if error.path else str(path)
        raise InvalidInputError(error.message, place) from error
    return replace(scenarios, seed=seed)


def _require_header(path: str | Path, content: Mapping[str, Any]) -> None:
    if str(content["format"]) != FORMAT:
        message = f"is {str(content['format'])!r}; a {FORMAT!r} file is needed here"
        raise InvalidInputError(message, f"{path}: format")
    if str(content["version"]) != str(VERSION):
        message = f"{content['version']} is not known to this depl, which reads {VERSION}; update one of them"
        raise InvalidInputError(message, f"{path}: version")


def _whole(path: str | Path, content: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 0 on, None if there is none."""
    if name not in content:
        return None
    text = str(content[name])
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_SEED):
        raise InvalidInputError(f"must be a whole number from 0 on, not {text[:40]}", f"{path}: {name}")
    return int(text)


def _numbers(path: str | Path, content: Mapping[str, Any], name: str) -> Any:
    array = content[name]
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"holds {array.dtype}, not numbers", f"{path}: {name}")
    return array
