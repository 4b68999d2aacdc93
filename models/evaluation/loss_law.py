"""The law of the loss as a type: all that the rest of the toolkit asks of it, whatever kind it is.

`loss_law` gives that of an instance: `IndependentLoss`, the paper's, whose epochs add independent increments
(eq. (8) and the laws of switches), or `TracedLoss`, the law fitted to traces, whose epochs forget a part of
the loss before them (`depl.models.problem.traced_law`). Methods that know one kind only ask for `memory`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import msgspec
import numpy as np

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.in_scenarios import Drawn, TracedSample, epoch_gains, quantiles, switch_losses
from depl.models.evaluation.traced_law import epochs_ahead, independent_step
from depl.models.evaluation.traced_loss import (
    basis,
    end_law,
    require_supported,
    traced_survival,
    untrained_law,
)
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.problem.affine_law import Scale
from depl.models.problem.epochs import LossStep, compose, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.survival import survival
from depl.models.traces.table import Schedule


def loss_law(instance: Instance) -> "IndependentLoss | TracedLoss":
    """The law of l(0), l(1), ... of an instance, under any plan.

    All that ask for a plan raise an `InvalidInputError` at a forbidden switch, at an epoch beyond the tables
    of its model, and outside the support of the traces that the law was fitted to.
    """
    if instance.traced_law is None:
        return IndependentLoss(instance)
    return TracedLoss(instance, instance.traced_law)


def laws_after(instance: Instance, plan: Plan, epochs: Iterable[int]) -> list[EndLaw]:
    """The laws of l(k) for some k of 0, ..., K."""
    law = loss_law(instance)
    return [law.end(msgspec.structs.replace(plan, epochs=plan.epochs[:k])) for k in epochs]


@dataclass(frozen=True)
class IndependentLoss:
    """l(k) = l(k-1) + l_run(k) + l_sw(k), eq. (8), all increments independent of each other.

    ``memory`` says whether increments depend on the past, ``scale`` whether they are those of the loss or of
    its logarithm, and ``conditional`` whether the law of the rest given a state is the conditional law: then
    the probabilities given the states of an epoch have the one seen from the start as their mean.
    """

    instance: Instance
    memory: ClassVar[bool] = False
    scale: Scale = "loss"
    conditional: bool = True

    def end(self, plan: Plan) -> EndLaw:
        """The law of l(K)."""
        return EndLaw(compose(self.instance.target.initial_loss, self.steps(plan)))

    def steps(self, plan: Plan) -> list[LossStep]:
        """The steps whose composition is l(K); a `NotCoveredError` if epochs have no laws of their own."""
        require_allowed(self.instance, plan)
        found = []
        previous, since = self.instance.target.initial_model, 0
        for index, epoch in enumerate(plan.epochs):
            if index >= self.instance.model(epoch.model).last_epoch:
                raise InvalidInputError(
                    f"the tables of model {epoch.model!r} end before epoch {index + 1}; shorten the plan",
                    f"$.epochs[{index}]",
                )
            since = since + 1 if index and epoch.model == previous else 0
            datasets = plan.datasets(epoch.cluster)
            found.append(loss_step(self.instance, index + 1, since, previous, epoch.model, datasets))
            previous = epoch.model
        return found

    def survival(self, plan: Plan) -> list[Interval]:
        """P(l > l_max whenever the run might stop up to epoch k), k = 0, ..., K, from above.

        A `NotCoveredError` if too many combinations of runs would have to be followed.
        """
        target = self.instance.target
        stops = self.instance.rules.stops(epoch.model for epoch in plan.epochs)
        return survival(target.initial_loss, self.steps(plan), target.maximum_loss, stops=stops)

    def drawn(self, of_models: FloatArray, of_pairs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What scenarios hold, from uniform numbers of shapes (S, K, M) and (S, K, M, M)."""
        return quantiles(self.instance, of_models, of_pairs)

    def in_scenarios(self, plan: Plan, scenarios: Drawn) -> FloatArray:
        """l(K) in every scenario, shape (S,) [loss]."""
        instance = self.instance
        names = [model.name for model in instance.models]
        losses = np.full(len(scenarios.improvements), instance.target.initial_loss)
        before = instance.target.initial_model
        self.steps(plan)  # refuses what has no loss
        for index, epoch in enumerate(plan.epochs):
            losses -= epoch_gains(instance, scenarios, index + 1, epoch.model, plan.datasets(epoch.cluster))
            if before is not None and before != epoch.model:
                pair = names.index(before), names.index(epoch.model)
                losses += switch_losses(instance, scenarios, index + 1, *pair)
            before = epoch.model
        return losses

    def basis(self, plan: Plan) -> str | None:
        """What the probabilities of a plan rest on, in words; None if on declared laws alone."""
        return None

    def given(self, trained: Schedule, loss: float) -> Mapping[str, object]:
        """Fields of the instance of the rest, apart from target, models and prices, once this was seen.

        Parameters
        ----------
        trained : Schedule
            Model and cluster of the epochs trained since epoch 1.
        loss : float
            After them [loss].
        """
        return {}


@dataclass(frozen=True)
class TracedLoss:
    """l(k) = a + b ln s + retention l(k-1) + e, with residuals that recorded runs lend."""

    instance: Instance
    traced: TracedLaw
    memory: ClassVar[bool] = True

    @property
    def scale(self) -> Scale:
        """Of the increments."""
        return self.traced.scale

    @property
    def conditional(self) -> bool:
        """Donors of residuals kept per run, and deviations of plans, are drawn afresh at every state."""
        return self.traced.residuals == "independent" and not self.traced.deviations

    def end(self, plan: Plan) -> EndLaw:
        """The law of l(K)."""
        require_allowed(self.instance, plan)
        if not plan.epochs:
            return untrained_law(self.traced, self.instance.target.initial_loss)
        return end_law(self.traced, plan.schedule)

    def steps(self, plan: Plan) -> list[LossStep]:
        """The epochs, where residuals are independent and of the loss, without what plans deviate by."""
        require_allowed(self.instance, plan)
        if not plan.epochs:
            return []
        require_supported(self.traced, plan.schedule)
        if self.traced.residuals == "per_run" or self.scale == "log":
            raise NotCoveredError(
                "residuals stay together per run, or are those of the logarithm of the loss, so the "
                "increments of single epochs have no law of their own"
            )
        ahead, _ = epochs_ahead(self.traced.from_start(plan.schedule), self.traced.known)
        return [independent_step(self.traced.law, place, self.traced.known) for place in ahead]

    def survival(self, plan: Plan) -> list[Interval]:
        """P(the target was not met so far)."""
        target = self.instance.target
        require_allowed(self.instance, plan)
        stops = self.instance.rules.stops(epoch.model for epoch in plan.epochs)
        if not plan.epochs:
            if not stops[0]:
                return [Interval.around(Fraction(1), "rules of the sites")]
            return [untrained_law(self.traced, target.initial_loss).violation(target.maximum_loss)]
        return traced_survival(self.traced, plan.schedule, target.maximum_loss, stops)

    def drawn(self, of_models: FloatArray, of_pairs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The numbers themselves: which quantile they are depends on the plan."""
        return of_models.copy(), of_pairs.copy()

    def in_scenarios(self, plan: Plan, scenarios: Drawn) -> FloatArray:
        """l(K) in every scenario; without epochs, which no number is drawn for, the greatest l(0)."""
        if not plan.epochs:
            start = untrained_law(self.traced, self.instance.target.initial_loss)
            ends = [term.law.support()[1] for term, _ in start.scaled.terms]
            worst = math.inf if start.beyond else sum(ends, start.scaled.constant)
            return np.full(len(scenarios.improvements), worst)
        names = tuple(model.name for model in self.instance.models)
        sample = TracedSample(self.traced, names, scenarios.improvements, scenarios.switch_losses)
        losses = sample.losses(plan.schedule)
        return losses if self.scale == "loss" else np.asarray(np.exp(losses))

    def basis(self, plan: Plan) -> str | None:
        """Runs, and how they are counted."""
        return basis(self.traced, plan.schedule)

    def given(self, trained: Schedule, loss: float) -> Mapping[str, object]:
        """The law, with the run under way recorded in it."""
        return {"traced_law": self.traced.after(trained, loss)}


def require_allowed(instance: Instance, plan: Plan) -> None:
    """Refuse a plan with a forbidden switch.

    Raises
    ------
    InvalidInputError
        With the first.
    """
    previous = instance.target.initial_model
    for index, epoch in enumerate(plan.epochs):
        if not instance.may_follow(previous, epoch.model):
            raise InvalidInputError(
                f"the switch from {previous!r} to {epoch.model!r} is forbidden; choose another model",
                f"$.epochs[{index}].model",
            )
        previous = epoch.model
