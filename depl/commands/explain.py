"""What ``depl explain`` does; `depl.arguments.explain` declares its options."""

import argparse

from depl.commands.answer import Answer
from depl.commands.figures import plan_figure
from depl.commands.options import figure_files, inside, read_instance, read_plan, require_outputs
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.explain import explain


def run(options: argparse.Namespace) -> Answer:
    """Explain the plan, feasible or not; or the instance."""
    require_outputs(figure_files(options.figure), [options.instance, options.plan])
    if options.plan is None:
        if options.figure is not None:
            raise InvalidInputError("draws a plan; give one, or leave it out", "--figure")
        return Answer(explain(read_instance(options)))
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        text = explain(instance, plan)
        return Answer(text, aside=plan_figure(options.figure, instance, plan))
