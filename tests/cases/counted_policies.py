"""Policies on the observed loss with given stages, whatever their rows; used by tests only."""

import numpy as np

from depl.models.policy.counted_planner import Caps, capped, proxy
from depl.models.policy.dynamic import Table
from depl.models.policy.grid import Grid
from depl.models.policy.prices import Price
from depl.models.policy.process import process
from depl.models.policy.request import Request, policy_of
from depl.models.problem.instance import Instance
from depl.models.problem.policy import STOP, Policy
from tests.cases.memory_cases import CUT, FULL, fitted, instance_of, run_of


def of_two_switches() -> Instance:
    """Twelve runs train a second stage for three epochs after one of the first, twelve for one after two."""
    runs = []
    for place in range(24):
        first, second = (1, 3) if place % 2 else (2, 1)
        losses = [2.0, 1.5, 1.1, 0.95, 0.8][: 1 + first + second]
        runs.append(run_of([(FULL, first), (CUT, second)], np.array(losses) + 0.001 * place))
    law = fitted(runs, np.random.default_rng(3), residuals="per_run")
    return instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=1.0, quantile_level=0.3
    )


def of_all_ways(instance: Instance, caps: Caps) -> Policy:
    """A policy that may train whatever the caps allow, now this and now that as the loss rises."""
    chain = capped(process(proxy(instance)), caps)
    grid = Grid.of(chain, 256)
    cells = np.arange(grid.cells)
    actions = tuple(
        (cells % len(node.trainings) if node.trainings else np.full(grid.cells, STOP)).astype(np.int16)
        for node in chain.nodes
    )
    start = next(number for number, item in enumerate(chain.starts) if chain.nodes[item.node].trainings)
    table = Table(actions, start, 1e3, 0.7, 1e3)
    request = Request(instance)
    return policy_of(request, chain, grid, table, Price(1e3, None), "observed")
