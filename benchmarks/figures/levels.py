"""The effect of eta (Figs. 5 and 6, right): cost over the proved optimum against the levels of the graph."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.analysis.growth import size_of
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.drawing import Drawing, drawn, first_of_each
from depl.benchmarks.figures.style import Style, legend_beside, series_style, sized_axis, styles_of
from depl.benchmarks.measure.attempt import Attempt

FEWEST = 3
"""Different numbers of levels from which on there is something to draw."""


class LevelPoint(NamedTuple):
    """One method with eta = ``levels`` on one instance: cost over the proved optimum, None without a plan."""

    method: str
    levels: int
    instance: str
    ratio: float | None


class RatioCurve(NamedTuple):
    """Mean ratios at several numbers of levels; None where no instance has a finite one.

    ``missed`` is the share of instances in which the graph rounded up finds no path. ``down`` is empty where
    nothing was rounded down.
    """

    label: str
    levels: Sequence[int]
    up: Sequence[float | None]
    down: Sequence[float | None]
    missed: Sequence[float]
    style: Style


def ratio_against_levels(curves: Sequence[RatioCurve], axes: Axes) -> None:
    """Draw cost_up / OPT (solid) and cost_down / OPT (dashed) over the number of levels.

    A marker of the upper line is hollow where the graph misses some instances that have a solution.
    """
    for label, levels, up, down, missed, (colour, marker, _) in curves:
        for ratios, dash, small in ((up, "-", False), (down or [None] * len(levels), "--", True)):
            points = zip(levels, ratios, missed, strict=True)
            known = [(x, y, share) for x, y, share in points if y is not None]
            axes.plot([x for x, _, _ in known], [y for _, y, _ in known], color=colour, linestyle=dash)
            for x, y, share in known:
                face = {"markersize": 3} if small else {"markerfacecolor": "white" if share else colour}
                axes.plot(x, y, marker, color=colour, **face)
        axes.plot([], [], marker, color=colour, linestyle="-", label=label)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    sized_axis(axes, "levels $\\eta$", [level for curve in curves for level in curve.levels])
    axes.set_ylabel("cost in the graph / optimum")
    if any(any(curve.missed) for curve in curves):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="some instances: no path")
    if any(curve.down for curve in curves):
        axes.plot([], [], color="0.3", linestyle="-", label="rounded up: keeps the limits")
        axes.plot([], [], color="0.3", linestyle="--", label="rounded down: a lower bound")
    legend_beside(axes)


def curves_of(rows: Sequence[Mapping[str, Any]]) -> list[RatioCurve]:
    """The curves in the record of the study ``graph``: its value ``curves``, one line per K."""
    curves = []
    for place, epochs in enumerate(dict.fromkeys(row["epochs"] for row in rows)):
        part = [row for row in rows if row["epochs"] == epochs]
        levels, up, down, missed = (
            [row[name] for row in part] for name in ("eta", "up_mean", "down_mean", "missed")
        )
        curves.append(RatioCurve(f"K = {epochs}", levels, up, down, missed, series_style(place)))
    return curves


def level_points(attempts: Sequence[Attempt]) -> list[LevelPoint]:
    """Cost over the proved optimum of every attempt with an option ``eta``.

    Refusals, and instances whose optimum no attempt proves, are left out.
    """
    return [
        LevelPoint(item.method, levels, item.task.instance, trial.ratio)
        for item, trial in trials(first_of_each(attempts))
        if (levels := levels_of(item)) is not None
        and trial.reference.optimum is not None
        and item.ending != "refused"
    ]


def levels_of(attempt: Attempt) -> int | None:
    """The option ``eta`` of an attempt; None if it has none."""
    options = attempt.settings.get("options")
    size = size_of(attempt, "eta") if isinstance(options, dict) and "eta" in options else None
    return None if size is None else int(size)


def level_drawing(family: str, attempts: Sequence[Attempt]) -> Drawing | None:
    """The drawing of one family; None if fewer than three numbers of levels were tried.

    Optima may come from another suite than the attempts with an option ``eta``.
    """
    points = level_points(attempts)
    if len({point.levels for point in points}) < FEWEST:
        return None

    def draw(axes: Axes) -> None:
        ratio_against_levels(level_curves(points), axes)
        axes.set_ylabel("cost / optimum, mean over targets")

    caption = "mean cost over the optimum against the levels eta (as Figs. 5 and 6, right); hollow markers "
    columns = ("method", "eta", "instance", "cost_over_optimum")
    table = Table(columns, tuple(map(tuple, points)))
    return drawn(family, "levels", f"{caption}where some targets are missed.", table, draw)


def level_curves(points: Sequence[LevelPoint]) -> list[RatioCurve]:
    """By method the mean ratio over the instances at every number of levels, and the share that it misses."""
    curves = []
    for method, style in styles_of(point.method for point in points).items():
        own = [point for point in points if point.method == method]
        levels = sorted({point.levels for point in own})
        columns = [[point.ratio for point in own if point.levels == level] for level in levels]
        known = [[ratio for ratio in column if ratio is not None] for column in columns]
        means = [math.fsum(column) / len(column) if column else None for column in known]
        missed = [1 - len(some) / len(column) for some, column in zip(known, columns, strict=True)]
        curves.append(RatioCurve(method, levels, means, (), missed, style))
    return curves
