"""The files that a lesson is exported as: their names, and their texts."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from depl.lessons.export.markup import require_docutils
from depl.lessons.export.notebook import as_notebook
from depl.lessons.export.pages import handout_of, kit_page, slides_of
from depl.lessons.export.texts import Lesson, kit_of

if TYPE_CHECKING:
    from depl.lessons.export.running import CellOutput

TEACHER = "teacher/"
"""Folder of what is not for the audience."""

_WITH_ANSWERS = ("plan", "marking")
"""Parts of a kit that tell answers."""

_PAGES = {"slides": slides_of, "handout": handout_of}


def names_of(lesson: Lesson, kinds: Collection[str]) -> list[str]:
    """The names of the files that `files_of` makes."""
    names = [f"{lesson.name}.ipynb"] if "notebook" in kinds else []
    names += [f"{lesson.name}-{kind}.html" for kind in _PAGES if kind in kinds]
    return names + [_kit_name(lesson, part) for part in (kit_of(lesson) if "kit" in kinds else ())]


def files_of(lesson: Lesson, kinds: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files of a lesson, each with its name and its text; for its pages the lesson is run.

    Parameters
    ----------
    lesson : Lesson
    kinds : collection of str
        Of ``"notebook"``, ``"slides"``, ``"handout"`` and ``"kit"``.

    Raises
    ------
    InvalidInputError
        If pages are asked for and docutils is not installed.
    """
    if set(kinds) - {"notebook"}:
        require_docutils()
    if "notebook" in kinds:
        yield f"{lesson.name}.ipynb", as_notebook(lesson)
    asked = [kind for kind in _PAGES if kind in kinds]
    shown = _run(lesson) if asked else ()
    for kind in asked:
        yield f"{lesson.name}-{kind}.html", _PAGES[kind](lesson, shown)
    if "kit" in kinds:
        for part, text in kit_of(lesson).items():
            yield _kit_name(lesson, part), kit_page(text)


def _run(lesson: Lesson) -> tuple["CellOutput", ...]:
    from depl.lessons.export.running import run_cells  # it brings the library that draws

    return run_cells(lesson)


def _kit_name(lesson: Lesson, part: str) -> str:
    """What tells answers lies in a folder of its own, so that the other files can be handed out."""
    return f"{TEACHER if part in _WITH_ANSWERS else ''}{lesson.name}-kit-{part}.html"
