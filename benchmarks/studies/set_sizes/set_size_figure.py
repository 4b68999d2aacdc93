"""The picture of the case ``prediction-sets``, from its record and from nothing else.

``depl bench cases draw prediction-sets FOLDER`` draws it: set size against final loss of every run, and set
sizes after expected and after dependable training.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from scipy.stats import spearmanr

from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.legends import make_room, set_title
from depl.benchmarks.figures.set_size_against_loss import RunPoints, points_of, set_size_against_loss
from depl.benchmarks.figures.set_sizes_of_trainings import set_sizes_of_trainings, sizes_of
from depl.models.foundation.wording import counted

_WIDTH, _HEIGHT = 9.6, 4.4


def set_size_figure(values: Mapping[str, Any]) -> Figure:
    """Both panels.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``points`` and ``comparisons`` are drawn.
    """
    figure, (left, right) = panels(2)
    figure.set_size_inches(_WIDTH, _HEIGHT)
    points = points_of(values["points"])
    set_size_against_loss(points, left)
    rows = sizes_of(values["comparisons"])
    set_sizes_of_trainings(rows, right)
    set_title(left, _correlation(points))
    smaller = sum(row.upper[1] < row.upper[0] for row in rows)
    plans = counted(len(rows), "plan")
    set_title(right, f"dependable training has the smaller 0.95-quantile on {smaller} of {plans}")
    make_room(figure)
    return figure


def _correlation(points: Sequence[RunPoints]) -> str:
    """How final loss and set size rank the runs of each plan."""
    pairs = [(item.losses, item.sizes) for item in points if len(set(item.losses)) > 1]
    found = [float(spearmanr(losses, sizes).statistic) for losses, sizes in pairs]
    if not found:
        return "final loss and set size of every run"
    return f"rank correlation of loss and set size within a plan: {min(found):.2f} to {max(found):.2f}"


if __name__ == "__main__":  # the older spelling of the command
    import sys

    from depl.cli import main

    sys.exit(main(["bench", "cases", "draw", "prediction-sets", *sys.argv[1:]]))
