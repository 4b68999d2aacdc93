"""Losses under a traced law from the uniform numbers of scenarios.

The stream of `depl.models.scenarios.draws` gives every scenario one number per epoch and model, and one per
epoch and ordered pair of models. Under a traced law they are kept as they are, and used so:

- residuals per run: the number of (first epoch of a stage, its model) becomes that quantile of what the
  stage lends, a run unlike all seen among it; where whole runs are lent, that of (epoch 1, first model) that
  quantile of their losses;
- independent residuals: the number of (epoch, model) becomes that quantile of the residuals, and that of the
  pair (first model, first model) at epoch 1, which no switch uses, that of the losses before training;
- what plans as such deviate by takes the pair (last model, last model) at epoch 2.

Epochs are those of the instance: of a run under way those to come, and a stage under way has its first epoch
there. Its loss so far is known, and takes no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_law import ends_ahead, epochs_ahead, first_losses, mixture_of
from depl.models.evaluation.traced_loss import require_supported
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import Position, ends_of
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.traces.table import Schedule


@dataclass(frozen=True, eq=False)
class TracedSample:
    """Uniform numbers, and the law that they are drawn for.

    Attributes
    ----------
    traced : TracedLaw
    models : tuple of str
        Names, in the order of the instance.
    of_models : float array (S, K, M)
    of_pairs : float array (S, K, M, M)
    """

    traced: TracedLaw
    models: tuple[str, ...]
    of_models: FloatArray
    of_pairs: FloatArray

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
        known = self.traced.known
        mixed = mixture_of(self.traced.law, ends, self.traced.counting, known)
        losses = np.full(len(self.of_models), mixed.constant)
        begun = len(self.traced.trained_before)
        for end, part in zip(ends_ahead(ends, known), mixed.parts, strict=False):  # one alone of whole runs
            first = max(0, end.start - begun)
            numbers = self.of_models[:, first, self.models.index(end.trained[0])]
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
