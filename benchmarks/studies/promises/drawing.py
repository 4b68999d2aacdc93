"""The pictures of the studies of promises, from their records and from nothing else."""

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
_APART = 0.12
"""Half the distance of the two kinds of promises of one number of runs, where numbers are 1 apart."""

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


def runs_per_plan_figure(values: Mapping[str, Any]) -> Figure:
    """Delivered against the number of known runs, from ``pooled`` and ``chosen``: a panel per probability."""
    pooled = values["pooled"]
    levels, sizes = ([*sorted({row[name] for row in pooled})] for name in ("promised", "known"))
    figure, axes = panels(len(levels), columns=2)
    for level, panel in zip(levels, axes, strict=True):
        own, families = (
            [row for row in rows if row["promised"] == level and row["known"] in sizes]
            for rows in (pooled, values["chosen"])
        )
        _known(panel, level, sizes, own, families)
    shared_legend(figure, below=True)
    make_room(figure)
    return figure


def _known(axes: Axes, level: float, sizes: Sequence[int], pooled: Rows, families: Rows) -> None:
    axes.axhline(level, color="0.4", linestyle="--", linewidth=1, label="promised")
    for place, (confidence, name) in enumerate(((None, "marginal"), (0.95, "with confidence 0.95"))):
        colour, marker, _ = series_style(place)
        shift = (2 * place - 1) * _APART
        for rows, look in (
            (families, {"marker": ".", "alpha": 0.35}),
            (pooled, {"marker": marker, "label": f"{name}: mean of families"}),
        ):
            told = [row for row in rows if row["confidence"] == confidence and row["delivered"] is not None]
            at = [sizes.index(row["known"]) + shift for row in told]
            axes.plot(at, [row["delivered"] for row in told], color=colour, linestyle="", **look)
    axes.plot([], [], ".", color="0.4", label="one family")
    refused = {(row["known"], row["confidence"]): row["refused"] for row in pooled}
    labels = [f"{size}\n{refused[size, None]:.0%} | {refused[size, 0.95]:.0%}" for size in sizes]
    axes.set_xticks(range(len(sizes)), labels)
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_xlabel("known runs of each plan, and refused: marginal | with confidence")
    axes.set_ylabel("delivered by other runs")
    set_title(axes, f"promised {level:g}")
