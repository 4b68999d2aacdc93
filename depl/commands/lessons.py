"""What ``depl lessons`` does; `depl.arguments.lessons` declares its options."""

import argparse
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from depl.arguments.lessons import KINDS
from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.options import make_folder, require_outputs
from depl.commands.table import table
from depl.lessons.export import files_of, names_of
from depl.lessons.shipped import Lesson, chosen, kit_of, lessons
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted


def run_list(options: argparse.Namespace) -> Answer:
    """Number, title and exercises of every lesson, and whether it has a kit."""
    content: list[dict[str, Any]] = [
        {
            "number": lesson.number,
            "name": lesson.name,
            "title": lesson.title,
            "exercises": list(lesson.exercises),
            "kit": list(kit_of(lesson)),
        }
        for lesson in lessons()
    ]
    rows = [
        (str(entry["number"]), entry["title"], " ".join(entry["exercises"]), "yes" if entry["kit"] else "no")
        for entry in content
    ]
    return Answer(table(("lesson", "title", "exercises", "kit"), rows), json=as_json({"lessons": content}))


def run_export(options: argparse.Namespace) -> Answer:
    """Make everything first, so that an error leaves no part of the files behind."""
    kinds = options.only or list(KINDS)
    taught = chosen(options.numbers)
    names = [name for lesson in taught for name in names_of(lesson, kinds)]
    if not names:
        _refuse_no_kit(taught)
    if os.path.exists(options.to):
        _refuse_existing(options.to, names, options.force)
    texts = {name: text for lesson in taught for name, text in files_of(lesson, kinds)}
    folder = make_folder(options.to)
    paths = [folder / name for name in texts]
    for inner in sorted({path.parent for path in paths}):
        make_folder(str(inner))
    require_outputs(map(str, paths))
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return Answer(
        "\n".join(map(str, paths)),
        json=as_json({"files": list(map(str, paths))}),
        aside=f"{counted(len(paths), 'file')} written",
    )


def _refuse_existing(folder: str, names: Iterable[str], force: bool) -> None:
    """Refuse before any lesson is run; a folder may hold other files."""
    if not os.path.isdir(folder):
        raise InvalidInputError("is no folder; name another one", folder)
    there = [str(path) for name in names if (path := Path(folder) / name).exists()]
    if there and not force:
        more = f", and so do {len(there) - 1} of the other files" if len(there) > 1 else ""
        raise InvalidInputError(
            f"exists already{more}; replace with --force, or name another folder", there[0]
        )


def _refuse_no_kit(taught: Collection[Lesson]) -> None:
    asked = " and ".join(str(lesson.number) for lesson in taught)
    having = ", ".join(str(lesson.number) for lesson in lessons() if kit_of(lesson))
    raise InvalidInputError(f"lesson {asked} has no kit; there is one for {having}", "--only")
