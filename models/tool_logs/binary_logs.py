"""Logs in binary files: event files of TensorBoard, and offline files of Weights & Biases (``run-ID.wandb``).

An event record is its length (8 bytes), the checksum of these, the data, and their checksum, all
little-endian: CRC-32C, rotated and moved by a constant (TensorFlow, ``tsl/lib/io/record_writer.h``). An
offline file is a log in blocks of 32 KiB after 7 bytes that name the format, each record in parts with a
header of a checksum (CRC-32 of kind and data), a length and a kind (whole, first, middle, last). Records are
protocol buffers (https://protobuf.dev/programming-guides/encoding/): fields by number, as in the constants.
"""

import contextlib
import struct
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.tool_logs.points import (
    UNFINISHED,
    LoggedRun,
    Value,
    flat_settings,
    leaves,
    load_json,
    merged,
    point_of,
    settings_of,
    shown,
)
from depl.models.traces.sheets import log_bytes

Field = int | bytes
"""A whole number, or bytes: those of a floating-point one, a text or a message."""

_SIZES = {1: 8, 5: 4}
"""Bytes of fields of the kinds that have as many."""
_LONGEST_VARINT = 10
"""Bytes of a whole number of 64 bits, 7 bits each."""
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
"""Of CRC-32C, its bits in reversed order; and the constant that moves a checksum."""
_STEP, _SUMMARY, _SESSION, _VALUE = 2, 5, 7, 1
_TAG, _NUMBER, _TENSOR, _METADATA = 1, 2, 8, 9
_TYPES = {1: (5, "<f"), 2: (6, "<d"), 19: (13, "<e"), 14: (13, "")}
"""Of tensors of single, double and half precision, and bfloat16: the field of numbers, and their form."""
_HALVES, _CONTENT = 13, 4
_HPARAMS = "_hparams_/session_start_info"
SHUT = ("train", "validation")
"""Folders of one run at Keras; what is logged there gets their name in front."""

_Logged = tuple[int, float, str, Value | None]
"""Record, step, tag and value."""


def masked_checksum(data: bytes) -> int:
    """The masked CRC-32C of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def _shifted(rest: int) -> int:
    for _ in range(8):
        rest = (rest >> 1) ^ (_POLYNOMIAL if rest & 1 else 0)
    return rest


_TABLE = [_shifted(index) for index in range(256)]


def read_events(
    folder: Path,
    files: Sequence[Path],
    why: str = "",
    named: Collection[str] = SHUT,
    beside: bool = False,
) -> Iterator[LoggedRun]:
    """One run: the event files of a folder and of its parts, one after the other.

    An unfinished last record, as of a run under way, is left out, with a remark. Tags in the folders
    ``named`` come after their names. With ``beside`` the file of hyperparameters of Lightning counts, too.
    """
    parts: dict[str, list[_Logged]] = {}
    settings, remarks = flat_settings(folder) if beside else {}, dict[str, str]()
    for path in files:
        part = path.parent.relative_to(folder).as_posix()
        prefix = f"{part}/" if part in named else ""
        logged = parts.setdefault(prefix, [])
        for row, record in enumerate(_event_records(path, remarks), start=1):
            place = f"{path}, record {row}"
            try:
                step = float(signed(first(record, _STEP)))
                session = first(record, _SESSION)
                if isinstance(session, bytes) and first(session, 1) == 1 and (gone := _purged(logged, step)):
                    logged[:] = [item for item in logged if item not in gone]
                    told = f"{counted(len(gone), 'value')} from step {step:.0f} on"
                    remarks[place] = f"a session starts again, before which {told} were logged"
                logged += ((row, step, prefix + tag, value) for tag, value in _values(record, settings))
            except BrokenMessageError as error:
                raise InvalidInputError(f"is no event ({error.message})", place) from error
    points = merged((item for logged in parts.values() for item in logged), "step")
    yield LoggedRun("tensorboard", why, folder.name, str(folder), points, settings, remarks)


def _event_records(path: Path, remarks: dict[str, str]) -> Iterator[bytes]:
    data = log_bytes(path)
    place, row = 0, 1
    while place + 12 <= len(data):
        size, checksum = struct.unpack_from("<QI", data, place)
        end = place + 12 + size
        wrong = "length" if checksum != masked_checksum(data[place : place + 8]) else ""
        if not wrong and end + 4 > len(data):
            break  # a run under way, or a process that was killed, leaves the last record unfinished
        record = data[place + 12 : end]
        if not wrong and struct.unpack_from("<I", data, end)[0] != masked_checksum(record):
            wrong = "data"
        if wrong:
            message = (
                f"is damaged, or no event file: the checksum of its {wrong} is wrong; copy the file again, "
                "or leave it out"
            )
            raise InvalidInputError(message, f"{path}, record {row}")
        yield record
        place, row = end + 4, row + 1
    if place < len(data):
        remarks[f"{path}, record {row}"] = UNFINISHED


def _purged(logged: Sequence[_Logged], step: float) -> set[_Logged]:
    """What does not count as a session starts at a step; a tag of which nothing is left begins again."""
    stays = {tag for _, place, tag, _ in logged if place < step}
    return {item for item in logged if item[1] >= step and item[2] in stays}


def _values(record: bytes, settings: dict[str, str]) -> Iterator[tuple[str, float | None]]:
    """Tags with numbers, None for a scalar of a form that is not read; ``settings`` gets hyperparameters."""
    for value in repeated(within(record, _SUMMARY), _VALUE):
        tag, plugin = text(first(value, _TAG)), within(value, _METADATA, 1)
        if tag == _HPARAMS:
            settings.update(_hyperparameters(within(plugin, 2)))
            continue
        found = double(first(value, _NUMBER))
        if found is None:
            found = _of_tensor(within(value, _TENSOR))
        scalar = found is not None or text(first(plugin, 1)) == "scalars"
        if scalar and not tag.startswith("_hparams_"):
            yield tag, found


def _of_tensor(tensor: bytes) -> float | None:
    """The number of a tensor of one number; None for any other."""
    kind = first(tensor, 1)
    if not isinstance(kind, int) or kind not in _TYPES:
        return None
    number, form = _TYPES[kind]
    content = first(tensor, _CONTENT)
    if content is None:
        content = _bits(first(tensor, number)) if number == _HALVES else first(tensor, number)
    if not form and isinstance(content, bytes):  # bfloat16 is the first half of single precision
        content, form = bytes(2) + content, "<f"
    if not isinstance(content, bytes) or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _bits(value: Field | None) -> bytes:
    """The bits of one number of half precision, kept as a whole number, alone or packed; or none."""
    if isinstance(value, bytes) and value:
        bits, end = _varint(value, 0)
        value = bits if end == len(value) else None
    return struct.pack("<H", value & 0xFFFF) if isinstance(value, int) else b""


def _hyperparameters(content: bytes) -> Iterator[tuple[str, str]]:
    """Of ``HParamsPluginData.session_start_info.hparams``, a map to ``google.protobuf.Value``."""
    for entry in repeated(within(content, 3), 1):
        told, plain = first(within(entry, 2), 3), double(first(within(entry, 2), 2))
        value = text(told) if told is not None else "" if plain is None else shown(plain)
        if value:
            yield text(first(entry, 1)), value


BLOCK, HEADER = 32_768, 7
"""Bytes of a block, and of the header of a part (and of the file)."""
MAGIC = b":W&B"
_WHOLE, _FIRST, _LAST = 1, 2, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17
_DISPLAY_NAME, _RUN_CONFIG = 8, 4


def read_offline(path: Path, tool: str | None = None) -> Iterator[LoggedRun]:
    """The run of an offline file; an unfinished record is left out, with a remark."""
    points, settings, name = [], dict[str, str](), path.stem
    remarks: dict[str, str] = {}
    for row, record in enumerate(_parts_of_records(path, remarks), start=1):
        try:
            points += [point_of(row, leaves(dict(_items(item)))) for item in repeated(record, _HISTORY)]
            for config in (*repeated(record, _CONFIG), within(record, _RUN, _RUN_CONFIG)):
                settings |= settings_of(dict(_items(config)))
            name = text(first(within(record, _RUN), _DISPLAY_NAME)) or name
        except BrokenMessageError as error:
            raise InvalidInputError(f"is no record ({error.message})", f"{path}, record {row}") from error
    yield LoggedRun("wandb", path.name, name, str(path), tuple(points), settings, remarks)


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Keys and values of items (1): key (1), nested key (2), JSON (16)."""
    for item in repeated(message, 1):
        names = [text(name) for name in repeated(item, 2)]
        with contextlib.suppress(InvalidInputError):  # such as a picture: no number either
            yield text(first(item, 1)) or "/".join(names), load_json(text(first(item, 16)), "")


def _parts_of_records(path: Path, remarks: dict[str, str]) -> Iterator[bytes]:
    data = log_bytes(path)
    if data[: len(MAGIC)] != MAGIC:
        raise InvalidInputError(
            "is no offline file of Weights & Biases; export the runs instead: wandb leet inspect --json FILE "
            "> FILE.jsonl, or run.history().to_csv(...) of its public API",
            str(path),
        )
    place, parts, row = HEADER, list[bytes](), 1
    while place + HEADER <= len(data):
        left = BLOCK - place % BLOCK
        checksum, size, kind = struct.unpack_from("<IHB", data, place)
        if left < HEADER or not (checksum or size or kind):
            place += left
            continue
        end = place + HEADER + size
        if end > len(data):
            break
        if zlib.crc32(data[place + 6 : end]) != checksum:
            raise InvalidInputError(
                "is damaged: the checksum is wrong; copy the file again, or leave it out",
                f"{path}, record {row}",
            )
        if kind in (_WHOLE, _FIRST) and parts:  # of a writer that was killed, and went on later
            remarks[f"{path}, before record {row}"] = UNFINISHED
            parts = []
        parts.append(data[place + HEADER : end])
        if kind in (_WHOLE, _LAST):
            yield b"".join(parts)
            parts, row = [], row + 1
        place = end
    if parts or any(data[place:]):
        remarks[f"{path}, record {row}"] = UNFINISHED


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


def repeated(message: bytes, number: int) -> Iterator[bytes]:
    """The values of a field of bytes that may be repeated."""
    return (value for key, value in fields(message) if key == number and isinstance(value, bytes))


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
