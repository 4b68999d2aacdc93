"""Colours, markers, dashes and hatches of all drawings, and the one style of every method."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import product
from typing import NamedTuple, Protocol, TypeVar

Dash = str | tuple[int, tuple[int, ...]]
"""A line style of matplotlib: a name, or an offset with the lengths of strokes and spaces."""
Choice = TypeVar("Choice")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: distinct under the common kinds of colour blindness. Markers, lines and hatches
differ as well wherever colours do."""
METHOD_COLOURS = (*COLOURS, "#882255", "#888888", "#332288", "#999933")
"""Wine, grey, indigo and olive besides, as a suite may compare eleven methods."""
MODEL_COLOURS = ("#56B4E9", "#E69F00", "#CC79A7", "#000000", "#009E73")
"""The same palette in another order, so that models are not taken for methods."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Dash, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "xxx", "\\\\\\")


def nth(choices: tuple[Choice, ...], index: int) -> Choice:
    """Entry ``index`` of a list of styles, from the start again after its end."""
    return choices[index % len(choices)]


class Style(NamedTuple):
    """What tells one line from the others."""

    colour: str
    marker: str
    dash: Dash


def _style(colour: int, marker: int, dash: int) -> Style:
    return Style(METHOD_COLOURS[colour], MARKERS[marker], DASHES[dash])


def _shades(name: str, sizes: Iterable[int], shades: Iterable[str]) -> dict[str, Style]:
    """Configurations of one method that differ in a number: darker and darker, each with its own marker."""
    looks = enumerate(zip(sizes, shades, strict=True))
    return {
        f"{name}-{size}": Style(shade, nth(MARKERS, place), nth(DASHES, place))
        for place, (size, shade) in looks
    }


METHOD_STYLES = {
    "auto": _style(6, 0, 0),
    "depl": _style(0, 0, 0),
    "exact": _style(2, 1, 0),
    "enumerate": _style(10, 5, 2),
    "milp": _style(9, 3, 0),
    "scenario-search": _style(3, 5, 1),
    "depl-paper": _style(1, 1, 1),
    "expected-greedy": _style(4, 2, 1),
    "expected-cost": _style(3, 4, 2),
    "density-greedy": _style(5, 5, 3),
    "fastest-cluster": _style(6, 3, 3),
    "random": _style(8, 6, 2),
}
"""The style of every built-in method in every figure; methods of one shipped suite differ in their hues."""

CONFIGURATION_STYLES = {
    "annealing": _style(7, 6, 0),
    "data-models-resources": _style(0, 0, 1),
    "data-resources-models": _style(1, 2, 2),
    "models-data-resources": _style(3, 3, 3),
    "models-resources-data": _style(4, 4, 4),
    "resources-data-models": _style(5, 5, 0),
    "resources-models-data": _style(6, 6, 1),
    **_shades("depl-paper", (25, 50, 100, 200, 400), ("#FDBE85", "#FD8D3C", "#D95F0E", "#A63603", "#5F1E00")),
}
"""The style of every configuration of the shipped suites that is not named after its method."""

_FIXED = {**METHOD_STYLES, **CONFIGURATION_STYLES}


def _apart(style: Style, others: Iterable[Style]) -> bool:
    """Whether two of the three differ from every other style."""
    return all(sum(a != b for a, b in zip(style, other, strict=True)) >= 2 for other in others)


_FREE = tuple(
    style
    for style in map(Style, *zip(*product(METHOD_COLOURS, MARKERS, DASHES), strict=True))
    if _apart(style, _FIXED.values())
)
"""Styles for other names: each differs from every fixed one in colour, marker and dash, or in two of them."""


def styles_of(labels: Iterable[str]) -> dict[str, Style]:
    """The style of every label, which is the same in every figure.

    Methods, and the configurations of the shipped suites, have fixed styles. That of another name is derived
    from its letters; only if two such names of one figure come to the same style does one of them move on.

    Parameters
    ----------
    labels : iterable of str
        Methods or configurations that one figure shows, in any order.
    """
    given = list(dict.fromkeys(labels))
    found = {label: _FIXED[label] for label in given if label in _FIXED}
    taken: set[Style] = set()
    for label in sorted(set(given) - set(found)):
        place = int.from_bytes(sha256(label.encode()).digest()[:8], "big")
        steps = (style for step in range(len(_FREE)) if (style := nth(_FREE, place + step)) not in taken)
        style = next(steps, nth(_FREE, place))
        taken.add(style)
        found[label] = style
    return {label: found[label] for label in given}


class Curve(Protocol):
    """What is drawn as one line with an entry of the legend."""

    @property
    def label(self) -> str:
        """The entry of the legend."""

    @property
    def style(self) -> Style | None:
        """How it looks; None for the style that its label has as the name of a method."""


def styles_for(curves: Sequence[Curve]) -> list[Style]:
    """The style of every curve: its own, or the one of its label."""
    named = styles_of(curve.label for curve in curves)
    return [curve.style or named[curve.label] for curve in curves]


def series_style(index: int) -> Style:
    """The style of the line of that number, where lines are no methods."""
    return Style(nth(COLOURS, index), nth(MARKERS, index), nth(DASHES, index))
