"""Equation (3) as a test of listed plans: a count of scenarios, or a probability under the law.

Both have a quick part, which looks at sums along a sequence of epochs and may only exclude, and an exact
part. Under scenarios the sums are the fall of the loss in each of them. Under the law they are mean and
variance, and Cantelli's inequality excludes: with mean E and variance V of the final loss, P(l(K) <= l_max)
<= V / (V + (E - l_max)^2) wherever E > l_max.
"""

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.instance import Instance
from depl.models.problem.laws import (
    Deterministic,
    FloatArray,
    Forbidden,
    ImprovementLaw,
    SwitchLaw,
    Undeclared,
    Zero,
)
from depl.models.problem.plan import Plan
from depl.models.verifier.laws import Bracket, Increment, decimal, expectation, variance_of
from depl.models.verifier.reading import LossFacts, data_share, improvement_of, law_of_switch, loss_facts
from depl.models.verifier.runs import seen_in
from depl.models.verifier.sample import DrawnSample, gains, switch_losses
from depl.models.verifier.scenarios import counted
from depl.models.verifier.tolerances import ATOM_TOLERANCE

BoolArray = NDArray[np.bool_]

MOST_PROBABILITIES = 100
"""Most final losses whose distribution is computed for one lower bound."""

_ROUNDING = 1e-13
"""What sums along a sequence may be off relative to their sizes, so that rounding excludes no plan: 900 units
of 2**-53. Listed plans have at most 13 epochs if there is a choice, as there are `plans.MOST_PLANS` of them.
"""

_CLEARLY = 2e-9
"""More than an atom may exceed a bound by, so that the least loss seen is not below itself."""


class Requirement(Protocol):
    """What decides whether a plan meets equation (3)."""

    def nothing(self) -> FloatArray:
        """The sums of the empty sequence, shape (V,)."""

    def epoch(self, number: int, model: int, data: frozenset[str]) -> FloatArray:
        """What an epoch adds to them, switches apart."""

    def switch(self, number: int, before: int, after: int) -> FloatArray:
        """What an allowed switch adds."""

    def possible(self, sums: FloatArray) -> BoolArray:
        """Which sequences with these sums, shape (P, V), may meet it."""

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Whether a plan may meet it, and whether it certainly does; None if that would take too long."""


class CountRequirement:
    """At most ``allowed`` scenarios of a sample end above l_max; the sums are both ends of every fall."""

    def __init__(self, instance: Instance, sample: DrawnSample, allowed: int) -> None:
        self._instance, self._sample, self._allowed = instance, sample, allowed
        target = instance.target
        self._needed = target.initial_loss - target.maximum_loss - ATOM_TOLERANCE
        self._scale = abs(target.initial_loss) + abs(target.maximum_loss)

    def nothing(self) -> FloatArray:
        """No fall."""
        return np.zeros(2 * self._sample.size)

    def epoch(self, number: int, model: int, data: frozenset[str]) -> FloatArray:
        """Lower, then upper ends of the gain."""
        share = np.array([float(data_share(self._instance, data))])
        found = gains(self._instance, self._sample, number, model, share)
        return np.concatenate([found.lower[0], found.upper[0]])

    def switch(self, number: int, before: int, after: int) -> FloatArray:
        """Lower, then upper ends of what the switch takes away."""
        found = switch_losses(self._instance, self._sample, number, before, after)
        return -np.concatenate([found.upper, found.lower])

    def possible(self, sums: FloatArray) -> BoolArray:
        """Whether no more scenarios than allowed certainly miss."""
        highest = sums[:, self._sample.size :]
        slack = _ROUNDING * (self._scale + np.abs(highest))
        return np.asarray((highest + slack < self._needed).sum(axis=1) <= self._allowed)

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Count the misses."""
        count = counted(self._instance, self._sample, plan)
        return count.certain <= self._allowed, count.possible <= self._allowed


class LawRequirement:
    """P(l(K) > l_max) <= 1 - omega; the sums are mean and variance of the change of the loss."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._budget = 1 - decimal(instance.target.quantile_level)
        self._known: dict[tuple[Fraction, Fraction, tuple[Increment, ...]], Bracket] = {}

    def nothing(self) -> FloatArray:
        """No change."""
        return np.zeros(2)

    def epoch(self, number: int, model: int, data: frozenset[str]) -> FloatArray:
        """Mean and variance of an epoch without switch."""
        amount, law = improvement_of(self._instance.models[model], number)
        return _moments(-float(data_share(self._instance, data) * amount), law)

    def switch(self, number: int, before: int, after: int) -> FloatArray:
        """Mean and variance of the loss of a switch."""
        names = [model.name for model in self._instance.models]
        return _moments(1.0, law_of_switch(self._instance, names[before], names[after]))

    def possible(self, sums: FloatArray) -> BoolArray:
        """Whether Cantelli's inequality leaves it open; an infinite variance excludes nothing."""
        target = self._instance.target
        scale = abs(target.initial_loss) + abs(target.maximum_loss) + np.abs(sums[:, 0])
        excess = target.initial_loss + sums[:, 0] - target.maximum_loss - ATOM_TOLERANCE - _ROUNDING * scale
        variance = np.where(np.isinf(sums[:, 1]), 0.0, sums[:, 1]) * (1.0 + _ROUNDING)
        excluded = (excess > 0.0) & (variance < target.quantile_level * (variance + excess**2))
        return np.asarray(np.isinf(sums[:, 1]) | ~excluded)

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Compute the probability, if that was not done for too many other losses."""
        loss = loss_facts(self._instance, plan)
        if loss.undefined:
            return False, False
        gap = loss.gap(loss.on_scale(self._instance.target.maximum_loss))
        if gap is None:
            return False, False
        if not loss.declared:
            return True, False
        key = gap, loss.beyond, loss.increments
        if key not in self._known:
            if len(self._known) == MOST_PROBABILITIES:
                return None
            self._known[key] = loss.exceeding(gap, self._budget)
        found = self._known[key]
        return found.lower <= self._budget, found.upper <= self._budget


class _WithoutSums:
    """What the requirements under a traced law share: epochs do not add up, and sums exclude nothing."""

    def nothing(self) -> FloatArray:
        """No sums."""
        return np.zeros(0)

    def epoch(self, number: int, model: int, data: frozenset[str]) -> FloatArray:
        """No sums."""
        return np.zeros(0)

    def switch(self, number: int, before: int, after: int) -> FloatArray:
        """No sums."""
        return np.zeros(0)

    def possible(self, sums: FloatArray) -> BoolArray:
        """All may meet it."""
        return np.ones(len(sums), dtype=bool)


class TracedRequirement(_WithoutSums, LawRequirement):
    """P(l(K) > l_max) <= 1 - omega under a traced law, of a loss that a run may have."""

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Compute the probability; nothing is met by a quantile below every loss that was seen."""
        return _within_support(self._instance, plan, super().verdict(plan))


class TracedCountRequirement(_WithoutSums, CountRequirement):
    """At most ``allowed`` scenarios of a sample end above l_max, under a traced law."""

    def __init__(self, instance: Instance, sample: DrawnSample, allowed: int) -> None:
        super().__init__(instance, sample, allowed)
        self._counts = 0

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Count the misses inside the support, if that was not done for too many other plans."""
        if loss_facts(self._instance, plan).undefined:
            return False, False
        if self._counts == MOST_PROBABILITIES:
            return None
        self._counts += 1
        return _within_support(self._instance, plan, super().verdict(plan))


def _within_support(
    instance: Instance, plan: Plan, verdict: tuple[bool, bool] | None
) -> tuple[bool, bool] | None:
    """A verdict under a traced law, turned into a refusal if the quantile is below every loss seen."""
    if verdict is not None and verdict[0] and below_all_seen(instance, loss_facts(instance, plan)):
        return False, False
    return verdict


def below_all_seen(instance: Instance, loss: LossFacts) -> bool:
    """Whether a traced law has the omega-quantile below every loss that any of its runs ever had."""
    if instance.traced_law is None or loss.undefined:
        return False
    least = seen_in(instance.traced_law).least
    budget = 1 - decimal(instance.target.quantile_level)
    gap = decimal(least - _CLEARLY * max(1.0, abs(least))) - loss.certain
    return loss.exceeding(gap, budget).upper <= budget


def law_requirement(instance: Instance) -> LawRequirement:
    """The test of equation (3) by probability, under the law that the instance has."""
    return TracedRequirement(instance) if instance.has_memory else LawRequirement(instance)


def count_requirement(instance: Instance, sample: DrawnSample, allowed: int) -> CountRequirement:
    """The test of equation (3) by a count of scenarios, of which so many may miss."""
    traced = instance.has_memory
    return (TracedCountRequirement if traced else CountRequirement)(instance, sample, allowed)


def _moments(coefficient: float, law: ImprovementLaw | SwitchLaw) -> FloatArray:
    if isinstance(law, Zero | Forbidden) or coefficient == 0:
        return np.zeros(2)
    if isinstance(law, Undeclared):
        return np.array([0.0, np.inf])  # excludes nothing
    if isinstance(law, Deterministic):
        return np.array([coefficient * law.value, 0.0])
    return np.array([coefficient * expectation(law), coefficient**2 * variance_of(law)])
