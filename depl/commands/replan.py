"""``depl replan``: what the rest of a plan still delivers from an observed state, and a better rest."""

from __future__ import annotations

import depl
from depl.commands import options as given
from depl.commands.answer import STOPPED, Answer, ExitCode, code_of
from depl.commands.solve import explanation
from depl.models.foundation.errors import InvalidInputError


@given.command("""\
depl solve tiny --method exact --out plan.json
echo '{"format": "depl-state", "version": 1, "epoch": 0, "loss": 13, "elapsed_time": 0.5}' > state.json
depl replan tiny plan.json state.json --keep-promise --out rest.json
""")
@given.instance
@given.plan
@given.argument(
    "STATE",
    "an observed state (docs/replanning), or the log of a depl.Controller that follows the plan",
)
@given.solving()
@given.option(
    "--keep-promise",
    "ask for what the old rest would deliver from here, so that the promise made at the start holds "
    "over all runs (under a law fitted to traces only where the answer says so)",
)
@given.option("--explain", "list the decisions, and show the equations with the numbers of the rest")
@given.details
@given.option("--out PLAN.json", "write the rest to follow to this file", given.to_write)
@given.option("--rest REST.json", "write the instance of the rest to this file", given.to_write)
@given.figure("the rest to follow")
@given.as_json()
def replan(options: given.Options) -> Answer:
    """Plan the rest of a run again, seen from an observed state."""
    instance = given.read_instance(options)
    plan = given.read_plan(options.plan, instance)
    with given.inside(options.state):
        state = _state(options.state, instance, plan)
    with given.asked_of_solver(options, instance) as asked:
        promised = {"keep_promise": options.keep_promise, "scenarios": options.scenarios}
        found = depl.replan(instance, plan, state, **promised, **asked)
    return given.answer(
        found,
        _code(found),
        options,
        explanation(options, found.result, found.remaining, found.plan),
        lambda: given.written(options.out, "plan of the rest", found.plan),
        lambda: given.written(options.rest, "instance of the rest", found.remaining),
        lambda: given.plan_drawn(options.figure, found.remaining, found.plan),
    )


def _state(path: str, instance: depl.Instance, plan: depl.Plan) -> depl.State:
    """An observed state, or that of a run that a controller leads, from its log: its time is as planned."""
    from depl.models.foundation.documents import read_text
    from depl.models.policy.controller import FORMAT, led
    from depl.models.solving.replanning import check_state, planned_state

    text = read_text(path)
    first, *more = text.split("\n", 1)
    if text and (FORMAT not in first or not more):
        state = depl.State.from_json(text)
    else:
        controller = led(depl.Controller(plan, instance=instance), path)
        if controller.decision is None:
            raise InvalidInputError("holds no loss yet; the plan is still as it was made")
        state = planned_state(instance, plan, controller.epoch, controller.decision.loss)
    check_state(instance, state, plan)
    return state


def _code(found: depl.Replanning) -> ExitCode:
    """As for ``solve``; but an old rest that may go on is an answer, whatever was proved of new ones."""
    result = found.result
    code = code_of(result.termination.value, result.plan is not None, result.claimed)
    if found.choice.value in ("new", "none") or code is ExitCode.INTERNAL:
        return code
    return ExitCode.STOPPED if result.termination.value in STOPPED else ExitCode.ANSWERED
