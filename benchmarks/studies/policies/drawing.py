"""The pictures of the study ``closed-loop``, from its record and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import Style, make_room, panels, series_style, set_title, shared_legend
from depl.benchmarks.studies.policies.rungs import CLAIRVOYANT, FIXED, POLICIES, RESET, STOPPED

_ORDER = (FIXED, STOPPED, *POLICIES, RESET)
STYLES: Mapping[str, Style] = {
    **{rung: series_style(place) for place, rung in enumerate(_ORDER)},
    CLAIRVOYANT: Style("#888888", "*", "-"),
}
_APART = 0.13
"""Between two rungs of one problem, where problems are 1 apart."""
_NEAR = (0.88, 1.0)
"""Probabilities at which promises are made."""
_LINES = {
    "fixed": "fixed plans, trained to their end",
    "stopped": "fixed plans, left when the target is reached",
    "policies": "policies",
}

Row = Mapping[str, Any]


def closed_loop_figure(values: Mapping[str, Any]) -> Figure:
    """Promised against delivered, from ``rows``: a column for each family and a row for each omega."""
    rows = [row for row in values["rows"] if row["rung"] in _ORDER]
    families = list(dict.fromkeys(row["family"] for row in rows))
    levels = sorted({row["omega"] for row in rows})
    figure, axes = panels(max(len(families) * len(levels), 1), max(len(families), 1), (4.2, 4.6))
    least = min((row["lower"] for row in rows if "lower" in row), default=0.0)
    shown = [(level, family) for level in levels for family in families]
    for (level, family), panel in zip(shown, axes, strict=False):
        own = [row for row in rows if (row["family"], row["omega"]) == (family, level)]
        _delivered(panel, own, level)
        certified = [row for row in own if row.get("promised") is not None]
        below = sum(row["upper"] < level for row in certified)
        told = f"{below} of {len(certified)} certified policies lie" if below else "no certified policy lies"
        set_title(panel, f"{family}, {level:.2f} asked: {told} below it with the whole interval")
        panel.set_xlim(max(0.0, least - 0.03), 1.01)
    shared_legend(figure)
    make_room(figure)
    return figure


def _delivered(axes: Axes, rows: Sequence[Row], asked: float) -> None:
    """A row for each problem, an interval for each rung, black strokes at what was certified."""
    names = list(dict.fromkeys(f"{row['maximum_loss']:g}, {row['maximum_epochs']}" for row in rows))
    axes.axvline(asked, color="0.4", linestyle="--", linewidth=1, label="asked")
    certified: list[tuple[float, float]] = []
    for row in rows:
        style, height = STYLES[row["rung"]], names.index(f"{row['maximum_loss']:g}, {row['maximum_epochs']}")
        place = height + (_ORDER.index(row["rung"]) - (len(_ORDER) - 1) / 2) * _APART
        if "delivered" not in row:
            across = axes.get_yaxis_transform()
            axes.text(0.02, place, "none", color=style.colour, va="center", fontsize=6, transform=across)
            continue
        axes.plot([row["lower"], row["upper"]], [place, place], color=style.colour, linewidth=1)
        look: dict[str, Any] = {"color": style.colour, "markersize": 4.5, "label": row["rung"]}
        axes.plot(row["delivered"], place, style.marker, **look)
        if row.get("promised") is not None:
            certified.append((row["promised"], place))
    for at in certified:
        axes.plot(*at, "|", color="black", markersize=7, label="certified")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_ylabel("loss, and most epochs")
    axes.set_xlabel("runs that reached the target, 95 % interval")


def frontier_figure(values: Mapping[str, Any]) -> Figure:
    """The ``frontiers``: a row for each family, whole, and near where promises are made with real runs."""
    found = values["frontiers"]
    figure, axes = panels(max(2 * len(found), 1), 2, (4.2, 3.6))
    for place, item in enumerate(found):
        whole, near = axes[2 * place : 2 * place + 2]
        _frontier(whole, item, (0.0, 1.0))
        whole.set_ylim(0, None)
        coin = "the coin and the bound from the origin"
        set_title(whole, f"{item['family']}, loss {item['maximum_loss']:g}: {coin}")
        _frontier(near, item, _NEAR)
        shown = [cost for share, cost in item["fixed"] if share >= _NEAR[0]]
        for row in values["rows"]:
            same = all(row[name] == item[name] for name in ("family", "maximum_loss", "maximum_epochs"))
            if same and row.get("delivered", 0.0) >= _NEAR[0]:
                style = STYLES[row["rung"]]
                look: dict[str, Any] = {"color": style.colour, "markerfacecolor": "none", "markersize": 6}
                label = f"real runs: {row['rung']}"
                near.plot(row["delivered"], row["cost"], style.marker, label=label, **look)
                shown.append(row["cost"])
        near.set_ylim(0.95 * min(shown, default=item["ratio"]), 1.05 * max(shown, default=item["ratio"]))
        set_title(near, "Where promises are made, and what 120 real runs did")
    shared_legend(figure)
    make_room(figure)
    return figure


def _frontier(axes: Axes, item: Row, limits: tuple[float, float]) -> None:
    """Plans and policies between two probabilities, the bound below all of them, and the coin."""
    for place, (name, label) in enumerate(_LINES.items()):
        inside = [point for point in item[name] if limits[0] <= point[0] <= limits[1]]
        colour, marker, dash = series_style(place)
        look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dash, "linewidth": 1}
        axes.plot(*zip(*inside, strict=True) if inside else ([], []), markersize=3, label=label, **look)
    across = np.linspace(*limits, 401)
    floor = np.max([value - price * (1 - across) for price, value in item["bound"]], axis=0)
    axes.fill_between(across, 0, np.maximum(floor, 0.0), color="0.9", label="no policy (lower bound)")
    look = {"color": "0.3", "linestyle": ":", "linewidth": 1.2}
    axes.plot(across, item["ratio"] * across, label="coin: train or not", **look)
    axes.set_xlim(*limits)
    axes.set_xlabel("probability to reach the target")
    axes.set_ylabel("expected cost")
