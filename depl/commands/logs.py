"""Traces as commands are given them: files of depl, shipped ones, or the logs of a training tool."""

import argparse
import shlex
from collections.abc import Mapping, Sequence

from depl.commands.options import require_outputs
from depl.instances.training.recorded import named_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.traces.table import Traces
from depl.models.traces.told import (
    CUT_AT_RANDOM,
    DIVERGED,
    LEAVE_OUT,
    counted_as_lost,
    cut_at_random,
    without,
)


def choices_of(options: argparse.Namespace) -> Choices:
    """What was said of logs."""
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
    "leave_out": LEAVE_OUT,
    "diverged": DIVERGED,
    "cut_at_random": CUT_AT_RANDOM,
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
    untold = Choices(choices.loss)
    found: list[str] = []
    for name, option in _OPTIONS.items():
        value = getattr(choices, name)
        if name in but or value == getattr(untold, name):
            continue
        if value is True:
            found.append(option)
            continue
        if name == "diverged":
            value = ",".join(value)
        if isinstance(value, Mapping):
            value = [f"{key}={wanted}" for key, wanted in value.items()]
        for item in value if isinstance(value, list | tuple) else (value,):
            found += [option, str(item)]
    return found


def same_runs(options: argparse.Namespace) -> str:
    """The runs of ``fit`` or ``diagnose`` as another command is told them, ready for a shell."""
    choices = choices_of(options)
    told = _further_words(choices) if options.loss is None else log_words(choices)
    return shlex.join([*options.traces, *told])


def imported(options: argparse.Namespace, paths: list[str], out: str | None) -> Imported:
    """The logs that were named, which an output must not overwrite."""
    require_outputs([] if out is None else [out], paths)
    return import_logs(paths, choices_of(options))


def named(options: argparse.Namespace) -> Traces:
    """The traces of ``fit`` and ``diagnose``: logs if their loss is named, otherwise traces of depl.

    Raises
    ------
    InvalidInputError
        If logs are named without their loss; or as the readers.
    """
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
