"""Colours, markers, dashes and hatches of all drawings, and the one style of every method."""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple, TypeVar

Dash = str | tuple[int, tuple[int, ...]]
"""A line style of matplotlib: a name, or an offset with the lengths of strokes and spaces."""
Choice = TypeVar("Choice")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: distinct under the common kinds of colour blindness. Markers, lines and hatches
differ as well wherever colours do."""
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
    return Style(COLOURS[colour], MARKERS[marker], DASHES[dash])


METHOD_STYLES = {
    "auto": _style(6, 0, 0),
    "depl": _style(0, 0, 0),
    "exact": _style(2, 1, 0),
    "enumerate": _style(2, 2, 2),
    "milp": _style(3, 3, 0),
    "milp-resource": _style(3, 4, 1),
    "scenario-search": _style(3, 5, 2),
    "graph": _style(5, 3, 1),
    "depl-paper": _style(1, 1, 1),
    "expected-greedy": _style(4, 2, 1),
    "expected-cost": _style(4, 4, 2),
    "one-pass": _style(1, 4, 3),
    "density-greedy": _style(5, 5, 3),
    "annealing": _style(1, 6, 0),
    "fastest-cluster": _style(6, 4, 3),
    "random": _style(6, 6, 2),
}
"""The style of every built-in method in every figure: exact ones green and violet, loops blue and red."""


def styles_of(labels: Iterable[str]) -> dict[str, Style]:
    """The style of every label: that of the method of this name, and for others the first ones left over.

    Other labels are methods of a user, and configurations of a method; these differ from each other and from
    every built-in method as long as there are combinations of a colour, a marker and a dash.
    """
    taken = set(METHOD_STYLES.values())
    free = (
        style
        for dash, shift in product(range(len(DASHES)), range(len(MARKERS)))
        for colour in range(len(COLOURS))
        if (style := _style(colour, (colour + shift) % len(MARKERS), dash)) not in taken
    )
    found: dict[str, Style] = {}
    for label in labels:
        if label not in found:
            found[label] = METHOD_STYLES[label] if label in METHOD_STYLES else next(free)
    return found
