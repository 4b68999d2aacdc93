"""Files that cannot be read as logs: whether a run is lost with one, or it is something else.

A run that went wrong is less readable than one that went well. So a file is taken for the log of a lost run
if it is named like logs that were read (but for digits), or holds figures under the key of the loss; single
figures, settings that name the key, and plain text are something else.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.text_files import encoding_of, first_bytes, log_text, unpacked

_LOOKED_AT = 2**20
"""Bytes of a file of an unknown kind that are looked at."""
_JSON = (".json", ".jsonl", ".ndjson")
_SHEETS = (".csv", ".tsv")
_TABLES = (*_SHEETS, ".jsonl", ".ndjson")
"""Files that are logs if others of that kind are."""
_PICKLES = (".pkl", ".pickle")
"""Files that are logs if logs of another kind are called so, and there is none of that kind."""
_LIST = re.compile(r'"([^"\n]+)"\s*:\s*[\[{]')
_SEPARATED = re.compile(r"[,;\t]")


def is_key(key: str, loss: str) -> bool:
    """Whether a key is that of the loss, or a longer one that ends with it."""
    return key == loss or key.endswith(f"/{loss}")


def alike(name: str) -> str:
    """The name of a file without its numbers, which is that of other runs, too."""
    return re.sub(r"\d+", "0", name)


def _kind(path: Path) -> str:
    return unpacked(path).suffix.lower()


class LostRuns:
    """Which files that were not read are taken for the logs of lost runs.

    Parameters
    ----------
    logs : sequence of Path
        Those that were read, with the loss.
    loss : str
        Its key; without one files are told by their names alone.
    """

    def __init__(self, logs: Sequence[Path], loss: str) -> None:
        self.loss = loss
        self.names = {alike(path.name) for path in logs}
        self.stems = {path.stem for path in logs}
        self.kinds = {_kind(path) for path in logs} & {*_TABLES}
        known = next((path for path in logs if _kind(path) == ".json"), None)
        self.lists = set(_LIST.findall(_text(known))) if known else set()

    def why(self, path: Path) -> str:
        """Why a file is taken for the log of a run; empty if it is not."""
        pickled = path.suffix.lower() in _PICKLES and path.stem not in self.stems
        if alike(path.name) in self.names or (pickled and alike(path.stem) in map(alike, self.stems)):
            return "is named like the logs that were read"
        if _kind(path) in self.kinds:
            return "is of the kind of the logs that were read"
        held = _held(path, self.loss, self.lists) if self.loss else ""
        return f"holds {held!r}" if held else ""


def _held(path: Path, loss: str, lists: set[str]) -> str:
    """What of a log a file holds: figures of the loss; its key, or a list that logs have, where it is cut."""
    text = _text(path)
    start = text.lstrip("\ufeff \n\r\t")[:1]
    if _kind(path) not in _JSON and start not in ("{", "["):
        return loss if _is_column(path, text, loss) else ""
    try:
        return loss if _figures(json.loads(text), loss) > 1 else ""
    except (ValueError, RecursionError):
        quoted = re.search(rf'"([^"\n]*/)?{re.escape(loss)}"', text)
        return loss if quoted else min(lists & set(_LIST.findall(text)), default="")


def _is_column(path: Path, text: str, loss: str) -> bool:
    """Whether a table has a column of the loss, and more than one line."""
    header, *rows = [line for line in text.split("\n") if line.strip()][:3] or [""]
    cells = [cell.strip(" \"'\r\ufeff") for cell in _SEPARATED.split(header)]
    named = len(cells) > 1 and any(is_key(cell, loss) for cell in cells)
    return named and (_kind(path) in _SHEETS or len(rows) > 1)


def _text(path: Path) -> str:
    """The text of a file, of one of an unknown kind its beginning; none where it is no text."""
    try:
        if _kind(path) in _JSON:
            return log_text(path)
    except InvalidInputError:
        return ""
    content = first_bytes(path, _LOOKED_AT)
    encoding = encoding_of(content)
    return "" if b"\0" in content and encoding == "utf-8-sig" else content.decode(encoding, errors="replace")


def _figures(content: Any, loss: str) -> int:
    """How many values stand under the key, in objects within objects and lists."""
    if isinstance(content, list):
        return sum(_figures(item, loss) for item in content)
    if not isinstance(content, dict):
        return 0
    found = 0
    for key, value in content.items():
        if is_key(key, loss) and not isinstance(value, dict):
            found += len(value) if isinstance(value, list) else not isinstance(value, str)
        else:
            found += _figures(value, loss)
    return found
