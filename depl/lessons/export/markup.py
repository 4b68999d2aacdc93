"""Pieces of a page from reStructuredText: headings, paragraphs, formulas, exercises, tables."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depl.lessons.export.formulas import mathml
from depl.lessons.export.notebook import plain_references
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from docutils import nodes

HEADING, TEXT, EXERCISE = "heading", "text", "exercise"
_SETTINGS = {
    "doctitle_xform": False,
    "file_insertion_enabled": False,
    "halt_level": 2,
    "report_level": 5,
    "output_encoding": "unicode",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "table_style": "plain",
    "initial_header_level": "2",
}


@dataclass(frozen=True)
class Piece:
    """A part of a page.

    Attributes
    ----------
    kind : str
        `HEADING`, `TEXT` or `EXERCISE`.
    html : str
        Of a heading without its tags.
    length : int
        Its characters; of a formula on lines of its own zero.
    level : int
        Of a heading, from 1; 0 of anything else.
    """

    kind: str
    html: str
    length: int
    level: int = 0


def require_docutils() -> None:
    """Refuse to make pages where the library that reads their texts is missing.

    Raises
    ------
    InvalidInputError
        With the name of the extra that installs it.
    """
    try:
        import docutils  # noqa: F401
    except ImportError as error:
        raise InvalidInputError(
            "slides, handouts and kits need docutils, which is not installed: pip install 'depl[teaching]'; "
            "notebooks do without: --only notebook"
        ) from error


def pieces(text: str) -> list[Piece]:
    """The pieces of a text, in order.

    Raises
    ------
    docutils.utils.SystemMessage
        If the text is no sound reStructuredText.
    """
    from docutils import nodes
    from docutils.core import publish_doctree

    document = publish_doctree(plain_references(text), settings_overrides=_SETTINGS)
    for formula in list(document.findall(nodes.math)):
        formula.parent.replace(formula, _raw(mathml(formula.astext(), as_block=False)))
    for block in list(document.findall(nodes.math_block)):
        made = f'<div class="math">{mathml(block.astext(), as_block=True)}</div>'
        block.parent.replace(block, _raw(made))
    return list(_pieces(document, 0))


def _pieces(parent: Any, level: int) -> Iterator[Piece]:
    from docutils import nodes

    for node in parent.children:
        if isinstance(node, nodes.section):
            yield from _pieces(node, level + 1)
        elif isinstance(node, nodes.title):
            yield Piece(HEADING, _inner(_html(nodes.paragraph("", "", *node.children))), 0, level)
        elif not isinstance(node, nodes.comment | nodes.target):
            shown = node.astext()
            exercise = isinstance(node, nodes.paragraph) and shown.startswith("Exercise ")
            length = 0 if isinstance(node, nodes.raw) else len(shown)
            yield Piece(EXERCISE if exercise else TEXT, _html(node), length)


def _raw(html: str) -> "nodes.raw":
    from docutils import nodes

    return nodes.raw("", html, format="html")


def _html(node: "nodes.Node") -> str:
    """One node as HTML."""
    from docutils.core import publish_from_doctree
    from docutils.utils import new_document
    from docutils.writers.html5_polyglot import Writer

    page = new_document("")
    page.append(copy.deepcopy(node))
    writer = Writer()
    publish_from_doctree(page, writer=writer, settings_overrides=_SETTINGS)
    return str(writer.parts["fragment"]).strip()


def _inner(paragraph: str) -> str:
    return paragraph.removeprefix("<p>").removesuffix("</p>")
