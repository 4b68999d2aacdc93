"""Promised against delivered: one interval per plan, around the share of fresh runs that kept its promise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import COLOURS, MARKERS, nth

_SPREAD = 0.006
_SETTINGS = ("never run", "all runs", "flattered", "piloted")


class Promise(NamedTuple):
    """A promise, and what fresh runs delivered with its 95 % interval."""

    setting: str
    promised: float
    delivered: float
    lower: float
    upper: float


def promised_against_delivered(promises: Sequence[Promise], axes: Axes | None = None) -> Axes:
    """Draw delivered against promised probabilities, with the line on which they are equal.

    Parameters
    ----------
    promises : sequence of Promise
        Those of one setting share a colour and a marker; equal promises are drawn side by side.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    settings = list(dict.fromkeys([*_SETTINGS, *sorted({item.setting for item in promises})]))
    levels = sorted({item.promised for item in promises})
    for level in levels:
        own = sorted((item for item in promises if item.promised == level), key=lambda item: item.setting)
        for index, item in enumerate(own):
            place = level + (index - (len(own) - 1) / 2) * _SPREAD
            kind = settings.index(item.setting)
            colour, marker = nth(COLOURS, kind), nth(MARKERS, kind)
            axes.plot([place, place], [item.lower, item.upper], color=colour, linewidth=1)
            axes.plot(place, item.delivered, marker, color=colour, markersize=4.5)
        ends = [level - (len(own) + 1) / 2 * _SPREAD, level + (len(own) + 1) / 2 * _SPREAD]
        axes.plot(ends, [level, level], color="0.4", linestyle="--", linewidth=1)
    for kind, name in enumerate(settings):
        if any(item.setting == name for item in promises):
            axes.plot([], [], nth(MARKERS, kind), color=nth(COLOURS, kind), markersize=4.5, label=name)
    if promises:
        axes.plot([], [], color="0.4", linestyle="--", linewidth=1, label="as promised")
    legend_beside(axes)
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("promised probability")
    axes.set_ylabel("delivered by fresh runs, 95 % interval")
    return axes


def promises_of(rows: Sequence[Mapping[str, Any]], pilots: Sequence[Mapping[str, Any]]) -> list[Promise]:
    """What the record of the case ``promises-kept`` has in its ``rows`` and ``pilots``."""
    told = [*rows, *({**row, "setting": "piloted"} for row in pilots)]
    return [
        Promise(row["setting"], row["promised"], row["delivered"], row["lower"], row["upper"])
        for row in told
        if row.get("delivered") is not None
    ]
