"""``depl policy``: plan what a run does after every epoch, show it, and carry it out from a shell."""

import json
import math
import re

import click

import depl
from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode, code_of
from depl.commands.options import Group, Options, argument, option
from depl.models.foundation.errors import InvalidInputError

policy = Group(
    "policy",
    help="Plan what a run does after every epoch, and carry it out.",
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json
depl policy decide policy.json --log run.jsonl               # exit code 0 go on, 10 switch, 11 stop
""",
)
_policy = argument("POLICY", "the path of a policy, as 'depl policy solve --out' writes it")
_MOST_EPOCHS = 1_000_000
"""As in instances."""
_CODES = {"continue": ExitCode.ANSWERED, "switch": ExitCode.SWITCH, "stop": ExitCode.STOP}


def failure_cost(text: str) -> float | str:
    """A positive number, or ``ratio``."""
    value = float(text) if given.is_number(text) else math.nan
    if text != "ratio" and not 0 < value < math.inf:
        raise click.BadParameter(f"must be a positive and finite number, or ratio, not {text!r}")
    return text if text == "ratio" else value


def data_of_cluster(text: str) -> tuple[str, tuple[str, ...]]:
    """A cluster and its datasets, as in ``edge=lidar,archive``."""
    cluster, _, datasets = (part.strip() for part in text.partition("="))
    found = tuple(name.strip() for name in datasets.split(","))
    if not cluster or not all(found):
        raise click.BadParameter(f"must be a cluster and datasets such as edge=lidar,archive, not {text!r}")
    return cluster, found


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


@policy.command("""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy solve paper-alexnet-9 --rung static --failure-cost 30
depl policy solve digits.json --switch-epochs 4,6,8-34 --time-limit 300 --json   # an instance of 'depl fit'
""")
@given.instance
@option("--out POLICY.json", "write the policy to this file", given.to_write)
@option(
    "--rung optimal|static",
    "optimal: any policy; static: a fixed plan, left when the target is reached",
    default="optimal",
)
@option(
    "--failure-cost ratio|C",
    "price of a run that fails; ratio: 1.5 times the least expected cost of a success",
    failure_cost,
    default="ratio",
)
@option("--gap G", "certified relative gap that is good enough", given.relative_gap, default="1%")
@option("--time-limit S", "seconds", given.NUMBER, default=60)
@option(
    "--switch-epochs K,K,...|K-K",
    "after how many epochs model or cluster may change, such as 4,6,8 or 4-34; default: after any",
    epoch_numbers,
)
@option(
    "--data CLUSTER=D,D",
    "which datasets a cluster uses, and others none; default: all that may be used",
    data_of_cluster,
    multiple=True,
)
@option("--abandon-at-start", "a run may be given up before its first epoch, on a bad first loss")
@given.as_json("the result")
def solve(options: Options) -> Answer:
    """Plan a policy, and prove what it promises and how much cheaper any could be."""
    from depl.commands.progress import following

    instance, data = given.read_instance(options), dict(options.data)
    clusters = [cluster for cluster, _ in options.data]
    for cluster in clusters:
        if clusters.count(cluster) > 1:
            raise InvalidInputError(f"names cluster {cluster!r} twice", "--data")
    asked = options.pick("failure_cost", "gap", "time_limit", "switch_epochs", "abandon_at_start")
    with following(f"{options.rung} policy", instance.units, "policy") as told:
        asked |= {"data": data or None, "progress": told.get("progress")}
        result = depl.solve_policy(instance, options.rung, **asked)
    return given.answer(
        result,
        code_of(result.termination.value, result.policy is not None),
        options,
        "",
        lambda: given.written(options.out, "policy", result.policy),
    )


@policy.command("""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy show policy.json --figure map    # into map.png and map.svg
depl policy show policy.json --details
""")
@_policy
@option("--details", "list every state of a run by itself, and merge no epochs")
@given.figure("epochs and losses, coloured by what is done there,")
@given.as_json("the policy itself")
def show(options: Options) -> Answer:
    """Show a policy as rows of losses, or draw it."""
    policy = given.read(depl.Policy, options.policy)
    aside = given.drawn(options.figure, "policy", lambda: depl.plot.policy(policy)[0])
    return given.shown(policy, aside=aside, told={"details": options.details})


@policy.command("""\
depl policy schema
depl policy schema                           # > policy.schema.json
""")
def schema(options: Options) -> Answer:
    """Print the JSON Schema of policy files."""
    from depl.models.problem.policy import json_schema

    return Answer(json.dumps(json_schema(), indent=2))


@policy.command(
    epilog="exit codes: 0 go on, 10 switch, 11 stop; 2 wrong usage or input",
    examples="""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
echo '{"epoch": 0, "loss": 13}' > run.jsonl
depl policy decide policy.json --log run.jsonl   # or a plan: plan.json --instance paper-alexnet-9
""",
)
@argument(
    "POLICY|PLAN",
    "the path of a policy, as 'depl policy solve --out' writes it; with --instance that of a plan",
    name="policy",
)
@option(
    "--instance INSTANCE",
    "follow a plan of this instance, a name or a file, and stop once the target is reached",
)
@given.target
@given.imports
@option(
    "--log RUN.jsonl",
    "the log of depl.Controller, or lines of JSON with epoch and loss, from epoch 0 on",
    required=True,
)
@option("--loss KEY", "the key of the loss in such lines", default="loss")
@option("--epoch KEY", "the key of the epoch in such lines", default="epoch")
@given.as_json("the decision")
def decide(options: Options) -> Answer:
    """Decide once, from the log of a run: go on, switch or stop."""
    from depl.models.policy.controller import led

    if options.instance is not None:
        plan, instance = given.read_plan(options.policy), given.read_instance(options)
        controller = depl.Controller(plan, instance=instance)
    elif options.target is not None:
        raise InvalidInputError("chooses the instance of a plan: name it, too, by --instance", "--target")
    else:
        controller = depl.Controller(options.policy)
    led(controller, options.log, options.loss, options.epoch)
    decision = controller.decision
    if decision is None:
        message = "holds no loss yet; the first one is that before the first epoch"
        raise InvalidInputError(message, options.log)
    content = {
        "decision": decision.kind,
        **{name: getattr(decision, name, None) for name in ("model", "cluster", "reason")},
        "epoch": controller.epoch,
        "loss": decision.loss if math.isfinite(decision.loss) else None,
        "ledger": controller.ledger,
        "cost": controller.cost,
        "why": controller.why(),
    }
    return Answer(controller.why(), _CODES[decision.kind], json.dumps(content))


@policy.command("""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy check paper-alexnet-9 policy.json
""")
@given.instance
@_policy
@given.as_json("the findings")
def check(options: Options) -> Answer:
    """Work out again, independently, what a policy claims."""
    report = depl.evaluate_policy(given.read_instance(options), given.read(depl.Policy, options.policy))
    return given.shown(report, report.ok)


@policy.command("""\
depl policy solve paper-alexnet-9 --gap 5% --out policy.json
depl policy simulate paper-alexnet-9 policy.json --runs 10000 --seed 0
""")
@given.instance
@_policy
@option("--runs N", "runs to draw", given.WHOLE, default=100_000)
@option("--seed S", "of the draws", given.SEED, default=0)
@given.as_json("the numbers")
def simulate(options: Options) -> Answer:
    """Follow a policy on runs drawn from the law of its instance; exit code 3 if they refute a claim."""
    policy = given.read(depl.Policy, options.policy)
    found = depl.simulate(given.read_instance(options), policy, options.runs, seed=options.seed)
    claimed = policy.certificate
    told = {"claimed_cost": claimed.cost, "claimed_reached": claimed.reached}
    return given.shown(found, not found.refuted, told=told)
