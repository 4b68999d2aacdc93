"""``depl explain``: the equations of the paper with the numbers of a plan, or what an instance can have."""

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.inputs import figure_files, inside, plan_figure, read_instance, read_plan, require_outputs
from depl.commands.options import Options, argument, command
from depl.models.foundation.errors import InvalidInputError


@command(
    examples="""\
depl solve tiny --method exact --out plan.json
depl explain tiny plan.json
"""
)
@given.instance
@argument(
    "[PLAN]", "the path of a plan, as 'depl solve --out' writes it; without one the instance is explained"
)
@given.figure("the plan")
def explain(options: Options) -> Answer:
    """Show the equations with the numbers of a plan.

    Without a plan: whether the instance has one, which limit alone would have to give way where it has none,
    and the nearest values of each limit that are reached.
    """
    from depl.models.solving.explain import explain as explained

    require_outputs(figure_files(options.figure), [options.instance, options.plan])
    if options.plan is None:
        if options.figure is not None:
            raise InvalidInputError("draws a plan; give one, or leave it out", "--figure")
        return Answer(explained(read_instance(options)))
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        text = explained(instance, plan)
        return Answer(text, aside=plan_figure(options.figure, instance, plan))
