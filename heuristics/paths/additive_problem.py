r"""Model selection as a path problem with additive weights, times and losses (Sec. IV-B).

Data and cluster are given. Epoch k trained on model m after model p has a weight w(k, m), a time t(k, m) and
a loss change l(k, p, m), and the path of the models is to

    minimise  sum w   subject to   sum t <= T_max,   l(0) + sum l <= l_max,   K <= K_max.

The paper assumes the most capable cluster with all its resources: t = c / r + s / b. What an edge weighs is
less clear ("the cost associated with the switch"), hence the readings of `Weight`. With x = r the cost is
kappa r whatever the model (E12); by the closed form sqrt(kappa c) is right where nothing clips.
"""

import itertools
import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_labels import AdditiveLabel, expected_label
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import require_tabulated
from depl.models.foundation.names import advice
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.epoch_costs import minimum_resources, root
from depl.models.problem.epochs import Load, LossStep, Term, load, loss_step, switch_steps
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

BoolArray = NDArray[np.bool_]

_ROOM = 1.01
"""Factor beyond what labels can fall in the charge of an end: any above 1 will do that rounding does not eat
up."""


class Weight(Enum):
    """What an epoch weighs; kappa, r, c, s, b as in Sec. III, all nodes together."""

    FULL_RESOURCES = "full-resources"
    """kappa r, the cost of an epoch with all resources: the paper's words. Counts epochs (E12)."""
    COMPUTE = "compute"
    """kappa c."""
    FULL_RESOURCES_TIME = "full-resources-time"
    """kappa r (c / r + s / b), resources times the time they are held."""
    ROOT = "root"
    """sqrt(kappa c); (sum sqrt(kappa c))^2 / (T_max - sum s / b) is the cost where nothing clips."""
    LEAST_RESOURCES = "least-resources"
    """kappa c / (tau - s / b): the exact cost where only the round deadline limits time."""


@dataclass(frozen=True, eq=False)
class AdditiveProblem:
    """The path problem.

    Attributes
    ----------
    models : tuple of str
        The M models.
    weights, times : ndarray
        Shape (K, M), nonnegative: of epoch k + 1 [weight], [time].
    losses : ndarray
        Shape (K, M + 1, M): change of the label by model m after model p; row M is the start, used by
        the first epoch alone [loss].
    allowed : ndarray of bool
        Shape (K, M + 1, M): whether the step may be made.
    initial_loss, maximum_loss : float
        l(0) and l_max, the latter without what the label charges once [loss].
    maximum_time : float
        T_max, infinite if there is none [time].
    """

    models: tuple[str, ...]
    weights: FloatArray
    times: FloatArray
    losses: FloatArray
    allowed: BoolArray
    initial_loss: float
    maximum_loss: float
    maximum_time: float

    def __post_init__(self) -> None:
        epochs, count = self.weights.shape
        shape = (epochs, count + 1, count)
        if self.times.shape != (epochs, count) or self.losses.shape != shape or self.allowed.shape != shape:
            raise InvalidInputError(
                f"weights {self.weights.shape}, times {self.times.shape}, losses {self.losses.shape} and "
                f"allowed {self.allowed.shape} do not fit together"
            )
        if len(self.models) != count:
            raise InvalidInputError(f"{len(self.models)} names for {count} models", "models")
        if not (self.weights.min(initial=0) >= 0 and self.times.min(initial=0) >= 0):
            raise InvalidInputError("weights and times must be nonnegative numbers")
        if not np.isfinite(self.losses).all():
            raise InvalidInputError("losses must be finite numbers; forbid a step by allowed")

    @property
    def epochs(self) -> int:
        """K_max."""
        return len(self.weights)

    @property
    def start(self) -> int:
        """Index of the start among the predecessors."""
        return len(self.models)

    def within(self, maximum_time: float, maximum_loss: float) -> "AdditiveProblem":
        """The same problem with other budgets."""
        return replace(self, maximum_time=maximum_time, maximum_loss=maximum_loss)

    def ending_with(self, may_end: BoolArray, may_stop: bool) -> "AdditiveProblem":
        """The same where only some models, shape (M,), may be the last: ends that may not be are charged.

        Let a step from model p to model m cost B more label if p may be the last and m may not, and B less
        the other way round. These charges telescope: a sequence has its own label if its last model may be
        the last, and B more if it may not. With B beyond all that labels can fall, no sequence that ends
        badly meets the target; sequences of one last model are charged alike, so dominance is what it was.
        Where l(0) meets the target and a plan has to train all the same (``may_stop`` is false), the start is
        charged, too: l(0) and all first steps back.
        """
        most = self.maximum_loss + ATOM_TOLERANCE
        idle = not may_stop and self.initial_loss <= most
        if may_end.all() and not idle:
            return self
        fall = float(np.maximum(-self.losses, 0.0).max(axis=(1, 2), initial=0.0).sum())
        charge = _ROOM * (max(most - self.initial_loss, 0.0) + fall) + abs(self.initial_loss) / 100
        if self.initial_loss > 0:  # a whole number of levels, which are fractions of l(0)
            charge = self.initial_loss * math.ceil(charge / self.initial_loss)
        before = charge * np.append(~may_end, idle)
        losses = self.losses + (charge * ~may_end[None, :] - before[:, None])
        return replace(self, losses=losses, initial_loss=self.initial_loss + float(before[-1]))

    def totals(self, path: tuple[int, ...]) -> tuple[float, float, float]:
        """Weight, time and final loss of a path given by indices of models, summed exactly."""
        if len(path) > self.epochs:
            raise InvalidInputError(f"{len(path)} epochs, at most {self.epochs} are allowed", "path")
        previous = (self.start, *path)[: len(path)]
        steps = list(enumerate(zip(previous, path, strict=True)))
        for k, (before, model) in steps:
            if not self.allowed[k, before, model]:
                raise InvalidInputError("this step is not allowed", f"path[{k}]")
        return (
            math.fsum(self.weights[k, model] for k, (_, model) in steps),
            math.fsum(self.times[k, model] for k, (_, model) in steps),
            math.fsum([self.initial_loss, *(self.losses[k, before, model] for k, (before, model) in steps)]),
        )

    def feasible(self, path: tuple[int, ...]) -> bool:
        """Whether a path keeps both budgets, within the tolerances."""
        _, time, loss = self.totals(path)
        on_time = time <= self.maximum_time * (1 + TIME_TOLERANCE)
        return on_time and loss <= self.maximum_loss + ATOM_TOLERANCE

    def names(self, path: tuple[int, ...]) -> tuple[str, ...]:
        """The models of a path."""
        return tuple(self.models[index] for index in path)


def additive_problem(
    instance: Instance,
    datasets: frozenset[str],
    cluster: str,
    label: AdditiveLabel | None = None,
    weight: Weight | None = None,
) -> AdditiveProblem:
    """Model selection of an instance on given data and a given cluster.

    Parameters
    ----------
    datasets : frozenset of str
        D, the data of every epoch.
    cluster : str
        The cluster of every epoch; the paper takes `depl.models.problem.site_rules.most_capable_cluster`.
    label : AdditiveLabel, optional
        What stands for the loss quantile; the mean by default.
    weight : Weight, optional
        Reading of the weight; `Weight.ROOT` by default, and `Weight.LEAST_RESOURCES` without T_max.

    Raises
    ------
    InvalidInputError
        If ``datasets`` or ``cluster`` are not the instance's, data may not be used there, or a weight needs a
        deadline that is not there.
    NotCoveredError
        If the label does not cover a law.
    """
    _require_known(instance, datasets, cluster)
    target, names = instance.target, tuple(model.name for model in instance.models)
    if weight is None:
        weight = Weight.LEAST_RESOURCES if target.maximum_time is None else Weight.ROOT
    label = expected_label() if label is None else label
    count, epochs, rules = len(names), target.maximum_epochs, instance.rules
    losses, allowed = _loss_changes(instance, datasets, names, label)
    weights, times = np.zeros((epochs, count)), np.zeros((epochs, count))
    for k, (m, name) in itertools.product(range(epochs), enumerate(names)):
        keep_time()
        demand = load(instance, k + 1, name, cluster, datasets)
        least = minimum_resources(demand, target.round_deadline)
        if math.isinf(least) or not rules.may_train(name, cluster):
            allowed[k, :, m] = False
            continue
        weights[k, m] = _weight(demand, least, weight, target.round_deadline)
        times[k, m] = demand.communication + demand.work / demand.capacity
    problem = AdditiveProblem(
        models=names,
        weights=weights,
        times=times,
        losses=losses,
        allowed=allowed,
        initial_loss=target.initial_loss,
        maximum_loss=target.maximum_loss - label.surcharge,
        maximum_time=math.inf if target.maximum_time is None else target.maximum_time,
    )
    return problem.ending_with(rules.last_models(names), rules.may_stop)


def _loss_changes(
    instance: Instance, datasets: frozenset[str], names: tuple[str, ...], label: AdditiveLabel
) -> tuple[FloatArray, BoolArray]:
    """Every step's change of the label, and whether it may be made.

    A law with a memory of the last switch would need it in the state; the paper's laws have none, and the
    steps are read as those of the first epoch after a switch, whose own loss is the same at every epoch.
    """
    epochs, count, first = instance.target.maximum_epochs, len(names), instance.target.initial_model
    require_tabulated(len(instance.models), "the graph of models", epochs)
    runs: dict[tuple[int, int], LossStep] = {}
    for k, m in np.ndindex(epochs, count):
        keep_time()
        runs[k, m] = loss_step(instance, k + 1, 0, names[m], names[m], datasets)
    changes = switch_steps(instance)
    if any(step.retention != 1 for step in runs.values()):
        raise NotCoveredError("losses that decay by themselves do not add up; no label is additive")
    steps = [*runs.values(), *changes.values()]
    terms = list(dict.fromkeys(term for step in steps for term in step.terms))
    values: dict[Term, float] = dict(zip(terms, label.values(terms).tolist(), strict=True))
    of_runs, of_switches = np.zeros((epochs, count)), np.zeros((count + 1, count))
    for table, part in ((of_runs, runs), (of_switches, changes)):
        for place, step in part.items():
            table[place] = math.fsum([step.shift, *(values[term] for term in step.terms)])
    if first is not None:
        of_switches[count] = of_switches[names.index(first)]
    follows = np.array([[instance.may_follow(before, name) for name in names] for before in (*names, first)])
    reached = np.ones((epochs, count + 1, 1), dtype=bool)  # epoch 1 follows the initial model, others do not
    reached[:1, :count], reached[1:, count] = False, False
    allowed = reached & follows
    return np.where(allowed, of_runs[:, None] + of_switches, 0.0), allowed


def _weight(demand: Load, least: float, weight: Weight, deadline: float | None) -> float:
    if demand.work == 0:  # needs no resources at all
        return 0.0
    if weight is Weight.LEAST_RESOURCES and deadline is None and demand.price > 0:
        raise InvalidInputError("the least resources are 0 without a round deadline; take another weight")
    return {
        Weight.FULL_RESOURCES: demand.price * demand.capacity,
        Weight.COMPUTE: demand.price * demand.work,
        Weight.FULL_RESOURCES_TIME: demand.price * (demand.work + demand.capacity * demand.communication),
        Weight.ROOT: root(demand),
        Weight.LEAST_RESOURCES: demand.price * least,
    }[weight]


def _require_known(instance: Instance, datasets: frozenset[str], cluster: str) -> None:
    known = {item.name for item in instance.datasets}
    if not datasets:
        raise InvalidInputError(f"must be some of {sorted(known)}, and none is given", "datasets")
    for name in sorted(datasets - known):
        raise InvalidInputError(f"there is no dataset {name!r}; {advice(name, sorted(known))}", "datasets")
    places = [item.name for item in instance.clusters]
    if cluster not in places:
        raise InvalidInputError(f"there is no cluster {cluster!r}; {advice(cluster, places)}", "cluster")
    for name in sorted(datasets - instance.rules.data[cluster]):
        raise InvalidInputError(f"dataset {name!r} may not be used on cluster {cluster!r}", "datasets")
