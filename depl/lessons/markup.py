"""HTML from the reStructuredText of lessons; formulas become MathML, which needs no script."""

import re
from typing import Any

from depl.lessons.notebook import plain_references
from depl.models.foundation.errors import InvalidInputError

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
_DEFINED = re.compile(r"<mo>∶</mo>\s*<mo>=</mo>")
_EXERCISE = re.compile(r"(?s)<p>(<strong>Exercise [\d.]+</strong>.*?)</p>")


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


def page_of(text: str, titled: bool = False) -> tuple[str, str]:
    """Title and body of a text as HTML, with a frame around each exercise.

    Parameters
    ----------
    text : str
    titled : bool
        Whether its first heading is the title of the whole; otherwise the title is empty.

    Raises
    ------
    docutils.utils.SystemMessage
        If the text is no sound reStructuredText.
    """
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
    """MathML with what docutils gets wrong: space around ln and in bars, :=, decimal points.

    Parameters
    ----------
    formula : str
        In LaTeX.
    as_block : bool
        Whether it stands on lines of its own.
    """
    from docutils.utils.math.latex2mathml import tex2mathml

    made = _DECIMAL.sub(r"\1.", tex2mathml(formula, as_block=as_block))
    made = _DEFINED.sub("<mo>≔</mo>", made)
    made = made.replace(_BAR, _BAR.replace(">", ' lspace="0" rspace="0">', 1))
    return _FUNCTION.sub(_spaced, made)


def _spaced(found: re.Match[str]) -> str:
    thin = '<mspace width="0.167em"></mspace>'
    before, name, after = found.groups()
    left = before + (thin if "</mo>" not in before else "") if before else ""
    return left + name + (thin + after if after else "<mo>&ApplyFunction;</mo>")
