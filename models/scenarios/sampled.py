"""The planning problem with counted scenarios in place of the law: tables that every solver of it shares."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.choices import Choices, Configuration
from depl.models.laws import FloatArray
from depl.models.scenarios.draws import (
    ATOM_TOLERANCE,
    Scenarios,
    allowed_misses,
    epoch_gains,
    switch_losses,
)


@dataclass(frozen=True, eq=False)
class SampledProblem(Choices):
    """Problem (2)-(6) with floor((1 - omega) S + 1e-9) scenarios allowed to miss.

    Attributes
    ----------
    instance : Instance
    scenarios : Scenarios
    barred : bool array (M, M), optional
        Switches that are forbidden beside those of the instance.
    """

    scenarios: Scenarios
    barred: NDArray[np.bool_] | None = None

    @functools.cached_property
    def allowed(self) -> int:
        """How many scenarios may miss."""
        return allowed_misses(self.instance, len(self.scenarios))

    @property
    def needed(self) -> float:
        """Gain from which on a scenario meets the target: l(0) - l_max, less the atom tolerance [loss]."""
        target = self.instance.target
        return target.initial_loss - target.maximum_loss - ATOM_TOLERANCE

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Fall of the loss, without switch, in every scenario; shape (K_max, subsets, M, S) [loss]."""
        shape = (self.epochs, len(self.subsets), len(self.instance.models), len(self.scenarios))
        table = np.zeros(shape)
        for k, d, m in np.ndindex(*shape[:3]):
            name = self.instance.models[m].name
            table[k, d, m] = epoch_gains(self.instance, self.scenarios, k + 1, name, self.subsets[d])
        return table

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Loss of the switch from the first model to the second; shape (K_max, M, M, S) [loss]."""
        models = len(self.instance.models)
        table = np.zeros((self.epochs, models, models, len(self.scenarios)))
        for k, i, j in np.ndindex(*table.shape[:3]):
            table[k, i, j] = switch_losses(self.instance, self.scenarios, k + 1, i, j)
        return table

    @functools.cached_property
    def may_follow(self) -> NDArray[np.bool_]:
        """Whether the second model may follow the first; shape (M, M)."""
        allowed = super().may_follow
        return allowed if self.barred is None else allowed & ~self.barred

    def gain(self, choices: Sequence[Configuration]) -> FloatArray:
        """l(0) - l(K) of a sequence of configurations in every scenario, shape (S,) [loss]."""
        total = np.zeros(len(self.scenarios))
        before = self.initial_model
        for k, chosen in enumerate(choices):
            total += self.gains[k, self.subsets.index(chosen.datasets), chosen.model]
            if before is not None and before != chosen.model:
                total -= self.switch_losses[k, before, chosen.model]
            before = chosen.model
        return total

    def misses(self, choices: Sequence[Configuration]) -> int:
        """How many scenarios end above the target."""
        return int((self.gain(choices) < self.needed).sum())
