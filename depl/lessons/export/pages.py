"""Slides and handouts of a lesson, and the pages of its kit: HTML files that need nothing else."""

import html
import textwrap
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from depl.benchmarks.report.template import rendered
from depl.lessons.export.markup import EXERCISE, HEADING, Piece, pieces
from depl.lessons.export.texts import Cell, Lesson, without_imports

if TYPE_CHECKING:
    from depl.lessons.export.running import CellOutput

_ROOM = 15.4
"""Lines of text that fit below the title of a slide; slides.css has the sizes."""
_LETTERS = 96
"""Letters of a line of text on a slide."""
_PICTURE, _PAGE, _FORMULA, _EXERCISE = 8.0, 10.7, 2.6, 2.5
"""Lines that a figure, a page of its own, a formula and the frame of an exercise take."""
_WIDEST = 88
"""Letters of a line of output, as of the lessons' code; longer ones are broken."""
_CODE_PIXELS, _LINE_PIXELS, _MOST_CODE = 18.0, 36.0, 1.35
"""Size of letters of code, height of a line of text, and of a line of code in sizes of its letters."""


@dataclass
class Slide:
    """A slide: its title, its parts as HTML, and how many lines of text they take."""

    title: str
    parts: list[str] = field(default_factory=list)
    lines: float = 0.0


def slides_of(lesson: Lesson, shown: Sequence["CellOutput"]) -> str:
    """The slides of a lesson that was run, as one page: arrow keys turn them, and each prints on a sheet."""
    made = list(_slides(lesson, shown))
    return rendered(
        "depl.lessons.export",
        "slides.html",
        heading=f"{lesson.number}. {lesson.title}",
        summary=_marked(piece.html for piece in pieces(lesson.summary)),
        slides=[(Markup(slide.title), _marked(slide.parts)) for slide in made],
    )


def handout_of(lesson: Lesson, shown: Sequence["CellOutput"]) -> str:
    """A lesson that was run, as pages to print, with lines to write on below every exercise."""
    parts = [piece.html for piece in pieces(lesson.summary)]
    for cell, seen in _told(lesson, shown):
        for piece in pieces(cell.text):
            parts.append(_printed(piece))
        if not cell.exercises:
            parts += [part for part, _ in _run_parts(cell, seen)]
    return _printable(f"{lesson.number}. {lesson.title}", parts)


def kit_page(text: str) -> str:
    """A page of a kit from its text, whose first heading is its title."""
    title, *rest = pieces(text)
    return _printable(html.unescape(title.html), [_printed(piece, 1) for piece in rest])


def _printable(heading: str, parts: Sequence[str]) -> str:
    return rendered("depl.lessons.export", "handout.html", heading=heading, parts=_marked(parts))


def _printed(piece: Piece, above: int = 0) -> str:
    if piece.kind == HEADING:
        level = piece.level - above + 1
        return f"<h{level}>{piece.html}</h{level}>"
    if piece.kind == EXERCISE:
        return f'<div class="exercise">{piece.html}<div class="lines"></div></div>'
    return piece.html


def _slides(lesson: Lesson, shown: Sequence["CellOutput"]) -> Iterator[Slide]:
    slide = Slide(html.escape(lesson.title))
    for cell, seen in _told(lesson, shown):
        for piece in pieces(cell.text):
            if piece.kind == HEADING:
                yield from _full(slide)
                slide = Slide(piece.html)
            elif piece.kind == EXERCISE:
                asked = f'<div class="exercise">{piece.html}</div>'
                yield (yield from _placed(slide, asked, 1.3 * _lines(piece) + _EXERCISE))
                slide = Slide(slide.title)
            else:
                slide = yield from _placed(slide, piece.html, _lines(piece))
        for part, lines in () if cell.exercises else _run_parts(cell, seen):
            slide = yield from _placed(slide, part, lines)
            if lines in (_PICTURE, _PAGE):  # it takes what is left of its slide
                slide.lines = _ROOM
    yield from _full(slide)


def _marked(parts: Iterable[str]) -> Markup:
    """Parts that are HTML already, one below the other."""
    return Markup("\n".join(parts))


def _told(lesson: Lesson, shown: Sequence["CellOutput"]) -> Iterator[tuple[Cell, "CellOutput"]]:
    """The cells that say something to an audience; one that only imports says something to a computer."""
    for cell, seen in zip(lesson.cells, shown, strict=True):
        if not cell.code or without_imports(cell.code):
            yield cell, seen


def _placed(slide: Slide, part: str, lines: float) -> Generator[Slide, None, Slide]:
    """Put a part on the slide, or on a new one if it has no room."""
    if slide.parts and slide.lines + lines > _ROOM:
        yield slide
        slide = Slide(slide.title)
    slide.parts.append(part)
    slide.lines += lines
    return slide


def _full(slide: Slide) -> Iterator[Slide]:
    if slide.parts:
        yield slide


def _lines(piece: Piece) -> float:
    """How many lines of text a piece takes on a slide, with the space below it."""
    return _FORMULA if piece.length == 0 else -(-piece.length // _LETTERS) + 0.5


def _run_parts(cell: Cell, seen: "CellOutput") -> Iterator[tuple[str, float]]:
    """The code of a cell and what it shows, each with the lines that it takes on a slide."""
    code = without_imports(cell.code).strip("\n") if cell.code else ""
    for text, kind in ((code, "code"), (seen.text, "output")):
        if text:
            yield _listing(text, kind)
    for picture in seen.pictures:
        image = f'<img src="{picture.address}" alt="{html.escape(picture.alternative)}">'
        yield f"<figure>{image}</figure>", _PICTURE
    if seen.html:
        yield f'<div class="page">{seen.html}</div>', _PAGE


def _listing(text: str, kind: str) -> tuple[str, float]:
    """Code or output in a box; many lines, or long ones, have smaller letters, so that a slide holds them."""
    rows = text.split("\n")
    if kind == "output":
        rows = [
            part for row in rows for part in textwrap.wrap(row, _WIDEST, subsequent_indent="    ") or [""]
        ]
    shown = "\n".join(rows)
    size = min(
        _CODE_PIXELS,
        (_ROOM - 1) * _LINE_PIXELS / (len(rows) * _MOST_CODE),
        1100 / (0.61 * max(map(len, rows))),
    )
    lines = len(rows) * size * _MOST_CODE / _LINE_PIXELS + 0.8
    return f'<pre class="{kind}" style="--size: {size:.1f}px">{html.escape(shown)}</pre>', lines
