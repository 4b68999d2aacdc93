"""The pictures of the case ``closed-loop``, from its record and from nothing else.

``depl bench cases draw closed-loop FOLDER`` draws what was delivered: a column for each family and a row for
each omega. ``python -m depl.plot.gallery FOLDER`` draws the frontiers besides.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.cost_promise_frontier import Frontier, Run, cost_promise_frontier
from depl.benchmarks.figures.delivered_by_problem import Delivered, delivered_by_problem
from depl.benchmarks.figures.legends import make_room, set_title, shared_legend
from depl.benchmarks.figures.palette import Style, series_style
from depl.benchmarks.studies.policies.rows import (
    CLAIRVOYANT,
    FIXED,
    OPTIMAL_COUNTED,
    OPTIMAL_LEDGER,
    RESET,
    STATIC_COUNTED,
    STATIC_LEDGER,
    STOPPED,
)

_ORDER = (
    FIXED,
    STOPPED,
    STATIC_COUNTED,
    OPTIMAL_COUNTED,
    STATIC_LEDGER,
    OPTIMAL_LEDGER,
    RESET,
)
STYLES: Mapping[str, Style] = {
    **{rule: series_style(place) for place, rule in enumerate(_ORDER)},
    CLAIRVOYANT: Style("#888888", "*", "-"),
}
"""Of all rules, in the order of the record."""

_ZOOM = (0.88, 1.0)


def closed_loop_figure(values: Mapping[str, Any]) -> Figure:
    """Promised against delivered.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``rows`` are drawn.
    """
    rows = values["rows"]
    families = list(dict.fromkeys(row["family"] for row in rows))
    levels = sorted({row["omega"] for row in rows})
    figure, axes = panels(max(len(families) * len(levels), 1), max(len(families), 1), (4.2, 4.6))
    shown = [(level, family) for level in levels for family in families]
    for (level, family), panel in zip(shown, axes, strict=False):
        found = list(_delivered(rows, family, level))
        delivered_by_problem(found, level, _styles(STYLES, _ORDER), panel)
        below = sum(item.upper < level for item in found if item.promised is not None)
        many = sum(item.promised is not None for item in found)
        told = f"{below} of {many} certified policies lie" if below else "no certified policy lies"
        set_title(panel, f"{family}, {level:.2f} asked: {told} below it with the whole interval")
    if axes:
        least = min((row["lower"] for row in rows if row["who"] in _ORDER and "lower" in row), default=0.0)
        for panel in axes:
            panel.set_xlim(max(0.0, least - 0.03), 1.01)
    shared_legend(figure)
    make_room(figure)
    return figure


def _delivered(rows: Sequence[Mapping[str, Any]], family: str, level: float) -> Iterator[Delivered]:
    for row in rows:
        if (row["family"], row["omega"]) != (family, level) or row["who"] not in _ORDER:
            continue
        problem = f"{row['maximum_loss']:g}, {row['maximum_epochs']}"
        if "delivered" in row:
            shares = row["delivered"], row["lower"], row["upper"]
            yield Delivered(problem, row["who"], *shares, row.get("promised"))
        else:
            yield Delivered(problem, row["who"], None)


def frontier_figure(values: Mapping[str, Any]) -> Figure:
    """The frontiers: a row for each family, from the origin on, and where promises are made.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``frontiers`` are drawn, and on the right the ``rows`` of their target.
    """
    found = values["frontiers"]
    figure, axes = panels(max(2 * len(found), 1), 2, (4.2, 3.6))
    for place, item in enumerate(found):
        frontier = Frontier(*(item[name] for name in Frontier._fields))
        whole, near = axes[2 * place : 2 * place + 2]
        cost_promise_frontier(frontier, whole)
        whole.set_ylim(0, None)
        set_title(
            whole, f"{item['family']}, loss {item['maximum_loss']:g}: the coin and the bound from the origin"
        )
        runs = list(_runs(values["rows"], item))
        cost_promise_frontier(frontier, near, runs=runs, styles=STYLES, limits=_ZOOM)
        shown = [run.cost for run in runs] + [cost for share, cost in frontier.fixed if share >= _ZOOM[0]]
        near.set_ylim(0.95 * min(shown, default=frontier.ratio), 1.05 * max(shown, default=frontier.ratio))
        set_title(near, "Where promises are made, and what 120 real runs did")
    shared_legend(figure)
    make_room(figure)
    return figure


def _runs(rows: Sequence[Mapping[str, Any]], frontier: Mapping[str, Any]) -> Iterator[Run]:
    """Rows of the target of a frontier."""
    for row in rows:
        same = all(row[name] == frontier[name] for name in ("family", "maximum_loss", "maximum_epochs"))
        if same and "delivered" in row and row["delivered"] >= _ZOOM[0]:
            yield Run(row["who"], row["delivered"], row["cost"])


def _styles(styles: Mapping[str, Style], rules: Sequence[str]) -> dict[str, Style]:
    return {rule: styles[rule] for rule in rules}
