"""Event files of TensorBoard: records with checksums, each an ``Event`` with values by tag.

A record is its length (8 bytes), the checksum of these, the data, and their checksum, all little-endian; a
checksum is a CRC-32C, rotated and moved by a constant (TensorFlow, ``tsl/lib/io/record_writer.h``). The data
are a protocol buffer ``Event``, of which the fields are step (2), a session log (7) whose status (1) of 1
says that a session starts at that step, so that what stood from there on does not count (``purge_step``), and
summary (5), a list of values (1) with tag (1), a number (2, older writers) or a tensor of one number (8), and
the metadata (9) of a plugin; ``add_hparams`` leaves hyperparameters there.
"""

import struct
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.tool_logs.points import LoggedRun, Value, merged, shown
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
from depl.models.tool_logs.reading import UNFINISHED, reader
from depl.models.traces.text_files import log_bytes

_POLYNOMIAL = 0x82F63B78
"""Of CRC-32C, its bits in reversed order."""
_MASK = 0xA282EAD8
_STEP, _SUMMARY, _SESSION, _VALUE = 2, 5, 7, 1
_STARTS = 1
"""Status of a session that starts."""
_TAG, _NUMBER, _TENSOR, _METADATA = 1, 2, 8, 9
_TYPES = {1: (5, "<f"), 2: (6, "<d"), 19: (13, "<e"), 14: (13, "")}
"""Of tensors of single, double and half precision, and bfloat16: the field of numbers, and their form."""
_HALVES = 13
_CONTENT = 4
_HPARAMS = "_hparams_/session_start_info"
SHUT = ("train", "validation")
"""Folders of one run at Keras; what is logged there gets their name in front."""


def _table() -> list[int]:
    found = []
    for index in range(256):
        rest = index
        for _ in range(8):
            rest = (rest >> 1) ^ (_POLYNOMIAL if rest & 1 else 0)
        found.append(rest)
    return found


_TABLE = _table()


def masked_checksum(data: bytes) -> int:
    """The masked CRC-32C of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


@reader
def read_events(
    folder: str | Path, files: Sequence[Path], name: str, named: Collection[str] = SHUT
) -> LoggedRun:
    """One run: the event files of a folder and of its parts, one after the other.

    Parameters
    ----------
    folder : str or Path
        Of the run.
    files : sequence of Path
        Within it.
    name : str
        Of the run.
    named : collection of str
        Folders within it whose tags come after their names.

    Raises
    ------
    InvalidInputError
        If a file is damaged, with the place of the record; an unfinished last record, as of a run under way,
        is left out, with a remark.
    """
    parts: dict[str, list[tuple[int, float, str, Value | None]]] = {}
    settings: dict[str, str] = {}
    remarks: dict[str, str] = {}
    for path in files:
        part = path.parent.relative_to(folder).as_posix()
        prefix = f"{part}/" if part in named else ""
        logged = parts.setdefault(prefix, [])
        for row, record in enumerate(_records(path, remarks), start=1):
            try:
                step = float(signed(first(record, _STEP)))
                if _starts(record) and (gone := _purged(logged, step)):
                    logged[:] = [item for item in logged if item not in gone]
                    told = f"{counted(len(gone), 'value')} from step {step:.0f} on"
                    remarks[f"{path}, record {row}"] = (
                        f"a session starts again, before which {told} were logged"
                    )
                for tag, value in _values(record, settings):
                    logged.append((row, step, prefix + tag, value))
            except BrokenMessageError as error:
                raise InvalidInputError(f"is no event ({error.message})", f"{path}, record {row}") from error
    together = (item for logged in parts.values() for item in logged)
    return LoggedRun(name, str(folder), merged(together, "step"), settings, remarks)


def _records(path: Path, remarks: dict[str, str]) -> Iterator[bytes]:
    data = log_bytes(path)
    place, row = 0, 1
    while place + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, place)
        if _stored(data, place + 8) != masked_checksum(data[place : place + 8]):
            raise _damaged(path, row, "the checksum of its length is wrong")
        end = place + 12 + size
        if end + 4 > len(data):
            break  # a run under way, or a process that was killed, leaves the last record unfinished
        record = data[place + 12 : end]
        if _stored(data, end) != masked_checksum(record):
            raise _damaged(path, row, "the checksum of its data is wrong")
        yield record
        place, row = end + 4, row + 1
    if place < len(data):
        remarks[f"{path}, record {row}"] = UNFINISHED


def _stored(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", data, place)[0])


def _damaged(path: Path, row: int, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"is damaged, or no event file: {why}; copy the file again, or leave it out", f"{path}, record {row}"
    )


def _starts(record: bytes) -> bool:
    """Whether a session starts with this record."""
    session = first(record, _SESSION)
    return isinstance(session, bytes) and first(session, 1) == _STARTS


def _purged(
    logged: Sequence[tuple[int, float, str, Value | None]], step: float
) -> set[tuple[int, float, str, Value | None]]:
    """What does not count as a session starts at a step; a tag of which nothing is left begins again."""
    stays = {tag for _, place, tag, _ in logged if place < step}
    return {item for item in logged if item[1] >= step and item[2] in stays}


def _values(record: bytes, settings: dict[str, str]) -> Iterator[tuple[str, float | None]]:
    """Tags with numbers, None for a scalar of a form that is not read; ``settings`` gets hyperparameters."""
    summary = first(record, _SUMMARY)
    if not isinstance(summary, bytes):
        return
    for number, value in fields(summary):
        if number != _VALUE or not isinstance(value, bytes):
            continue
        tag = text(first(value, _TAG))
        if tag == _HPARAMS:
            settings.update(_hyperparameters(within(value, _METADATA, 1, 2)))
            continue
        found = double(first(value, _NUMBER))
        if found is None:
            found = _of_tensor(first(value, _TENSOR))
        scalar = found is not None or text(first(within(value, _METADATA, 1), 1)) == "scalars"
        if scalar and not tag.startswith("_hparams_"):
            yield tag, found


def _of_tensor(tensor: object) -> float | None:
    """The number of a tensor of one number; None for any other."""
    if not isinstance(tensor, bytes):
        return None
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
            content = within(entry, 2)
            told = first(content, 3)
            figure = double(first(content, 2))
            value = text(told) if told is not None else "" if figure is None else shown(figure)
            if value:
                yield text(first(entry, 1)), value
