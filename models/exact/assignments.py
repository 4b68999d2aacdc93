"""Dataset assignments, listed or divided, and what an epoch may do under one of them.

An *assignment* gives every cluster one nonempty set of datasets or leaves it out; a plan uses exactly one.
Under it a *kind* is a way to learn: a model and data whose gains no other data share. Clusters whose data
gain the same learn alike and differ only in cost, so a kind has one or more *options* (configurations).
Where assignments are too many to list, *parts* of them are bounded and divided as a search goes on.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.models.exact.choices import Choices
from depl.models.exact.kernels import Sample
from depl.models.problem.laws import FloatArray

LARGEST_ASSIGNMENTS = 4096
"""Up to so many assignments are told apart by the root bound."""

MOST_CHILDREN = 8
"""Sets of a cluster that are told apart at once; more are halved by a dataset. Set by hand: the proof is the
same, and with more at once, more children are bounded in vain."""

_FIRST = 64
"""Assignments of one cluster on which first plans are sought: set by hand. More take more time and leave less
to the search, whose proofs do not use them."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Some clusters with their data, and the kinds of epochs that they offer."""

    transfers: float  # of all of them [cost]
    models: NDArray[np.intp]  # of each kind, (J,)
    subsets: NDArray[np.intp]  # data, by position, whose gains are those of the kind, (J,)
    options: tuple[tuple[int, ...], ...]  # for each kind the configurations that have it, by position
    charges: FloatArray | None = None  # of a relaxed part, by configuration and epoch that uses it [cost]

    def cheapest(self, values: FloatArray) -> FloatArray:
        """Least value over the options of each kind: (K, G) to (K, J)."""
        if self.charges is not None:
            values = values + self.charges
        return np.stack([values[:, list(chosen)].min(axis=1) for chosen in self.options], axis=1)


def few_assignments(problem: Choices) -> bool:
    """Whether at most `LARGEST_ASSIGNMENTS` use no more clusters than there are epochs."""
    rules, places = problem.instance.rules, problem.instance.clusters
    by_used = [1] + [0] * _most_used(problem)  # how many there are on so many of the clusters looked at
    for place in places:
        sets = 2 ** len(rules.data[place.name]) - 1 if rules.models[place.name] else 0
        by_used = [1, *(same + sets * fewer for fewer, same in itertools.pairwise(by_used))]
        if sum(by_used) - 1 > LARGEST_ASSIGNMENTS:
            return False
    return True


def assignments(problem: Choices) -> Iterator[Assignment]:
    """Every cluster has a set of data that may be used there, or none; not all none.

    Where these are more than `LARGEST_ASSIGNMENTS`, those of at most K_max clusters: no plan uses more, and
    data that are not used only cost.
    """
    subsets = problem.open_subsets
    clusters = len(subsets)
    chosen: Iterable[Sequence[tuple[int, int]]]
    if math.prod(1 + len(row) for row in subsets) - 1 <= LARGEST_ASSIGNMENTS:
        every = itertools.product(*((None, *row) for row in subsets))
        chosen = ([(place, data) for place, data in enumerate(row) if data is not None] for row in every)
    else:
        chosen = (
            list(zip(used, data, strict=True))
            for count in range(1, _most_used(problem) + 1)
            for used in itertools.combinations(range(clusters), count)
            for data in itertools.product(*(subsets[n] for n in used))
        )
    for pairs in chosen:
        if pairs:
            yield make_assignment(problem, pairs)


def _most_used(problem: Choices) -> int:
    """Clusters that a plan can use."""
    return min(len(problem.instance.clusters), problem.epochs)


def undominated(candidates: Iterable[Assignment]) -> list[Assignment]:
    """Those that no other one contains at the same transfer costs: their plans are plans of that other."""
    kept: list[tuple[set[int], Assignment]] = []
    for item in sorted(candidates, key=lambda item: (item.transfers, -sum(map(len, item.options)))):
        offered = set(itertools.chain.from_iterable(item.options))
        if not any(item.transfers == other.transfers and offered <= known for known, other in kept):
            kept.append((offered, item))
    return [item for _, item in kept]


def everything_allowed(problem: Choices) -> Assignment:
    """All configurations together without transfers: a relaxation of every assignment."""
    whole = make_assignment(problem, [(n, d) for n, row in enumerate(problem.open_subsets) for d in row])
    return replace(whole, transfers=0.0)


def make_assignment(problem: Choices, pairs: Sequence[tuple[int, int]]) -> Assignment:
    """The kinds that (cluster, subset) pairs, given by position, offer."""
    kinds: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for cluster, subset in pairs:
        for model in problem.fitting[cluster]:
            position = problem.position[cluster, subset, model]
            kinds.setdefault((model, problem.first_alike[subset]), []).append((position, subset))
    return Assignment(
        transfers=math.fsum(problem.transfer_cost(n, problem.subsets[d]) for n, d in pairs),
        models=np.array([model for model, _ in kinds], dtype=np.intp),
        subsets=np.array([members[0][1] for members in kinds.values()], dtype=np.intp),
        options=tuple(tuple(position for position, _ in members) for members in kinds.values()),
    )


def make_sample(
    problem: Choices,
    assignment: Assignment,
    gains: FloatArray,
    switch_losses: FloatArray,
    needed: float,
    allowed: int = 0,
) -> Sample:
    """An assignment as arrays for the kernels, from all gains (K, D, M, S) and losses (K, M + 1, M, S)."""
    own = np.ascontiguousarray(gains[:, assignment.subsets, assignment.models])
    after, models = problem.may_follow, assignment.models
    return Sample(own, switch_losses, after, models, problem.first_model, needed, allowed, problem.may_end)


@dataclass(frozen=True, eq=False)
class DataPart:
    """Some assignments, and the numbers of epochs with which their plans are still of interest.

    In its relaxation a cluster may use, in every epoch, any set that is left to it. An obliged cluster, which
    has to have one, pays what all its sets cost at least to bring. What a set costs beyond that, b, is
    charged by epoch: a plan of at most L epochs uses it in one to L of them, so b / L for each adds up to at
    most b. Hence no plan of the part with at most L epochs costs less than the relaxation.
    """

    bound: float  # no plan of the part costs less [cost]
    offers: tuple[tuple[int, ...], ...]  # by cluster, sets that it may use; without any it does not train
    obliged: tuple[bool, ...]  # by cluster, whether it has one of its sets
    lengths: tuple[int, ...]  # numbers of epochs, increasing

    @property
    def whole(self) -> bool:
        """Whether it is a single assignment."""
        return not any(map(self.is_open, range(len(self.offers))))

    @property
    def offered(self) -> list[tuple[int, int]]:
        """Every cluster with every set that it may use, by position."""
        return [(cluster, data) for cluster, sets in enumerate(self.offers) for data in sets]

    def is_open(self, cluster: int) -> bool:
        """Whether something is left to be decided at a cluster."""
        return len(self.offers[cluster]) > (1 if self.obliged[cluster] else 0)


@dataclass(frozen=True, eq=False)
class DataParts:
    """The parts of one problem.

    A part is divided at one cluster: each of its sets or, where they are many, those with a certain dataset
    and those without it; and, unless it is obliged, no data. Clusters that are equal in everything may be
    exchanged: of two the one that comes first has the set that comes first, and data if the other has any.
    With one set on both, the first can train what the second does, and the set is brought once less.
    """

    problem: Choices

    def everything(self) -> DataPart:
        """All assignments, with any number of epochs."""
        instance = self.problem.instance
        offers = tuple(tuple(subsets) for subsets in self.problem.open_subsets)
        lengths = tuple(range(1, self.problem.epochs + 1))
        return DataPart(0.0, offers, (False,) * len(instance.clusters), lengths)

    def first_assignments(self) -> list[Assignment]:
        """Some assignments of a single cluster: all data, and what costs least to bring."""
        pairs = self.everything().offered
        brought = self._brought
        most = [(n, data[-1]) for n, data in enumerate(self.problem.open_subsets) if data]
        every = sorted(most, key=lambda pair: float(brought[pair]))[: _FIRST // 2]
        least = sorted(set(pairs) - set(every), key=lambda pair: (float(brought[pair]), pair))
        chosen = [*every, *least[: _FIRST - len(every)]]
        return [make_assignment(self.problem, [pair]) for pair in chosen]

    def relaxed(self, part: DataPart) -> Assignment:
        """What bounds the costs of a part, for the numbers of epochs that it has."""
        charges, paid = np.zeros(len(self.problem.configurations)), 0.0
        for cluster, sets in enumerate(part.offers):
            costs = self._brought[cluster, list(sets)]
            least = float(costs.min()) if part.obliged[cluster] else 0.0
            paid += least
            for data, cost in zip(sets, costs, strict=True):
                for model in self.problem.fitting[cluster]:
                    place = self.problem.position[cluster, data, model]
                    charges[place] = (cost - least) / part.lengths[-1]
        return replace(self.assignment(part), transfers=paid, charges=charges)

    def uncharged(self, part: DataPart) -> Assignment:
        """Everything that a part allows in any epoch, whatever it costs to bring."""
        return replace(self.assignment(part), transfers=0.0)

    def assignment(self, part: DataPart) -> Assignment:
        """The assignment of a part that is `DataPart.whole`."""
        return make_assignment(self.problem, part.offered)

    def divided(self, part: DataPart, relaxed: Assignment, values: FloatArray) -> list[DataPart]:
        """Parts that have a plan between them for each of a part, which costs no more; see `DataParts`.

        It is divided at the cluster that has most of the least ``values``, (K, G), in what the part allows.
        """
        cluster = self._most_used(part, relaxed, values)
        sets = part.offers[cluster]
        chosen: list[tuple[int, ...]] = [(data,) for data in sets]
        if len(sets) > MOST_CHILDREN:
            names, name = self.problem.subsets, self._dividing(sets)
            chosen = [tuple(data for data in sets if (name in names[data]) is has) for has in (True, False)]
        if not part.obliged[cluster]:
            chosen.append(())
        children = (self._child(part, cluster, some) for some in chosen)
        return [child for child in children if child.lengths and any(child.offers)]

    @functools.cached_property
    def _brought(self) -> FloatArray:
        """What every set costs to bring to every cluster, shape (N, D) [cost]."""
        clusters = range(len(self.problem.instance.clusters))
        return np.array(
            [[self.problem.transfer_cost(n, data) for data in self.problem.subsets] for n in clusters]
        )

    @functools.cached_property
    def _cluster_of(self) -> NDArray[np.intp]:
        """Cluster of every configuration, shape (G,)."""
        return np.array([chosen.cluster for chosen in self.problem.configurations], dtype=np.intp)

    @functools.cached_property
    def _alike(self) -> list[list[int]]:
        """For every cluster those that are equal to it but for the name, in order."""
        clusters = self.problem.instance.clusters
        rows = zip(clusters, self._brought.tolist(), self.everything().offers, strict=True)
        bare = [(msgspec.structs.replace(cluster, name="-"), tuple(row), sets) for cluster, row, sets in rows]
        return [[place for place, other in enumerate(bare) if other == one] for one in bare]

    def _most_used(self, part: DataPart, relaxed: Assignment, values: FloatArray) -> int:
        """The open cluster that offers most of what costs least, or the first of its equals that is open."""
        wins = np.zeros(len(part.offers))
        for row in relaxed.options:
            places = np.asarray(row)
            least = values[: part.lengths[-1], places]
            wins += np.bincount(self._cluster_of[places[least.argmin(axis=1)]], minlength=len(wins))
        cluster = max((n for n in range(len(wins)) if part.is_open(n)), key=lambda n: float(wins[n]))
        return next(n for n in self._alike[cluster] if part.is_open(n))

    def _dividing(self, sets: Sequence[int]) -> str:
        """The largest dataset that some of the sets have and some have not."""
        chosen = [self.problem.subsets[data] for data in sets]
        free = frozenset.union(*chosen) - frozenset.intersection(*chosen)
        return max(sorted(free), key=lambda name: self.problem.instance.dataset(name).volume)

    def _child(self, part: DataPart, cluster: int, sets: tuple[int, ...]) -> DataPart:
        """The cluster has one of these sets, or does not train if there are none.

        Its equals after it have sets that come after it, and do not train if it does not. Numbers of epochs
        too few for the clusters that pay are left out, and so are clusters beyond the most epochs.
        """
        offers, obliged = list(part.offers), list(part.obliged)
        offers[cluster], obliged[cluster] = sets, bool(sets)
        for other in self._alike[cluster]:
            if other > cluster and len(sets) < 2:
                offers[other] = tuple(data for data in offers[other] if sets and data > sets[0])
        paying = sum(obliged)
        lengths = tuple(length for length in part.lengths if length >= paying)
        if lengths and paying == lengths[-1]:
            offers = [some if pays else () for some, pays in zip(offers, obliged, strict=True)]
        return replace(part, offers=tuple(offers), obliged=tuple(obliged), lengths=lengths)
