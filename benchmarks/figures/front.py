"""The least weight against a bound on the expected loss or the time: a falling staircase or samples of it."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.palette import COLOURS

_NAMES = {"loss": "bound on the expected loss $E[\\ell(K)]$", "time": "time $T_{\\max}$"}


def front_figure(
    points: Sequence[tuple[float, float | None]], against: str, weight: str, axes: Axes | None = None
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
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    known = sorted((budget, weight) for budget, weight in points if weight is not None)
    axes.step(
        [budget for budget, _ in known],
        [weight for _, weight in known],
        where="post",
        color=COLOURS[0],
        marker="o",
        markersize=3,
    )
    axes.set_xlabel(_NAMES[against])
    axes.set_ylabel(f"least {weight}")
    axes.set_ylim(bottom=0)
    return axes
