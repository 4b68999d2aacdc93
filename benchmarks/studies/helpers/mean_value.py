r"""The value of the stochastic solution, where uncertainty stands in a quantile constraint.

Let c(x) be the cost of a plan, l(x) its random final loss, and

    RP = min c(x)  where  P(l(x) > l_max) <= 1 - omega,

the problem itself (Birge, 1982, has the names; there uncertainty stands in the objective). The *mean-value
problem* replaces every random increment by its mean. Losses add up, so that the final loss becomes E l(x):

    EV = min c(x)  where  E l(x) <= l_max,    its plan: x_EV.

Costs do not depend on the law. So the objective with its constraint is c(x) where x keeps the promise and
infinite elsewhere, what x_EV costs under the law is

    EEV = c(x_EV) where P(l(x_EV) > l_max) <= 1 - omega, infinite otherwise,

and the value of the stochastic solution VSS = EEV - RP is never negative. It is infinite wherever x_EV misses
the promise, which is no figure of cost. Two figures say what it means there:

- *how often x_EV misses*: P(l(x_EV) > l_max), certified, against 1 - omega;
- *the repaired plan*: the target of the mean-value problem is lowered to the value at which its plan first
  keeps the promise; its cost over RP. As the target falls, the plan changes only where the target passes the
  expected loss of the plan at hand. So it is enough to solve the problem, to ask next for less than the
  expected loss of its plan, and so on: nothing is missed between but plans whose expected losses lie within
  `STEP` of each other.

The repaired plan is that of `depl.heuristics.baselines.best_expected.expected_cost`, which enumerates plans
of given data and cluster and so covers few instances; there both have to agree. EV <= RP does not hold
always: where a rare rise of the loss is large, a plan may keep its promise with an expected loss above l_max.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import (
    ConstantImprovement,
    Improvement,
    Instance,
    InverseSqrtImprovement,
)
from depl.models.problem.laws import Deterministic, ImprovementLaw, SwitchLaw
from depl.models.problem.plan import Plan
from depl.models.risk.interval import Interval
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

STEP = 1e-8
"""By how much the next target lies below the expected loss of the plan at hand [loss]: ten times the 1e-9
with which a constant loss meets its target, so that the same plan does not come again."""

Ending = Literal["kept", "beyond", "stopped"]


@dataclass(frozen=True)
class MeanPlan:
    """A cheapest plan of the mean-value problem at one target.

    Attributes
    ----------
    plan : Plan
    cost : float
        c(x), the same under the law [cost].
    expected_loss : float
        E l(x) [loss].
    violation : Interval
        Certified P(l(x) > l_max) under the law, of the instance's own l_max.
    kept : bool
        Whether it is certified to keep the promise of the instance.
    """

    plan: Plan
    cost: float
    expected_loss: float
    violation: Interval
    kept: bool


@dataclass(frozen=True)
class Repair:
    """The plans of the mean-value problem from the target l_max downwards.

    Attributes
    ----------
    plans : tuple of MeanPlan
        The first is x_EV; the last is the repaired one if ``ending`` is ``kept``. Empty if the mean-value
        problem has no plan, or none was proved cheapest.
    ending : str
        ``kept``; ``beyond``, if the mean-value problem is infeasible before any plan keeps the promise; or
        ``stopped``, if a solve ended without a proof, or there were too many.
    """

    plans: tuple[MeanPlan, ...]
    ending: Ending

    @property
    def repaired(self) -> MeanPlan | None:
        """The first plan that keeps the promise; None if there is none."""
        return self.plans[-1] if self.ending == "kept" else None


def mean_value(instance: Instance) -> Instance:
    """The instance with every random increment of the loss replaced by its mean.

    Raises
    ------
    NotCoveredError
        If the loss has a memory, or no law: its increments then have no mean of their own.
    """
    if instance.has_memory or not instance.declares_laws:
        raise NotCoveredError("the mean-value problem needs a law for every increment of the loss by itself")
    models = tuple(
        msgspec.structs.replace(model, improvement=_mean_improvement(model.improvement))
        for model in instance.models
    )
    switches = tuple(msgspec.structs.replace(row, law=_mean_change(row.law)) for row in instance.switches)
    others = _mean_change(instance.other_switches)
    return instance.replace(
        name=f"{instance.name}-mean", models=models, switches=switches, other_switches=others
    )


def repair(instance: Instance, time_limit: float, most: int) -> Repair:
    """Solve the mean-value problem, with lower and lower targets until its plan keeps the promise.

    Parameters
    ----------
    time_limit : float
        Of each solve [s].
    most : int
        Targets at which to stop.

    Raises
    ------
    NotCoveredError
        As `mean_value`.
    """
    found: list[MeanPlan] = []
    ending: Ending = "stopped"
    for step in _steps(instance, time_limit, most):
        if isinstance(step, MeanPlan):
            found.append(step)
        else:
            ending = step
    return Repair(tuple(found), ending)


def _steps(instance: Instance, time_limit: float, most: int) -> Iterator[MeanPlan | Ending]:
    """The plans one after the other, and at last how it ended."""
    means = mean_value(instance)
    for _ in range(most):
        answer = solve(means, "exact", time_limit=time_limit)
        if answer.termination is Termination.INFEASIBLE:
            yield "beyond"
            return
        if answer.termination is not Termination.OPTIMAL or answer.plan is None:
            return
        step = _judged(instance, Plan(data=answer.plan.data, epochs=answer.plan.epochs))
        yield step
        if step.kept:
            yield "kept"
            return
        means = means.replace(maximum_loss=step.expected_loss - STEP)


def _judged(instance: Instance, plan: Plan) -> MeanPlan:
    """What the law says of a plan."""
    known = evaluate(instance, plan)
    kept = known.violation.at_most(instance.target.violation_budget)
    return MeanPlan(plan, known.cost, known.expected_loss, known.violation, kept)


def _mean_improvement(improvement: Improvement) -> Improvement:
    if isinstance(improvement, ConstantImprovement | InverseSqrtImprovement):
        return msgspec.structs.replace(improvement, noise=_mean(improvement.noise))
    rows = tuple(msgspec.structs.replace(row, noise=_mean(row.noise)) for row in improvement.epochs)
    return msgspec.structs.replace(improvement, epochs=rows)


def _mean_change(law: SwitchLaw) -> SwitchLaw:
    """A forbidden switch stays forbidden."""
    return law if law.forbids else _mean(law)


def _mean(law: ImprovementLaw | SwitchLaw) -> Deterministic:
    return Deterministic(value=law.moments().mean)
