"""A table of results: named columns and rows of plain values, as CSV, as records and as a pandas frame."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depl.models.foundation.csv_cells import shown
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.frames import frame_of

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of plain values; None where there is nothing to say.

    Attributes
    ----------
    columns : tuple of str
        Different names.
    rows : tuple of tuple
        Each as long as ``columns``.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise InvalidInputError(f"columns of a table must differ: {', '.join(self.columns)}")
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidInputError(
                    f"a row of a table with {len(self.columns)} columns has {len(row)} values",
                    f"rows[{index}]",
                )

    def column(self, name: str) -> tuple[Cell, ...]:
        """The values below a heading.

        Raises
        ------
        InvalidInputError
            If there is no such column; the message lists those there are.
        """
        if name not in self.columns:
            raise InvalidInputError(f"no column {name!r}; there are: {', '.join(self.columns)}")
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Every row by the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """The table as CSV (RFC 4180, but lines end as Unix lines do).

        An empty field stands for None. Text that a spreadsheet would take for a formula has an apostrophe in
        front (`depl.models.foundation.csv_cells`).
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(shown, self.columns))
        writer.writerows(map(shown, row) for row in self.rows)
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write the CSV.

        Raises
        ------
        InvalidInputError
            If the file cannot be written; an older one is then still whole.
        """
        write_text(path, self.csv())

    def frame(self) -> Any:
        """The table as a ``pandas.DataFrame``, None as a missing value.

        Raises
        ------
        InvalidInputError
            If pandas is not installed.
        """
        return frame_of(self.columns, self.rows, ".csv() does without")


def table_of(records: Sequence[Mapping[str, Cell]], columns: Iterable[str] = ()) -> Table:
    """A table of records that have the same keys in the same order.

    Parameters
    ----------
    records : sequence of mapping
    columns : iterable of str
        The headings of a table without rows.
    """
    names = tuple(records[0]) if records else tuple(columns)
    for index, record in enumerate(records):
        if tuple(record) != names:
            raise InvalidInputError(f"{', '.join(record)} instead of {', '.join(names)}", f"records[{index}]")
    return Table(names, tuple(tuple(record.values()) for record in records))
