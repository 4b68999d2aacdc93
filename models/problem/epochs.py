"""What one epoch does: an affine step of the loss, and a load on a cluster.

This is the only place where run laws, switch laws, the data law and the compute rule are read. All
solvers, evaluators and risk code consume `LossStep` and `Load`, never ``A`` and ``B`` themselves, so
that laws with memory (retention below 1) change nothing downstream.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray, Law, StudentT


@dataclass(frozen=True)
class Term:
    """``coefficient * X``, a random part of a loss, with X following ``law``."""

    coefficient: float
    law: Law

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.coefficient, self.law))

    def __hash__(self) -> int:
        """Kept: increments are looked up by the million, and the hash of a law is not."""
        return self._hash

    @property
    def tailed(self) -> StudentT | None:
        """The law of coefficient * X, if its tails can be cut off at a certified price."""
        return None if self.law.tailed is None else self.law.tailed.scaled(self.coefficient)

    def __reduce__(self) -> tuple[type["Term"], tuple[float, Law]]:
        """Copies without the hash, which another process may compute otherwise."""
        return Term, (self.coefficient, self.law)


@dataclass(frozen=True)
class LossStep:
    """l(k) = retention * l(k-1) + shift + sum of terms, independent of each other and of the past."""

    retention: float
    shift: float
    terms: tuple[Term, ...]

    def moments(self) -> tuple[float, float]:
        """Mean and variance of shift and terms; the variance may be infinite."""
        mean = self.shift + math.fsum(term.coefficient * term.law.moments().mean for term in self.terms)
        return mean, math.fsum(term.coefficient**2 * term.law.moments().variance for term in self.terms)


@dataclass(frozen=True)
class FinalLoss:
    """l(K) = constant + sum of independent terms, each with its multiplicity."""

    constant: float
    terms: tuple[tuple[Term, int], ...]

    def reduced(self) -> "FinalLoss":
        """The same loss without terms that occur zero times or with coefficient 0.

        Raises
        ------
        InvalidInputError
            If a term occurs a negative number of times.
        """
        if all(count > 0 and term.coefficient for term, count in self.terms):
            return self
        for term, count in self.terms:
            if count < 0:
                raise InvalidInputError(f"{term} occurs {count} times in a final loss; counts are at least 0")
        return FinalLoss(self.constant, tuple(pair for pair in self.terms if pair[1] and pair[0].coefficient))

    def mean(self) -> float:
        """E l(K)."""
        parts = [count * term.coefficient * term.law.moments().mean for term, count in self.terms]
        return math.fsum([self.constant, *parts])

    def variance(self) -> float:
        """Var l(K), possibly infinite."""
        return math.fsum(
            count * term.coefficient * term.coefficient * term.law.moments().variance
            for term, count in self.terms
        )


@dataclass(frozen=True)
class Load:
    """What one epoch asks of one cluster, per node already divided and all nodes already paid for."""

    work: float  # c / nodes, so that computing takes work / x [resource x time]
    price: float  # nodes * unit_cost, so that the epoch costs price * x [cost / resource]
    capacity: float  # greatest x [resource]
    communication: float  # s(m) / b(n) [time]


def loss_step(
    instance: Instance,
    epoch: int,
    epochs_since_switch: int,
    previous_model: str | None,
    model: str,
    datasets: frozenset[str],
) -> LossStep:
    """The affine step of the loss at one epoch, the recursion of Sec. III with eq. (8).

    Parameters
    ----------
    epoch : int
        k, counted from 1.
    epochs_since_switch : int
        Epochs already trained on ``model`` since it was last switched to (0 right after a switch or
        at the start). The paper's law does not depend on it; laws with memory will.
    previous_model : str or None
        Model of epoch k - 1, or the initial model at k = 1; None if there is none.
    datasets : frozenset of str
        D, the data of the cluster that trains this epoch.

    Raises
    ------
    InvalidInputError
        If the switch is forbidden.
    NotCoveredError
        If the instance has a traced law, whose epochs depend on more than this.
    """
    _require_independent(instance)
    coefficient, noise = instance.model(model).improvement.at(epoch)
    parts: list[tuple[float, Law]] = [(-instance.learning_factor(datasets) * coefficient, noise)]
    if previous_model is not None and previous_model != model:
        law = instance.switch_law(previous_model, model)
        if law.forbids:
            raise InvalidInputError(f"the switch from {previous_model!r} to {model!r} is forbidden")
        parts.append((1.0, law))
    shift = math.fsum(weight * law.constant for weight, law in parts if law.constant is not None)
    terms = tuple(Term(weight, law) for weight, law in parts if law.constant is None and weight != 0)
    return LossStep(1.0, shift, terms)


def switch_step(instance: Instance, previous: str, following: str) -> LossStep | None:
    """What a switch adds to a loss step, at every epoch the same; None without one or if it is forbidden."""
    if previous == following or not instance.may_follow(previous, following):
        return None
    _require_independent(instance)
    law = instance.switch_law(previous, following)
    if law.constant is not None:
        return LossStep(1.0, law.constant, ())
    return LossStep(1.0, 0.0, (Term(1.0, law),))


def switch_steps(instance: Instance) -> dict[tuple[int, int], LossStep]:
    """What every switch adds that is allowed and changes the loss, by positions of its two models.

    There are M**2 of them and not M**2 K, as the law of a switch is the same at every epoch.
    """
    table: dict[tuple[int, int], LossStep] = {}
    for (first, previous), (second, following) in itertools.permutations(enumerate(instance.models), 2):
        keep_time()
        step = switch_step(instance, previous.name, following.name)
        if step is not None and (step.terms or step.shift):
            table[first, second] = step
    return table


def switch_moments(instance: Instance) -> FloatArray:
    """Mean and variance of what switches add to the loss, zero where nothing; shape (2, M, M)."""
    moments = np.zeros((2, len(instance.models), len(instance.models)))
    for pair, step in switch_steps(instance).items():
        moments[:, *pair] = step.moments()
    return moments


def gain_moments(instance: Instance, epochs: int, subsets: Sequence[frozenset[str]]) -> FloatArray:
    """Mean and variance of what epochs take off the loss, switches apart; shape (2, epochs, subsets, M)."""
    moments = np.zeros((2, epochs, len(subsets), len(instance.models)))
    factors = np.array([instance.learning_factor(datasets) for datasets in subsets])
    everything = frozenset(item.name for item in instance.datasets)  # whose factor is 1
    for k, m in np.ndindex(epochs, len(instance.models)):
        keep_time()
        name = instance.models[m].name
        mean, variance = loss_step(instance, k + 1, 0, name, name, everything).moments()
        moments[:, k, :, m] = -mean * factors, variance * factors**2
    return moments


def _require_independent(instance: Instance) -> None:
    if instance.has_memory:
        raise NotCoveredError(
            "the loss of this instance has memory (traced_law), and this method plans with independent "
            "increments: use the method enumerate or scenario-search"
        )


def compose(initial_loss: float, steps: Sequence[LossStep]) -> FinalLoss:
    """The final loss after ``steps``, equal terms counted together.

    With retention below 1 the weight of every step is the product of the retentions after it.
    """
    constants: list[float] = []
    counts: dict[Term, int] = {}
    remaining = 1.0
    for step in reversed(steps):
        constants.append(remaining * step.shift)
        for term in step.terms if remaining else ():
            weighted = term if remaining == 1.0 else Term(remaining * term.coefficient, term.law)
            counts[weighted] = counts.get(weighted, 0) + 1
        remaining *= step.retention
    return FinalLoss(math.fsum([remaining * initial_loss, *constants]), tuple(counts.items()))


def load(instance: Instance, epoch: int, model: str, cluster: str, datasets: frozenset[str]) -> Load:
    """The load of one epoch of ``model`` on ``cluster`` with its data ``datasets``."""
    place, trained = instance.cluster(cluster), instance.model(model)
    return Load(
        work=compute(instance, epoch, model, datasets) / place.nodes,
        price=place.nodes * place.unit_cost,
        capacity=place.capacity,
        communication=trained.size / place.bandwidth,
    )


def compute(instance: Instance, epoch: int, model: str, datasets: frozenset[str]) -> float:
    """c(k, m, D): demand times work of the data, or the instance's own table [resource x time]."""
    trained = instance.model(model)
    if trained.compute is None:
        return trained.demand * instance.workload(datasets)
    used = [table for table in trained.compute if table.dataset is None or table.dataset in datasets]
    return math.fsum(table.epochs[epoch - 1] for table in used)
