"""Elements of the page: every text is escaped by the standard library's serialiser, tables can be sorted.

Drawings of matplotlib become part of the page: without their metadata, which names other places, and with
ids of their own, so that two drawings do not mix up their parts.
"""

import math
import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from depl.benchmarks.analysis.table import Cell, Table
from depl.models.foundation.errors import InvalidInputError

LONGEST = 12
"""Rows from which a table is folded."""
_NAME, _WORD, _SENTENCE = 24, 12, 40
"""Letters up to which the name of a row, and any other text, is not broken into lines, and from which a text
needs some width."""
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_USE = re.compile(r"url\(#([^)]+)\)")
_DROPPED = ("metadata", "style", "title", "desc")


def element(tag: str, text: str = "", attributes: Mapping[str, str] | None = None) -> Element:
    """An element with text and attributes."""
    made = Element(tag, dict(attributes or {}))
    made.text = text
    return made


def within(tag: str, children: Sequence[Element], attributes: Mapping[str, str] | None = None) -> Element:
    """An element around others."""
    made = Element(tag, dict(attributes or {}))
    made.extend(children)
    return made


def link(target: str, text: str) -> Element:
    """A link inside the page, to the element of that id."""
    return element("a", text, {"href": f"#{target}"})


def sentence(*parts: str | Element) -> Element:
    """A paragraph of texts and elements in turn."""
    paragraph = Element("p")
    last: Element | None = None
    for part in parts:
        if isinstance(part, Element):
            paragraph.append(part)
            last = part
        elif last is None:
            paragraph.text = (paragraph.text or "") + part
        else:
            last.tail = (last.tail or "") + part
    return paragraph


def table(
    content: Table,
    caption: str,
    identity: str,
    links: Mapping[str, str] | None = None,
    fold: bool | None = None,
    label: str = "",
) -> Element:
    """A table that can be sorted by each column; a long one is folded.

    Parameters
    ----------
    caption : str
        What it shows; also its name for readers of screens.
    identity : str
        Its id.
    links : mapping of str to str, optional
        Ids that the texts of the first column lead to.
    fold : bool, optional
        Whether it is folded; by default if it has more than `LONGEST` rows.
    label : str
        What a folded table shows instead of its caption.
    """
    made = Element("table", {"id": identity, "class": "sortable"})
    folded = len(content.rows) > LONGEST if fold is None else fold
    SubElement(made, "caption").text = caption
    head = SubElement(SubElement(made, "thead"), "tr")
    columns = list(zip(*content.rows, strict=True)) or [()] * len(content.columns)
    for name, values in zip(content.columns, columns, strict=True):
        attributes = {"scope": "col"} | ({"class": "number"} if _is_numeric(values) else {})
        SubElement(head, "th", attributes).text = name.replace("_", " ")
    body = SubElement(made, "tbody")
    places = [decimals_of(values) for values in columns]
    for row in content.rows:
        line = SubElement(body, "tr")
        for column, (value, decimals) in enumerate(zip(row, places, strict=True)):
            target = (links or {}).get(str(value)) if column == 0 else None
            line.append(_cell(value, shown(value, decimals), column == 0, target))
    region = {"class": "scroll", "role": "region", "tabindex": "0", "aria-label": caption}
    scrolled = within("div", [made], region)
    if not folded:  # a caption that is seen must not be as wide as a table that is scrolled
        return within("div", [element("p", caption, {"class": "caption", "aria-hidden": "true"}), scrolled])
    summary = element("summary", f"{label or caption} ({len(content.rows)} rows)")
    return within("details", [summary, scrolled])


def drawing(svg: str, identity: str, caption: str, short: str) -> Element:
    """A figure with an SVG drawing in it.

    Parameters
    ----------
    svg : str
        As matplotlib writes it.
    identity : str
        Id of the figure.
    caption : str
        Below the drawing, and instead of it for those who cannot see it.
    short : str
        Begins the ids of all parts of the drawing; short, for every letter in it is such a part.

    Raises
    ------
    InvalidInputError
        If the drawing is not SVG.
    """
    try:
        root = fromstring(svg)
    except ParseError as error:
        raise InvalidInputError(f"the drawing {identity!r} is no SVG ({error})") from error
    _adopt(root, short)
    width, height = root.attrib.pop("width", ""), root.attrib.pop("height", "")
    root.set("role", "img")
    root.set("aria-label", caption)
    root.set("class", "wide" if _points(width) > 1.8 * _points(height) else "narrow")
    return within("figure", [root, element("figcaption", caption)], {"id": identity})


def page(title: str, style: str, script: str, body: Sequence[Element]) -> str:
    """The whole document.

    Parameters
    ----------
    style, script : str
        Put into the page as they are.
    """
    head = Element("head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    SubElement(head, "link", {"rel": "icon", "href": "data:,"})
    SubElement(head, "title").text = title
    SubElement(head, "style").text = style
    whole = within("body", body)
    SubElement(whole, "script").text = script
    document = within("html", [head, whole], {"lang": "en-GB"})
    return "<!DOCTYPE html>\n" + tostring(document, encoding="unicode", method="html") + "\n"


def shown(value: Cell, decimals: int | None = None) -> str:
    """A value for people: so many decimals or four significant digits, a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if decimals is None else f"{value:.{decimals}f}"
    return str(value)


def decimals_of(values: Sequence[Cell]) -> int | None:
    """How many decimals show a column to about four digits; None if its numbers differ too much in size."""
    sizes = [abs(value) for value in values if isinstance(value, float) and value]
    if not sizes or max(sizes) >= 1e6 or min(sizes) < 0.01:
        return None
    return min(3, max(0, 3 - math.floor(math.log10(max(sizes)))))


def _is_numeric(values: Sequence[Cell]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in known
    )


def _cell(value: Cell, text: str, heading: bool, target: str | None) -> Element:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    attributes = {"class": "number", "data-value": repr(value)} if number else {}
    if not number and len(text) <= (_NAME if heading else _WORD):
        attributes = {"class": "name"}
    elif not number and len(text) > _SENTENCE:
        attributes = {"class": "text"}
    made = Element("th", {"scope": "row", **attributes}) if heading else Element("td", attributes)
    if target is None:
        made.text = text
    else:
        made.append(link(target, text))
    return made


def _adopt(root: Element, short: str) -> None:
    """Strip name spaces, metadata and ids that nothing uses, and make the others the drawing's own."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.removeprefix(_SVG) in _DROPPED:
                parent.remove(child)
    parts = list(root.iter())
    for part in parts:
        part.tag = part.tag.removeprefix(_SVG)
        part.text, part.tail = (part.text or "").strip(), None
        if _LINK in part.attrib:  # as a use like the others, until all are renamed
            part.set("href", f"url({part.attrib.pop(_LINK)})")
    used = {goal for part in parts for value in part.attrib.values() for goal in _USE.findall(value)}
    names = {goal: f"{short}-{place:x}" for place, goal in enumerate(sorted(used))}
    for part in parts:
        own = part.attrib.pop("id", None)
        for key, value in part.attrib.items():
            part.set(key, _USE.sub(lambda found: f"url(#{names[found[1]]})", value))
        if "href" in part.attrib:
            part.set("href", part.attrib["href"].removeprefix("url(").removesuffix(")"))
        if own in names:
            part.set("id", names[own])


def _points(length: str) -> float:
    try:
        return float(length.removesuffix("pt"))
    except ValueError:
        return 1.0
