"""``depl methods``, ``warm-up``, ``completion`` and ``lessons``."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import COUNT, Choice, Group, Options, argument, option
from depl.commands.printable import as_json, fields, table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS

_DEFAULTS = (
    f"Without --method it is {DEFAULT_METHOD}; for an instance without laws, on given scenarios, "
    f"{DEFAULT_ON_SCENARIOS}.\nOptions of one: depl methods NAME."
)


@given.command("""\
depl methods                                 # all, as a table
depl methods depl-paper random               # with their options
depl methods --json
""")
@argument("[NAME]...", "only these, with their options", shell_complete=given.METHODS, name="names")
@given.imports
@given.as_json("the methods")
def methods(options: Options) -> Answer:
    """List the methods: what each proves, needs and takes."""
    from depl.models.solving.methods import find

    asked = [find(name) for name in dict.fromkeys(options.names)]
    text = "\n\n".join(map(_described, asked)) or f"{depl.methods()}\n\n{_DEFAULTS}"
    # Listing the options imports the methods, which the table can do without.
    content = [_content(method) for method in asked or depl.methods()] if options.json else []
    return Answer(text, json=as_json({"methods": content}))


def _content(method: Any) -> dict[str, object]:
    return {
        "name": method.name,
        "default": method.name == DEFAULT_METHOD,
        "summary": method.summary,
        "proves": None if method.proof is None else method.proof.name.lower(),
        "counts": method.meaning.value,
        "memory": method.memory,
        "needs": method.needs or None,
        "options": [
            {"name": option.name, "values": option.allowed or None, "summary": option.summary or None}
            for option in method.options
        ],
    }


def _described(method: Any) -> str:
    from depl.method_table import needed, proved

    name = f"{method.name} (the default)" if method.name == DEFAULT_METHOD else method.name
    pairs = [("method", name), ("does", method.summary)]
    pairs += [("proves", proved(method)), ("needs", needed(method))]
    rows = [(option.name, option.allowed or "not declared", option.summary) for option in method.options]
    if not rows:
        return f"{fields(pairs)}\nIt takes no options."
    return f"{fields(pairs)}\n\n{table(('option', 'values', 'what it does'), rows)}"


_INSTANCES = ("tiny", "paper-alexnet-9")
"""Laws with atoms and laws with densities: between them they need the kernels of the methods."""

_SECONDS = 300.0
"""For one solve: compiling takes up to 20 s of the processor, and more on a slow or busy machine, where a
kernel that would outlast the limit would be left to a later solve; warm, each takes less than two."""


@given.command("""\
depl warm-up
depl warm-up --method exact
""")
@option(
    "--method M",
    "a method to prepare",
    multiple=True,
    default=("exact", "density-greedy", "depl", "scenario-search"),
    shell_complete=given.METHODS,
)
@given.imports
@given.as_json()
def warm_up(options: Options) -> Answer:
    """Compile the kernels of methods now, and keep them, so that no later solve waits for them."""
    from depl.models.foundation.compiling import compiled_at_once
    from depl.models.solving.methods import find

    methods = [find(name).name for name in dict.fromkeys(options.method)]
    with compiled_at_once():
        rows = [(name, *_spent(name)) for name in methods]
    compiled = sum(seconds for _, seconds, _ in rows)
    shown = [(name, f"{part:.1f} s", f"{whole:.1f} s") for name, part, whole in rows]
    note = f"kernels compiled in {compiled:.1f} s and kept" if compiled else "everything was compiled already"
    text = table(("method", "compiling", "in all"), shown, right=("compiling", "in all"))
    content = [dict(zip(("method", "compiling_seconds", "seconds"), row, strict=True)) for row in rows]
    return Answer(f"{text}\n{note}", json=as_json({"methods": content, "compiling_seconds": compiled}))


def _spent(method: str) -> tuple[float, float]:
    """What one method takes: for compiling, and in all [s]."""
    from depl.models.foundation.compiling import compiling_seconds

    started, before = time.perf_counter(), compiling_seconds()
    for name in _INSTANCES:
        with contextlib.suppress(depl.NotCoveredError):  # then it compiles nothing for such an instance
            found = depl.solve(depl.load(name), method, time_limit=_SECONDS)
            if found.termination is depl.Termination.INTERRUPTED:  # what a solve holds is of no use here
                raise KeyboardInterrupt
    return compiling_seconds() - before, time.perf_counter() - started


_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/depl",
    "zsh": "~/.depl.zsh (then 'source ~/.depl.zsh' in ~/.zshrc, after compinit)",
    "fish": "~/.config/fish/completions/depl.fish",
}


@given.command("""\
depl completion bash                         # > ~/.local/share/bash-completion/completions/depl
depl completion zsh
depl completion fish                         # > ~/.config/fish/completions/depl.fish
""")
@argument(
    "SHELL",
    "; ".join(f"{name}, whose place is {place}" for name, place in _PLACES.items()),
    Choice(tuple(_PLACES)),
)
def completion(options: Options) -> Answer:
    """Print a script by which bash, zsh or fish completes commands, options and names."""
    from click.shell_completion import get_completion_class

    from depl.cli import COMPLETING, ROOT

    shell = get_completion_class(options.shell)
    if shell is None:  # click knows the three
        raise TypeError(options.shell)
    return Answer(shell(ROOT, {}, "depl", COMPLETING).source().rstrip("\n"))


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

    names, content, rows = ("number", "name", "title", "exercises"), [], []
    for lesson in lessons():
        kit = list(kit_of(lesson))
        content.append({name: getattr(lesson, name) for name in names} | {"kit": kit})
        shown = str(lesson.number), lesson.title, " ".join(lesson.exercises), "yes" if kit else "no"
        rows.append(shown)
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
    folder = given.make_folder(options.to)
    for inner in sorted({(folder / name).parent for name in texts}):
        given.make_folder(str(inner))
    paths = [str(folder / name) for name in texts]
    given.require_outputs(paths)
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    written = f"{counted(len(paths), 'file')} written"
    return Answer("\n".join(paths), json=as_json({"files": paths}), aside=written)
