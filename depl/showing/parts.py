"""The parts that a look is made of, and both of their forms: plain text, and HTML for a notebook."""

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from depl.commands.printable import printable
from depl.commands.table import fields, table

_RIGHT = "text-align:right"
_LEFT = "text-align:left"


class Pairs(NamedTuple):
    """Names with their values."""

    pairs: Sequence[tuple[str, str]]

    def text(self) -> str:
        """One line per pair."""
        return fields(self.pairs) if self.pairs else ""

    def html(self) -> str:
        """A table of two columns."""
        rows = (_row("", (name, value), (_LEFT, _LEFT)) for name, value in self.pairs)
        return _table(rows)


class Listing(NamedTuple):
    """Rows under a header; the columns named in ``right`` are set flush right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()

    def text(self) -> str:
        """A table that is as wide as its content."""
        return table(self.header, self.rows, right=self.right)

    def html(self) -> str:
        """A table with a header."""
        sides = [_RIGHT if name in self.right else _LEFT for name in self.header]
        return _table([_row("h", self.header, sides), *(_row("", row, sides) for row in self.rows)])


class Section(NamedTuple):
    """A title, which may be empty, over plain text, pairs or a grid; with neither it is left out."""

    title: str
    body: str | Pairs | Listing = ""

    def text(self) -> str:
        """Title and body below each other."""
        body = self.body if isinstance(self.body, str) else self.body.text()
        return "\n".join(filter(None, [self.title, body]))

    def html(self) -> str:
        """The same as HTML."""
        title = f"<p><b>{escaped(self.title)}</b></p>" if self.title else ""
        if isinstance(self.body, str):
            lines = escaped(self.body).replace("\n", "<br/>")
            return title + (f"<p>{lines}</p>" if lines else "")
        return title + self.body.html()


def text_of(sections: Iterable[Section]) -> str:
    """All sections with an empty line between them."""
    return "\n\n".join(filter(None, (section.text() for section in sections)))


def page_of(sections: Iterable[Section]) -> str:
    """All sections as one piece of HTML."""
    return f"<div>{''.join(section.html() for section in sections)}</div>"


def escaped(text: str) -> str:
    """``text`` as it may stand in HTML and SVG, whatever a name in it holds."""
    return html.escape(printable(text))


def shortened_name(name: str, longest: int = 40) -> str:
    """A name that fits on a line, quoted."""
    return repr(name if len(name) <= longest else name[: longest - 3] + "...")


def _table(rows: Iterable[str]) -> str:
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _row(kind: str, cells: Iterable[str], sides: Iterable[str]) -> str:
    tag = f"t{kind or 'd'}"
    drawn = (
        f'<{tag} style="{side}">{escaped(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"
