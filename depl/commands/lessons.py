"""``depl lessons``: list the lessons, and export them."""

from __future__ import annotations

from typing import Any

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import (
    COUNT,
    Choice,
    Group,
    Options,
    argument,
    make_folder,
    option,
    require_outputs,
)
from depl.commands.printable import as_json, table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted

KINDS = {
    "notebook": "to work in, with open exercises",
    "slides": "one HTML page, turned by arrow keys",
    "handout": "to print, with lines to write answers on",
    "kit": "plan, handout, exercises and marking scheme for a lecture, where a lesson has one",
}

lessons = Group(
    "lessons",
    help="List the lessons, and export them as notebooks, slides, handouts and kits.",
    examples="""\
depl lessons list
depl lessons export 1 --only notebook        # into the folder lessons
""",
)


@lessons.command("""\
depl lessons list
depl lessons list --json
""")
@given.as_json("the list")
def list_(options: Options) -> Answer:
    """List the lessons with their exercises, and which have a kit."""
    from depl.lessons.shipped import kit_of, lessons

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


@lessons.command("""\
depl lessons export 1 2 --to course --only notebook
depl lessons export 5 --to course --only slides --only handout    # needs pip install 'depl[teaching]'
""")
@argument("[N]...", "numbers of lessons; default: all", COUNT, name="numbers")
@option("--to DIR", "the folder for the files", default="lessons")
@option(
    "--only",
    "one kind of file; default: all. " + "; ".join(f"{name}: {text}" for name, text in KINDS.items()),
    Choice(tuple(KINDS)),
    multiple=True,
)
@option("--force", "replace files that are there")
@given.as_json("the names of the files")
def export(options: Options) -> Answer:
    """Write lessons as files to teach with."""
    from depl.lessons.export import files_of
    from depl.lessons.shipped import chosen, kit_of, lessons
    from depl.models.foundation.documents import write_text

    taught, kinds = chosen(options.numbers), options.only or list(KINDS)
    files = {name: made for lesson in taught for name, made in files_of(lesson, kinds).items()}
    if not files:
        asked = " and ".join(str(lesson.number) for lesson in taught)
        having = ", ".join(str(lesson.number) for lesson in lessons() if kit_of(lesson))
        raise InvalidInputError(f"lesson {asked} has no kit; there is one for {having}", "--only")
    given.refuse_existing(options.to, files, options.force)
    texts = {name: made() for name, made in files.items()}
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
