"""Losses in drawn scenarios: of single epochs and switches, and of schedules under a traced law.

The stream of `depl.models.scenarios.draws` gives every scenario one number per epoch and model, and one per
epoch and ordered pair of models. Where increments are independent they become quantiles of the laws. Under a
traced law they are kept as they are; `TracedSample` says how they are used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_law import ends_ahead, epochs_ahead, first_losses, mixture_of
from depl.models.evaluation.traced_loss import require_supported
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import Position, ends_of
from depl.models.problem.epochs import LossStep, loss_step, switch_step, switch_steps
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.traces.table import Schedule

_BLOCK = 10_000
"""Quantiles of a switch between two looks at the clock: some milliseconds; more would be no faster."""


class Drawn(Protocol):
    """Joint draws (`depl.models.scenarios.draws.Scenarios`)."""

    @property
    def improvements(self) -> FloatArray:
        """Of models by epoch, shape (S, K, M)."""

    @property
    def switch_losses(self) -> FloatArray:
        """Of ordered pairs of models by epoch, shape (S, K, M, M)."""

    def rounded(self, losses: FloatArray) -> FloatArray:
        """Increments on the decimal grid, if there is one."""


def quantiles(
    instance: Instance, of_models: FloatArray, of_pairs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The noise of every model and the loss of every switch by epoch, from uniform numbers.

    Parameters
    ----------
    of_models : float array (S, K, M)
        Inside (0, 1).
    of_pairs : float array (S, K, M, M)

    Returns
    -------
    float array (S, K, M), float array (S, K, M, M)
        Zero where an epoch has no random part, or a switch none.
    """
    improvements, switches = np.zeros(of_models.shape), np.zeros(of_pairs.shape)  # no page before its use
    everything = frozenset(item.name for item in instance.datasets)
    for index in range(of_models.shape[1]):
        for model, trained in enumerate(instance.models):
            keep_time()
            run = loss_step(instance, index + 1, 0, trained.name, trained.name, everything)
            if run.terms:
                improvements[:, index, model] = run.terms[0].law.inverse_cdf(of_models[:, index, model])
    step = max(1, _BLOCK // max(len(of_pairs), 1))
    for pair, change in switch_steps(instance).items():
        for first in range(0, of_models.shape[1], step) if change.terms else ():
            keep_time()
            at = (slice(None), slice(first, first + step), *pair)
            switches[at] = change.terms[0].law.inverse_cdf(of_pairs[at])
    return improvements, switches


def epoch_gains(
    instance: Instance, scenarios: Drawn, epoch: int, model: str, datasets: frozenset[str]
) -> FloatArray:
    """By how much an epoch lowers the loss in every scenario, switches apart; shape (S,) [loss]."""
    index = [item.name for item in instance.models].index(model)
    step = loss_step(instance, epoch, 0, model, model, datasets)
    shift, slope = _line(step)
    return scenarios.rounded(-(shift + slope * scenarios.improvements[:, epoch - 1, index]))


def switch_losses(
    instance: Instance, scenarios: Drawn, epoch: int, previous: int, following: int
) -> FloatArray:
    """Loss of a switch between two models, given by index, in every scenario; shape (S,) [loss].

    Zero between a model and itself. For a forbidden switch it is not defined.
    """
    names = [item.name for item in instance.models]
    change = switch_step(instance, names[previous], names[following])
    if change is None:
        return np.zeros(len(scenarios.improvements))
    shift, slope = _line(change)
    return scenarios.rounded(shift + slope * scenarios.switch_losses[:, epoch - 1, previous, following])


def switch_lines(instance: Instance) -> FloatArray:
    """What a switch costs is a shift and a slope times what was drawn: both, shape (2, M, M)."""
    lines = np.zeros((2, len(instance.models), len(instance.models)))
    for pair, change in switch_steps(instance).items():
        lines[:, *pair] = _line(change)
    return lines


def _line(step: LossStep) -> tuple[float, float]:
    """Shift and slope of an increment in its only random part."""
    return step.shift, step.terms[0].coefficient if step.terms else 0.0


@dataclass(frozen=True, eq=False)
class TracedSample:
    """Uniform numbers, and the law that they are drawn for.

    - Residuals per run: the number of (first epoch of a stage, its model) becomes that quantile of what the
      stage lends, a run unlike all seen among it; where whole runs are lent, that of (epoch 1, first model)
      that quantile of their losses.
    - Independent residuals: the number of (epoch, model) becomes that quantile of the residuals, and that of
      the pair (first model, first model) at epoch 1, which no switch uses, that of the losses before it.
    - What plans as such deviate by takes the pair (last model, last model) at epoch 2.

    Epochs are those of the instance: of a run under way those to come, and a stage under way has its first
    epoch there. Its loss so far is known, and takes no number.
    """

    traced: TracedLaw
    models: tuple[str, ...]  # Names, in the order of the instance
    of_models: FloatArray  # (S, K, M)
    of_pairs: FloatArray  # (S, K, M, M)

    def __post_init__(self) -> None:
        if self.traced.deviations and self.of_models.shape[1] < 2:
            raise NotCoveredError("scenarios of a law with deviations need maximum_epochs of 2 at least")

    def losses(self, schedule: Schedule) -> FloatArray:
        """l(K) of a schedule on the scale of the law, shape (S,).

        Raises
        ------
        InvalidInputError
            If the schedule lies outside the support of the traces.
        """
        require_supported(self.traced, schedule)
        trained = self.traced.from_start(schedule)
        if self.traced.residuals == "per_run":
            return self.of_stages(ends_of(trained))
        ahead, _ = epochs_ahead(trained, self.traced.known)
        losses = self.first(ahead[0])
        for place in ahead[1:]:
            losses = self.further(losses, place)
        return self.deviating(losses, ahead[-1], whole=False)

    def of_stages(self, ends: Sequence[Position]) -> FloatArray:
        """The same with residuals per run, for stages (the past included) given by their last positions."""
        mixed = mixture_of(self.traced, ends)
        losses = np.full(len(self.of_models), mixed.constant)
        begun = len(self.traced.trained_before)
        for end, part in zip(
            ends_ahead(ends, self.traced.known), mixed.parts, strict=False
        ):  # one alone of whole runs
            numbers = self.of_models[:, max(0, end.start - begun), self.models.index(end.trained[0])]
            losses += _quantiles(part, numbers, mixed.weights)
        return self.deviating(losses, ends[-1], mixed.together)

    def first(self, place: Position) -> FloatArray:
        """The losses after the first epoch, residuals independent, shape (S,) [loss]."""
        if self.traced.known is not None:
            return self.further(np.full(len(self.of_models), self.traced.known.loss), place)
        model = self.models.index(place.trained[0])
        start = first_losses(self.traced.law, place.trained)
        return self.further(_quantiles(start, self.of_pairs[:, 0, model, model]), place)

    def further(self, before: FloatArray, place: Position) -> FloatArray:
        """The losses after one more epoch."""
        step = self.traced.law.step(place)
        epoch = place.start + place.age - len(self.traced.trained_before)
        numbers = self.of_models[:, epoch - 1, self.models.index(place.trained[0])]
        drawn = _quantiles(step.residuals, numbers)
        return np.asarray(step.shift(place.start) + step.retention * before + drawn)

    def deviating(self, losses: FloatArray, last: Position, whole: bool) -> FloatArray:
        """With what plans deviate by, unless whole runs stand for the plan."""
        if whole or not self.traced.deviations:
            return losses
        model = self.models.index(last.trained[0])
        return losses + _quantiles(np.array(self.traced.deviations), self.of_pairs[:, 1, model, model])


def _quantiles(
    values: FloatArray, numbers: FloatArray, weights: NDArray[np.int64] | None = None
) -> FloatArray:
    """The quantiles of values at numbers in (0, 1), equally likely or of ascending values with weights."""
    if weights is None:
        ranks = np.ceil(numbers * values.size).astype(np.int64) - 1
    else:
        cumulative = np.cumsum(weights)
        ranks = np.searchsorted(cumulative, np.ceil(numbers * cumulative[-1]))
    return np.asarray(np.sort(values)[np.clip(ranks, 0, values.size - 1)])
