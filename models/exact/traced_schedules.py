"""Every schedule that an instance allows inside the support of its traces, with its cheapest cost.

What a traced law says depends on the order of the epochs, so plans form no classes as they do under the
paper's law (`depl.models.exact.plan_classes`). But traces support few stages in a row: with switch epochs and
lengths inside the convex hull of those seen there are some ten thousand schedules, not exponentially many.
They are listed epoch by epoch; what misses a time limit with full resources, strays from the support, or was
begun by fewer runs than a promise needs, is dropped with all that begins like it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.models.evaluation.traced_law import first_losses
from depl.models.evaluation.traced_support import epoch_outside, mean_after, strays
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Position, Trained, ends_of, following
from depl.models.problem.allocation import allocate_counts
from depl.models.problem.epochs import Load, load
from depl.models.problem.instance import Instance
from depl.models.traces.table import Schedule


@dataclass(frozen=True, slots=True)
class Node:
    """A schedule: one epoch after another node."""

    ends: tuple[Position, ...]  # the last position of every stage, those of a run under way included
    parent: int  # the node without the last epoch; -1 for none
    mean: float  # of the final loss [loss]
    cost: float  # the least, with transfers [cost]

    @property
    def place(self) -> Position:
        """That of its last epoch."""
        return self.ends[-1]


def all_candidates(
    instance: Instance, law: AffineLaw, allowed: int, look: Callable[[], None] = keep_time
) -> "Candidates":
    """List the schedules of an instance with this traced law; a look at the clock before every epoch.

    Raises
    ------
    NotCoveredError
        If there are more than ``allowed``.
    """
    found = Candidates(instance, law)
    level, epochs = found.longer([-1], 1), 1
    while level:
        look()
        if len(found.nodes) > allowed:
            raise NotCoveredError(f"the traces support more than {allowed} schedules; lower maximum_epochs")
        epochs += 1
        level = found.longer(level, epochs)
    return found


@dataclass(eq=False)
class Candidates:
    """Schedules, shorter ones first, and what their epochs count up."""

    instance: Instance
    law: AffineLaw
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        instance, law, traced = self.instance, self.law, self.instance.traced_law
        self.fewest = traced.whole_runs if traced is not None and traced.only_whole_runs else 0
        self.known = None if traced is None else traced.known
        # the last positions of the stages of a run under way, which all schedules go on from
        self.past = tuple(ends_of(() if traced is None else traced.trained_before))
        data, rules = frozenset(item.name for item in instance.datasets), instance.rules
        seen = {key[0] for key in law.rows}
        jumps = [(previous, trained) for trained, _, age, previous in law.rows if age == 1 and previous]
        self.kinds = sorted(kind for kind in seen if rules.may_train(*kind) and rules.may_use(data, kind[1]))
        self.after = {
            pair: [other for one, other in jumps if one == pair and instance.may_follow(one[0], other[0])]
            for pair in seen
        }
        self.transfers = {
            cluster.name: sum(instance.transfer_cost(name, cluster.name) for name in data)
            for cluster in instance.clusters
        }
        self.loads: dict[Load, int] = {}
        self.column: dict[tuple[int, Trained], int] = {}
        stages = [stage for rows in law.by_stage.values() for stage in rows]
        # no stage begins later, or goes on for longer, than one that was seen
        longest = max(start for _, start, _ in stages) + max(length for _, _, length in stages)
        longest -= _epochs(self.past)
        for epoch in range(1, min(longest, instance.target.maximum_epochs) + 1):
            for kind in self.kinds:
                one = load(instance, epoch, *kind, data)
                self.column[epoch, kind] = self.loads.setdefault(one, len(self.loads))
        self.counts = {-1: np.zeros(len(self.loads), dtype=np.int32)}

    def schedule(self, node: int) -> Schedule:
        """Model and cluster of its epochs, those to come alone."""
        found = [place.trained for place in self.nodes[node].ends for _ in range(place.age)]
        return tuple(found[_epochs(self.past) :])

    def epochs(self, node: int) -> int:
        """How many are to come."""
        return _epochs(self.nodes[node].ends) - _epochs(self.past)

    def cheapest_first(self) -> list[int]:
        """Nodes with which a plan may end, by cost."""
        may_end, every = self.instance.rules.may_end, range(len(self.nodes))
        ending = (node for node in every if may_end(self.nodes[node].place.trained[0]))
        return sorted(ending, key=lambda node: self.nodes[node].cost)

    def longer(self, level: list[int], epochs: int) -> list[int]:
        """Those that go on with schedules of one epoch less, inside the support and the time limits."""
        nodes = [node for index in level for node in self._further(index, epochs)]
        if not nodes:
            return []
        counts = np.stack([self.counts[node.parent] for node in nodes])
        counts[np.arange(len(nodes)), [self.column[epochs, node.place.trained] for node in nodes]] += 1
        target = self.instance.target
        batch = allocate_counts(tuple(self.loads), counts, target.maximum_time, target.round_deadline)
        kept = np.flatnonzero(batch.feasible).tolist()
        indices = list(range(len(self.nodes), len(self.nodes) + len(kept)))
        self.counts = dict(zip(indices, counts[kept], strict=True))
        for row in kept:
            node = nodes[row]
            cost = float(batch.costs[row]) + self._transfers(node.ends)
            self.nodes.append(Node(node.ends, node.parent, node.mean, cost))
        return indices

    def _further(self, parent: int, epochs: int) -> Iterator[Node]:
        """One epoch more, unless the mean loss before it was never seen there; nothing is costed yet."""
        ends = self.nodes[parent].ends if parent >= 0 else self.past
        last = ends[-1] if ends else None
        for trained in self.kinds if last is None else (last.trained, *self.after.get(last.trained, ())):
            place = following(last, trained)
            first_age = 1 if self.known is None else self.known.first_age(place)
            if (epochs, trained) not in self.column or epoch_outside(self.law, place, first_age) is not None:
                continue
            if parent >= 0:
                mean = self.nodes[parent].mean
            else:
                begun = first_losses(self.law, trained).mean() if self.known is None else self.known.loss
                mean = float(begun)
            others = ends[:-1] if last is not None and last.start == place.start else ends
            if self._begun_by_enough((*others, place)) and strays(self.law, place, mean) is None:
                yield Node((*others, place), parent, mean_after(self.law, place, mean), 0.0)

    def _begun_by_enough(self, ends: tuple[Position, ...]) -> bool:
        """Whether as many runs as a promise needs began with these stages."""
        beginning = tuple((end.trained, end.age) for end in ends)
        return not self.fewest or len(self.law.beginnings.get(beginning, ())) >= self.fewest

    def _transfers(self, ends: tuple[Position, ...]) -> float:
        past = _epochs(self.past)
        used = {place.trained[1] for place in ends if place.start + place.age > past}
        return float(sum(self.transfers[name] for name in sorted(used)))


def _epochs(ends: Sequence[Position]) -> int:
    """How many epochs stages have that end so."""
    return ends[-1].start + ends[-1].age if ends else 0
