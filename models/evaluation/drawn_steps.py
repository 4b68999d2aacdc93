"""What single epochs and switches do to the loss in drawn scenarios, where increments are independent."""

from typing import Protocol

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import LossStep, Term, loss_step, switch_step, switch_steps
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

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

    Raises
    ------
    NotCoveredError
        If an epoch has memory or more than one random part (no law of today has).
    """
    improvements, switches = np.zeros(of_models.shape), np.zeros(of_pairs.shape)  # no page before its use
    everything = frozenset(item.name for item in instance.datasets)
    for index in range(of_models.shape[1]):
        for model, trained in enumerate(instance.models):
            keep_time()
            run = loss_step(instance, index + 1, 0, trained.name, trained.name, everything)
            if run.terms:
                improvements[:, index, model] = _only(run).law.inverse_cdf(of_models[:, index, model])
    step = max(1, _BLOCK // max(len(of_pairs), 1))
    for pair, change in switch_steps(instance).items():
        for first in range(0, of_models.shape[1], step) if change.terms else ():
            keep_time()
            at = (slice(None), slice(first, first + step), *pair)
            switches[at] = _only(change).law.inverse_cdf(of_pairs[at])
    return improvements, switches


def epoch_gains(
    instance: Instance, scenarios: Drawn, epoch: int, model: str, datasets: frozenset[str]
) -> FloatArray:
    """By how much an epoch lowers the loss in every scenario, switches apart; shape (S,) [loss]."""
    index = [item.name for item in instance.models].index(model)
    step = loss_step(instance, epoch, 0, model, model, datasets)
    slope = _only(step).coefficient if step.terms else 0.0
    return scenarios.rounded(-(step.shift + slope * scenarios.improvements[:, epoch - 1, index]))


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
    slope = _only(change).coefficient if change.terms else 0.0
    drawn = scenarios.switch_losses[:, epoch - 1, previous, following]
    return scenarios.rounded(change.shift + slope * drawn)


def switch_lines(instance: Instance) -> FloatArray:
    """What a switch costs is a shift and a slope times what was drawn: both, shape (2, M, M)."""
    lines = np.zeros((2, len(instance.models), len(instance.models)))
    for pair, change in switch_steps(instance).items():
        lines[:, *pair] = change.shift, _only(change).coefficient if change.terms else 0.0
    return lines


def _only(step: LossStep) -> Term:
    if len(step.terms) != 1 or step.retention != 1:
        raise NotCoveredError("scenarios need one random part per epoch, without memory")
    return step.terms[0]
