"""Expected cost against the probability to reach the target: plans, policies, and a bound for all."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style, series_style

Points = Sequence[Sequence[float]]
"""Pairs of probability and cost."""


class Frontier(NamedTuple):
    """What is possible under a law.

    Attributes
    ----------
    ratio : float
        rho*, the least expected cost of a success [cost].
    fixed, stopped, policies : sequence of (probability, cost)
        Fixed plans trained to their ends, left when the target is reached, and policies.
    bound : sequence of (lam, V)
        Lines C >= V - lam (1 - P) that hold for every policy.
    """

    ratio: float
    fixed: Points
    stopped: Points
    policies: Points
    bound: Points


class Run(NamedTuple):
    """What a rule delivered and cost on held-out runs."""

    rule: str
    share: float
    cost: float


_LINES = ("fixed plans, trained to their end", "fixed plans, left when the target is reached", "policies")


def cost_promise_frontier(
    found: Frontier,
    axes: Axes | None = None,
    *,
    runs: Sequence[Run] = (),
    styles: Mapping[str, Style] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Axes:
    """Draw the frontier between two probabilities.

    Parameters
    ----------
    found : Frontier
    axes : Axes, optional
        Where to draw; new axes by default.
    runs : sequence of Run
        Drawn as hollow markers.
    styles : mapping of str to Style
        Of the rules of ``runs``.
    limits : (float, float)
        Of the probability.
    """
    axes = given_or_new(axes)
    _draw_lines(found, axes, limits)
    across = np.linspace(*limits, 401)
    floor = np.max([value - price * (1 - across) for price, value in found.bound], axis=0)
    axes.fill_between(across, 0, np.maximum(floor, 0.0), color="0.9", label="no policy (lower bound)")
    coin = found.ratio * across
    axes.plot(across, coin, color="0.3", linestyle=":", linewidth=1.2, label="coin: train or not")
    for run in runs:
        style = (styles or {})[run.rule]
        look: dict[str, Any] = {"color": style.colour, "markerfacecolor": "none", "markersize": 6}
        axes.plot(run.share, run.cost, style.marker, label=f"real runs: {run.rule}", **look)
    axes.set_xlim(*limits)
    axes.set_xlabel("probability to reach the target")
    axes.set_ylabel("expected cost")
    legend_beside(axes)
    return axes


def _draw_lines(found: Frontier, axes: Axes, limits: tuple[float, float]) -> None:
    """Plans and policies between two probabilities."""
    lines = zip(_LINES, (found.fixed, found.stopped, found.policies), strict=True)
    for place, (name, points) in enumerate(lines):
        style = series_style(place)
        inside = [point for point in points if limits[0] <= point[0] <= limits[1]]
        axes.plot(
            [point[0] for point in inside],
            [point[1] for point in inside],
            color=style.colour,
            marker=style.marker,
            linestyle=style.dash,
            linewidth=1,
            markersize=3,
            label=name,
        )
