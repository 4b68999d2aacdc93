r"""The problem of a run that is watched: what may be trained where it stands, and how the loss moves.

After k epochs a run stands at a *node*: how much was trained, with which model on which cluster last, and to
which clusters data were brought. What may be trained next depends on the node alone, never on the loss; one
more epoch costs a fixed price and moves the loss by its *kernel*, so that the least expected cost to go is a
function of node and loss, which never falls as the loss rises (`docs/policies`). Every epoch uses the least
resources that the round deadline allows, all of them where they are free.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from depl.models.evaluation.traced_lending import first_losses
from depl.models.evaluation.traced_support import epoch_outside
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import AffineLaw, AffineStep, Position, Scale, following
from depl.models.problem.epoch_costs import drive, minimum_resources, priced
from depl.models.problem.epochs import Term, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.problem.traced_law import TracedLaw

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
    """Where a run stands, but for its loss.

    Attributes
    ----------
    epoch : int
        Epochs trained since epoch 1 of the instance.
    site : (str, str) or None
        Model and cluster of the last of them.
    may_stop : bool
        Whether a run that stops here, its loss low enough, has reached the target: its model may be the last.
    trainings : tuple of Training
    """

    epoch: int
    site: Site | None
    may_stop: bool
    trainings: tuple[Training, ...]


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run may begin: a first training is chosen, and then the loss before it is seen.

    Attributes
    ----------
    node : int
    losses, weights : float arrays (n,)
        Values of l(0), on the scale of the law, and their probabilities. Where it was not recorded, nothing
        depends on them: no run may stop there, the first epoch retains nothing of them, and decisions begin
        with l(1).
    """

    node: int
    losses: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Process:
    """All nodes, those of later epochs after those of earlier ones.

    Attributes
    ----------
    nodes : tuple of Node
    starts : tuple of Start
        One of them is chosen before anything is seen.
    limit : float
        l_max on the scale of the law.
    scale : "loss" or "log"
    epochs : int
        K_max.
    lowest, highest : float
        Between which losses are expected; what lies beyond costs sharpness, never validity.
    abandon_at_start : bool
        Whether a run whose first loss does not meet the target may be given up before its first epoch.
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
        found: dict[int, list[int]] = defaultdict(list)
        for number, node in enumerate(self.nodes):
            found[node.epoch].append(number)
        for epoch in sorted(found, reverse=True):
            yield found[epoch]

    def greatest_cost(self) -> float:
        """At least what any run can cost: the greatest price of every epoch [cost]."""
        return sum(
            max((item.price for number in numbers for item in self.nodes[number].trainings), default=0.0)
            for numbers in self.by_epoch()
        )

    def restricted(self, allowed: Callable[[Position], bool]) -> "Process":
        """The process without the trainings that lead to a stage that is not allowed."""
        places: dict[int, Position | None] = {start.node: None for start in self.starts}
        going: dict[int, list[Training]] = {}
        for number, node in enumerate(self.nodes):
            if number in places:
                going[number] = []
                for training in node.trainings:
                    place = following(places[number], (training.model, training.cluster))
                    if allowed(place):
                        places[training.following] = place
                        going[number].append(training)
        numbers = {old: new for new, old in enumerate(going)}
        nodes = tuple(
            replace(
                self.nodes[old],
                trainings=tuple(replace(item, following=numbers[item.following]) for item in trainings),
            )
            for old, trainings in going.items()
        )
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
    if instance.traced_law is None:
        found = _independent(instance, sites, switch_epochs)
    else:
        found = _traced(instance, sites, switch_epochs, instance.traced_law)
    return replace(found, abandon_at_start=abandon_at_start)


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
            able = [pair for pair in self.pairs if epoch <= self.instance.model(pair[0]).last_epoch]
            times = [self.cost_and_time(pair, epoch)[1] for pair in able]
            late = target.round_deadline is not None
            longest += max((time for time in times if not (late and math.isinf(time))), default=0.0)
        return longest


State = Any
"""What a law knows of the past besides the loss: what was trained last, or a `Position`."""


class _Nodes:
    """Nodes found from the starts on, epoch by epoch; what decides on them are state and clusters opened."""

    def __init__(
        self,
        instance: Instance,
        sites: _Sites,
        switch_epochs: Collection[int] | None,
        law: "_Increments | _Fitted",
    ) -> None:
        self.instance, self.sites, self.switch_epochs, self.law = instance, sites, switch_epochs, law
        self.numbers: dict[tuple[int, State, frozenset[str]], int] = {}
        self.order: list[tuple[int, State, frozenset[str]]] = []
        self.prices: dict[tuple[Site, int], float] = {}

    def number(self, epoch: int, state: State, opened: frozenset[str] = frozenset()) -> int:
        """Of a node, which is noted for what follows it if it is new."""
        key = epoch, state, opened
        if key not in self.numbers:
            if len(self.order) >= MOST_NODES:
                raise NotCoveredError(
                    f"a policy would have to tell more than {MOST_NODES} states from each other besides the "
                    "loss; allow switches after fewer epochs (switch_epochs), or fewer clusters (data)"
                )
            self.numbers[key] = len(self.order)
            self.order.append(key)
        return self.numbers[key]

    def found(self, first: Mapping[int, Site] | None = None) -> tuple[Node, ...]:
        """All nodes; ``first`` says what a start was chosen for."""
        nodes, rules = [], self.instance.rules
        for number, (epoch, state, opened) in enumerate(self.order):  # which grows on the way
            site = self.law.site(state)
            may_stop = rules.may_stop if site is None else rules.may_end(site[0])
            pairs = [first[number]] if first and number in first else self.sites.pairs
            nodes.append(Node(epoch, site, may_stop, tuple(self._trainings(epoch, state, opened, pairs))))
        return tuple(nodes)

    def _trainings(
        self, epoch: int, state: State, opened: frozenset[str], pairs: list[Site]
    ) -> Iterator[Training]:
        site, target, law = self.law.site(state), self.instance.target, self.law
        before = target.initial_model if site is None else site[0]
        may_switch = site is None or self.switch_epochs is None or epoch in self.switch_epochs
        for pair in pairs if epoch < target.maximum_epochs else []:
            keep_time()
            if not (may_switch or pair == site) or not self.instance.may_follow(before, pair[0]):
                continue
            if not law.covers(epoch, state, pair):
                continue
            if (pair, epoch) not in self.prices:
                self.prices[pair, epoch] = self.sites.cost_and_time(pair, epoch + 1)[0]
            price = self.prices[pair, epoch]
            if math.isfinite(price):
                price += 0.0 if pair[1] in opened else self.sites.transfers[pair[1]]
                after = self.number(epoch + 1, law.after(state, pair), opened | {pair[1]})
                yield Training(*pair, price, law.kernel(epoch, state, before, pair), after)


class _Increments:
    """Independent increments: the state is what was trained last."""

    def __init__(self, instance: Instance, data: Mapping[str, frozenset[str]]) -> None:
        self.instance, self.data = instance, data
        self.kernels: dict[tuple[int, str | None, Site], Kernel] = {}

    def site(self, state: State) -> Site | None:
        found: Site | None = state
        return found

    def covers(self, epoch: int, state: State, pair: Site) -> bool:
        return epoch < self.instance.model(pair[0]).last_epoch

    def after(self, state: State, pair: Site) -> State:
        return pair

    def kernel(self, epoch: int, state: State, before: str | None, pair: Site) -> Kernel:
        key = epoch, before, pair
        if key not in self.kernels:
            step = loss_step(self.instance, epoch + 1, 0, before, pair[0], self.data[pair[1]])
            self.kernels[key] = Kernel(step.retention, step.shift, step.terms)
        return self.kernels[key]


class _Fitted:
    """The affine law with independent residuals: the state is a position."""

    def __init__(self, law: AffineLaw) -> None:
        self.law = law
        self.noises: dict[AffineStep, tuple[Term, ...]] = {}
        self.covered: dict[Position, bool] = {}

    def site(self, state: State) -> Site | None:
        return state.trained if isinstance(state, Position) else None

    def covers(self, epoch: int, state: State, pair: Site) -> bool:
        place = self.after(state, pair)
        if place not in self.covered:
            self.covered[place] = epoch_outside(self.law, place) is None
        return self.covered[place]

    def after(self, state: State, pair: Site) -> Position:
        return following(state if isinstance(state, Position) else None, pair)

    def kernel(self, epoch: int, state: State, before: str | None, pair: Site) -> Kernel:
        place = self.after(state, pair)
        step = self.law.step(place)
        if step not in self.noises:
            self.noises[step] = (Term(1.0, Empirical(values=tuple(step.residuals.tolist()))),)
        return Kernel(step.retention, step.shift(place.start), self.noises[step])


def _independent(instance: Instance, sites: _Sites, switch_epochs: Collection[int] | None) -> Process:
    """The process under independent increments."""
    target = instance.target
    nodes = _Nodes(instance, sites, switch_epochs, _Increments(instance, sites.data))
    start = Start(nodes.number(0, None), np.array([target.initial_loss]), np.array([1.0]))
    found = nodes.found()
    reach = _reach(found, target.initial_loss, target.maximum_loss)
    return Process(found, (start,), target.maximum_loss, "loss", target.maximum_epochs, *reach)


def _traced(
    instance: Instance, sites: _Sites, switch_epochs: Collection[int] | None, traced: TracedLaw
) -> Process:
    """The process under a fitted law, which may begin with every model that was trained first."""
    target, law = instance.target, _Fitted(traced.law)
    nodes, starts, first = _Nodes(instance, sites, switch_epochs, law), [], {}
    for pair in sites.pairs:
        if instance.may_follow(target.initial_model, pair[0]) and law.covers(0, None, pair):
            losses = first_losses(traced.law, pair)
            number = nodes.number(0, ("before", pair))
            starts.append(Start(number, losses, np.full(losses.size, 1 / losses.size)))
            first[number] = pair
    if not starts:
        raise NotCoveredError("no model on any cluster was trained first by enough of the runs")
    limit, (low, high) = traced.on_scale(target.maximum_loss), traced.law.seen
    room = 0.1 * (high - low) + 1e-6
    reach = min(low, limit) - room, max(high, limit) + room
    return Process(nodes.found(first), tuple(starts), limit, traced.scale, target.maximum_epochs, *reach)


_SPREADS = 8.0
"""Standard deviations of the rises of all epochs together up to which losses are expected: set by hand. What
rises above counts as failed, so any value is sound; by Chebyshev it is 1.6 % at worst, for laws with light
tails 1e-14."""


def _reach(nodes: tuple[Node, ...], initial_loss: float, limit: float) -> tuple[float, float]:
    """Where losses of independent increments are expected."""
    rises: dict[int, float] = defaultdict(float)
    spreads: dict[int, float] = defaultdict(float)
    for node in nodes:
        keep_time()
        for training in node.trainings:
            rise, spread = _rise(training.kernel)
            rises[node.epoch] = max(rises[node.epoch], rise)
            spreads[node.epoch] = max(spreads[node.epoch], spread)
    above = math.fsum(rises.values()) + _SPREADS * math.sqrt(math.fsum(x * x for x in spreads.values()))
    span = max(abs(initial_loss - limit), 1e-9)
    undeployable = any(not node.may_stop for node in nodes)
    return limit - (2.0 if undeployable else 0.25) * span, max(initial_loss, limit) + min(above, 10 * span)


def _rise(kernel: Kernel) -> tuple[float, float]:
    """About the mean rise of the loss in an epoch, if it rises, and its spread where it may rise."""
    mean, variance, rises = kernel.shift, 0.0, kernel.shift > 0
    for term in kernel.noise:
        moments = term.law.moments()
        mean += term.coefficient * moments.mean
        size = moments.variance if math.isfinite(moments.variance) else 4 * moments.mean**2
        variance += term.coefficient**2 * size
        low, high = term.law.support()
        rises |= (high if term.coefficient > 0 else -low) > 0
    return max(mean, 0.0), math.sqrt(variance) if rises else 0.0
