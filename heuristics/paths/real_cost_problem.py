r"""Sequences of (model, cluster) on given data, an additive loss and the *real* cost (Sec. III, IV-B).

The data D_n of every cluster n that may be used is given. A *kind* g is a (cluster, model) pair, and epoch k
of kind g after model p changes the loss label by l(k, p, g) and puts `depl.models.problem.epochs.Load` (k, g)
on its cluster. Over all sequences of at most K_max kinds,

    minimise  sum of F_n over the clusters that train + min { sum kappa_k x_k : time, deadlines, capacities }
    subject to  l(0) + sum l <= l_max  and the switches that are allowed,

where F_n is the transfer cost of D_n. Unlike the path problem of the paper this has no fixed weights: what an
epoch costs depends on all others, through the one price of time that they share.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_labels import AdditiveLabel
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.end_charge import charge_ends
from depl.heuristics.paths.readings import Weight
from depl.models.exact.plan_classes import Configuration
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.allocation import Allocation, allocate
from depl.models.problem.epochs import Load, LossStep, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

Kinds = tuple[int, ...]
"""A sequence: the kind of every epoch, by index."""


@dataclass(frozen=True, eq=False)
class RealCostProblem:
    """The problem; G kinds, M models, N clusters.

    Attributes
    ----------
    models, clusters : tuple of str
    kinds : tuple of (int, int)
        Cluster and model of each kind.
    loads : tuple of tuple of Load
        What an epoch of a kind asks of its cluster, [k - 1][g].
    losses : ndarray
        Shape (K_max, M + 1, G): change of the loss label by a kind after a model; row M is the start, used by
        the first epoch alone [loss].
    allowed : ndarray of bool
        Shape (K_max, M + 1, G): whether the step may be made, the round deadline included.
    transfers : ndarray
        F_n, shape (N,), paid once if the cluster trains [cost].
    initial_loss, maximum_loss : float
        l(0) and l_max, the latter without what the label charges once [loss].
    maximum_time, round_deadline : float or None
        T_max and tau; None for none [time].
    steps : ndarray of int, optional
        Shape (K_max, M + 1, G): equal for steps with the same load and the same law of the loss. Sequences
        made of the same steps are alike in everything but their order.

    Raises
    ------
    InvalidInputError
        If the shapes do not fit together, or a number is not finite (transfers: or negative).
    """

    models: tuple[str, ...]
    clusters: tuple[str, ...]
    kinds: tuple[tuple[int, int], ...]
    loads: tuple[tuple[Load, ...], ...]
    losses: FloatArray
    allowed: NDArray[np.bool_]
    transfers: FloatArray
    initial_loss: float
    maximum_loss: float
    maximum_time: float | None
    round_deadline: float | None
    steps: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.loads), len(self.models) + 1, len(self.kinds))
        for name, array in (("losses", self.losses), ("allowed", self.allowed)):
            if array.shape != shape:
                raise InvalidInputError(f"must have the shape {shape}, not {array.shape}", name)
        if any(len(row) != len(self.kinds) for row in self.loads):
            raise InvalidInputError(f"must have {len(self.kinds)} entries per epoch", "loads")
        if self.steps is not None and self.steps.shape != shape:
            raise InvalidInputError(f"must have the shape {shape}, not {self.steps.shape}", "steps")
        if self.transfers.shape != (len(self.clusters),):
            raise InvalidInputError(f"must have {len(self.clusters)} entries", "transfers")
        if not (np.isfinite(self.transfers).all() and self.transfers.min(initial=0) >= 0):
            raise InvalidInputError("must be nonnegative finite numbers", "transfers")
        if not np.isfinite(self.losses).all():
            raise InvalidInputError("must be finite numbers; forbid a step by allowed", "losses")

    @property
    def epochs(self) -> int:
        """K_max."""
        return len(self.loads)

    @property
    def start(self) -> int:
        """Index of the start among the previous models."""
        return len(self.models)

    @property
    def highest_loss(self) -> float:
        """Label above which a sequence misses the target: l_max and the tolerance [loss]."""
        return self.maximum_loss + ATOM_TOLERANCE

    def ending_with(self, may_end: NDArray[np.bool_], may_stop: bool) -> "RealCostProblem":
        """The same where only some models, shape (M,), may be the last (`depl.heuristics.paths.end_charge`).

        ``may_stop`` says whether the sequence without an epoch is one.
        """
        models = [model for _, model in self.kinds]
        losses, start = charge_ends(
            self.losses, models, may_end, may_stop, self.initial_loss, self.highest_loss
        )
        return replace(self, losses=losses, initial_loss=start)

    def loss(self, sequence: Sequence[int]) -> float:
        """Label of the final loss, summed exactly [loss].

        Raises
        ------
        InvalidInputError
            If a step is not allowed or the sequence is longer than K_max.
        """
        if len(sequence) > self.epochs:
            raise InvalidInputError(f"{len(sequence)} epochs, at most {self.epochs} are allowed", "sequence")
        parts, before = [self.initial_loss], self.start
        for k, g in enumerate(sequence):
            if not self.allowed[k, before, g]:
                raise InvalidInputError("this step is not allowed", f"sequence[{k}]")
            parts.append(float(self.losses[k, before, g]))
            before = self.kinds[g][1]
        return math.fsum(parts)

    def allocation(self, sequence: Sequence[int]) -> Allocation:
        """The cheapest resources of a sequence, or why there are none."""
        loads = [self.loads[k][g] for k, g in enumerate(sequence)]
        return allocate(loads, self.maximum_time, self.round_deadline)

    def cost(self, sequence: Sequence[int]) -> float:
        """Transfers and resources; infinite if the time limits cannot be kept [cost]."""
        opened = sorted({self.kinds[g][0] for g in sequence})
        return math.fsum([self.allocation(sequence).cost, *self.transfers[opened].tolist()])

    def feasible(self, sequence: Sequence[int]) -> bool:
        """Whether a sequence keeps target, switches and time limits, within the tolerances."""
        return self.loss(sequence) <= self.highest_loss and self.allocation(sequence).feasible

    def configurations(self, sequence: Sequence[int]) -> list[Configuration]:
        """The names of a sequence, as `depl.models.exact.enumeration.build_plan` takes them."""
        chosen = [self.kinds[g] for g in sequence]
        return [Configuration(self.clusters[place], self.models[model]) for place, model in chosen]


def real_cost_problem(
    instance: Instance, data: Mapping[str, frozenset[str]], label: AdditiveLabel | None = None
) -> RealCostProblem:
    """The problem of an instance whose clusters, if they train, train on given data.

    Parameters
    ----------
    data : mapping
        The datasets of every cluster that may be used.
    label : AdditiveLabel, optional
        What stands for the loss quantile; the mean by default.

    Raises
    ------
    InvalidInputError
        If there is no cluster in ``data``, or its names are not the instance's.
    NotCoveredError
        If the label does not cover a law, or losses do not add up.
    """
    if not data:
        raise InvalidInputError("must name a cluster", "data")
    names = tuple(model.name for model in instance.models)
    target = instance.target
    parts = [
        additive_problem(instance, chosen, place, label, Weight.COMPUTE, ends_charged=False)
        for place, chosen in data.items()
    ]
    problem = RealCostProblem(
        models=names,
        clusters=tuple(data),
        kinds=tuple((place, model) for place in range(len(data)) for model in range(len(names))),
        loads=tuple(
            tuple(load(instance, k + 1, name, place, data[place]) for place in data for name in names)
            for k in range(target.maximum_epochs)
        ),
        losses=np.concatenate([part.losses for part in parts], axis=2),
        allowed=np.concatenate([part.allowed for part in parts], axis=2),
        transfers=np.array(
            [
                math.fsum(instance.transfer_cost(item, place) for item in sorted(chosen))
                for place, chosen in data.items()
            ]
        ),
        initial_loss=target.initial_loss,
        maximum_loss=parts[0].maximum_loss,
        maximum_time=target.maximum_time,
        round_deadline=target.round_deadline,
        steps=_steps(instance, data, names),
    )
    return problem.ending_with(instance.rules.last_models(names), instance.rules.may_stop)


def _steps(
    instance: Instance, data: Mapping[str, frozenset[str]], names: tuple[str, ...]
) -> NDArray[np.int64]:
    """One number for every pair of a load and a law of the loss; 0 for steps that may not be made."""
    target, count = instance.target, len(names)
    known: dict[tuple[Load, LossStep], int] = {}
    found = np.zeros((target.maximum_epochs, count + 1, len(data) * count), dtype=np.int64)
    for k, p in itertools.product(range(target.maximum_epochs), range(count + 1)):
        keep_time()
        if (p == count) != (k == 0):
            continue
        before = target.initial_model if k == 0 else names[p]
        for g, (place, name) in enumerate(itertools.product(data, names)):
            if instance.may_follow(before, name):
                demand = load(instance, k + 1, name, place, data[place])
                step = loss_step(instance, k + 1, int(before == name), before, name, data[place])
                found[k, p, g] = known.setdefault((demand, step), len(known) + 1)
    return found
