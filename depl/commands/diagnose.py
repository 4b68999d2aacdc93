"""``depl diagnose``: what training traces say about the paper's laws; a verdict against them is an answer."""

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.traces import lost_runs, named, of_logs, runs, same_runs
from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.traces.metrics import TARGETS

PARTS = ("-verdict", "-loss", "-fits")
"""What follows the name of a figure."""


@given.command("""\
depl diagnose digits-alexnet                 # shipped traces
depl diagnose digits-alexnet --by model --resamples 20 --json
""")
@runs
@given.metric()
@given.option(
    "--by",
    "fit every model, every model on every cluster, or these in every schedule or run (Fig. 4)",
    given.Choice([item.value for item in FitBy]),
    default=FitBy.MODEL.value,
)
@given.option("--resamples N", "for intervals and p-values", given.COUNT, default=RESAMPLES)
@given.option("--seed S", "of the resamples", given.SEED, default=0)
@given.option("--details", "fits, tests and warnings, too; --json always holds them")
@given.figure("the verdict, and Figs. 2 and 4 of the paper", "NAME-verdict, NAME-loss and NAME-fits")
@given.as_json("fits, tests and verdict")
@of_logs()
@lost_runs
def diagnose(options: given.Options) -> Answer:
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
    files = [
        path
        for part, figure in zip(PARTS, figures, strict=True)
        for path in given.saved(figure, options.figure, part)
    ]
    return Answer(text, json=json, aside=f"drawn in {', '.join(files)}")
