"""The picture of the study ``promises-kept``, from its record and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import make_room, panels, series_style, set_title, shared_legend

_SETTINGS = {
    "never run": "plan never run, with margin",
    "all runs": "all runs known, with margin",
    "flattered": "plan never run, no margin",
    "piloted": "settled by a pilot",
}
"""Settings of ``promises-kept``, with what stands in the legend."""
_SPREAD = 0.006
"""Between equal promises, in probability."""

Rows = Sequence[Mapping[str, Any]]


def promises_figure(values: Mapping[str, Any]) -> Figure:
    """Promised against delivered, from ``rows`` and ``pilots``: a panel per family."""
    told = [*values["rows"], *({**row, "setting": "piloted"} for row in values["pilots"])]
    families = list(dict.fromkeys(row["family"] for row in values["rows"]))
    figure, axes = panels(max(len(families), 1))
    for family, panel in zip(families, axes, strict=False):
        _promises(
            panel, [row for row in told if row["family"] == family and row.get("delivered") is not None]
        )
        set_title(panel, family)
    lowest, highest = (end(panel.get_ylim()[side] for panel in axes) for side, end in enumerate((min, max)))
    for panel in axes:
        panel.set_ylim(lowest, highest)  # families stand side by side to be compared
    shared_legend(figure)
    make_room(figure)
    return figure


def _promises(axes: Axes, rows: Rows) -> None:
    """An interval per plan, around the share of fresh runs that kept its promise."""
    levels = sorted({row["promised"] for row in rows})
    for level in levels:
        own = sorted((row for row in rows if row["promised"] == level), key=lambda row: row["setting"])
        for index, row in enumerate(own):
            place = level + (index - (len(own) - 1) / 2) * _SPREAD
            colour, marker, _ = series_style(list(_SETTINGS).index(row["setting"]))
            axes.plot([place, place], [row["lower"], row["upper"]], color=colour, linewidth=1)
            axes.plot(place, row["delivered"], marker, color=colour, markersize=4.5)
        ends = [level - (len(own) + 1) / 2 * _SPREAD, level + (len(own) + 1) / 2 * _SPREAD]
        axes.plot(ends, [level, level], color="0.4", linestyle="--", linewidth=1)
    for index, (setting, label) in enumerate(_SETTINGS.items()):
        if any(row["setting"] == setting for row in rows):
            colour, marker, _ = series_style(index)
            axes.plot([], [], marker, color=colour, markersize=4.5, label=label)
    axes.plot([], [], color="0.4", linestyle="--", linewidth=1, label="as promised")
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("promised probability")
    axes.set_ylabel("delivered by fresh runs,\n95 % interval")
