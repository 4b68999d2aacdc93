"""Tables for others: frames of pandas, and text in CSV files that a spreadsheet shows and does not carry out.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return for a
formula, which may run programs or send what stands beside it elsewhere; and names come from files of
strangers. Such a text is written with an apostrophe in front, the sign for text in spreadsheets; numbers stay
as they are. What is read is freed of it, so that every text comes back as it was.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import installing

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def shown(value: object) -> object:
    """What to write for a value: itself, or a text that no spreadsheet takes for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _is_number(value):
        return f"'{value}"
    return value


def meant(cell: str) -> str:
    """The text that `shown` made a cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def frame_of(columns: Sequence[str], rows: Iterable[Sequence[object]], instead: str = "") -> Any:
    """A ``pandas.DataFrame`` of some rows, None as a missing value; pandas is optional.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequence
        With a value per column.
    instead : str
        What does without pandas, for the message.

    Raises
    ------
    InvalidInputError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        hint = f"; {instead}" if instead else ""
        raise InvalidInputError(
            f"frames need pandas, which is not installed: {installing('tables')}{hint}"
        ) from error
    return pd.DataFrame.from_records(list(rows), columns=list(columns))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
