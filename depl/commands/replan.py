"""``depl replan``: what the rest of a plan still delivers from an observed state, and a better rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import Options, command
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
@click.argument(
    "state",
    metavar="STATE",
    help="the path of an observed state, see docs/replanning, or of the log of a depl.Controller that "
    "follows the plan",
)
@given.solving()
@click.option(
    "--keep-promise",
    is_flag=True,
    help="ask for what the old rest would deliver from here instead of omega, so that the promise made at "
    "the start holds over all runs, however often they are planned again (under a law fitted to traces only "
    "where the answer says so)",
)
@click.option(
    "--explain",
    is_flag=True,
    help="list the decisions, and show the equations with the numbers of the rest",
)
@given.details
@click.option("--out", metavar="PLAN.json", help="write the rest to follow to this file")
@click.option("--rest", metavar="REST.json", help="write the instance of the rest to this file")
@given.figure("the rest to follow")
@given.as_json()
def replan(options: Options) -> Answer:
    """Plan the rest of a run again, seen from an observed state."""
    from depl.commands.inputs import (
        figure_files,
        further_options,
        inside,
        read_instance,
        read_plan,
        require_outputs,
    )
    from depl.commands.progress import Watched
    from depl.models.foundation.documents import read_text
    from depl.models.solving.methods import default_method
    from depl.models.solving.observed_state import check_state
    from depl.models.solving.replanning import replan

    written = [options.out, options.rest, *figure_files(options.figure)]
    require_outputs(written, [options.instance, options.plan, options.state])
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        plan.check_names(instance)
    with inside(options.state):
        state = _state(read_text(options.state), options.state, instance, plan)
        check_state(instance, state, plan)
    further = further_options(options, instance)
    with Watched(options.method or default_method(instance), instance.units) as watched:
        found = replan(
            instance,
            plan,
            state,
            options.method,
            keep_promise=options.keep_promise,
            gap=options.gap,
            time_limit=options.time_limit,
            seed=options.seed,
            scenarios=options.scenarios,
            progress=watched.progress,
            on_phase=watched.on_phase,
            options=further,
        )
    return _answer(options, found)


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


def _answer(options: Options, found: Replanning) -> Answer:
    from depl.commands.figures import plan_figure
    from depl.models.foundation.documents import write_text
    from depl.showing import json_of

    explanation = _explanation(found, options.details) if options.explain else ""
    text = "\n\n".join(filter(None, [str(found), explanation]))
    code, aside = _code(found), [explanation] if options.json and explanation else []
    files = (
        (options.out, "plan", None if found.plan is None else found.plan.to_json()),
        (options.rest, "instance", None if found.remaining is None else found.remaining.to_json()),
    )
    for path, what, content in files:
        if path is None:
            continue
        if content is None:
            aside.append(f"{path} not written: there is no {what}")
            continue
        try:  # the answer is worth showing even if a file cannot be written after all
            write_text(path, content)
            aside.append(f"{what} of the rest written to {path}")
        except InvalidInputError as error:
            code = ExitCode.INVALID
            aside.append(f"depl: {error}")
    try:
        aside.append(plan_figure(options.figure, found.remaining, found.plan))
    except InvalidInputError as error:
        code = ExitCode.INVALID
        aside.append(f"depl: {error}")
    return Answer(text, code, json_of(found), "\n\n".join(filter(None, aside)))


def _code(found: Replanning) -> ExitCode:
    """As for ``solve``; but an old rest that may go on is an answer, whatever was proved of new ones."""
    from depl.commands.solve import exit_code
    from depl.models.solving.replanning import Choice
    from depl.models.solving.result import Termination

    code = exit_code(found.result)
    if found.choice in (Choice.NEW, Choice.NONE) or code is ExitCode.INTERNAL:
        return code
    stopped = found.result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _explanation(found: Replanning, details: bool) -> str:
    from depl.models.solving.decisions import told
    from depl.models.solving.explain import explain

    result = found.result
    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if found.plan is not None and found.remaining is not None:
        parts.append(explain(found.remaining, found.plan))
    return "\n\n".join(parts)
