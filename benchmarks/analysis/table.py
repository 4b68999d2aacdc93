"""A table of results: named columns and rows of plain values, as CSV, LaTeX and records."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tables import shown

Cell = str | int | float | bool | None
_ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\u00a0": "~",
        "–": "--",
    }
)


@dataclass(frozen=True)
class Table:
    """Rows of plain values, each as long as ``columns``; None where there is nothing to say."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...] = ()

    @classmethod
    def of(cls, rows: Any) -> "Table":
        """The table of a frame of pandas."""
        told = rows.itertuples(index=False, name=None)
        return cls(tuple(map(str, rows.columns)), tuple(tuple(map(cell, row)) for row in told))

    def column(self, name: str) -> tuple[Cell, ...]:
        """The values below a heading; refused with those there are if there is none of that name."""
        if name not in self.columns:
            raise InvalidInputError(f"no column {name!r}; there are: {', '.join(self.columns)}")
        return tuple(row[self.columns.index(name)] for row in self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Every row by the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """The table as CSV (RFC 4180, but lines end as Unix lines do).

        An empty field stands for None. Text that a spreadsheet would take for a formula has an apostrophe in
        front (`depl.models.foundation.tables`).
        """
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(map(shown, row) for row in (self.columns, *self.rows))
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write the CSV; if that is impossible, an older file is still whole."""
        write_text(path, self.csv())


def cell(value: Any) -> Cell:
    """A plain value of one of NumPy; None where it is not a number."""
    plain: Cell = value.item() if hasattr(value, "item") else value
    return None if plain != plain else plain


def booktabs(table: Table, caption: str = "", comments: Iterable[str] = ()) -> str:
    """A table as LaTeX; the preamble has to load the package ``booktabs``.

    Columns of numbers are set flush right, numbers with four significant digits, and None as a dash. With a
    caption the tabular stands in an environment ``table``; comments are lines above it that LaTeX skips.
    """
    numeric = [
        all(isinstance(cell, int | float | None) for cell in table.column(name)) for name in table.columns
    ]
    lines = [f"% {comment}" for comment in comments]
    lines += [r"\begin{table}", r"\centering", f"\\caption{{{escaped(caption)}}}"] if caption else []
    flush = "".join("r" if number else "l" for number in numeric)
    lines += [f"\\begin{{tabular}}{{{flush}}}", r"\toprule", _line(table.columns), r"\midrule"]
    lines += [_line([short(cell) for cell in row]) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}", *([r"\end{table}"] if caption else [])]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text in which every sign means itself to LaTeX."""
    return text.translate(_ESCAPES)


def short(cell: Cell, nothing: str = "–") -> str:
    """A value for people: four significant digits, and a sign where there is none."""
    if cell is None or isinstance(cell, bool):
        return nothing if cell is None else "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def pivoted(table: Table, across: str, value: str) -> Table:
    """A table in which the values of one column stand side by side, a column for every entry of ``across``.

    Headings stand in the order in which they are first met, and None where there is no row.
    """
    kept = [name for name in table.columns if name not in (across, value)]
    headings = [str(cell) for cell in dict.fromkeys(table.column(across))]
    rows: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for record in table.records():
        key = tuple(record[name] for name in kept)
        rows.setdefault(key, {})[str(record[across])] = record[value]
    spread = tuple((*key, *(cells.get(name) for name in headings)) for key, cells in rows.items())
    return Table((*kept, *headings), spread)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
