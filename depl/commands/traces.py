"""``depl traces``: traces from what training tools log."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.logs import lost_runs, of_logs
from depl.commands.options import Group, Options, argument, option
from depl.commands.table import fields, table
from depl.models.estimation.choices import CARE, plans_needed
from depl.models.foundation.wording import counted, number

if TYPE_CHECKING:
    from depl.models.tool_logs.importing import Imported
    from depl.models.traces.log_rules import What
    from depl.models.traces.table import Traces

_MOST_STAGES = 8
"""Schedules that are listed at most: set by hand, so that the answer stays on a screen."""


_NOTES = {
    "SHORTER": "end before the longest",
    "STOPPED": "without a loss from some epoch on, ended before it",
    "DIVERGED": "with a loss that is not finite, ended before it",
    "DROPPED": "dropped, as a loss is missing",
    "REPEATED": "of epochs that were logged again, not counted",
    "SECOND": "begun again at the first epoch, each of which is a run of its own",
    "PASSED_OVER": "without a loss where another line has it",
}
"""By the names of `depl.models.traces.log_rules.What`."""
_EXAMPLES = """\
depl traces import lightning_logs --loss val_loss --out runs.csv           # hparams.yaml tells the stages
depl traces import runs --from tensorboard --loss loss/val --stages "net@edge" --out runs.csv
depl traces import chart.csv --loss val_loss --first 0 --stages "seed1*=p50@edge:17,p75@far-edge"
"""

traces = Group("traces", help="Read what training tools log, and write it as traces.", examples=_EXAMPLES)


@traces.command("import", examples=_EXAMPLES)
@argument("PATH...", "files of logs, or folders that hold them", name="paths")
@of_logs(required=True)
@lost_runs
@option("--out TRACES", "write the traces to this .csv or .csv.gz file; without it they are shown")
@given.as_json("what was read")
def import_(options: Options) -> Answer:
    """Read logs of Lightning, Keras, TensorBoard, W&B, mlflow, Flower, JSON Lines or CSV."""
    from depl.commands.logs import imported
    from depl.models.traces.files import write_traces

    found = imported(options, options.paths, options.out)
    content = _content(options, found)
    text = _text(options, found, content)
    if options.out is None:
        return Answer(text, json=as_json(content))
    write_traces(options.out, found.traces)
    return Answer(text, json=as_json(content), aside=f"traces written to {options.out}")


def _content(options: Options, found: Imported) -> dict[str, Any]:
    from depl.models.tool_logs.stages import told
    from depl.models.traces.lost import LEFT_OUT, ledger

    traces, log = found.traces, found.log
    ends = traces.last_epochs
    return {
        "out": options.out,
        "paths": list(options.paths),
        "tool": log.tool,
        "recognised_by": log.why or None,
        "runs": len(traces.runs),
        "epochs": [int(traces.epoch.min()), int(traces.epoch.max())],
        "shortest": int(ends.min()),
        "evaluated_before_training": int((traces.epoch == 0).sum()),
        "decided": dict(found.facts),
        "schedules": [
            {"stages": told(schedule), "runs": len(runs)} for schedule, runs in traces.by_schedule().items()
        ],
        "notes": {what.value: count for what, count in _noted(found).items()},
        "diverged": list(found.diverged),
        "dropped": list(found.dropped),
        "lost": traces.lost,
        "left_out": ledger(traces.provenance, LEFT_OUT),
        "unread": dict(log.unread),
        "same_runs": {item.run: item.other for item in found.repeats},
    }


def _noted(found: Imported) -> Counter[What]:
    """Notes by kind, and runs that are shorter than the longest, which only all runs together tell."""
    import numpy as np

    from depl.models.traces.log_rules import What

    counts = Counter(note.what for note in found.notes)
    ends = found.traces.last_epochs
    counts[What.SHORTER] = int(np.count_nonzero(ends < ends.max()))
    return +counts


def _text(options: Options, found: Imported, content: dict[str, Any]) -> str:
    from depl.models.traces.lost import listed

    traces, log = found.traces, found.log
    by = f", recognised by {log.why}" if log.why else ""
    pairs = [("logs", f"{counted(len(traces.runs), 'run')} of {log.tool}{by}"), *found.facts]
    pairs[1] = ("loss", f"{found.facts[0][1]}: {_course(traces)}")
    pairs.insert(2, ("epochs", f"{content['epochs'][0]} to {content['epochs'][1]}"))
    without = len(traces.runs) - content["evaluated_before_training"]
    if without:
        which = "no run was" if without == len(traces.runs) else f"{counted(without, 'run')} not"
        first = "the law of l(1) is then as it was seen, and policies decide from epoch 1 on"
        pairs.append(("before training", f"{which} evaluated: {first}"))
    pairs += [(str(what.value), f"{count} {_NOTES[what.name]}") for what, count in _noted(found).items()]
    pairs += _of_policies(len(content["schedules"]))
    if traces.lost:
        pairs.append(
            ("lost", f"{len(traces.lost)}, which fit and certify count as misses: {listed(traces.lost)}")
        )
    parts = [fields(pairs), _stage_table(content["schedules"], len(traces.runs))]
    if options.out is not None:
        parts.append(_next(options.out))
    return "\n\n".join(parts)


def _of_policies(schedules: int) -> list[tuple[str, str]]:
    """What a policy will take, if a fit as it is done unless told otherwise would not do."""
    if schedules >= plans_needed(CARE):
        return []
    few = f"{counted(schedules, 'schedule')}, too few for the margin of plans that were never run"
    way = "fit --care 0 leaves it out, for promises that fresh runs are to certify"
    return [("policies", f"{few}, which takes {plans_needed(CARE)}; {way}")]


def _next(out: str) -> str:
    """The commands that lead on, from runs before a plan and from fresh ones, which fit would spend."""
    runs = shlex.quote(out)
    return (
        f"What comes next:\n  depl diagnose {runs}\n"
        "  depl instances new --setup --out setup.json   # and write into it what runs do not say\n"
        f"  depl fit {runs} --template setup.json --out mine.json\n"
        "Fresh runs of a plan are not fitted, which would spend them; they judge it:\n"
        f"  depl certify {runs} --target L --omega P --plan plan.json --chosen-by mine.json"
    )


def _course(traces: Traces) -> str:
    """How the median loss went."""
    import numpy as np

    first = traces.loss[traces.bounds[:-1]]
    last = traces.loss[traces.bounds[1:] - 1]
    begins = int(traces.epoch.min())
    medians = [number(float(np.median(losses))) for losses in (first, last)]
    return f"median {medians[0]} after epoch {begins}, {medians[1]} at the end"


def _stage_table(schedules: list[dict[str, Any]], runs: int) -> str:
    """The most frequent schedules."""
    ordered = sorted(schedules, key=lambda row: -row["runs"])
    rows = [(row["stages"], str(row["runs"])) for row in ordered[:_MOST_STAGES]]
    if len(ordered) > _MOST_STAGES:
        rest = sum(row["runs"] for row in ordered[_MOST_STAGES:])
        rows.append((f"{len(ordered) - _MOST_STAGES} others", str(rest)))
    return f"What was trained, in {counted(runs, 'run')}:\n{table(('stages', 'runs'), rows, right=('runs',))}"
