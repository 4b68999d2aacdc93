"""``depl report``: one page on a plan for whoever pays, also of a plan that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import inside, read_instance, read_plan, require_outputs
from depl.commands.options import Options, command, option, positive_seconds
from depl.commands.printable import fields
from depl.models.solving.defaults import REPORT_SECONDS

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance
    from depl.models.solving.result import Result


@command(
    examples="""\
depl solve tiny --method exact --out plan.json
depl report tiny plan.json --no-prices       # into plan.html, at once
depl report tiny plan.json --out page.html --time-limit 2
"""
)
@given.instance
@given.plan
@option("--out FILE.html", "the page", default="plan.html")
@option(
    "--prices/--no-prices",
    "solve for the probabilities 0.90, 0.95 and 0.99, and by other methods, or leave that out",
    default=True,
)
@option(
    "--time-limit S",
    "seconds of each of these solves, of the picture and of early stopping",
    positive_seconds,
    default=f"{REPORT_SECONDS:g}",
)
def report(options: Options) -> Answer:
    """Write one page on a plan for whoever pays: promise, prices, proof."""
    from depl.commands.progress import Watched
    from depl.models.solving.solve import solve
    from depl.reporting.facts import facts_of
    from depl.reporting.page import Source, page_of

    require_outputs([options.out], [options.instance, options.plan])
    instance, plan = read_instance(options), read_plan(options.plan)

    def solver(target: Instance, method: str) -> Result:
        with Watched(method, instance.units) as watched:
            return solve(
                target,
                method,
                time_limit=options.time_limit,
                progress=watched.progress,
                on_phase=watched.on_phase,
            )

    with inside(options.plan):
        seconds = options.time_limit if options.prices else None
        facts = facts_of(instance, plan, solver if options.prices else None, seconds)
    further = [] if options.target is None else ["--target", options.target]
    for name in options.imports:
        further += ["--import", name]
    source = Source(options.instance, options.plan, tuple(further))
    page = page_of(facts, source, seconds)
    page.save(options.out)
    state = "the verifier accepts the plan" if page.ok else "the verifier does NOT accept the plan"
    pairs = [(instance.name, state), ("promise", page.summary)]
    if page.cheaper:
        pairs.append(("cheaper plans", page.cheaper))
    pairs.append(("page", f"written to {options.out}"))
    code = ExitCode.ANSWERED if page.ok else ExitCode.INFEASIBLE
    if page.interrupted:
        pairs.append(("prices", "interrupted: the page says which are missing"))
        code = ExitCode.STOPPED if page.ok else code
    return Answer(fields(pairs), code)
