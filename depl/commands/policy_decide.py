"""What ``depl policy decide`` does; `depl.arguments.policy` declares its options.

It stands by itself, as a shell asks it after every epoch: what the other actions, and plans, import takes a
second.
"""

import argparse
import json
import math

from depl.commands.answer import Answer, ExitCode
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller, led
from depl.models.policy.decisions import Continue, Stop, Switch
from depl.models.policy.rules import Rules

_CODES: dict[type, ExitCode] = {
    Continue: ExitCode.ANSWERED,
    Switch: ExitCode.SWITCH,
    Stop: ExitCode.STOP,
}


def run(options: argparse.Namespace) -> Answer:
    """The decision after the last epoch of a log, as a sentence, and as an exit code."""
    controller = led(_followed(options), options.log, options.loss, options.epoch)
    decision = controller.decision
    if decision is None:
        raise InvalidInputError(
            "holds no loss yet; the first one is that before the first epoch", options.log
        )
    return Answer(controller.why(), _CODES[type(decision)], json.dumps(_content(controller)))


def _followed(options: argparse.Namespace) -> str | Rules:
    """The path of a policy, or the rules of a plan of the instance that is named.

    Raises
    ------
    InvalidInputError
        If one of them cannot be read, they do not belong together, or a target is named without an instance.
    """
    if options.instance is None:
        if options.target is not None:
            raise InvalidInputError("chooses the instance of a plan: name it, too, by --instance", "--target")
        return str(options.policy)
    from depl.commands.options import read_instance, read_plan
    from depl.models.policy.followed_plan import plan_rules

    return plan_rules(read_plan(options.policy), read_instance(options))


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
