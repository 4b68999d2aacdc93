"""What is printed: tables, pairs and JSON; what would steer a terminal is shown and not obeyed."""

import io
import re
import sys
from collections.abc import Sequence
from typing import Any

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape, bell and other controls; tabs and line breaks are harmless
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction of writing, other line breaks
    "\ufff9-\ufffb\U000e0000-\U000e007f]"  # annotations and tags, which are invisible
)
_ENDLESS = 10_000


def printable(text: str) -> str:
    r"""``text`` with escapes (``\x1b``, ``\u202e``) for all that would steer a terminal."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_json(text: str) -> str:
    """A JSON document with JSON's own escapes for the same characters: it holds what it held."""
    return _STEERING.sub(_escaped, text)


def as_json(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON; what is not finite must be None already."""
    import msgspec

    try:
        return msgspec.json.encode(content).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(encodable(content)).decode()


def encodable(content: Any) -> Any:
    """The same with escapes for bytes of names of files that are not UTF-8, as JSON must be."""
    if isinstance(content, str):
        return content.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(content, dict):
        return {encodable(name): encodable(value) for name, value in content.items()}
    return [encodable(item) for item in content] if isinstance(content, list | tuple) else content


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """Rows under a header, drawn by rich; as wide as the content, but no wider than a terminal that shows it.

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


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
