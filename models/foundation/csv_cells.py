"""Text in cells of CSV files that a spreadsheet shows and does not carry out.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return for a
formula, which may run programs or send what stands beside it elsewhere; and names come from files of
strangers. Such a text is written with an apostrophe in front, the sign for text in spreadsheets; numbers stay
as they are. What is read is freed of it, so that every text comes back as it was.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def shown(value: object) -> object:
    """What to write for a value: itself, or a text that no spreadsheet takes for a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _is_number(value):
        return f"'{value}"
    return value


def meant(cell: str) -> str:
    """The text that `shown` made a cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
