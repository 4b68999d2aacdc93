"""JSON objects whose keys all differ: of two equal ones parsers take the last, and nobody notices."""

import json
import re
from typing import Any, NoReturn

from depl.models.foundation.errors import InvalidInputError

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
        _refuse(json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str))
    except RecursionError as error:
        raise InvalidInputError("nested too deeply to be read", "$") from error


class _TwiceError(Exception):
    """An object has a key twice."""


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, as they are written."""


def _without_content(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _TwiceError


def _refuse(content: Any) -> NoReturn:
    """Refuse the first key, in the order of the text, that its object has already."""
    waiting: list[tuple[str, Any]] = [("$", content)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, _Pairs):
            inner = []
            seen = set()
            for key, item in value:
                there = f"{place}.{key}" if _PLAIN.fullmatch(key) else f"{place}[{json.dumps(key)}]"
                if key in seen:
                    raise InvalidInputError("is given twice in this object; keep one", there)
                seen.add(key)
                inner.append((there, item))
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += [(f"{place}[{index}]", item) for index, item in enumerate(value)][::-1]
    raise AssertionError("no key occurs twice")
