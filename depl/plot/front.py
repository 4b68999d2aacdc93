"""A front: the band from the proved lower bound up to the cost of the plan, over the budgets in its range."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.figures.style import COLOURS, legend_near, new_axes, plain
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import number, percentage
from depl.models.solving.budgets import Budget
from depl.models.solving.front_points import Front, FrontPoint
from depl.models.solving.front_range import MARKS
from depl.models.solving.result import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMES = {
    Budget.LOSS: "bound on the loss $\\ell_{\\max}$",
    Budget.TIME: "limit of time $T_{\\max}$",
    Budget.PROBABILITY: "probability $\\omega$ of keeping $\\ell_{\\max}$",
}
_TICKS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999)
"""Values of omega that are written at the axis, as far as they are drawn."""

_BEYOND = 0.06
"""Share of the range by which the axis goes beyond its ends, so that what is infeasible shows as a region."""

_NINES = 1e-15
"""Least 1 - omega on the axis: that of the greatest number below 1 is a tenth of it."""

_BOUND, _COST, _INFEASIBLE = COLOURS[2], COLOURS[0], "0.8"


def front(front: Front, axes: "Axes | None" = None) -> "Axes":
    """Draw the cost of plans over their budgets, and beneath it the lower bound of any plan.

    Between two budgets the cost is that of the tighter plan, which keeps the looser one, too, and the bound
    that of the looser budget, so both are steps; the optimum lies in the band between them. Where nothing is
    concluded from one budget about another (omega under a fitted law), points stand alone. Full marks are
    plans that are proved to be cheapest. The axis of omega counts nines: 0.9 and 0.99 are as far apart as
    0.99 and 0.999.

    Parameters
    ----------
    front : Front
    axes : Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        If the front has no point.
    """
    if not front.points:
        raise InvalidInputError("has no point to draw", "front")
    drawn = new_axes(1, 1, 7.5, 3.8)[0] if axes is None else axes
    beyond = _axis(front, drawn)
    if front.nested:
        _draw_steps(front, drawn)
    _draw_infeasible(front, drawn, beyond)
    _draw_points(front, drawn)
    if front.against is Budget.PROBABILITY:
        _draw_marks(front, drawn)
    _finish(front, drawn)
    return drawn


def _nines(omega: Any) -> Any:
    return -np.log10(np.maximum(1 - np.asarray(omega, dtype=float), _NINES))


def _omega(nines: Any) -> Any:
    return 1 - 10.0 ** -np.asarray(nines, dtype=float)


def _axis(front: Front, axes: "Axes") -> float:
    """Set scale and limits of the budgets; the limit on the tight side."""
    loosest, tightest = front.points[0].budget, front.points[-1].budget
    if front.against is Budget.PROBABILITY:
        axes.set_xscale("function", functions=(_nines, _omega))
        first, last = float(_nines(loosest)), float(_nines(tightest))
        margin = _BEYOND * ((last - first) or 1.0)
        low, high = float(_omega(first - margin)), float(_omega(last + margin))
        axes.set_xlim(low, high)
        ticks = [tick for tick in _TICKS if low <= tick <= high] or [loosest, tightest]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        return high
    margin = _BEYOND * (abs(loosest - tightest) or abs(loosest) or 1.0)
    axes.set_xlim(tightest - margin, loosest + margin)
    return tightest - margin


def _draw_steps(front: Front, axes: "Axes") -> None:
    """The band between each two neighbouring budgets, as far as both of its sides are finite."""
    across: list[float] = []
    below: list[float] = []
    above: list[float] = []
    for looser, tighter in zip(front.points, front.points[1:], strict=False):
        lower, cost = front.bounds((looser.budget + tighter.budget) / 2)
        if math.isfinite(lower):
            across += [looser.budget, tighter.budget]
            below += [lower, lower]
            above += [cost if math.isfinite(cost) else math.nan] * 2
    axes.fill_between(
        across, below, above, color=_COST, alpha=0.2, linewidth=0, label="the optimum is in here"
    )
    axes.plot(across, above, color=_COST, linewidth=1.5, label="cheapest plan known")
    axes.plot(
        across,
        below,
        color=_BOUND,
        linewidth=1.2,
        linestyle="--",
        label=f"no plan costs less: {_word(front)}",
    )


def _word(front: Front) -> str:
    """Whether what is said of all plans is proved, or the claim of a method that is not depl's."""
    return "claimed" if any(point.result.claimed for point in front) else "proved"


def _draw_infeasible(front: Front, axes: "Axes", beyond: float) -> None:
    """Shade from the loosest budget that no plan keeps on, and before it what nothing is known of."""
    none = [point.budget for point in front if point.infeasible]
    what = "not promised on these runs" if front.instance.has_memory else "infeasible"
    label = f"{what}: {_word(front)}"
    if front.nested:
        known = [point.budget for point in front if point.plan is not None]
        ends = none[0] if none else front.points[-1].budget
        begins = known[-1] if known else front.points[0].budget
        if begins != ends:
            axes.axvspan(
                begins, ends, fill=False, hatch="...", color="0.8", linewidth=0, label="no plan known"
            )
        if none:
            axes.axvspan(ends, beyond, color=_INFEASIBLE, linewidth=0, zorder=0, label=label)
    elif none:
        floor = axes.get_xaxis_transform()
        axes.plot(none, [0.0] * len(none), "x", color="black", transform=floor, clip_on=False, label=label)


def _draw_points(front: Front, axes: "Axes") -> None:
    """A mark at every plan, hollow where it is not proved cheapest, with a line down to its own bound."""
    proved: list[tuple[float, float]] = []
    others: list[tuple[float, float]] = []
    for point in front:
        if point.cost is not None:
            same = proved if point.solution is Solution.PROVEN_OPTIMAL else others
            same.append((point.budget, point.cost))
            if point.lower_bound < point.cost and same is others:
                ends = point.lower_bound, point.cost
                axes.vlines(point.budget, *ends, color=_BOUND, linewidth=1, label="down to its own bound")
    for pairs, face, label in (
        (proved, _COST, "proved cheapest"),
        (others, "white", "feasible, not proved cheapest"),
    ):
        if pairs:
            x, y = zip(*pairs, strict=True)
            axes.plot(x, y, "o", markersize=5, color=_COST, markerfacecolor=face, label=label)


def _draw_marks(front: Front, axes: "Axes") -> None:
    """Lines at 0.9, 0.95 and 0.99, with the cost there."""
    marked: list[FrontPoint] = [point for point in front if point.budget in MARKS]
    for point in marked:
        axes.axvline(point.budget, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        if point.cost is not None:
            place = (point.budget, point.cost)
            axes.annotate(
                number(point.cost, 4),
                place,
                (-4, 5),
                textcoords="offset points",
                ha="right",
                fontsize="small",
            )


def _message(front: Front) -> str:
    """What tightening the budget costs: from 0.9 to 0.99 where both are there, else over the whole range."""
    priced = [(point.budget, point.cost) for point in front if point.cost]
    marked = [pair for pair in priced if pair[0] in (MARKS[0], MARKS[-1])]
    ends = marked if front.against is Budget.PROBABILITY and len(marked) == 2 else [*priced[:1], *priced[-1:]]
    if len({budget for budget, _ in ends}) < 2:
        return "one budget has a plan" if priced else "no plan is known"
    (loose, less), (tight, more) = ends
    if front.against is Budget.PROBABILITY:
        return f"{number(tight, 4)} instead of {number(loose, 4)} costs {percentage(more / less - 1)} more"
    return (
        f"from a cost of {number(less, 4)} at {number(loose, 4)} to {number(more, 4)} at {number(tight, 4)}"
    )


def _finish(front: Front, axes: "Axes") -> None:
    costs = [point.cost for point in front if point.cost is not None]
    bounds = [point.lower_bound for point in front if math.isfinite(point.lower_bound)]
    axes.set_ylim(0, 1.1 * max([*costs, *bounds], default=1.0) or 1.0)
    name = _NAMES[front.against]
    axes.set_xlabel(
        name + plain(front.instance.units.titled("", "time")) if front.against is Budget.TIME else name
    )
    axes.set_ylabel(plain(front.instance.units.titled("cost", "cost")))
    assumed = "under the fitted law" if front.instance.has_memory else "under the instance's laws"
    title = f"{front.instance.name}: {_message(front)}\nplans certified {assumed}"
    axes.set_title(plain(title), fontsize="small", loc="left")
    legend_near(axes)
