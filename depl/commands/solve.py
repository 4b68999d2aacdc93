"""``depl solve``: find a plan, say what is proved about it, and write it."""

from typing import TYPE_CHECKING

import click

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import NUMBER, Options, command
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.memory import MEMORY

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.solving.result import Result

EXIT_CODES = """\
exit codes: 0 answered; 2 wrong usage or input; 3 proved infeasible, or a checked plan that fails, or one
that is not certified; 4 stopped by a limit or by the user with a plan; 5 ended without a plan or a proof;
10 and 11 'policy decide' says to switch, or to stop; 70 internal error"""


@command(
    epilog=EXIT_CODES,
    examples="""\
depl solve paper-alexnet-9                   # by the default method, which proves its plan here
depl solve tiny --gap 5% --time-limit 60 --explain --out plan.json
depl solve paper-alexnet-9 --method depl-paper --option eta=400 --json
""",
)
@given.instance
@given.solving(files=True)
@click.option("--explain", is_flag=True, help="list the decisions, and show the equations with their numbers")
@given.details
@click.option(
    "--memory",
    metavar="GIB",
    type=NUMBER,
    default=MEMORY,
    help="GiB that a table may take; what needs more is refused",
)
@click.option("--out", metavar="PLAN.json", help="write the plan to this file")
@given.figure("the plan")
@given.as_json("the result")
def solve(options: Options) -> Answer:
    """Find a cheap plan, and prove how much cheaper any plan could be."""
    from depl.commands.figures import plan_figure
    from depl.commands.inputs import further_options, read_instance, read_scenarios, require_outputs
    from depl.commands.progress import Watched
    from depl.models.solving.methods import default_method
    from depl.models.solving.solve import solve as solved
    from depl.showing import json_of

    file = options.scenarios if isinstance(options.scenarios, str) else None
    drawn = options.figure.paths() if options.figure else ()
    require_outputs([options.out, *drawn], [options.instance, file])
    instance = read_instance(options)
    scenarios, further = read_scenarios(options, instance), further_options(options, instance)
    with Watched(options.method or default_method(instance), instance.units) as watched:
        result = solved(
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
    told = [_explanation(instance, result, options.details)] if options.explain else []
    code, aside = exit_code(result), told if options.json else []
    try:  # the answer is worth showing even if a file cannot be written after all
        if options.out:
            aside = [*aside, _written(result.plan, options.out)]
        aside = [*aside, plan_figure(options.figure, instance, result.plan)]
    except InvalidInputError as error:
        code, aside = ExitCode.INVALID, [*aside, f"depl: {error}"]
    text = "\n\n".join(filter(None, [str(result), *told]))
    return Answer(text, code, json_of(result), "\n\n".join(filter(None, aside)))


def exit_code(result: "Result") -> ExitCode:
    """What a result means to the shell."""
    from depl.models.solving.result import Termination

    if result.termination is Termination.INFEASIBLE:
        return ExitCode.NOTHING if result.claimed else ExitCode.INFEASIBLE
    if result.termination is Termination.ERROR:
        return ExitCode.INTERNAL
    if result.plan is None:
        return ExitCode.NOTHING
    stopped = result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _explanation(instance: "Instance", result: "Result", details: bool) -> str:
    """How the plan came about, and its numbers in the equations."""
    from depl.models.solving.decisions import told
    from depl.models.solving.explain import explain
    from depl.models.solving.result import Termination

    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if result.plan is not None:
        parts.append(explain(instance, result.plan))
    elif result.termination is Termination.INFEASIBLE and instance.declares_laws:
        parts.append(explain(instance))
    return "\n\n".join(parts)


def _written(plan: "Plan | None", path: str) -> str:
    from depl.models.foundation.documents import write_text

    if plan is None:
        return f"{path} not written: there is no plan"
    write_text(path, plan.to_json())
    return f"plan written to {path}"
