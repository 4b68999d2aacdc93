r"""The problem of a run that is watched: what may be trained where it stands, and how the loss moves.

After k epochs a run stands at a *node*: how much was trained, with which model on which cluster last, and to
which clusters data were brought. What may be trained next depends on the node alone, never on the loss. A
*training* of one more epoch costs a fixed price, leads to one node, and moves the loss by its *kernel*

    l' = shift + retention l + e,            0 <= retention <= 1,

with noise e that is independent of all the past: the laws of the instance with retention 1 (eq. (8)), or the
affine law fitted to traces (`depl.models.problem.affine_law`). So the least expected cost to go is a function
of node and loss, and it never falls as the loss rises: a run from a greater loss can be carried along beside
one from a smaller loss, with the same decisions and the same noise, and is never below it.

Every epoch uses the least resources that the round deadline allows, which cost least; they are all of them
where they are free. Data are brought to a cluster right before the first epoch that it trains.

What is left out, and refused in words: a limit of the training time that K_max epochs at these resources do
not keep (`depl.models.policy.time_limit` restricts the policies then), and residuals that stay together per
run, with which the past tells more than the last loss does.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from depl.models.evaluation.traced_lending import first_losses
from depl.models.evaluation.traced_support import epoch_outside
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import AffineStep, Position, Scale, following
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import LossStep, Term, load, loss_step
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
    """One more epoch.

    Attributes
    ----------
    model, cluster : str
    price : float
        Resources, and data brought to the cluster for the first time [cost].
    kernel : Kernel
    following : int
        The node after it.
    """

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
        Model and cluster of the last of them; before the first one None, or those of a run under way.
    opened : frozenset of str
        Clusters that data were brought to.
    may_stop : bool
        Whether a run that stops here, its loss low enough, has reached the target: its model may be the last.
    trainings : tuple of Training
    """

    epoch: int
    site: Site | None
    opened: frozenset[str]
    may_stop: bool
    trainings: tuple[Training, ...]


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run may begin: a first training is chosen, and then the loss before it is seen.

    Attributes
    ----------
    node : int
    losses : float array (n,)
        Values of l(0), on the scale of the law. Where it was not recorded, nothing depends on them: no run
        may stop there, the first epoch retains nothing of them, and decisions begin with l(1).
    weights : float array (n,)
        Their probabilities.
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
    """

    nodes: tuple[Node, ...]
    starts: tuple[Start, ...]
    limit: float
    scale: Scale
    epochs: int
    lowest: float
    highest: float

    def by_epoch(self) -> Iterator[list[int]]:
        """Numbers of the nodes of the last epoch, of the one before it, and so on."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, node in enumerate(self.nodes):
            found[node.epoch].append(number)
        for epoch in sorted(found, reverse=True):
            yield found[epoch]


def process(
    instance: Instance,
    data: Mapping[str, Collection[str]] | None = None,
    switch_epochs: Collection[int] | None = None,
) -> Process:
    """The process of an instance.

    Parameters
    ----------
    data : mapping of str to collection of str, optional
        Which datasets each cluster uses; by default all that may be used there. A cluster that is left out is
        not used.
    switch_epochs : collection of int, optional
        After how many epochs model or cluster may change; by default after any.

    Raises
    ------
    InvalidInputError
        If ``data`` names what the instance does not have or what the rules of its sites forbid.
    NotCoveredError
        If K_max epochs may take longer than T_max; if no law is declared, or residuals stay together per run;
        or if there are more nodes than `MOST_NODES`.
    """
    _require_covered(instance)
    sites = _Sites.of(instance, data)
    _require_time(instance, sites)
    if instance.traced_law is None:
        return _Independent(instance, sites, switch_epochs).process()
    return _Traced(instance, sites, switch_epochs, instance.traced_law).process()


def _require_covered(instance: Instance) -> None:
    if not instance.declares_laws:
        raise NotCoveredError("a policy needs laws of all improvements and switches; some are not declared")
    traced = instance.traced_law
    if traced is not None and (
        traced.residuals != "independent" or traced.deviations or traced.only_whole_runs
    ):
        raise NotCoveredError(
            "with residuals that stay together per run, or a margin for plans that were never run, the next "
            "loss depends on more than the last one; a policy is then planned on `proxy` and counted on runs"
        )
    if traced is not None and traced.on_scale(instance.target.maximum_loss) == -math.inf:
        raise InvalidInputError(
            f"is {instance.target.maximum_loss:g}, which no run reaches: the law is of the logarithm of the "
            "loss, so every loss is above 0",
            ".target.maximum_loss",
        )


@dataclass(frozen=True)
class _Sites:
    """Data, resources and prices, by model and cluster."""

    instance: Instance
    data: dict[str, frozenset[str]]

    @classmethod
    def of(cls, instance: Instance, data: Mapping[str, Collection[str]] | None) -> "_Sites":
        if data is None:
            return cls(instance, {name: used for name, used in instance.rules.data.items() if used})
        if not data:
            raise InvalidInputError("names no cluster; leave it out to use all data everywhere", "data")
        for cluster, names in data.items():
            if cluster not in instance.rules.data or not instance.rules.may_use(names, cluster) or not names:
                raise InvalidInputError(
                    f"cluster {cluster!r} cannot use {sorted(names)}: name clusters and datasets of the "
                    "instance, at least one each, and such as may be used there",
                    "data",
                )
        return cls(instance, {cluster: frozenset(names) for cluster, names in data.items()})

    def pairs(self) -> list[Site]:
        """What may be trained."""
        models, rules = [model.name for model in self.instance.models], self.instance.rules
        return [(model, site) for site in self.data for model in models if rules.may_train(model, site)]

    def cost_and_time(self, site: Site, epoch: int) -> tuple[float, float]:
        """Of one epoch at its least resources; infinite where it misses the round deadline."""
        asked = load(self.instance, epoch, *site, self.data[site[1]])
        least = minimum_resources(asked, self.instance.target.round_deadline)
        if math.isinf(least):
            return math.inf, math.inf
        used = asked.capacity if asked.price == 0 and asked.work > 0 else least
        computing = asked.work / used if asked.work > 0 and used > 0 else 0.0
        if asked.work > 0 and used == 0:
            return 0.0, math.inf
        return asked.price * used, computing + asked.communication

    def transfers(self, cluster: str) -> float:
        """Of the data of a cluster."""
        return math.fsum(self.instance.transfer_cost(name, cluster) for name in self.data[cluster])


def keeps_time(instance: Instance, data: Mapping[str, Collection[str]] | None = None) -> bool:
    """Whether K_max epochs at their least resources keep T_max, whatever is trained."""
    limit = instance.target.maximum_time
    return limit is None or _longest(instance, _Sites.of(instance, data)) <= limit * (1 + TIME_TOLERANCE)


def _longest(instance: Instance, sites: _Sites) -> float:
    """What K_max epochs at their least resources may take [time]."""
    longest = 0.0
    for epoch in range(1, instance.target.maximum_epochs + 1):
        keep_time()
        times = [sites.cost_and_time(pair, epoch)[1] for pair in _trainable(instance, sites, epoch)]
        longest += max((time for time in times if not _late(instance, time)), default=0.0)
    return longest


def _require_time(instance: Instance, sites: _Sites) -> None:
    """Refuse a T_max that could be missed."""
    target, longest = instance.target, _longest(instance, sites)
    if target.maximum_time is not None and longest > target.maximum_time * (1 + TIME_TOLERANCE):
        told = f"{longest:.6g}" if math.isfinite(longest) else "without end"
        raise NotCoveredError(
            f"{counted(target.maximum_epochs, 'epoch')} at their least resources may take {told}, "
            f"longer than maximum_time = {target.maximum_time:.6g}, and policies do not watch the time: "
            "give a round_deadline with which maximum_epochs epochs keep maximum_time"
        )


def _trainable(instance: Instance, sites: _Sites, epoch: int) -> list[Site]:
    return [pair for pair in sites.pairs() if epoch <= instance.model(pair[0]).last_epoch]


def _late(instance: Instance, time: float) -> bool:
    """Whether the time stands for an epoch that misses the round deadline."""
    return math.isinf(time) and instance.target.round_deadline is not None


Mode = tuple[object, frozenset[str]]
"""What decides what follows: the state of the law, and the clusters opened."""


class _Builder:
    """Nodes found from the starts on, epoch by epoch."""

    def __init__(self, instance: Instance, sites: _Sites, switch_epochs: Collection[int] | None) -> None:
        self.instance, self.sites, self.switch_epochs = instance, sites, switch_epochs
        self.pairs = sites.pairs()
        self.numbers: dict[tuple[int, Mode], int] = {}
        self.order: list[tuple[int, Mode]] = []
        self.prices: dict[tuple[Site, int], float] = {}
        self.kernels: dict[tuple[int, str | None, Site], Kernel] = {}

    def number(self, epoch: int, mode: Mode) -> int:
        """Of a node, which is noted for what follows it if it is new."""
        key = epoch, mode
        if key not in self.numbers:
            if len(self.order) >= MOST_NODES:
                raise NotCoveredError(
                    f"a policy would have to tell more than {MOST_NODES} states from each other besides the "
                    "loss; allow switches after fewer epochs (switch_epochs), or fewer clusters (data)"
                )
            self.numbers[key] = len(self.order)
            self.order.append(key)
        return self.numbers[key]

    def nodes(self, first: Mapping[int, Site]) -> tuple[Node, ...]:
        """All nodes; ``first`` says what a start was chosen for."""
        found: list[Node] = []
        while len(found) < len(self.order):
            number = len(found)
            epoch, (state, opened) = self.order[number]
            found.append(
                Node(
                    epoch,
                    self.site_of(state),
                    opened,
                    self.may_stop(state),
                    tuple(self.trainings(epoch, state, opened, first.get(number))),
                )
            )
        return tuple(found)

    def trainings(
        self, epoch: int, state: object, opened: frozenset[str], only: Site | None
    ) -> Iterator[Training]:
        if epoch >= self.instance.target.maximum_epochs:
            return
        now = self.site_of(state)
        may_switch = epoch == 0 or self.switch_epochs is None or epoch in self.switch_epochs
        for pair in self.pairs if only is None else [only]:
            keep_time()
            if (pair != now and now is not None and not may_switch) or not self.allowed(epoch, state, pair):
                continue
            price = self.price(pair, epoch + 1)
            if math.isinf(price):
                continue
            if pair[1] not in opened:
                price += self.sites.transfers(pair[1])
            after = self.number(epoch + 1, (self.after(state, pair), opened | {pair[1]}))
            yield Training(*pair, price, self.kernel(epoch, state, pair), after)

    def price(self, pair: Site, epoch: int) -> float:
        if (pair, epoch) not in self.prices:
            self.prices[pair, epoch] = self.sites.cost_and_time(pair, epoch)[0]
        return self.prices[pair, epoch]

    def site_of(self, state: object) -> Site | None:
        raise NotImplementedError

    def may_stop(self, state: object) -> bool:
        site = self.site_of(state)
        rules = self.instance.rules
        return rules.may_stop if site is None else rules.may_end(site[0])

    def allowed(self, epoch: int, state: object, pair: Site) -> bool:
        raise NotImplementedError

    def after(self, state: object, pair: Site) -> object:
        raise NotImplementedError

    def kernel(self, epoch: int, state: object, pair: Site) -> Kernel:
        raise NotImplementedError


class _Independent(_Builder):
    """Independent increments: the state of the law is what was trained last."""

    def process(self) -> Process:
        """The process."""
        target = self.instance.target
        start = Start(self.number(0, (None, frozenset())), np.array([target.initial_loss]), np.array([1.0]))
        nodes = self.nodes({})
        lowest, highest = _reach(nodes, target.initial_loss, target.maximum_loss)
        return Process(nodes, (start,), target.maximum_loss, "loss", target.maximum_epochs, lowest, highest)

    def site_of(self, state: object) -> Site | None:
        return state if isinstance(state, tuple) else None

    def allowed(self, epoch: int, state: object, pair: Site) -> bool:
        instance, model = self.instance, pair[0]
        return epoch < instance.model(model).last_epoch and instance.may_follow(self._previous(state), model)

    def _previous(self, state: object) -> str | None:
        site = self.site_of(state)
        return self.instance.target.initial_model if site is None else site[0]

    def after(self, state: object, pair: Site) -> object:
        return pair

    def kernel(self, epoch: int, state: object, pair: Site) -> Kernel:
        before = self._previous(state)
        key = epoch, before, pair
        if key not in self.kernels:
            data = self.sites.data[pair[1]]
            step: LossStep = loss_step(self.instance, epoch + 1, 0, before, pair[0], data)
            self.kernels[key] = Kernel(step.retention, step.shift, step.terms)
        return self.kernels[key]


class _Traced(_Builder):
    """The affine law with independent residuals: the state of the law is a position."""

    def __init__(
        self, instance: Instance, sites: _Sites, switch_epochs: Collection[int] | None, traced: TracedLaw
    ) -> None:
        super().__init__(instance, sites, switch_epochs)
        self.traced, self.law = traced, traced.law
        self.noises: dict[AffineStep, tuple[Term, ...]] = {}
        self.outside: dict[Position, bool] = {}

    def process(self) -> Process:
        """The process."""
        target = self.instance.target
        if self.traced.observed is not None:
            raise NotCoveredError("plan the policy before the first epoch, not for the rest of a run")
        starts, first = [], {}
        for pair in self.pairs:
            if self.allowed(0, None, pair):
                losses = first_losses(self.law, pair)
                number = self.number(0, (("before", pair), frozenset()))
                starts.append(Start(number, losses, np.full(losses.size, 1 / losses.size)))
                first[number] = pair
        if not starts:
            raise NotCoveredError("no model on any cluster was trained first by enough of the runs")
        limit = self.traced.on_scale(target.maximum_loss)
        low, high = self.law.seen
        room = 0.1 * (high - low) + 1e-6
        bounds = min(low, limit) - room, max(high, limit) + room
        return Process(
            self.nodes(first), tuple(starts), limit, self.traced.scale, target.maximum_epochs, *bounds
        )

    def site_of(self, state: object) -> Site | None:
        return state.trained if isinstance(state, Position) else None

    def allowed(self, epoch: int, state: object, pair: Site) -> bool:
        if not self.instance.may_follow(self._previous_model(state), pair[0]):
            return False
        place = self._place(state, pair)
        if place not in self.outside:
            self.outside[place] = epoch_outside(self.law, place) is not None
        return not self.outside[place]

    def _previous_model(self, state: object) -> str | None:
        site = self.site_of(state)
        return self.instance.target.initial_model if site is None else site[0]

    def _place(self, state: object, pair: Site) -> Position:
        return following(state if isinstance(state, Position) else None, pair)

    def after(self, state: object, pair: Site) -> object:
        return self._place(state, pair)

    def kernel(self, epoch: int, state: object, pair: Site) -> Kernel:
        place = self._place(state, pair)
        step = self.law.step(place)
        if step not in self.noises:
            self.noises[step] = (Term(1.0, Empirical(values=tuple(step.residuals.tolist()))),)
        return Kernel(step.retention, step.shift(place.start), self.noises[step])


_SPREADS = 8.0
"""Standard deviations of the rises of all epochs together up to which losses are expected: set by hand. What
rises above counts as failed, so any value is sound; by Chebyshev it is 1.6 % at worst, for laws with light
tails 1e-14."""


def _reach(nodes: tuple[Node, ...], initial_loss: float, limit: float) -> tuple[float, float]:
    """Where losses of independent increments are expected."""
    everywhere: Callable[[Node], bool] = lambda node: bool(node.trainings)  # noqa: E731
    rises: dict[int, float] = defaultdict(float)
    spreads: dict[int, float] = defaultdict(float)
    for node in filter(everywhere, nodes):
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
