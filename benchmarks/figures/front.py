"""The least weight against a bound on the expected loss or the time: a falling staircase or samples of it."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside, plain, set_title
from depl.benchmarks.figures.palette import COLOURS

_NAMES = {"loss": "bound on the expected loss $E[\\ell(K)]$", "time": "time $T_{\\max}$"}


def front_figure(
    points: Sequence[tuple[float, float | None]],
    against: str,
    weight: str,
    instance: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw the weights over the budgets; between them the optimum may be lower than drawn, never higher.

    Parameters
    ----------
    points : sequence of (float, float or None)
        Bound on the expected loss, or time, and weight; None where nothing is feasible.
    against : str
        "loss" or "time".
    weight : str
        What is added up, in words.
    instance : str
        Its name, for the title, which also says that no point keeps a promise.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    known = sorted((budget, weight) for budget, weight in points if weight is not None)
    none = sorted(budget for budget, weight in points if weight is None)
    axes.step(
        [budget for budget, _ in known],
        [weight for _, weight in known],
        where="post",
        color=COLOURS[0],
        marker="o",
        markersize=3,
        label="least weight at the marks; no more than it to the right",
    )
    if none:
        floor = axes.get_xaxis_transform()
        label = "no path keeps this budget"
        axes.plot(none, [0.0] * len(none), "x", color="black", transform=floor, clip_on=False, label=label)
    axes.set_xlabel(_NAMES[against])
    axes.set_ylabel(f"least {weight}")
    axes.set_ylim(bottom=0)
    if known:
        place = f"{plain(instance)}: " if instance else ""
        set_title(axes, f"{place}the EXPECTED loss is bounded, so no point keeps a promise")
        legend_beside(axes)
    return axes
