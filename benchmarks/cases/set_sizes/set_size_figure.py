"""The picture of the case ``prediction-sets``, from its record and from nothing else.

``depl bench cases draw prediction-sets FOLDER`` draws it: set size against final loss of every run, and set
sizes after expected and after dependable training.
"""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.set_size_against_loss import points_of, set_size_against_loss
from depl.benchmarks.figures.set_sizes_of_trainings import set_sizes_of_trainings, sizes_of

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
    set_size_against_loss(points_of(values["points"]), left)
    set_sizes_of_trainings(sizes_of(values["comparisons"]), right)
    return figure


if __name__ == "__main__":  # the older spelling of the command
    import sys

    from depl.cli import main

    sys.exit(main(["bench", "cases", "draw", "prediction-sets", *sys.argv[1:]]))
