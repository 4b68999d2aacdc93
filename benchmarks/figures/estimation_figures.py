"""Figs. 2 and 4 of the paper from any traces: bands of the loss, ratios, p-values, switch jumps."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.family import LossCurve, loss_evolution
from depl.benchmarks.figures.fitted_density import FittedCurve, fitted_density
from depl.benchmarks.figures.p_values import p_value_histogram
from depl.benchmarks.figures.style import make_room, panels, series_style, set_title
from depl.models.estimation.combinations import TracesFit, fit_rows
from depl.models.estimation.families import IMPROVEMENT_FAMILIES, SWITCH_FAMILIES
from depl.models.estimation.fit import FittedLaw
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

TAIL = Fraction(1, 100)
_FAMILIES = {item.name: item for item in (*IMPROVEMENT_FAMILIES, *SWITCH_FAMILIES)}


def loss_band(traces: Traces, metric: str = "loss", schedules: int = 2) -> Figure:
    """Mean and 1 to 99 % band of the runs of the most frequent schedules (Fig. 2)."""
    figure, (axes,) = panels(1)
    draw_loss_band(traces, axes, metric, schedules)
    make_room(figure)
    return figure


def draw_loss_band(traces: Traces, axes: Axes, metric: str = "loss", schedules: int = 2) -> None:
    """The same on axes that are there."""
    loss_evolution(trace_curves(traces, metric, schedules), axes=axes)
    axes.set_ylabel(metric.replace("_", " "))


def trace_curves(traces: Traces, metric: str = "loss", schedules: int = 2) -> list[LossCurve]:
    """What `loss_band` draws: for each schedule mean and quantiles after epochs 0, 1, ... [loss].

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric.
    """
    groups = sorted(traces.by_schedule().items(), key=lambda item: -len(item[1]))[:schedules]
    matrix = traces.matrix(metric)
    found = []
    for index, (schedule, rows) in enumerate(groups):
        losses = matrix[rows, : len(schedule) + 1]
        known = np.flatnonzero(np.isfinite(losses).all(axis=0))
        lower, upper = np.quantile(losses[:, known], [float(TAIL), float(1 - TAIL)], axis=0)
        stages = [f"{len(list(group))} {model}" for model, group in groupby(name for name, _ in schedule)]
        label = f"{', '.join(stages)} ({len(rows)} runs)"
        mean = losses[:, known].mean(axis=0)
        band = lower.tolist(), upper.tolist()
        found.append(LossCurve(label, known.tolist(), mean.tolist(), *band, series_style(index)))
    return found


def fit_figure(by_model: TracesFit, combinations: TracesFit) -> Figure:
    """Ratios of the model with most of them, p-values of all combinations, most frequent jump (Fig. 4).

    Parameters
    ----------
    by_model, combinations : TracesFit
        The same traces fitted by model, and every combination on its own.

    Raises
    ------
    InvalidInputError
        If no improvement of a model varies, so that nothing was fitted.
    """
    figure, axes = panels(3 if by_model.jumps else 2)
    draw_fits(by_model, combinations, axes)
    make_room(figure)
    return figure


def draw_fits(by_model: TracesFit, combinations: TracesFit, axes: Sequence[Axes]) -> None:
    """The same on axes that are there, three if there are jumps and two if there are none."""
    fits = {str(key): fit for key, fit in by_model.improvements.items() if fit.laws}
    if not fits:
        raise InvalidInputError("there is no fit to draw: no improvement varies")
    model, fit = max(fits.items(), key=lambda item: item[1].ratios.size)
    laws = [fit.law("inverse_gamma"), *([] if fit.best == "inverse_gamma" else [fit.law(fit.best)])]
    fitted_density(fit.ratios, [_curve(law, fit.ratios) for law in laws], f"ratio $x$, {model}", axes=axes[0])
    set_title(axes[0], f"improvements of {model}")
    p_value_histogram(p_values(combinations), axes[1])
    set_title(axes[1], "inverse gamma")
    if by_model.jumps:
        (before, after), jump = max(by_model.jumps.items(), key=lambda item: item[1].jumps.size)
        curves = [_curve(law, jump.jumps) for law in jump.laws]
        name = f"$\\ell^{{sw}}$, {before} to {after}"
        fitted_density(jump.jumps, curves, name, bins=20, axes=axes[2])
        set_title(axes[2], "jumps at a switch")


def p_values(fit: TracesFit) -> dict[str, list[float]]:
    """Of the inverse gamma in all combinations: as printed, honest for positive and for all ratios."""
    rows = [row for row in fit_rows(fit.improvements) if row.p_value is not None]
    return {
        "as printed": [float(row.paper_p_value or 0.0) for row in rows],
        "honest, positive ratios": [float(row.positive_p_value or 0.0) for row in rows],
        "honest, all ratios": [float(row.p_value or 0.0) for row in rows],
    }


def _curve(law: FittedLaw, values: FloatArray) -> FittedCurve:
    """The law as fitted; one that excludes values has the mass of the others."""
    family = _FAMILIES[law.family]
    parameters = np.array([[value for _, value in law.parameters]])
    mass = 1 - law.excluded / values.size
    return FittedCurve(
        law.family.replace("_", " "), lambda points: mass * family.cdf(parameters, points[None])[0]
    )
