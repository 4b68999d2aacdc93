"""``depl traces``: traces from what training tools log."""

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.logs import choices_of, lost_runs, of_logs

_EXAMPLES = """\
depl traces import lightning_logs --loss val_loss --out runs.csv           # hparams.yaml tells the stages
depl traces import runs --from tensorboard --loss loss/val --stages "net@edge" --out runs.csv
depl traces import chart.csv --loss val_loss --first 0 --stages "seed1*=p50@edge:17,p75@far-edge"
"""

traces = given.Group(
    "traces", help="Read what training tools log, and write it as traces.", examples=_EXAMPLES
)


@traces.command(_EXAMPLES)
@given.argument("PATH...", "files of logs, or folders that hold them", name="paths")
@of_logs(required=True)
@lost_runs
@given.option(
    "--out TRACES", "write the traces to this .csv or .csv.gz file; without it they are shown", given.to_write
)
@given.as_json("what was read")
def import_(options: given.Options) -> Answer:
    """Read logs of Lightning, Keras, TensorBoard, W&B, mlflow, Flower, JSON Lines or CSV."""
    from depl.models.tool_logs.importing import import_logs
    from depl.models.traces.files import write_traces
    from depl.showing import json_of, view

    found, out = import_logs(options.paths, choices_of(options)), options.out
    aside = "" if out is None else f"traces written to {out}"
    if out is not None:
        write_traces(out, found.traces)
    json = json_of(found, out=out, paths=list(options.paths))
    return Answer(view(found, out=out).text(), json=json, aside=aside)
