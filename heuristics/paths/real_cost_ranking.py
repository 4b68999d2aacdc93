r"""All sequences in order of their real cost, with a lower bound of what is left.

The cost of a sequence depends on how often each load occurs and on the clusters it opens, not on the order;
only its loss does. So sequences are ranked in two steps. *Cost classes*, one for each multiset of loads and
set of opened clusters, come from a pass over the epochs that merges prefixes with the same last model, loads
and openings: their completions cost the same. The prefixes form a graph without cycles; each knows the lowest
loss with which it can be reached, and with that the Lagrangian bounds drop it if no feasible sequence below a
threshold passes through it. *Sequences* of a class come in order of loss, backwards from its ends through
that graph: the lowest loss of the prefix plus the loss of the suffix is exact, so nothing is tried in vain.
Two suffixes that start at the same prefix and consist of the same steps in another order are one, so
sequences that no law can tell apart appear once.

The threshold starts just above the optimum and grows until the caller has enough: everything below it is
ranked, and what is left costs at least as much.
"""

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.real_cost_bounds import MARGIN, Bounds
from depl.heuristics.paths.real_cost_kernels import ROUNDING, Integers, Layer, children
from depl.heuristics.paths.real_cost_layers import first_layer, selected
from depl.heuristics.paths.real_cost_problem import Kinds, RealCostProblem
from depl.heuristics.paths.real_cost_search import MOST_LABELS, cheapest_sequence
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.allocation import allocate_counts
from depl.models.problem.laws import FloatArray
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

MOST_PREFIXES = 2_000_000
"""Merged prefixes of one threshold that are kept at most; fewer where there are many different loads."""

_FIRST_EXCESS = 1e-3
"""How far the first threshold lies above the optimum, as a share of it. Set by hand: a greater one ranks more
than a caller who wants few sequences asks for, a smaller one takes more thresholds."""
_GROWTH = 2.0
"""Factor by which the distance of the threshold from the optimum grows. Set by hand: every threshold builds
its graph anew; a greater factor ends sooner where many sequences are wanted, and ranks more in vain."""
_RETRIES = 3
"""Times that a threshold with too many prefixes is lowered, in a whole ranking, each time to a quarter of its
distance. Set by hand: each repeats a graph that may again be too large."""
_MOST_NUMBERS = 1 << 26
"""Counts of all merged prefixes of one threshold: 64-bit integers, 512 MiB. Set by hand: a threshold with
more is lowered, and the ranking ends where that does not help."""
_HASH_SEED = 20240214  # hash weights only


@dataclass(frozen=True, eq=False)
class RankedSequence:
    """One sequence with its real cost [cost] and its label [loss]."""

    sequence: Kinds
    cost: float
    loss: float


@dataclass(frozen=True, eq=False)
class CostClass:
    """All feasible sequences with the same loads and openings.

    Attributes
    ----------
    cost : float
        Of each of them [cost].
    epochs : int
        K.
    least_loss : float
        The lowest label among them [loss].
    """

    cost: float
    epochs: int
    least_loss: float
    _graph: "_Graph"
    _ends: tuple[int, ...]

    def sequences(self) -> Iterator[RankedSequence]:
        """The sequences in order of their label; those made of the same steps appear once.

        Steps are the same if `RealCostProblem.steps` says so.
        """
        for loss, sequence in self._graph.paths(self.epochs, self._ends):
            yield RankedSequence(sequence, self.cost, loss)


@dataclass
class Ranking:
    """The cost classes of a problem by increasing cost; an iterator that stops where the limits do.

    Attributes
    ----------
    problem : RealCostProblem
    limits : Limits
        Asked for time.
    most_prefixes : int
    most_labels : int
        Labels that the search for the cheapest sequence may keep before it narrows.
    lower_bound : float
        No sequence of a class that has not been handed out costs less; infinite if none is left [cost].
    termination : Termination or None
        Why no more classes are looked for, though some may still wait to be handed out: `OPTIMAL` if all are
        known, `INFEASIBLE` if there is none, `TIME_LIMIT` or `EXHAUSTED` (too many prefixes)
        otherwise; None before that.
    """

    problem: RealCostProblem
    limits: Limits = field(default_factory=Limits)
    most_prefixes: int = MOST_PREFIXES
    lower_bound: float = 0.0
    termination: Termination | None = None
    most_labels: int = MOST_LABELS
    _waiting: list[CostClass] = field(default_factory=list, init=False)
    _bounds: Bounds | None = field(default=None, init=False)
    _optimum: float = field(default=math.nan, init=False)
    _ranked: float = field(default=-math.inf, init=False)
    _next: float = field(default=math.nan, init=False)
    _retries: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[CostClass]:
        return self

    def __next__(self) -> CostClass:
        while not self._waiting and self.termination is None:
            self._raise_threshold()
        if not self._waiting:
            raise StopIteration
        found = self._waiting.pop()
        self.lower_bound = self._waiting[-1].cost if self._waiting else self._ranked
        return found

    def _raise_threshold(self) -> None:
        """Rank everything between the last threshold and the next one."""
        if self._bounds is None:
            self._start()
            return
        threshold = self._next
        graph = _Graph.of(self.problem, self._bounds, threshold, self.most_prefixes, self.limits)
        if graph.unfinished is not None:
            self._lower_threshold(graph.unfinished)
            return
        if graph.dropped == math.inf:
            self.termination, threshold = Termination.OPTIMAL, math.inf
        classes = graph.classes(self._ranked, threshold)
        self._waiting = sorted(classes, key=lambda found: (-found.cost, -found.least_loss))
        self._ranked = self.lower_bound = threshold
        excess = threshold - self._optimum
        self._next = max(self._optimum + _GROWTH * excess, graph.dropped * (1 + _FIRST_EXCESS))

    def _lower_threshold(self, reason: Termination) -> None:
        """Try a threshold nearer to the last one, a few times, if there were too many prefixes."""
        self._retries += 1
        if reason is not Termination.EXHAUSTED or self._retries > _RETRIES:
            self.termination = reason
            return
        ranked = max(self._ranked, self._optimum)
        self._next = ranked + (self._next - ranked) / _GROWTH**2

    def _start(self) -> None:
        """Solve the problem for the optimum and the bounds."""
        found = cheapest_sequence(self.problem, self.limits, self.most_labels)
        if found.sequence is None:
            self.lower_bound, self.termination = found.lower_bound, found.termination
            return
        self._bounds = Bounds.of(self.problem)
        self._bounds.ascend()
        self.lower_bound, self._optimum = found.lower_bound, found.cost
        self._next = found.cost * (1 + _FIRST_EXCESS) + 1e-300


def k_best(
    problem: RealCostProblem, count: int, limits: Limits | None = None, most_prefixes: int = MOST_PREFIXES
) -> tuple[list[RankedSequence], float]:
    """The cheapest sequences by real cost, those of equal cost by their label.

    Returns
    -------
    sequences : list of RankedSequence
        At most ``count``; fewer if there are no more, or the limits were reached.
    lower_bound : float
        No other sequence costs less; infinite if there is no other [cost].

    Raises
    ------
    InvalidInputError
        If ``count`` is not positive.
    """
    if count < 1:
        raise InvalidInputError(f"must be at least 1, not {count}", "count")
    ranking = Ranking(problem, Limits() if limits is None else limits, most_prefixes)
    found: list[RankedSequence] = []
    for group in ranking:
        rest = group.sequences()
        found += itertools.islice(rest, count - len(found))
        if len(found) == count:
            more = next(rest, None) is not None
            return found, group.cost if more else ranking.lower_bound
    return found, ranking.lower_bound


@dataclass(frozen=True, eq=False)
class _Level:
    """Merged prefixes with equally many epochs, n rows, and the steps that lead to them.

    ``losses`` is the least loss of each; the steps into row i are ``parents`` and ``kinds`` at the positions
    first[i], ..., first[i + 1] - 1. ``losses``, ``models`` and ``opened`` have shape (n,), ``counts`` (n, R).
    """

    losses: FloatArray
    models: Integers
    opened: Integers
    counts: Integers
    parents: Integers
    kinds: Integers
    first: Integers


@dataclass(eq=False)
class _Graph:
    """All merged prefixes through which a feasible sequence below a threshold may pass."""

    problem: RealCostProblem
    bounds: Bounds
    levels: list[_Level]
    dropped: float = math.inf
    unfinished: Termination | None = None

    @classmethod
    def of(
        cls, problem: RealCostProblem, bounds: Bounds, threshold: float, most: int, limits: Limits
    ) -> "_Graph":
        guides = bounds.guides(bounds.paces(threshold))
        weights = np.random.default_rng(_HASH_SEED).integers(
            -(2**62), 2**62, size=len(bounds.curves.loads) + 2, dtype=np.int64
        )
        layer, values = first_layer(bounds.network), np.zeros((1, len(guides.constants)))
        empty = np.zeros(0, dtype=np.int64)
        counts = np.zeros((1, len(bounds.curves.loads)), dtype=np.int64)
        root = _Level(layer.losses, layer.models, layer.opened, counts, empty, empty, empty)
        graph = cls(problem, bounds, [root])
        total, most = 0, min(most, _MOST_NUMBERS // max(1, counts.shape[1]))
        for epoch in range(problem.epochs):
            layer, dropped = children(bounds.network, guides, epoch, layer, values, threshold * (1 + MARGIN))
            graph.dropped = min(graph.dropped, float(dropped))
            total += len(layer.losses)
            if limits.expired() or total > most:
                graph.unfinished = Termination.TIME_LIMIT if limits.expired() else Termination.EXHAUSTED
                break
            if not len(layer.losses):
                break
            rows, level = _merged(layer, counts, bounds.curves.index[epoch], weights)
            values = values[layer.parents[rows]] + guides.weights[:, epoch, layer.kinds[rows]].T
            graph.levels.append(level)
            counts, layer = level.counts, selected(layer, rows)
        return graph

    def classes(self, low: float, high: float) -> Iterator[CostClass]:
        """The feasible cost classes with costs in [low, high)."""
        target = self.problem
        for epochs, level in enumerate(self.levels):
            ends = np.flatnonzero(level.losses <= target.highest_loss)
            if not len(ends):
                continue
            keys = np.column_stack([level.opened[ends], level.counts[ends]])
            distinct, member = np.unique(keys, axis=0, return_inverse=True)
            batch = allocate_counts(
                self.bounds.curves.loads, distinct[:, 1:], target.maximum_time, target.round_deadline
            )
            costs = batch.costs + self.bounds.network.charges[distinct[:, 0]]
            order = np.argsort(member.reshape(-1), kind="stable")
            groups = np.split(ends[order], np.cumsum(np.bincount(member.reshape(-1)))[:-1])
            for row in np.flatnonzero(batch.feasible & (costs >= low) & (costs < high)):
                rows = groups[row]
                least = float(level.losses[rows].min())
                yield CostClass(float(costs[row]), epochs, least, self, tuple(rows.tolist()))

    def paths(self, epochs: int, ends: tuple[int, ...]) -> Iterator[tuple[float, Kinds]]:
        """Loss and kinds of the sequences that end in some rows of a level, by increasing loss."""
        turn = itertools.count()
        heap: list[_Suffix] = []
        for row in ends:
            heap.append(_Suffix(float(self.levels[epochs].losses[row]), next(turn), epochs, row, 0.0, (), ()))
        heapq.heapify(heap)
        known: set[tuple[int, int, tuple[int, ...]]] = set()
        while heap:
            item = heapq.heappop(heap)
            if self.problem.steps is not None:
                if (item.epoch, item.row, item.steps) in known:
                    continue
                known.add((item.epoch, item.row, item.steps))
            if item.epoch > 0:
                for longer in self._longer(item, turn):
                    heapq.heappush(heap, longer)
            elif (loss := self.problem.loss(item.kinds)) <= self.problem.highest_loss:
                yield loss, item.kinds

    def _longer(self, item: "_Suffix", turn: Iterator[int]) -> Iterator["_Suffix"]:
        """The suffix with one step more at its front, for every step that can still reach the target."""
        level, below = self.levels[item.epoch], self.levels[item.epoch - 1]
        network, steps = self.bounds.network, self.problem.steps
        for place in range(level.first[item.row], level.first[item.row + 1]):
            parent, kind = int(level.parents[place]), int(level.kinds[place])
            at = item.epoch - 1, int(below.models[parent]), kind
            rest = item.rest + float(network.losses[at])
            least = float(below.losses[parent]) + rest
            if least <= network.highest_loss + ROUNDING * abs(least):
                made = () if steps is None else tuple(sorted((*item.steps, int(steps[at]))))
                yield _Suffix(least, next(turn), item.epoch - 1, parent, rest, made, (kind, *item.kinds))


class _Suffix(NamedTuple):
    """The end of a sequence, to be completed towards its front.

    ``least`` is the lowest loss of a whole sequence with this end, ``rest`` the loss of the end alone.
    """

    least: float
    turn: int
    epoch: int
    row: int
    rest: float
    steps: tuple[int, ...]
    kinds: Kinds


def _merged(
    layer: Layer, counts: Integers, index: Integers, weights: Integers
) -> tuple[NDArray[np.intp], _Level]:
    """One row per (last model, openings, loads), that of least loss, and the level of all of them."""
    made = counts[layer.parents]
    made[np.arange(len(made)), index[layer.kinds]] += 1
    keys = np.column_stack([layer.models, layer.opened, made])
    hashes = keys @ weights  # wraps around; rows are compared in full where hashes meet
    order = np.lexsort((layer.losses, hashes))
    same = (np.diff(hashes[order]) == 0) & (keys[order[1:]] == keys[order[:-1]]).all(axis=1)
    first = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
    rows = order[first[:-1]]
    level = _Level(
        losses=layer.losses[rows],
        models=layer.models[rows],
        opened=layer.opened[rows],
        counts=made[rows],
        parents=layer.parents[order],
        kinds=layer.kinds[order],
        first=first,
    )
    return rows, level
