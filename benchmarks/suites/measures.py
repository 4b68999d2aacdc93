"""Further figures of a plan that tables and figures of the paper's kind need, from the instance and the plan.

Names, all numbers or None where there is no plan:

- ``expected_loss``: E l(K) [loss];
- ``quantile``, ``quantile_low``: upper ends of the certified omega- and (1 - omega)-quantile of l(K) [loss];
- ``violation_allowed``: 1 - omega;
- ``cost_of.MODEL``: what the epochs of a model cost, for all models of the instance [cost];
- ``transfer_cost``: what is paid for moving data [cost];
- ``training_time``: sum of T(k) [time].
"""

import math
from collections.abc import Mapping

from depl.benchmarks.measure.registry import Draw
from depl.models.evaluation.evaluate import epoch_loads, law_of_end
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result


def plan_measures(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """The figures that the module lists."""
    allowed = float(instance.target.violation_budget)
    if result.plan is None:
        return {"violation_allowed": allowed}
    costs = costs_by_model(instance, result.plan)
    spent = math.fsum(costs.values())
    high = result.quantile
    # The level omega of the lower quantile: P(l(K) > value) = omega.
    low = law_of_end(instance, result.plan).quantile(1 - instance.target.violation_budget)
    return {
        "violation_allowed": allowed,
        "expected_loss": result.expected_loss,
        "quantile": None if high is None else high.upper,
        "quantile_low": low.upper,
        "training_time": result.training_time,
        "transfer_cost": None if result.cost is None else max(result.cost - spent, 0.0),
        **{f"cost_of.{model}": cost for model, cost in costs.items()},
    }


def costs_by_model(instance: Instance, plan: Plan) -> dict[str, float]:
    """What the resources of each model's epochs cost, 0 for models that a plan does not use [cost]."""
    parts: dict[str, list[float]] = {model.name: [] for model in instance.models}
    for epoch, asked in zip(plan.epochs, epoch_loads(instance, plan), strict=True):
        parts[epoch.model].append(asked.price * epoch.resources)
    return {model: math.fsum(costs) for model, costs in parts.items()}
