"""What ``depl policy decide`` does; `depl.arguments.policy` declares its options.

It stands by itself, as a shell asks it after every epoch: what the other actions import takes a second.
"""

import argparse
import json
import math

from depl.commands.answer import Answer, ExitCode
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller, led
from depl.models.policy.decisions import Continue, Stop, Switch

_CODES: dict[type, ExitCode] = {
    Continue: ExitCode.ANSWERED,
    Switch: ExitCode.SWITCH,
    Stop: ExitCode.STOP,
}


def run(options: argparse.Namespace) -> Answer:
    """The decision after the last epoch of a log, as a sentence, and as an exit code."""
    controller = led(options.policy, options.log, options.loss, options.epoch)
    decision = controller.decision
    if decision is None:
        raise InvalidInputError(
            "holds no loss yet; the first one is that before the first epoch", options.log
        )
    return Answer(controller.why(), _CODES[type(decision)], json.dumps(_content(controller)))


def _content(controller: Controller) -> dict[str, object]:
    decision = controller.decision
    return {
        "decision": None if decision is None else decision.kind,
        "model": getattr(decision, "model", None),
        "cluster": getattr(decision, "cluster", None),
        "reason": decision.reason if isinstance(decision, Stop) else None,
        "epoch": controller.epoch,
        "loss": decision.loss if decision is not None and math.isfinite(decision.loss) else None,
        "ledger": controller.ledger,
        "cost": controller.cost,
        "why": controller.why(),
    }
