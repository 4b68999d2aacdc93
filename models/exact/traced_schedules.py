"""Every schedule that an instance allows inside the support of its traces, with its cheapest cost.

What a traced law says depends on the order of the epochs, so plans form no classes as they do under the
paper's law (`depl.models.exact.plan_classes`). But traces support few stages in a row: with switch
epochs and lengths inside the convex hull of those seen there are some ten thousand schedules, not
exponentially many. They are listed epoch by epoch; what misses a time limit with full resources, or strays
from the support, is dropped with everything that begins like it. So is, where the law promises only plans
that enough runs went through, what fewer runs began like.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_lending import first_losses
from depl.models.evaluation.traced_support import epoch_outside, mean_after, strays
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Position, Trained, ends_of, following
from depl.models.problem.allocation import allocate_counts
from depl.models.problem.epochs import Load, load
from depl.models.problem.instance import Instance
from depl.models.traces.table import Schedule

Counts = NDArray[np.int32]

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Node:
    """A schedule: one epoch after another node.

    Attributes
    ----------
    place : Position
        Of its last epoch.
    parent, before_stage : int
        The node without the last epoch, and without the last stage; -1 for none.
    mean : float
        Of the final loss [loss].
    cost : float
        Cheapest, transfers included [cost].
    """

    place: Position
    parent: int
    before_stage: int
    mean: float
    cost: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """All schedules, shorter ones first.

    Attributes
    ----------
    nodes : tuple of Node
    past : tuple of Position
        The last positions of the stages of a run under way, which all schedules go on from.
    """

    nodes: tuple[Node, ...]
    past: tuple[Position, ...] = ()

    def schedule(self, node: int) -> Schedule:
        """Model and cluster of its epochs, those to come alone."""
        found = []
        for place in self.ends(node):
            found += [place.trained] * place.age
        return tuple(found[_epochs(self.past) :])

    def ends(self, node: int) -> list[Position]:
        """The last position of every stage, the past included."""
        found = []
        while node >= 0:
            found.append(self.nodes[node].place)
            node = self.nodes[node].before_stage
        return joined(self.past, found[::-1])

    def epochs(self, node: int) -> int:
        """How many are to come."""
        place = self.nodes[node].place
        return place.start + place.age - _epochs(self.past)

    def by_cost(self, chosen: Sequence[int] | None = None) -> NDArray[np.intp]:
        """Some nodes, or all, cheapest first."""
        nodes = np.arange(len(self.nodes)) if chosen is None else np.array(chosen, dtype=np.intp)
        return nodes[np.argsort([self.nodes[node].cost for node in nodes], kind="stable")]


def joined(past: Sequence[Position], ends: Sequence[Position]) -> list[Position]:
    """The last positions of all stages: the first of ``ends`` may go on with the last of ``past``."""
    goes_on = bool(past) and bool(ends) and past[-1].start == ends[0].start
    return [*(past[:-1] if goes_on else past), *ends]


def all_candidates(
    instance: Instance, law: AffineLaw, allowed: int, proceed: Callable[[], bool] = lambda: True
) -> Candidates | None:
    """List the schedules of an instance with a traced law.

    Parameters
    ----------
    law : AffineLaw
        That of the instance.
    allowed : int
        Most schedules.
    proceed : callable
        Asked before every epoch; False stops the listing, which then returns None.

    Raises
    ------
    NotCoveredError
        If there are more.
    """
    listing = _Listing(instance, law)
    level = listing.roots()
    while level:
        if not proceed():
            return None
        if len(listing.nodes) > allowed:
            raise NotCoveredError(f"the traces support more than {allowed} schedules; lower maximum_epochs")
        level = listing.next_level(level)
    return Candidates(tuple(listing.nodes), listing.past)


@dataclass
class _Listing:
    """Nodes so far, and what their epochs count up."""

    instance: Instance
    law: AffineLaw
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        instance, law = self.instance, self.law
        traced = instance.traced_law
        self.fewest = traced.whole_runs if traced is not None and traced.only_whole_runs else 0
        self.known = None if traced is None else traced.known
        self.past = ends_of(() if traced is None else traced.trained_before)
        self.data = frozenset(item.name for item in instance.datasets)
        rules = instance.rules
        kinds = {
            (model, place)
            for model, place in {key[0] for key in law.steps} | {pair[1] for pair in law.jumps}
            if rules.may_train(model, place) and rules.may_use(self.data, place)
        }
        self.kinds = sorted(kinds)
        self.after = {
            pair: [other for one, other in law.jumps if one == pair and instance.may_follow(one[0], other[0])]
            for pair in {key[0] for key in law.steps} | {pair[1] for pair in law.jumps}
        }
        self.transfers = {
            cluster.name: sum(instance.transfer_cost(name, cluster.name) for name in self.data)
            for cluster in instance.clusters
        }
        self.loads: dict[Load, int] = {}
        self.column: dict[tuple[int, Trained], int] = {}
        stages = [stage for rows in law.by_stage.values() for stage in rows]
        # no stage begins later, or goes on for longer, than one that was seen
        longest = max(start for _, start, _ in stages) + max(length for _, _, length in stages)
        longest -= _epochs(self.past)
        for epoch in range(1, min(longest, instance.target.maximum_epochs) + 1):
            for model, cluster in self.kinds:
                one = load(instance, epoch, model, cluster, self.data)
                self.column[epoch, (model, cluster)] = self.loads.setdefault(one, len(self.loads))
        self.counts: dict[int, Counts] = {}

    def roots(self) -> list[int]:
        """Schedules of one epoch."""
        rows, known = [], self.known
        last = self.past[-1] if self.past else None
        for trained in self.kinds if last is None else (last.trained, *self.after.get(last.trained, ())):
            place = following(last, trained)
            if self._inside(place):
                before = first_losses(self.law, trained).mean() if known is None else known.loss
                rows += self._grown(-1, place, float(before))
        return self._kept(rows, 1)

    def next_level(self, level: list[int]) -> list[int]:
        """Schedules of one epoch more."""
        rows = []
        epochs = self.nodes[level[0]].place.start + self.nodes[level[0]].place.age + 1 - _epochs(self.past)
        for index in level:
            node = self.nodes[index]
            for trained in (node.place.trained, *self.after.get(node.place.trained, ())):
                place = following(node.place, trained)
                if self._inside(place):
                    rows += self._grown(index, place, node.mean)
        return self._kept(rows, epochs)

    def _inside(self, place: Position) -> bool:
        """Whether a stage that was inside the support goes on to a place inside."""
        first_age = 1 if self.known is None else self.known.first_age(place)
        return epoch_outside(self.law, place, first_age) is None

    def _grown(self, parent: int, place: Position, mean: float) -> list[tuple[int, Position, float]]:
        """One more epoch, unless the mean loss before it was never seen there."""
        if self.fewest and len(self.law.beginnings.get(self._beginning(parent, place), ())) < self.fewest:
            return []
        if strays(self.law, place, mean) is not None:
            return []
        return [(parent, place, mean_after(self.law, place, mean))]

    def _beginning(self, parent: int, place: Position) -> tuple[tuple[Trained, int], ...]:
        """The stages of a schedule and their lengths, the past included."""
        ends = [place]
        before = parent if parent < 0 or place.age == 1 else self.nodes[parent].before_stage
        while before >= 0:
            ends.append(self.nodes[before].place)
            before = self.nodes[before].before_stage
        return tuple((end.trained, end.age) for end in joined(self.past, ends[::-1]))

    def _kept(self, rows: list[tuple[int, Position, float]], epochs: int) -> list[int]:
        """Add those that keep the time limits; their indices."""
        target = self.instance.target
        rows = [row for row in rows if (epochs, row[1].trained) in self.column]
        if not rows:
            return []
        counts = np.zeros((len(rows), len(self.loads)), dtype=np.int32)
        for count, (parent, place, _) in zip(counts, rows, strict=True):
            if parent >= 0:
                count[:] = self.counts[parent]
            count[self.column[epochs, place.trained]] += 1
        batch = allocate_counts(tuple(self.loads), counts, target.maximum_time, target.round_deadline)
        kept, ahead = [], {}
        for row in np.flatnonzero(batch.feasible):
            parent, place, mean = rows[row]
            before = parent
            if parent >= 0 and place.age > 1:
                before = self.nodes[parent].before_stage
            cost = float(batch.costs[row]) + self._transfers(place, before)
            kept.append(len(self.nodes))
            ahead[len(self.nodes)] = counts[row]
            self.nodes.append(Node(place, parent, before, mean, cost))
        self.counts = ahead
        return kept

    def _transfers(self, place: Position, before: int) -> float:
        used = {place.trained[1]}
        while before >= 0:
            used.add(self.nodes[before].place.trained[1])
            before = self.nodes[before].before_stage
        return float(sum(self.transfers[name] for name in sorted(used)))


def _epochs(ends: Sequence[Position]) -> int:
    """How many epochs stages have that end so."""
    return ends[-1].start + ends[-1].age if ends else 0


def propagated(
    candidates: Candidates,
    first: Callable[[Position], State],
    further: Callable[[State, Position], State],
) -> Iterator[tuple[int, State]]:
    """A state for every schedule, from that of the schedule one epoch shorter; shorter ones first.

    Parameters
    ----------
    first, further : callable
        The state after the first epoch, and after one more.
    """
    states: dict[int, State] = {}
    ahead: dict[int, State] = {}
    epochs = 0
    for index, node in enumerate(candidates.nodes):
        if node.place.start + node.place.age > epochs:
            epochs, states, ahead = node.place.start + node.place.age, ahead, {}
        ahead[index] = first(node.place) if node.parent < 0 else further(states[node.parent], node.place)
        yield index, ahead[index]
