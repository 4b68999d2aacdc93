"""The files of shipped instances and families: their names, and what the first line of each says of it.

Nothing that takes time is imported, so that lists and completions of names are there at once.
"""

import functools
import re
from importlib import resources
from typing import NamedTuple

import msgspec

from depl.models.foundation.documents import peek

_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_FOLDER = resources.files("depl.instances") / "data"


class Entry(NamedTuple):
    """One line of the list of shipped instances."""

    name: str
    targets: tuple[str, ...]
    summary: str


def names(folder: str = "") -> tuple[str, ...]:
    """Names of the shipped families and instances, or of what is in a folder beside them, sorted."""
    files = [path.name for path in (_FOLDER / folder).iterdir()]
    return tuple(sorted(name.removesuffix(".json") for name in files if name.endswith(".json")))


def full_names() -> tuple[str, ...]:
    """Every name that `load` takes: those of `names`, and each family's with each of its targets."""
    found: list[str] = []
    for entry in describe():
        targets = entry.targets if len(entry.targets) > 1 else ()
        found += [entry.name, *(f"{entry.name}-{target}" for target in targets)]
    return tuple(found)


def describe() -> tuple[Entry, ...]:
    """Name, targets (empty for a single instance) and first line of the description of every shipped file."""
    return tuple(_entry(name) for name in names())


def strip_comments(text: str) -> str:
    """Blank the lines that begin with ``//``; the others keep their line numbers.

    No JSON value is touched: a string cannot contain a line break.
    """
    return _COMMENT.sub("", text)


def text_of(name: str) -> str:
    """The file of that name."""
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")


class _Described(msgspec.Struct):
    """What the list shows of a file; the rest of it, which may be long, is not looked at."""

    description: str = ""
    instance: "_Described | None" = None
    targets: dict[str, msgspec.Raw] = {}


@functools.cache
def _entry(name: str) -> Entry:
    found = peek(strip_comments(text_of(name)), _Described)
    described = found.instance or found
    return Entry(name, tuple(found.targets), described.description.partition("\n")[0])
