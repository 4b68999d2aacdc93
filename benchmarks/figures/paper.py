"""The paper's figures one by one, in its layout of panels side by side.

The paper's traces are not public. Ours are of networks of the same two families, trained by FedAvg on
scikit-learn's digits (`docs/traces.rst`), so Figs. 2 and 4 reproduce the kind of figure, not its values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.figures.drawing import Drawing, add_footer
from depl.benchmarks.figures.estimation import fit_figure, loss_band, most, p_values, trace_curves
from depl.benchmarks.figures.family import Gallery
from depl.benchmarks.figures.levels import level_curves, level_points, levels_of, ratio_against_levels
from depl.benchmarks.figures.style import finished, panels, set_title
from depl.benchmarks.figures.sweeps import shown_of
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.provenance import here
from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.estimation.fit import FittedLaw, TracesFit, fit_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

_KNOWN: Mapping[int, tuple[str, str]] = {
    2: ("digits-alexnet", "evolution of the test loss of two plans"),
    4: ("digits-alexnet", "improvements and jumps with fitted laws, and p-values of all fits"),
    5: ("paper-alexnet", "AlexNet: cost, normalised expected loss, effect of eta"),
    6: ("paper-mobilenet", "MobileNet: cost, normalised expected loss, effect of eta"),
    7: ("paper-alexnet", "epochs with each model: optimal, DepL, best-exp"),
    8: ("paper-alexnet", "AlexNet: cost of each model: optimal, DepL, best-exp"),
    9: ("paper-alexnet", "AlexNet: evolution of the expected and guaranteed loss at three targets"),
}
FAMILIES: Mapping[int, str] = {number: family for number, (family, _) in _KNOWN.items()}
"""Every figure of the paper that shows numbers, with the shipped family that it is drawn from."""
TRAINING = (2, 4)
"""Figures that are drawn from traces and not from attempts."""
METHODS = ("exact", "depl", "expected-greedy")
_ROLES = ("optimal", "DepL", "best-exp")
_DIFFERS = {("DepL", "depl"): ", our loop with bounds", ("DepL", "depl-paper"): " as printed"}
"""What a reader of the paper would not expect behind its names."""
_KINDS = {7: "epochs", 8: "cost-per-model", 9: "loss"}
"""Of `depl.benchmarks.figures.family.KINDS`; Figs. 5 and 6 hold several."""
_SEED, _RESAMPLES, _COLUMNS = 20240222, 99, 3


def paper_drawing(
    number: int,
    attempts: Sequence[Attempt],
    methods: Sequence[str] = METHODS,
    family: str | None = None,
) -> Drawing:
    """One of Figs. 5 to 9, from attempts on the family of `FAMILIES` or on another one.

    They are of one suite without levels, and for Figs. 5 and 6 of one that varies them. The methods are the
    configurations in the places of the paper's *optimal*, *DepL* and *best-exp*; refused if none has a plan.
    """
    known = [place for place in FAMILIES if place not in TRAINING]
    if number not in known:
        raise InvalidInputError(f"is drawn from attempts for {', '.join(map(str, known))}", "number")
    family = family or FAMILIES[number]
    own = [item for item in attempts if item.labels.get("family") == family]
    gallery, kind = _gallery(family, own, methods), _KINDS.get(number)
    if kind is None:
        figure, table = _costs(gallery, own)
    else:
        figure, table = gallery.figure(kind, _COLUMNS), gallery.table(kind)
    return _named(number, family, finished(figure, shared=True), table)


def training_drawing(number: int, traces: Traces, family: str) -> Drawing:
    """Fig. 2, or Fig. 4; refused where nothing could be fitted."""
    return _named(number, family, *_training(number, traces, np.random.default_rng(_SEED), _RESAMPLES))


def training_drawings(
    family: str, traces: Traces, rng: np.random.Generator, resamples: int = RESAMPLES
) -> list[Drawing]:
    """The same for the report, with names of their own and a footer."""
    drawings = []
    for number, name in zip(TRAINING, ("loss", "fits"), strict=True):
        figure, table = _training(number, traces, rng, resamples)
        add_footer(figure, f"traces {family}, {len(traces.runs)} runs; {here().source_words}")
        caption = f"{family}: {_KNOWN[number][1]} (as Fig. {number})."
        drawings.append(Drawing(f"{family}-training-{name}", caption, figure, table))
    return drawings


def _gallery(family: str, attempts: Sequence[Attempt], methods: Sequence[str]) -> Gallery:
    """Of the first suite that holds a plan; legends call a method as the paper does."""
    plain = [item for item in attempts if levels_of(item) is None]
    roles = dict(zip(methods, _ROLES, strict=False))
    names = {name: f"{role}{_DIFFERS.get((role, name), '')} ({name})" for name, role in roles.items()}
    for suite in dict.fromkeys(item.task.suite for item in plain):
        own = [item for item in plain if item.task.suite == suite]
        shown = [item for item in shown_of(own, methods) if item.method in methods]
        if any(item.plan is not None for item in shown):
            ordered = sorted(shown, key=lambda item: methods.index(item.method))
            return Gallery(family, ordered, names=names)
    raise InvalidInputError(f"hold no plan of {', '.join(methods)} on the family {family!r}", "attempts")


def _named(number: int, family: str, figure: Figure, table: Table) -> Drawing:
    caption = f"Fig. {number} of the paper, {_KNOWN[number][1]}; here {family}."
    return Drawing(f"paper-figure-{number}", caption, figure, table)


def _costs(gallery: Gallery, attempts: Sequence[Attempt]) -> tuple[Figure, Table]:
    """Figs. 5 and 6."""
    curves = level_curves(level_points(attempts))
    figure, axes = panels(3 if curves else 2)
    rows: list[tuple[Cell, ...]] = []
    for kind, panel, place in (("cost", "cost", axes[0]), ("expected-loss", "loss", axes[1])):
        gallery.parts(kind)[0](place)
        rows += [(panel, method, float(str(at)), value) for method, at, value in gallery.table(kind).rows]
    if curves:
        ratio_against_levels(curves, axes[2])
        set_title(axes[2], gallery.family)
        for label, _, points in curves:
            rows += [("levels", label, float(eta), ratio) for eta, ratio, *_ in points]
    return figure, Table(("panel", "method", "at", "value"), tuple(rows))


def _training(number: int, traces: Traces, rng: np.random.Generator, resamples: int) -> tuple[Figure, Table]:
    """Fig. 2 or 4 as it is drawn, and its numbers."""
    if number == TRAINING[0]:
        rows = [
            (curve.label, *point)
            for curve in trace_curves(traces)
            for point in zip(curve.epochs, curve.mean, curve.lower, curve.upper, strict=True)
        ]
        return loss_band(traces), Table(("plan", "epoch", "mean", "lower", "upper"), tuple(rows))
    by_model = fit_traces(traces, rng, FitBy.MODEL, resamples=resamples)
    by_schedule = fit_traces(traces, rng, FitBy.SCHEDULE, resamples=resamples)
    values = tuple(_fit_rows(by_model, by_schedule))
    return fit_figure(by_model, by_schedule), Table(("panel", "name", "value"), values)


def _fit_rows(by_model: TracesFit, by_schedule: TracesFit) -> Iterator[tuple[Cell, ...]]:
    """What the three panels of Fig. 4 draw: every value, and the parameters of the fitted laws."""
    model, fit, jump = most(by_model)
    yield from (("ratio", model, value) for value in fit.ratios.tolist())
    yield from _parameters("law of ratios", fit.laws)
    for kind, values in p_values(by_schedule).items():
        yield from (("p-value", kind, value) for value in values)
    if jump is not None:
        yield from (("jump", jump[0], value) for value in jump[1].jumps.tolist())
        yield from _parameters("law of jumps", jump[1].laws)


def _parameters(panel: str, laws: Iterable[FittedLaw]) -> Iterator[tuple[Cell, ...]]:
    for law in laws:
        yield from ((panel, f"{law.family} {name}", value) for name, value in law.parameters.items())
