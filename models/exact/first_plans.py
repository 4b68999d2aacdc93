"""Good plans under one assignment: one change of kind at most, or a price of gain. Nothing is proved here.

At a price of gain every epoch decides by cost less price times mean gain: a dynamic program over (epoch,
model). The least price whose plan gains enough in enough scenarios is found by bisection. With as many epochs
as a knapsack has items it is off by about one of them, so single epochs are exchanged for cheaper ones, then
several together: combinations of the choices of least reduced cost, the core of a knapsack (Balas and Zemel
1980), by dynamic programming over what they save and gain less.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depl.models.exact.assignments import Assignment
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.kernels import Integers, Sample, interpreted, one_switch_scan
from depl.models.exact.sampled import CountedProblem
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.risk.verdicts import Verdict

LONG = 100
"""Epochs from which a priced plan is sought: set by hand. Below, plans with one switch are as good,
and the kernel need not be compiled."""

_EXPANSIONS, _BISECTIONS = 40, 45
"""Doublings of a price until its plan gains enough, and halvings of the bracket, to the last bits of it."""

_TRIED = 64
"""Exchanges, those that save most first, of which the first that still gains enough is made: set by hand."""

_CORE, _LABELS = 200, 500
"""Epochs whose choices are combined, and combinations that are kept after each: set by hand. Together they
take less than 0.1 s; with fewer, knapsacks whose values are multiples of a few stay 1 to 6 % off."""

_CLOSE = 1e-4
"""Relative difference from what the price bounds, below which a plan is not improved further: set by hand. A
search that starts from it needs no better one; above, labels mostly help."""

_CHOICES = 200
"""Choices of clusters tried for a sequence: all mixtures of two up to 199 epochs; a good plan is enough."""

_PIECE = 50
"""Numbers of epochs that are looked at between two looks at the time: set by hand, half a second with a
thousand epochs and scenarios. Fewer cost calls, more make limits coarser."""


@dataclass
class Neighbourhood:
    """Plans of one assignment."""

    problem: CountedProblem
    assignment: Assignment
    proceed: Callable[[], bool] = lambda: True  # no once time is up; what is held by then will do

    @cached_property
    def largest_gain(self) -> float:
        """No plan without switches gains or loses more in any scenario [loss]."""
        return float(np.abs(self._sample.gains).sum(axis=0).max(initial=0.0))

    @cached_property
    def _sample(self) -> Sample:
        """Scenarios of little gain first."""
        sample = self.problem.sample(self.assignment)
        return sample.ordered(np.argsort(sample.gains.sum(axis=(0, 1)), kind="stable"))

    @cached_property
    def _summed(self) -> Sample:
        return self._sample._replace(gains=_summed(self._sample.gains))

    def one_switch(self, multiplier: float, cutoff: float) -> Sequence[int] | None:
        """Kinds of the cheapest plan with one change of kind at most at a price of time, if below ``cutoff``.

        If time is over, of those that were looked at; one of K_max epochs is, in any case.
        """
        psi = self.assignment.cheapest(self.problem.psi(multiplier))
        charge = self.assignment.transfers - self.problem.paid(multiplier)
        # Excluded epochs get a price beyond all others, so that differences of sums stay numbers.
        ceiling = 1e6 * (1.0 + float(psi[np.isfinite(psi)].max(initial=0.0)))
        costs = np.where(np.isinf(psi), ceiling, psi)
        return self._one_switch(self._summed, costs, charge, cutoff, anytime=True) or None

    def priced(self, multiplier: float) -> Sequence[int] | None:
        """Kinds of a cheap plan by one price of gain, at a price of time; None if that finds none."""
        return priced_plan(self._sample, self.assignment.cheapest(self.problem.psi(multiplier)), self.proceed)

    def fastest(self, needed: float) -> tuple[float, Sequence[int]] | None:
        """Time and kinds of the fastest plan of one change of kind at most that gains ``needed``.

        In all scenarios but those that may miss. T_max does not count, the round deadline does; None if there
        is no such plan.
        """
        times = self.assignment.cheapest(self.problem.costs.fastest)
        excluded = 1e6 * (1.0 + float(times[np.isfinite(times)].sum()))
        costs, sample = np.where(np.isinf(times), excluded, times), self._summed._replace(needed=needed)
        kinds = self._one_switch(sample, costs, 0.0, excluded / 2)
        # Sums are cumulated past excluded epochs, so the time is added up anew.
        return (float(sum(times[k, kind] for k, kind in enumerate(kinds))), kinds) if kinds else None

    def in_time(self, needed: float) -> bool:
        """Whether a plan of one change of kind at most, in time, gains ``needed`` so."""
        limit, found = self.problem.maximum_time, self.fastest(needed)
        return found is not None and (limit is None or found[0] <= limit * (1 + TIME_TOLERANCE))

    def costed(self, kinds: Sequence[int], multiplier: float) -> Clustered | None:
        """The plan with its cheapest clusters, if it is feasible."""
        known = self.problem, self.assignment
        plan = cheapest_clusters(*known, kinds, multiplier, self.proceed, _CHOICES)
        met = plan is not None and self.problem.verdict(plan.choices) is Verdict.MET
        return plan if met else None

    @staticmethod
    def _one_switch(
        sample: Sample, costs: FloatArray, charge: float, cutoff: float, *, anytime: bool = False
    ) -> list[int]:
        """Kinds of the cheapest plan with one change of kind at most; none if none is below ``cutoff``.

        Looked for in pieces, from the shortest plans on.
        """
        found, totals, longest, start = np.zeros(4, dtype=np.int64), _summed(costs), len(costs), 1
        while start <= longest:
            try:
                keep_time()
            except OutOfTimeError:
                if not anytime:
                    raise
                if found[0]:
                    break
                start = longest
            stop = min(start + _PIECE, longest + 1)
            cutoff = one_switch_scan(sample, totals, charge, cutoff, found, start, stop)
            start = stop
        length, split, first, second = (int(value) for value in found)
        return [first] * split + [second] * (length - split)


def priced_plan(
    sample: Sample, costs: FloatArray, proceed: Callable[[], bool] = lambda: True
) -> list[int] | None:
    """Kinds of a cheap plan that gains enough; None if no price gives one.

    ``costs`` are psi of each kind at each epoch, (K, J); infinite excludes it.
    """
    cheapest, price = _enough_by_price(sample, costs, proceed)
    if cheapest is None:
        return None
    found = _cheapened(sample, costs, cheapest, proceed)
    value, least = (float(costs[np.arange(len(kinds)), kinds].sum()) for kinds in (found, cheapest))
    bound = least - price * _room(sample, cheapest)  # in a single scenario no plan costs less
    if proceed() and value - bound > _CLOSE * abs(value):
        found = _recombined(sample, costs, found, price)
    return [int(kind) for kind in found]


def _enough_by_price(
    sample: Sample, costs: FloatArray, proceed: Callable[[], bool]
) -> tuple[Integers | None, float]:
    """The cheapest sequence at the least price at which it gains enough, if any, and that price."""
    gains, losses = (part.mean(axis=-1, keepdims=True) for part in sample[:2])
    mean = sample._replace(gains=gains, switch_losses=losses)

    def at(price: float) -> Integers:
        kinds = np.empty(len(costs), dtype=np.int64)
        return kinds[: _cheapest_sequence(mean, costs, price, kinds)]

    known, greatest = costs[np.isfinite(costs)], float(np.abs(gains).max())
    low, high = 0.0, max(float(known.max(initial=0.0)), 1e-300) / max(greatest, 1e-300)
    found = at(high)
    for _ in range(_EXPANSIONS):
        if _enough(sample, found) or not proceed():
            break
        low, high = high, 2 * high
        found = at(high)
    if not _enough(sample, found):
        return None, high
    for _ in range(_BISECTIONS):
        if not proceed():
            break
        kinds = at(middle := (low + high) / 2)
        if _enough(sample, kinds):
            high, found = middle, kinds
        else:
            low = middle
    return found, high


def gained(sample: Sample, kinds: Integers) -> FloatArray:
    """Gain of a sequence in every scenario, shape (S,); minus infinity after a forbidden switch or end."""
    places, models = np.arange(len(kinds)), sample.models[kinds]
    before = np.concatenate([[sample.first_model], models[:-1]])[: len(models)]
    if not (sample.may_follow[before, models].all() and sample.may_end[models[-1:]].all()):
        return np.full(sample.gains.shape[-1], -math.inf)
    losses = sample.switch_losses[places, before, models].sum(axis=0)
    return np.asarray(sample.gains[places, kinds].sum(axis=0) - losses, dtype=float)


def _enough(sample: Sample, kinds: Integers) -> bool:
    return bool(_room(sample, kinds) >= 0)


def _room(sample: Sample, kinds: Integers) -> float:
    """What the worst scenario that counts gains beyond what is needed."""
    return float(np.partition(gained(sample, kinds), sample.allowed)[sample.allowed] - sample.needed)


def _cheapened(sample: Sample, costs: FloatArray, kinds: Integers, proceed: Callable[[], bool]) -> Integers:
    """With cheaper kinds in single epochs, the greatest saving first, while enough is gained."""
    places = np.arange(len(kinds))
    while len(kinds) and proceed():
        own = sample.gains[places, kinds][:, None] - sample.gains[: len(kinds)]
        saved = (costs[places, kinds][:, None] - costs[: len(kinds)]).ravel()
        fits = own.mean(axis=-1).ravel() <= _room(sample, kinds) + own.std(axis=-1).ravel()
        candidates = np.flatnonzero((saved > 0) & fits)
        for place in candidates[np.argsort(-saved[candidates], kind="stable")][:_TRIED].tolist():
            tried = kinds.copy()
            tried[place // costs.shape[1]] = place % costs.shape[1]
            if _enough(sample, tried):
                kinds = tried
                break
        else:
            break
    return kinds


def _recombined(sample: Sample, costs: FloatArray, kinds: Integers, price: float) -> Integers:
    """With other kinds in the epochs where they cost least at the price of gain, if that saves anything.

    A label is a combination of changes: the mean gain it loses, what it saves, and the label and the change
    that it comes from. Labels that lose no less and save no more than another are left out, and the most
    expensive ones at the price where there are too many. What switches lose is looked at in the end.
    """
    places = np.arange(len(kinds))
    lost = (sample.gains[places, kinds][:, None] - sample.gains[: len(kinds)]).mean(axis=-1)
    saved = costs[places, kinds][:, None] - costs[: len(kinds)]
    reduced = np.where(np.isfinite(saved), price * lost - saved, np.inf)
    reduced[places, kinds] = np.inf
    core = np.argsort(reduced.min(axis=1), kind="stable")[:_CORE]
    labels = np.zeros((1, 2))  # lost, saved
    trail: list[tuple[Integers, Integers]] = []
    for k in core[np.isfinite(reduced[core].min(axis=1))].tolist():
        changes = np.flatnonzero(np.isfinite(reduced[k]))
        moves = np.column_stack([lost[k, changes], saved[k, changes]])
        every = np.concatenate([labels, *(labels + move for move in moves)])
        kept = _undominated(every, price)
        turns, parents = np.divmod(kept, len(labels))
        trail.append((parents, np.where(turns > 0, k * costs.shape[1] + changes[turns - 1], -1)))
        labels = every[kept]
    worth = np.where(labels[:, 0] <= _room(sample, kinds), labels[:, 1], 0.0)
    for place in np.argsort(-worth, kind="stable")[:_TRIED].tolist():
        tried = kinds.copy()
        for change in _traced(trail, place):
            tried[change // costs.shape[1]] = change % costs.shape[1]
        if worth[place] > 0 and _enough(sample, tried):
            return tried
    return kinds


def _undominated(labels: FloatArray, price: float) -> Integers:
    """Rows of (lost, saved) of which no other loses less and saves more; at most `_LABELS`, the cheapest."""
    order = np.lexsort((-labels[:, 1], labels[:, 0]))
    saved = labels[order, 1]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(saved)[:-1]])
    order = order[saved > before]
    if len(order) > _LABELS:
        cost = price * labels[order, 0] - labels[order, 1]
        order = np.sort(order[np.argpartition(cost, _LABELS)[:_LABELS]])
    return np.asarray(order, dtype=np.int64)


def _traced(trail: list[tuple[Integers, Integers]], place: int) -> list[int]:
    """The changes of a label."""
    found = []
    for parents, changes in reversed(trail):
        if changes[place] >= 0:
            found.append(int(changes[place]))
        place = int(parents[place])
    return found


@interpreted
def _cheapest_sequence(sample: Sample, costs: FloatArray, price: float, kinds: Integers) -> int:
    """Length of the sequence of least cost less price times mean gain; its kinds are put into ``kinds``.

    None at all costs nothing, but is no plan where nothing has to be gained, as it would have been one.
    """
    length, count = costs.shape
    many = len(sample.may_end)
    value, following = np.full(many + 1, np.inf), np.empty(many)
    value[sample.first_model] = 0.0
    chosen = np.full((length, many), -1, dtype=np.int64)  # kind of an epoch by its model
    origin = np.full((length, many), -1, dtype=np.int64)  # model before it
    best, best_length, model = 0.0 if sample.needed > 0 else np.inf, 0, -1
    for k in range(length):
        following[:] = np.inf
        for j in range(count):
            after = sample.models[j]
            for before in range(many + 1):
                if sample.may_follow[before, after]:
                    total = value[before] + price * sample.switch_losses[k, before, after, 0]
                    total = total + costs[k, j] - price * sample.gains[k, j, 0]
                    if total < following[after]:
                        following[after], chosen[k, after], origin[k, after] = total, j, before
        value[:] = np.inf
        for after in range(many):
            value[after] = following[after]
            if value[after] < best and sample.may_end[after]:
                best, best_length, model = value[after], k + 1, after
    for k in range(best_length - 1, -1, -1):
        kinds[k] = chosen[k, model]
        model = origin[k, model]
    return best_length


def _summed(values: FloatArray) -> FloatArray:
    """Sums over the first 0, 1, ..., K epochs."""
    totals = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=totals[1:])
    return totals
