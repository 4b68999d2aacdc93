r"""The effect of eta (Figs. 5 and 6, right): cost over the proved optimum against the levels of the graph.

The band is what is true in place of Property 3 (`depl.heuristics.paths.graph_guarantees`): a graph of eta
levels finds a path that costs at most the optimum of budgets smaller by K / eta of T_max and of l(0). Its
upper end is that optimum over the true one. The label is the entropic one, which is never below the quantile,
at the rate that fits the optimal plan; so what it finds is feasible, and the lower end of the band is 1. The
inequality speaks of a sum of weights, which is the cost only where there is no T_max and the round deadline
alone decides the resources; elsewhere there is no band.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.growth import size_of
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.legends import make_room, set_title
from depl.benchmarks.figures.of_drawing import Drawing
from depl.benchmarks.figures.of_instances import Instances, first_of_each, plan_of
from depl.benchmarks.figures.ratio_against_levels import LevelBand, RatioCurve, ratio_against_levels
from depl.benchmarks.measure.attempt import Attempt
from depl.heuristics.data.most_capable import most_capable_cluster
from depl.heuristics.paths.additive_labels import best_rate, entropic_label
from depl.heuristics.paths.additive_problem import AdditiveProblem, additive_problem
from depl.heuristics.paths.graph_guarantees import tightened
from depl.heuristics.paths.setting import least_weight
from depl.models.evaluation.evaluate import final_loss
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Termination

FEWEST = 3
"""Different numbers of levels from which on there is something to draw."""


@dataclass(frozen=True)
class LevelPoint:
    """One method with one number of levels on one instance.

    Attributes
    ----------
    method : str
    levels : int
        eta.
    instance, instance_hash : str
    ratio : float or None
        Cost over the proved optimum; None without a plan.
    """

    method: str
    levels: int
    instance: str
    instance_hash: str
    ratio: float | None


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


def guaranteed_ratio(instance: Instance, optimum: Plan, cost: float, levels: int) -> float | None:
    """The upper end of the band on one instance.

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
    try:
        problem = _problem(instance, optimum)
    except NotCoveredError:  # the entropic label does not exist, or losses do not add up
        return None
    if problem is None:
        return None
    found = least_weight(tightened(problem, levels))
    proved = found.termination is Termination.OPTIMAL
    return found.weight / cost if proved and math.isfinite(found.weight) else None


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
    uppers = _uppers(
        attempts, instances, list(dict.fromkeys(point.instance_hash for point in points)), levels
    )
    figure, (axes,) = panels(1)
    ratio_against_levels(level_curves(points), axes, _band(uppers, levels))
    axes.set_ylabel("cost / optimum, mean over targets")
    set_title(axes, family)
    make_room(figure)
    caption = (
        f"{family}: mean cost over the optimum against the levels eta (as Figs. 5 and 6, right); hollow "
        "markers where some targets are missed; shaded: what is guaranteed for the graph."
    )
    return Drawing(f"{family}-levels", caption, figure, _table(points, uppers))


def _problem(instance: Instance, optimum: Plan) -> AdditiveProblem | None:
    """Model selection with the entropic label that fits a plan; None for a plan without noise."""
    budget = instance.target.violation_budget
    rate = best_rate(final_loss(instance, optimum), budget)
    if rate is None:
        return None
    return additive_problem(
        instance,
        frozenset(item.name for item in instance.datasets),
        most_capable_cluster(instance).name,
        entropic_label(budget, rate),
    )


def level_curves(points: Sequence[LevelPoint]) -> list[RatioCurve]:
    """By method the mean ratio over the instances at every number of levels, and the share that it misses."""
    curves = []
    for method in dict.fromkeys(point.method for point in points):
        own = [point for point in points if point.method == method]
        levels = sorted({point.levels for point in own})
        columns = [[point.ratio for point in own if point.levels == level] for level in levels]
        known = [[ratio for ratio in column if ratio is not None] for column in columns]
        means = [math.fsum(column) / len(column) if column else None for column in known]
        missed = [1 - len(some) / len(column) for some, column in zip(known, columns, strict=True)]
        curves.append(RatioCurve(method, levels, means, (), missed))
    return curves


def _uppers(
    attempts: Sequence[Attempt], instances: Instances, hashes: Sequence[str], levels: Sequence[int]
) -> dict[tuple[str, int], float | None]:
    """The upper end of the band by instance and levels, None where there is none."""
    found: dict[tuple[str, int], float | None] = {(own, level): None for own in hashes for level in levels}
    done = set()
    for attempt, trial in trials(attempts):
        own, plan = attempt.instance_hash, plan_of(attempt)
        if not attempt.proved_optimal or trial.ratio is None or own not in hashes or own in done:
            continue
        instance = instances.of(attempt)
        if instance is not None and plan is not None and attempt.cost is not None:
            done.add(own)
            for level in levels:
                found[own, level] = guaranteed_ratio(instance, plan, attempt.cost, level)
    return found


def _band(uppers: Mapping[tuple[str, int], float | None], levels: Sequence[int]) -> LevelBand | None:
    """The mean upper end over the instances, at the levels at which every instance has one."""
    columns = [[value for (_, own), value in uppers.items() if own == level] for level in levels]
    means = [_mean(column) for column in columns]
    if all(mean is None for mean in means):
        return None
    return LevelBand("guaranteed, budgets less $K / \\eta$", levels, means)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _table(points: Sequence[LevelPoint], uppers: Mapping[tuple[str, int], float | None]) -> Table:
    rows = [
        (point.method, point.levels, point.instance, point.ratio, uppers[point.instance_hash, point.levels])
        for point in points
    ]
    return Table(("method", "eta", "instance", "cost_over_optimum", "guaranteed"), tuple(rows))
