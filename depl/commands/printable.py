"""Text from files and names, made safe for a terminal: what would steer it is shown and not obeyed."""

import re

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape, bell and other controls; tabs and line breaks are harmless
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction of writing, other line breaks
    "\ufff9-\ufffb\U000e0000-\U000e007f]"  # annotations and tags, which are invisible
)


def printable(text: str) -> str:
    r"""``text`` with escapes (``\x1b``, ``\u202e``) for all that would steer a terminal."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_json(text: str) -> str:
    """A JSON document with JSON's own escapes for the same characters: it holds what it held."""
    return _STEERING.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
