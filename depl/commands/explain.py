"""What ``depl explain`` does; `depl.arguments.explain` declares its options."""

import argparse

from depl.commands.answer import Answer
from depl.commands.options import inside, read_instance, read_plan
from depl.models.solving.explain import explain


def run(options: argparse.Namespace) -> Answer:
    """Explain the plan, feasible or not."""
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        return Answer(explain(instance, plan))
