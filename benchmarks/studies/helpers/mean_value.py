"""The mean-value problem and its repair; the page "How good is a plan?" (``howto/ratio``) says why.

`depl.heuristics.baselines.best_expected.expected_cost`, which enumerates plans of given data and cluster, has
to find the same plan, on the few instances that it covers.
"""

from typing import Any, NamedTuple

import msgspec

from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Improvement, Instance, TabledImprovement
from depl.models.problem.laws import Deterministic, ImprovementLaw, SwitchLaw
from depl.models.problem.plan import Plan
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

STEP = 1e-8
"""By how much the next target lies below the expected loss of the plan at hand [loss]: ten times the 1e-9
with which a constant loss meets its target, so that the same plan does not come again."""


class MeanPlan(NamedTuple):
    """A cheapest plan of the mean-value problem at one target: its cost [cost] and expected loss [loss].

    ``violation`` is certified P(l(x) > l_max) under the law, of the instance's own l_max; ``kept`` says
    whether it is certified to keep the promise of the instance.
    """

    plan: Plan
    cost: float
    expected_loss: float
    violation: Interval
    kept: bool


def repair(instance: Instance, time_limit: float, most: int) -> tuple[MeanPlan, ...]:
    """Solve the mean-value problem, with lower and lower targets until its plan keeps the promise.

    The last plan does, unless the problem is infeasible before, a solve of so many seconds ends without a
    proof, or there are ``most`` targets.
    """
    found: list[MeanPlan] = []
    means = mean_value(instance)
    while len(found) < most and not (found and found[-1].kept):
        answer = solve(means, "exact", time_limit=time_limit)
        if answer.termination is not Termination.OPTIMAL or answer.plan is None:
            break
        plan = Plan(data=answer.plan.data, epochs=answer.plan.epochs)
        known = evaluate(instance, plan)
        kept = known.violation.at_most(instance.target.violation_budget)
        found.append(MeanPlan(plan, known.cost, known.expected_loss, known.violation, kept))
        means = means.replace(maximum_loss=known.expected_loss - STEP)
    return tuple(found)


def mean_value(instance: Instance) -> Instance:
    """The instance with every random increment of the loss replaced by its mean, if it has one of its own."""
    if instance.has_memory or not instance.declares_laws:
        raise NotCoveredError("the mean-value problem needs a law for every increment of the loss by itself")
    changed = msgspec.structs.replace
    models = (changed(model, improvement=_mean_improvement(model.improvement)) for model in instance.models)
    return instance.replace(
        name=f"{instance.name}-mean",
        models=tuple(models),
        switches=tuple(changed(row, law=_mean(row.law)) for row in instance.switches),
        other_switches=_mean(instance.other_switches),
    )


def _mean_improvement(improvement: Improvement) -> Improvement:
    changed = msgspec.structs.replace
    if isinstance(improvement, TabledImprovement):
        rows = tuple(changed(row, noise=_mean(row.noise)) for row in improvement.epochs)
        return changed(improvement, epochs=rows)
    return changed(improvement, noise=_mean(improvement.noise))


def _mean(law: ImprovementLaw | SwitchLaw) -> Any:
    """A forbidden switch stays forbidden."""
    return law if law.forbids else Deterministic(value=law.moments().mean)
