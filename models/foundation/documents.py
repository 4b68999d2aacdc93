"""The base of every data structure that a user can write: frozen, typed, finite, checked on construction.

msgspec checks types and bounds only while it decodes; objects built in Python must pass the same
gate. `Checked` therefore converts every field once more in ``__post_init__``, and `decode` turns msgspec's
errors into ours with the full JSON path: of all mistakes (`depl.models.foundation.mistakes`).
"""

import contextlib
import functools
import io
import json
import math
import os
import re
import secrets
import stat
import sys
import typing
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import Meta

from depl.models.foundation.errors import InvalidInputError, WrongNameError
from depl.models.foundation.mistakes import (
    SCHEMA_COMMAND,
    Mistakes,
    OpenUnion,
    located,
    mistakes_of,
    opened,
    step,
    union,
)
from depl.models.foundation.names import advice

Name = Annotated[
    str,
    # (?![\s\S]) is the very end in Python and in ECMAScript alike, where $ may precede a line break
    Meta(min_length=1, pattern=r"^\S(.*\S)?(?![\s\S])", description="a unique name without outer blanks"),
]
Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

LARGEST_FILE = 2**30
"""Most bytes that are read of a file, or of what a compressed one holds: 1 GiB, which is far more than any
document or table of ours needs and leaves a machine of a few GiB alive."""

_PORTION = 2**20
"""Bytes read at once, 1 MiB: a file that only announces more takes no more memory."""

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""Names of this process's own streams: where they lead to a file, what else is printed must follow on."""

LONGEST_COLUMN = 12
"""Numbers of an array, or flat objects, that are written one field below the other; more go into lines."""


class Checked(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True, kw_only=True
):
    """A frozen record whose fields are typed, bounded and finite, however it was built."""

    largest_number: ClassVar[float] = 1e100
    """Numbers beyond this, or closer to zero than its reciprocal, are refused: the square of every
    number, divided by another, stays within double precision. Infinite where numbers are results."""

    schema_command: ClassVar[str] = SCHEMA_COMMAND
    """Lists the fields of a document; errors of reading it point there."""

    def __post_init__(self) -> None:
        """Normalise every field to its declared type and refuse what does not fit."""
        kinds = _fields(type(self))
        values, wrong = _converted_together(self, kinds), None
        for name, (kind, default) in kinds.items():
            given = getattr(self, name)
            try:
                value = _converted(given, kind) if values is None else getattr(values, name)
                value = _settled(value, self.largest_number)
            except InvalidInputError as error:
                wrong = wrong or Mistakes()
                wrong += error.within(f".{name}").mistakes
                continue
            # msgspec leaves a default out only where it is that very object; content alone shall count
            value = default if value == default else value
            if value is not given:
                msgspec.structs.force_setattr(self, name, value)
        if wrong is not None:
            wrong.end()
        self.validate()

    def validate(self) -> None:
        """Check what types and bounds cannot say; overridden where there is something to check."""


class Document(Checked, frozen=True, kw_only=True):
    """A record that is a file by itself; its class has the fields ``format`` and ``version``."""

    def to_json(self) -> str:
        """The document as indented JSON."""
        return encode_document(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a document; what its class and `decode_document` do not accept is refused."""
        return decode_document(text, cls)


def schema_of(kind: type[Document]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a document, with all members that its open unions have now."""
    unions: dict[type, dict[str, Any]] = {}

    def told(part: type) -> dict[str, Any]:
        if not issubclass(part, OpenUnion):
            raise NotImplementedError(f"fields of type {part.__name__} have no schema")
        if part not in unions:
            (unions[part],), more = _components([union(part.members())])
            found.update(more)
        return unions[part]

    def _components(kinds: list[Any]) -> tuple[Any, dict[str, Any]]:
        return msgspec.json.schema_components(kinds, schema_hook=told, ref_template="#/$defs/{name}")

    found: dict[str, Any] = {}
    (schema,), components = _components([kind])
    # defaults in Python, but a file has to say what it is
    components[kind.__name__]["required"][:0] = ["format", "version"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"depl {kind.__name__.lower()}, version 1",
        **schema,
        "$defs": {**components, **found},
    }


def decode(text: str | bytes, kind: type[T]) -> T:
    """Read one JSON document as ``kind``.

    Raises
    ------
    InvalidInputError
        With every mistake and its JSON path (``$.clusters[1].capacity``); a key that an object has twice is
        one.
    """
    wrong = Mistakes()
    try:
        found = peek(text, kind)
    except InvalidInputError as error:
        if not isinstance(error.__cause__, msgspec.ValidationError):  # it is no JSON
            raise
        command = getattr(kind, "schema_command", SCHEMA_COMMAND)
        wrong = mistakes_of(peek(text, object), kind, "$", command)  # which is JSON to its end, or refused
    wrong.check(require_single_keys, text)
    wrong.end()
    return found


def peek(text: str | bytes, kind: type[T]) -> T:
    """As `decode`, for a look at some fields of a document that is read whole later.

    Raises
    ------
    InvalidInputError
        As `decode`, but not for a key that occurs twice, of which it takes the last.
    """
    try:
        return msgspec.json.decode(text, type=kind, dec_hook=opened)
    except msgspec.ValidationError as error:
        raise located(error, "$") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidInputError(f"not a JSON document: {with_line(str(error), text)}", "$") from error
    except RecursionError as error:
        raise InvalidInputError("nested too deeply to be read", "$") from error


def decode_document(text: str | bytes, kind: type[S]) -> S:
    """Read a document that opens with its format and version, as every file of ours does.

    Raises
    ------
    InvalidInputError
        If it is of another format or version, and as `decode`.
    """
    wrong, defaults = Mistakes(), {field.name: field.default for field in msgspec.structs.fields(kind)}
    for name, given in msgspec.structs.asdict(peek(text, _Header)).items():
        wanted = defaults[name]
        if type(given) is not type(wanted):
            what = "is missing" if given is None else f"is {given!r:.80}"
            wrong.add(f"{what}; write {json.dumps(wanted)}", f"$.{name}")
        elif given != wanted and name == "version":
            what = f"version {given} is not known to this depl, which reads {wanted}; update one of them"
            raise InvalidInputError(what, "$.version")
        elif given != wanted:
            wrong.add(f"this is a {given!r:.80} document; a {wanted!r} one is needed here", "$.format")
            if _FORMAT.fullmatch(given):  # of another kind, whose fields are others
                wrong.end()
    headed = {mistake.path for mistake in wrong}
    try:
        read = decode(text, kind)
    except InvalidInputError as error:
        wrong += [mistake for mistake in error.mistakes if mistake.path not in headed]
    wrong.end()
    return read


def format_of(text: str | bytes) -> Any:
    """What a document says that it is; None where it does not."""
    return peek(text, _Header).format


def encode_document(value: msgspec.Struct) -> str:
    """Write ``value`` as indented JSON: format and version first, defaults left out, a final newline.

    More than `LONGEST_COLUMN` numbers lie on one line, and of as many flat objects each on a line of its own,
    so that long files stay small and their differences readable.
    """
    return _indented(document(value), "") + "\n"


def document(value: msgspec.Struct) -> dict[str, Any]:
    """``value`` as plain data that reads back as the same document: with its format and version."""
    head = {name: getattr(value, name) for name in ("format", "version")}
    return {**head, **msgspec.to_builtins(value)}


def read_text(path: str | Path) -> str:
    """Return the text of a file that a user named.

    Raises
    ------
    InvalidInputError
        If the file is not UTF-8, and as `read_bytes`.
    """
    try:
        return read_bytes(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError("not UTF-8 text", str(path)) from error


def read_bytes(path: str | Path, largest: int = LARGEST_FILE) -> bytes:
    """Return the content of a file that a user named.

    Raises
    ------
    InvalidInputError
        If the file is missing, a folder, unreadable, or larger than ``largest`` bytes.
    """
    try:
        with Path(path).open("rb") as file:
            content = read_at_most(file, largest + 1)
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", str(path)) from error
    if len(content) > largest:
        raise InvalidInputError(f"is larger than {largest >> 20} MiB, the most that is read", str(path))
    return content


def read_at_most(stream: io.BufferedIOBase, count: int) -> bytes:
    """The next ``count`` bytes, or as many as there are; no memory is taken for those that are not."""
    parts: list[bytes] = []
    while count and (part := stream.read(min(count, _PORTION))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_text(path: str | Path, text: str) -> None:
    """As `write_bytes`, in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write ``content`` to ``path`` so that a reader sees the old file or the new one, never half of it.

    A new file keeps the permissions of the one that it replaces, and a symbolic link goes on pointing to it.
    What is no regular file, such as a pipe or a device, is written to and stays what it is.

    Raises
    ------
    InvalidInputError
        If the file cannot be written; an older one is then still whole.
    """
    try:
        if str(path) in _STREAMS:
            with os.fdopen(os.dup(_STREAMS[str(path)]), "wb") as stream:
                stream.write(content)
            return
        found = found_there(path)
        if found is None or stat.S_ISREG(found.st_mode):
            _replace(Path(os.path.realpath(path)), content, found)
        else:
            with Path(path).open("wb") as stream:
                stream.write(content)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be written ({reason_of(error)})", str(path)) from error


def found_there(path: str | Path) -> os.stat_result | None:
    """What a name leads to, links followed; None where there is nothing.

    Raises
    ------
    OSError, ValueError
        If that cannot be told, as for a name that is longer than the file system allows.
    """
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def reason_of(error: OSError | ValueError) -> str:
    """Why the operating system, or Python in front of it, would not have a name or a file."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def require_known(name: str, known: Collection[str], path: str) -> None:
    """Refuse a name that is not among the known ones.

    Raises
    ------
    InvalidInputError
        At ``path``, with all known names.
    """
    if name not in known:
        raise WrongNameError(f"{name!r} is not defined; {advice(name, known)}", path)


def require_unique(keys: Iterable[object], path: str) -> None:
    """Refuse a key that occurs twice.

    Raises
    ------
    InvalidInputError
        At the second place, ``path`` with its index.
    """
    seen = set()
    for index, key in enumerate(keys):
        if key in seen:
            shown = sorted(key) if isinstance(key, frozenset) else key
            raise WrongNameError(f"{shown!r} is defined twice; keep one", f"{path}[{index}]")
        seen.add(key)


def _replace(target: Path, content: bytes, found: os.stat_result | None) -> None:
    """Write a new file and put it in the place of the old one, in one step of the file system."""
    # Renaming is atomic only within a file system, so the temporary file has to lie in the same folder. Its
    # name is short and its own: the target's may be as long as names may be, or be written twice at a time.
    temporary = target.with_name(f".depl-{secrets.token_hex(8)}.partial")
    try:
        with temporary.open("xb") as file:
            if found is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _indented(value: Any, margin: str) -> str:
    """``value``, made of builtins, as `msgspec.json.format` writes it, but for long arrays."""
    if not _is_nested(value) or not value:
        return msgspec.json.encode(value).decode()
    inner = margin + "  "
    if isinstance(value, dict):
        rows = [f"{_indented(name, '')}: {_indented(item, inner)}" for name, item in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(rows) + f"\n{margin}}}"
    long = len(value) > LONGEST_COLUMN
    if long and all(type(item) in (int, float) for item in value):
        return _on_one_line(value)
    flat = long and all(isinstance(item, dict) and _is_flat(item) for item in value)
    rows = [_on_one_line(item) if flat else _indented(item, inner) for item in value]
    return f"[\n{inner}" + f",\n{inner}".join(rows) + f"\n{margin}]"


def _on_one_line(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def _is_flat(record: dict[str, Any]) -> bool:
    """Whether a record holds no other one, and no array but of single values."""
    nested = [item for item in record.values() if _is_nested(item)]
    return not any(isinstance(item, dict) or any(map(_is_nested, item)) for item in nested)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)


class _Header(msgspec.Struct):
    format: Any = None
    version: Any = None


_FORMAT = re.compile(r"depl-[a-z]+")
"""Formats of other documents; what is not like them was meant to be the one that is needed."""


def _converted_together(record: Checked, kinds: dict[str, tuple[Any, Any]]) -> Any:
    """All fields of a record as their declared types, in one call; None if any of them is not at once."""
    try:
        given = {name: getattr(record, name) for name in kinds}
        return msgspec.convert(given, _bare(type(record)), dec_hook=opened)
    except (msgspec.ValidationError, InvalidInputError):
        return None


@functools.cache
def _bare(kind: type[Checked]) -> type[msgspec.Struct]:
    """A record with the fields of another one and no check of its own, whose types msgspec reads once."""
    fields = [(name, declared) for name, (declared, _) in _fields(kind).items()]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True)


def _converted(value: Any, kind: Any) -> Any:
    """``value`` as its declared type; scalars and arrays of numpy as the plain values that they hold."""
    try:
        return msgspec.convert(value, kind, dec_hook=opened)
    except msgspec.ValidationError:
        plain = without_numpy(value)
        try:
            return msgspec.convert(plain, kind, dec_hook=opened)
        except msgspec.ValidationError:
            mistakes_of(plain, kind, "").end()
            raise


def without_numpy(value: Any) -> Any:
    """``value`` with plain numbers and lists in place of numpy's."""
    numpy = sys.modules.get("numpy")  # training programs that lead a run do not load it
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [without_numpy(item) for item in value]
    if isinstance(value, dict):
        return {key: without_numpy(item) for key, item in value.items()}
    return value


def _settled(value: Any, largest: float) -> Any:
    """``value`` with zeros unsigned, if all its numbers can be calculated with and all its texts written."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"{value!r} holds half a character (a lone surrogate)") from error
        return str(value)  # numpy's own kind of text is one, too
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"must be a finite number, not {value}; leave the field out for 'none'")
        if abs(value) > largest or 0 < abs(value) < 1 / largest:
            raise InvalidInputError(f"{value} is beyond what double precision can calculate with; rescale")
        return value + 0.0
    if isinstance(value, tuple) and any(
        issubclass(kind, str | float | tuple) for kind in set(map(type, value))
    ):
        return tuple([_settled_item(*entry, largest) for entry in enumerate(value)])
    return value


def _settled_item(index: int, value: Any, largest: float) -> Any:
    """An item of an array, with its place in what is said of it."""
    try:
        return _settled(value, largest)
    except InvalidInputError as error:
        raise error.within(f"[{index}]") from None


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Any, Any]]:
    """Declared type and default (a value that equals nothing where there is none) of every field."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: (hints[field.name], field.default) for field in msgspec.structs.fields(kind)}


@functools.lru_cache(maxsize=16_384)  # a few MiB: the values of a law are asked for again and again
def decimal(number: float | Fraction) -> Fraction:
    """The decimal that a float prints as (99/100 for 0.99), exactly."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


_BYTE = re.compile(r"\(byte (\d+)\)$")
_WORD = re.compile(r"[^\s,\]}]+")
_SHOWN = 20
"""Bytes of the text at a fault that a message repeats."""


def require_single_keys(text: str | bytes) -> None:
    """Refuse a JSON document in which an object has a key twice.

    Parameters
    ----------
    text : str or bytes
        A document that another parser has accepted.

    Raises
    ------
    InvalidInputError
        At the place of the key (``$.clusters[1].capacity``), or for what is nested too deeply or no UTF-8.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        json.loads(text, object_pairs_hook=_without_content, parse_int=str, parse_float=str)
    except _TwiceError:  # only now does the place matter, which takes all the content
        found = Mistakes()
        for place in _twice("$", json.loads(text, object_pairs_hook=_marked, parse_int=str, parse_float=str)):
            found.add("is given twice in this object; keep one", place)
        found.end()
    except UnicodeError as error:
        raise InvalidInputError(f"not a JSON document: {error}", "$") from error
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


def _without_content(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _TwiceError


def _marked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which `_TwiceError` stands in the place of what is given twice."""
    times = Counter(key for key, _ in pairs)
    return {key: value if times[key] == 1 else _TwiceError for key, value in pairs}


def _twice(place: str, value: Any) -> Iterator[str]:
    """Places of keys that their object has already."""
    if value is _TwiceError:
        yield place
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _twice(f"{place}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _twice(place + step(key), item)
