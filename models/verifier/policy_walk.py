"""Every epoch that a policy may train, read from the instance a second time: price, time, law, support.

The nodes of a policy are walked through from its start. What a node stands for, beside the loss, follows from
the epochs that lead to it: which stage of training it is in, after which other one, and to which clusters
data were brought. Two ways to a node that disagree in this are an error of the file.

Nothing is shared with `depl.models.policy`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.policy import NextEpoch, Policy
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_noise import Noise
from depl.models.verifier.reading import (
    change_of,
    data_share,
    facts_of,
    fits,
    longest_tables,
    may_switch,
    transfers,
    usable_data,
)
from depl.models.verifier.resources import least_resources
from depl.models.verifier.runs import Pair, Seen, SeenStage, seen_in
from depl.models.verifier.tolerances import TIME_TOLERANCE
from depl.models.verifier.traces import Past, stage_outside


class Place(NamedTuple):
    """What a node stands for, beside the loss: its last epoch, the stage so far, and clusters that have data.

    ``pair`` is model and cluster of the epoch, ``stage`` is known under a traced law alone.
    """

    pair: Pair | None
    stage: SeenStage | None
    opened: frozenset[str]


class Step(NamedTuple):
    """One more epoch, as the instance has it: l' = shift + retention * l + noise."""

    price: float
    time: float
    shift: float
    retention: float
    noise: Noise


def in_order(policy: Policy) -> list[int]:
    """The numbers of the nodes, early epochs first."""
    return sorted(range(len(policy.nodes)), key=lambda number: policy.nodes[number].epoch)


def walked(instance: Instance, policy: Policy) -> "Walk":
    """Go through all epochs that a policy may train."""
    walk = Walk(instance, policy)
    for number in in_order(policy):
        if number not in walk.places:
            walk.errors.append(("nodes", f"no training of the policy leads to nodes[{number}]"))
            continue
        for index, training in enumerate(policy.nodes[number].trainings):
            walk.visit(number, index, training)
    return walk


class Walk:
    """The instance, asked epoch by epoch, and what was found on the way.

    ``steps`` are known by node and training, ``places`` by node that the start leads to; an error is the rule
    that is broken, and how.
    """

    def __init__(self, instance: Instance, policy: Policy) -> None:
        self.steps: dict[tuple[int, int], Step] = {}
        self.places = {policy.start: Place(None, None, frozenset())}
        self.errors: list[tuple[str, str]] = []
        self.instance, self.policy = instance, policy
        self.models = {item.name: item for item in instance.models}
        self.clusters = {item.name: item for item in instance.clusters}
        self.data = data_of(instance, policy)
        own = policy.round_deadline
        self.deadline = instance.target.round_deadline if own is None else own
        self.shares = {name: data_share(instance, used) for name, used in self.data.items()}
        self.traces: Seen | None = None if instance.traced_law is None else seen_in(instance.traced_law)
        self.costs: dict[tuple[Pair, int], tuple[float, float]] = {}
        self.noises: dict[object, Noise] = {}

    def longest_time(self) -> float:
        """The longest that a run of the policy may take [time]."""
        left = [0.0] * len(self.policy.nodes)
        for number in reversed(in_order(self.policy)):
            for index, training in enumerate(self.policy.nodes[number].trainings):
                if (number, index) in self.steps:
                    time = self.steps[number, index].time + left[training.following]
                    left[number] = max(left[number], time)
        return left[self.policy.start]

    def visit(self, number: int, index: int, training: NextEpoch) -> None:
        """Note what is wrong with an epoch, or what it costs and does."""
        place, epoch = self.places[number], self.policy.nodes[number].epoch + 1
        told, pair = f"nodes[{number}].trainings[{index}]: ", (training.model, training.cluster)
        if wrong := list(self._obstacles(place, pair, epoch)):
            self.errors += [(rule, f"{told}epoch {epoch}, {message}") for rule, message in wrong]
            return
        stage = None
        if self.traces is not None and place.stage is not None and place.pair == pair:
            stage = place.stage._replace(length=place.stage.length + 1)
        elif self.traces is not None:
            stage = SeenStage(pair, place.pair, epoch - 1, 1)
        after = Place(pair, stage, place.opened | {pair[1]})
        if self.places.setdefault(training.following, after) != after:
            message = f"{told}leads to nodes[{training.following}], where runs with another past come, too"
            self.errors.append(("nodes", message))
        if self.traces is not None and stage is not None:
            outside = stage_outside(self.traces, stage, Past(0, None))
            if outside is not None:
                self.errors.append(("support", f"{told}{outside[1]}"))
                return
        price, time = self._cost(pair, epoch)
        if pair[1] not in place.opened:
            price += transfers(self.instance, [(pair[1], self.data[pair[1]])])
        try:
            law = self._law(place, pair, epoch, stage)
        except LookupError as error:
            self.errors.append(("law", f"{told}{error.args[0]}"))
            return
        self.steps[number, index] = Step(price, time, *law)

    def _obstacles(self, place: Place, pair: Pair, epoch: int) -> Iterator[tuple[str, str]]:
        """Why this may not be trained now, support apart."""
        model, cluster = pair
        if model not in self.models or cluster not in self.clusters:
            yield "nodes", f"there is no model {model!r} or no cluster {cluster!r}"
            return
        if cluster not in self.data:
            yield "data", f"cluster {cluster!r} has no data"
            return
        if not fits(self.models[model], self.clusters[cluster]):
            yield "sites, memory", f"model {model!r} does not fit on {cluster!r}"
        tabled = longest_tables(self.instance, [model])
        if tabled is not None and epoch > tabled:
            yield "Sec. III, K_max", f"model {model!r} has tables for {tabled} epochs"
            return
        before = self._before(place)
        if not may_switch(self.instance, before, model):
            yield "Sec. III, switches", f"{before!r} may not be followed by {model!r}"
        allowed = self.policy.switch_epochs
        if place.pair not in (None, pair) and allowed is not None and epoch - 1 not in allowed:
            yield "switch_epochs", f"a switch after epoch {epoch - 1}, which is none of switch_epochs"
        deadline, (_, time) = self.deadline, self._cost(pair, epoch)
        if deadline is not None and time > deadline * (1.0 + TIME_TOLERANCE):
            yield "(1)", f"T(k) = {time:.12g} exceeds tau = {deadline:.12g} with all resources"

    def _before(self, place: Place) -> str | None:
        """The model that is switched from."""
        return self.instance.target.initial_model if place.pair is None else place.pair[0]

    def _cost(self, pair: Pair, epoch: int) -> tuple[float, float]:
        """Price and time of an epoch at its least resources."""
        if (pair, epoch) not in self.costs:
            model, cluster = self.models[pair[0]], self.clusters[pair[1]]
            facts = facts_of(self.instance, epoch, model, cluster, self.data[pair[1]])
            used = least_resources(facts, self.deadline)
            self.costs[pair, epoch] = facts.price * used, replace(facts, resources=used).time
        return self.costs[pair, epoch]

    def _law(
        self, place: Place, pair: Pair, epoch: int, stage: SeenStage | None
    ) -> tuple[float, float, Noise]:
        """Shift, retention and noise.

        Raises
        ------
        LookupError
            If no law is declared, or none is known of the sum of the noises.
        """
        if self.traces is not None and stage is not None:
            row = self.traces.known(stage, stage.length)
            if id(row) not in self.noises:
                self.noises[id(row)] = Noise.of_values(row.residuals)
            return row.intercept + row.slope * stage.switch, row.retention, self.noises[id(row)]
        trained, share = self.models[pair[0]], self.shares[pair[1]]
        change = change_of(self.instance, epoch, self._before(place), trained, share)
        if not change.declared:
            raise LookupError(f"no law is declared of epoch {epoch} at {pair[0]!r}")
        if change.random not in self.noises:
            self.noises[change.random] = Noise.of(change.random)
        return float(change.certain), 1.0, self.noises[change.random]


def data_of(instance: Instance, policy: Policy) -> dict[str, frozenset[str]]:
    """The data of each cluster that a policy may use: as listed, or all that may be used there."""
    if policy.data:
        return {row.cluster: frozenset(row.datasets) for row in policy.data}
    found = {item.name: frozenset(usable_data(instance, item)) for item in instance.clusters}
    return {name: used for name, used in found.items() if used}


def starting_losses(instance: Instance, first: Pair | None) -> FloatArray:
    """Equally likely values of l(0) on the scale of the law; none where no run tells them.

    Where it was not recorded they stand for any: no run may stop there, and the first epoch retains nothing.
    """
    if instance.traced_law is None:
        return np.array([instance.target.initial_loss])
    return np.zeros(0) if first is None else seen_in(instance.traced_law).first_losses(first)
