"""``depl fit``: an instance from training traces and a setup, ready for ``depl solve``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.traces import fresh_words, named, of_logs, runs
from depl.models.estimation.choices import CARE
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.counting import MOST_DIVERGED

if TYPE_CHECKING:
    from depl.models.traces.table import Traces

_RESAMPLES = 99
_PARAMETERS = ("law", "residuals", "scale", "care", "confidence", "diverged", "metric", "name")
"""Of `depl.fit`, which options of the same names give."""


def _runs(text: str) -> int | tuple[str, ...]:
    """How many, or which."""
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
@given.option(
    "--template SETUP",
    "clusters, costs and target: a file as of 'depl instances new --setup', or the name of a shipped one",
    required=True,
)
@given.option("--out INSTANCE", "write the instance to this file", given.to_write, required=True)
@given.option(
    "--law affine|independent",
    "affine: with memory, fitted to the runs; independent: the paper's",
    default="affine",
)
@given.option(
    "--residuals per_run|independent", "of the affine law: kept together per run or not", default="per_run"
)
@given.option("--scale loss|log", "of the affine law; default: log, where all losses are positive")
@given.option(
    "--care Q",
    "plans never run get the margin that a share Q of plans held out did not exceed, 0 for none",
    click.FloatRange(0, 1, max_open=True),
    default=CARE,
)
@given.option(
    "--confidence C",
    "promise only plans that enough runs went through, and count as many misses as these leave "
    "possible with confidence C, such as 0.95; default: promises are right on average over all sets of "
    "runs; either for plans that these runs did not choose",
    click.FloatRange(0.5, 1, max_open=True),
)
@given.option(
    "--diverged N|NAME,...",
    "so many runs were lost in all, or those of these names and files: each counts as a miss of every "
    "plan; default: those that are known to be lost, as they diverged, or ended before others of their "
    "schedule",
    _runs,
)
@given.metric()
@given.option("--target L", "l_max instead of that of the setup", given.NUMBER)
@given.option("--name NAME", "of the instance; default: that of the setup")
@given.option(
    "--only-setup", "leave out runs that trained a model or used a cluster that the setup does not have"
)
@given.imports
@given.as_json("what was fitted")
@of_logs()
def fit(options: given.Options) -> Answer:
    """Turn training traces and a setup into an instance."""
    from depl.instances.setups import load_setup
    from depl.models.estimation.instance import runs_of_setup
    from depl.models.traces.same_runs import told_apart
    from depl.showing.runs import Fitted

    with given.inside(options.template):
        setup = load_setup(options.template)
    if options.target is not None:
        with given.inside("", {"maximum_loss": "target"}):
            setup = setup.replace_target(options.target)
    traces, name = named(options), " ".join(options.traces)
    with given.inside(name, _PARAMETERS, options.template):
        chosen = runs_of_setup(traces, setup) if options.only_setup else traces
        told = {name: getattr(options, name) for name in _PARAMETERS}
        if not isinstance(options.diverged, int):  # names, which the runs know of by now
            told["diverged"] = None
        instance = depl.fit(chosen, setup, **told)
    apart = told_apart(chosen)
    usable, reason = _verdict(chosen, options.metric)
    aside = given.written(options.out, "instance", instance)
    left_out = len(traces.runs) - len(chosen.runs)
    found = Fitted(instance, apart, usable, reason, name, options.metric, left_out)
    advice = advice_on(instance)
    told = {"following": _next(options, apart.traces), "advice": advice}
    of = {"out": options.out, "law": options.law, "advice": advice}
    return given.shown(found, True, aside, told, of)


def advice_on(instance: depl.Instance) -> Any:
    """Which runs to add; None where more of them change no promise."""
    try:
        return depl.advise(instance)
    except NotCoveredError:
        return None


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


def _next(options: given.Options, traces: Traces) -> str:
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
