"""Expected loss along the epochs with a band between two quantiles, one per method (Figs. 2 and 9)."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style, styles_for


class LossCurve(NamedTuple):
    """Mean and band of the loss after the epochs k that are listed, k = 0 first [loss]."""

    label: str
    epochs: Sequence[int]
    mean: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    style: Style | None = None


def loss_evolution(
    curves: Sequence[LossCurve],
    maximum_loss: float | None = None,
    axes: Axes | None = None,
    band: str = "1 to 99 % of runs",
) -> Axes:
    """Draw one line with its band per method.

    Parameters
    ----------
    curves : sequence of LossCurve
    maximum_loss : float, optional
        l_max, drawn as a thin horizontal line [loss].
    axes : Axes, optional
        Where to draw; new axes by default.
    band : str
        What the bands are, for the legend.
    """
    axes = given_or_new(axes)
    if maximum_loss is not None:
        axes.axhline(maximum_loss, color="black", linewidth=0.8, linestyle=":")
        axes.annotate(
            "$\\ell_{\\max}$",
            (0, maximum_loss),
            xycoords=("axes fraction", "data"),
            xytext=(4, 3),
            textcoords="offset points",
        )
    for curve, style in zip(curves, styles_for(curves), strict=True):
        colour = style.colour
        axes.fill_between(curve.epochs, curve.lower, curve.upper, color=colour, alpha=0.2, linewidth=0)
        for edge in (curve.lower, curve.upper):
            axes.plot(curve.epochs, edge, color=colour, linewidth=0.6, alpha=0.7)
        axes.plot(
            curve.epochs, curve.mean, label=curve.label, color=colour, linestyle=style.dash, linewidth=2
        )
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if curves:
        axes.plot([], [], color="0.8", linewidth=7, label=band)
    legend_beside(axes)
    return axes
