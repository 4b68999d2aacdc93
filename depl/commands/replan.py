"""What ``depl replan`` does; `depl.arguments.replan` declares its options."""

import argparse

from depl.commands.answer import Answer, ExitCode
from depl.commands.figures import plan_figure
from depl.commands.options import (
    figure_files,
    further_options,
    inside,
    read_instance,
    read_plan,
    require_outputs,
)
from depl.commands.progress import Watched
from depl.commands.solve import exit_code
from depl.models.foundation.documents import read_text, write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import led
from depl.models.policy.followed_plan import plan_rules
from depl.models.policy.run_log import FORMAT
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.decisions import told
from depl.models.solving.explain import explain
from depl.models.solving.methods import default_method
from depl.models.solving.observed_state import State, check_state, planned_state
from depl.models.solving.replanning import Choice, Replanning, replan
from depl.models.solving.result import Termination
from depl.showing import json_of


def run(options: argparse.Namespace) -> Answer:
    """Plan the rest, and write what is to be followed where that is asked for."""
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
    first, *more = text.split("\n", 1)
    if text and (FORMAT not in first or not more):
        return State.from_json(text)
    controller = led(plan_rules(plan, instance), path)
    if controller.decision is None:
        raise InvalidInputError("holds no loss yet; the plan is still as it was made")
    return planned_state(instance, plan, controller.epoch, controller.decision.loss)


def _answer(options: argparse.Namespace, found: Replanning) -> Answer:
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
    code = exit_code(found.result)
    if found.choice in (Choice.NEW, Choice.NONE) or code is ExitCode.INTERNAL:
        return code
    stopped = found.result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _explanation(found: Replanning, details: bool) -> str:
    result = found.result
    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if found.plan is not None and found.remaining is not None:
        parts.append(explain(found.remaining, found.plan))
    return "\n\n".join(parts)
