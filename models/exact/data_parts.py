"""Assignments of data that are too many to list: parts of them, divided as a search goes on.

A *part* leaves every cluster some sets of data, and obliges some clusters to pay for one of theirs. What it
is bounded by is a relaxation: in every epoch a cluster may use any set that is left to it. An obliged cluster
pays what all its sets cost at least to bring; what a set costs beyond that is charged by epoch. A plan of at
most L epochs that brings a set of cost b to a cluster uses it in one to L of them, so that b / L for each of
these epochs adds up to at most b. Hence no plan of the part with at most L epochs costs less than the
relaxation.

A part is divided at one cluster: each of its sets, or, where they are many, those with a certain dataset and
those without it; and, unless it is obliged, no data. Clusters that are equal in everything may be exchanged,
so of two such clusters the one that comes first has the set that comes first, and data if the other has any.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.models.exact.assignments import Assignment, make_assignment
from depl.models.exact.choices import Choices
from depl.models.exact.prices import Prices
from depl.models.problem.laws import FloatArray

MOST_CHILDREN = 8
"""Sets of a cluster that are told apart at once; more are halved by a dataset. Set by hand: the proof is the
same, and with more at once, more children are bounded in vain."""

_FIRST = 64
"""Assignments of one cluster on which first plans are sought: set by hand. More take more time and leave less
to the search, whose proofs do not use them."""


@dataclass(frozen=True, eq=False)
class DataPart:
    """Some assignments, and the numbers of epochs with which their plans are still of interest.

    Attributes
    ----------
    bound : float
        No plan of the part costs less [cost].
    offers : tuple of tuple of int
        By cluster, the sets of data that it may use, by position; without any, it does not train.
    obliged : tuple of bool
        By cluster, whether it has one of its sets.
    lengths : tuple of int
        Numbers of epochs, increasing.
    """

    bound: float
    offers: tuple[tuple[int, ...], ...]
    obliged: tuple[bool, ...]
    lengths: tuple[int, ...]

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
class SpreadAssignment(Assignment):
    """A relaxed part: what a set costs beyond the least is charged in every epoch that uses it.

    Attributes
    ----------
    charges : float array (G,)
        For every configuration [cost].
    """

    charges: FloatArray

    def cheapest(self, values: FloatArray) -> FloatArray:
        """Least cost over the options of each kind: (K, G) to (K, J)."""
        return super().cheapest(values + self.charges)


@dataclass(frozen=True, eq=False)
class DataParts:
    """The parts of one problem.

    Attributes
    ----------
    problem : Choices
    prices : `depl.models.exact.prices.Prices`
    """

    problem: Choices
    prices: Prices

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

    def relaxed(self, part: DataPart) -> SpreadAssignment:
        """What bounds the costs of a part, for the numbers of epochs that it has."""
        charges = np.zeros((len(self.prices.costs.work[0]),))
        paid = 0.0
        for cluster, sets in enumerate(part.offers):
            costs = self._brought[cluster, list(sets)]
            least = float(costs.min()) if part.obliged[cluster] else 0.0
            paid += least
            for data, cost in zip(sets, costs, strict=True):
                for model in self.problem.fitting[cluster]:
                    place = self.problem.position[cluster, data, model]
                    charges[place] = (cost - least) / part.lengths[-1]
        allowed = make_assignment(self.problem, part.offered)
        return SpreadAssignment(paid, allowed.models, allowed.subsets, allowed.options, charges)

    def uncharged(self, part: DataPart) -> Assignment:
        """Everything that a part allows in any epoch, whatever it costs to bring."""
        allowed = make_assignment(self.problem, part.offered)
        return replace(allowed, transfers=0.0)

    def assignment(self, part: DataPart) -> Assignment:
        """The assignment of a part that is `DataPart.whole`."""
        return make_assignment(self.problem, part.offered)

    def divided(self, part: DataPart, relaxed: Assignment, values: FloatArray) -> list[DataPart]:
        """Parts that have all plans of a part between them, up to exchanges of equal clusters.

        Parameters
        ----------
        relaxed : Assignment
            What the part allows.
        values : float array (K, G)
            Of what decides where it is divided: at the cluster that has most of the least ones.
        """
        cluster = self._most_used(part, relaxed, values)
        sets = part.offers[cluster]
        if len(sets) <= MOST_CHILDREN:
            children = [self._with(part, cluster, (data,)) for data in sets]
        else:
            name = self._dividing(sets)
            having = tuple(data for data in sets if name in self.problem.subsets[data])
            others = tuple(data for data in sets if name not in self.problem.subsets[data])
            children = [self._with(part, cluster, having), self._with(part, cluster, others)]
        if not part.obliged[cluster]:
            children.append(self._without(part, cluster))
        return [child for child in map(self._settled, children) if child.lengths and any(child.offers)]

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

    def _with(self, part: DataPart, cluster: int, sets: tuple[int, ...]) -> DataPart:
        """The cluster has one of these sets; its equals after it none that comes before."""
        offers, obliged = list(part.offers), list(part.obliged)
        offers[cluster], obliged[cluster] = sets, True
        if len(sets) == 1:
            for other in self._after(cluster):
                offers[other] = tuple(data for data in offers[other] if data >= sets[0])
        return replace(part, offers=tuple(offers), obliged=tuple(obliged))

    def _without(self, part: DataPart, cluster: int) -> DataPart:
        """The cluster does not train, nor do its equals after it."""
        offers = list(part.offers)
        for other in (cluster, *self._after(cluster)):
            offers[other] = ()
        return replace(part, offers=tuple(offers))

    def _after(self, cluster: int) -> list[int]:
        return [other for other in self._alike[cluster] if other > cluster]

    def _settled(self, part: DataPart) -> DataPart:
        """Without numbers of epochs too few for the clusters that pay, and clusters beyond the most."""
        paying = sum(part.obliged)
        lengths = tuple(length for length in part.lengths if length >= paying)
        offers = part.offers
        if lengths and paying == lengths[-1]:
            offers = tuple(sets if pays else () for sets, pays in zip(offers, part.obliged, strict=True))
        return replace(part, offers=offers, lengths=lengths)
