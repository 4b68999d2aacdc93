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
    labelled = _labelled(results)
    drawn = new_axes(1, 1, 7.0, 1.4 + 0.4 * len(labelled))[0] if axes is None else axes
    styles = styles_of(item.method for _, item in labelled)
    for row, (_, item) in enumerate(labelled):
        colour, marker, _ = styles[item.method]
        if item.cost is None:
            continue
        if 0 < (low := item.lower_bound) < item.cost:
            drawn.barh(row, item.cost - low, 0.5, low, color=colour, alpha=0.3, label=_BAND)
        drawn.plot([item.cost], [row], marker, color=colour, markersize=7)
    _finish(drawn, labelled)
    return drawn


def _labelled(results: Mapping[str, Result] | Sequence[Result]) -> list[tuple[str, Result]]:
    """Every result with a label of its own."""
    if isinstance(results, Mapping):
        pairs = list(results.items())
    else:
        before = [
            [item.method for item in results[:place]].count(it.method) for place, it in enumerate(results)
        ]
        again = [f" ({times + 1})" if times else "" for times in before]
        pairs = [(f"{item.method}{more}", item) for item, more in zip(results, again, strict=True)]
    if not pairs:
        raise InvalidInputError("there is no result to draw", "results")
    if len({item.instance for _, item in pairs}) > 1:
        raise InvalidInputError("are of different instances; compare results of one", "results")
    return pairs


def _row(label: str, item: Result) -> str:
    """What stands before a row: the label, the cost, and how much of it is proved."""
    if item.cost is None:
        denied = "claimed infeasible" if item.claimed else "proved infeasible"
        return f"{label}: {denied if item.termination is Termination.INFEASIBLE else 'no plan'}"
    gap = item.gap
    if gap is None or item.lower_bound <= 0 < item.cost:
        return f"{label}: {number(item.cost)}, no bound"
    if gap == 0:
        return f"{label}: {number(item.cost)}, {'claimed' if item.claimed else 'proved'} cheapest"
    claimed = "claimed " if item.claimed else ""
    return f"{label}: {number(item.cost)}, {claimed}gap {rounded_up(100 * gap, 3)} %"


def _finish(axes: "Axes", labelled: list[tuple[str, Result]]) -> None:
    sampled = {method.name for method in registered() if method.meaning is Meaning.SCENARIOS}
    proving = [item for _, item in labelled if item.method not in sampled and not item.claimed]
    bounds = [item.lower_bound for item in proving if item.lower_bound > 0]
    finite = [value for value in bounds if math.isfinite(value)]
    if finite:
        label = f"no plan costs less: {rounded_down(max(finite), 6)}"
        axes.axvline(max(finite), color="black", linestyle="--", linewidth=1, label=label)
    rows = [plain(_row(label, item)) for label, item in labelled]
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(labelled) - 0.4, -0.6)
    costs = [item.cost for _, item in labelled if item.cost is not None]
    axes.set_xlim(0, 1.08 * max([*costs, *finite], default=1.0) or 1.0)
    problem = next((item.problem for _, item in labelled if item.problem is not None), None)
    axes.set_xlabel("cost" if problem is None else plain(problem.units.titled("cost", "cost")))
    title_near(axes, "" if problem is None else plain(problem.name))
    legend_beside(axes)
