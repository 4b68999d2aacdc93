"""What ``depl diagnose`` does; `depl.arguments.diagnose` declares its options."""

import argparse

import numpy as np

from depl.commands.answer import Answer
from depl.commands.figures import saved
from depl.commands.logs import named, same_runs
from depl.commands.options import figure_files, of_runs, require_outputs
from depl.models.estimation.choices import FitBy
from depl.models.estimation.combinations import TracesFit, fit_traces
from depl.models.estimation.diagnosis import Diagnosis, diagnose
from depl.models.estimation.facts import LEAST_RUNS, Facts, three_facts
from depl.models.traces.metrics import TARGETS
from depl.models.traces.same_runs import told_apart
from depl.models.traces.table import Traces
from depl.showing import json_of, view

PARTS = ("verdict", "loss", "fits")
"""What is drawn with ``--figure``."""


def run(options: argparse.Namespace) -> Answer:
    """Fit, test and judge; a verdict against the law is an answer."""
    if options.figure is not None:
        drawn = [file for kind in PARTS for file in figure_files(options.figure, f"-{kind}")]
        require_outputs(drawn, options.traces)
    traces, by = named(options), FitBy(options.by)
    given = same_runs(options) + ("" if options.metric == TARGETS[0] else f" --metric {options.metric}")
    options.traces = " ".join(options.traces)
    rng = np.random.default_rng(options.seed)
    with of_runs(options.traces, ("metric", "resamples")):
        found = diagnose(traces, rng, options.metric, options.resamples)
        traces = told_apart(traces).once_per_schedule
        fit = found.fit
        if by is not FitBy.MODEL:
            fit = fit_traces(traces, rng, by, options.metric, options.resamples)
        facts = _facts(traces, rng, options.metric) if options.details or options.json else None
    told = {"fit": fit, "facts": facts}
    text = view(found, name=options.traces, details=options.details, command=given, **told).text()
    json = json_of(found, traces=options.traces, metric=options.metric, **told)
    return Answer(text, json=json, aside=_drawn(options, traces, found, fit, rng))


def _facts(traces: Traces, rng: np.random.Generator, metric: str) -> Facts | None:
    if max(map(len, traces.by_schedule().values())) < LEAST_RUNS:
        return None
    return three_facts(traces, rng, metric)


def _drawn(
    options: argparse.Namespace,
    traces: Traces,
    found: Diagnosis,
    chosen: TracesFit,
    rng: np.random.Generator,
) -> str:
    """Draw what was asked for; p-values are those of every schedule unless ``--by`` chose other ones."""
    if not options.figure:
        return ""
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.estimation import fit_figure, loss_band, verdict_figure

    if chosen is found.fit:
        chosen = fit_traces(traces, rng, FitBy.SCHEDULE, options.metric, options.resamples)
    figures = {
        "verdict": verdict_figure(found),
        "loss": loss_band(traces, options.metric),
        "fits": fit_figure(found.fit, chosen),
    }
    files = [path for name, figure in figures.items() for path in saved(figure, options.figure, f"-{name}")]
    return f"drawn in {', '.join(files)}"
