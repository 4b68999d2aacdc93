"""``depl certify``: whether held-out runs prove that a plan keeps its promise, without any law."""

from depl.commands import options as given
from depl.commands.answer import Answer

_DETECTED = """\
Runs are recognised by their losses, not by their names. Those used to choose the plan are refused under any
name, also if saved with less precision, truncated, or altered in some epochs; so is a run that the file
contains twice. Not detected are runs altered in half of their epochs or more, by more than a hundredth or
two of the spread between runs; epochs in another order, left out, or renumbered by more than one; a larger
constant added to all; averages of runs; runs of some ten epochs or fewer that are both rounded and altered;
runs used to choose the plan but not given by --chosen-by, and runs that were made but withheld. Runs with
fewer than about six different losses after training are refused as too short or too coarsely recorded: with
so few, a match cannot be distinguished from chance.
"""


@given.command(
    epilog=_DETECTED,
    examples="""\
depl solve digits-alexnet --out plan.json
depl train --family digits-alexnet --plan plan.json --out fresh.csv
depl certify fresh.csv --target 0.35 --omega 0.95 --chosen-by digits-alexnet
""",
)
@given.argument(
    "TRACES",
    "runs of the plan that had no part in its choice: a file of traces, CSV or npz",
)
@given.option("--target X", "l_max, what is promised", given.NUMBER, required=True)
@given.option("--omega P", "promised probability of keeping the target", given.NUMBER, required=True)
@given.option("--confidence C", "of the certificate", given.NUMBER, default=0.95)
@given.option(
    "--chosen-by FILE",
    "traces that were used to choose the plan, or the instance that 'depl fit' made of them",
    multiple=True,
)
@given.option(
    "--plan PLAN",
    "what the runs were to train; needed unless the traces say so, as those of depl train --plan do",
)
@given.option(
    "--diverged NAME,...",
    "runs that diverged: they exceed the target, also where the file does not hold them",
    given.names,
)
@given.metric()
@given.imports
@given.as_json("the certificate")
def certify(options: given.Options) -> Answer:
    """Prove from held-out runs, without a law, what a plan delivers."""
    from depl.certifying import named_choice
    from depl.instances.training.recorded import named_traces
    from depl.models.estimation.certificate import certificate, held_out
    from depl.models.estimation.fit import schedule_label
    from depl.showing.runs import unnamed

    traces = named_traces(options.traces)
    plan = None if options.plan is None else given.read_plan(options.plan)
    chosen_by = [named_choice(name) for name in options.chosen_by]
    asked = options.target, options.omega, options.confidence
    with given.inside(options.traces, ("plan", "target", "confidence", "diverged", "metric", "chosen_by")):
        judges = held_out(traces, chosen_by, plan, options.metric, options.diverged or ())
        found = certificate(judges, *asked)
    told = {"judges": judges, "traces": options.traces, "metric": options.metric}
    of = told | {"schedule": schedule_label(judges.schedule), "chosen_by": list(options.chosen_by)}
    return given.shown(found, found.certified, unnamed(judges, bool(chosen_by)), told, of)
