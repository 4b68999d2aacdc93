"""What the best policy does as a failed run becomes more expensive, on an instance with one switch.

Here a run may be given up before its first epoch, so that one sees what the price of a failure prevents.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from depl.models.policy.dynamic import STOP, Options, Table, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planner import careful_table
from depl.models.policy.process import Process, process
from depl.models.policy.ratio import least_ratio
from depl.models.policy.tables import policy_nodes
from depl.models.problem.instance import Instance

CELLS = 4_096
"""Cells of the grid: the coarsest of `depl.models.policy.planner`. Ends are a few per cent apart at most."""


class PricedPolicy(NamedTuple):
    """A policy that is best at a price of a failure, ``factor`` times the least expected cost of a success.

    The ledger certifies that it costs at most ``cost`` in the mean and reaches the target with probability
    ``reached`` at least. Runs are given up before their first epoch with probability ``never_begun``, and
    after each epoch above the loss in ``limits``, which is infinite where there is none.
    """

    factor: float
    price: float
    cost: float
    reached: float
    never_begun: float
    limits: tuple[float, ...]


def policies_at_prices(
    instance: Instance, factors: Sequence[float], switch_epoch: int
) -> tuple[PricedPolicy, ...]:
    """The best policies at several prices of a failure; the promise of the instance plays no part.

    The instance has two stages and independent residuals, and switches after one epoch alone. Prices are in
    rho*, the least expected cost of a success over policies that begin every run; each is at least 1.
    """
    steps = process(instance, switch_epochs=(switch_epoch,))
    grid = Grid.of(steps, CELLS)
    up = Expectations(grid, up=True)
    ratio = least_ratio(steps, up, careful_table(steps, up, Options()), Options()).upper
    free = Options(abandon_at_start=True)
    return tuple(_priced(steps, grid, upper(steps, up, factor * ratio, free), factor) for factor in factors)


def _priced(steps: Process, grid: Grid, table: Table, factor: float) -> PricedPolicy:
    start = steps.starts[table.start]
    first = table.actions[start.node][grid.indices(start.losses, up=True).clip(0)]
    never = math.fsum(start.weights[first == STOP].tolist())
    kept: dict[int, float] = {}  # by epoch, the loss up to which a run goes on, or has met the target
    for node in policy_nodes(steps, table):
        going = [row.upto for row in node.rows if row.action != STOP]
        last = max([*going, grid.target if node.may_stop else 0])
        loss = grid.origin + grid.step * last
        loss = math.inf if last == grid.cells - 1 else math.exp(loss) if steps.scale == "log" else loss
        kept[node.epoch] = max(loss, kept.get(node.epoch, 0.0))
    limits = tuple(kept[epoch] for epoch in sorted(kept))
    return PricedPolicy(factor, table.multiplier, table.cost, 1 - table.failure, never, limits)
