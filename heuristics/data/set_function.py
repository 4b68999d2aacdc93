"""K^ T^ of stage 1 as a set function, for the methods of `depl.heuristics.set_functions`."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from depl.heuristics.data.conditions import submodular_by_condition
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    Normalised,
    SetFunction,
    rounded_chain,
)
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.foundation.errors import InvalidInputError


class SelectionFunction(SetFunction):
    """f of stage 1 as a set function, for the methods of `depl.heuristics.set_functions`.

    Parameters
    ----------
    problem : SelectionProblem
        K^ by volume, and finite without any dataset. Where Q = 0 makes K^ infinite, force a dataset first
        (`SelectionProblem.restricted`).

    Raises
    ------
    InvalidInputError
        If f is infinite on the empty set, or K^ comes from a table.
    """

    def __init__(self, problem: SelectionProblem) -> None:
        if not isinstance(problem.needed, NeededEpochs):
            raise InvalidInputError("K^ from a table has no volumes")
        if not math.isfinite(float(problem.needed.at(0.0))):
            raise InvalidInputError("K^ is infinite without data; force a dataset by problem.restricted")
        self.problem, self.needed = problem, problem.needed

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return self.problem.size

    def submodularity(self) -> Submodularity:
        """See `submodular_by_condition`."""
        return submodular_by_condition(self.problem)

    @property
    def rounding(self) -> float:
        """A bound by the number of sums, the greatest T, and the greatest K or part of K that cancels."""
        length = self.problem.fixed_duration + float(self.problem.durations.sum())
        epochs = float(self.needed.at(0.0)) + float(self._parameters())
        largest = epochs * length + float(self.problem.transfers.sum())
        return 1e-15 * (self.size + 10) * (largest + self.problem.constant)

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        volume, duration, transfer = (
            np.concatenate([[0.0], np.cumsum(part[order])])
            for part in (self.problem.volumes, self.problem.durations, self.problem.transfers)
        )
        time = training_time(self.needed.at(volume), self.problem.fixed_duration + duration)
        return np.asarray(time + transfer + self.problem.constant, dtype=float)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.problem.values(members)

    def normalised(self) -> SetFunction:
        """See `SetFunction`; what is paid in any case goes first, then K^ T^ without data."""
        return Normalised(SelectionFunction(replace(self.problem, constant=0.0)))

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; logarithms and powers to 55 digits."""
        volume, length = Fraction(0), Fraction(self.problem.fixed_duration)
        transfer = Fraction(self.problem.constant)
        found = [self.needed.exact(volume) * length + transfer]
        for place in order.tolist():
            volume += Fraction(float(self.problem.volumes[place]))
            length += Fraction(float(self.problem.durations[place]))
            transfer += Fraction(float(self.problem.transfers[place]))
            found.append(self.needed.exact(volume) * length + transfer)
        size = 1 + Fraction(float(self.needed.at(0.0))) + abs(self._parameters())
        return rounded_chain(found, size * (length + 1) / 10**50)

    def _parameters(self) -> Fraction:
        """How much larger than K its parts can be: a and b ln Q of the logarithmic law."""
        law = self.needed.law
        whole = float(self.problem.volumes.sum()) + self.needed.base_volume
        parts = [getattr(law, name, 0.0) for name in ("a", "b", "p")]
        return Fraction(sum(abs(part) for part in parts) * (1 + abs(math.log(max(whole, 1e-300)))))
