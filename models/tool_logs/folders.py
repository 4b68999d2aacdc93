"""What is in a folder of logs: files in their order, what of it is not opened, and which runs were lost.

Links are followed to where nothing is read otherwise; folders whose names begin with a dot are not entered.
A run that went wrong is less readable than one that went well. So a file is taken for the log of a lost run
if it is named like logs that were read (but for digits), or holds figures under the key of the loss; single
figures, settings that name the key, and plain text are something else.
"""

import json
import os
import re
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from depl.models.foundation.documents import reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.sheets import encoding_of, first_bytes, log_text, unpacked

_LOOKED_AT = 2**20
"""Bytes of a file of an unknown kind that are looked at."""
_JSON = (".json", ".jsonl", ".ndjson")
_SHEETS = (".csv", ".tsv")
PICKLES = (".pkl", ".pickle", ".pt")
_LIST = re.compile(r'"([^"\n]+)"\s*:\s*[\[{]')


def natural(path: Path) -> list[tuple[int, str]]:
    """The order of names in which version_2 stands before version_10."""
    parts = ["".join(part) for _, part in groupby(path.as_posix(), key=str.isdecimal)]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class Folder(NamedTuple):
    """Files in their order, the folders within, and what is not opened, with why."""

    files: list[Path]
    folders: list[Path]
    unread: dict[Path, str]


def inside(folder: Path) -> Folder:
    """What a folder and those within hold, no file twice; links wait until all else is known.

    Folders that were entered, and those around them, are not entered again by a link.
    """
    files, around = dict[Path, Path](), set[Path]()
    found = Folder([], [], {})
    waiting = deque([(folder, False)])
    while waiting:
        path, linked = waiting.popleft()
        try:
            real = Path(os.path.realpath(path, strict=True))
            if linked and (real in files or real in around):
                found.unread[path] = "a link to what is read where it stands"
            elif path.is_file():
                files[real] = path
            elif not path.is_dir():
                found.unread[path] = "no regular file"
            elif path.name.startswith(".") and path != folder:  # mlflow keeps runs that were deleted there
                found.unread[path] = "runs that were deleted" if path.name == ".trash" else "a hidden folder"
            else:
                found.folders.append(path)
                around |= {real, *real.parents}
                with os.scandir(path) as entries:
                    for entry in entries:
                        put = waiting.append if entry.is_symlink() else waiting.appendleft
                        put((path / entry.name, entry.is_symlink()))
        except OSError as error:
            lost = linked and not path.exists()
            found.unread[path] = (
                "a link that leads nowhere" if lost else f"cannot be read ({reason_of(error)})"
            )
    return Folder(sorted(files.values(), key=natural), found.folders[1:], found.unread)


def alike(name: str) -> str:
    """The name of a file without its numbers, which is that of other runs, too."""
    return re.sub(r"\d+", "0", name)


def suffix_of(path: Path) -> str:
    """The suffix of a file without its packing."""
    return unpacked(path).suffix.lower()


class LostRuns:
    """Which files that were not read are taken for the logs of lost runs, by those that were, with the loss.

    Without the key of a loss files are told by their names alone.
    """

    def __init__(self, logs: Sequence[Path], loss: str) -> None:
        self.loss = loss
        self.names = {alike(path.name) for path in logs}
        self.stems = {path.stem for path in logs}
        self.kinds = {suffix_of(path) for path in logs} & {*_SHEETS, ".jsonl", ".ndjson"}
        known = next((path for path in logs if suffix_of(path) == ".json"), None)
        self.lists = set(_LIST.findall(_text(known))) if known else set()

    def why(self, path: Path) -> str:
        """Why a file is taken for the log of a run; empty if it is not."""
        pickled = path.suffix.lower() in PICKLES[:2] and path.stem not in self.stems
        if alike(path.name) in self.names or (pickled and alike(path.stem) in map(alike, self.stems)):
            return "is named like the logs that were read"
        if suffix_of(path) in self.kinds:
            return "is of the kind of the logs that were read"
        held = self._held(path) if self.loss else ""
        return f"holds {held!r}" if held else ""

    def _held(self, path: Path) -> str:
        """What of a log a file holds: figures of the loss; if it is cut its key, or a list that logs have."""
        text, loss = _text(path), self.loss
        if suffix_of(path) not in _JSON and text.lstrip("\ufeff \n\r\t")[:1] not in ("{", "["):
            return loss if self._is_column(path, text) else ""
        try:
            return loss if self._figures(json.loads(text)) > 1 else ""
        except (ValueError, RecursionError):
            quoted = re.search(rf'"([^"\n]*/)?{re.escape(loss)}"', text)
            return loss if quoted else min(self.lists & set(_LIST.findall(text)), default="")

    def _is_key(self, key: str) -> bool:
        return key == self.loss or key.endswith(f"/{self.loss}")

    def _is_column(self, path: Path, text: str) -> bool:
        """Whether a table has a column of the loss, and more than one line."""
        header, *rows = [line for line in text.split("\n") if line.strip()][:3] or [""]
        cells = [cell.strip(" \"'\r\ufeff") for cell in re.split(r"[,;\t]", header)]
        named = len(cells) > 1 and any(map(self._is_key, cells))
        return named and (suffix_of(path) in _SHEETS or len(rows) > 1)

    def _figures(self, content: Any) -> int:
        """How many values stand under the key, in objects within objects and lists."""
        if isinstance(content, list):
            return sum(map(self._figures, content))
        found = 0
        for key, value in content.items() if isinstance(content, dict) else ():
            if self._is_key(key) and not isinstance(value, dict):
                found += len(value) if isinstance(value, list) else not isinstance(value, str)
            else:
                found += self._figures(value)
        return found


def _text(path: Path) -> str:
    """The text of a file, of one of an unknown kind its beginning; none where it is no text."""
    try:
        if suffix_of(path) in _JSON:
            return log_text(path)
    except InvalidInputError:
        return ""
    content = first_bytes(path, _LOOKED_AT)
    encoding = encoding_of(content)
    binary = b"\0" in content and encoding != "utf-16"
    return "" if binary else content.decode(encoding, errors="replace")
