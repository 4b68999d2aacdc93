"""Pages as a reader sees them, and the tools that write parts of them."""

import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import measured_numbers  # noqa: E402
import reference_pages  # noqa: E402

__all__ = ["DOCS", "ROOT", "measured_numbers", "reference_pages", "text_of", "words_of"]


@cache
def text_of(page):
    """The text of a file, by its path from the root, without the markers of its numbers."""
    return measured_numbers.plain((ROOT / page).read_text(encoding="utf-8"))


def words_of(page):
    """The same on one line."""
    return " ".join(text_of(page).split())
