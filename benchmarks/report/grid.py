"""Tables as the page shows them: rounded for people, with the whole number behind each for sorting."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.table import Cell, Table

LONGEST = 12
"""Rows from which a table is folded."""
_NAME, _WORD, _SENTENCE = 24, 12, 40
"""Letters up to which the name of a row, and any other text, is not broken into lines, and from which a text
needs some width."""


@dataclass(frozen=True)
class ShownCell:
    """What one cell shows.

    Attributes
    ----------
    text : str
    style : str
        Class of the style sheet; may be empty.
    value : str
        The whole number, which sorts the table; empty if it is none.
    target : str
        Id that the text leads to; may be empty.
    """

    text: str
    style: str = ""
    value: str = ""
    target: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A table on the page.

    Attributes
    ----------
    identity : str
        Its id.
    caption : str
        What it shows; also its name for readers of screens.
    label : str
        What a folded table shows before it is opened.
    folded : bool
    head : tuple of (str, bool)
        Headings, and whether numbers stand below.
    rows : tuple of tuple of ShownCell
    """

    identity: str
    caption: str
    label: str
    folded: bool
    head: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[ShownCell, ...], ...]


def grid(
    content: Table,
    caption: str,
    identity: str,
    links: Mapping[str, str] | None = None,
    fold: bool | None = None,
    label: str = "",
) -> ShownTable:
    """A table for the page.

    Parameters
    ----------
    links : mapping of str to str, optional
        Ids that the texts of the first column lead to.
    fold : bool, optional
        Whether it is folded; by default if it has more than `LONGEST` rows.
    label : str
        What a folded table shows instead of its caption.
    """
    columns = list(zip(*content.rows, strict=True)) or [()] * len(content.columns)
    places = [decimals_of(values) for values in columns]
    head = tuple(
        (name.replace("_", " "), _is_numeric(values))
        for name, values in zip(content.columns, columns, strict=True)
    )
    rows = tuple(
        tuple(
            _cell(value, shown(value, decimals), column == 0, (links or {}).get(str(value), ""))
            for column, (value, decimals) in enumerate(zip(row, places, strict=True))
        )
        for row in content.rows
    )
    folded = len(rows) > LONGEST if fold is None else fold
    return ShownTable(identity, caption, f"{label or caption} ({len(rows)} rows)", folded, head, rows)


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


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numeric(values: Sequence[Cell]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(map(_is_number, known))


def _cell(value: Cell, text: str, heading: bool, target: str) -> ShownCell:
    target = target if heading else ""
    if _is_number(value):
        return ShownCell(text, "number", repr(value), target)
    if len(text) <= (_NAME if heading else _WORD):
        return ShownCell(text, "name", target=target)
    return ShownCell(text, "text" if len(text) > _SENTENCE else "", target=target)
