"""Drawings of matplotlib as parts of a page.

They lose their metadata, which names other places, and get ids of their own, so that two drawings do not mix
up their parts.
"""

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError, fromstring, tostring

from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from markupsafe import Markup

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_USE = re.compile(r"url\(#([^)]+)\)")
_DROPPED = ("metadata", "style", "title", "desc")
_WIDE, _PANORAMA = 1.8, 800
"""Width over height from which a drawing is wide, and points of width from which it is so wide that on paper
nothing stands beside it."""


def inline_svg(svg: str, name: str, label: str, short: str) -> "Markup":
    """A drawing as an element of the page.

    Parameters
    ----------
    svg : str
        As matplotlib writes it.
    name : str
        For the message.
    label : str
        What it shows, instead of it for those who cannot see it.
    short : str
        Begins the ids of all parts of the drawing; short, for every letter in it is such a part.

    Raises
    ------
    InvalidInputError
        If the drawing is not SVG.
    """
    from markupsafe import Markup

    try:
        root = fromstring(svg)
    except ParseError as error:
        raise InvalidInputError(f"the drawing {name!r} is no SVG ({error})") from error
    _adopt(root, short)
    width, height = root.attrib.pop("width", ""), root.attrib.pop("height", "")
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("class", _shape(_points(width), _points(height)))
    return Markup(tostring(root, encoding="unicode", method="html"))  # the serialiser escapes


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


def _shape(width: float, height: float) -> str:
    """Class of the style sheet."""
    if width <= _WIDE * height:
        return "narrow"
    return "wide" if width < _PANORAMA else "panorama"


def _points(length: str) -> float:
    try:
        return float(length.removesuffix("pt"))
    except ValueError:
        return 1.0
