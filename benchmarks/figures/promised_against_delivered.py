"""Promised against delivered: one interval per plan, around the share of fresh runs that kept its promise."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.style import Style, given_or_new, legend_beside, series_style, styles_of

_SPREAD = 0.006
_SETTINGS = {
    "never run": "plan never run, with margin",
    "all runs": "all runs known, with margin",
    "flattered": "plan never run, no margin",
    "piloted": "settled by a pilot",
}
"""Settings of the case ``promises-kept``, with what stands in the legend."""


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
    styles = _styles({item.setting for item in promises})
    levels = sorted({item.promised for item in promises})
    for level in levels:
        own = sorted((item for item in promises if item.promised == level), key=lambda item: item.setting)
        for index, item in enumerate(own):
            place = level + (index - (len(own) - 1) / 2) * _SPREAD
            colour, marker, _ = styles[item.setting]
            axes.plot([place, place], [item.lower, item.upper], color=colour, linewidth=1)
            axes.plot(place, item.delivered, marker, color=colour, markersize=4.5)
        ends = [level - (len(own) + 1) / 2 * _SPREAD, level + (len(own) + 1) / 2 * _SPREAD]
        axes.plot(ends, [level, level], color="0.4", linestyle="--", linewidth=1)
    for name, (colour, marker, _) in styles.items():
        axes.plot([], [], marker, color=colour, markersize=4.5, label=_SETTINGS.get(name, name))
    if promises:
        axes.plot([], [], color="0.4", linestyle="--", linewidth=1, label="as promised")
    legend_beside(axes)
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("promised probability")
    axes.set_ylabel("delivered by fresh runs,\n95 % interval")
    return axes


def _styles(settings: Collection[str]) -> dict[str, Style]:
    """The settings of the case in their order, then methods in their styles."""
    others = styles_of(sorted(set(settings) - set(_SETTINGS)))
    known = {name: series_style(place) for place, name in enumerate(_SETTINGS) if name in settings}
    return {**known, **others}


def promises_of(rows: Sequence[Mapping[str, Any]], pilots: Sequence[Mapping[str, Any]]) -> list[Promise]:
    """What the record of the case ``promises-kept`` has in its ``rows`` and ``pilots``."""
    told = [*rows, *({**row, "setting": "piloted"} for row in pilots)]
    return [
        Promise(row["setting"], row["promised"], row["delivered"], row["lower"], row["upper"])
        for row in told
        if row.get("delivered") is not None
    ]
