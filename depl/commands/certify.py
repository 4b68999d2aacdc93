"""``depl certify``: whether held-out runs prove that a plan keeps its promise, without any law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.traces import choices_of, named, of_logs, runs
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.traces.table import Traces

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
@runs
@given.option(
    "--target X", "l_max, what is promised; default: that of the instance in --chosen-by", given.NUMBER
)
@given.option("--omega P", "promised probability of keeping the target; default: as --target", given.NUMBER)
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
@given.metric("what is bounded; default: as --target, or loss", None)
@given.imports
@given.as_json("the certificate")
@of_logs()
def certify(options: given.Options) -> Answer:
    """Prove from held-out runs, without a law, what a plan delivers."""
    from depl.certifying import named_choice, promised
    from depl.models.estimation.certificate import certificate, held_out
    from depl.models.estimation.fit import schedule_label
    from depl.showing.runs import unnamed

    plan = None if options.plan is None else given.read_plan(options.plan)
    chosen = {name: named_choice(name) for name in options.chosen_by}
    instances = {name: item for name, item in chosen.items() if isinstance(item, depl.Instance)}
    name, keys = " ".join(options.traces), ("target", "omega", "metric")
    with given.inside(name, (*keys, "plan", "confidence", "diverged", "chosen_by", "loss")):
        asked, said = promised(instances, plan, {key: getattr(options, key) for key in keys})
        runs, lost = _fresh(options, plan, chosen, said), options.diverged or ()
        judges = held_out(runs, chosen.values(), plan, asked["metric"], lost)
        found = certificate(judges, asked["target"], asked["omega"], options.confidence)
    said |= {"plan": name} if plan is None else {}
    told = {"judges": judges, "traces": name, "metric": asked["metric"]}
    of = told | {"schedule": schedule_label(judges.schedule), "chosen_by": [*chosen], "taken": said}
    asked["loss"] = options.loss
    taken = [f"{what} {asked.get(what) or ''}".strip() + f" from {source}" for what, source in said.items()]
    notes = f"taken: {', '.join(taken)}" if taken else "", unnamed(judges, bool(chosen))
    return given.shown(found, found.certified, "\n".join(filter(None, notes)), told, of)


def _fresh(
    options: given.Options, plan: depl.Plan | None, chosen: Mapping[str, Any], said: dict[str, str]
) -> Traces:
    """The fresh runs: traces; or logs, with the loss of the runs that chose, and the stages of the plan."""
    from depl.instances.training.recorded import recorded_names
    from depl.models.estimation.instance import loss_key_of
    from depl.models.tool_logs.importing import import_logs
    from depl.models.tool_logs.stages import HINT, told

    first = Path(options.traces[0])
    tables = first.suffix in (".csv", ".gz", ".npz") or not first.exists() or str(first) in recorded_names()
    if options.loss is None and tables:
        return named(given.Options(**vars(options) | {"diverged": None}))
    if options.loss is None:
        keys = {key: name for name, item in chosen.items() if (key := loss_key_of(item))}
        if len(keys) != 1:
            raise InvalidInputError("say what the logs call it; those that chose the plan do not", ".loss")
        ((options.loss, said["loss"]),) = keys.items()
    try:
        return import_logs(options.traces, choices_of(options)).traces
    except InvalidInputError as error:
        if plan is None or HINT not in error.message:
            raise
    said["stages"], stages = options.plan, (told(plan.schedule),)
    return import_logs(options.traces, replace(choices_of(options), stages=stages)).traces
