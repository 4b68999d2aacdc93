"""``depl report``: one page on a plan for whoever pays, also of a plan that fails."""

from __future__ import annotations

import depl
from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.printable import fields
from depl.models.solving.defaults import REPORT_SECONDS


@given.command("""\
depl solve tiny --method exact --out plan.json
depl report tiny plan.json --no-prices       # into plan.html, at once
depl report tiny plan.json --out page.html --time-limit 2
""")
@given.instance
@given.plan
@given.option("--out FILE.html", "the page", given.to_write, default="plan.html")
@given.option(
    "--certificate FILE", "what 'depl certify --json' said of fresh runs of this plan", given.to_read
)
@given.option(
    "--prices/--no-prices",
    "solve for the probabilities 0.90, 0.95 and 0.99, and by other methods, or leave that out",
    default=True,
)
@given.option(
    "--time-limit S",
    "seconds of each of these solves, of the picture and of early stopping",
    given.positive_seconds,
    default=f"{REPORT_SECONDS:g}",
)
def report(options: given.Options) -> Answer:
    """Write one page on a plan for whoever pays: promise, prices, proof."""
    from dataclasses import replace

    from depl.commands.progress import following
    from depl.models.foundation.documents import read_text
    from depl.reporting.facts import facts_of
    from depl.reporting.fresh import fresh_runs, read_certificate
    from depl.reporting.page import Source, page_of

    instance, plan, fresh = given.read_instance(options), given.read_plan(options.plan), None
    if options.certificate is not None:
        with given.inside(options.certificate):
            fresh = read_certificate(read_text(options.certificate), instance, plan)

    def solver(target: depl.Instance, method: str) -> depl.Result:
        with following(method, instance.units) as seen:
            return depl.solve(target, method, time_limit=options.time_limit, **seen._asdict())

    with given.inside(options.plan):
        seconds = options.time_limit if options.prices else None
        facts = replace(facts_of(instance, plan, solver if options.prices else None, seconds), fresh=fresh)
    further = [] if options.target is None else ["--target", options.target]
    for name in options.imports:
        further += ["--import", name]
    page = page_of(
        facts, Source(options.instance, options.plan, tuple(further), options.certificate), seconds
    )
    page.save(options.out)
    state = "accepts the plan" if page.ok else "does NOT accept the plan"
    pairs = [(instance.name, f"the verifier {state}"), ("promise", page.summary)]
    if fresh is not None:
        pairs.append(("fresh runs", fresh_runs(fresh)))
    if page.cheaper:
        pairs.append(("cheaper plans", page.cheaper))
    pairs.append(("page", f"written to {options.out}"))
    code = ExitCode.ANSWERED if page.ok else ExitCode.INFEASIBLE
    if page.interrupted:
        pairs.append(("prices", "interrupted: the page says which are missing"))
        code = ExitCode.STOPPED if page.ok else code
    return Answer(fields(pairs), code)
