"""Event files of TensorBoard: records with checksums, each an ``Event`` with values by tag.

A record is its length (8 bytes), the checksum of these, the data, and their checksum, all little-endian; a
checksum is a CRC-32C, rotated and moved by a constant (TensorFlow, ``tsl/lib/io/record_writer.h``). The data
are a protocol buffer ``Event``: step (2), a session log (7) whose status (1) of 1 says that a session starts
at that step, so that what stood from there on does not count, and summary (5), a list of values (1) with tag
(1), a number (2) or a tensor (8), and metadata (9) of a plugin; ``add_hparams`` leaves hyperparameters there.
"""

import struct
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.tool_logs.points import UNFINISHED, LoggedRun, Value, merged, shown
from depl.models.tool_logs.protobuf import (
    BrokenMessageError,
    double,
    fields,
    first,
    signed,
    text,
    varints,
    within,
)
from depl.models.traces.text_files import log_bytes

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
    folder: Path, files: Sequence[Path], why: str = "", named: Collection[str] = SHUT
) -> Iterator[LoggedRun]:
    """One run: the event files of a folder and of its parts, one after the other.

    An unfinished last record, as of a run under way, is left out, with a remark. Tags in the folders
    ``named`` come after their names.
    """
    parts: dict[str, list[_Logged]] = {}
    settings, remarks = dict[str, str](), dict[str, str]()
    for path in files:
        part = path.parent.relative_to(folder).as_posix()
        prefix = f"{part}/" if part in named else ""
        logged = parts.setdefault(prefix, [])
        for row, record in enumerate(_records(path, remarks), start=1):
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


def _records(path: Path, remarks: dict[str, str]) -> Iterator[bytes]:
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
    for number, value in fields(within(record, _SUMMARY)):
        if number != _VALUE or not isinstance(value, bytes):
            continue
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
    if content is None and number == _HALVES:
        bits = varints(first(tensor, number))
        content = struct.pack("<H", bits[0] & 0xFFFF) if len(bits) == 1 else None
    elif content is None:
        content = first(tensor, number)
    if not form and isinstance(content, bytes):  # bfloat16 is the first half of single precision
        content, form = bytes(2) + content, "<f"
    if not isinstance(content, bytes) or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _hyperparameters(content: bytes) -> Iterator[tuple[str, str]]:
    """Of ``HParamsPluginData.session_start_info.hparams``, a map to ``google.protobuf.Value``."""
    for number, entry in fields(within(content, 3)):
        if number == 1 and isinstance(entry, bytes):
            told, figure = (first(within(entry, 2), place) for place in (3, 2))
            plain = double(figure)
            value = text(told) if told is not None else "" if plain is None else shown(plain)
            if value:
                yield text(first(entry, 1)), value
