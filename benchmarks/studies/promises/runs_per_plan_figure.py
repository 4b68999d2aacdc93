"""The picture of the case ``runs-per-plan``, from its record and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import make_room, panels, series_style, set_title, shared_legend

_APART = 0.12
"""Half the distance of the two kinds of promises of one number of runs, where numbers are 1 apart."""


def runs_per_plan_figure(values: Mapping[str, Any]) -> Figure:
    """A panel per probability: delivered against the number of known runs, and the share refused.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``rows`` and ``pooled`` are drawn.
    """
    levels = sorted({row["promised"] for row in values["pooled"]})
    figure, axes = panels(len(levels), columns=2)
    for level, panel in zip(levels, axes, strict=True):
        _panel(
            panel,
            level,
            [row for row in values["pooled"] if row["promised"] == level],
            [row for row in values["rows"] if row["promised"] == level],
        )
    shared_legend(figure, below=True)
    make_room(figure)
    return figure


def _panel(
    axes: Axes, level: float, pooled: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> None:
    sizes = sorted({row["known"] for row in pooled})
    axes.axhline(level, color="0.4", linestyle="--", linewidth=1, label="promised")
    for place, (confidence, name) in enumerate(((None, "marginal"), (0.95, "with confidence 0.95"))):
        colour, marker, _ = series_style(place)
        shift = (2 * place - 1) * _APART
        for row in (row for row in rows if row["confidence"] == confidence and row["delivered"] is not None):
            axes.plot(sizes.index(row["known"]) + shift, row["delivered"], ".", color=colour, alpha=0.35)
        told = [row for row in pooled if row["confidence"] == confidence and row["delivered"] is not None]
        at = [sizes.index(row["known"]) + shift for row in told]
        axes.plot(
            at, [row["delivered"] for row in told], marker, color=colour, label=f"{name}: mean of families"
        )
    axes.plot([], [], ".", color="0.4", label="one family")
    refused = {(row["known"], row["confidence"]): row["refused"] for row in pooled}
    labels = [f"{size}\n{refused[size, None]:.0%} | {refused[size, 0.95]:.0%}" for size in sizes]
    axes.set_xticks(range(len(sizes)), labels)
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_xlabel("known runs of each plan, and refused: marginal | with confidence")
    axes.set_ylabel("delivered by other runs")
    made = [row["delivered"] for row in pooled if row["confidence"] is None and row["delivered"] is not None]
    told_least = f"marginal keep {min(made):.3f} or more" if made else "nothing is promised"
    set_title(axes, f"promised {level:g}: {told_least}")
