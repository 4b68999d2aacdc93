"""What ``depl solve`` does; `depl.arguments.solve` declares its options."""

import argparse

from depl.commands.answer import Answer, ExitCode
from depl.commands.figures import plan_figure
from depl.commands.options import (
    figure_files,
    further_options,
    read_instance,
    read_scenarios,
    require_outputs,
)
from depl.commands.progress import Watched
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.decisions import told
from depl.models.solving.explain import explain
from depl.models.solving.methods import default_method
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve
from depl.showing import json_of


def run(options: argparse.Namespace) -> Answer:
    """Solve, and write the plan where one was found and asked for."""
    given = options.scenarios if isinstance(options.scenarios, str) else None
    require_outputs([options.out, *figure_files(options.figure)], [options.instance, given])
    instance = read_instance(options)
    scenarios, further = read_scenarios(options, instance), further_options(options, instance)
    with Watched(options.method or default_method(instance), instance.units) as watched:
        result = solve(
            instance,
            options.method,
            gap=options.gap,
            time_limit=options.time_limit,
            seed=options.seed,
            scenarios=scenarios,
            progress=watched.progress,
            on_phase=watched.on_phase,
            options=further,
            memory=options.memory,
        )
    explanation = _explanation(instance, result, options.details) if options.explain else ""
    text = "\n\n".join(filter(None, [str(result), explanation]))
    code, aside = exit_code(result), [explanation] if options.json and explanation else []
    try:  # the answer is worth showing even if a file cannot be written after all
        if options.out:
            aside.append(_written(result.plan, options.out))
        aside.append(plan_figure(options.figure, instance, result.plan))
    except InvalidInputError as error:
        code, aside = ExitCode.INVALID, [*aside, f"depl: {error}"]
    return Answer(text, code, json_of(result), "\n\n".join(filter(None, aside)))


def _explanation(instance: Instance, result: Result, details: bool) -> str:
    """How the plan came about, and its numbers in the equations."""
    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if result.plan is not None:
        parts.append(explain(instance, result.plan))
    elif result.termination is Termination.INFEASIBLE and instance.declares_laws:
        parts.append(explain(instance))
    return "\n\n".join(parts)


def exit_code(result: Result) -> ExitCode:
    """What a result means to the shell."""
    if result.termination is Termination.INFEASIBLE:
        return ExitCode.NOTHING if result.claimed else ExitCode.INFEASIBLE
    if result.termination is Termination.ERROR:
        return ExitCode.INTERNAL
    if result.plan is None:
        return ExitCode.NOTHING
    stopped = result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _written(plan: Plan | None, path: str) -> str:
    if plan is None:
        return f"{path} not written: there is no plan"
    write_text(path, plan.to_json())
    return f"plan written to {path}"
