"""Logs of Weights & Biases: its offline files, ``wandb leet inspect --json``, exported charts and histories.

An offline file (``run-ID.wandb``) is a log of records in blocks of 32 KiB, each record in parts with a header
of a checksum (CRC-32 of kind and data), a length and a kind (whole, first, middle, last), after 7 bytes that
name the format; a record is a protocol buffer ``Record``, of which a history row (2), the configuration (5)
and the run (17) are read.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.json_lines import Objects, flat, leaves, load_json
from depl.models.tool_logs.points import LoggedRun, point_of, shown
from depl.models.tool_logs.protobuf import BrokenMessageError, fields, first, text, within
from depl.models.tool_logs.reading import UNFINISHED, reader
from depl.models.traces.text_files import log_bytes

BLOCK, HEADER = 32_768, 7
"""Bytes of a block, and of the header of a part (and of the file)."""
MAGIC = b":W&B"
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17
_DISPLAY_NAME, _RUN_CONFIG = 8, 4


@reader
def read_offline(path: Path) -> LoggedRun:
    """The run of an offline file.

    Raises
    ------
    InvalidInputError
        If the file is damaged, with the record; an unfinished record is left out, with a remark.
    """
    points, settings, name = [], dict[str, str](), path.stem
    remarks: dict[str, str] = {}
    for row, record in enumerate(_records(path, remarks), start=1):
        try:
            for number, value in fields(record):
                if not isinstance(value, bytes):
                    continue
                if number == _HISTORY:
                    points.append(point_of(row, leaves(dict(_items(value, 1)))))
                elif number == _CONFIG:
                    settings |= _texts(dict(_items(value, 1)))
                elif number == _RUN:
                    name = text(first(value, _DISPLAY_NAME)) or name
                    settings |= _texts(dict(_items(within(value, _RUN_CONFIG), 1)))
        except BrokenMessageError as error:
            raise InvalidInputError(f"is no record ({error.message})", f"{path}, record {row}") from error
    return LoggedRun(name, str(path), tuple(points), settings, remarks)


@reader
def inspected(path: str | Path, name: str, lines: Objects) -> LoggedRun:
    """The run of a file that ``wandb leet inspect --json`` has made."""
    points, settings = [], dict[str, str]()
    for row, line in lines:
        kind = str(line.get("type"))
        content = line.get(kind)
        if not isinstance(content, dict):
            continue
        if kind == "history":
            points.append(point_of(row, leaves(content.get("item"))))
        elif kind in ("run", "config"):
            config = content if kind == "config" else content.get("config")
            settings |= _texts(config.get("update") if isinstance(config, dict) else None)
            name = str(content.get("display_name") or name)
    return LoggedRun(name, str(path), tuple(points), settings)


def _texts(config: Any) -> dict[str, str]:
    told = flat(config)
    return {key: shown(value) for key, value in told.items() if key.partition("/")[0] != "_wandb"}


def _items(message: bytes, number: int) -> Iterator[tuple[str, Any]]:
    """Keys and values of items: key (1), nested key (2), JSON (16)."""
    for found, item in fields(message):
        if found != number or not isinstance(item, bytes):
            continue
        names = [text(value) for place, value in fields(item) if place == 2]
        key = text(first(item, 1)) or "/".join(names)
        try:
            yield key, load_json(text(first(item, 16)), key)
        except InvalidInputError:
            continue  # such as a picture: no number either


def _records(path: Path, remarks: dict[str, str]) -> Iterator[bytes]:
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
        if left < HEADER:
            place += left
            continue
        checksum, size, kind = struct.unpack_from("<IHB", data, place)
        if not checksum and not size and not kind:
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
