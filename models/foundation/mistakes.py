"""All mistakes of a document in one refusal: a second reading, which goes on where msgspec ends.

What is wrong with one field leaves the others as they are, so each is read by itself. What the whole checks,
it checks only if its parts are right; but names that are not defined are told even then, with numbers that
stand in for the wrong ones, as no number changes a name.
"""

import contextlib
import functools
import json
import operator
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from depl.models.foundation.errors import InvalidInputError, WrongNameError
from depl.models.foundation.names import advice, nearest

SCHEMA_COMMAND = "depl instances schema"
"""Lists the fields of an instance; errors point to it, unless a record has a ``schema_command``."""

_MOST = 10_000
"""Mistakes after which a document is not read further: more than anybody corrects by hand."""

_STAND_INS = (1, 0.5)
"""Numbers in the place of wrong ones: one of them lies within the bounds of every number of ours."""

_UNIONS = (typing.Union, types.UnionType)
_REGISTERED = "; one of your own has to be registered (on the command line: --import FILE)"
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>\$?[^`]*)`)?$", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER_TYPE = re.compile(r", got `\w+`(?!; write)")
_AMOUNT = re.compile(r"\s*([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)\s*(\S.*)?")


class Mistakes(list[InvalidInputError]):
    """Mistakes that do not depend on each other, kept until `end`."""

    def check(self, check: Callable[..., object], *given: object) -> None:
        """Run a check, and keep what it refuses."""
        try:
            check(*given)
        except InvalidInputError as error:
            self += error.mistakes

    def add(self, message: str, path: str) -> None:
        """Keep one that is found otherwise."""
        self.append(InvalidInputError(message, path))

    def end(self) -> None:
        """Raise what was found, if anything, as one error."""
        if self:
            raise type(self[0])(self[0].message, self[0].path, self[1:])


class _Open(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.members())  # type: ignore[attr-defined]


class OpenUnion(metaclass=_Open):
    """A field type that stands for one of several tagged records, whose number may grow at run time.

    msgspec fixes the members of a union when it first sees it; a subclass of this is asked anew every time.
    """

    @classmethod
    def members(cls) -> tuple[type[msgspec.Struct], ...]:
        """The records, in the order in which a schema lists them."""
        raise NotImplementedError


def opened(kind: type[Any], value: Any) -> Any:
    """``value`` as a member of an `OpenUnion`: what msgspec has to ask (as ``dec_hook``).

    Raises
    ------
    InvalidInputError
        With the place below that of the value.
    """
    if kind is object:  # anything that JSON has, as msgspec reads it without a hook
        return value
    if not issubclass(kind, OpenUnion):
        raise NotImplementedError(f"fields of type {kind.__name__} cannot be read")
    if isinstance(value, kind):
        return value
    try:
        return msgspec.convert(value, union(kind.members()), dec_hook=opened)
    except msgspec.ValidationError as error:
        raise located(error, "") from error


@functools.cache
def union(members: tuple[type, ...]) -> Any:
    """One of these records, as msgspec is told it."""
    return functools.reduce(operator.or_, members)


def located(error: msgspec.ValidationError, prefix: str) -> InvalidInputError:
    """msgspec's error as ours, with its place; what a record itself refused stays as it is."""
    match = _PLACE.match(str(error))
    what, inner = (match["what"], match["path"]) if match else (str(error), None)
    path = prefix + (inner or "").removeprefix("$")
    cause = error.__cause__
    return cause.within(path) if isinstance(cause, InvalidInputError) else InvalidInputError(what, path)


def step(key: str) -> str:
    """The part of a place that leads to a key of an object."""
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key)}]"


def mistakes_of(value: Any, kind: Any, place: str, command: str = SCHEMA_COMMAND) -> Mistakes:
    """All that keeps plain data from being of a type; ``command`` lists the fields."""
    reading = _Reading(command)
    whole = reading.read(value, kind, place)
    try:
        msgspec.convert(whole, kind, dec_hook=opened)
    except msgspec.ValidationError as error:
        wrong = {mistake.path for mistake in reading.found}
        named = [item for item in located(error, place).mistakes if isinstance(item, WrongNameError)]
        reading.found += [item for item in named if item.path not in wrong]
    return reading.found


def missing(record: type[msgspec.Struct], given: Collection[str]) -> Mistakes:
    """What a document does not give: fields without a default, and those that a record calls ``lacking``."""
    found, fields = Mistakes(), fields_of(record)
    names = [name for name, field in fields.items() if field.required and name not in given]
    for name in (*names, *getattr(record, "lacking", lambda _given: ())(given)):
        found.add(
            f"is missing: {fields[name].told}" if fields[name].told else "is missing; give it", step(name)
        )
    return found


class _Reading:
    """What is wrong so far."""

    def __init__(self, command: str) -> None:
        self.found, self.command = Mistakes(), command

    def read(self, value: Any, kind: Any, place: str) -> Any:
        """``value``, or what stands in for it; a mistake is told at the innermost place that has it."""
        try:
            msgspec.convert(value, kind, dec_hook=opened)
            return value
        except msgspec.ValidationError as error:
            refused = located(error, place)
        before, kinds = len(self.found), list(_alternatives(kind))
        if before < _MOST:
            value = self._parts(value, kinds, place)
        if len(self.found) > before:
            return value
        refused = _with_remedy(refused, value, kinds, self.command)
        if isinstance(getattr(kind, "__origin__", kind), _Open) and "Invalid value" in refused.message:
            refused = InvalidInputError(refused.message + _REGISTERED, refused.path)
        self.found += refused.mistakes
        return _stand_in(kind)

    def _parts(self, value: Any, kinds: list[Any], place: str) -> Any:
        """The same of what lies in an object or an array."""
        types_within = {typing.get_origin(kind): typing.get_args(kind) for kind in kinds}
        if isinstance(value, dict):
            if (record := _record(value, kinds)) is not None:
                return self._fields(value, record, place)
            if dict in types_within:
                inner = types_within[dict][1]
                return {key: self.read(part, inner, place + step(key)) for key, part in value.items()}
        elif isinstance(value, list | tuple) and types_within.get(tuple, (None, ...))[1:] == (...,):
            inner = types_within.get(tuple, types_within.get(list, (object,)))[0]
            return [self.read(part, inner, f"{place}[{index}]") for index, part in enumerate(value)]
        return value

    def _fields(self, value: dict[str, Any], record: type[msgspec.Struct], place: str) -> dict[str, Any]:
        """The same of the fields of a record; one of a wrong name is read as the one that is meant."""
        fields, config = fields_of(record), record.__struct_config__
        kept: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
        for name, given in value.items():
            meant, before = name, len(self.found) + 1
            if name not in (*fields, config.tag_field) and config.forbid_unknown_fields:
                near = _meant(name, {key: fields[key] for key in fields if key not in value})
                known = [f"did you mean {' or '.join(map(repr, near))}?", f"known are {', '.join(fields)}"]
                self.found.add(f"there is no such field; {known[not near]}", place + step(name))
                meant = near[0] if len(near) == 1 else ""
            if meant in fields:
                kept[meant] = self.read(given, fields[meant].kind, place + step(name))
            if meant != name and any(_OTHER_TYPE.search(item.message) for item in self.found[before:]):
                del self.found[before:]  # perhaps that was not meant
        nulls = [name for name in kept if name in fields and kept[name] is value.get(name, 0) is None]
        for error in missing(record, kept.keys() - nulls):
            self.found.append(error.within(place))
            kept[error.path[1:]] = _stand_in(fields[error.path[1:]].kind)
        return kept


def _stand_in(kind: Any) -> Any:
    """A value of this type that names nothing; None where there is none: then the whole is not checked."""
    if type(None) in _alternatives(kind):
        return None
    values = list[Any](_STAND_INS)
    for tag, record in _records(list(_alternatives(kind))).items():
        if tag is not None:
            needed = {
                key: _stand_in(field.kind) for key, field in fields_of(record).items() if field.required
            }
            values.append({record.__struct_config__.tag_field: tag} | needed)
    for value in values:
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert(value, kind, dec_hook=opened)
            return value
    return None


class _Field(NamedTuple):
    kind: Any
    required: bool
    told: str


@functools.cache
def fields_of(kind: type[msgspec.Struct]) -> Mapping[str, _Field]:
    """The fields of a record by their names in a document: type, whether it has no default, description."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = [(field.encode_name, hints[field.name], field.required) for field in msgspec.structs.fields(kind)]
    return {name: _Field(hint, required, _description(hint)) for name, hint, required in found}


def _alternatives(kind: Any) -> Iterator[Any]:
    """The types that a field may have, without what is noted beside them."""
    if typing.get_origin(kind) is Annotated:
        yield from _alternatives(typing.get_args(kind)[0])
    elif typing.get_origin(kind) in _UNIONS:
        for part in typing.get_args(kind):
            yield from _alternatives(part)
    elif isinstance(kind, type) and issubclass(kind, OpenUnion):
        yield from kind.members()
    else:
        yield kind


def _records(kinds: list[Any]) -> dict[Any, type[msgspec.Struct]]:
    """Records by their tags; None where there is none."""
    found = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    return {kind.__struct_config__.tag: kind for kind in found}


def _record(value: dict[str, Any], kinds: list[Any]) -> type[msgspec.Struct] | None:
    """The record that an object is to be, by its tag where it has one."""
    for tag, record in (records := _records(kinds)).items():
        field = record.__struct_config__.tag_field
        if field is None or value.get(field) == tag or (len(records) == 1 and field not in value):
            return record
    return None


def _description(kind: Any) -> str:
    """What the schema says of a field, but not of what lies in it."""
    if isinstance(kind, msgspec.Meta):
        return kind.description or ""
    parts = typing.get_args(kind) if typing.get_origin(kind) in (Annotated, *_UNIONS) else ()
    return next(filter(None, map(_description, reversed(parts))), "")


def _meant(name: str, fields: Mapping[str, _Field]) -> tuple[str, ...]:
    """The fields that are called so in their descriptions, as by their symbols, or of a name like it."""
    word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
    return nearest(name, fields) or tuple(key for key in fields if word.search(fields[key].told))


def _with_remedy(refused: InvalidInputError, value: Any, kinds: list[Any], command: str) -> InvalidInputError:
    """msgspec's words with what to write instead, where the types tell it."""
    what, path, records = refused.message, refused.path, _records(kinds)
    field = next((record.__struct_config__.tag_field or "" for record in records.values()), "")
    tags = [str(tag) for tag in records]
    if field and what.startswith("Object missing required field"):  # the tag: all others are looked for
        what, path = f"is missing: one of {', '.join(tags)}", path + step(field)
    elif what.startswith("Invalid value") and isinstance(value, dict):
        what += f"; {advice(str(value[field]), tags)}"
    elif what.startswith("Invalid enum value"):
        what += f"; {advice(str(value), [str(item) for kind in kinds for item in typing.get_args(kind)])}"
    elif what.startswith("Expected `object`") and records:
        needed = [key for key, item in fields_of(next(iter(records.values()))).items() if item.required]
        what += f"; write an object with {f'{field}: ' + ' or '.join(tags) if field else ', '.join(needed)}"
    elif "matching regex" in what:
        what += f", which '{command}' describes"
    elif what.startswith("Expected `array`, got `object`"):
        what += "; write the objects between [ and ], each with its name as a field"
    elif "`, got `str`" in what and isinstance(value, str) and (amount := _AMOUNT.fullmatch(value)):
        number, unit = (f"{float(amount[1]) / 100:g}", True) if amount[2] == "%" else amount.groups()
        what += f"; write {number}, without quotation marks{' and unit' if unit else ''}"
    elif what.startswith("Expected") and ", got" not in what and isinstance(value, int | float):
        what += f", not {value}"
    return InvalidInputError(what, path, refused.also)
