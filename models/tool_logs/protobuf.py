"""The wire format of protocol buffers: fields of a message by number, as TensorBoard and W&B store them.

Only what is needed is read: numbers, and bytes that are text or a message within
(https://protobuf.dev/programming-guides/encoding/, "Message structure").
"""

import struct
from collections.abc import Iterator

from depl.models.foundation.errors import InvalidInputError

Field = int | bytes
"""A whole number, or bytes: those of a floating-point one, a text or a message."""

_SIZES = {1: 8, 5: 4}
"""Bytes of fields of the kinds that have as many."""
_LONGEST_VARINT = 10
"""Bytes of a whole number of 64 bits, 7 bits each."""


class BrokenMessageError(InvalidInputError):
    """Bytes that are no message."""


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Number and value of every field, in order."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind != 2 and kind not in _SIZES:
            raise BrokenMessageError(f"holds a field of the unknown kind {kind}")
        size, place = (_SIZES[kind], place) if kind in _SIZES else _varint(message, place)
        if place + size > len(message):
            raise BrokenMessageError("ends within a field")
        yield tag >> 3, message[place : place + size]
        place += size


def first(message: bytes, number: int) -> Field | None:
    """The value of a field; None without it."""
    return next((value for key, value in fields(message) if key == number), None)


def within(message: bytes, *numbers: int) -> bytes:
    """The bytes of a field of a field of ... a message; none where one is not there."""
    found: Field | None = message
    for number in numbers:
        found = first(found, number) if isinstance(found, bytes) else None
    return found if isinstance(found, bytes) else b""


def text(value: Field | None) -> str:
    """Bytes as text."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""


def double(value: Field | None) -> float | None:
    """Four or eight bytes as a floating-point number."""
    if not isinstance(value, bytes) or len(value) not in (4, 8):
        return None
    return float(struct.unpack("<f" if len(value) == 4 else "<d", value)[0])


def varints(value: Field | None) -> list[int]:
    """Whole numbers of a repeated field: one, or several as bytes."""
    if not isinstance(value, bytes):
        return [] if value is None else [value]
    found, place = [], 0
    while place < len(value):
        number, place = _varint(value, place)
        found.append(number)
    return found


def signed(value: Field | None) -> int:
    """A whole number of 64 bits that may be negative."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if isinstance(value, int) else 0


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    for byte in message[place : place + _LONGEST_VARINT]:
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return value, place
    raise BrokenMessageError("ends within a number, or holds one of more than 64 bits")
