"""What ``traces import``, ``fit`` and ``diagnose`` may be told of logs of training tools."""

import argparse

from depl.arguments.shared import positive_count

TOOLS = ("lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "transformers", "jsonl", "csv")
"""Whose logs are read; those of `depl.models.tool_logs.points`, which comes with numpy."""


def add_logs(parser: argparse.ArgumentParser, required: bool = False) -> None:
    """Declare what says how logs are to be read; with ``required`` the loss has to be named."""
    _add_runs(parser)
    told = (
        "" if required else "; with it TRACES may be logs of a training tool, as 'depl traces import' reads"
    )
    logs = parser.add_argument_group("logs of training tools")
    logs.add_argument(
        "--loss", metavar="KEY", required=required, help=f"what the tool calls the held-out loss{told}"
    )
    logs.add_argument(
        "--from",
        dest="tool",
        choices=TOOLS,
        help="who wrote the logs; default: what the files look like",
    )
    _add_clocks(logs)
    _add_stages(logs)
    logs.add_argument(
        "--where",
        metavar="KEY=VALUE",
        type=key_and_value,
        action="append",
        default=[],
        help="read only what was logged with this value; may be given several times",
    )
    logs.add_argument("--accuracy", metavar="KEY", help="keep this accuracy, too")
    logs.add_argument("--percent", action="store_true", help="accuracies are in per cent")
    _add_rules(logs)


def _add_rules(logs: "argparse._ArgumentGroup") -> None:
    logs.add_argument(
        "--on-missing",
        choices=("refuse", "end", "drop"),
        default="refuse",
        help="of a run whose loss is missing or not finite from some epoch on: end it before, or drop it; "
        "default: refuse",
    )
    logs.add_argument(
        "--on-repeated",
        choices=("refuse", "last", "first"),
        default="refuse",
        help="of epochs that were logged again: what was trained last counts, as after a restart, or what "
        "was logged first, as before the best model is evaluated again at the end; default: refuse",
    )


def add_diverged(parser: argparse.ArgumentParser) -> None:
    """Declare which runs are lost."""
    parser.add_argument(
        "--diverged",
        metavar="NAME,...",
        type=names,
        default=(),
        help="runs that were lost, and files of such: each counts as a miss of every plan that is fitted or "
        "certified; patterns such as 'seed1*' will do",
    )


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare what is said of single runs."""
    parser.add_argument(
        "--leave-out",
        metavar="PATTERN",
        action="append",
        default=[],
        help="do not count runs, files and folders of this name, such as 'seed1*'; the provenance says so. "
        "May be given several times",
    )
    parser.add_argument(
        "--cut-at-random",
        metavar="NAME",
        action="append",
        default=[],
        help="runs of this name, such as 'seed1*', ended before others of their schedule for a reason unlike "
        "their losses, such as a limit of time; otherwise they count as misses. May be given several times",
    )


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _add_clocks(logs: "argparse._ArgumentGroup") -> None:
    logs.add_argument(
        "--run", dest="run_key", metavar="KEY", help="what names the runs, where one file holds several"
    )
    logs.add_argument(
        "--epoch",
        metavar="KEY",
        help="what tells the epoch, or the global step; 'row' counts the losses, if there is one an epoch; "
        "default: what is known of it",
    )
    logs.add_argument(
        "--first",
        type=int,
        choices=(0, 1),
        help="what the first trained epoch is called; 1: what is called 0 is the evaluation before training",
    )
    logs.add_argument(
        "--steps-per-epoch", metavar="N", type=positive_count, help="where global steps tell the epoch"
    )
    logs.add_argument(
        "--every",
        metavar="N",
        type=positive_count,
        help="the loss stands at every Nth epoch alone (validation_freq of Keras), which then is an epoch",
    )


def _add_stages(logs: "argparse._ArgumentGroup") -> None:
    logs.add_argument(
        "--stages",
        metavar="[RUNS=]STAGES",
        action="append",
        default=[],
        help="what was trained where: p50@edge:17,p75@far-edge is model p50 on cluster edge for 17 "
        "epochs, then p75 on far-edge; with a pattern in front, such as 'seed1*=', only of runs whose names "
        "match; may be given several times",
    )
    logs.add_argument(
        "--stages-from",
        choices=("hparams",),
        help="the same from the hyperparameter 'stages' of each run",
    )
    logs.add_argument(
        "--model",
        metavar="KEY",
        help="what tells the model of each epoch, or a hyperparameter of the run; default: model",
    )
    logs.add_argument("--cluster", metavar="KEY", help="the same of its cluster; default: cluster")
    logs.add_argument("--cluster-name", metavar="NAME", help="the one cluster that all runs trained on")


def key_and_value(text: str) -> tuple[str, str]:
    """A key, an equals sign and a value."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, such as split=val, not {text!r}")
    return key, value
