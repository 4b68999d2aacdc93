"""``depl explain``: the equations of the paper with the numbers of a plan, or what an instance can have."""

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.models.foundation.errors import InvalidInputError


@given.command("""\
depl solve tiny --method exact --out plan.json
depl explain tiny plan.json
""")
@given.instance
@given.argument(
    "[PLAN]",
    "the path of a plan, as 'depl solve --out' writes it; without one the instance is explained",
)
@given.figure("the plan")
def explain(options: given.Options) -> Answer:
    """Show the equations with the numbers of a plan.

    Without a plan: whether the instance has one, which limit alone would have to give way where it has none,
    and the nearest values of each limit that are reached.
    """
    if options.plan is None:
        if options.figure is not None:
            raise InvalidInputError("draws a plan; give one, or leave it out", "--figure")
        return Answer(depl.explain(given.read_instance(options)))
    instance, plan = given.read_instance(options), given.read_plan(options.plan)
    with given.inside(options.plan):
        text = depl.explain(instance, plan)
        return Answer(text, aside=given.plan_drawn(options.figure, instance, plan))
