"""Curves of the lessons: several against one coordinate, with levels across; plans as marks."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from depl.benchmarks.figures.style import COLOURS, MARKERS, nth
from depl.lessons.drawing import drawn_on
from depl.models.evaluation.evaluate import Evaluation
from depl.models.problem.allocation import Allocation
from depl.models.problem.instance import Target
from depl.models.problem.plan import Plan
from depl.models.traces.table import Traces
from depl.plot.traces import traces

Points = tuple[Sequence[float], Sequence[float]]
"""Coordinates of a curve: all x, all y."""
_LINES = ("-", "--", ":", "-.")
_GREY = "#444444"


def draw_curves(
    curves: Mapping[str, Points],
    labels: tuple[str, str],
    *,
    across: Mapping[str, float] | None = None,
    scales: tuple[str, str] = ("linear", "linear"),
    marks: Collection[str] = (),
    steps: bool = False,
    grid: tuple[float, float] | None = None,
    ticks: Sequence[float] = (),
    axes: Axes | None = None,
) -> None:
    """Draw curves with their names.

    Parameters
    ----------
    curves : mapping of str to Points
        The points of every curve by its name.
    labels : (str, str)
        What the axes show, x first.
    across : mapping of str to float, optional
        Heights of horizontal lines by their names.
    scales : (str, str)
        ``"linear"`` or ``"log"``, x first.
    marks : collection of str
        Curves whose points are marked, by their names.
    steps : bool
        Keep the height of a point until halfway to the next.
    grid : (float, float), optional
        Widths of the cells of a grid, x first.
    ticks : sequence of float
        The only ticks of the x axis.
    axes : Axes, optional
        Where to draw; a new figure by default.
    """
    with drawn_on(axes, 6.8, 3.6 if grid is None else 4.2) as place:
        for index, (name, (x, y)) in enumerate(curves.items()):
            place.plot(
                x,
                y,
                marker=nth(MARKERS, index) if name in marks else "",
                drawstyle="steps-mid" if steps else "default",
                color=nth(COLOURS, index),
                linestyle=nth(_LINES, index),
                label=name,
            )
        place.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0], yscale=scales[1])
        for index, (name, height) in enumerate((across or {}).items()):
            place.axhline(height, color=_GREY, linestyle=nth(_LINES, index + 1), linewidth=1, label=name)
        if grid is not None:
            _draw_grid(place, grid)
        if ticks:
            place.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            place.minorticks_off()
        place.legend()


def draw_runs(runs: Traces, targets: Sequence[float] = (), axes: Axes | None = None) -> None:
    """Draw the loss of every run after every epoch, in the colour of the model that was trained.

    Parameters
    ----------
    runs : Traces
    targets : sequence of float
        Losses that are drawn as lines.
    axes : Axes, optional
        Where to draw; a new figure by default.
    """
    with drawn_on(axes, 7.2, 3.8) as place:
        traces(runs, targets, axes=place)


def draw_missed(
    plans: Sequence[tuple[Plan, Evaluation]],
    target: Target,
    named: Mapping[str, Evaluation],
    axes: Axes | None = None,
) -> None:
    """Draw for every plan how probably it misses the target, against its expected loss.

    Parameters
    ----------
    plans : sequence of (Plan, Evaluation)
        The more expensive of two plans at one place is hidden by the cheaper. Colours end at twice the cost
        of the most expensive plan that is named.
    target : Target
        Its maximum loss and its probability are drawn as lines.
    named : mapping of str to Evaluation
        Plans that are pointed at, by name.
    axes : Axes, optional
        Where to draw; a new figure by default.
    """
    seen = [(found.expected_loss, found.violation.middle, found.cost) for _, found in plans]
    means, misses, costs = np.array(sorted(seen, key=lambda row: -row[2])).T
    with drawn_on(axes, 7.2, 4.2) as place:
        dots = place.scatter(
            means,
            misses,
            c=costs,
            cmap="cividis",
            vmax=2 * max(found.cost for found in named.values()),
            edgecolor=_GREY,
        )
        place.figure.colorbar(dots, ax=place, label="cost", extend="max")
        mean = f"target of the mean, {target.maximum_loss:g}"
        place.axvline(target.maximum_loss, color=COLOURS[1], ls="--", label=mean)
        budget = float(target.violation_budget)
        place.axhline(budget, color=COLOURS[0], label=f"promise, 1 - ω = {budget:g}")
        for index, (name, found) in enumerate(named.items()):
            mark = found.expected_loss, found.violation.middle
            aside = (min(means), 0.64 - 0.2 * index)
            place.annotate(name, mark, aside, arrowprops={"arrowstyle": "->"})
        place.set(xlabel="expected final loss", ylabel=f"probability of missing {target.maximum_loss:g}")
        place.legend(loc="lower right")


def draw_allocations(
    limits: Sequence[float], answers: Sequence[Allocation], epochs: Mapping[str, int]
) -> None:
    """Draw resources and cost against the limit of time, in two panels of a new figure.

    Parameters
    ----------
    limits : sequence of float
        Limits of time.
    answers : sequence of Allocation
        The cheapest resources at each limit.
    epochs : mapping of str to int
        Which epochs are shown, from 0, by name.
    """
    _, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
    resources = {
        name: (limits, [answer.resources[place] for answer in answers]) for name, place in epochs.items()
    }
    draw_curves(resources, ("limit of time T", "resources x"), axes=left)
    right.plot(limits, [answer.cost for answer in answers], color=COLOURS[0])
    right.set(xlabel="limit of time T", ylabel="cost of all epochs")
    plt.show()


def _draw_grid(axes: Axes, cell: tuple[float, float]) -> None:
    """Draw lines at all multiples of the widths of a cell that are in sight."""
    for axis, (low, high), width in (
        (axes.xaxis, axes.get_xlim(), cell[0]),
        (axes.yaxis, axes.get_ylim(), cell[1]),
    ):
        axis.set_ticks(np.arange(np.ceil(low / width), np.floor(high / width) + 1) * width)
    axes.grid(alpha=0.4)
