"""``depl fit``: an instance from training traces and a setup, ready for ``depl solve``."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.inputs import inside, of_runs, require_outputs
from depl.commands.json_text import as_json
from depl.commands.logs import of_logs, traces
from depl.commands.options import NUMBER, SETUPS, Options, command, names, option
from depl.commands.table import fields
from depl.models.estimation.choices import CARE
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.counting import MOST_DIVERGED
from depl.models.traces.metrics import TARGETS

if TYPE_CHECKING:
    from depl.models.estimation.setup import Setup
    from depl.models.problem.instance import Instance
    from depl.models.problem.traced_law import TracedLaw
    from depl.models.traces.same_runs import ToldApart
    from depl.models.traces.stages import StageRuns
    from depl.models.traces.table import Traces

SCALES = ("loss", "log")
_RESAMPLES = 99
_PARAMETERS = ("law", "residuals", "scale", "care", "confidence", "diverged", "metric", "name")
"""Of `depl.models.estimation.instance.fit_instance`, which options of the same names give."""


def _runs(text: str) -> int | tuple[str, ...]:
    """How many, or which."""
    try:
        value = int(text)
    except ValueError:
        return names(text)
    if not 0 <= value <= MOST_DIVERGED:
        raise click.BadParameter(f"{text} is no number of runs from 0 to {MOST_DIVERGED}")
    return value


@command(
    examples="""\
depl fit digits-alexnet --template digits-alexnet --out mine.json   # shipped traces, shipped setup
depl instances new --setup --out setup.json                         # a commented setup to start from
depl fit runs.csv --template setup.json --out mine.json             # traces of your own in runs.csv
"""
)
@traces
@option(
    "--template SETUP",
    "clusters, costs and target: a file as of 'depl instances new --setup', or the name of a shipped one",
    required=True,
    shell_complete=SETUPS,
)
@option("--out INSTANCE", "write the instance to this file", required=True)
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
    "possible with confidence C, such as 0.95; default: promises are right on average over sets of runs",
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
@option("--target L", "l_max instead of that of the setup", NUMBER)
@option("--name NAME", "of the instance; default: that of the setup")
@option("--only-setup", "leave out runs that trained a model or used a cluster that the setup does not have")
@given.imports
@given.as_json("what was fitted")
@of_logs()
def fit(options: Options) -> Answer:
    """Turn training traces and a setup into an instance."""
    from depl.commands.logs import named
    from depl.fitting import fit
    from depl.instances.setups import load_setup
    from depl.models.estimation.instance import runs_of_setup
    from depl.models.foundation.documents import write_text
    from depl.models.traces.same_runs import told_apart

    require_outputs([options.out], [*options.traces, options.template])
    with inside(options.template):
        setup = load_setup(options.template)
    if options.target is not None:
        setup = _retargeted(setup, options.target)
    traces = named(options)
    options.traces = " ".join(options.traces)
    with of_runs(options.traces, _PARAMETERS, options.template):
        chosen = runs_of_setup(traces, setup) if options.only_setup else traces
        told = {name: getattr(options, name) for name in _PARAMETERS}
        if not isinstance(options.diverged, int):  # names, which the runs know of by now
            told["diverged"] = None
        instance = fit(chosen, setup, **told)
    apart = told_apart(chosen)
    usable, verdict = _verdict(chosen, options.metric)
    write_text(options.out, instance.to_json())
    content = _content(options, apart, instance, usable, verdict)
    content["left_out"] = len(traces.runs) - len(chosen.runs)
    text = _text(options, apart, instance, content)
    return Answer(text, json=as_json(content), aside=f"instance written to {options.out}")


def _retargeted(setup: Setup, target: float) -> Setup:
    try:
        return setup.replace_target(target)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, "--target") from error


def _verdict(traces: Traces, metric: str) -> tuple[bool | None, str]:
    """Whether the paper's laws may be used, and why not; None where the runs cannot tell."""
    import numpy as np

    from depl.models.estimation.diagnosis import diagnose
    from depl.showing.diagnoses import REFUSED

    try:
        found = diagnose(traces, np.random.default_rng(0), metric, _RESAMPLES)
    except InvalidInputError as error:
        return None, str(error)
    reasons = (note.removeprefix(REFUSED) for note in found.warnings if note.startswith(REFUSED))
    return found.usable, next(reasons, "")


def _text(options: Options, apart: ToldApart, instance: Instance, content: dict[str, Any]) -> str:
    from depl.models.foundation.wording import counted, number, probability
    from depl.showing.diagnoses import stage_listing
    from depl.showing.parts import Section

    traces, target = apart.traces, instance.target
    plans = counted(content["schedules"], "schedule")
    left_out = f"; {content['left_out']} left out" if content["left_out"] else ""
    pairs = [
        (instance.name, f"fitted to {options.traces}"),
        ("runs", f"{len(traces.runs)}, of {plans}{left_out}"),
        *apart.said(),
        ("models", ", ".join(content["models"])),
        ("law", _law(options, instance)),
        *_counted(instance),
        (
            "promise",
            f"{probability(target.quantile_level)}-quantile of the final {options.metric} at most "
            f"{number(target.maximum_loss)}, from {_start(instance)}",
        ),
        ("lost runs", _lost(traces, instance)),
        *_told_of_runs(traces),
        ("independent law", _told(content)),
    ]
    parts = [fields(pairs)]
    if content["stages"]:
        parts.append(Section("Stages inside the support of the runs:", stage_listing(_stages(apart))).text())
    parts.append(_next(options, traces, instance))
    return "\n\n".join(parts)


def _stages(apart: ToldApart) -> tuple[StageRuns, ...]:
    from depl.models.traces.stages import stage_runs

    return stage_runs(apart.traces, apart.origins)


def _start(instance: Instance) -> str:
    """The loss before training, or why it is not known."""
    from depl.models.foundation.wording import number

    if instance.rules.known_start:
        return number(instance.target.initial_loss)
    return "l(1) on as it was seen: runs were not evaluated before training"


def _law(options: Options, instance: Instance) -> str:
    if instance.traced_law is None:
        return "independent improvements and switches, as in the paper"
    kept = "kept per run" if options.residuals == "per_run" else "independent"
    of = "" if instance.traced_law.scale == SCALES[0] else f" of the logarithm of the {options.metric}"
    return f"affine{of}, residuals {kept}"


def _counted(instance: Instance) -> list[tuple[str, str]]:
    """How runs count in promises, and what becomes of plans that were never run."""
    from depl.models.evaluation.traced_counting import runs_to_carry
    from depl.models.foundation.wording import counted, probability

    traced = instance.traced_law
    if traced is None or traced.residuals != "per_run":
        return [] if traced is None else [("never run", _never_run(traced))]
    level = instance.target.quantile_level
    needed = runs_to_carry(level, traced.confidence, traced.diverged)
    lost = f"{traced.diverged} that diverged or were lost" if traced.diverged else ""
    if traced.confidence is None:
        misses = f"{lost} and one more as misses" if lost else "one more as a miss"
        sense = f"marginal: right on average over sets of runs, each n of a plan with {misses}"
    else:
        sense = f"with confidence {probability(traced.confidence)} for each plan"
        sense += f", each n runs of it with {lost} as misses" if lost else ""
    most = max((len(rows) for rows in traced.law.beginnings.values()), default=0)
    carry = (
        f"{counted(needed, 'run')} of one plan {'carries' if needed == 1 else 'carry'} {probability(level)}"
    )
    enough = f"{carry}, here at most {most} went through one"
    return [("promises", sense), ("runs", enough), ("never run", _never_run(traced))]


def _lost(traces: Traces, instance: Instance) -> str:
    """How runs that diverged or were lost are counted, or that there are none."""
    from depl.models.foundation.wording import counted
    from depl.models.traces.lost import listed

    if instance.traced_law is None or not instance.traced_law.diverged:
        return (
            "none counted: promises are for runs that do not diverge; say --diverged N if N runs did, or let "
            "depl certify count them"
        )
    lost = counted(instance.traced_law.diverged, "run")
    known = f": {listed(traces.lost)}" if traces.lost else ""
    return f"{lost}, each counted as a miss of every plan, and in every stage of a plan never run{known}"


def _told_of_runs(traces: Traces) -> list[tuple[str, str]]:
    """What was said of single runs, and is believed."""
    from depl.models.traces.lost import AT_RANDOM, LEFT_OUT, ledger, listed

    found = [(key, ledger(traces.provenance, key)) for key in (LEFT_OUT, AT_RANDOM)]
    names = {LEFT_OUT: "left out", AT_RANDOM: "cut at random"}
    return [(names[key], f"{len(runs)}, as told: {listed(runs)}") for key, runs in found if runs]


def _never_run(traced: TracedLaw) -> str:
    """What plans that were never run are kept away from the target, or why they are refused."""
    from statistics import median

    from depl.models.evaluation.traced_loss import only_whole_runs
    from depl.models.foundation.wording import number

    if traced.only_whole_runs:
        return f"refused: {only_whole_runs(traced)}"
    if not traced.deviations:
        return (
            "NO margin, as asked: the law flatters plans that a solver picks, and promises for them are bold"
        )
    shown = [
        number(value) if traced.scale == SCALES[0] else f"{number(100 * math.expm1(value), 3)} %"
        for value in (median(traced.deviations), max(traced.deviations))
    ]
    return f"plans that too few runs went through are taken to end {shown[0]} higher, at worst {shown[1]}"


def _told(content: dict[str, Any]) -> str:
    usable, reason = content["independent_law_usable"], content["reason"]
    if usable is None:
        return f"not judged: {reason}"
    if usable:
        return "may be used"
    return f"must NOT be used: {reason}"


def _next(options: Options, traces: Traces, instance: Instance) -> str:
    """The commands that lead on to a plan, and to runs that may judge it."""
    from depl.commands.logs import choices_of, log_words
    from depl.instances.training.families import FAMILIES

    target, family = instance.target, traces.provenance.get("family", "")
    out, runs, plan = shlex.quote(options.out), "FRESH-RUNS", " --plan plan.json"
    lines = [f"depl solve {out} --out plan.json"]
    if family in FAMILIES:
        runs, plan = "fresh.csv", ""
        lines.append(f"depl train --family {family} --plan plan.json --out {runs}")
    elif options.loss is not None:
        runs, told = "fresh.csv", shlex.join(log_words(choices_of(options), fresh=True))
        told += " --stages STAGES-OF-THE-PLAN" if options.stages else ""  # elsewhere the logs say it
        lines.append(f"depl traces import FRESH-LOGS {told} --out {runs}")
    metric = "" if options.metric == TARGETS[0] else f" --metric {options.metric}"
    asked = f"--target {target.maximum_loss!r} --omega {target.quantile_level!r}"  # as given: it is a command
    lines.append(f"depl certify {runs} {asked}{metric}{plan} --chosen-by {out}")
    return "What comes next:\n" + "\n".join(f"  {line}" for line in lines)


def _content(
    options: Options, apart: ToldApart, instance: Instance, usable: bool | None, reason: str
) -> dict[str, Any]:
    from depl.models.traces.lost import AT_RANDOM, LEFT_OUT, ledger

    traces, traced = apart.traces, instance.traced_law
    return {
        "out": options.out,
        "instance": instance.name,
        "fingerprint": instance.fingerprint,
        "traces": options.traces,
        "metric": options.metric,
        "law": options.law,
        "residuals": None if traced is None else traced.residuals,
        "scale": None if traced is None else traced.scale,
        "deviations": None if traced is None else list(traced.deviations),
        "confidence": None if traced is None else traced.confidence,
        "never_run_refused": None if traced is None else traced.only_whole_runs,
        "diverged": None if traced is None else traced.diverged,
        "lost": traces.lost,
        "left_out_by_name": ledger(traces.provenance, LEFT_OUT),
        "cut_at_random": list(ledger(traces.provenance, AT_RANDOM)),
        "runs": len(traces.runs),
        "schedules": len(traces.by_schedule()),
        "same_runs": {item.run: item.other for item in apart.repeats},
        "dependent_runs": {item.run: item.other for item in apart.forks},
        "models": [model.name for model in instance.models],
        "clusters": [cluster.name for cluster in instance.clusters],
        "stages": [] if traced is None else [asdict(item) for item in _stages(apart)],
        "independent_law_usable": usable,
        "reason": reason,
    }
