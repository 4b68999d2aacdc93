"""The planning problem with counted scenarios in place of the law: tables that every solver of it shares.

The search under scenarios needs no more than linear gains, at least some of which have to reach what is
needed. That is a `CountedProblem`; draws make one (`SampledProblem`), chords of a deviation another
(`depl.models.exact.chords`).
"""

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.evaluation.in_scenarios import epoch_gains, switch_lines
from depl.models.exact.assignments import Assignment, make_sample
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.kernels import Sample
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.memory import require_memory
from depl.models.problem.laws import FloatArray
from depl.models.risk.verdicts import Verdict
from depl.models.scenarios.draws import Scenarios, allowed_misses

_COPIES = 3
"""How often gains of an assignment and losses of switches are held: in order, sorted, and summed."""


class CountedProblem(Choices):
    """Problem (2)-(6) with several linear gains in place of the law, of which all but ``allowed`` must do."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many gains are counted, S."""

    @property
    @abstractmethod
    def allowed(self) -> int:
        """How many of them may miss."""

    @property
    @abstractmethod
    def gains(self) -> FloatArray:
        """Fall of the loss, without switch, in every count; shape (K_max, subsets, M, S) [loss]."""

    @property
    @abstractmethod
    def switch_losses(self) -> FloatArray:
        """Loss of the switch from a model, or none, to another; shape (K_max, M + 1, M, S) [loss]."""

    def sample(self, assignment: Assignment) -> Sample:
        """An assignment as arrays for the kernels, scenarios in order."""
        counted = self.gains, self.switch_losses, self.needed, self.allowed
        return make_sample(self, assignment, *counted)

    def gain(self, choices: Sequence[Configuration]) -> FloatArray:
        """l(0) - l(K) of a sequence of configurations in every count, shape (S,) [loss]."""
        total, before = np.zeros(self.size), self.first_model
        for k, chosen in enumerate(choices):
            total += self.gains[k, self.subsets.index(chosen.datasets), chosen.model]
            total -= self.switch_losses[k, before, chosen.model]
            before = chosen.model
        return total

    def verdict(self, choices: Sequence[Configuration]) -> Verdict:
        """By the sums of gains."""
        return Verdict.MET if self.misses(choices) <= self.allowed else Verdict.VIOLATED

    def misses(self, choices: Sequence[Configuration]) -> int:
        """How many of the counts end above the target; all where no plan may end so."""
        return int((self.gain(choices) < self.needed).sum()) if self.ends_well(choices) else self.size


@dataclass(frozen=True, eq=False)
class SampledProblem(CountedProblem):
    """Problem (2)-(6) with floor((1 - omega) S + 1e-9) scenarios allowed to miss."""

    scenarios: Scenarios

    @property
    def size(self) -> int:
        """S."""
        return len(self.scenarios)

    @functools.cached_property
    def allowed(self) -> int:
        """How many scenarios may miss."""
        return allowed_misses(self.instance, len(self.scenarios))

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Fall of the loss, without switch, in every scenario; shape (K_max, subsets, M, S) [loss]."""
        self._require_memory()
        shape = (self.epochs, len(self.subsets), len(self.instance.models), len(self.scenarios))
        table = np.zeros(shape)
        for k, d, m in np.ndindex(*shape[:3]):
            keep_time()
            name = self.instance.models[m].name
            table[k, d, m] = epoch_gains(self.instance, self.scenarios, k + 1, name, self.subsets[d])
        return table

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Loss of the switch from a model, or none, to another; shape (K_max, M + 1, M, S) [loss]."""
        self._require_memory()
        models = len(self.instance.models)
        table = np.zeros((self.epochs, models + 1, models, len(self.scenarios)))
        shifts, slopes = switch_lines(self.instance)
        for k in range(self.epochs):
            keep_time()
            drawn = self.scenarios.switch_losses[:, k].transpose(1, 2, 0)
            table[k, :-1] = self.scenarios.rounded(shifts[..., None] + slopes[..., None] * drawn)
        return table

    def _require_memory(self) -> None:
        """Refuse tables that are too large: of all sets of data, of one assignment, and of switches."""
        models, size = len(self.instance.models), len(self.scenarios)
        kinds = models * min(len(self.instance.clusters), len(self.subsets))
        row = len(self.subsets) * models + _COPIES * (kinds + (models + 1) * models)
        require_memory(
            8.0 * self.epochs * size * row,
            f"tables of {size} scenarios, {self.epochs} epochs, {models} models and "
            f"{len(self.subsets)} sets of data",
            "take fewer scenarios, datasets, models or epochs",
        )
