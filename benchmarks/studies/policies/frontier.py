"""Expected cost against the probability to reach the target, under the law with independent residuals.

On one grid, rounded in its direction: costs of plans and policies are upper ends and their probabilities
lower ends; the bound is below every policy that trains runs whose first loss does not meet the target. A
price lam of a failure gives one policy and one line of the bound: C >= V(lam) - lam (1 - P) for all policies.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from depl.models.policy.dynamic import Options, lower, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planner import careful_table
from depl.models.policy.process import Process, process
from depl.models.policy.ratio import least_ratio
from depl.models.policy.static import pushed, static_plans
from depl.models.problem.instance import Instance

FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
"""Prices of a failure in rho*, the least expected cost of a success."""
CELLS, _FEW_CELLS = 8_192, 256
"""Of the grid: set by hand. Policy and bound are then about one per cent of the cost apart."""
_LEAST = 0.5
"""Least probability that is shown."""


def frontier(instance: Instance, switch_epochs: Sequence[int], *, smoke: bool = False) -> dict[str, Any]:
    """Points (P, C) of fixed plans, of those that are stopped, and of policies; and lines of the bound."""
    chain = process(instance, switch_epochs=switch_epochs)
    grid = Grid.of(chain, _FEW_CELLS if smoke else CELLS)
    up, down = Expectations(grid, up=True), Expectations(grid, up=False)
    options = Options()
    ratio = least_ratio(chain, up, careful_table(chain, up, options), options).upper
    prices = [factor * ratio for factor in (FACTORS[:4:3] if smoke else FACTORS)]
    found = [upper(chain, up, price, options) for price in prices]
    return {
        "maximum_loss": instance.target.maximum_loss,
        "maximum_epochs": instance.target.maximum_epochs,
        "ratio": ratio,
        "fixed": undominated(fixed_plans(chain, up)),
        "stopped": undominated((1 - plan.failure, plan.cost) for plan in static_plans(chain, up)),
        "policies": [[1 - table.failure, table.cost] for table in found],
        "bound": [[price, min(lower(chain, down, price, options))] for price in prices],
    }


def fixed_plans(chain: Process, up: Expectations) -> Iterator[tuple[float, float]]:
    """P(final loss meets the target) and cost of the plans with at most one switch, trained to their ends."""
    start = chain.starts[0]
    indices = np.maximum(up.grid.indices(start.losses, up=True), 0)
    first = np.bincount(indices, start.weights, up.grid.cells).astype(np.float64)
    under_way = [(start.node, first, 0.0, False)]  # node, P by index, cost so far, whether it has switched
    while under_way:
        number, masses, cost, switched = under_way.pop()
        node = chain.nodes[number]
        if node.may_stop:
            yield float(masses[: up.grid.target + 1].sum()), cost
        for training in node.trainings:
            other = node.site is not None and (training.model, training.cluster) != node.site
            if not (other and switched):
                after, _ = pushed(masses, training, up)
                under_way.append((training.following, after, cost + training.price, switched or other))


def undominated(points: Iterator[tuple[float, float]]) -> list[list[float]]:
    """Those that no other one beats in both, from `_LEAST` on; probabilities to 12 decimals."""
    found: list[list[float]] = []
    rounded = ((round(probability, 12), cost) for probability, cost in points)
    for probability, cost in sorted(rounded, key=lambda point: (-point[0], point[1])):
        if probability >= _LEAST and (not found or cost < found[-1][1]):
            found.append([probability, cost])
    return found[::-1]
