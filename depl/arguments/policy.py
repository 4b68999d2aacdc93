"""``depl policy``: plan what a run does after every epoch, show it, and carry it out from a shell."""

import argparse
import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from depl.arguments.shared import (
    add_figure,
    add_imports,
    add_instance,
    add_json,
    add_target,
    relative_gap,
    seed,
)
from depl.models.traces.metrics import TARGETS

RUNGS = ("optimal", "static")
"""Kinds of policies; the first is the default. They are those of `depl.models.policy.result`."""

GAP, SECONDS = 0.01, 60.0
"""What is good enough, and for how long it is looked for, unless the caller says otherwise."""


DRAWN = 100_000
"""Runs that ``simulate`` draws unless the caller says otherwise."""


class Action(NamedTuple):
    """A sentence on what it does, and who declares its options."""

    help: str
    add: Callable[[argparse.ArgumentParser], None]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, action in ACTIONS.items():
        action.add(actions.add_parser(name, help=action.help))


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Declare POLICY."""
    parser.add_argument(
        "policy", metavar="POLICY", help="the path of a policy, as 'depl policy solve --out' writes it"
    )


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``solve``."""
    add_instance(parser)
    parser.add_argument("--out", metavar="POLICY.json", help="write the policy to this file")
    parser.add_argument(
        "--rung",
        choices=RUNGS,
        default=RUNGS[0],
        help="optimal: any policy; static: a fixed plan, left when the target is reached; default: optimal",
    )
    parser.add_argument(
        "--failure-cost",
        metavar="ratio|C",
        type=failure_cost,
        default="ratio",
        help="price of a run that fails; default: ratio, 1.5 times the least expected cost of a success",
    )
    parser.add_argument(
        "--gap",
        metavar="G",
        type=relative_gap,
        default=GAP,
        help="certified relative gap that is good enough; default: 1%%",
    )
    parser.add_argument(
        "--time-limit", metavar="S", type=float, default=SECONDS, help=f"seconds; default: {SECONDS:g}"
    )
    _add_policies(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show the mathematics with its numbers: price, bound and gap"
    )
    add_json(parser, "the result")
    parser.set_defaults(run="depl.commands.policy:run_solve")


def _add_policies(parser: argparse.ArgumentParser) -> None:
    """Declare which policies are allowed."""
    parser.add_argument(
        "--switch-epochs",
        metavar="K,K,...|K-K",
        type=epoch_numbers,
        help="after how many epochs model or cluster may change, such as 4,6,8 or 4-34; default: after any",
    )
    parser.add_argument(
        "--data",
        metavar="CLUSTER=D,D",
        action="append",
        type=data_of_cluster,
        help="which datasets a cluster uses; may be given for several clusters, others are not used; "
        "default: all clusters, with all data that may be used there",
    )
    parser.add_argument(
        "--abandon-at-start",
        action="store_true",
        help="a run may be given up before its first epoch, on a bad first loss",
    )


def add_show(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``show``."""
    add_policy(parser)
    parser.add_argument(
        "--details", action="store_true", help="list every state of a run by itself, and merge no epochs"
    )
    add_figure(parser, "epochs and losses, coloured by what is done there,")
    parser.add_argument(
        "--runs",
        dest="traces",
        metavar="TRACES",
        help="with --figure: draw the losses of these runs over it; a file of traces, or shipped ones",
    )
    parser.add_argument(
        "--metric", choices=TARGETS, default=TARGETS[0], help=f"of these runs; default: {TARGETS[0]}"
    )
    add_json(parser, "the policy itself")
    parser.set_defaults(run="depl.commands.policy:run_show")


def add_decide(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``decide``."""
    parser.add_argument(
        "policy",
        metavar="POLICY|PLAN",
        help="the path of a policy, as 'depl policy solve --out' writes it; with --instance that of a plan",
    )
    parser.add_argument(
        "--instance",
        metavar="INSTANCE",
        help="follow a plan of this instance, and stop once the target is reached; a name of 'depl instances "
        "list', or the path of a file",
    )
    add_target(parser)
    add_imports(parser)
    parser.add_argument(
        "--log",
        metavar="RUN.jsonl",
        required=True,
        help="the log of depl.Controller, or lines of JSON with epoch and loss, from epoch 0 on",
    )
    parser.add_argument(
        "--loss", metavar="KEY", default="loss", help="the key of the loss in such lines; default: loss"
    )
    parser.add_argument(
        "--epoch", metavar="KEY", default="epoch", help="the key of the epoch in such lines; default: epoch"
    )
    add_json(parser, "the decision")
    parser.epilog = "exit codes: 0 go on, 10 switch, 11 stop; 2 wrong usage or input"
    parser.set_defaults(run="depl.commands.policy_decide:run")


def add_check(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``check``."""
    add_instance(parser)
    add_policy(parser)
    add_json(parser, "the findings")
    parser.set_defaults(run="depl.commands.policy_checks:run_check")


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``simulate``."""
    add_instance(parser)
    add_policy(parser)
    parser.add_argument(
        "--runs", metavar="N", type=int, default=DRAWN, help=f"runs to draw; default: {DRAWN}"
    )
    parser.add_argument("--seed", metavar="S", type=seed, default=0, help="of the draws; default: 0")
    add_json(parser, "the numbers")
    parser.set_defaults(run="depl.commands.policy_checks:run_simulate")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``replay``."""
    add_policy(parser)
    parser.add_argument(
        "traces",
        metavar="RUNS",
        help="counterfactual runs (depl train --stages): a file of traces, or the name of shipped ones",
    )
    parser.add_argument(
        "--metric",
        choices=TARGETS,
        default=TARGETS[0],
        help=f"that the target is one of; default: {TARGETS[0]}",
    )
    add_json(parser, "the numbers")
    parser.set_defaults(run="depl.commands.policy_checks:run_replay")


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``schema``."""
    parser.set_defaults(run="depl.commands.policy:run_schema")


def failure_cost(text: str) -> float | str:
    """A positive number, or ``ratio``."""
    if text == "ratio":
        return text
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, or ratio, not {text!r}") from None
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, not {text}")
    return value


def data_of_cluster(text: str) -> tuple[str, tuple[str, ...]]:
    """A cluster and its datasets, as in ``edge=lidar,archive``."""
    cluster, mark, names = text.partition("=")
    found = tuple(name.strip() for name in names.split(","))
    if not mark or not cluster.strip() or not all(found):
        raise argparse.ArgumentTypeError(
            f"must be a cluster and datasets such as edge=lidar,archive, not {text!r}"
        )
    return cluster.strip(), found


_MOST_EPOCHS = 1_000_000
"""As in instances."""


def epoch_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers and ranges of them, between commas, in ascending order and each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?", part)
        if match is None:
            raise argparse.ArgumentTypeError(f"must be epochs such as 4,6,8 or 4-34, not {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last <= _MOST_EPOCHS:
            raise argparse.ArgumentTypeError(f"{part.strip()} is no range of epochs up to {_MOST_EPOCHS}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


ACTIONS: Mapping[str, Action] = {
    "solve": Action("plan a policy, and prove what it promises and how much cheaper any could be", add_solve),
    "show": Action("show a policy as rows of losses, or draw it", add_show),
    "decide": Action("decide once, from the log of a run: go on, switch or stop", add_decide),
    "check": Action("work out again, independently, what a policy claims", add_check),
    "simulate": Action("follow a policy on runs drawn from the law of its instance", add_simulate),
    "replay": Action("follow a policy on real runs that were trained for all its decisions", add_replay),
    "schema": Action("print the JSON Schema of policy files", add_schema),
}
"""All actions of the command; another one is another line."""
