"""One run that is led through some losses; used by tests only."""

from collections.abc import Iterable
from typing import Any

from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Decision, Stop


def led_by(controller: Controller, *losses: Any) -> Controller:
    """The controller after as many of these losses as it asks for; None: an l(0) that was not evaluated."""
    for loss in losses:
        if isinstance(controller.decision, Stop):
            break
        controller.start(loss) if controller.decision is None else controller.observe(loss)
    return controller


def decide(policy: Any, losses: Iterable[Any]) -> Decision:
    """What a policy decides after the last of some losses."""
    decision = led_by(Controller(policy), *losses).decision
    assert decision is not None
    return decision
