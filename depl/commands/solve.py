"""``depl solve``: find a plan, say what is proved about it, and write it."""

from depl.commands import options as given
from depl.commands.answer import Answer, code_of
from depl.commands.inputs import (
    asked_of_solver,
    explanation,
    figure_files,
    kept,
    plan_figure,
    read_instance,
    read_scenarios,
    require_outputs,
    written,
)
from depl.commands.options import NUMBER, Options, command, option
from depl.models.foundation.memory import MEMORY

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
@option("--explain", "list the decisions, and show the equations with their numbers")
@given.details
@option("--memory GIB", "GiB that a table may take; what needs more is refused", NUMBER, default=MEMORY)
@option("--out PLAN.json", "write the plan to this file")
@given.figure("the plan")
@given.as_json("the result")
def solve(options: Options) -> Answer:
    """Find a cheap plan, and prove how much cheaper any plan could be."""
    from depl.models.solving.solve import solve as solved
    from depl.showing import json_of

    file = options.scenarios if isinstance(options.scenarios, str) else None
    require_outputs([options.out, *figure_files(options.figure)], [options.instance, file])
    instance = read_instance(options)
    scenarios = read_scenarios(options, instance)
    with asked_of_solver(options, instance) as asked:
        result = solved(instance, scenarios=scenarios, memory=options.memory, **asked)
    explained = explanation(result, instance, result.plan, options.details) if options.explain else ""
    code, aside = kept(
        code_of(result.termination.value, result.plan is not None, result.claimed),
        lambda: explained if options.json else "",
        lambda: written(options.out, "plan", result.plan),
        lambda: plan_figure(options.figure, instance, result.plan),
    )
    return Answer("\n\n".join(filter(None, [str(result), explained])), code, json_of(result), aside)
