"""``depl policy``: plan what a run does after every epoch, show it, and carry it out from a shell."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import (
    INSTANCES,
    NUMBER,
    SEED,
    TRACES,
    Choice,
    Group,
    Options,
    Whole,
    relative_gap,
    together,
)
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from depl.models.policy.controller import Controller
    from depl.models.policy.result import PolicyResult
    from depl.models.policy.rules import Rules
    from depl.models.problem.policy import Policy


policy = Group(
    "policy",
    help="Plan what a run does after every epoch, and carry it out.",
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json
depl policy decide policy.json --log run.jsonl               # exit code 0 go on, 10 switch, 11 stop
""",
)
_policy = click.argument(
    "policy", metavar="POLICY", help="the path of a policy, as 'depl policy solve --out' writes it"
)
_MOST_EPOCHS = 1_000_000
"""As in instances."""
_CODES = {"continue": ExitCode.ANSWERED, "switch": ExitCode.SWITCH, "stop": ExitCode.STOP}


def failure_cost(text: str) -> float | str:
    """A positive number, or ``ratio``."""
    if text == "ratio":
        return text
    value = float(NUMBER(text) or 0)
    if not 0 < value < math.inf:
        raise click.BadParameter(f"must be positive and finite, not {text}")
    return value


def data_of_cluster(text: str) -> tuple[str, tuple[str, ...]]:
    """A cluster and its datasets, as in ``edge=lidar,archive``."""
    cluster, mark, names = text.partition("=")
    found = tuple(name.strip() for name in names.split(","))
    if not mark or not cluster.strip() or not all(found):
        raise click.BadParameter(f"must be a cluster and datasets such as edge=lidar,archive, not {text!r}")
    return cluster.strip(), found


def epoch_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers and ranges of them, between commas, in ascending order and each once."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?", part)
        if match is None:
            raise click.BadParameter(f"must be epochs such as 4,6,8 or 4-34, not {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last <= _MOST_EPOCHS:
            raise click.BadParameter(f"{part.strip()} is no range of epochs up to {_MOST_EPOCHS}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


_allowed = together(
    click.option(
        "--switch-epochs",
        metavar="K,K,...|K-K",
        type=epoch_numbers,
        help="after how many epochs model or cluster may change, such as 4,6,8 or 4-34; default: after any",
    ),
    click.option(
        "--data",
        metavar="CLUSTER=D,D",
        multiple=True,
        type=data_of_cluster,
        help="which datasets a cluster uses; may be given for several clusters, others are not used; "
        "default: all clusters, with all data that may be used there",
    ),
    click.option(
        "--abandon-at-start",
        is_flag=True,
        help="a run may be given up before its first epoch, on a bad first loss",
    ),
)


@policy.command(
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --explain --out policy.json
depl policy solve paper-alexnet-9 --rung static --failure-cost 30
depl policy solve digits.json --switch-epochs 4,6,8-34 --time-limit 300 --json   # an instance of 'depl fit'
"""
)
@given.instance
@click.option("--out", metavar="POLICY.json", help="write the policy to this file")
@click.option(
    "--rung",
    type=Choice(("optimal", "static")),
    default="optimal",
    help="optimal: any policy; static: a fixed plan, left when the target is reached",
)
@click.option(
    "--failure-cost",
    metavar="ratio|C",
    type=failure_cost,
    default="ratio",
    help="price of a run that fails; ratio: 1.5 times the least expected cost of a success",
)
@click.option(
    "--gap",
    metavar="G",
    type=relative_gap,
    default="1%",
    help="certified relative gap that is good enough",
)
@click.option("--time-limit", metavar="S", type=NUMBER, default=60, help="seconds")
@_allowed
@click.option("--explain", is_flag=True, help="show the mathematics with its numbers: price, bound and gap")
@given.as_json("the result")
def solve(options: Options) -> Answer:
    """Plan a policy, and prove what it promises and how much cheaper any could be."""
    from depl.commands.inputs import read_instance, require_outputs
    from depl.commands.progress import Watched
    from depl.models.policy.solve import solve_policy
    from depl.showing import json_of
    from depl.showing.policies import mathematics

    require_outputs([options.out], [options.instance])
    instance = read_instance(options)
    with Watched(f"{options.rung} policy", instance.units, "policy") as watched:
        result = solve_policy(
            instance,
            options.rung,
            failure_cost=options.failure_cost,
            gap=options.gap,
            time_limit=options.time_limit,
            data=_data(options.data),
            switch_epochs=options.switch_epochs,
            abandon_at_start=options.abandon_at_start,
            progress=watched.progress,
        )
    explanation = mathematics(result) if options.explain else ""
    text = "\n\n".join(filter(None, [str(result), explanation]))
    code, aside = exit_code(result), [explanation] if options.json and explanation else []
    if options.out:
        try:  # the answer is worth showing even if a file cannot be written after all
            aside.append(_written(result.policy, options.out))
        except InvalidInputError as error:
            code, aside = ExitCode.INVALID, [*aside, f"depl: {error}"]
    return Answer(text, code, json_of(result), "\n\n".join(filter(None, aside)))


def _data(named: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]] | None:
    """Datasets by cluster; None for all.

    Raises
    ------
    InvalidInputError
        If a cluster is named twice.
    """
    if not named:
        return None
    clusters = [cluster for cluster, _ in named]
    for cluster in clusters:
        if clusters.count(cluster) > 1:
            raise InvalidInputError(f"names cluster {cluster!r} twice", "--data")
    return dict(named)


@policy.command(
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json --figure map    # into map.png and map.svg
depl policy show policy.json --details
"""
)
@_policy
@click.option("--details", is_flag=True, help="list every state of a run by itself, and merge no epochs")
@given.figure("epochs and losses, coloured by what is done there,")
@click.option(
    "--runs",
    "traces",
    metavar="TRACES",
    shell_complete=TRACES,
    help="with --figure: draw the losses of these runs over it; a file of traces, or shipped ones",
)
@given.metric("of these runs")
@given.as_json("the policy itself")
def show(options: Options) -> Answer:
    """Show a policy as rows of losses, or draw it."""
    from depl.commands.figures import policy_figure
    from depl.commands.inputs import figure_files, require_outputs
    from depl.showing import view

    require_outputs(figure_files(options.figure), [options.policy, options.traces])
    if options.traces is not None and options.figure is None:
        raise InvalidInputError("runs are drawn over a figure; name one by --figure", "--runs")
    policy = read_policy(options.policy)
    drawn = policy_figure(options.figure, policy, options.traces, options.metric)
    text = view(policy, details=options.details).text()
    return Answer(text, json=policy.to_json().rstrip("\n"), aside=drawn)


@policy.command(
    examples="""\
depl policy schema
depl policy schema                           # > policy.schema.json
"""
)
def schema(options: Options) -> Answer:
    """Print the JSON Schema of policy files."""
    from depl.models.problem.policy import json_schema

    return Answer(json.dumps(json_schema(), indent=2))


def read_policy(path: str) -> Policy:
    """The policy in a file.

    Raises
    ------
    InvalidInputError
        With the file in front of the place inside it.
    """
    from depl.commands.inputs import inside
    from depl.models.foundation.documents import read_text
    from depl.models.problem.policy import Policy

    with inside(path):
        return Policy.from_json(read_text(path))


def exit_code(result: PolicyResult) -> ExitCode:
    """What an outcome means to the shell."""
    from depl.models.solving.result import Termination

    if result.termination is Termination.INFEASIBLE:
        return ExitCode.INFEASIBLE
    if result.policy is None:
        return ExitCode.NOTHING
    stopped = result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _written(policy: Policy | None, path: str) -> str:
    from depl.models.foundation.documents import write_text

    if policy is None:
        return f"{path} not written: there is no policy"
    write_text(path, policy.to_json())
    return f"policy written to {path}"


@policy.command(
    epilog="exit codes: 0 go on, 10 switch, 11 stop; 2 wrong usage or input",
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
echo '{"epoch": 0, "loss": 13}' > run.jsonl
depl policy decide policy.json --log run.jsonl   # or a plan: plan.json --instance paper-alexnet-9
""",
)
@click.argument(
    "policy",
    metavar="POLICY|PLAN",
    help="the path of a policy, as 'depl policy solve --out' writes it; with --instance that of a plan",
)
@click.option(
    "--instance",
    metavar="INSTANCE",
    shell_complete=INSTANCES,
    help="follow a plan of this instance, and stop once the target is reached; a name of 'depl instances "
    "list', or the path of a file",
)
@given.target
@given.imports
@click.option(
    "--log",
    metavar="RUN.jsonl",
    required=True,
    help="the log of depl.Controller, or lines of JSON with epoch and loss, from epoch 0 on",
)
@click.option("--loss", metavar="KEY", default="loss", help="the key of the loss in such lines")
@click.option("--epoch", metavar="KEY", default="epoch", help="the key of the epoch in such lines")
@given.as_json("the decision")
def decide(options: Options) -> Answer:
    """Decide once, from the log of a run: go on, switch or stop."""
    from depl.models.policy.controller import led

    controller = led(_followed(options), options.log, options.loss, options.epoch)
    decision = controller.decision
    if decision is None:
        raise InvalidInputError(
            "holds no loss yet; the first one is that before the first epoch", options.log
        )
    return Answer(controller.why(), _CODES[decision.kind], json.dumps(_decision_content(controller)))


def _followed(options: Options) -> str | Rules:
    """The path of a policy, or the rules of a plan of the instance that is named.

    Raises
    ------
    InvalidInputError
        If one of them cannot be read, they do not belong together, or a target is named without an instance.
    """
    if options.instance is None:
        if options.target is not None:
            raise InvalidInputError("chooses the instance of a plan: name it, too, by --instance", "--target")
        return str(options.policy)
    from depl.commands.inputs import read_instance, read_plan
    from depl.models.policy.followed_plan import plan_rules

    return plan_rules(read_plan(options.policy), read_instance(options))


def _decision_content(controller: Controller) -> dict[str, object]:
    from depl.models.policy.decisions import Stop

    decision = controller.decision
    return {
        "decision": None if decision is None else decision.kind,
        "model": getattr(decision, "model", None),
        "cluster": getattr(decision, "cluster", None),
        "reason": decision.reason if isinstance(decision, Stop) else None,
        "epoch": controller.epoch,
        "loss": decision.loss if decision is not None and math.isfinite(decision.loss) else None,
        "ledger": controller.ledger,
        "cost": controller.cost,
        "why": controller.why(),
    }


@policy.command(
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy check paper-alexnet-9 policy.json
"""
)
@given.instance
@_policy
@given.as_json("the findings")
def check(options: Options) -> Answer:
    """Work out again, independently, what a policy claims."""
    from depl.commands.inputs import read_instance
    from depl.models.verifier.policies import verify_policy
    from depl.showing import json_of, view

    report = verify_policy(read_instance(options), read_policy(options.policy))
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    return Answer(view(report).text(), code, json_of(report))


@policy.command(
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy simulate paper-alexnet-9 policy.json --runs 10000 --seed 0
"""
)
@given.instance
@_policy
@click.option("--runs", metavar="N", type=Whole(), default=100_000, help="runs to draw")
@click.option("--seed", metavar="S", type=SEED, default=0, help="of the draws")
@given.as_json("the numbers")
def simulate(options: Options) -> Answer:
    """Follow a policy on runs drawn from the law of its instance; exit code 3 if they refute a claim."""
    from depl.commands.inputs import read_instance
    from depl.models.policy.simulation import simulate as simulated
    from depl.showing import json_of, view

    policy = read_policy(options.policy)
    found = simulated(read_instance(options), policy, options.runs, seed=options.seed)
    claimed = policy.certificate
    code = ExitCode.INFEASIBLE if found.refuted else ExitCode.ANSWERED
    text = view(found, claimed_cost=claimed.cost, claimed_reached=claimed.reached).text()
    return Answer(text, code, json_of(found))


@policy.command(
    examples="""\
depl policy solve digits.json --switch-epochs 4-34 --out policy.json   # an instance of 'depl fit'
depl policy replay policy.json runs.csv      # runs named SEED/SWITCH: every switch of a seed
"""
)
@_policy
@click.argument(
    "traces",
    metavar="RUNS",
    shell_complete=TRACES,
    help="counterfactual runs (depl train --stages): a file of traces, or the name of shipped ones",
)
@given.metric("that the target is one of")
@given.as_json("the numbers")
def replay(options: Options) -> Answer:
    """Follow a policy on real runs that were trained for all its decisions."""
    from depl.instances.training.recorded import named_traces
    from depl.models.policy.replay import replay as replayed
    from depl.showing import json_of, view

    policy = read_policy(options.policy)
    found = replayed(policy, named_traces(options.traces), options.metric)
    return Answer(view(found, claimed_cost=policy.certificate.cost).text(), json=json_of(found))
