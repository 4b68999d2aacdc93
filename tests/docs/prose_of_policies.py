"""What the page on policies on real training says, from the record of the case `closed-loop`."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.docs.prose import Values, percent, row

NAMES = {"digits-alexnet-slow": "AlexNet", "digits-mobilenet": "MobileNet"}
Row = Mapping[str, Any]


def closed_loop_table(values: Values) -> Iterator[str]:
    """A row for each problem."""
    for key, own in problems(values["rows"]).items():
        family, loss, epochs, omega = key
        fixed = own.get("fixed")
        yield row(
            NAMES[family],
            f"{loss:g} in {epochs}",
            f"{omega:.2f}",
            "none" if fixed is None else f"{fixed['delivered']:.2f} at {fixed['cost']:.1f}",
            plain(own.get("fixed, stopped"), fixed),
            certified(own["optimal, counted"], fixed),
            certified(own["optimal, ledger"], fixed),
            plain(own["reset rule"], fixed),
            plain(own["clairvoyant"], fixed),
        )


def problems(rows: list[Row]) -> dict[tuple[str, float, int, float], dict[str, Row]]:
    """Rows by family, target, epochs and omega, and then by who."""
    found: dict[tuple[str, float, int, float], dict[str, Row]] = {}
    for item in rows:
        key = item["family"], item["maximum_loss"], item["maximum_epochs"], item["omega"]
        found.setdefault(key, {})[item["who"]] = item
    return found


def plain(item: Row | None, fixed: Row | None) -> str:
    """What was delivered, and the cost in that of the fixed plan."""
    if item is None:
        return "none"
    return f"{item['delivered']:.2f}; {cost(item, fixed)}"


def certified(item: Row, fixed: Row | None) -> str:
    """What was certified, and then the same with the interval."""
    if item.get("promised") is None:
        return "none"
    interval = f"[{item['lower']:.2f}, {item['upper']:.2f}]"
    return f"{item['promised']:.3f}: {item['delivered']:.2f} {interval}; {cost(item, fixed)}"


def cost(item: Row, fixed: Row | None) -> str:
    """In that of the fixed plan, or as such where there is none."""
    return f"{item['cost']:.1f}" if fixed is None else f"{item['cost'] / fixed['cost']:.2f}"
