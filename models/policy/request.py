"""What is asked of planning a policy, the class of policies that keep T_max, and a table as a file.

If K_max epochs at their least resources may exceed T_max, policies are restricted to at most K epochs of at
most min(tau, T_max / K) each (`docs/policies`). K is chosen on a grid, which decides on how good the answer
is, not on whether it holds. Where the law is only a proxy of the one that policies are counted under, it is
the bolder one: if no policy of K epochs keeps the promise as counted, more are tried (`wider`).
"""

import functools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.dynamic import Actions, Price, Table, careful_table
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Node, Process, keeps_time, process
from depl.models.policy.result import PolicyResult, Rung
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData
from depl.models.problem.policy import (
    STOP,
    Certificate,
    LossGrid,
    NextEpoch,
    Policy,
    PolicyNode,
    Row,
    StateOfRun,
)

_CELLS = 2_048
"""Of the grid on which numbers of epochs are compared: set by hand, some tenths of a second each. On coarser
ones the promise takes some epochs more than it has to."""

_LOOKS = 8
"""Numbers of epochs that are looked at before halving: set by hand, so that too few and too many are seen."""

_WIDER = 1.25
"""Growth of the number of epochs where the promise is not kept as counted: set by hand. From 25 epochs, too
few for the family that needed it, it takes one step to enough of them, and four to 60."""


@dataclass(frozen=True)
class Request:
    """What is asked for; without ``failure_cost`` the price of a failure follows from that of a success.

    Policies are planned under the law and within the limits of ``planned``. Where T_max restricts their
    class, ``round_deadline`` is that of each epoch [time], and ``restriction`` says in words what they have
    in common.
    """

    instance: Instance
    planned: Instance
    rung: Rung = "optimal"
    failure_cost: float | None = None
    data: Mapping[str, Collection[str]] | None = None
    switch_epochs: tuple[int, ...] | None = None
    abandon_at_start: bool = False
    round_deadline: float | None = None
    restriction: str = ""

    @property
    def budget(self) -> float:
        """p = 1 - omega, rounded down."""
        return math.nextafter(float(self.instance.target.violation_budget), 0.0)

    def chain(self) -> Process:
        """The process of what is asked for."""
        return process(self.planned, self.data, self.switch_epochs, abandon_at_start=self.abandon_at_start)

    def within(self, epochs: int | None) -> "Request":
        """The same among the policies of so many epochs, each of which has its share of T_max."""
        target = self.planned.target
        if epochs is None or target.maximum_time is None:
            return self
        share = target.maximum_time / epochs
        shortest = share if target.round_deadline is None else min(share, target.round_deadline)
        told = (
            f"at most {epochs} epochs of at most {shortest:.6g} each, so that every run "
            f"keeps maximum_time = {target.maximum_time:.6g}"
        )
        narrowed = self.planned.replace(maximum_epochs=epochs, round_deadline=shortest)
        return replace(self, planned=narrowed, round_deadline=shortest, restriction=told)

    def answer(self, price: Price | None = None, policy: Policy | None = None, **told: Any) -> PolicyResult:
        """What is known so far: a policy that keeps the promise, or none yet."""
        rho, ratio = price or (None, None)
        given = {"restriction": self.restriction, "cells": policy.grid.cells if policy else 0, **told}
        return PolicyResult(self.instance, policy, failure_cost=rho, ratio=ratio, **given)


def restriction(request: Request) -> int | None:
    """How many epochs the policies have that are planned among; None where all policies keep T_max.

    They are the fewest that keep the promise on a grid, as every epoch of more gets less time and so costs
    more, or those that fail least if none do.
    """
    target = request.planned.target
    if keeps_time(request.planned, request.data):
        return None

    @functools.cache
    def failure(epochs: int) -> float:
        found = request.within(epochs).chain()
        if not trains(found):
            return 1.0
        return careful_table(found, Expectations(Grid.of(found, _CELLS), up=True)).failure

    if not trains(request.within(1).chain()):  # one epoch has the longest share
        raise NotCoveredError(
            f"no epoch can be trained within maximum_time = {target.maximum_time:.6g} and the "
            "round deadline, so there is no policy that trains; raise them"
        )
    # More epochs fail less often until some model is too slow for its share, so failures are looked at here
    # and there from few on, and halved down to the first number.
    looks = [1 + round(look * (target.maximum_epochs - 1) / _LOOKS) for look in range(_LOOKS + 1)]
    high = next((epochs for epochs in looks if failure(epochs) <= request.budget), None)
    if high is None:
        return min(looks, key=failure)
    low = max((epochs for epochs in looks if epochs < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(middle) <= request.budget else (middle, high)
    return high


def wider(epochs: int, most: int) -> Iterator[int]:
    """A number of epochs, and more and more: for laws under which more is asked than on the grid."""
    yield epochs
    while epochs < most:
        epochs = min(most, math.ceil(_WIDER * epochs))
        yield epochs


def trains(chain: Process) -> bool:
    """Whether there is a first epoch that keeps its deadline."""
    return any(chain.nodes[start.node].trainings for start in chain.starts)


def policy_of(
    request: Request, process: Process, grid: Grid, table: Table, price: Price, state: StateOfRun
) -> Policy:
    """A table as a file, with what is certified of it on the ledger."""
    target, data = request.instance.target, request.data or {}
    missed = table.failure if table.exact is None else 1 - table.exact
    return Policy(
        name=request.instance.name,
        instance=request.instance.fingerprint,
        maximum_loss=target.maximum_loss,
        quantile_level=target.quantile_level,
        maximum_epochs=process.epochs,
        round_deadline=request.round_deadline,
        rung=request.rung,
        state=state,
        failure_cost=price.rho,
        failure_cost_rule="ratio" if request.failure_cost is None else "given",
        multiplier=max(table.multiplier, price.rho),
        abandon_at_start=request.abandon_at_start,
        data=tuple(
            ClusterData(cluster=name, datasets=tuple(sorted(names))) for name, names in sorted(data.items())
        ),
        switch_epochs=request.switch_epochs,
        grid=LossGrid(
            scale=process.scale,
            origin=grid.origin,
            step=grid.step,
            cells=grid.cells,
            target=grid.target,
            limit=process.limit,
        ),
        start=0,
        nodes=policy_nodes(process, table),
        certificate=Certificate(
            method="ledger",
            cost=table.cost,
            reached=1.0 if missed == 0 else max(0.0, math.nextafter(float(1 - missed), 0.0)),
            exactly=None if table.exact is None else str(table.exact),
            ratio=price.ratio,
        ),
    )


def policy_nodes(process: Process, table: Table) -> tuple[PolicyNode, ...]:
    """The nodes that runs of a policy can come to, renumbered, the start first.

    Residuals of a real run need not be among those of the law, so every index of a node counts as one that
    can occur, and a node is kept if some index of a kept node leads to it.
    """
    kept = {process.starts[table.start].node}
    for number, node in enumerate(process.nodes):  # later epochs stand behind earlier ones
        if number in kept:
            used = np.unique(table.actions[number]).tolist()
            kept.update(node.trainings[action].following for action in used if action != STOP)
    numbers = {old: new for new, old in enumerate(sorted(kept))}
    return tuple(_node(process.nodes[old], table.actions[old], numbers) for old in numbers)


def _node(node: Node, actions: Actions, numbers: dict[int, int]) -> PolicyNode:
    """A node with the trainings that its rows name."""
    used = [action for action in np.unique(actions).tolist() if action != STOP]
    places = {number: place for place, number in enumerate(used)} | {STOP: STOP}
    ends = np.append(np.flatnonzero(np.diff(actions)), len(actions) - 1)
    model, cluster = node.site or (None, None)
    trainings = (node.trainings[action] for action in used)
    return PolicyNode(
        epoch=node.epoch,
        model=model,
        cluster=cluster,
        may_stop=node.may_stop,
        trainings=tuple(
            NextEpoch(
                model=item.model,
                cluster=item.cluster,
                price=item.price,
                shift=item.kernel.shift,
                retention=item.kernel.retention,
                following=numbers[item.following],
            )
            for item in trainings
        ),
        rows=tuple(Row(upto=int(end), action=places[int(actions[end])]) for end in ends),
    )
