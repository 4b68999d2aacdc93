"""What is asked of runs: ``traces``, ``diagnose``, ``fit`` and ``certify``.

Runs are given as files of traces, or as logs of a training tool with the name of their loss.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import Choice, F, Options, option
from depl.commands.plans import advice_on
from depl.models.estimation.choices import CARE, RESAMPLES, FitBy
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.counting import MOST_DIVERGED
from depl.models.traces.metrics import TARGETS

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
        "then p75 on far-edge; with a pattern in front, such as 'seed1*=', only of runs whose names match; "
        "default: the hyperparameter 'stages' of each run",
        multiple=True,
    ),
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

    told = options.pick(*(item.name for item in fields(Choices)))
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
    return log_words(choices_of(options), ("stages", *RUNS))


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


PARTS = ("-verdict", "-loss", "-fits")
"""What follows the name of a figure."""


@given.command("""\
depl diagnose digits-alexnet                 # shipped traces
depl diagnose digits-alexnet --by model --resamples 20 --json
""")
@runs
@given.metric()
@option(
    "--by",
    "fit every model, every model on every cluster, or these in every schedule or run (Fig. 4)",
    given.Choice([item.value for item in FitBy]),
    default=FitBy.MODEL.value,
)
@option("--resamples N", "for intervals and p-values", given.COUNT, default=RESAMPLES)
@option("--seed S", "of the resamples", given.SEED, default=0)
@option("--details", "fits, tests and warnings, too; --json always holds them")
@given.figure("the verdict, and Figs. 2 and 4 of the paper", "NAME-verdict, NAME-loss and NAME-fits")
@given.as_json("fits, tests and verdict")
@of_logs()
@lost_runs
def diagnose(options: Options) -> Answer:
    """Fit the paper's laws to training traces and say whether they may be used."""
    import numpy as np

    from depl.models.estimation.diagnosis import diagnose as diagnosed
    from depl.models.estimation.facts import LEAST_RUNS, three_facts
    from depl.models.estimation.fit import fit_traces
    from depl.models.traces.same_runs import told_apart
    from depl.showing import json_of, view

    if options.figure is not None:
        drawn = [file for part in PARTS for file in options.figure.paths(part)]
        given.require_outputs(drawn, options.traces)
    traces, by = named(options), FitBy(options.by)
    again = same_runs(options) + ("" if options.metric == TARGETS[0] else f" --metric {options.metric}")
    name, metric, resamples = " ".join(options.traces), options.metric, options.resamples
    rng = np.random.default_rng(options.seed)
    with given.inside(name, ("metric", "resamples")):
        found = diagnosed(traces, rng, metric, resamples)
        traces = told_apart(traces).once_per_schedule
        fit = found.fit if by is FitBy.MODEL else fit_traces(traces, rng, by, metric, resamples)
        enough = max(map(len, traces.by_schedule().values())) >= LEAST_RUNS
        facts = three_facts(traces, rng, metric) if enough and (options.details or options.json) else None
    text = view(found, name=name, details=options.details, command=again, fit=fit, facts=facts).text()
    json = json_of(found, traces=name, metric=metric, fit=fit, facts=facts)
    if options.figure is None:
        return Answer(text, json=json)
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.estimation import fit_figure, loss_band, verdict_figure

    if fit is found.fit:  # p-values are those of every schedule unless --by chose other ones
        fit = fit_traces(traces, rng, FitBy.SCHEDULE, metric, resamples)
    figures = verdict_figure(found), loss_band(traces, metric), fit_figure(found.fit, fit)
    saved = (given.saved(figure, options.figure, part) for part, figure in zip(PARTS, figures, strict=True))
    return Answer(text, json=json, aside=f"drawn in {', '.join(chain.from_iterable(saved))}")


_RESAMPLES = 99
_PARAMETERS = ("law", "residuals", "scale", "care", "confidence", "diverged", "metric", "name")
"""Of `depl.fit`, which options of the same names give."""


def _runs(text: str) -> int | tuple[str, ...]:
    try:
        value = int(text)
    except ValueError:
        return given.names(text)
    if not 0 <= value <= MOST_DIVERGED:
        raise click.BadParameter(f"{text} is no number of runs from 0 to {MOST_DIVERGED}")
    return value


@given.command("""\
depl fit digits-alexnet --template digits-alexnet --out mine.json   # shipped traces, shipped setup
depl instances new --setup --out setup.json                         # a commented setup to start from
depl fit runs.csv --template setup.json --out mine.json             # traces of your own in runs.csv
""")
@runs
@option(
    "--template SETUP",
    "clusters, costs and target: a file as of 'depl instances new --setup', or the name of a shipped one",
    required=True,
)
@option("--out INSTANCE", "write the instance to this file", given.to_write, required=True)
@option(
    "--law affine|independent",
    "affine: with memory, fitted to the runs; independent: the paper's",
    default="affine",
)
@option(
    "--residuals per_run|independent", "of the affine law: kept together per run or not", default="per_run"
)
@option("--scale loss|log", "of the affine law; default: log, where all losses are positive")
@option(
    "--care Q",
    "plans never run get the margin that a share Q of plans held out did not exceed, 0 for none",
    click.FloatRange(0, 1, max_open=True),
    default=CARE,
)
@option(
    "--confidence C",
    "promise only plans that enough runs went through, and count as many misses as these leave "
    "possible with confidence C, such as 0.95; default: promises are right on average over all sets of "
    "runs; either for plans that these runs did not choose",
    click.FloatRange(0.5, 1, max_open=True),
)
@option(
    "--diverged N|NAME,...",
    "so many runs were lost in all, or those of these names and files: each counts as a miss of every "
    "plan; default: those that are known to be lost, as they diverged, or ended before others of their "
    "schedule",
    _runs,
)
@given.metric()
@option("--target L", "l_max instead of that of the setup", given.NUMBER)
@option("--name NAME", "of the instance; default: that of the setup")
@given.imports
@given.as_json("what was fitted")
@of_logs()
def fit(options: Options) -> Answer:
    """Turn training traces and a setup into an instance."""
    from depl.instances.setups import load_setup
    from depl.models.traces.same_runs import told_apart
    from depl.showing.runs import Fitted

    with given.inside(options.template):
        setup = load_setup(options.template)
    if options.target is not None:
        with given.inside("", {"maximum_loss": "target"}):
            setup = setup.replace_target(options.target)
    traces, name = named(options), " ".join(options.traces)
    with given.inside(name, _PARAMETERS, options.template):
        told = options.pick(*_PARAMETERS)
        if not isinstance(options.diverged, int):  # names, which the runs know of by now
            told["diverged"] = None
        instance = depl.fit(traces, setup, **told)
    apart = told_apart(traces)
    usable, reason = _verdict(traces, options.metric)
    aside = given.written(options.out, "instance", instance)
    found = Fitted(instance, apart, usable, reason, name, options.metric)
    advice = advice_on(instance)
    told = {"following": _next(options, apart.traces), "advice": advice}
    of = {"out": options.out, "law": options.law, "advice": advice}
    return given.shown(found, True, aside, told, of)


def _verdict(traces: Traces, metric: str) -> tuple[bool | None, str]:
    """Whether the paper's laws may be used, and why not; None where the runs cannot tell."""
    import numpy as np

    from depl.models.estimation.diagnosis import diagnose
    from depl.showing.runs import REFUSED

    try:
        found = diagnose(traces, np.random.default_rng(0), metric, _RESAMPLES)
    except InvalidInputError as error:
        return None, str(error)
    reasons = (note.removeprefix(REFUSED) for note in found.warnings if note.startswith(REFUSED))
    return found.usable, next(reasons, "")


def _next(options: Options, traces: Traces) -> str:
    """The commands that lead on to a plan, and to runs that may judge it."""
    from depl.instances.training.families import FAMILIES

    family = traces.provenance.get("family", "")
    out, runs, plan = shlex.quote(options.out), "FRESH-RUNS", " --plan plan.json"
    lines = [f"depl solve {out} --out plan.json"]
    if family in FAMILIES:
        runs, plan = "fresh.csv", ""
        lines.append(f"depl train --family {family} --plan plan.json --out {runs}")
    elif options.loss is not None:
        runs = f"FRESH-LOGS {shlex.join(fresh_words(options))}"
    lines.append(f"depl certify {runs}{plan} --chosen-by {out}")
    return "What comes next:\n" + "\n".join(f"  {line}" for line in lines)


_DETECTED = """\
Runs are recognised by their losses, not by their names. Those used to choose the plan are refused under any
name, also if saved with less precision, truncated, or altered in some epochs; so is a run that the file
contains twice. Not detected are runs altered in half of their epochs or more, by more than a hundredth or
two of the spread between runs; epochs in another order, left out, or renumbered by more than one; a larger
constant added to all; averages of runs; runs of some ten epochs or fewer that are both rounded and altered;
runs used to choose the plan but not given by --chosen-by, and runs that were made but withheld. Runs with
fewer than about six different losses after training are refused as too short or too coarsely recorded: with
so few, a match cannot be distinguished from chance.
"""


@given.command(
    epilog=_DETECTED,
    examples="""\
depl solve digits-alexnet --out plan.json
depl train --family digits-alexnet --plan plan.json --out fresh.csv
depl certify fresh.csv --target 0.35 --omega 0.95 --chosen-by digits-alexnet
""",
)
@runs
@option("--target X", "l_max, what is promised; default: that of the instance in --chosen-by", given.NUMBER)
@option("--omega P", "promised probability of keeping the target; default: as --target", given.NUMBER)
@option("--confidence C", "of the certificate", given.NUMBER, default=0.95)
@option(
    "--chosen-by FILE",
    "traces that were used to choose the plan, or the instance that 'depl fit' made of them",
    multiple=True,
)
@option(
    "--plan PLAN",
    "what the runs were to train; needed unless the traces say so, as those of depl train --plan do",
)
@option(
    "--diverged NAME,...",
    "runs that diverged: they exceed the target, also where the file does not hold them",
    given.names,
)
@given.metric("what is bounded; default: as --target, or loss", None)
@given.imports
@given.as_json("the certificate")
@of_logs()
def certify(options: Options) -> Answer:
    """Prove from held-out runs, without a law, what a plan delivers."""
    from depl.models.estimation.certificate import certificate, held_out
    from depl.models.estimation.fit import schedule_label
    from depl.runs import named_choice, promised
    from depl.showing.runs import unnamed

    plan = None if options.plan is None else given.read_plan(options.plan)
    chosen = {name: named_choice(name) for name in options.chosen_by}
    instances = {name: item for name, item in chosen.items() if isinstance(item, depl.Instance)}
    name, keys = " ".join(options.traces), ("target", "omega", "metric")
    with given.inside(name, (*keys, "plan", "confidence", "diverged", "chosen_by", "loss")):
        asked, said = promised(instances, plan, options.pick(*keys))
        runs, lost = _fresh(options, plan, chosen, said), options.diverged or ()
        judges = held_out(runs, chosen.values(), plan, asked["metric"], lost)
        found = certificate(judges, asked["target"], asked["omega"], options.confidence)
    said |= {"plan": name} if plan is None else {}
    told = {"judges": judges, "traces": name, "metric": asked["metric"]}
    of = told | {"schedule": schedule_label(judges.schedule), "chosen_by": [*chosen], "taken": said}
    asked["loss"] = options.loss
    taken = [f"{what} {asked.get(what) or ''}".strip() + f" from {source}" for what, source in said.items()]
    notes = f"taken: {', '.join(taken)}" if taken else "", unnamed(judges, bool(chosen))
    return given.shown(found, found.certified, "\n".join(filter(None, notes)), told, of)


def _fresh(
    options: Options, plan: depl.Plan | None, chosen: Mapping[str, Any], said: dict[str, str]
) -> Traces:
    """The fresh runs: traces; or logs, with the loss of the runs that chose, and the stages of the plan."""
    from depl.instances.training.recorded import recorded_names
    from depl.models.estimation.instance import loss_key_of
    from depl.models.tool_logs.importing import import_logs
    from depl.models.traces.stages import HINT, told

    first = Path(options.traces[0])
    tables = first.suffix in (".csv", ".gz", ".npz") or not first.exists() or str(first) in recorded_names()
    if options.loss is None and tables:
        return named(Options(**vars(options) | {"diverged": None}))
    if options.loss is None:
        keys = {key: name for name, item in chosen.items() if (key := loss_key_of(item))}
        if len(keys) != 1:
            raise InvalidInputError("say what the logs call it; those that chose the plan do not", ".loss")
        ((options.loss, said["loss"]),) = keys.items()
    try:
        return import_logs(options.traces, choices_of(options)).traces
    except InvalidInputError as error:
        if plan is None or HINT not in error.message:
            raise
    said["stages"], stages = options.plan, (told(plan.schedule),)
    return import_logs(options.traces, replace(choices_of(options), stages=stages)).traces
