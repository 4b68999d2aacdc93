"""``depl replan``: what the rest of a plan still delivers from an observed state, and a better rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import STOPPED, Answer, ExitCode, code_of
from depl.commands.inputs import (
    asked_of_solver,
    explanation,
    figure_files,
    inside,
    kept,
    plan_figure,
    read_instance,
    read_plan,
    require_outputs,
    written,
)
from depl.commands.options import Options, argument, command, option
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.solving.observed_state import State
    from depl.models.solving.replanning import Replanning


@command(
    examples="""\
depl solve tiny --method exact --out plan.json
echo '{"format": "depl-state", "version": 1, "epoch": 0, "loss": 13, "elapsed_time": 0.5}' > state.json
depl replan tiny plan.json state.json --keep-promise --out rest.json
"""
)
@given.instance
@given.plan
@argument(
    "STATE", "an observed state (docs/replanning), or the log of a depl.Controller that follows the plan"
)
@given.solving()
@option(
    "--keep-promise",
    "ask for what the old rest would deliver from here, so that the promise made at the start holds "
    "over all runs (under a law fitted to traces only where the answer says so)",
)
@option("--explain", "list the decisions, and show the equations with the numbers of the rest")
@given.details
@option("--out PLAN.json", "write the rest to follow to this file")
@option("--rest REST.json", "write the instance of the rest to this file")
@given.figure("the rest to follow")
@given.as_json()
def replan(options: Options) -> Answer:
    """Plan the rest of a run again, seen from an observed state."""
    from depl.models.foundation.documents import read_text
    from depl.models.solving.observed_state import check_state
    from depl.models.solving.replanning import replan as replanned
    from depl.showing import json_of

    outputs = [options.out, options.rest, *figure_files(options.figure)]
    require_outputs(outputs, [options.instance, options.plan, options.state])
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        plan.check_names(instance)
    with inside(options.state):
        state = _state(read_text(options.state), options.state, instance, plan)
        check_state(instance, state, plan)
    with asked_of_solver(options, instance) as asked:
        promised = {"keep_promise": options.keep_promise, "scenarios": options.scenarios}
        found = replanned(instance, plan, state, **promised, **asked)
    explained = ""
    if options.explain:
        explained = explanation(found.result, found.remaining, found.plan, options.details)
    code, aside = kept(
        _code(found),
        lambda: explained if options.json else "",
        lambda: written(options.out, "plan of the rest", found.plan),
        lambda: written(options.rest, "instance of the rest", found.remaining),
        lambda: plan_figure(options.figure, found.remaining, found.plan),
    )
    return Answer("\n\n".join(filter(None, [str(found), explained])), code, json_of(found), aside)


def _state(text: str, path: str, instance: Instance, plan: Plan) -> State:
    """An observed state, or that of a run that a controller leads, from its log: its time is as planned."""
    from depl.models.policy.controller import led
    from depl.models.policy.followed_plan import plan_rules
    from depl.models.policy.run_log import FORMAT
    from depl.models.solving.observed_state import State, planned_state

    first, *more = text.split("\n", 1)
    if text and (FORMAT not in first or not more):
        return State.from_json(text)
    controller = led(plan_rules(plan, instance), path)
    if controller.decision is None:
        raise InvalidInputError("holds no loss yet; the plan is still as it was made")
    return planned_state(instance, plan, controller.epoch, controller.decision.loss)


def _code(found: Replanning) -> ExitCode:
    """As for ``solve``; but an old rest that may go on is an answer, whatever was proved of new ones."""
    result = found.result
    code = code_of(result.termination.value, result.plan is not None, result.claimed)
    if found.choice.value in ("new", "none") or code is ExitCode.INTERNAL:
        return code
    return ExitCode.STOPPED if result.termination.value in STOPPED else ExitCode.ANSWERED
