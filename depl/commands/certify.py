"""What ``depl certify`` does; `depl.arguments.certify` declares its options."""

import argparse

from depl.certifying import named_choice
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import of_runs, read_plan
from depl.instances.training.recorded import named_traces
from depl.models.estimation.certificate import certificate
from depl.models.estimation.combinations import schedule_label
from depl.models.estimation.held_out import held_out
from depl.showing import json_of, view
from depl.showing.certificates import unnamed


def run(options: argparse.Namespace) -> Answer:
    """Judge the runs; a promise that is not certified is an answer with an exit code of its own."""
    traces = named_traces(options.traces)
    plan = None if options.plan is None else read_plan(options.plan)
    diverged = [name.strip() for name in options.diverged.split(",") if name.strip()]
    chosen_by = [named_choice(name) for name in options.chosen_by]
    with of_runs(options.traces, ("plan", "target", "confidence", "diverged", "metric", "chosen_by")):
        judges = held_out(traces, chosen_by, plan, options.metric, diverged)
        found = certificate(
            judges.losses,
            options.target,
            options.omega,
            options.confidence,
            judges.stopped,
            judges.diverged,
            judges.flat,
        )
    code = ExitCode.ANSWERED if found.certified else ExitCode.INFEASIBLE
    of = {
        "traces": options.traces,
        "metric": options.metric,
        "schedule": schedule_label(judges.schedule),
        "chosen_by": options.chosen_by,
    }
    text = view(found, judges=judges, traces=options.traces, metric=options.metric).text()
    return Answer(text, code, json_of(found, judges=judges, **of), unnamed(judges, bool(chosen_by)))
