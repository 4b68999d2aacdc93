"""Logs of Weights & Biases: its offline files, and what ``wandb leet inspect --json`` shows of them.

An offline file (``run-ID.wandb``) is a log of records in blocks of 32 KiB, each record in parts with a header
of a checksum (CRC-32 of kind and data), a length and a kind (whole, first, middle, last), after 7 bytes that
name the format; a record is a protocol buffer ``Record``, of which a history row (2), the configuration (5)
and the run (17) are read.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.json_text import leaves, load_json, settings_of
from depl.models.tool_logs.points import UNFINISHED, LoggedRun, point_of
from depl.models.tool_logs.protobuf import BrokenMessageError, fields, first, text, within
from depl.models.traces.text_files import log_bytes

BLOCK, HEADER = 32_768, 7
"""Bytes of a block, and of the header of a part (and of the file)."""
MAGIC = b":W&B"
_WHOLE, _FIRST, _LAST = 1, 2, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17
_DISPLAY_NAME, _RUN_CONFIG = 8, 4


def read_offline(path: Path) -> Iterator[LoggedRun]:
    """The run of an offline file; an unfinished record is left out, with a remark."""
    points, settings, name = [], dict[str, str](), path.stem
    remarks: dict[str, str] = {}
    for row, record in enumerate(_records(path, remarks), start=1):
        try:
            for number, value in fields(record):
                if not isinstance(value, bytes):
                    continue
                if number == _HISTORY:
                    points.append(point_of(row, leaves(dict(_items(value)))))
                elif number == _CONFIG:
                    settings |= _settings(dict(_items(value)))
                elif number == _RUN:
                    name = text(first(value, _DISPLAY_NAME)) or name
                    settings |= _settings(dict(_items(within(value, _RUN_CONFIG))))
        except BrokenMessageError as error:
            raise InvalidInputError(f"is no record ({error.message})", f"{path}, record {row}") from error
    yield LoggedRun("wandb", path.name, name, str(path), tuple(points), settings, remarks)


def run_of_records(path: Path, name: str, lines: Sequence[tuple[int, dict[str, Any]]]) -> LoggedRun:
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
            settings |= _settings(config.get("update") if isinstance(config, dict) else None)
            name = str(content.get("display_name") or name)
    return LoggedRun("wandb", f"{path.name}: records of wandb", name, str(path), tuple(points), settings)


def _settings(config: Any) -> dict[str, str]:
    return {key: value for key, value in settings_of(config).items() if key.partition("/")[0] != "_wandb"}


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Keys and values of items (1): key (1), nested key (2), JSON (16)."""
    for found, item in fields(message):
        if found != 1 or not isinstance(item, bytes):
            continue
        names = [text(value) for place, value in fields(item) if place == 2]
        try:
            value = load_json(text(first(item, 16)), "")
        except InvalidInputError:
            continue  # such as a picture: no number either
        yield text(first(item, 1)) or "/".join(names), value


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
