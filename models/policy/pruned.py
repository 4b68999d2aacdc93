"""Policies without the stages that hardly any run comes to: what they promise can then rest on more runs.

How long runs lend residuals is decided by the longest stage that a policy may train
(`depl.models.policy.counted`), and a table over all losses trains very long stages where a loss would be most
unusual. Here a run that comes there is given up instead.
"""

from collections import defaultdict

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.policy.dynamic import STOP, Actions, Table
from depl.models.policy.grid import Expectations
from depl.models.policy.process import Process, Site
from depl.models.policy.static import pushed
from depl.models.problem.laws import FloatArray

Kind = tuple[Site, Site | None]
"""Model and cluster of a stage, and those before it."""


def pruned(process: Process, expectations: Expectations, table: Table, rare: float) -> tuple[Actions, ...]:
    """The actions of a policy, without the longest stages of each kind.

    Parameters
    ----------
    rare : float
        Probability, under the law, up to which an age is left out.
    """
    kinds = _kinds(process, table)
    most = _longest(kinds, _visits(process, expectations, table), rare)
    actions = []
    for node, row in zip(process.nodes, table.actions, strict=True):
        kept = row.copy()
        for action, training in enumerate(node.trainings):
            if training.following in kinds:
                kind, age = kinds[training.following]
                if age > most[kind]:
                    kept[kept == action] = STOP
        actions.append(kept)
    return tuple(actions)


def _kinds(process: Process, table: Table) -> dict[int, tuple[Kind, int]]:
    """Kind of stage and age of the nodes that the policy can come to."""
    found: dict[int, tuple[Kind, int]] = {}
    start = process.starts[table.start].node
    for number, node in enumerate(process.nodes):
        if number != start and number not in found:
            continue
        for action in np.unique(table.actions[number]).tolist():
            if action == STOP:
                continue
            training = node.trainings[action]
            site = training.model, training.cluster
            if number in found and found[number][0][0] == site:
                found[training.following] = found[number][0], found[number][1] + 1
            else:
                found[training.following] = (site, None if number == start else found[number][0][0]), 1
    return found


def _visits(process: Process, expectations: Expectations, table: Table) -> dict[int, float]:
    """About the probability that a run comes to a node."""
    start = process.starts[table.start]
    indices = np.maximum(expectations.grid.indices(start.losses, up=True), 0)
    first = np.bincount(indices, start.weights, minlength=expectations.grid.cells).astype(np.float64)
    masses: dict[int, FloatArray] = {start.node: first}
    found: dict[int, float] = {}
    for number, node in enumerate(process.nodes):
        if number not in masses:
            continue
        keep_time()
        mass, row = masses.pop(number), table.actions[number]
        found[number] = float(mass.sum())
        for action in np.unique(row).tolist():
            if action == STOP:
                continue
            training = node.trainings[action]
            after, _ = pushed(np.where(row == action, mass, 0.0), training, expectations)
            masses[training.following] = masses.get(training.following, 0.0) + after
    return found


def _longest(kinds: dict[int, tuple[Kind, int]], visits: dict[int, float], rare: float) -> dict[Kind, int]:
    """The greatest age of each kind that is kept."""
    by_age: dict[Kind, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for number, (kind, age) in kinds.items():
        by_age[kind][age] += visits.get(number, 0.0)
    return {
        kind: max((age for age, mass in ages.items() if mass > rare), default=1)
        for kind, ages in by_age.items()
    }
