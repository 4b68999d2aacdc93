"""The pictures of the study ``closed-loop``, from its record and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import make_room, panels, series_style, set_title, shared_legend
from depl.benchmarks.studies.closed_loop import FIXED, POLICIES, RESET, STOPPED

_ORDER = (FIXED, STOPPED, *POLICIES, RESET)
_APART = 0.13
"""Between two rungs of one problem, where problems are 1 apart."""

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
        style, height = (
            series_style(_ORDER.index(row["rung"])),
            names.index(f"{row['maximum_loss']:g}, {row['maximum_epochs']}"),
        )
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
