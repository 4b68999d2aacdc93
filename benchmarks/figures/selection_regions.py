"""Where the least, a part or all of the data is best, and where the claim of submodularity is true."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.ticker import LogLocator, NullFormatter

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside, set_title
from depl.benchmarks.figures.palette import COLOURS, HATCHES
from depl.heuristics.data.continuous import Best
from depl.models.foundation.wording import percentage

_DECADES = 100
"""An axis over less than this is labelled between powers of ten, too."""

REGIONS = (Best.LEAST, Best.BETWEEN, Best.EVERYTHING)


class Regions(NamedTuple):
    """Answers on a grid.

    ``best[row][column]`` and ``concave[row][column]`` belong to ``down[row]`` and ``across[column]``.
    """

    title: str
    across: Sequence[float]
    down: Sequence[float]
    best: Sequence[Sequence[Best]]
    concave: Sequence[Sequence[bool]]
    across_label: str
    down_label: str
    down_logarithmic: bool = True


class Share(NamedTuple):
    """Shares of random instances at several ratios t0 / (t1 Q0)."""

    label: str
    ratios: Sequence[float]
    between: Sequence[float]
    submodular: Sequence[float]


def selection_regions(regions: Regions, axes: Axes | None = None) -> Axes:
    """Colour every point by what is best; the claim is true where lines hatch the area.

    Parameters
    ----------
    regions : Regions
        Answers on a grid.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    palette = ListedColormap(["#BBDDF5", "#F7D9A8", "#BFE3D0"])
    numbers = np.array([[REGIONS.index(answer) for answer in row] for row in regions.best])
    axes.pcolormesh(regions.across, regions.down, numbers, cmap=palette, vmin=0, vmax=2, shading="nearest")
    concave = np.array(regions.concave, dtype=float)
    if concave.any():
        axes.contourf(
            regions.across, regions.down, concave, levels=[0.5, 1.5], colors="none", hatches=["///"]
        )
    axes.set_xscale("log")
    if regions.down_logarithmic:
        axes.set_yscale("log")
        few = max(regions.down) < _DECADES * min(regions.down)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.set_xlabel(regions.across_label)
    axes.set_ylabel(regions.down_label)
    part, true = percentage(np.mean(numbers == REGIONS.index(Best.BETWEEN)), 2), percentage(concave.mean(), 2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(
        f"{regions.title}: a part is best on {part} of the map,\nthe claim is true on {true}",
        fontsize="small",
        loc="left",
    )
    for index, region in enumerate(REGIONS):
        if (numbers == index).any():
            axes.fill_between([], [], facecolor=palette(index), label=region.value)
    if concave.any():
        axes.fill_between([], [], facecolor="white", hatch=HATCHES[1], label="submodular")
    legend_beside(axes)
    return axes


def selection_shares(shares: Sequence[Share], axes: Axes | None = None) -> Axes:
    """Shares of random instances whose optimum lies between (solid), and that are submodular (dashed).

    Parameters
    ----------
    shares : sequence of Share
        One per data law.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    for index, share in enumerate(shares):
        axes.plot(share.ratios, share.between, color=COLOURS[index], marker="o", label=share.label)
        axes.plot(
            share.ratios, share.submodular, color=COLOURS[index], linestyle="--", marker="s", markersize=3
        )
    axes.plot([], [], color="0.3", marker="o", label="share: a part of the data is best")
    axes.plot([], [], color="0.3", linestyle="--", marker="s", markersize=3, label="share: submodular")
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("$t_0 / (t_1 Q_0)$")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("share of instances")
    if shares:
        most = percentage(max(value for share in shares for value in share.between), 2)
        set_title(axes, f"eight datasets: a part is best for up to {most} of the instances")
        legend_beside(axes)
    return axes
