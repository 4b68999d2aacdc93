"""The mean-value problem, its repair, and the Lagrangian bound over its prices.

What is measured, and why, stands on the page "How good is a plan?" (``howto/ratio``). The repaired plan is
that of `depl.heuristics.baselines.best_expected.expected_cost`, which enumerates plans of given data and
cluster and so covers few instances; there both have to agree.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

import msgspec

from depl.heuristics.bounds.dual import Dual, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import Proof
from depl.heuristics.data.sites import DataFactors
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

TIME_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the best price of time: an eighth to eight times, as the other prices follow."""
GAIN_FACTORS = (0.5, 0.7, 0.85, 1.0, 1.15, 1.4, 2.0)
"""Multiples of the best price of gain: nearer, as nothing follows and the bound falls soon."""


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


class Repair(NamedTuple):
    """The plans of the mean-value problem from the target l_max downwards.

    ``kept``: the last plan keeps the promise; ``beyond``: the mean-value problem is infeasible before any
    plan does; ``stopped``: a solve ended without a proof, or there were too many.
    """

    plans: tuple[MeanPlan, ...]
    ending: Literal["kept", "beyond", "stopped"]

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
    changed = msgspec.structs.replace
    models = (changed(model, improvement=_mean_improvement(model.improvement)) for model in instance.models)
    return instance.replace(
        name=f"{instance.name}-mean",
        models=tuple(models),
        switches=tuple(changed(row, law=_mean_change(row.law)) for row in instance.switches),
        other_switches=_mean_change(instance.other_switches),
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
    means = mean_value(instance)
    while len(found) < most:
        answer = solve(means, "exact", time_limit=time_limit)
        if answer.termination is Termination.INFEASIBLE:
            return Repair(tuple(found), "beyond")
        if answer.termination is not Termination.OPTIMAL or answer.plan is None:
            break
        plan = Plan(data=answer.plan.data, epochs=answer.plan.epochs)
        known = evaluate(instance, plan)
        kept = known.violation.at_most(instance.target.violation_budget)
        found.append(MeanPlan(plan, known.cost, known.expected_loss, known.violation, kept))
        if kept:
            return Repair(tuple(found), "kept")
        means = means.replace(maximum_loss=known.expected_loss - STEP)
    return Repair(tuple(found), "stopped")


def price_curve(instance: Instance, optimum: float) -> dict[str, object]:
    """The Lagrangian bound over prices, in shares of the optimum; a negative one proves nothing and is 0.

    Prices lam of time, gamma of gain and nu of variance prove that no plan that keeps the promise costs less
    than L(lam, gamma, nu) (`depl.heuristics.bounds.dual`), which is concave where it is above 0.

    Parameters
    ----------
    optimum : float
        Proved under the law, above 0 [cost].

    Returns
    -------
    dict
        ``time_price`` [cost / time], the best found; ``best``; ``over_time_price``: the best L at multiples
        of that price; and ``over_gain_price``: L at multiples of the best gamma, the other prices held.

    Raises
    ------
    NotCoveredError
        Without T_max, with more sites than are listed, or where no requirement on moments is known.
    """
    proof = Proof.of(instance, Learning.of(instance), DataFactors(instance))
    if instance.target.maximum_time is None or proof.outlook is not None or proof.requirement is None:
        raise NotCoveredError("price curves need T_max, listed sites and a requirement on two moments")
    dual, part, needed = proof.dual, proof.part, proof.requirement
    start = start_prices(dual, part, needed)
    singles = [replace(needed, ranges=(piece,)) for piece in needed.ranges]
    found = [(single, dual.bound(part, single, start)) for single in singles]
    ranges = [(single, bound) for single, bound in found if bound.value < dual.highest_cost]
    best = min((bound for _, bound in ranges), key=lambda bound: bound.value)
    fixed = Dual(dual.learning, dual.places, dual.maximum_time, dual.highest_cost)
    fixed.same_time = True

    def over_time(factor: float) -> float:
        return fixed.bound(part, needed, best.prices._replace(time=factor * best.prices.time)).value

    def over_gain(factor: float) -> float:
        priced = (
            (single, bound.prices._replace(gain=factor * bound.prices.gain)) for single, bound in ranges
        )
        return min(dual.value(part, single, prices) for single, prices in priced)

    return {
        "instance": instance.name,
        "time_price": best.prices.time,
        "best": max(best.value, 0.0) / optimum,
        "time_factors": list(TIME_FACTORS),
        "over_time_price": [max(over_time(factor), 0.0) / optimum for factor in TIME_FACTORS],
        "gain_factors": list(GAIN_FACTORS),
        "over_gain_price": [max(over_gain(factor), 0.0) / optimum for factor in GAIN_FACTORS],
    }


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
