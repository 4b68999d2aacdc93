"""``depl traces``: traces from what training tools log."""

from __future__ import annotations

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.logs import lost_runs, of_logs
from depl.commands.options import Group, Options, argument, option

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
    from depl.showing import json_of, view

    found = imported(options, options.paths, options.out)
    text, json = (
        view(found, out=options.out).text(),
        json_of(found, out=options.out, paths=list(options.paths)),
    )
    if options.out is None:
        return Answer(text, json=json)
    write_traces(options.out, found.traces)
    return Answer(text, json=json, aside=f"traces written to {options.out}")
