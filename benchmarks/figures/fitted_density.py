"""Observed values as a histogram with the densities of fitted laws (Fig. 4, left and right)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from depl.benchmarks.figures.style import COLOURS, DASHES, given_or_new, legend_beside, nth
from depl.models.problem.laws import FloatArray

_POINTS = 400


class FittedCurve(NamedTuple):
    """A law by its distribution function, which takes and returns arrays of shape (n,)."""

    label: str
    cdf: Callable[[FloatArray], FloatArray]


def fitted_density(
    values: FloatArray,
    curves: Sequence[FittedCurve],
    quantity: str,
    bins: int = 40,
    axes: Axes | None = None,
) -> Axes:
    """Draw the empirical density of ``values`` between their 0.5th and 99.5th percentiles, and fitted laws.

    Heights count all values, so that the histogram has area below 1 where some lie outside.

    Parameters
    ----------
    values : float array (n,)
    curves : sequence of FittedCurve
    quantity : str
        What the values are, with its symbol.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    ends = np.quantile(values, [0.005, 0.995])
    counts, edges = np.histogram(values, bins=bins, range=(float(ends[0]), float(ends[1])))
    heights = counts / (values.size * np.diff(edges))
    axes.stairs(heights, edges, fill=True, color="0.8", label=f"observed, {values.size}")
    points = np.linspace(float(ends[0]), float(ends[1]), _POINTS + 1)
    middle = (points[1:] + points[:-1]) / 2
    for index, curve in enumerate(curves):
        density = np.diff(curve.cdf(points)) / np.diff(points)
        colour, dashes = nth(COLOURS, index), nth(DASHES, index)
        axes.plot(middle, density, label=curve.label, color=colour, linestyle=dashes)
    axes.set_xlabel(quantity)
    axes.set_ylabel("density")
    axes.set_ylim(0, 1.1 * float(heights.max()))  # steep laws are cut off
    legend_beside(axes)
    return axes
