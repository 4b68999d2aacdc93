"""Lessons as notebooks: their texts in Markdown, their code as it is, nothing run."""

import json
import re

from depl.lessons.shipped import Lesson

_REFERENCE = re.compile(r":(?:ref|doc):`(?:([^`<]*?)\s*<[^`>]*>|([^`<]*))`")
_HEADING = re.compile(r"(?m)^(\S[^\n]*)\n([=\-~])\2{2,}$")
_LEVELS = {"=": "#", "-": "##", "~": "###"}
_BLOCK = re.compile(r"(?m)^\.\. math::\n((?:\n|   [^\n]*(?:\n|\Z))+)")
_INLINE = re.compile(r":math:`([^`]*)`")


def as_notebook(lesson: Lesson) -> str:
    """The lesson as the text of an ``.ipynb`` file, in version 4.5 of the format, without outputs."""
    title = f"# {lesson.number}. {lesson.title}\n\n{markdown(lesson.summary)}"
    sources = [("markdown", title)]
    for cell in lesson.cells:
        sources += [("markdown", markdown(cell.text))] if cell.text else []
        sources += [("code", cell.code)] if cell.code else []
    content = {
        "cells": [_cell(kind, text, f"{lesson.name}-{place}") for place, (kind, text) in enumerate(sources)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def markdown(text: str) -> str:
    """Markdown from the part of reStructuredText that lessons use: headings, formulas, references, code."""
    text = _BLOCK.sub(lambda found: f"$$\n{_flat(found[1])}\n$$\n\n", plain_references(text) + "\n")
    text = _INLINE.sub(lambda found: f"${' '.join(found[1].split())}$", text)
    text = _HEADING.sub(lambda found: f"{_LEVELS[found[2]]} {found[1]}", text)
    return text.replace("``", "`").strip()


def plain_references(text: str) -> str:
    """The text with the words of references to pages of the documentation instead of the references."""
    return _REFERENCE.sub(_words, text)


def _words(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    page = found[2].rpartition("/")[2].replace("_", " ")
    return f"*{page}*" if found[0].startswith(":doc:") else page


def _flat(block: str) -> str:
    return "\n".join(line.strip() for line in block.strip().split("\n"))


def _cell(kind: str, text: str, name: str) -> dict[str, object]:
    lines = text.split("\n")
    source = [line + "\n" for line in lines[:-1]] + lines[-1:]
    more: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, **more, "source": source}
