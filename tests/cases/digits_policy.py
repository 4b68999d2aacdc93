"""A policy written by hand for the examples of the adapters, as plain data; used by tests only.

It trains p50 on the edge while the loss is above 1, and then p75 on the far edge, until the loss is at most
0.45 or 16 epochs are trained. Only p75 may be the last. The state is the observed loss, in steps of 0.05.
"""

from typing import Any

from tests.cases.policy_files import document, node, training

TARGET, SWITCH, LAST = 0.45, 1.0, 16
FIRST, SECOND = ("p50", "edge"), ("p75", "far-edge")
_STEP, _CELLS = 0.05, 80


def digits_policy(last: int = LAST, target: float = TARGET, switch: float = SWITCH) -> dict[str, Any]:
    """The document; a run that goes on after ``last`` epochs would be one epoch too long."""
    met, below = round(target / _STEP), round(switch / _STEP)
    nodes = [node(0, None, (training(FIRST, 1, -0.1, price=1.0),), ((_CELLS - 1, 0),), False)]
    for epoch in range(1, last + 1):
        first, second = 2 * epoch + 1, 2 * epoch + 2  # nodes of the next epoch
        if epoch == last:
            rows = ((_CELLS - 1, -1),)
            nodes += [node(epoch, site, (), rows, site is SECOND) for site in (FIRST, SECOND)]
            continue
        both = training(FIRST, first, -0.1, price=1.0), training(SECOND, second, -0.1, price=2.0)
        nodes.append(node(epoch, FIRST, both, ((below, 1), (_CELLS - 1, 0)), False))
        nodes.append(node(epoch, SECOND, both[1:], ((met, -1), (_CELLS - 1, 0)), True))
    grid = {"scale": "loss", "origin": 0.0, "step": _STEP, "cells": _CELLS, "target": met, "limit": target}
    return document(
        name="digits by hand",
        maximum_loss=target,
        maximum_epochs=last,
        state="observed",
        failure_cost=100.0,
        multiplier=100.0,
        grid=grid,
        nodes=nodes,
        certificate={"method": "counted", "cost": 50.0, "reached": 0.9, "runs": 24},
    )


def decided(
    losses: list[float], target: float = TARGET, switch: float = SWITCH, last: int = LAST
) -> list[str]:
    """What each epoch trains under the policy, worked out from the losses l(0), l(1), ... by its words."""
    models = ["p50"]
    for epoch, loss in enumerate(losses[1:], start=1):
        if epoch == last or (models[-1] == "p75" and loss <= target):
            return models
        models.append("p75" if models[-1] == "p75" or _rounded_up(loss) <= switch else "p50")
    return models


def _rounded_up(loss: float) -> float:
    """To the grid, in whole hundredths, so that nothing depends on the last bit."""
    hundredths = round(loss * 1e8)
    step = round(_STEP * 1e8)
    return -(-hundredths // step) * step / 1e8
