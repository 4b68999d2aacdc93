"""Equation (3) as a test of listed plans: a count of scenarios, or a probability under the law.

Under the law Cantelli's inequality spares most probabilities: with mean E and variance V of the final loss,
P(l(K) <= l_max) <= V / (V + (E - l_max)^2) wherever E > l_max.
"""

import math
from fractions import Fraction

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.verifier.laws import Bracket, Increment, decimal, expectation, variance_of
from depl.models.verifier.reading import LossFacts, loss_facts
from depl.models.verifier.runs import seen_in
from depl.models.verifier.sample import DrawnSample
from depl.models.verifier.scenarios import counted
from depl.models.verifier.tolerances import ATOM_TOLERANCE

MOST_PROBABILITIES = 100
"""Most final losses whose distribution is computed for one lower bound, or counted under a traced law."""

_ROUNDING = 1e-13
"""What sums over epochs may be off relative to their sizes, so that rounding excludes no plan: 900 units of
2**-53. Listed plans have at most 13 epochs if there is a choice, as there are `plans.MOST_PLANS` of them.
"""

_CLEARLY = 2e-9
"""More than an atom may exceed a bound by, so that the least loss seen is not below itself."""


class CountRequirement:
    """At most ``allowed`` scenarios of a sample end above l_max."""

    def __init__(self, instance: Instance, sample: DrawnSample, allowed: int) -> None:
        self._instance, self._sample, self._allowed = instance, sample, allowed
        self._left = MOST_PROBABILITIES if instance.has_memory else math.inf

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """As under the law; misses are counted, under a traced law for so many plans only."""
        if self._instance.has_memory:
            loss = loss_facts(self._instance, plan)
            if loss.undefined or below_all_seen(self._instance, loss):
                return False, False
        if self._left == 0:
            return None
        self._left -= 1
        count = counted(self._instance, self._sample, plan)
        return count.certain <= self._allowed, count.possible <= self._allowed


class LawRequirement:
    """P(l(K) > l_max) <= 1 - omega, and not by a quantile below every loss that was seen."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._budget = 1 - decimal(instance.target.quantile_level)
        self._known: dict[tuple[Fraction, Fraction, tuple[Increment, ...]], Bracket] = {}

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Whether a plan may meet it, and whether it certainly does; None if that would take too long."""
        loss = loss_facts(self._instance, plan)
        limit = loss.on_scale(self._instance.target.maximum_loss)
        gap = loss.gap(limit)
        if loss.undefined or gap is None:
            return False, False
        if not loss.declared:
            return True, False
        if excluded(loss, limit, self._instance.target.quantile_level):
            return False, False
        key = gap, loss.beyond, loss.increments
        if key not in self._known:
            if len(self._known) == MOST_PROBABILITIES:
                return None
            self._known[key] = loss.exceeding(gap, self._budget)
        found = self._known[key]
        if found.lower > self._budget or below_all_seen(self._instance, loss):
            return False, False
        return True, found.upper <= self._budget


def excluded(loss: LossFacts, limit: float, level: float) -> bool:
    """Whether Cantelli's inequality excludes that the loss is at most l_max with probability omega.

    An infinite variance excludes nothing, nor does what rounding may have done.
    """
    means = [float(loss.certain)]
    means += [item.count * item.factor * expectation(item.law) for item in loss.increments]
    spread = sum(item.count * item.factor**2 * variance_of(item.law) for item in loss.increments)
    rounding = _ROUNDING * (abs(limit) + sum(map(abs, means)))
    excess = sum(means) - limit - ATOM_TOLERANCE - rounding
    return excess > 0 and spread * (1 + _ROUNDING) < level * (spread + excess**2)


Requirement = LawRequirement | CountRequirement


def below_all_seen(instance: Instance, loss: LossFacts) -> bool:
    """Whether a traced law has the omega-quantile below every loss that any of its runs ever had."""
    if instance.traced_law is None or loss.undefined:
        return False
    least = seen_in(instance.traced_law).least
    budget = 1 - decimal(instance.target.quantile_level)
    gap = decimal(least - _CLEARLY * max(1.0, abs(least))) - loss.certain
    return loss.exceeding(gap, budget).upper <= budget
