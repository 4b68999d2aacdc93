"""From the table of a dynamic program to the rows of a file: the nodes that a run can come to.

Residuals of a real run need not be among those of the law, so every index of a node counts as one that can
occur, and a node is kept if some index of a kept node leads to it.
"""

import numpy as np

from depl.models.policy.dynamic import STOP, Actions, Table
from depl.models.policy.process import Node, Process, Training
from depl.models.problem.policy import NextEpoch, PolicyNode, Row


def policy_nodes(process: Process, table: Table) -> tuple[PolicyNode, ...]:
    """The nodes that runs of a policy can come to, renumbered, the start first."""
    kept = _reachable(process, table)
    numbers = {old: new for new, old in enumerate(kept)}
    return tuple(_node(process.nodes[old], table.actions[old], numbers) for old in kept)


def _reachable(process: Process, table: Table) -> list[int]:
    """Numbers of the nodes that the policy leads to, by epoch."""
    found = {process.starts[table.start].node}
    for number, node in enumerate(process.nodes):  # later epochs stand behind earlier ones
        if number in found:
            used = np.unique(table.actions[number])
            found.update(node.trainings[action].following for action in used.tolist() if action != STOP)
    return sorted(found)


def _node(node: Node, actions: Actions, numbers: dict[int, int]) -> PolicyNode:
    """A node with the trainings that its rows name."""
    used = [action for action in np.unique(actions).tolist() if action != STOP]
    places = {number: place for place, number in enumerate(used)} | {STOP: STOP}
    ends = np.append(np.flatnonzero(np.diff(actions)), len(actions) - 1)
    model, cluster = node.site or (None, None)
    return PolicyNode(
        epoch=node.epoch,
        model=model,
        cluster=cluster,
        may_stop=node.may_stop,
        trainings=tuple(_next(node.trainings[number], numbers) for number in used),
        rows=tuple(Row(upto=int(end), action=places[int(actions[end])]) for end in ends),
    )


def _next(training: Training, numbers: dict[int, int]) -> NextEpoch:
    return NextEpoch(
        model=training.model,
        cluster=training.cluster,
        price=training.price,
        shift=training.kernel.shift,
        retention=training.kernel.retention,
        following=numbers[training.following],
    )
