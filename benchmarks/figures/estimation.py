"""Figs. 2 and 4 of the paper from any traces, and whether the paper's law may be used for them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.family import LossCurve, draw_losses
from depl.benchmarks.figures.style import (
    COLOURS,
    DASHES,
    HATCHES,
    finished,
    legend_beside,
    nth,
    panels,
    plain_logarithms,
    series_style,
    set_title,
)
from depl.models.estimation.diagnosis import Diagnosis
from depl.models.estimation.families import family_of
from depl.models.estimation.fit import FittedLaw, ImprovementFit, SwitchFit, TracesFit, fit_rows
from depl.models.estimation.independence import USABLE
from depl.models.evaluation.traced_law import runs_to_carry
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

TAIL = Fraction(1, 100)
THRESHOLD = 0.05
"""Above which the paper takes a p-value for a good fit."""
_BINS, _POINTS = 20, 400
_ROW = 0.32
"""Height of a row [in]: names of ten points with as much again between them."""
_LEVEL = 0.95


def loss_band(traces: Traces, metric: str = "loss") -> Figure:
    """Mean and 1 to 99 % band of the runs of the two most frequent schedules (Fig. 2)."""
    figure, (axes,) = panels(1)
    draw_losses(axes, trace_curves(traces, metric))
    axes.set_ylabel(metric.replace("_", " "))
    return finished(figure)


def trace_curves(traces: Traces, metric: str = "loss") -> list[LossCurve]:
    """What `loss_band` draws: for each schedule mean and quantiles after epochs 0, 1, ... [loss]."""
    groups = sorted(traces.by_schedule().items(), key=lambda item: -len(item[1]))[:2]
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
    """Ratios of the model with most of them, p-values of all combinations, most frequent jump (Fig. 4)."""
    figure, axes = panels(3 if by_model.jumps else 2)
    model, fit, jump = most(by_model)
    laws = [fit.law("inverse_gamma"), *([] if fit.best == "inverse_gamma" else [fit.law(fit.best)])]
    draw_density(axes[0], fit.ratios, laws, f"ratio $x$, {model}")
    set_title(axes[0], f"improvements of {model}")
    draw_p_values(axes[1], p_values(combinations))
    set_title(axes[1], "inverse gamma")
    if jump is not None:
        name, found = jump
        draw_density(axes[2], found.jumps, found.laws, f"$\\ell^{{sw}}$, {name}", bins=_BINS)
        set_title(axes[2], "jumps at a switch")
    return finished(figure)


def most(by_model: TracesFit) -> tuple[str, ImprovementFit, tuple[str, SwitchFit] | None]:
    """What is drawn: the model with most ratios, its fit, and the most frequent switch, if there is one."""
    fits = {str(key): fit for key, fit in by_model.improvements.items() if fit.laws}
    if not fits:
        raise InvalidInputError("there is no fit to draw: no improvement varies")
    jumps = {f"{before} to {after}": jump for (before, after), jump in by_model.jumps.items()}
    switch = max(jumps.items(), key=lambda item: item[1].jumps.size) if jumps else None
    return *max(fits.items(), key=lambda item: item[1].ratios.size), switch


def p_values(fit: TracesFit) -> dict[str, list[float]]:
    """Of the inverse gamma in all combinations: as printed, honest for positive and for all ratios."""
    rows = [row for row in fit_rows(fit.improvements) if row["p_value"] is not None]
    kinds = {
        "as printed": "paper_p_value",
        "honest, positive ratios": "positive_p_value",
        "honest, all ratios": "p_value",
    }
    return {kind: [row[name] for row in rows] for kind, name in kinds.items()}


def draw_density(
    axes: Axes, values: FloatArray, laws: Sequence[FittedLaw], quantity: str, bins: int = 2 * _BINS
) -> None:
    """The empirical density of ``values`` between their 0.5th and 99.5th percentiles, and fitted laws.

    Heights count all values, so that the histogram has area below 1 where some lie outside; a law that
    excludes values has the mass of the others.
    """
    low, high = (float(end) for end in np.quantile(values, [0.005, 0.995]))
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    heights = counts / (values.size * np.diff(edges))
    axes.stairs(heights, edges, fill=True, color="0.8", label=f"observed, {values.size}")
    points = np.linspace(low, high, _POINTS + 1)
    for index, law in enumerate(laws):
        cdf = family_of(law.family).cdf(np.array([[*law.parameters.values()]]), points[None])[0]
        reached = cdf * (1 - law.excluded / values.size)
        density = np.diff(reached) / np.diff(points)
        look: dict[str, Any] = {"color": nth(COLOURS, index), "linestyle": nth(DASHES, index)}
        axes.plot((points[1:] + points[:-1]) / 2, density, label=law.family.replace("_", " "), **look)
    axes.set(xlabel=quantity, ylabel="density")
    axes.set_ylim(0, 1.1 * float(heights.max()))  # steep laws are cut off
    legend_beside(axes)


def draw_p_values(axes: Axes, groups: Mapping[str, Sequence[float]]) -> None:
    """One histogram of p-values per kind side by side; the legend adds the share above `THRESHOLD`."""
    edges = np.linspace(0, 1, _BINS + 1)
    width = (edges[1] - edges[0]) / max(len(groups), 1)
    for index, (name, values) in enumerate(groups.items()):
        counts, _ = np.histogram(values, bins=edges)
        above = np.mean(np.asarray(values) > THRESHOLD) if len(values) else 0.0
        look: dict[str, Any] = {"color": nth(COLOURS, index), "hatch": nth(HATCHES, index)}
        look |= {"label": f"{name}: {100 * above:.0f} % above {THRESHOLD:g}", "edgecolor": "white"}
        axes.bar(edges[:-1] + index * width, counts, width, align="edge", linewidth=0.3, **look)
    axes.axvline(THRESHOLD, color="black", linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, 1), xlabel="p-value", ylabel="combinations")
    legend_beside(axes)


def verdict_figure(found: Diagnosis) -> Figure:
    """Variance ratios with what will do, and the runs behind each stage with what a promise takes."""
    rows = max(len(found.stages) + 1, len(found.behind))
    figure, (ratios, runs) = panels(2, size=(5.2, 1.4 + _ROW * rows))
    _draw_ratios(found, ratios)
    _draw_runs(found, runs)
    return finished(figure)


def _draw_ratios(found: Diagnosis, axes: Axes) -> None:
    """The variance ratio of whole runs and of the stages of every model, with 95 % intervals."""
    items = [("whole runs", found.whole), *found.stages.items()]
    axes.axvspan(*USABLE, color=COLOURS[2], alpha=0.15, label=f"will do: {USABLE[0]:g} to {USABLE[1]:g}")
    axes.axvline(1, color=COLOURS[6], linewidth=0.8, linestyle=":")
    for place, (_, item) in enumerate(items):
        axes.plot([item.bounds.lower, item.bounds.upper], [place, place], color=COLOURS[0])
        axes.plot([item.variance_ratio.value], [place], "o", color=COLOURS[0])
    _named_rows(axes, [name for name, _ in items])
    plain_logarithms(axes, "x")
    axes.set_xlabel("variance over that of independent increments")
    legend_beside(axes)
    verdict = "may be used" if found.usable else "must not be used"
    set_title(axes, f"the paper's law {verdict}")


def _draw_runs(found: Diagnosis, axes: Axes) -> None:
    """The runs behind each stage, and how many of one plan carry a promise of 0.95."""
    for place, stage in enumerate(found.behind):
        axes.barh(place, stage.runs, color=COLOURS[5] if stage.first else COLOURS[4])
        axes.annotate(str(stage.runs), (stage.runs, place), (3, 0), textcoords="offset points", va="center")
    later = [(f"{stage.model}, {stage.cluster}", "" if stage.first else ", later") for stage in found.behind]
    _named_rows(axes, [name + when for name, when in later])
    axes.margins(x=0.15)
    for confidence, dash, told in ((None, "--", "on average"), (_LEVEL, "-.", "with confidence 0.95")):
        needed = runs_to_carry(_LEVEL, confidence)
        label = f"{_LEVEL:g} {told}: {needed} of one plan"
        axes.axvline(needed, color=COLOURS[6], linestyle=dash, label=label)
    axes.set_xlabel("runs")
    legend_beside(axes)
    fewest = min(stage.runs for stage in found.behind)
    set_title(axes, f"{fewest} to {max(stage.runs for stage in found.behind)} runs stand behind a stage")


def _named_rows(axes: Axes, names: Sequence[str]) -> None:
    """Rows from the top down."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
