"""The base of every data structure that a user can write: frozen, typed, finite, checked on construction.

msgspec checks types and bounds only while it decodes; objects built in Python must pass the same
gate. `Checked` therefore converts every field once more in ``__post_init__`` and reports the first
offence with its place, and `decode` turns msgspec's errors into ours with the full JSON path.
"""

import functools
import math
import re
import typing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from depl.models.errors import InvalidInputError

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>\$?[^`]*)`)?$", re.DOTALL)
_SAFE_NUMBER = 1e300

T = TypeVar("T", bound=msgspec.Struct)


class Checked(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True, kw_only=True
):
    """A frozen record whose fields are typed, bounded and finite, however it was built."""

    def __post_init__(self) -> None:
        """Normalise every field to its declared type and refuse what does not fit."""
        for name, kind in _field_types(type(self)).items():
            place = f".{name}"
            try:
                value = msgspec.convert(getattr(self, name), kind)
            except msgspec.ValidationError as error:
                raise _located(error, place) from error
            _require_finite(value, place)
            msgspec.structs.force_setattr(self, name, value)
        self.validate()

    def validate(self) -> None:
        """Check what types and bounds cannot say; overridden where there is something to check."""


def decode(text: str | bytes, kind: type[T]) -> T:
    """Read one JSON document as ``kind``.

    Raises
    ------
    InvalidInputError
        With the JSON path (``$.clusters[1].capacity``) of the first offence.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise _located(error, "$") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"not a JSON document: {error}", "$") from error
    except RecursionError as error:
        raise InvalidInputError("nested too deeply to be read", "$") from error


def decode_document(text: str | bytes, kind: type[T]) -> T:
    """Read a document that opens with its format and version, as every file of ours does.

    Raises
    ------
    InvalidInputError
        If it is of another format or version, and as `decode`.
    """
    header = decode(text, _Header)
    defaults = {field.name: field.default for field in msgspec.structs.fields(kind)}
    wanted, version = defaults["format"], defaults["version"]
    if header.format != wanted:
        raise InvalidInputError(
            f"this is a {header.format!r} document; a {wanted!r} one is needed here", "$.format"
        )
    if header.version != version:
        raise InvalidInputError(
            f"version {header.version} is not known to this depl, which reads {version}; update one of them",
            "$.version",
        )
    return decode(text, kind)


def encode_document(value: msgspec.Struct) -> str:
    """Write ``value`` as indented JSON: format and version first, defaults left out, a final newline."""
    head = {name: getattr(value, name) for name in ("format", "version")}
    content = msgspec.json.encode({**head, **msgspec.to_builtins(value)})
    return msgspec.json.format(content, indent=2).decode() + "\n"


def read_text(path: str | Path) -> str:
    """Return the text of a file that a user named.

    Raises
    ------
    InvalidInputError
        If the file is missing, a folder, unreadable or not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError("not UTF-8 text", str(path)) from error
    except OSError as error:
        raise InvalidInputError(f"cannot be read ({error.strerror or error})", str(path)) from error


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.partial")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InvalidInputError(f"cannot be written ({error.strerror or error})", str(path)) from error


class _Header(msgspec.Struct):
    format: str
    version: int


def _located(error: msgspec.ValidationError, prefix: str) -> InvalidInputError:
    match = _PLACE.match(str(error))
    what, inner = (match["what"], match["path"]) if match else (str(error), None)
    path = prefix + (inner or "").removeprefix("$")
    cause = error.__cause__
    if isinstance(cause, InvalidInputError):
        return InvalidInputError(cause.message, path + cause.path)
    if "unknown field" in what or "missing required field" in what:
        what += "; the fields are listed by 'depl instances schema'"
    return InvalidInputError(what, path)


def _require_finite(value: Any, place: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(
                f"must be a finite number, not {value}; leave the field out for 'none'", place
            )
        if abs(value) > _SAFE_NUMBER or 0 < abs(value) < 1 / _SAFE_NUMBER:
            raise InvalidInputError(
                f"{value} is beyond what double precision can calculate with; rescale", place
            )
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            _require_finite(item, f"{place}[{index}]")


@functools.cache
def _field_types(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in msgspec.structs.fields(kind)}
