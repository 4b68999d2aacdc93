"""Tables as plain text, drawn by rich."""

import io
import sys
from collections.abc import Sequence

from depl.commands.printable import printable

_ENDLESS = 10_000


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """Rows under a header; as wide as the content, but no wider than a terminal that shows it.

    Parameters
    ----------
    right : sequence of str
        Headings of the columns that are set flush right.
    """
    import shutil

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.ASCII, pad_edge=False, show_edge=False)
    for heading in header:
        drawn.add_column(Text(heading), justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    shown = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if shown else _ENDLESS
    page = io.StringIO()
    Console(file=page, width=width, color_system=None, legacy_windows=False).print(drawn)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def fields(pairs: Sequence[tuple[str, str]]) -> str:
    """One line per pair, the second entries below each other."""
    pairs = [(printable(name), printable(value)) for name, value in pairs]
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name:{width}}  {value}" for name, value in pairs)
