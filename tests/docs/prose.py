"""Numbers as the pages print them."""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]
"""What a record holds."""


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def cell(share: float) -> str:
    """A share as the tables on estimation print it: 0.87, 0.935, 1."""
    return f"{share:.3f}".rstrip("0").rstrip(".")


def row(*cells: object) -> str:
    """A row of a list-table, as it reads when lines are joined."""
    return "* - " + " - ".join(map(str, cells))
