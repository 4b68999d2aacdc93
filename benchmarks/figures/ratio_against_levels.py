"""Cost of the expanded graph over the optimum against its levels, rounded up and down (Fig. 5, right)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style, series_style, styles_for
from depl.benchmarks.figures.ratio_against_size import sized_axis


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
    style: Style | None = None


class LevelBand(NamedTuple):
    """Between which ratios a guarantee puts the curves; None where it gives no upper end."""

    label: str
    levels: Sequence[int]
    upper: Sequence[float | None]


def ratio_against_levels(
    curves: Sequence[RatioCurve], axes: Axes | None = None, band: LevelBand | None = None
) -> Axes:
    """Draw cost_up / OPT (solid) and cost_down / OPT (dashed) over the number of levels.

    A marker of the upper line is hollow where the graph misses some instances that have a solution.

    Parameters
    ----------
    curves : sequence of RatioCurve
        Ratios of costs, by eta.
    axes : Axes, optional
        Where to draw; new axes by default.
    band : LevelBand, optional
        Shaded from 1 to its upper end.
    """
    axes = given_or_new(axes)
    if band is not None:
        known = [(x, y) for x, y in zip(band.levels, band.upper, strict=True) if y is not None]
        across = [x for x, _ in known]
        axes.fill_between(across, 1.0, [y for _, y in known], color="0.88", label=band.label, zorder=0)
    for curve, (colour, marker, _) in zip(curves, styles_for(curves), strict=True):
        down = curve.down or (None,) * len(curve.levels)
        for ratios, dash in ((curve.up, "-"), (down, "--")):
            points = [(x, y) for x, y in zip(curve.levels, ratios, strict=True) if y is not None]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colour,
                linestyle=dash,
            )
        for x, above, below, missed in zip(curve.levels, curve.up, down, curve.missed, strict=True):
            if above is not None:
                axes.plot(x, above, marker, color=colour, markerfacecolor="white" if missed else colour)
            if below is not None:
                axes.plot(x, below, marker, color=colour, markersize=3)
        axes.plot([], [], marker, color=colour, linestyle="-", label=curve.label)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    sized_axis(axes, "levels $\\eta$", [level for curve in curves for level in curve.levels])
    axes.set_ylabel("cost in the graph / optimum")
    _explain(axes, curves)
    legend_beside(axes)
    return axes


def _explain(axes: Axes, curves: Sequence[RatioCurve]) -> None:
    """Entries of the legend for the marks that not every curve has."""
    if any(any(curve.missed) for curve in curves):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="some instances: no path")
    if any(curve.down for curve in curves):
        axes.plot([], [], color="0.3", linestyle="-", label="rounded up: keeps the limits")
        axes.plot([], [], color="0.3", linestyle="--", label="rounded down: a lower bound")


def curves_of(rows: Sequence[Mapping[str, Any]]) -> list[RatioCurve]:
    """The curves in the record of the case ``graph``: its value ``curves``, one line per K."""
    curves = []
    for place, epochs in enumerate(dict.fromkeys(row["epochs"] for row in rows)):
        part = [row for row in rows if row["epochs"] == epochs]
        columns = {name: tuple(row[name] for row in part) for name in part[0]}
        curves.append(
            RatioCurve(
                f"K = {epochs}",
                columns["eta"],
                columns["up_mean"],
                columns["down_mean"],
                columns["missed"],
                series_style(place),
            )
        )
    return curves
