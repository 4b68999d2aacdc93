"""What is wrong with the text of a JSON document: a key that an object has twice, and where a fault stands.

Of two equal keys parsers take the last, and nobody notices.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from depl.models.foundation.errors import InvalidInputError

_BYTE = re.compile(r"\(byte (\d+)\)$")
_WORD = re.compile(r"[^\s,\]}]+")
_SHOWN = 20
"""Bytes of the text at a fault that a message repeats."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def require_single_keys(text: str) -> None:
    """Refuse a JSON document in which an object has a key twice.

    Parameters
    ----------
    text : str
        A document that another parser has accepted.

    Raises
    ------
    InvalidInputError
        At the place of the key (``$.clusters[1].capacity``), or if the document is nested too deeply.
    """
    try:
        json.loads(text, object_pairs_hook=_without_content, parse_int=str, parse_float=str)
    except _TwiceError:  # only now does the place matter, which takes all the content
        place = next(_twice("$", json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)))
        raise InvalidInputError("is given twice in this object; keep one", place) from None
    except RecursionError as error:
        raise InvalidInputError("nested too deeply to be read", "$") from error


def with_line(what: str, text: str | bytes) -> str:
    """msgspec's message of malformed JSON with the line and the column, from 1, instead of the byte."""
    match = _BYTE.search(what)
    if match is None:
        return what
    content = text.encode("utf-8") if isinstance(text, str) else text
    before = content[: int(match[1])].decode("utf-8", errors="replace")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    rest = content[int(match[1]) :][:_SHOWN].decode("utf-8", errors="ignore")
    found = _WORD.match(rest)
    shown = f": {found[0]!r}" if found else ""
    return f"{what[: match.start()]}(line {line}, column {column}{shown})"


class _TwiceError(Exception):
    """An object has a key twice."""


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, as they are written."""


def _without_content(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _TwiceError


def _twice(place: str, value: Any) -> Iterator[str]:
    """Places of keys that their object has already: those of an object itself before those inside it."""
    if not isinstance(value, list):
        return
    named = [(f"[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, _Pairs):
        named = [
            (f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key)}]", item) for key, item in value
        ]
    seen: set[str] = set()
    for here, _ in named:
        if here in seen:
            yield place + here
        seen.add(here)
    for here, item in named:
        yield from _twice(place + here, item)
