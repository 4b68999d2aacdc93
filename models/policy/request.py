"""What is asked of planning a policy, and a table of the dynamic program as the file of a policy."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from depl.models.policy.dynamic import Actions, Table
from depl.models.policy.grid import Grid
from depl.models.policy.prices import Price
from depl.models.policy.process import Node, Process, process
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


@dataclass(frozen=True)
class Request:
    """What is asked for; without ``failure_cost`` the price of a failure follows from that of a success.

    Where T_max restricts the class of policies, ``round_deadline`` is that of each epoch [time], and
    ``restriction`` says in words what they have in common.
    """

    instance: Instance
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

    def chain(self, instance: Instance) -> Process:
        """The process of what is asked for, under the law and within the limits of an instance."""
        return process(instance, self.data, self.switch_epochs, abandon_at_start=self.abandon_at_start)

    def answer(self, price: Price | None = None, policy: Policy | None = None, **told: Any) -> PolicyResult:
        """What is known so far: a policy that keeps the promise, or none yet."""
        rho, ratio = price or (None, None)
        given = {"restriction": self.restriction, "cells": policy.grid.cells if policy else 0, **told}
        return PolicyResult(self.instance, policy, failure_cost=rho, ratio=ratio, **given)


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
