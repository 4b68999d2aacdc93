"""What a lesson is exported as: a notebook, and slides, handout and kit as HTML that needs nothing else."""

import ast
import base64
import contextlib
import functools
import html
import io
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import resources
from typing import Any, NamedTuple

from depl.lessons.shipped import Cell, Lesson, kit_of, without_imports
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import installing

_WITH_ANSWERS = ("plan", "marking")
"""Parts of a kit that tell answers and lie in a folder of their own: the others can be handed out."""

_ROWS, _LETTERS, _PICTURE = 15, 90, 8
"""Rows of a slide, letters of a row, and rows of a figure; the script makes smaller what still runs over."""

_SETTINGS = {
    "file_insertion_enabled": False,
    "halt_level": 2,
    "report_level": 5,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "table_style": "plain",
    "initial_header_level": "2",
}
_FUNCTION = re.compile(r"(</\w+>\s*)?(<mi>[a-z]{2,}</mi>)\s*<mo>&ApplyFunction;</mo>(\s*<m[^o])?")
_BAR = '<mo stretchy="false">|</mo>'
_DECIMAL = re.compile(r"<mo>\.</mo>\s*(<mn>)")
_BRACE = re.compile(r"<mo>([{}])</mo>")
_DEFINED = re.compile(r"<mo>∶</mo>\s*<mo>=</mo>")
_REFERENCE = re.compile(r":(?:ref|doc):`(?:([^`<]*?)\s*<[^`>]*>|([^`<]*))`")
_HEADING = re.compile(r"(?m)^(\S[^\n]*)\n([=\-~])\2{2,}$")
_LEVELS = {"=": "#", "-": "##", "~": "###"}
_BLOCK = re.compile(r"(?m)^\.\. math::\n((?:\n|   [^\n]*(?:\n|\Z))+)")
_INLINE = re.compile(r":math:`([^`]*)`")
_EXERCISE = re.compile(r"(?s)<p>(<strong>Exercise [\d.]+</strong>.*?)</p>")


class CellOutput(NamedTuple):
    """What a cell shows: printed text, figures (address, words), the page of its last expression."""

    text: str = ""
    pictures: tuple[tuple[str, str], ...] = ()
    html: str = ""


def files_of(lesson: Lesson, kinds: Collection[str]) -> dict[str, Callable[[], str]]:
    """The files of a lesson by their names, each with what makes its text; its pages run it, once.

    Kinds are ``"notebook"``, ``"slides"``, ``"handout"`` and ``"kit"``; all but the first need docutils.
    """
    try:
        if set(kinds) - {"notebook"}:
            import docutils  # noqa: F401
    except ImportError as error:
        needs = f"slides, handouts and kits need docutils, which is not installed: {installing('teaching')}"
        raise InvalidInputError(f"{needs}; notebooks do without: --only notebook") from error
    shown = functools.cache(lambda: run_cells(lesson))
    files = {
        "notebook": (f"{lesson.name}.ipynb", lambda: as_notebook(lesson)),
        "slides": (f"{lesson.name}-slides.html", lambda: slides_of(lesson, shown())),
        "handout": (f"{lesson.name}-handout.html", lambda: handout_of(lesson, shown())),
    }
    found: dict[str, Callable[[], str]] = dict(files[kind] for kind in files if kind in kinds)
    for part, text in kit_of(lesson).items() if "kit" in kinds else ():
        folder = "teacher/" if part in _WITH_ANSWERS else ""
        found[f"{folder}{lesson.name}-kit-{part}.html"] = functools.partial(kit_page, text)
    return found


def slides_of(lesson: Lesson, shown: Sequence[CellOutput]) -> str:
    """The slides of a lesson that was run, as one page: arrow keys turn them, and each prints on a sheet."""
    slides: list[tuple[str, list[str]]] = []
    title = html.escape(lesson.title)
    for cell, seen in _told(lesson, shown):
        _, *rest = re.split(r"<h[23]>(.*?)</h[23]>", f"<h2>{title}</h2>{page_of(cell.text)[1]}")
        pairs = zip(rest[::2], rest[1::2], strict=True)
        slides += [(name, [text] if text.strip() else []) for name, text in pairs]
        title, rows = slides[-1][0], len(cell.text) / _LETTERS + 2
        for part, more in _run_parts(cell, seen):
            if rows + more > _ROWS:
                slides.append((title, []))
                rows = 0
            slides[-1][1].append(part)
            rows += more
    slides = [slide for slide in slides if slide[1]]
    return _rendered("slides", _heading(lesson), page_of(lesson.summary)[1], slides)


def handout_of(lesson: Lesson, shown: Sequence[CellOutput]) -> str:
    """A lesson that was run, as pages to print, with lines to write on below every exercise."""
    parts = [page_of(lesson.summary)[1]]
    for cell, seen in _told(lesson, shown):
        parts += [page_of(cell.text)[1], *(part for part, _ in _run_parts(cell, seen))]
    return _rendered("handout", _heading(lesson), "\n".join(parts))


def _heading(lesson: Lesson) -> str:
    return f"{lesson.number}. {lesson.title}"


def kit_page(text: str) -> str:
    """A page of a kit from its text, whose first heading is its title."""
    title, body = page_of(text, titled=True)
    return _rendered("handout", html.unescape(title), body)


def page_of(text: str, titled: bool = False) -> tuple[str, str]:
    """Title, if the first heading is one, and body of a text as HTML, with a frame around each exercise."""
    from docutils import core, nodes
    from docutils.writers.html5_polyglot import Writer

    settings = {**_SETTINGS, "doctitle_xform": titled}
    document = core.publish_doctree(plain_references(text), settings_overrides=settings)
    for kind in (nodes.math, nodes.math_block):
        for formula in list(document.findall(kind)):
            as_block = kind is nodes.math_block
            made = mathml(formula.astext(), as_block)
            shown = f'<div class="math">{made}</div>' if as_block else made
            formula.parent.replace(formula, nodes.raw("", shown, format="html"))
    writer: Any = Writer()
    core.publish_from_doctree(document, writer=writer, settings_overrides=settings)
    body = re.sub(r"\s*</?section[^>]*>", "", writer.parts["fragment"])
    framed = _EXERCISE.sub(r'<div class="exercise"><p>\1</p><div class="lines"></div></div>', body)
    return writer.parts["title"], framed.strip()


def mathml(formula: str, as_block: bool) -> str:
    """MathML of LaTeX with what docutils gets wrong: space around ln, in bars, :=, decimal points, braces."""
    from docutils.utils.math.latex2mathml import tex2mathml

    made = _DECIMAL.sub(r"\1.", tex2mathml(formula, as_block=as_block))
    made = _DEFINED.sub("<mo>≔</mo>", made)
    made = _BRACE.sub(r'<mo stretchy="false">\1</mo>', made)  # as brackets; some fonts make them far too long
    made = made.replace(_BAR, _BAR.replace(">", ' lspace="0" rspace="0">', 1))
    return _FUNCTION.sub(_spaced, made)


def _spaced(found: re.Match[str]) -> str:
    thin = '<mspace width="0.167em"></mspace>'
    before, name, after = found.groups()
    left = before + (thin if "</mo>" not in before else "") if before else ""
    return left + name + (thin + after if after else "<mo>&ApplyFunction;</mo>")


def _rendered(kind: str, heading: str, body: str, slides: Sequence[tuple[str, list[str]]] = ()) -> str:
    import jinja2

    template = resources.files("depl.lessons").joinpath("page.html").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return page.from_string(template).render(kind=kind, heading=heading, body=body, slides=slides)


def _told(lesson: Lesson, shown: Sequence[CellOutput]) -> Iterator[tuple[Cell, CellOutput]]:
    """The cells that say something to an audience; one that only imports says something to a computer."""
    for cell, seen in zip(lesson.cells, shown, strict=True):
        if not cell.code or without_imports(cell.code):
            yield cell, seen


def _run_parts(cell: Cell, seen: CellOutput) -> Iterator[tuple[str, float]]:
    """The code of a cell and what it shows, each with its rows; nothing of an exercise, which is open."""
    code = without_imports(cell.code).strip("\n") if cell.code else ""
    for text, kind in () if cell.exercises else ((code, "code"), (seen.text, "output")):
        if text:
            yield f'<pre class="{kind}">{html.escape(text)}</pre>', 0.7 * (text.count("\n") + 2)
    for address, words in () if cell.exercises else seen.pictures:
        yield f'<figure><img src="{address}" alt="{html.escape(words)}"></figure>', _PICTURE
    if seen.html and not cell.exercises:
        yield f'<div class="page">{seen.html}</div>', _PICTURE


def run_cells(lesson: Lesson) -> tuple[CellOutput, ...]:
    """Run all cells of a lesson in order, as a notebook would; what a cell raises is a defect of depl."""
    names: dict[str, object] = {"__name__": "__main__"}
    with _quiet_figures():
        return tuple(
            _run(cell.code, f"<lesson {lesson.number}, cell {place}>", names)
            for place, cell in enumerate(lesson.cells, start=1)
        )


def _run(code: str, place: str, names: dict[str, object]) -> CellOutput:
    import matplotlib.pyplot as plt

    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value: object = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    page = getattr(value, "_repr_html_", str)
    pictures = tuple(_picture(plt.figure(number)) for number in plt.get_fignums())
    plt.close("all")
    return CellOutput(out.getvalue().rstrip("\n"), pictures, page())


def _picture(figure: Any) -> tuple[str, str]:
    """A figure as an address that holds all of it, and what its axes show."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    shown = [f"{axes.get_ylabel()} against {axes.get_xlabel()}" for axes in figure.axes if axes.get_xlabel()]
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    address = "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
    return address, "; ".join(shown or titles) or "drawing"


@contextlib.contextmanager
def _quiet_figures() -> Iterator[None]:
    """Figures are kept and not shown on a screen; those that are open already are not touched."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = mpl.get_backend()
    plt.close("all")
    plt.switch_backend("agg")
    with (
        mpl.rc_context({"svg.hashsalt": "depl"}),
        warnings.catch_warnings(),
    ):  # the same lesson, the same file
        warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
        try:
            yield
        finally:
            plt.close("all")
            plt.switch_backend(before)


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
