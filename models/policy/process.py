r"""The problem of a run that is watched: what may be trained where it stands, and how the loss moves.

After k epochs a run stands at a *node*: how much was trained, with which model on which cluster last, and to
which clusters data were brought. What may be trained next depends on the node alone, never on the loss; one
more epoch costs a fixed price and moves the loss by its *kernel*, so that the least expected cost to go is a
function of node and loss, which never falls as the loss rises (`docs/policies`). Every epoch uses the least
resources that the round deadline allows, all of them where they are free.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from depl.models.evaluation.traced_law import first_losses
from depl.models.evaluation.traced_support import epoch_outside
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import Position, Scale, following
from depl.models.problem.epoch_costs import drive, minimum_resources, priced
from depl.models.problem.epochs import Term, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Empirical, FloatArray

MOST_NODES = 50_000
"""Most nodes of a process: set by hand. A value on a grid of 4096 losses takes about a millisecond per node,
so this is a minute for each sweep."""

Site = tuple[str, str]
"""Model and cluster."""


@dataclass(frozen=True)
class Kernel:
    """l' = shift + retention * l + e, where e is the sum of independent terms."""

    retention: float
    shift: float
    noise: tuple[Term, ...]


@dataclass(frozen=True)
class Training:
    """One more epoch: its price, data brought for the first time included, and the node after it."""

    model: str
    cluster: str
    price: float
    kernel: Kernel
    following: int


@dataclass(frozen=True)
class Node:
    """Where a run stands, but for its loss: what was trained last, and what may be trained next.

    A run that stops here, its loss low enough, has reached the target if its model may be the last. A fitted
    law has a ``place`` for every epoch.
    """

    epoch: int
    site: Site | None
    may_stop: bool
    trainings: tuple[Training, ...]
    place: Position | None = None


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run may begin: a first training is chosen, and then the loss before it is seen.

    ``losses`` are values of l(0), on the scale of the law. Where it was not recorded, nothing depends on
    them: no run may stop there, the first epoch retains nothing of them, and decisions begin with l(1).
    """

    node: int
    losses: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Process:
    """All nodes, those of later epochs after those of earlier ones, and starts, of which one is chosen.

    Losses, on the scale of the law, are expected between ``lowest`` and ``highest``; what lies beyond costs
    sharpness, never validity. A run whose first loss does not meet the target has to train, unless
    ``abandon_at_start``.
    """

    nodes: tuple[Node, ...]
    starts: tuple[Start, ...]
    limit: float
    scale: Scale
    epochs: int
    lowest: float
    highest: float
    abandon_at_start: bool = False

    def by_epoch(self) -> Iterator[list[int]]:
        """Numbers of the nodes of the last epoch, of the one before it, and so on."""
        for _, found in itertools.groupby(
            range(len(self.nodes))[::-1], lambda number: self.nodes[number].epoch
        ):
            yield list(found)

    def greatest_cost(self) -> float:
        """At least what any run can cost: the greatest price of every epoch [cost]."""
        return sum(
            max((item.price for number in numbers for item in self.nodes[number].trainings), default=0.0)
            for numbers in self.by_epoch()
        )

    def restricted(self, allowed: Callable[[Position], bool]) -> "Process":
        """The process without the trainings that lead to a stage that is not allowed."""
        kept, going = {start.node for start in self.starts}, dict[int, list[Training]]()
        for number, node in enumerate(self.nodes):  # later epochs stand behind earlier ones
            if number in kept:
                after = ((item, self.nodes[item.following].place) for item in node.trainings)
                going[number] = [item for item, place in after if place is not None and allowed(place)]
                kept.update(item.following for item in going[number])
        numbers = {old: new for new, old in enumerate(going)}
        moved = {
            old: tuple(replace(item, following=numbers[item.following]) for item in trainings)
            for old, trainings in going.items()
        }
        nodes = tuple(replace(self.nodes[old], trainings=trainings) for old, trainings in moved.items())
        starts = tuple(replace(start, node=numbers[start.node]) for start in self.starts)
        return replace(self, nodes=nodes, starts=starts)


def process(
    instance: Instance,
    data: Mapping[str, Collection[str]] | None = None,
    switch_epochs: Collection[int] | None = None,
    *,
    abandon_at_start: bool = False,
) -> Process:
    """The process of an instance.

    Parameters
    ----------
    data : mapping of str to collection of str, optional
        Which datasets each cluster uses; by default all that may be used there. A cluster that is left out is
        not used.
    switch_epochs : collection of int, optional
        After how many epochs model or cluster may change; by default after any.
    abandon_at_start : bool
        As in `Process`.

    Raises
    ------
    InvalidInputError
        If ``data`` names what the instance does not have or what the rules of its sites forbid.
    NotCoveredError
        If K_max epochs may take longer than T_max; if no law is declared, or residuals stay together per run;
        or if there are more nodes than `MOST_NODES`.
    """
    _require_covered(instance)
    sites = _Sites(instance, data)
    target, longest = instance.target, sites.longest()
    if target.maximum_time is not None and longest > target.maximum_time * (1 + TIME_TOLERANCE):
        told = f"{longest:.6g}" if math.isfinite(longest) else "without end"
        raise NotCoveredError(
            f"{counted(target.maximum_epochs, 'epoch')} at their least resources may take {told}, "
            f"longer than maximum_time = {target.maximum_time:.6g}, and policies do not watch the time: "
            "give a round_deadline with which maximum_epochs epochs keep maximum_time"
        )
    found = _Nodes(instance, sites, switch_epochs)
    starts = tuple(found.starts())
    if not starts:
        raise NotCoveredError("no model on any cluster was trained first by enough of the runs")
    nodes, traced, limit = found.nodes(), instance.traced_law, target.maximum_loss
    scale: Scale = "loss"
    if traced is None:
        low, high = _reach(nodes, target.initial_loss, limit)
    else:
        limit, scale, (low, high) = traced.on_scale(limit), traced.scale, traced.law.seen
        room = 0.1 * (high - low) + 1e-6
        low, high = min(low, limit) - room, max(high, limit) + room
    return Process(nodes, starts, limit, scale, target.maximum_epochs, low, high, abandon_at_start)


def keeps_time(instance: Instance, data: Mapping[str, Collection[str]] | None = None) -> bool:
    """Whether K_max epochs at their least resources keep T_max, whatever is trained."""
    limit = instance.target.maximum_time
    return limit is None or _Sites(instance, data).longest() <= limit * (1 + TIME_TOLERANCE)


def _require_covered(instance: Instance) -> None:
    if not instance.declares_laws:
        raise NotCoveredError("a policy needs laws of all improvements and switches; some are not declared")
    traced = instance.traced_law
    if traced is None:
        return
    if traced.residuals != "independent" or traced.deviations or traced.only_whole_runs:
        raise NotCoveredError(
            "with residuals that stay together per run, or a margin for plans that were never run, the next "
            "loss depends on more than the last one; a policy is then planned on `proxy` and counted on runs"
        )
    if traced.on_scale(instance.target.maximum_loss) == -math.inf:
        raise InvalidInputError(
            f"is {instance.target.maximum_loss:g}, which no run reaches: the law is of the logarithm of the "
            "loss, so every loss is above 0",
            ".target.maximum_loss",
        )
    if traced.observed is not None:
        raise NotCoveredError("plan the policy before the first epoch, not for the rest of a run")


class _Sites:
    """Data, resources and prices, by model and cluster."""

    def __init__(self, instance: Instance, data: Mapping[str, Collection[str]] | None) -> None:
        rules = instance.rules
        if data is None:
            data = {name: used for name, used in rules.data.items() if used}
        elif not data:
            raise InvalidInputError("names no cluster; leave it out to use all data everywhere", "data")
        for cluster, names in data.items():
            if cluster not in rules.data or not rules.may_use(names, cluster) or not names:
                raise InvalidInputError(
                    f"cluster {cluster!r} cannot use {sorted(names)}: name clusters and datasets of the "
                    "instance, at least one each, and such as may be used there",
                    "data",
                )
        self.instance, self.data = instance, {cluster: frozenset(names) for cluster, names in data.items()}
        models = [model.name for model in instance.models]
        self.pairs = [(model, site) for site in data for model in models if rules.may_train(model, site)]
        self.transfers = {
            cluster: math.fsum(instance.transfer_cost(name, cluster) for name in names)
            for cluster, names in self.data.items()
        }

    def cost_and_time(self, site: Site, epoch: int) -> tuple[float, float]:
        """Of one epoch at its least resources; infinite where it misses the round deadline."""
        asked = load(self.instance, epoch, *site, self.data[site[1]])
        least = minimum_resources(asked, self.instance.target.round_deadline)
        parts = asked.work, asked.price, asked.capacity, asked.communication
        return priced(*parts, least, 0.0, drive(0.0, asked.price))

    def longest(self) -> float:
        """What K_max epochs at their least resources may take; late ones are not trained [time]."""
        longest, target = 0.0, self.instance.target
        for epoch in range(1, target.maximum_epochs + 1):
            keep_time()
            able = (pair for pair in self.pairs if epoch <= self.instance.model(pair[0]).last_epoch)
            times = [self.cost_and_time(pair, epoch)[1] for pair in able]
            if target.round_deadline is not None:
                times = list(filter(math.isfinite, times))
            longest += max(times, default=0.0)
        return longest


class _State(NamedTuple):
    """What decides on the nodes that follow: clusters opened, what was trained last, and the law's position.

    Before the first epoch of a fitted law, which may begin with several models, it is what a start is for.
    """

    opened: frozenset[str] = frozenset()
    site: Site | None = None
    place: Position | None = None
    only: Site | None = None


class _Nodes:
    """Nodes found from the starts on, epoch by epoch."""

    def __init__(self, instance: Instance, sites: _Sites, switch_epochs: Collection[int] | None) -> None:
        self.instance, self.sites, self.switch_epochs = instance, sites, switch_epochs
        self.law = None if instance.traced_law is None else instance.traced_law.law
        self.numbers: dict[tuple[int, _State], int] = {}
        self.order: list[tuple[int, _State]] = []
        self.price = functools.cache(lambda pair, epoch: sites.cost_and_time(pair, epoch)[0])
        self.covers, self.kernel = functools.cache(self._covers), functools.cache(self._kernel)
        self.noise = functools.cache(
            lambda step: (Term(1.0, Empirical(values=tuple(step.residuals.tolist()))),)
        )

    def number(self, epoch: int, state: _State) -> int:
        """Of a node, which is noted for what follows it if it is new."""
        key = epoch, state
        if key not in self.numbers:
            if len(self.order) >= MOST_NODES:
                raise NotCoveredError(
                    f"a policy would have to tell more than {MOST_NODES} states from each other besides the "
                    "loss; allow switches after fewer epochs (switch_epochs), or fewer clusters (data)"
                )
            self.numbers[key] = len(self.order)
            self.order.append(key)
        return self.numbers[key]

    def starts(self) -> Iterator[Start]:
        """One for increments; under a fitted law one for each model and cluster that runs began with."""
        if self.law is None:
            initial = np.array([self.instance.target.initial_loss])
            yield Start(self.number(0, _State()), initial, np.array([1.0]))
            return
        for pair in self.sites.pairs:
            first = self.instance.may_follow(self.instance.target.initial_model, pair[0])
            if first and self.covers(0, pair, following(None, pair)):
                losses = first_losses(self.law, pair)
                number = self.number(0, _State(only=pair))
                yield Start(number, losses, np.full(losses.size, 1 / losses.size))

    def nodes(self) -> tuple[Node, ...]:
        """All nodes that follow the starts."""
        found, rules = [], self.instance.rules
        for epoch, state in self.order:  # which grows on the way
            may_stop = rules.may_stop if state.site is None else rules.may_end(state.site[0])
            found.append(Node(epoch, state.site, may_stop, tuple(self._trainings(epoch, state)), state.place))
        return tuple(found)

    def _trainings(self, epoch: int, state: _State) -> Iterator[Training]:
        target, site = self.instance.target, state.site
        before = target.initial_model if site is None else site[0]
        may_switch = site is None or self.switch_epochs is None or epoch in self.switch_epochs
        pairs = self.sites.pairs if state.only is None else [state.only]
        for pair in pairs if epoch < target.maximum_epochs else []:
            keep_time()
            if not (may_switch or pair == site) or not self.instance.may_follow(before, pair[0]):
                continue
            place = None if self.law is None else following(state.place, pair)
            if self.covers(epoch, pair, place) and math.isfinite(price := self.price(pair, epoch + 1)):
                price += 0.0 if pair[1] in state.opened else self.sites.transfers[pair[1]]
                after = self.number(epoch + 1, _State(state.opened | {pair[1]}, pair, place))
                yield Training(*pair, price, self.kernel(epoch, before, pair, place), after)

    def _covers(self, epoch: int, pair: Site, place: Position | None) -> bool:
        """Whether the law tells of such an epoch."""
        if self.law is None or place is None:
            return epoch < self.instance.model(pair[0]).last_epoch
        return epoch_outside(self.law, place) is None

    def _kernel(self, epoch: int, before: str | None, pair: Site, place: Position | None) -> Kernel:
        if self.law is None or place is None:
            found = loss_step(self.instance, epoch + 1, 0, before, pair[0], self.sites.data[pair[1]])
            return Kernel(found.retention, found.shift, found.terms)
        step = self.law.step(place)
        return Kernel(step.retention, step.shift(place.start), self.noise(step))


_SPREADS = 8.0
"""Standard deviations of the rises of all epochs together up to which losses are expected: set by hand. What
rises above counts as failed, so any value is sound; by Chebyshev it is 1.6 % at worst, for laws with light
tails 1e-14."""


def _reach(nodes: tuple[Node, ...], initial_loss: float, limit: float) -> tuple[float, float]:
    """Where losses of independent increments are expected."""
    most: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for node in nodes:
        keep_time()
        for training in node.trainings:
            rise, spread = _rise(training.kernel)
            most[node.epoch] = max(most[node.epoch][0], rise), max(most[node.epoch][1], spread)
    above = math.fsum(rise for rise, _ in most.values())
    above += _SPREADS * math.sqrt(math.fsum(spread**2 for _, spread in most.values()))
    span = max(abs(initial_loss - limit), 1e-9)
    undeployable = any(not node.may_stop for node in nodes)
    return limit - (2.0 if undeployable else 0.25) * span, max(initial_loss, limit) + min(above, 10 * span)


def _rise(kernel: Kernel) -> tuple[float, float]:
    """About the mean rise of the loss in an epoch, if it rises, and its spread where it may rise."""
    mean, variance, rises = kernel.shift, 0.0, kernel.shift > 0
    for term in kernel.noise:
        moments, (low, high) = term.law.moments(), term.law.support()
        mean += term.coefficient * moments.mean
        size = moments.variance if math.isfinite(moments.variance) else 4 * moments.mean**2
        variance += term.coefficient**2 * size
        rises |= (high if term.coefficient > 0 else -low) > 0
    return max(mean, 0.0), math.sqrt(variance) if rises else 0.0
