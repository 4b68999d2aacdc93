"""``depl explain``: the equations of the paper with the numbers of a plan in them."""

import argparse

from depl.commands.answer import Answer
from depl.commands.options import add_instance, add_plan, inside, read_instance, read_plan
from depl.models.solving.explain import explain


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Answer:
    """Explain the plan, feasible or not."""
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        return Answer(explain(instance, plan))
