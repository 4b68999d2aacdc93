"""``depl solve``: find a plan, say what is proved about it, and write it."""

from __future__ import annotations

from typing import Any

import depl
from depl.commands import options as given
from depl.commands.answer import Answer, code_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.memory import MEMORY

EXIT_CODES = """\
exit codes: 0 answered; 2 wrong usage or input; 3 proved infeasible, or a checked plan that fails, or one
that is not certified; 4 stopped by a limit or by the user with a plan; 5 ended without a plan or a proof;
10 and 11 'policy decide' says to switch, or to stop; 70 internal error"""
_LAST_DIGITS = 1e-9  # quantile functions of two machines differ by less, relatively


@given.command(
    epilog=EXIT_CODES,
    examples="""\
depl solve paper-alexnet-9                   # by the default method, which proves its plan here
depl solve tiny --gap 5% --time-limit 60 --explain --out plan.json
depl solve paper-alexnet-9 --method depl-paper --option eta=400 --json
""",
)
@given.instance
@given.solving(files=True)
@given.option(
    "--stop-when-stuck",
    "stop once neither the plan nor the bound has moved for a third of the time limit; without one, for as "
    "long as the solve took before, and at least 10 seconds",
)
@given.option("--explain", "list the decisions, and show the equations with their numbers")
@given.details
@given.option(
    "--memory GIB", "GiB that a table may take; what needs more is refused", given.NUMBER, default=MEMORY
)
@given.option("--out PLAN.json", "write the plan to this file", given.to_write)
@given.figure("the plan")
@given.as_json("the result")
def solve(options: given.Options) -> Answer:
    """Find a cheap plan, and prove how much cheaper any plan could be."""
    instance = given.read_instance(options)
    scenarios = read_scenarios(options, instance)
    with given.asked_of_solver(options, instance) as asked:
        further = {name: getattr(options, name) for name in ("memory", "stop_when_stuck")}
        result = depl.solve(instance, scenarios=scenarios, **further, **asked)
    return given.answer(
        result,
        code_of(result.termination.value, result.plan is not None, result.claimed),
        options,
        _advised(result, instance) + explanation(options, result, instance, result.plan),
        lambda: given.written(options.out, "plan", result.plan),
        lambda: given.plan_drawn(options.figure, instance, result.plan),
    )


def _advised(result: depl.Result, instance: depl.Instance) -> str:
    """After a refused promise, which runs would bring it."""
    from depl.commands.fit import advice_on

    refused = result.termination is depl.Termination.INFEASIBLE and result.scenarios is None
    advice = advice_on(instance) if refused and instance.has_memory else None
    return "" if advice is None else f"{advice}"


def explanation(
    options: given.Options, result: depl.Result, instance: depl.Instance | None, plan: depl.Plan | None
) -> str:
    """How a plan came about, and its numbers in the equations; of an infeasible instance, why."""
    from depl.models.solving.decisions import told

    if not options.explain:
        return ""
    parts = []
    if result.decisions:
        parts.append(f"Decisions of {result.method}\n{told(result.decisions, options.details)}")
    infeasible = result.termination is depl.Termination.INFEASIBLE
    if instance is not None and (plan is not None or (instance.declares_laws and infeasible)):
        parts.append(depl.explain(instance, plan))
    return "\n\n".join(parts)


def read_scenarios(options: given.Options, instance: depl.Instance) -> Any:
    """How many, or those of a file, whose seed may be told only if it draws them."""
    import numpy as np

    from depl.models.scenarios.draws import draw_scenarios, load_scenarios
    from depl.models.solving.methods import default_method, require_counting

    if not isinstance(options.scenarios, str):
        return options.scenarios
    require_counting(options.method or default_method(instance))
    found = load_scenarios(options.scenarios, instance)
    if found.seed is not None:
        drawn = draw_scenarios(instance, len(found), found.seed, found.decimals)
        for name in ("improvements", "switch_losses"):
            if not np.allclose(getattr(found, name), getattr(drawn, name), rtol=_LAST_DIGITS, atol=0.0):
                other = f"is {found.seed}, whose stream has other numbers; leave the seed out of the file"
                raise InvalidInputError(other, f"{options.scenarios}: seed")
    return found
