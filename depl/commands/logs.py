"""Traces as commands are given them: files of depl, shipped ones, or the logs of a training tool."""

import argparse

from depl.commands.options import require_outputs
from depl.instances.training.recorded import named_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.traces.table import Traces

_WITH_LOSS = (
    *("tool", "run", "epoch", "first", "steps_per_epoch", "stages", "stages_from", "model", "cluster"),
    *("where", "accuracy", "percent"),
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
        stages=tuple(options.stages),
        stages_from=options.stages_from,
        model=options.model,
        cluster=options.cluster,
        where=dict(options.where),
        accuracy=options.accuracy,
        percent=options.percent,
        on_missing=options.on_missing,
        on_repeated=options.on_repeated,
    )


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
    if options.loss is not None:
        return import_logs(options.traces, choices_of(options)).traces
    for name in _WITH_LOSS:
        if getattr(options, "run_key" if name == "run" else name):
            asked = "from" if name == "tool" else name.replace("_", "-")
            raise InvalidInputError(
                "says how to read logs: name their loss, too, by --loss KEY", f"--{asked}"
            )
    if len(options.traces) > 1:
        message = "traces are one file; logs of a training tool may be many: name their loss by --loss KEY"
        raise InvalidInputError(message, " ".join(options.traces))
    return named_traces(options.traces[0])
