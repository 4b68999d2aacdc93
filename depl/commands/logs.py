"""Traces as commands are given them: files of depl, shipped ones, or the logs of a training tool."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from depl.commands.inputs import require_outputs
from depl.commands.options import (
    COUNT,
    TRACES,
    Choice,
    F,
    Options,
    argument,
    key_and_value,
    names,
    option,
    together,
)
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.tool_logs.importing import Choices, Imported
    from depl.models.traces.table import Traces


TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "transformers", "jsonl", "csv")
"""Whose logs are read; those of `depl.models.tool_logs.points`, which comes with numpy."""

traces = argument(
    "TRACES...",
    "a file of traces, or the name of shipped ones, such as digits-alexnet; with --loss files of logs",
    shell_complete=TRACES,
)
lost_runs = option(
    "--diverged NAME,...",
    "runs that were lost, and files of such: each counts as a miss of every plan that is fitted or "
    "certified; patterns such as 'seed1*' will do",
    names,
)
_clocks = together(
    option("--run KEY", "what names the runs, where one file of logs holds several", name="run_key"),
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
    option("--steps-per-epoch N", "of logs where global steps tell the epoch", COUNT),
    option(
        "--every N",
        "the loss stands at every Nth epoch alone (validation_freq of Keras), which then is an epoch",
        COUNT,
    ),
)
_stages = together(
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
)
_rules = together(
    option("--where KEY=VALUE", "read only what was logged with this value", key_and_value, multiple=True),
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
_runs = together(
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


def of_logs(required: bool = False) -> Callable[[F], F]:
    """What says how logs of training tools are to be read; with ``required`` the loss has to be named."""
    told = (
        "" if required else "; with it TRACES may be logs of a training tool, as 'depl traces import' reads"
    )
    loss = option("--loss KEY", f"what the tool calls the held-out loss{told}", required=required)
    tool = option(
        "--from", "who wrote the logs; default: what the files look like", Choice(TOOLS), name="tool"
    )
    return together(_runs, loss, tool, _clocks, _stages, _rules)


def choices_of(options: Options) -> Choices:
    """What was said of logs."""
    from depl.models.tool_logs.importing import Choices

    return Choices(
        loss=options.loss,
        tool=options.tool,
        run=options.run_key,
        epoch=options.epoch,
        first=options.first,
        steps_per_epoch=options.steps_per_epoch,
        every=options.every,
        stages=tuple(options.stages),
        stages_from=options.stages_from,
        model=options.model,
        cluster=options.cluster,
        cluster_name=options.cluster_name,
        where=dict(options.where),
        accuracy=options.accuracy,
        percent=options.percent,
        on_missing=options.on_missing,
        on_repeated=options.on_repeated,
        leave_out=tuple(options.leave_out),
        diverged=_lost_names(options.diverged),
        cut_at_random=tuple(options.cut_at_random),
    )


def _lost_names(diverged: int | tuple[str, ...] | None) -> tuple[str, ...]:
    """Names of lost runs; all of them where their number is told."""
    return diverged if isinstance(diverged, tuple) else ("*",) if diverged else ()


_OPTIONS = {
    "tool": "--from",
    "run": "--run",
    "epoch": "--epoch",
    "first": "--first",
    "steps_per_epoch": "--steps-per-epoch",
    "every": "--every",
    "stages": "--stages",
    "stages_from": "--stages-from",
    "model": "--model",
    "cluster": "--cluster",
    "cluster_name": "--cluster-name",
    "where": "--where",
    "accuracy": "--accuracy",
    "percent": "--percent",
    "on_missing": "--on-missing",
    "on_repeated": "--on-repeated",
    "leave_out": "--leave-out",
    "diverged": "--diverged",
    "cut_at_random": "--cut-at-random",
}
"""The option that says a choice, but for the loss."""
_RUNS = ("leave_out", "diverged", "cut_at_random")
"""What is said of single runs."""


def log_words(choices: Choices, fresh: bool = False) -> list[str]:
    """The options by which another command reads logs as these were.

    What is as it would be without its option is left out; for ``fresh`` runs so is what was trained where,
    and what is said of single runs.
    """
    return [
        "--loss",
        choices.loss,
        *_further_words(choices, ("stages", "stages_from", *_RUNS) if fresh else ()),
    ]


def _further_words(choices: Choices, but: Sequence[str] = ()) -> list[str]:
    """The same without the loss."""
    from depl.models.tool_logs.importing import Choices

    untold = Choices(choices.loss)
    found: list[str] = []
    for name, written in _OPTIONS.items():
        value = getattr(choices, name)
        if name in but or value == getattr(untold, name):
            continue
        if value is True:
            found.append(written)
            continue
        if name == "diverged":
            value = ",".join(value)
        if isinstance(value, Mapping):
            value = [f"{key}={wanted}" for key, wanted in value.items()]
        for item in value if isinstance(value, list | tuple) else (value,):
            found += [written, str(item)]
    return found


def same_runs(options: Options) -> str:
    """The runs of ``fit`` or ``diagnose`` as another command is told them, ready for a shell."""
    choices = choices_of(options)
    told = _further_words(choices) if options.loss is None else log_words(choices)
    return shlex.join([*options.traces, *told])


def imported(options: Options, paths: list[str], out: str | None) -> Imported:
    """The logs that were named, which an output must not overwrite."""
    from depl.models.tool_logs.importing import import_logs

    require_outputs([] if out is None else [out], paths)
    return import_logs(paths, choices_of(options))


def named(options: Options) -> Traces:
    """The traces of ``fit`` and ``diagnose``: logs if their loss is named, otherwise traces of depl.

    Raises
    ------
    InvalidInputError
        If logs are named without their loss; or as the readers.
    """
    from depl.instances.training.recorded import named_traces
    from depl.models.tool_logs.importing import import_logs
    from depl.models.traces.told import counted_as_lost, cut_at_random, without

    choices = choices_of(options)
    if options.loss is not None:
        return import_logs(options.traces, choices).traces
    told = _further_words(choices, _RUNS)
    if told:
        raise InvalidInputError("says how to read logs: name their loss, too, by --loss KEY", told[0])
    if len(options.traces) > 1:
        message = "traces are one file; logs of a training tool may be many: name their loss by --loss KEY"
        raise InvalidInputError(message, " ".join(options.traces))
    traces = without(named_traces(options.traces[0]), choices.leave_out)
    lost = [name for name in choices.diverged if name != "*"]
    return cut_at_random(counted_as_lost(traces, lost), choices.cut_at_random)
