"""Dataset assignments, and what an epoch may do under one of them.

An *assignment* gives every cluster one nonempty set of datasets or leaves it out; a plan uses exactly one.
Under an assignment a *kind* is a way to learn: a model and data whose gains no other data share. Clusters
whose data gain the same learn alike and differ only in what they cost, so a kind has one or more *options*
(configurations).
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.choices import Choices
from depl.models.exact.kernels import Sample
from depl.models.exact.sampled import CountedProblem
from depl.models.problem.laws import FloatArray

LARGEST_ASSIGNMENTS = 4096
"""Up to so many assignments are told apart by the root bound."""

_MANY = 10**18
"""Up to so many are counted. Nothing lists a billionth of them, and their number with a thousand clusters and
datasets, of 300,000 digits, is no floating point number."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Some clusters with their data, and the kinds of epochs that they offer.

    Attributes
    ----------
    transfers : float
        Transfer costs of all of them [cost].
    models : int array (J,)
        Model of each kind.
    subsets : int array (J,)
        A subset of datasets, by position, whose gains are those of the kind.
    options : tuple of tuple of int
        For each kind the configurations that have it, by position.
    """

    transfers: float
    models: NDArray[np.intp]
    subsets: NDArray[np.intp]
    options: tuple[tuple[int, ...], ...]

    def cheapest(self, values: FloatArray) -> FloatArray:
        """Least value over the options of each kind: (K, G) to (K, J)."""
        return np.stack([values[:, list(chosen)].min(axis=1) for chosen in self.options], axis=1)


def count_assignments(problem: Choices) -> int:
    """How many `assignments` there are; `_MANY` where there are more."""
    sizes = _sets_by_cluster(problem)
    every = _count_all(sizes)
    if every <= LARGEST_ASSIGNMENTS:
        return every
    by_used = [1] + [0] * _most_used(problem)  # how many there are on so many of the clusters looked at
    for size in sizes:
        by_used = [1, *(same + size * fewer for fewer, same in itertools.pairwise(by_used))]
        if sum(by_used) > _MANY:
            return _MANY
    return sum(by_used[1:])


def _sets_by_cluster(problem: Choices) -> list[int]:
    """How many sets of data every cluster may use; none where no model fits."""
    rules, places = problem.instance.rules, problem.instance.clusters
    bits = [min(len(rules.data[item.name]), _MANY.bit_length()) for item in places]
    return [2**most - 1 if rules.models[item.name] else 0 for most, item in zip(bits, places, strict=True)]


def _count_all(sizes: Iterable[int]) -> int:
    """How many assignments on any number of clusters with so many sets of data each; at most `_MANY`."""
    return functools.reduce(lambda count, size: min(count * (1 + size), _MANY), sizes, 1) - 1


def assignments(problem: Choices) -> Iterator[Assignment]:
    """Every cluster has a set of data that may be used there, or none; not all none.

    Where these are more than `LARGEST_ASSIGNMENTS`, those of at most K_max clusters: no plan uses more, and
    data that are not used only cost.
    """
    subsets = problem.open_subsets
    clusters = len(subsets)
    chosen: Iterable[Sequence[tuple[int, int]]]
    if _count_all(map(len, subsets)) <= LARGEST_ASSIGNMENTS:
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
    return Assignment(0.0, whole.models, whole.subsets, whole.options)


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


def kind_gains(problem: CountedProblem, assignment: Assignment) -> FloatArray:
    """Fall of the loss by kind without switches, shape (K_max, J, S) [loss]."""
    return np.ascontiguousarray(problem.gains[:, assignment.subsets, assignment.models])


def make_sample(
    problem: CountedProblem, assignment: Assignment, order: NDArray[np.intp], length: int | None = None
) -> Sample:
    """The first ``length`` epochs of an assignment as arrays for the kernels, scenarios in a given order."""
    first = problem.initial_model
    return Sample(
        gains=np.ascontiguousarray(kind_gains(problem, assignment)[:length][..., order]),
        switch_losses=np.ascontiguousarray(problem.switch_losses[:length][..., order]),
        may_follow=problem.may_follow,
        models=assignment.models,
        first_model=-1 if first is None else first,
        needed=problem.needed,
        allowed=problem.allowed,
        may_end=problem.may_end,
    )
