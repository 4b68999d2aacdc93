"""What a policy decides after the last of some losses of one run; used by tests only."""

from collections.abc import Iterable
from typing import Any

from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Decision


def decide(policy: Any, losses: Iterable[Any]) -> Decision:
    """After the losses l(0), l(1), ..., l(k), None for an l(0) that was not evaluated."""
    controller = Controller(policy)
    first, *rest = losses
    decision = controller.start(first)
    for loss in rest:
        decision = controller.observe(loss)
    return decision
