r"""Epochs grouped into classes, to be placed on clusters (Sec. III, IV-C).

Class g has N_g epochs; one of them asks a `depl.models.problem.epochs.Load` (work c_gn, price kappa_n,
capacity r_n, communication s_gn) of cluster n. With a_gn epochs of class g on cluster n,

    minimise  sum of F_n over the clusters with a_gn > 0 for some g  +  sum of a_gn kappa_n x_gn
    subject to  sum over n of a_gn = N_g,  a_gn whole,
                sum of a_gn (c_gn / x_gn + s_gn) <= T_max,   c_gn / x_gn + s_gn <= tau,   x_gn <= r_n.

Equal epochs on one cluster take equal resources (the cost is convex), so one x per (g, n) loses nothing, and
the size of the problem is G N whatever K = sum of N_g.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.choices import build_plan
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.allocation import BatchAllocation, allocate_counts
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load, load
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan

Assignment = NDArray[np.int64]
"""a_gn: epochs of every class on every cluster, shape (G, N)."""


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """What has to be placed; G classes, N clusters.

    Attributes
    ----------
    clusters : tuple of str
    classes : tuple of str
        A name for every class, here that of its model; names may repeat.
    counts : ndarray of int
        N_g >= 1, shape (G,) [epochs].
    work : ndarray
        c_gn per node, shape (G, N) [resource x time].
    price : ndarray
        nodes kappa, shape (N,) [cost / resource].
    capacity : ndarray
        r_n, shape (N,) [resource].
    communication : ndarray
        s_gn, shape (G, N) [time].
    transfers : ndarray
        F_n, shape (N,), paid once by a cluster that trains [cost].
    maximum_time, round_deadline : float or None
        T_max and tau; None for none [time].
    members : tuple of tuple of int
        The epochs of every class, counted from 0; empty if they do not matter.
    """

    clusters: tuple[str, ...]
    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    transfers: FloatArray
    maximum_time: float | None
    round_deadline: float | None = None
    members: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def dimensions(self) -> tuple[int, int]:
        """(G, N)."""
        return len(self.classes), len(self.clusters)

    @property
    def epochs(self) -> int:
        """K."""
        return int(self.counts.sum())

    @functools.cached_property
    def costs(self) -> EpochCosts:
        """What an epoch of every class costs on every cluster, (G, N)."""
        columns = (self.work, self.price, self.capacity, self.communication)
        return EpochCosts.of_arrays(*columns, self.round_deadline)

    @property
    def shortest(self) -> FloatArray:
        """Time of an epoch with full resources, shape (G, N) [time]."""
        return self.costs.shortest

    @property
    def least(self) -> FloatArray:
        """x_min of every class on every cluster, (G, N); infinite if always late [resource]."""
        return self.costs.least

    def load(self, group: int, cluster: int) -> Load:
        """What an epoch of a class asks of a cluster."""
        work, sent = self.work[group, cluster], self.communication[group, cluster]
        return Load(*map(float, (work, self.price[cluster], self.capacity[cluster], sent)))

    def evaluate(self, assignments: Sequence[Assignment] | NDArray[np.int64]) -> BatchAllocation:
        """The cheapest resources of P assignments, transfers included in the costs.

        Parameters
        ----------
        assignments : sequence of ndarray of int
            Shape (P, G, N); every row g sums to N_g.

        Raises
        ------
        InvalidInputError
            If an assignment does not place every epoch exactly once.
        """
        given = np.asarray(assignments, dtype=np.int64).reshape(-1, *self.dimensions)
        if given.size and (given.min() < 0 or (given.sum(axis=2) != self.counts).any()):
            raise InvalidInputError("every epoch of a class has to be placed once", "assignments")
        used = given.any(axis=0)
        loads = [self.load(g, n) for g, n in np.argwhere(used).tolist()]
        found = allocate_counts(loads, given[:, used], self.maximum_time, self.round_deadline)
        if self.transfers.any():
            found.costs[:] += given.any(axis=1) @ self.transfers
        return found

    def on(self, clusters: Sequence[int] | NDArray[np.intp]) -> "PlacementProblem":
        """The problem on some of the clusters."""
        columns = list(clusters)
        return self.replace(
            clusters=tuple(self.clusters[n] for n in columns),
            work=self.work[:, columns],
            price=self.price[columns],
            capacity=self.capacity[columns],
            communication=self.communication[:, columns],
            transfers=self.transfers[columns],
            members=(),
        )

    def resources(self, multiplier: float) -> FloatArray:
        """Resources x at a price of time, shape (G, N): clip(sqrt(lam c / kappa), x_min, r), 0 without work.

        Where computing is free that is r, at the price 0 too.
        """
        return self.costs.most if multiplier == math.inf else self.costs.resources(math.sqrt(multiplier))

    def replace(self, **changes: Any) -> "PlacementProblem":
        """A checked copy with other fields."""
        return dataclasses.replace(self, **changes)


def placement_problem(
    instance: Instance, models: Sequence[str], data: Mapping[str, frozenset[str]]
) -> PlacementProblem:
    """Group the epochs of a sequence of models by what they ask of the clusters.

    Parameters
    ----------
    models : sequence of str
        The model of every epoch.
    data : mapping
        The nonempty datasets of every cluster that may be used, transferred only if it trains.
    """
    _check_names(instance, models, data)
    groups: dict[tuple[Load, ...], list[int]] = {}
    known: dict[str, tuple[Load, ...]] = {}
    for k, name in enumerate(models):
        row = known.get(name)
        if row is None:
            row = tuple(load(instance, k + 1, name, place, data[place]) for place in data)
            if math.isinf(instance.model(name).last_epoch):  # no tables: the same work in every epoch
                known[name] = row
        groups.setdefault(row, []).append(k)
    places = [instance.cluster(name) for name in data]
    asked = np.array([[(item.work, item.communication) for item in row] for row in groups], dtype=float)
    asked = asked.reshape(len(groups), len(places), 2)
    return PlacementProblem(
        clusters=tuple(data),
        classes=tuple(models[members[0]] for members in groups.values()),
        counts=np.array([len(members) for members in groups.values()], dtype=np.int64),
        work=asked[..., 0],
        price=np.array([place.nodes * place.unit_cost for place in places], dtype=float),
        capacity=np.array([place.capacity for place in places], dtype=float),
        communication=asked[..., 1],
        transfers=np.array(
            [math.fsum(instance.transfer_cost(item, place) for item in sorted(data[place])) for place in data]
        ),
        maximum_time=instance.target.maximum_time,
        round_deadline=instance.target.round_deadline,
        members=tuple(tuple(members) for members in groups.values()),
    )


def placement_plan(
    instance: Instance,
    models: Sequence[str],
    data: Mapping[str, frozenset[str]],
    problem: PlacementProblem,
    assignment: Assignment,
) -> Plan:
    """The plan of an assignment: the first epochs of a class go to its first cluster, and so on.

    Which epochs of a class train where changes neither cost nor time. Resources are the cheapest.
    """
    if len(problem.members) != len(problem.classes):
        raise InvalidInputError("knows no epochs; make it by placement_problem", "problem.members")
    places = [""] * len(models)
    for members, counts in zip(problem.members, assignment.tolist(), strict=True):
        chosen = [name for name, count in zip(problem.clusters, counts, strict=True) for _ in range(count)]
        for k, name in zip(members, chosen, strict=True):
            places[k] = name
    return build_plan(instance, data, list(zip(models, places, strict=True)))


def _check_names(instance: Instance, models: Sequence[str], data: Mapping[str, frozenset[str]]) -> None:
    if not data:
        raise InvalidInputError("must name a cluster", "data")
    for what, names, items in (
        ("cluster", data, instance.clusters),
        ("model", set(models), instance.models),
        ("dataset", frozenset().union(*data.values()), instance.datasets),
    ):
        unknown = sorted(set(names) - {item.name for item in items})
        if unknown:
            raise InvalidInputError(f"no {what} {unknown[0]!r}", "models" if what == "model" else "data")
    for place, chosen in data.items():
        if not chosen:
            raise InvalidInputError("needs at least one dataset", f"data[{place!r}]")


def _check(problem: PlacementProblem) -> None:
    groups, places = problem.dimensions
    if places == 0:
        raise InvalidInputError("must name a cluster", "clusters")
    shapes = {"counts": (groups,), **dict.fromkeys(("price", "capacity", "transfers"), (places,))}
    for name, shape in (shapes | dict.fromkeys(("work", "communication"), (groups, places))).items():
        values = getattr(problem, name)
        if values.shape != shape:
            raise InvalidInputError(f"must have the shape {shape}, not {values.shape}", name)
        if not np.isfinite(values).all() or values.min(initial=0) < 0:
            raise InvalidInputError("must be nonnegative finite numbers", name)
    if not np.issubdtype(problem.counts.dtype, np.integer):
        raise InvalidInputError("must be whole numbers", "counts")
    if problem.counts.min(initial=1) < 1:
        raise InvalidInputError("must be positive; leave out a class without epochs", "counts")
    if problem.capacity.min() <= 0:
        raise InvalidInputError("must be positive", "capacity")
    for name in ("maximum_time", "round_deadline"):
        limit = getattr(problem, name)
        if limit is not None and not 0 <= limit < math.inf:
            raise InvalidInputError(f"must be a finite nonnegative number or None, not {limit}", name)
    endless = problem.maximum_time is None and problem.round_deadline is None
    if endless and ((problem.work > 0) & (problem.price > 0)).any():
        raise InvalidInputError(
            "computing costs money but nothing limits time; give maximum_time or round_deadline"
        )
