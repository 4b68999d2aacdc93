"""``depl diagnose``: what training traces say about the paper's laws; a verdict against them is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.inputs import figure_files, of_runs, require_outputs, saved
from depl.commands.logs import lost_runs, of_logs, traces
from depl.commands.options import COUNT, SEED, Choice, Options, command, option
from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.traces.metrics import TARGETS

if TYPE_CHECKING:
    import numpy as np

    from depl.models.estimation.combinations import TracesFit
    from depl.models.estimation.diagnosis import Diagnosis
    from depl.models.estimation.facts import Facts
    from depl.models.traces.table import Traces

PARTS = ("verdict", "loss", "fits")
"""What is drawn with ``--figure``."""


@command(
    examples="""\
depl diagnose digits-alexnet                 # shipped traces
depl diagnose digits-alexnet --by model --resamples 20 --json
"""
)
@traces
@given.metric()
@option(
    "--by",
    "fit every model, every model on every cluster, or these in every schedule or run (Fig. 4)",
    Choice([item.value for item in FitBy]),
    default=FitBy.MODEL.value,
)
@option("--resamples N", "for intervals and p-values", COUNT, default=RESAMPLES)
@option("--seed S", "of the resamples", SEED, default=0)
@option("--details", "fits, tests and warnings, too; --json always holds them")
@given.figure("the verdict, and Figs. 2 and 4 of the paper", "NAME-verdict, NAME-loss and NAME-fits")
@given.as_json("fits, tests and verdict")
@of_logs()
@lost_runs
def diagnose(options: Options) -> Answer:
    """Fit the paper's laws to training traces and say whether they may be used."""
    import numpy as np

    from depl.commands.logs import named, same_runs
    from depl.models.estimation.combinations import fit_traces
    from depl.models.estimation.diagnosis import diagnose as diagnosed
    from depl.models.traces.same_runs import told_apart
    from depl.showing import json_of, view

    if options.figure is not None:
        drawn = [file for kind in PARTS for file in figure_files(options.figure, f"-{kind}")]
        require_outputs(drawn, options.traces)
    traces, by = named(options), FitBy(options.by)
    runs = same_runs(options) + ("" if options.metric == TARGETS[0] else f" --metric {options.metric}")
    options.traces = " ".join(options.traces)
    rng = np.random.default_rng(options.seed)
    with of_runs(options.traces, ("metric", "resamples")):
        found = diagnosed(traces, rng, options.metric, options.resamples)
        traces = told_apart(traces).once_per_schedule
        fit = found.fit
        if by is not FitBy.MODEL:
            fit = fit_traces(traces, rng, by, options.metric, options.resamples)
        facts = _facts(traces, rng, options.metric) if options.details or options.json else None
    told = {"fit": fit, "facts": facts}
    text = view(found, name=options.traces, details=options.details, command=runs, **told).text()
    json = json_of(found, traces=options.traces, metric=options.metric, **told)
    return Answer(text, json=json, aside=_drawn(options, traces, found, fit, rng))


def _facts(traces: Traces, rng: np.random.Generator, metric: str) -> Facts | None:
    from depl.models.estimation.facts import LEAST_RUNS, three_facts

    if max(map(len, traces.by_schedule().values())) < LEAST_RUNS:
        return None
    return three_facts(traces, rng, metric)


def _drawn(
    options: Options,
    traces: Traces,
    found: Diagnosis,
    chosen: TracesFit,
    rng: np.random.Generator,
) -> str:
    """Draw what was asked for; p-values are those of every schedule unless ``--by`` chose other ones."""
    from depl.models.estimation.combinations import fit_traces

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
