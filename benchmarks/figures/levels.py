r"""The effect of eta (Figs. 5 and 6, right): cost over the proved optimum against the levels of the graph.

The band is what is true in place of Property 3 (`depl.heuristics.paper.models`): a graph of eta
levels finds a path that costs at most the optimum of budgets smaller by K / eta of T_max and of l(0). The
inequality speaks of a sum of weights, which is the cost only where there is no T_max and the round deadline
alone decides the resources; elsewhere there is no band.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.analysis.growth import size_of
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.drawing import Drawing, Instances, first_of_each, plan_of
from depl.benchmarks.figures.style import (
    Style,
    given_or_new,
    legend_beside,
    make_room,
    panels,
    series_style,
    set_title,
    sized_axis,
    styles_of,
)
from depl.benchmarks.measure.attempt import Attempt
from depl.heuristics.paper.models import with_budgets
from depl.heuristics.paths.additive_labels import best_rate, entropic_label
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.setting import least_weight
from depl.models.evaluation.evaluate import final_loss
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.most_capable import most_capable_cluster
from depl.models.problem.plan import Plan
from depl.models.solving.result import Termination

FEWEST = 3
"""Different numbers of levels from which on there is something to draw."""

Uppers = Mapping[tuple[str, int], float | None]
"""By fingerprint of an instance and levels, up to which ratio the guarantee reaches, if there is one."""


class LevelPoint(NamedTuple):
    """One method with eta = ``levels`` on one instance: cost over the proved optimum, None without a plan."""

    method: str
    levels: int
    instance: str
    instance_hash: str
    ratio: float | None


class RatioCurve(NamedTuple):
    """Mean ratios at several numbers of levels; None where no instance has a finite one.

    ``missed`` is the share of instances in which the graph rounded up finds no path. ``down`` is empty where
    nothing was rounded down.
    """

    label: str
    levels: Sequence[int]
    up: Sequence[float | None]
    down: Sequence[float | None]
    missed: Sequence[float]
    style: Style


def ratio_against_levels(
    curves: Sequence[RatioCurve],
    axes: Axes | None = None,
    band: Sequence[tuple[int, float]] = (),
) -> Axes:
    """Draw cost_up / OPT (solid) and cost_down / OPT (dashed) over the number of levels.

    A marker of the upper line is hollow where the graph misses some instances that have a solution.

    Parameters
    ----------
    curves : sequence of RatioCurve
        Ratios of costs, by eta.
    axes : Axes, optional
        Where to draw; new axes by default.
    band : sequence of (int, float)
        Levels, and up to which ratio a guarantee puts the curves there; shaded from 1.
    """
    axes = given_or_new(axes)
    if band:
        across, upper = zip(*band, strict=True)
        label = "guaranteed, budgets less $K / \\eta$"
        axes.fill_between(across, 1.0, upper, color="0.88", label=label, zorder=0)
    for curve in curves:
        colour, marker, _ = curve.style
        down = curve.down or (None,) * len(curve.levels)
        for ratios, dash, small in ((curve.up, "-", False), (down, "--", True)):
            points = [
                (x, y, missed)
                for x, y, missed in zip(
                    curve.levels, ratios or [None] * len(curve.levels), curve.missed, strict=True
                )
                if y is not None
            ]
            axes.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, linestyle=dash)
            for x, y, missed in points:
                look: dict[str, Any] = (
                    {"markersize": 3} if small else {"markerfacecolor": "white" if missed else colour}
                )
                axes.plot(x, y, marker, color=colour, **look)
        axes.plot([], [], marker, color=colour, linestyle="-", label=curve.label)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    sized_axis(axes, "levels $\\eta$", [level for curve in curves for level in curve.levels])
    axes.set_ylabel("cost in the graph / optimum")
    if any(any(curve.missed) for curve in curves):
        axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="some instances: no path")
    if any(curve.down for curve in curves):
        axes.plot([], [], color="0.3", linestyle="-", label="rounded up: keeps the limits")
        axes.plot([], [], color="0.3", linestyle="--", label="rounded down: a lower bound")
    legend_beside(axes)
    return axes


def curves_of(rows: Sequence[Mapping[str, Any]]) -> list[RatioCurve]:
    """The curves in the record of the study ``graph``: its value ``curves``, one line per K."""
    curves = []
    for place, epochs in enumerate(dict.fromkeys(row["epochs"] for row in rows)):
        part = [row for row in rows if row["epochs"] == epochs]
        columns: list[list[Any]] = [
            [row[name] for row in part] for name in ("eta", "up_mean", "down_mean", "missed")
        ]
        levels, up, down, missed = columns
        curves.append(RatioCurve(f"K = {epochs}", levels, up, down, missed, series_style(place)))
    return curves


def level_points(attempts: Sequence[Attempt]) -> list[LevelPoint]:
    """Cost over the proved optimum of every attempt with an option ``eta``.

    Refusals, and instances whose optimum no attempt proves, are left out.
    """
    found = []
    for attempt, trial in trials(first_of_each(attempts)):
        levels, name = levels_of(attempt), attempt.task.instance
        if levels is not None and trial.reference.optimum is not None and attempt.ending != "refused":
            found.append(LevelPoint(attempt.method, levels, name, attempt.instance_hash, trial.ratio))
    return found


def levels_of(attempt: Attempt) -> int | None:
    """The option ``eta`` of an attempt; None if it has none."""
    options = attempt.settings.get("options")
    size = size_of(attempt, "eta") if isinstance(options, dict) and "eta" in options else None
    return None if size is None else int(size)


def level_drawing(family: str, attempts: Sequence[Attempt], instances: Instances) -> Drawing | None:
    """The drawing of one family; None if fewer than three numbers of levels were tried.

    Parameters
    ----------
    attempts : sequence of Attempt
        On the instances of the family, of all suites: the optima may come from another one.
    instances : Instances
        Makes the instances that the band needs.
    """
    points = level_points(attempts)
    levels = sorted({point.levels for point in points})
    if len(levels) < FEWEST:
        return None
    uppers = _uppers(attempts, instances, points, levels)
    figure, (axes,) = panels(1)
    ratio_against_levels(level_curves(points), axes, _band(uppers, levels))
    axes.set_ylabel("cost / optimum, mean over targets")
    set_title(axes, family)
    make_room(figure)
    caption = (
        f"{family}: mean cost over the optimum against the levels eta (as Figs. 5 and 6, right); hollow "
        "markers where some targets are missed; shaded: what is guaranteed for the graph."
    )
    rows = [
        (method, eta, name, value, uppers[instance, eta]) for method, eta, name, instance, value in points
    ]
    columns = ("method", "eta", "instance", "cost_over_optimum", "guaranteed")
    return Drawing(f"{family}-levels", caption, figure, Table(columns, tuple(rows)))


def level_curves(points: Sequence[LevelPoint]) -> list[RatioCurve]:
    """By method the mean ratio over the instances at every number of levels, and the share that it misses."""
    curves = []
    for method, style in styles_of(point.method for point in points).items():
        own = [point for point in points if point.method == method]
        levels = sorted({point.levels for point in own})
        columns = [[point.ratio for point in own if point.levels == level] for level in levels]
        known = [[ratio for ratio in column if ratio is not None] for column in columns]
        means = [math.fsum(column) / len(column) if column else None for column in known]
        missed = [1 - len(some) / len(column) for some, column in zip(known, columns, strict=True)]
        curves.append(RatioCurve(method, levels, means, (), missed, style))
    return curves


def guaranteed_ratio(instance: Instance, optimum: Plan, cost: float, levels: int) -> float | None:
    """The upper end of the band on one instance.

    The label is the entropic one, which is never below the quantile, at the rate that fits the optimal plan;
    so what the graph finds is feasible, and the lower end of the band is 1.

    Parameters
    ----------
    instance : Instance
    optimum : Plan
        A plan that is proved cheapest.
    cost : float
        Its cost, positive [cost].
    levels : int
        eta.

    Returns
    -------
    float or None
        None if the smaller budgets cannot be met, or the inequality does not speak of the cost.
    """
    if instance.target.maximum_time is not None or not cost > 0:
        return None
    budget = instance.target.violation_budget
    try:
        rate = best_rate(final_loss(instance, optimum), budget)
        if rate is None:  # a plan without noise
            return None
        data = frozenset(item.name for item in instance.datasets)
        cluster = most_capable_cluster(instance).name
        problem = additive_problem(instance, data, cluster, entropic_label(budget, rate))
    except NotCoveredError:  # the entropic label does not exist, or losses do not add up
        return None
    found = least_weight(with_budgets(problem, levels, -1))
    proved = found.termination is Termination.OPTIMAL
    return found.weight / cost if proved and math.isfinite(found.weight) else None


def _uppers(
    attempts: Sequence[Attempt], instances: Instances, points: Sequence[LevelPoint], levels: Sequence[int]
) -> Uppers:
    """The upper ends of the band on the instances of some points."""
    found: dict[tuple[str, int], float | None] = {
        (point.instance_hash, level): None for point in points for level in levels
    }
    done = set()
    for attempt, trial in trials(attempts):
        own, plan = attempt.instance_hash, plan_of(attempt)
        if not attempt.proved_optimal or trial.ratio is None or own in done or (own, levels[0]) not in found:
            continue
        instance = instances.of(attempt)
        if instance is not None and plan is not None and attempt.cost is not None:
            done.add(own)
            for level in levels:
                found[own, level] = guaranteed_ratio(instance, plan, attempt.cost, level)
    return found


def _band(uppers: Uppers, levels: Sequence[int]) -> list[tuple[int, float]]:
    """The mean upper end over the instances, at the levels at which every instance has one."""
    found = []
    for level in levels:
        column = [value for (_, own), value in uppers.items() if own == level]
        known = [value for value in column if value is not None]
        if known and len(known) == len(column):
            found.append((level, math.fsum(known) / len(known)))
    return found
