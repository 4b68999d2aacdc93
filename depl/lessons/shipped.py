"""The lessons that are shipped: where their texts are, and what cells a text consists of."""

import ast
import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import depl.lessons
from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError

KIT = ("plan", "handout", "exercises", "marking")
"""What a kit consists of, for a lecture, its audience, and whoever marks the exercises."""

_CELL = re.compile(r"(?m)^# %%\n")
_NAME = re.compile(r"(\d)_\w+")
_CHECKED = re.compile(r'(?m)^check\("(\d\.\d)"')


@dataclass(frozen=True)
class Cell:
    """A piece of text, in reStructuredText, and the code below it; either may be empty."""

    text: str
    code: str

    @property
    def exercises(self) -> tuple[str, ...]:
        """The exercises that the code checks, such as ``"1.2"``."""
        return tuple(_CHECKED.findall(self.code))


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number, the name of its file, its title, what it is about, and its cells."""

    number: int
    name: str
    title: str
    summary: str
    cells: tuple[Cell, ...]

    @property
    def exercises(self) -> tuple[str, ...]:
        """All its exercises, in order."""
        return tuple(itertools.chain.from_iterable(cell.exercises for cell in self.cells))


def folder() -> Path:
    """Where the texts are: within an installed package, or in the docs of a checkout."""
    here = Path(depl.lessons.__file__).resolve().parent
    installed = here / "texts"
    return installed if installed.is_dir() else here.parents[1] / "docs" / "lessons"


def lessons() -> tuple[Lesson, ...]:
    """All lessons, by number."""
    paths = sorted(path for path in folder().glob("*.py") if _NAME.fullmatch(path.stem))
    return tuple(parsed(path.stem, read_text(path)) for path in paths)


def chosen(numbers: Collection[int]) -> tuple[Lesson, ...]:
    """The lessons of these numbers, each once and in order; all where no number is given."""
    found = {lesson.number: lesson for lesson in lessons()}
    for number in set(numbers) - set(found):
        raise InvalidInputError(f"there is no lesson {number}; they are {min(found)} to {max(found)}", "N")
    return tuple(found[number] for number in sorted(set(numbers) or found))


def kit_of(lesson: Lesson) -> dict[str, str]:
    """The texts of the kit of a lesson by what they are, in the order of their use; empty without a kit."""
    paths = {part: folder() / "kit" / f"{lesson.number}_{part}.rst" for part in KIT}
    return {part: read_text(path) for part, path in paths.items() if path.is_file()}


def parsed(name: str, script: str) -> Lesson:
    """A lesson from its script: a docstring with title and summary, then cells that ``# %%`` begins."""
    opening = ast.get_docstring(ast.parse(script)) or ""
    title, _, summary = opening.split("\n", 2)
    cells = []
    for part in _CELL.split(script)[1:]:
        lines = part.split("\n")
        text = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
        code = "\n".join(lines[len(text) :]).strip("\n")
        cells.append(Cell("\n".join(line[2:] for line in text), code))
    number = int(name.partition("_")[0])
    return Lesson(number, name, title.strip().partition(". ")[2], summary.strip(), tuple(cells))


def without_imports(code: str) -> str:
    """Code without the imports at its beginning, which say nothing to an audience."""
    statements = ast.parse(code).body
    kept = list(itertools.dropwhile(lambda node: isinstance(node, ast.Import | ast.ImportFrom), statements))
    return "\n".join(code.split("\n")[kept[0].lineno - 1 :]) if kept else ""
