"""``depl traces``, and traces as other commands are given them: files of depl, or logs of a training tool."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import Choice, F, Options, option
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.tool_logs.importing import Choices
    from depl.models.traces.table import Traces


TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "transformers", "jsonl", "csv")
"""Whose logs are read; those of `depl.models.tool_logs.points`, which comes with numpy."""

runs = given.argument(
    "TRACES...",
    "a file of traces, or the name of shipped ones, such as digits-alexnet; with --loss files of logs",
)
lost_runs = option(
    "--diverged NAME,...",
    "runs that were lost, and files of such: each counts as a miss of every plan that is fitted or "
    "certified; patterns such as 'seed1*' will do",
    given.names,
)
_OF_LOGS = (
    option("--from", "who wrote the logs; default: what the files look like", Choice(TOOLS), name="tool"),
    option("--run KEY", "what names the runs, where one file of logs holds several"),
    option(
        "--epoch KEY",
        "what tells the epoch, or the global step; 'row' counts the losses, if there is one an epoch; "
        "default: what is known of it",
    ),
    option(
        "--first",
        "what the first trained epoch is called; 1: what is called 0 is the evaluation before training",
        Choice(("0", "1")),
        callback=lambda _ctx, _param, value: None if value is None else int(value),
    ),
    option("--steps-per-epoch N", "of logs where global steps tell the epoch", given.COUNT),
    option(
        "--every N",
        "the loss stands at every Nth epoch alone (validation_freq of Keras), which then is an epoch",
        given.COUNT,
    ),
    option(
        "--stages [RUNS=]STAGES",
        "what was trained where: p50@edge:17,p75@far-edge is model p50 on cluster edge for 17 epochs, "
        "then p75 on far-edge; with a pattern in front, such as 'seed1*=', only of runs whose names match",
        multiple=True,
    ),
    option("--stages-from", "the same from the hyperparameter 'stages' of each run", Choice(("hparams",))),
    option(
        "--model KEY", "what tells the model of each epoch, or a hyperparameter of the run; default: model"
    ),
    option("--cluster KEY", "the same of its cluster; default: cluster"),
    option("--cluster-name NAME", "the one cluster that all runs trained on"),
    option(
        "--where KEY=VALUE", "read only what was logged with this value", given.key_and_value, multiple=True
    ),
    option("--accuracy KEY", "keep this accuracy, too"),
    option("--percent", "accuracies are in per cent"),
    option(
        "--on-missing refuse|end|drop",
        "of a run whose loss is missing or not finite from some epoch on: end it before, or drop it",
        default="refuse",
    ),
    option(
        "--on-repeated refuse|last|first",
        "of epochs logged again: the last counts, as after a restart, or the first, as before an evaluation",
        default="refuse",
    ),
)
_OF_RUNS = (
    option(
        "--leave-out PATTERN",
        "do not count runs, files and folders of this name, such as 'seed1*'; the provenance says so",
        multiple=True,
    ),
    option(
        "--cut-at-random NAME",
        "runs of this name, such as 'seed1*', that ended early for a reason unlike their losses, such as "
        "a limit of time; otherwise they count as misses",
        multiple=True,
    ),
)
RUNS = ("leave_out", "diverged", "cut_at_random")
"""What is said of single runs."""


def of_logs(
    required: bool = False,
    also: str = "; with it TRACES may be logs of a training tool, as 'depl traces import' reads",
) -> Callable[[F], F]:
    """What says how logs of training tools are to be read; with ``required`` the loss has to be named."""
    loss = f"what the tool calls the held-out loss{'' if required else also}"
    return given.together(*_OF_RUNS, option("--loss KEY", loss, required=required), *_OF_LOGS)


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
@option(
    "--out TRACES", "write the traces to this .csv or .csv.gz file; without it they are shown", given.to_write
)
@given.as_json("what was read")
def import_(options: Options) -> Answer:
    """Read logs of Lightning, Keras, TensorBoard, W&B, mlflow, Flower, JSON Lines or CSV."""
    from depl.models.tool_logs.importing import import_logs
    from depl.models.traces.files import write_traces

    found, out = import_logs(options.paths, choices_of(options)), options.out
    aside = "" if out is None else f"traces written to {out}"
    if out is not None:
        write_traces(out, found.traces)
    return given.shown(found, True, aside, {"out": out}, {"out": out, "paths": list(options.paths)})


def choices_of(options: Options) -> Choices:
    """What was said of logs; all runs are lost where only their number is told."""
    from depl.models.tool_logs.importing import Choices

    told = {item.name: getattr(options, item.name) for item in fields(Choices)}
    lost = options.diverged
    told["diverged"] = lost if isinstance(lost, tuple) else ("*",) if lost else ()
    return Choices(**told | {"where": dict(options.where)})


def log_words(choices: Choices, but: Sequence[str] = ()) -> list[str]:
    """The options by which another command reads logs as these were, but those that change nothing."""
    from depl.models.tool_logs.importing import Choices

    untold, found = Choices(choices.loss), ["--loss", choices.loss] if choices.loss else []
    for item in fields(choices):
        value = getattr(choices, item.name)
        if item.name in but or value == getattr(untold, item.name):
            continue
        written = f"--{'from' if item.name == 'tool' else item.name.replace('_', '-')}"
        if item.name == "diverged":
            value = ",".join(value)
        if isinstance(value, Mapping):
            value = [f"{key}={wanted}" for key, wanted in value.items()]
        for one in value if isinstance(value, list | tuple) else (value,):
            found += [written] if one is True else [written, str(one)]
    return found


def fresh_words(options: Options) -> list[str]:
    """The same for logs of fresh runs, of which it is not said what was trained where, or of single ones."""
    return log_words(choices_of(options), ("stages", "stages_from", *RUNS))


def same_runs(options: Options) -> str:
    """The runs of ``fit`` or ``diagnose`` as another command is told them, ready for a shell."""
    return shlex.join([*options.traces, *log_words(choices_of(options))])


def named(options: Options) -> Traces:
    """The traces of ``fit`` and ``diagnose``: logs if their loss is named, otherwise traces of depl."""
    from depl.instances.training.recorded import named_traces
    from depl.models.tool_logs.importing import import_logs
    from depl.models.traces.log_rules import counted_as_lost, cut_at_random, without

    choices = choices_of(options)
    if options.loss is not None:
        return import_logs(options.traces, choices).traces
    told = log_words(choices, RUNS)
    if told:
        raise InvalidInputError("says how to read logs: name their loss, too, by --loss KEY", told[0])
    if len(options.traces) > 1:
        message = "traces are one file; logs of a training tool may be many: name their loss by --loss KEY"
        raise InvalidInputError(message, " ".join(options.traces))
    traces = without(named_traces(options.traces[0]), choices.leave_out)
    lost = [name for name in choices.diverged if name != "*"]
    return cut_at_random(counted_as_lost(traces, lost), choices.cut_at_random)
