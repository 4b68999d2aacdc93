"""What is in a folder of logs: files in their order, and what of it is not opened and why.

Links are followed to where nothing is read otherwise; folders whose names begin with a dot are not entered.
"""

import os
from itertools import groupby
from pathlib import Path

from depl.models.foundation.documents import reason_of

TRASH = ".trash"
"""Where mlflow keeps runs that were deleted."""


def files_within(folder: Path) -> tuple[list[Path], dict[Path, str], list[Path]]:
    """The files of a folder and of those within, in natural order; what is not opened, and why; folders."""
    walk = _Walk()
    walk.enter(folder)
    while walk.links:
        walk.follow(walk.links.pop(0))
    return sorted(walk.files.values(), key=natural), walk.unread, walk.folders


def natural(path: Path) -> list[tuple[int, str]]:
    """The order of names in which version_2 stands before version_10."""
    parts = ["".join(part) for _, part in groupby(path.as_posix(), key=str.isdecimal)]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class _Walk:
    """Files by where they really are, so that none is read twice; links wait until all else is known.

    Folders that were entered, and those around them, are not entered again by a link.
    """

    def __init__(self) -> None:
        self.files: dict[Path, Path] = {}
        self.around: set[Path] = set()
        self.links: list[Path] = []
        self.unread: dict[Path, str] = {}
        self.folders: list[Path] = []

    def enter(self, folder: Path) -> None:
        """Look at all that a folder holds."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            try:
                self.around |= {here.resolve(), *here.resolve().parents}
                with os.scandir(here) as entries:
                    for entry in entries:
                        path = here / entry.name
                        if entry.is_symlink():
                            self.links.append(path)
                        elif entry.is_dir():
                            waiting += self._within(path)
                        else:
                            self._add(path)
            except OSError as error:
                self.unread[here] = f"cannot be read ({reason_of(error)})"

    def follow(self, link: Path) -> None:
        """Read what a link leads to, unless that is read already."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            self.unread[link] = "a link that leads nowhere"
            return
        if target in self.files or target in self.around:
            self.unread[link] = "a link to what is read where it stands"
        elif target.is_dir():
            for folder in self._within(link):
                self.enter(folder)
        else:
            self._add(link)

    def _within(self, folder: Path) -> list[Path]:
        if not folder.name.startswith("."):
            self.folders.append(folder)
            return [folder]
        self.unread[folder] = "runs that were deleted" if folder.name == TRASH else "a hidden folder"
        return []

    def _add(self, path: Path) -> None:
        if path.is_file():
            self.files[path.resolve()] = path
        else:
            self.unread[path] = "no regular file"
