"""What is in a folder of logs: files in their order, and what of it is not opened and why.

Links are followed to where nothing is read otherwise; folders whose names begin with a dot are not entered.
"""

import os
from itertools import groupby
from pathlib import Path

from depl.models.foundation.documents import reason_of


def natural(path: Path) -> list[tuple[int, str]]:
    """The order of names in which version_2 stands before version_10."""
    parts = ["".join(part) for _, part in groupby(path.as_posix(), key=str.isdecimal)]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class Folder:
    """Files by where they really are, so that none is read twice; links wait until all else is known.

    Folders that were entered, and those around them, are not entered again by a link.
    """

    def __init__(self, folder: Path) -> None:
        self.unread: dict[Path, str] = {}
        self.folders: list[Path] = []
        self._files: dict[Path, Path] = {}
        self._around: set[Path] = set()
        self._links: list[Path] = []
        self._enter([folder])
        while self._links:
            self._follow(self._links.pop(0))

    @property
    def files(self) -> list[Path]:
        """Of the folder and of those within, in natural order."""
        return sorted(self._files.values(), key=natural)

    def _enter(self, waiting: list[Path]) -> None:
        while waiting:
            here = waiting.pop()
            try:
                self._around |= {here.resolve(), *here.resolve().parents}
                with os.scandir(here) as entries:
                    for entry in entries:
                        if entry.is_symlink():
                            self._links.append(here / entry.name)
                        else:
                            waiting += self._within(here / entry.name, entry.is_dir())
            except OSError as error:
                self.unread[here] = f"cannot be read ({reason_of(error)})"

    def _follow(self, link: Path) -> None:
        """Read what a link leads to, unless that is read already."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            self.unread[link] = "a link that leads nowhere"
            return
        if target in self._files or target in self._around:
            self.unread[link] = "a link to what is read where it stands"
        else:
            self._enter(self._within(link, target.is_dir()))

    def _within(self, path: Path, is_folder: bool) -> list[Path]:
        """What is to be entered: a folder that is not hidden. Files are kept."""
        if is_folder and not path.name.startswith("."):
            self.folders.append(path)
            return [path]
        if is_folder:  # mlflow keeps runs that were deleted in .trash
            self.unread[path] = "runs that were deleted" if path.name == ".trash" else "a hidden folder"
        elif path.is_file():
            self._files[path.resolve()] = path
        else:
            self.unread[path] = "no regular file"
        return []
