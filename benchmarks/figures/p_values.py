"""Histograms of p-values of many fits, as the paper reads them and honestly (Fig. 4, centre)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from depl.benchmarks.figures.style import COLOURS, HATCHES, given_or_new, legend_beside, nth

_BINS = 20
THRESHOLD = 0.05


def p_value_histogram(groups: Mapping[str, Sequence[float]], axes: Axes | None = None) -> Axes:
    """Draw one histogram per group side by side, with the threshold of 5 %.

    Parameters
    ----------
    groups : mapping of str to sequence of float
        p-values in [0, 1] by kind; the legend adds the share above 5 %.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    edges = np.linspace(0, 1, _BINS + 1)
    width = (edges[1] - edges[0]) / max(len(groups), 1)
    for index, (name, values) in enumerate(groups.items()):
        counts, _ = np.histogram(values, bins=edges)
        above = np.mean(np.asarray(values) > THRESHOLD) if len(values) else 0.0
        axes.bar(
            edges[:-1] + index * width,
            counts,
            width,
            align="edge",
            color=nth(COLOURS, index),
            hatch=nth(HATCHES, index),
            edgecolor="white",
            linewidth=0.3,
            label=f"{name}: {100 * above:.0f} % above 0.05",
        )
    axes.axvline(THRESHOLD, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlim(0, 1)
    axes.set_xlabel("p-value")
    axes.set_ylabel("combinations")
    legend_beside(axes)
    return axes
