"""A front: the band from the proved lower bound up to the cost of the plan, over the budgets in its range."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.figures.style import COLOURS, legend_beside, new_axes, plain, title_near
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import number
from depl.models.solving.edge import MARKS, Budget
from depl.models.solving.front import Front
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
            below += [lower] * 2
            above += [cost if math.isfinite(cost) else math.nan] * 2
    inside: dict[str, Any] = {"color": _COST, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(across, below, above, label="the optimum is in here", **inside)
    axes.plot(across, above, color=_COST, linewidth=1.5, label="cheapest plan known")
    label = f"no plan costs less: {_word(front)}"
    axes.plot(across, below, color=_BOUND, linewidth=1.2, linestyle="--", label=label)


def _word(front: Front) -> str:
    """Whether what is said of all plans is proved, or the claim of a method that is not depl's."""
    return "claimed" if any(point.result.claimed for point in front) else "proved"


def _draw_infeasible(front: Front, axes: "Axes", beyond: float) -> None:
    """Shade from the loosest budget that no plan keeps on, and before it what nothing is known of."""
    none = [point.budget for point in front if point.infeasible]
    what = "not promised on these runs" if front.instance.has_memory else "infeasible"
    label = f"{what}: {_word(front)}"
    if not front.nested:
        if none:
            floor: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(none, [0.0] * len(none), "x", color="black", label=label, **floor)
        return
    known = [point.budget for point in front if point.plan is not None]
    ends = none[0] if none else front.points[-1].budget
    begins = known[-1] if known else front.points[0].budget
    if begins != ends:
        dotted: dict[str, Any] = {"fill": False, "hatch": "...", "color": "0.8", "linewidth": 0}
        axes.axvspan(begins, ends, label="no plan known", **dotted)
    if none:
        axes.axvspan(ends, beyond, color=_INFEASIBLE, linewidth=0, zorder=0, label=label)


def _draw_points(front: Front, axes: "Axes") -> None:
    """A mark at every plan, hollow where it is not proved cheapest, with a line down to its own bound."""
    held = [(point, point.cost) for point in front if point.cost is not None]
    look: dict[str, Any] = {"color": _BOUND, "linewidth": 1, "label": "down to its own bound"}
    for face, label in ((_COST, "proved cheapest"), ("white", "feasible, not proved cheapest")):
        some = [own for own in held if (own[0].solution is Solution.PROVEN_OPTIMAL) == (face == _COST)]
        for point, cost in some:
            if face == "white" and point.lower_bound < cost:
                axes.vlines(point.budget, point.lower_bound, cost, **look)
        if some:
            at = [point.budget for point, _ in some], [cost for _, cost in some]
            axes.plot(*at, "o", markersize=5, color=_COST, markerfacecolor=face, label=label)


def _draw_marks(front: Front, axes: "Axes") -> None:
    for point in front:
        if point.budget in MARKS:
            axes.axvline(point.budget, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
            if point.cost is not None:
                aside: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": "small"}
                axes.annotate(number(point.cost, 4), (point.budget, point.cost), (-4, 5), **aside)


def _finish(front: Front, axes: "Axes") -> None:
    costs = [point.cost for point in front if point.cost is not None]
    bounds = [point.lower_bound for point in front if math.isfinite(point.lower_bound)]
    axes.set_ylim(0, 1.1 * max([*costs, *bounds], default=1.0) or 1.0)
    units = front.instance.units
    unit = units.titled("", "time") if front.against is Budget.TIME else ""
    axes.set(xlabel=_NAMES[front.against] + plain(unit), ylabel=plain(units.titled("cost", "cost")))
    assumed = "under the fitted law" if front.instance.has_memory else "under the instance's laws"
    title_near(axes, plain(f"{front.instance.name}: plans certified {assumed}"))
    legend_beside(axes)
