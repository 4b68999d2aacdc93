"""The effect of eta (Figs. 5 and 6, right): cost over the proved optimum against the levels of the graph."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.analysis.growth import size_of
from depl.benchmarks.analysis.reference import frame_of
from depl.benchmarks.analysis.table import Table, cell
from depl.benchmarks.figures.drawing import Drawing, drawn, first_of_each
from depl.benchmarks.figures.style import Style, legend_beside, series_style, sized_axis, styles_of
from depl.benchmarks.measure.attempt import Attempt

FEWEST = 3
"""Different numbers of levels from which on there is something to draw."""


class RatioCurve(NamedTuple):
    """Cost over the optimum at several numbers of levels.

    Each of the ``points`` has eta, the mean ratio where costs are rounded up, that where they are rounded
    down (None where that was not asked, and where no instance has a finite one), and the share of instances
    in which the graph rounded up finds no path.
    """

    label: str
    style: Style
    points: Sequence[tuple[int, float | None, float | None, float]]


def ratio_against_levels(curves: Sequence[RatioCurve], axes: Axes) -> None:
    """Draw cost_up / OPT (solid) and cost_down / OPT (dashed) over the number of levels.

    A marker of the upper line is hollow where the graph misses some instances that have a solution.
    """
    for label, (colour, marker, _), points in curves:
        for place, dash in enumerate(("-", "--")):
            known = [
                (eta, ratio, missed)
                for eta, up, down, missed in points
                if (ratio := (up, down)[place]) is not None
            ]
            axes.plot([x for x, _, _ in known], [y for _, y, _ in known], color=colour, linestyle=dash)
            for x, y, share in known:
                face = {"markersize": 3} if place else {"markerfacecolor": "white" if share else colour}
                axes.plot(x, y, marker, color=colour, **face)
        axes.plot([], [], marker, color=colour, linestyle="-", label=label)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    every = [point for curve in curves for point in curve.points]
    sized_axis(axes, "levels $\\eta$", [point[0] for point in every])
    axes.set_ylabel("cost in the graph / optimum")
    if any(missed for *_, missed in every):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="some instances: no path")
    if any(down is not None for _, _, down, _ in every):
        axes.plot([], [], color="0.3", linestyle="-", label="rounded up: keeps the limits")
        axes.plot([], [], color="0.3", linestyle="--", label="rounded down: a lower bound")
    legend_beside(axes)


def curves_of(rows: Sequence[Mapping[str, Any]]) -> list[RatioCurve]:
    """The curves in the record of the study ``graph``: its value ``curves``, one line per K."""
    names = ("eta", "up_mean", "down_mean", "missed")
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row["epochs"], []).append(tuple(row[name] for name in names))
    return [RatioCurve(f"K = {k}", series_style(place), own) for place, (k, own) in enumerate(found.items())]


def level_points(attempts: Sequence[Attempt]) -> list[tuple[str, int, str, Any]]:
    """Method, eta, instance and cost over the proved optimum of every attempt with an option ``eta``.

    The cost is None without a plan. Refusals, and instances whose optimum no attempt proves, are left out.
    """
    rows = frame_of(first_of_each(attempts))
    rows = rows[rows["optimum"].notna() & (rows["ending"] != "refused")]
    return [
        (item.method, levels, item.task.instance, cell(ratio))
        for item, ratio in zip(rows["attempt"], rows["ratio"], strict=True)
        if (levels := levels_of(item)) is not None
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
    if len({eta for _, eta, _, _ in points}) < FEWEST:
        return None

    def draw(axes: Axes) -> None:
        ratio_against_levels(level_curves(points), axes)
        axes.set_ylabel("cost / optimum, mean over targets")

    caption = "mean cost over the optimum against the levels eta (as Figs. 5 and 6, right); hollow markers "
    table = Table(("method", "eta", "instance", "cost_over_optimum"), tuple(points))
    return drawn(family, "levels", f"{caption}where some targets are missed.", table, draw)


def level_curves(points: Sequence[tuple[str, int, str, float | None]]) -> list[RatioCurve]:
    """By method the mean ratio over the instances at every number of levels, and the share that it misses."""
    found: dict[str, dict[int, list[float | None]]] = {}
    for method, eta, _, ratio in points:
        found.setdefault(method, {}).setdefault(eta, []).append(ratio)
    curves = []
    for method, style in styles_of(found).items():
        rows = []
        for eta, ratios in sorted(found[method].items()):
            known = [ratio for ratio in ratios if ratio is not None]
            mean = math.fsum(known) / len(known) if known else None
            rows.append((eta, mean, None, 1 - len(known) / len(ratios)))
        curves.append(RatioCurve(method, style, rows))
    return curves
