"""Further figures of attempts that tables and figures of the paper's kind need; None without a plan."""

import math
from collections.abc import Mapping

from depl.benchmarks.measure.registry import Draw
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.data.select import select_datasets
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import placement_problem
from depl.models.evaluation.evaluate import epoch_loads, law_of_end
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.decisions import Stage
from depl.models.solving.result import Result


def plan_measures(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """What a plan costs and promises.

    ``expected_loss``, and upper ends of the certified omega- and (1 - omega)-quantile of l(K) (``quantile``,
    ``quantile_low``) [loss]; ``violation_allowed``, 1 - omega; ``cost_of.MODEL``, what the epochs of each
    model cost [cost].
    """
    allowed = float(instance.target.violation_budget)
    if result.plan is None:
        return {"violation_allowed": allowed}
    costs = costs_by_model(instance, result.plan)
    high = result.quantile
    # The level omega of the lower quantile: P(l(K) > value) = omega.
    low = law_of_end(instance, result.plan).quantile(1 - instance.target.violation_budget)
    return {
        "violation_allowed": allowed,
        "expected_loss": result.expected_loss,
        "quantile": None if high is None else high.upper,
        "quantile_low": low.upper,
        **{f"cost_of.{model}": cost for model, cost in costs.items()},
    }


def costs_by_model(instance: Instance, plan: Plan) -> dict[str, float]:
    """What the resources of each model's epochs cost, 0 for models that a plan does not use [cost]."""
    parts: dict[str, list[float]] = {model.name: [] for model in instance.models}
    for epoch, asked in zip(plan.epochs, epoch_loads(instance, plan), strict=True):
        parts[epoch.model].append(asked.price * epoch.resources)
    return {model: math.fsum(costs) for model, costs in parts.items()}


def printed_steps(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """What each printed step of ``depl-paper`` loses against the exact stage, given what went before it.

    ``data_over_best`` is K^ T^ of the set that stage 1 begins with, over the least of all sets (proved
    without submodularity); ``placement_over_best`` the cost of the plan over that of the cheapest placement
    of its own models and data: 1 where the step loses nothing. ``placements_late`` is how many paths stage 3
    gave up because what it rounded misses a limit. Other methods have none of them.
    """
    if result.method != "depl-paper":
        return {}
    chosen = [item.value for item in result.decisions if item.stage is Stage.DATA and item.value is not None]
    late = [item for item in result.decisions if item.stage is Stage.RESOURCES and not item.kept]
    return {
        "data_over_best": _data_over_best(instance, chosen[0]) if chosen else None,
        "placement_over_best": _placement_over_best(instance, result),
        "placements_late": float(len(late)),
    }


def _data_over_best(instance: Instance, value: float) -> float | None:
    best = select_datasets(selection_problem(instance))
    return value / best.value if best.optimal and best.value > 0 else None


def _placement_over_best(instance: Instance, result: Result) -> float | None:
    if result.plan is None or not result.plan.epochs or result.cost is None:
        return None
    datasets = frozenset(name for item in result.plan.data for name in item.datasets)
    data = {item.name: datasets for item in instance.clusters}
    found = place(placement_problem(instance, [epoch.model for epoch in result.plan.epochs], data))
    return result.cost / found.cost if found.optimal and found.cost > 0 else None
