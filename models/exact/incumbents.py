"""Good plans under one assignment: at most one switch first, then exchanges of blocks of epochs.

Both look for the least sum of psi at one price lam of time. What they find is costed exactly, and the search
goes on with the multiplier of that plan until nothing improves. Nothing is proved here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.models.exact.assignments import Assignment, kind_gains, make_sample
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.kernels import best_block, one_switch_scan
from depl.models.exact.priced_plans import priced_plan
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import CountedProblem
from depl.models.foundation.tolerances import PROOF_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_ROUNDS = 40
"""Exchanges of blocks at most: set by hand, and one without gain ends them sooner. Fewer may leave a
worse first plan; nothing is proved here."""

_CHOICES = 200
"""Choices of clusters tried for a sequence: all mixtures of two up to 199 epochs; a good plan is enough."""


@dataclass
class Neighbourhood:
    """Moves among the plans of one assignment.

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
        """Kinds of the cheapest plan with at most one switch at a price of time, if below ``cutoff``."""
        found = np.zeros(4, dtype=np.int64)
        costs, charge = self._costs(multiplier)
        best = one_switch_scan(self._sample, costs, charge, cutoff, found)
        if not best < cutoff:
            return None
        length, split, first, second = (int(value) for value in found)
        return [first] * split + [second] * (length - split)

    def priced(self, multiplier: float) -> Sequence[int] | None:
        """Kinds of a cheap plan by one price of gain, at a price of time; None if that finds none."""
        gains = np.diff(self._sample.gains, axis=0)
        costs = self.assignment.cheapest(self.prices.at(multiplier))
        return priced_plan(self._sample._replace(gains=gains), costs, self.proceed)

    def in_time(self, needed: float) -> bool:
        """Whether a plan with at most one switch keeps T_max and gains ``needed`` in enough scenarios."""
        fastest = self.assignment.cheapest(self.prices.fastest)
        limit = self.prices.maximum_time
        if limit is None:  # only the round deadline excludes epochs
            fastest, limit = np.where(np.isinf(fastest), 1.0, 0.0), 0.5
        times = np.zeros((len(fastest) + 1, fastest.shape[1]))
        np.cumsum(np.where(np.isinf(fastest), 2 * limit, fastest), axis=0, out=times[1:])
        cutoff = limit * (1 + TIME_TOLERANCE)
        found = np.zeros(4, dtype=np.int64)
        best = one_switch_scan(self._sample._replace(needed=needed), times, 0.0, cutoff, found)
        return bool(best < cutoff)

    def fastest(self, needed: float) -> tuple[float, Sequence[int]] | None:
        """Time and kinds of the fastest plan with at most one switch that gains enough in enough scenarios.

        T_max does not count, the round deadline does; None if there is no such plan.
        """
        times = self.assignment.cheapest(self.prices.fastest)
        excluded = 1e6 * (1.0 + float(times[np.isfinite(times)].sum()))
        totals = np.zeros((len(times) + 1, times.shape[1]))
        np.cumsum(np.where(np.isinf(times), excluded, times), axis=0, out=totals[1:])
        found = np.zeros(4, dtype=np.int64)
        one_switch_scan(self._sample._replace(needed=needed), totals, 0.0, excluded / 2, found)
        length, split, first, second = (int(value) for value in found)
        kinds = [first] * split + [second] * (length - split)
        # Sums are cumulated past excluded epochs, so the time is added up anew.
        time = float(sum(times[k, kind] for k, kind in enumerate(kinds)))
        return (time, kinds) if kinds else None

    def exchanged(self, kinds: Sequence[int], multiplier: float, cutoff: float) -> Sequence[int] | None:
        """Kinds after the best exchange of one block at a price of time, if below ``cutoff``."""
        found = np.zeros(4, dtype=np.int64)
        costs, charge = self._costs(multiplier)
        longest = self.problem.epochs
        padded = np.array([*kinds, *[kinds[-1]] * (longest - len(kinds))], dtype=np.int64)
        best = best_block(self._sample, costs, charge, padded, len(kinds), cutoff, found)
        if not best < cutoff:
            return None
        length, first, last, kind = (int(value) for value in found)
        padded[first:last] = kind
        return [int(value) for value in padded[:length]]

    def improved(self, kinds: Sequence[int], plan: Clustered) -> tuple[Sequence[int], Clustered]:
        """Exchange blocks until none helps."""
        for _ in range(_ROUNDS):
            if not self.proceed():
                break
            following = self.exchanged(kinds, plan.multiplier, plan.cost - PROOF_TOLERANCE * abs(plan.cost))
            better = None if following is None else self.costed(following, plan.multiplier, plan.cost)
            if following is None or better is None:
                break
            kinds, plan = following, better
        return kinds, plan

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
