"""Good plans under one assignment: one change of kind at most, or a price of gain (`priced_plans`).

Both look for the least sum of psi at one price lam of time. What they find is costed exactly. Nothing is
proved here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.models.exact.assignments import Assignment, kind_gains, make_sample
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.kernels import Integers, Sample, one_switch_scan
from depl.models.exact.priced_plans import priced_plan
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import CountedProblem
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_CHOICES = 200
"""Choices of clusters tried for a sequence: all mixtures of two up to 199 epochs; a good plan is enough."""

_PIECE = 20_000_000
"""Gains of single scenarios that are summed at most between two looks at the time: set by hand, 0.02 seconds
if all are, of which most are not as their plans cost too much, and half a second while kernels are not yet
compiled. Fewer cost calls, more make limits coarser."""

_COMPARED = 16
"""Gains that could be summed in the time in which the cost of a plan is compared, which is done for all."""


@dataclass
class Neighbourhood:
    """Plans of one assignment.

    Attributes
    ----------
    proceed : callable
        Says no when time is up; what is held by then is good, and less proved.
    largest_gain : float
        No plan without switches gains or loses more in any scenario [loss].
    """

    problem: CountedProblem
    prices: Prices
    assignment: Assignment
    proceed: Callable[[], bool] = lambda: True
    largest_gain: float = field(init=False)

    def __post_init__(self) -> None:
        """Sum the gains of every kind over its first epochs."""
        gains = kind_gains(self.problem, self.assignment)
        sample = make_sample(self.problem, self.assignment, np.argsort(gains.sum(axis=(0, 1)), kind="stable"))
        totals = np.zeros((self.problem.epochs + 1, *gains.shape[1:]))
        np.cumsum(sample.gains, axis=0, out=totals[1:])
        self._sample = sample._replace(gains=totals)
        self.largest_gain = float(np.abs(gains).sum(axis=0).max(initial=0.0))

    def one_switch(self, multiplier: float, cutoff: float) -> Sequence[int] | None:
        """Kinds of the cheapest plan with one change of kind at most at a price of time, if below ``cutoff``.

        If time is over, of those that were looked at; one of K_max epochs is, in any case.
        """
        costs, charge = self._costs(multiplier)
        scan = _OneSwitch(self._sample, costs, charge, cutoff)
        try:
            scan.run()
        except OutOfTimeError:
            if scan.best == cutoff:
                scan.run_lengths(self.problem.epochs, self.problem.epochs + 1)
        return scan.kinds if scan.best < cutoff else None

    def priced(self, multiplier: float) -> Sequence[int] | None:
        """Kinds of a cheap plan by one price of gain, at a price of time; None if that finds none."""
        gains = np.diff(self._sample.gains, axis=0)
        costs = self.assignment.cheapest(self.prices.at(multiplier))
        return priced_plan(self._sample._replace(gains=gains), costs, self.proceed)

    def in_time(self, needed: float) -> bool:
        """Whether a plan of one change of kind at most, in time, gains ``needed`` in S - p scenarios."""
        fastest = self.assignment.cheapest(self.prices.fastest)
        limit = self.prices.maximum_time
        if limit is None:  # only the round deadline excludes epochs
            fastest, limit = np.where(np.isinf(fastest), 1.0, 0.0), 0.5
        times = np.zeros((len(fastest) + 1, fastest.shape[1]))
        np.cumsum(np.where(np.isinf(fastest), 2 * limit, fastest), axis=0, out=times[1:])
        cutoff = limit * (1 + TIME_TOLERANCE)
        scan = _OneSwitch(self._sample._replace(needed=needed), times, 0.0, cutoff)
        scan.run()
        return scan.best < cutoff

    def fastest(self, needed: float) -> tuple[float, Sequence[int]] | None:
        """Time and kinds of the fastest plan of one change of kind at most that gains ``needed`` so.

        T_max does not count, the round deadline does; None if there is no such plan.
        """
        times = self.assignment.cheapest(self.prices.fastest)
        excluded = 1e6 * (1.0 + float(times[np.isfinite(times)].sum()))
        totals = np.zeros((len(times) + 1, times.shape[1]))
        np.cumsum(np.where(np.isinf(times), excluded, times), axis=0, out=totals[1:])
        scan = _OneSwitch(self._sample._replace(needed=needed), totals, 0.0, excluded / 2)
        scan.run()
        kinds = scan.kinds
        # Sums are cumulated past excluded epochs, so the time is added up anew.
        time = float(sum(times[k, kind] for k, kind in enumerate(kinds)))
        return (time, kinds) if kinds else None

    def costed(self, kinds: Sequence[int], multiplier: float, cutoff: float) -> Clustered | None:
        """The plan with its cheapest clusters, if it is feasible and costs less than ``cutoff``."""
        plan = cheapest_clusters(
            self.problem, self.prices, self.assignment, kinds, multiplier, cutoff, self.proceed, _CHOICES
        )
        if plan is None or self.problem.misses(plan.choices) > self.problem.allowed:
            return None
        return plan

    def _costs(self, multiplier: float) -> tuple[FloatArray, float]:
        psi = self.assignment.cheapest(self.prices.at(multiplier))
        limit = self.prices.maximum_time
        totals = np.zeros((len(psi) + 1, psi.shape[1]))
        # Excluded epochs get a price beyond all others, so that differences of sums stay numbers.
        ceiling = 1e6 * (1.0 + float(psi[np.isfinite(psi)].max(initial=0.0)))
        np.cumsum(np.where(np.isinf(psi), ceiling, psi), axis=0, out=totals[1:])
        charge = self.assignment.transfers - (multiplier * limit if limit is not None else 0.0)
        return totals, charge


@dataclass
class _OneSwitch:
    """All plans with one change of kind at most, in pieces that look at the time (`one_switch_scan`)."""

    sample: Sample
    costs: FloatArray
    charge: float
    best: float
    found: Integers = field(default_factory=lambda: np.zeros(4, dtype=np.int64), init=False)

    def run(self) -> None:
        """All lengths, from the shortest on.

        Raises
        ------
        OutOfTimeError
            If time is over; what was found by then is kept.
        """
        longest, kinds = self.costs.shape
        size = (_COMPARED + self.sample.gains.shape[-1]) * kinds**2 * longest
        for start, stop in _pieces(1, longest, max(_PIECE // size, 1)):
            keep_time()
            self.run_lengths(start, stop)

    def run_lengths(self, start: int, stop: int) -> None:
        """Lengths from ``start`` to ``stop`` - 1."""
        self.best = one_switch_scan(self.sample, self.costs, self.charge, self.best, self.found, start, stop)

    @property
    def kinds(self) -> list[int]:
        """Those of the plan that was found; none if none was."""
        length, split, first, second = (int(value) for value in self.found)
        return [first] * split + [second] * (length - split)


def _pieces(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + size, stop)) for begin in range(start, stop, size)]
