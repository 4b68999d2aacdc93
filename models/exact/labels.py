"""Plans whose standard deviation lies between two, by labels instead of a tree.

A *label* is what some epochs of a plan have together: cost, mean gain and variance. It is dropped where two
prices show that no completion costs less than what is aimed at; and where another one costs no more, gains no
less in the mean, and no less after z times its deviation is taken off. That order stays whatever both add, as
a root grows the less the more stands under it. Costs have to be sums, so there is no T_max, and epochs may
not depend on one another. Derived on the page "Optima under the law" (``exact``), under "Normal increments:
labels"; the dominance is that of Wang et al. for knapsacks (github.com/AGNORT/SMKP).
"""

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depl.models.exact.assignments import Assignment
from depl.models.exact.chords import ChordedProblem
from depl.models.exact.kernels import Booleans, Integers, interpreted
from depl.models.foundation.search import golden_sections
from depl.models.foundation.tolerances import sum_rounding
from depl.models.problem.laws import FloatArray

_WIDEST, _STEPS = 8.0, 36
"""Prices of gain are sought within exp(8) = 3000 times either side of a usual one, to 16 * 0.618**36 = 5e-7
of themselves: set by hand. Where little of what could be gained is needed, as with a small knapsack, the best
one lies far from the average. Any price is sound."""

_OVERLAP = 1e-12
"""Part of the largest deviation, for every epoch, by which ends are moved apart: a plan at an end is looked
for on both sides. Grids take at most 4.4e-16 of the largest variance off that of an epoch, so 4.4e-13 of the
largest deviation off one of 5e-4 of it or more; no end but 0 is smaller (`chord_search`, `_NARROW`)."""

_BITS = 52
"""Of a sum that no plan exceeds: what an epoch adds is a multiple of its last one, so that sums are exact."""

Span = tuple[float, float]
"""Two standard deviations between which that of a plan lies [loss]."""


class Line(NamedTuple):
    """A price, and that no plan of so many epochs within a span costs less than ``bound`` [cost]."""

    bound: float
    price: float  # of gain [cost / loss]


class Answer(NamedTuple):
    """Kinds of a cheapest plan below what was aimed at, or None; whether all labels were looked at."""

    kinds: Integers | None
    complete: bool


class _Labels(NamedTuple):
    """Sums over some epochs, one entry per label."""

    reduced: FloatArray  # costs at the two prices [cost]
    costs: FloatArray
    gains: FloatArray
    variances: FloatArray


@dataclass(frozen=True, eq=False)
class LabelSearch:
    """Plans of one assignment under normal increments, where epochs do not depend on one another.

    What epochs add is rounded in favour of the plan (`_BITS`), so that equal sums are equal in whatever order
    they are made; a plan that is found has to be judged.
    """

    problem: ChordedProblem
    assignment: Assignment

    @staticmethod
    def covers(problem: ChordedProblem) -> bool:
        """Whether costs are sums, and no epoch depends on the one before it."""
        moments = problem.moments
        linked = np.any(moments.losses) or np.any(moments.switch_variances)
        free = problem.may_follow.all() and problem.may_end.all()
        return bool(free and not linked and problem.maximum_time is None and problem.needed > 0)

    def lines(self, span: Span, usual: float) -> list[Line]:
        """Bounds by number of epochs, from 0 on; prices of gain are sought around a usual one."""
        found = list[tuple[float, FloatArray]]()

        def least(exponent: float) -> float:
            price = usual * math.exp(exponent)
            found.append((price, self._bounds(span, price)))
            return float(found[-1][1].min())

        for _ in golden_sections(least, -_WIDEST, _WIDEST, _STEPS, value=float):
            pass
        table = np.array([bounds for _, bounds in found])
        best = enumerate(table.argmax(axis=0).tolist())
        return [Line(float(table[row, n]), found[row][0]) for n, row in best]

    def cheapest(
        self, span: Span, length: int, line: Line, aim: float, most: int, look: Callable[[], None]
    ) -> Answer:
        """A cheapest plan up to the end of a span that costs less than ``aim``, with at most so many labels.

        Plans may be missing whose place one of another span takes, which costs no more. ``look`` is called
        from time to time.
        """
        costs, gains, variances = table = [part[:length] for part in self._table]
        price, slope = line.price, self._slope(span)
        reduced = costs - price * (gains - slope * variances)
        limit = aim - self.assignment.transfers - price * self._required(span, slope)
        limit += float(self._rounding(price, slope)[length])
        kinds, order = _settled(reduced, limit)
        fixed = np.flatnonzero(kinds >= 0)
        labels = _Labels(*(part[fixed, kinds[fixed]].sum(keepdims=True) for part in (reduced, *table)))
        rest = np.append(reduced[order].min(axis=1)[::-1].cumsum()[::-1], 0.0)
        trail, made = list[tuple[Integers, Integers]](), 0
        for place, k in enumerate(order.tolist()):
            look()
            added = _Labels(reduced[k], costs[k], gains[k], variances[k])
            labels, origin = self._extended(labels, added, limit - rest[place + 1], span[1] + self._overlap)
            trail.append(origin)
            made += len(labels.costs)
            if made > most or not len(labels.costs):
                return Answer(None, made <= most)
        enough = labels.gains - self.problem.safety * np.sqrt(labels.variances) >= self._needed
        found = np.flatnonzero(enough & (labels.costs + self.assignment.transfers < aim))
        if not found.size:
            return Answer(None, complete=True)
        best = int(found[labels.costs[found].argmin()])
        for k, (parents, chosen) in zip(order[::-1].tolist(), reversed(trail), strict=True):
            kinds[k], best = chosen[best], int(parents[best])
        return Answer(kinds, complete=True)

    @functools.cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Costs, mean gains and variances of epochs and kinds, on grids where sums are exact, (K, J)."""
        moments, chosen = self.problem.moments, (self.assignment.subsets, self.assignment.models)
        return (
            _on_grid(self.assignment.cheapest(self.problem.psi(0.0)), np.floor),
            _on_grid(moments.gains[:, *chosen], np.ceil),
            _on_grid(moments.variances[:, *chosen], np.floor),
        )

    @functools.cached_property
    def _sizes(self) -> list[FloatArray]:
        """Greatest sums over the first n epochs of the sizes of costs, gains and variances, (K + 1,)."""
        return [np.append(0.0, np.cumsum(_largest(part))) for part in self._table]

    @functools.cached_property
    def _overlap(self) -> float:
        return _OVERLAP * self.problem.epochs * float(self.problem.ends[-1])

    @functools.cached_property
    def _needed(self) -> float:
        """What is needed, less what labels may be off that took the place of others, one in each epoch.

        Their sums are exact; a root, a product and a difference of each are rounded.
        """
        _, gains, variances = (float(sizes[-1]) for sizes in self._sizes)
        size = gains + self.problem.safety * math.sqrt(variances)
        return self.problem.needed - 4 * self.problem.epochs * sys.float_info.epsilon * size

    def _required(self, span: Span, slope: float) -> float:
        """Mean gain less slope times variance that plans of the span have at least.

        z times the root less a line in the variance is least at an end.
        """
        ends = max(0.0, span[0] - self._overlap), span[1] + self._overlap
        return self._needed + min(self.problem.safety * end - slope * end * end for end in ends)

    def _slope(self, span: Span) -> float:
        """Gain that a unit of variance is worth: that of the chord [1 / loss]."""
        return self.problem.safety / sum(span)

    def _rounding(self, price: float, slope: float) -> FloatArray:
        """What sums of costs at two prices may be off, by number of epochs [cost]."""
        costs, gains, variances = self._sizes
        asked = abs(self._needed) + self.problem.safety * float(self.problem.ends[-1])
        sizes = costs + price * (gains + slope * variances + asked)
        return np.asarray(sum_rounding(self.problem.epochs) * sizes)

    def _bounds(self, span: Span, price: float) -> FloatArray:
        """No plan of a span costs less, by number of epochs, (K + 1,) [cost]."""
        (costs, gains, variances), slope = self._table, self._slope(span)
        least = np.append(0.0, (costs - price * (gains - slope * variances)).min(axis=1).cumsum())
        fixed = self.assignment.transfers + price * self._required(span, slope)
        return np.asarray(least + fixed - self._rounding(price, slope))

    def _extended(
        self, labels: _Labels, added: _Labels, room: float, last: float
    ) -> tuple[_Labels, tuple[Integers, Integers]]:
        """The labels after one more epoch of each kind, and of each its parent and kind."""
        totals = labels.reduced[:, None] + added.reduced
        spread = labels.variances[:, None] + added.variances
        parents, kinds = np.nonzero((totals < room) & (spread <= last**2))
        every = _Labels(*(old[parents] + new[kinds] for old, new in zip(labels, added, strict=True)))
        assured = every.gains - self.problem.safety * np.sqrt(every.variances)
        order = np.lexsort((-every.gains, -assured, every.costs))
        kept = np.empty(len(order), dtype=np.bool_)
        mark_undominated(assured[order], every.gains[order], kept)
        order = order[kept]
        return _Labels(*(part[order] for part in every)), (parents[order], kinds[order])


@interpreted
def mark_undominated(assured: FloatArray, gains: FloatArray, kept: Booleans) -> None:
    """Keep labels of which none before has as much of both, where they are sorted by cost.

    Of those that are kept a staircase is held: what is assured falls, gains rise.
    """
    count = 0
    steps, heights = np.empty(len(gains)), np.empty(len(gains))
    for place in range(len(gains)):
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if steps[middle] >= assured[place]:
                low = middle + 1
            else:
                high = middle
        kept[place] = low == 0 or heights[low - 1] < gains[place]
        if not kept[place]:
            continue
        after = low
        while after < count and heights[after] <= gains[place]:
            after += 1
        if after == low:
            for other in range(count, low, -1):
                steps[other], heights[other] = steps[other - 1], heights[other - 1]
        else:
            for other in range(after, count):
                moved = other + low + 1 - after
                steps[moved], heights[moved] = steps[other], heights[other]
        steps[low], heights[low] = assured[place], gains[place]
        count += low + 1 - after


def _settled(reduced: FloatArray, limit: float) -> tuple[Integers, Integers]:
    """Kinds of epochs where every other one is too expensive at the two prices, or -1; and the other epochs.

    Those come first whose second kind is the most expensive, as most labels are dropped there.
    """
    least = reduced.min(axis=1)
    alone = reduced.shape[1] == 1
    second = np.full(len(least), np.inf) if alone else np.partition(reduced, 1, axis=1)[:, 1] - least
    settled = second >= limit - least.sum()
    order = np.argsort(-second, kind="stable")
    return np.where(settled, reduced.argmin(axis=1), -1), order[~settled[order]]


def _largest(table: FloatArray) -> FloatArray:
    """Greatest size of a finite entry, by epoch."""
    return np.asarray(np.where(np.isfinite(table), np.abs(table), 0.0).max(axis=1))


def _on_grid(table: FloatArray, rounded: np.ufunc) -> FloatArray:
    """Rounded to multiples of the last of `_BITS` of the greatest sum over epochs; whole numbers stay."""
    unit = 2.0 ** (math.frexp(float(_largest(table).sum()))[1] - _BITS)
    return np.asarray(rounded(table / unit) * unit)
