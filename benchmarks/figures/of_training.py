"""Figs. 2 and 4 of the paper from the shipped training traces, with their numbers.

The paper's traces are not public. These are of networks of the same two families, trained by FedAvg on
scikit-learn's digits (`docs/traces.rst`), so what is reproduced is the kind of figure, not its values.
"""

from collections.abc import Iterator

import numpy as np

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.figures.estimation_figures import TAIL, fit_figure, loss_band, p_values, trace_curves
from depl.benchmarks.figures.of_drawing import Drawing, add_footer
from depl.benchmarks.measure.provenance import here
from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.estimation.combinations import TracesFit, fit_traces
from depl.models.traces.table import Traces

FAMILIES = ("digits-alexnet", "digits-mobilenet")
"""The shipped families that stand for the paper's two."""


def training_drawings(
    family: str, traces: Traces, rng: np.random.Generator, resamples: int = RESAMPLES
) -> list[Drawing]:
    """Loss bands of the two most frequent plans (Fig. 2); ratios, p-values and jumps with fits (Fig. 4).

    Parameters
    ----------
    family : str
        Names the files.
    traces : Traces
    rng : numpy.random.Generator
        For the bootstrap p-values.
    resamples : int
        For every p-value.

    Raises
    ------
    InvalidInputError
        If no improvement of a model varies, so that nothing was fitted.
    """
    by_model = fit_traces(traces, rng, FitBy.MODEL, resamples=resamples)
    by_schedule = fit_traces(traces, rng, FitBy.SCHEDULE, resamples=resamples)
    loss = Drawing(
        f"{family}-training-loss",
        f"{family}: mean test loss of two plans, {float(TAIL):.0%} to {float(1 - TAIL):.0%} shaded (Fig. 2).",
        loss_band(traces),
        loss_table(traces),
    )
    fits = Drawing(
        f"{family}-training-fits",
        f"{family}: ratios x with fitted laws, p-values of all schedules, jumps at a switch (as Fig. 4).",
        fit_figure(by_model, by_schedule),
        fit_table(by_model, by_schedule),
    )
    for drawing in (loss, fits):
        add_footer(drawing.figure, f"traces {family}, {len(traces.runs)} runs; {here().source_words}")
    return [loss, fits]


def loss_table(traces: Traces) -> Table:
    """Mean and band after every epoch of the plans that Fig. 2 shows."""
    rows = [
        (curve.label, *point)
        for curve in trace_curves(traces)
        for point in zip(curve.epochs, curve.mean, curve.lower, curve.upper, strict=True)
    ]
    return Table(("plan", "epoch", "mean", "lower", "upper"), tuple(rows))


def fit_table(by_model: TracesFit, by_schedule: TracesFit) -> Table:
    """What the panels of Fig. 4 show."""
    return Table(("panel", "name", "value"), tuple(_fit_rows(by_model, by_schedule)))


def _fit_rows(by_model: TracesFit, by_schedule: TracesFit) -> Iterator[tuple[Cell, ...]]:
    """What the three panels draw: every value, and the parameters of the fitted laws."""
    fits = {str(key): fit for key, fit in by_model.improvements.items() if fit.laws}
    model, fit = max(fits.items(), key=lambda item: item[1].ratios.size)
    yield from (("ratio", model, value) for value in fit.ratios.tolist())
    for law in fit.laws:
        yield from (("law of ratios", f"{law.family} {name}", value) for name, value in law.parameters)
    for kind, values in p_values(by_schedule).items():
        yield from (("p-value", kind, value) for value in values)
    if by_model.jumps:
        (before, after), jump = max(by_model.jumps.items(), key=lambda item: item[1].jumps.size)
        yield from (("jump", f"{before} to {after}", value) for value in jump.jumps.tolist())
        for law in jump.laws:
            yield from (("law of jumps", f"{law.family} {name}", value) for name, value in law.parameters)
