"""Several answers to one instance: what each plan costs, and how far below it the optimum may lie."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from depl.benchmarks.figures.style import legend_beside, new_axes, plain, styles_of, title_near
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import number, rounded_down, rounded_up
from depl.models.solving.methods import Meaning, registered
from depl.models.solving.result import Result, Termination

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAND = "from a lower bound to the cost"


def compare(results: Mapping[str, Result] | Sequence[Result], axes: "Axes | None" = None) -> "Axes":
    """Draw a row per result: a mark at its cost, and a bar from its own lower bound up to it.

    Every method has the colour and the mark that it has in all figures. A dashed line is the greatest lower
    bound that one of the methods proved under the law: no plan costs less.

    Parameters
    ----------
    results : mapping of label to Result, or sequence of Result
        All of one instance; results without a label are called by their method.
    axes : Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        If there is no result, or they are of different instances.
    """
    found = [*results.values()] if isinstance(results, Mapping) else [*results]
    labels = [*results] if isinstance(results, Mapping) else [item.method for item in results]
    if not found:
        raise InvalidInputError("there is no result to draw", "results")
    if len({item.instance for item in found}) > 1:
        raise InvalidInputError("are of different instances; compare results of one", "results")
    drawn = new_axes(1, 1, 7.0, 1.4 + 0.4 * len(found))[0] if axes is None else axes
    styles = styles_of(item.method for item in found)
    for row, item in enumerate(found):
        colour, marker, _ = styles[item.method]
        if item.cost is None:
            continue
        if 0 < (low := item.lower_bound) < item.cost:
            drawn.barh(row, item.cost - low, 0.5, low, color=colour, alpha=0.3, label=_BAND)
        drawn.plot([item.cost], [row], marker, color=colour, markersize=7)
    sampled = {method.name for method in registered() if method.meaning is Meaning.SCENARIOS}
    proving = [item.lower_bound for item in found if item.method not in sampled and not item.claimed]
    bounds = [bound for bound in proving if 0 < bound < math.inf]
    if bounds:
        label = f"no plan costs less: {rounded_down(max(bounds), 6)}"
        drawn.axvline(max(bounds), color="black", linestyle="--", linewidth=1, label=label)
    rows = [plain(f"{label}: {_said(item)}") for label, item in zip(labels, found, strict=True)]
    drawn.set_yticks(range(len(rows)), rows)
    drawn.set_ylim(len(rows) - 0.4, -0.6)
    costs = [item.cost for item in found if item.cost is not None]
    drawn.set_xlim(0, 1.08 * max([*costs, *bounds], default=1.0) or 1.0)
    problem = next((item.problem for item in found if item.problem is not None), None)
    drawn.set_xlabel("cost" if problem is None else plain(problem.units.titled("cost", "cost")))
    title_near(drawn, "" if problem is None else plain(problem.name))
    legend_beside(drawn)
    return drawn


def _said(item: Result) -> str:
    """The cost, and how much of it is proved."""
    word = "claimed" if item.claimed else "proved"
    if item.cost is None:
        return f"{word} infeasible" if item.termination is Termination.INFEASIBLE else "no plan"
    if item.gap is None or item.lower_bound <= 0 < item.cost:
        return f"{number(item.cost)}, no bound"
    if item.gap == 0:
        return f"{number(item.cost)}, {word} cheapest"
    return f"{number(item.cost)}, {'claimed ' * item.claimed}gap {rounded_up(100 * item.gap, 3)} %"
