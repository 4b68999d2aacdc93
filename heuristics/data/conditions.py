"""When K^ T^ is submodular, and what that is worth: E4 as functions of a problem.

Mixed differences of f in datasets i and j are integrals of K'' T q_i q_j + K' (q_i tau_j + q_j tau_i) over
volumes and durations between two sets. So f is submodular if, wherever sets can lead,

    (-K''/K')(Q) T <= rho_i + rho_j  for all i != j,      rho_d = tau_d / q_d.

- One density (tau = rho q): this reads -K''/K' T <= 2 rho, concavity of K(Q) T(Q), which E4 decides for
  each law. It is necessary and sufficient for all volumes of the same sum; for the given volumes it is
  sufficient.
- Several densities: T is at most t0 + psi(Q), psi the greatest duration of a volume (fractional knapsack
  the other way round), and the least rho_i + rho_j is that of the two smallest. Both sides are compared on
  intervals, with -K''/K' (which falls) at the left end and psi at the right end.

Transfers are modular and change nothing. Where the product is concave in one density, its least value over
nonempty sets is at an end: the smallest single dataset, or everything.
"""

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    Normalised,
    SetFunction,
    as_order,
    as_set,
    exact_chain_of,
    rounded_chain,
)
from depl.heuristics.set_functions.status import exhaustive
from depl.heuristics.set_functions.verdicts import UNKNOWN, Submodularity, proved
from depl.models.foundation.errors import InvalidInputError

_INTERVALS = 4096
"""Intervals of the volume in each of which the condition is checked at its worst. Set by hand: it is
sufficient with any number; more prove it for problems that nearly break it, in time in proportion."""


def single_density(problem: SelectionProblem) -> float | None:
    """rho if tau_d = rho q_d exactly for all datasets (as rational numbers), else None [time / data]."""
    if not problem.size:
        return None
    pairs = zip(problem.durations.tolist(), problem.volumes.tolist(), strict=True)
    densities = (Fraction(duration) / Fraction(volume) for duration, volume in pairs)
    first = next(densities)
    return float(first) if all(density == first for density in densities) else None


def product_is_concave(problem: SelectionProblem, least: float = 0.0) -> bool:
    """Whether K(Q) T(Q) is concave on the volumes from ``least`` on; False if the densities differ.

    Parameters
    ----------
    problem : SelectionProblem
        With volumes; transfers are not looked at.
    least : float
        Least added volume: 0 with the empty set, the smallest dataset without [data].
    """
    rate = single_density(problem)
    if not isinstance(problem.needed, NeededEpochs) or rate is None:
        return False
    whole = math.fsum(problem.volumes.tolist())
    start = problem.needed.with_present(least)
    return start.product_is_concave(problem.fixed_duration + rate * least, rate, max(whole - least, 0.0))


def submodular_by_condition(problem: SelectionProblem) -> Submodularity:
    """PROVED where the conditions above hold on all sets, the empty one included; otherwise UNKNOWN.

    They are sufficient: trying all triples (`depl.heuristics.set_functions.status.exhaustive`) may still
    prove it, and one triple may refute it.
    """
    if not isinstance(problem.needed, NeededEpochs):
        return UNKNOWN
    if problem.needed.constant or problem.size < 2:
        return proved("K^ does not depend on the data" if problem.needed.constant else "at most one dataset")
    if not math.isfinite(float(problem.needed.at(0.0))):
        return UNKNOWN
    if product_is_concave(problem):
        return proved("K^ T^ is concave in the volume, by the condition of E4")
    if _bounded_by_densities(problem, problem.needed):
        return proved("the curvature of K^ times T^ never exceeds the two least densities")
    return UNKNOWN


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


class TabledSelection(SetFunction):
    """f of stage 1 for K^ from a table, over the sets that contain ``inside`` and miss ``outside``.

    Parameters
    ----------
    problem : SelectionProblem
        K^ from a table.
    inside, outside : frozenset of int
        Disjoint; ``inside`` with at least one dataset, as the table has none for the empty set.

    Raises
    ------
    InvalidInputError
        If they are not so.
    """

    def __init__(self, problem: SelectionProblem, inside: frozenset[int], outside: frozenset[int]) -> None:
        everything = frozenset(range(problem.size))
        if not inside or inside & outside or not inside | outside <= everything:
            raise InvalidInputError("datasets to use and to leave out must exist and be different, one used")
        self.problem, self.inside = problem, inside
        self.free = as_order(everything - inside - outside)

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return len(self.free)

    @functools.cached_property
    def _verdict(self) -> Submodularity:
        return exhaustive(self)

    def submodularity(self) -> Submodularity:
        """By all triples: tables have at most a dozen datasets."""
        return self._verdict

    @property
    def rounding(self) -> float:
        """A bound by the number of sums and the greatest K and T."""
        epochs = np.array(self.problem.needed.epochs) if isinstance(self.problem.needed, TabledEpochs) else 0
        length = self.problem.fixed_duration + float(self.problem.durations.sum())
        greatest = float(np.max(epochs, where=np.isfinite(epochs), initial=0.0)) * length
        greatest += float(self.problem.transfers.sum()) + self.problem.constant
        return 1e-15 * (self.problem.size + 10) * greatest

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        members: BoolArray = np.zeros((len(order) + 1, self.size), dtype=bool)
        members[:, order] = np.tri(len(order) + 1, len(order), -1, dtype=bool)
        return self.values(members)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        lifted: BoolArray = np.zeros((len(members), self.problem.size), dtype=bool)
        lifted[:, sorted(self.inside)] = True
        lifted[:, self.free] = members
        return self.problem.values(lifted)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; numbers of a table are rational."""
        chosen = [self.inside | as_set(self.free[order[:count]]) for count in range(len(order) + 1)]
        return exact_chain_of([self.problem.exact_value(item) for item in chosen])


def _bounded_by_densities(problem: SelectionProblem, needed: NeededEpochs) -> bool:
    densities = problem.durations / problem.volumes
    order = np.argsort(-densities, kind="stable")
    volume = np.concatenate([[0.0], np.cumsum(problem.volumes[order])])
    duration = np.concatenate([[0.0], np.cumsum(problem.durations[order])])
    edges = np.linspace(0.0, volume[-1], _INTERVALS + 1)
    longest = problem.fixed_duration + np.interp(edges[1:], volume, duration)
    least = float(np.sort(densities)[:2].sum())
    return bool((needed.curvature(edges[:-1]) * longest * (1 + 1e-12) <= least).all())
