"""The paper's figures one by one, in its layout: panels side by side, or one below the other in a column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.estimation_figures import draw_fits, draw_loss_band
from depl.benchmarks.figures.legends import make_room, set_title, shared_legend
from depl.benchmarks.figures.of_attempts import shown_of
from depl.benchmarks.figures.of_drawing import Drawing
from depl.benchmarks.figures.of_family import Gallery
from depl.benchmarks.figures.of_instances import Instances
from depl.benchmarks.figures.of_levels import level_curves, level_points, levels_of
from depl.benchmarks.figures.of_training import fit_table, loss_table
from depl.benchmarks.figures.ratio_against_levels import ratio_against_levels
from depl.benchmarks.measure.attempt import Attempt
from depl.models.estimation.choices import FitBy
from depl.models.estimation.combinations import fit_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

FAMILIES: Mapping[int, str] = {
    2: "digits-alexnet",
    4: "digits-alexnet",
    5: "paper-alexnet",
    6: "paper-mobilenet",
    7: "paper-alexnet",
    8: "paper-alexnet",
    9: "paper-alexnet",
}
"""Every figure of the paper that shows numbers, with the shipped family that it is drawn from."""

SHOWS: Mapping[int, str] = {
    2: "evolution of the test loss of two plans",
    4: "improvements and jumps with fitted laws, and p-values of all fits",
    5: "AlexNet: cost, normalised expected loss, effect of eta",
    6: "MobileNet: cost, normalised expected loss, effect of eta",
    7: "epochs with each model: optimal, DepL, best-exp",
    8: "AlexNet: cost of each model: optimal, DepL, best-exp",
    9: "AlexNet: evolution of the expected and guaranteed loss at three targets",
}
TRAINING = (2, 4)
"""Figures that are drawn from traces and not from attempts."""

METHODS = ("exact", "depl", "expected-greedy")
_ROLES = ("optimal", "DepL", "best-exp")
_DIFFERS = {("DepL", "depl"): ", our loop with bounds", ("DepL", "depl-paper"): " as printed"}
"""What a reader of the paper would not expect behind its names."""

_SEED, _RESAMPLES = 20240222, 99


class Layout(NamedTuple):
    """How panels stand, and how large print is.

    Attributes
    ----------
    columns : int
        Panels side by side.
    size : (float, float)
        Of a panel [in].
    below : bool
        Whether the legend stands below the panels, and not beside them.
    points : float
        Size of the print [points].
    letters : int
        Of a line of a title.
    """

    columns: int
    size: tuple[float, float]
    below: bool
    points: float
    letters: int


WIDE = Layout(3, (4.0, 3.0), False, 10.0, 54)
COLUMN = Layout(1, (3.5, 2.1), True, 8.0, 58)
"""The width of one column of a page of two."""


@dataclass(frozen=True)
class _Part:
    """The figure as far as it is drawn, and its numbers."""

    figure: Figure
    table: Table


def paper_drawing(
    number: int,
    attempts: Sequence[Attempt],
    methods: Sequence[str] = METHODS,
    family: str | None = None,
    layout: Layout = WIDE,
) -> Drawing:
    """One of Figs. 5 to 9 from attempts on a family.

    Parameters
    ----------
    number : int
    attempts : sequence of Attempt
        Of one suite without levels, and for Figs. 5 and 6 of one that varies them.
    methods : sequence of str
        Configurations in the places of the paper's *optimal*, *DepL* and *best-exp*.
    family : str, optional
        That of `FAMILIES` by default.
    layout : Layout

    Raises
    ------
    InvalidInputError
        If there is no such figure, or the attempts hold no plan of these methods on the family.
    """
    draw = _DRAWN.get(number)
    if draw is None:
        raise InvalidInputError(f"is drawn from attempts for {', '.join(map(str, _DRAWN))}", "number")
    family = family or FAMILIES[number]
    own = [item for item in attempts if item.labels.get("family") == family]
    gallery = _gallery(family, own, methods)
    with mpl.rc_context({"font.size": layout.points}):
        part = draw(gallery, own, layout)
        return _finished(number, family, part, layout)


def training_drawing(
    number: int, traces: Traces, family: str, layout: Layout = WIDE, resamples: int = _RESAMPLES
) -> Drawing:
    """Fig. 2 or Fig. 4 from traces.

    Parameters
    ----------
    resamples : int
        For every p-value of Fig. 4.

    Raises
    ------
    InvalidInputError
        If no improvement of a model varies, so that nothing was fitted.
    """
    with mpl.rc_context({"font.size": layout.points}):
        if number == TRAINING[0]:
            figure, (axes,) = panels(1, 1, layout.size)
            draw_loss_band(traces, axes)
            part = _Part(figure, loss_table(traces))
        else:
            rng = np.random.default_rng(_SEED)
            fits = [fit_traces(traces, rng, by, resamples=resamples) for by in (FitBy.MODEL, FitBy.SCHEDULE)]
            figure, places = panels(3 if fits[0].jumps else 2, layout.columns, layout.size)
            draw_fits(fits[0], fits[1], places)
            part = _Part(figure, fit_table(fits[0], fits[1]))
        return _finished(number, family, part, layout)


def _gallery(family: str, attempts: Sequence[Attempt], methods: Sequence[str]) -> Gallery:
    plain = [item for item in attempts if levels_of(item) is None]
    suites = list(dict.fromkeys(item.task.suite for item in plain))
    for suite in suites:
        own = [item for item in plain if item.task.suite == suite]
        shown = [item for item in shown_of(own, Instances(), methods) if item.method in methods]
        if any(item.plan is not None for item in shown):
            ordered = sorted(shown, key=lambda item: methods.index(item.method))
            names = {name: named(role, name) for role, name in zip(_ROLES, methods, strict=False)}
            return Gallery(family, ordered, names=names)
    raise InvalidInputError(f"hold no plan of {', '.join(methods)} on the family {family!r}", "attempts")


def named(role: str, method: str) -> str:
    """What stands in the place of a method of the paper: its own, or in what it differs."""
    return f"{role}{_DIFFERS.get((role, method), '')} ({method})"


def _finished(number: int, family: str, part: _Part, layout: Layout) -> Drawing:
    """Titles that fit, one legend where panels share it, and room for it."""
    for axes in part.figure.axes:
        axes.tick_params(labelsize=0.9 * layout.points)
        set_title(axes, axes.get_title(loc="left").replace("\n", " "), layout.letters)
    if layout.below or number not in TRAINING:
        shared_legend(part.figure, layout.below)
    make_room(part.figure, layout.below)
    caption = f"Fig. {number} of the paper, {SHOWS[number]}; here {family}."
    return Drawing(f"paper-figure-{number}", caption, part.figure, part.table)


def _costs(gallery: Gallery, attempts: Sequence[Attempt], layout: Layout) -> _Part:
    """Figs. 5 and 6."""
    points = level_points(attempts)
    figure, axes = panels(3 if points else 2, layout.columns, layout.size)
    gallery.draw_costs(axes[0])
    gallery.draw_expected_losses(axes[1])
    tables = [("cost", "target", gallery.table("cost")), ("loss", "target", gallery.table("expected-loss"))]
    rows = [
        (panel, method, float(str(at)), value) for panel, _, some in tables for method, at, value in some.rows
    ]
    if points:
        curves = level_curves(points)
        ratio_against_levels(curves, axes[2])
        set_title(axes[2], gallery.family)
        rows += [
            ("levels", curve.label, float(level), ratio)
            for curve in curves
            for level, ratio in zip(curve.levels, curve.up, strict=True)
        ]
    return _Part(figure, Table(("panel", "method", "at", "value"), tuple(rows)))


def _epochs(gallery: Gallery, attempts: Sequence[Attempt], layout: Layout) -> _Part:
    """Fig. 7."""
    return _stacked(gallery, layout, "epochs", gallery.draw_epochs)


def _costs_per_model(gallery: Gallery, attempts: Sequence[Attempt], layout: Layout) -> _Part:
    """Fig. 8."""
    return _stacked(gallery, layout, "cost-per-model", gallery.draw_costs_per_model)


def _stacked(gallery: Gallery, layout: Layout, kind: str, draw: Callable[[str, Axes], None]) -> _Part:
    figure, axes = panels(len(gallery.methods), layout.columns, layout.size)
    for method, panel in zip(gallery.methods, axes, strict=True):
        draw(method, panel)
    highest = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set_ylim(top=highest)
    return _Part(figure, gallery.table(kind))


def _losses(gallery: Gallery, attempts: Sequence[Attempt], layout: Layout) -> _Part:
    """Fig. 9."""
    chosen = gallery.chosen()
    figure, axes = panels(len(chosen), layout.columns, layout.size)
    for target, panel in zip(chosen, axes, strict=True):
        gallery.draw_losses(target, gallery.methods, panel)
    return _Part(figure, gallery.table("loss"))


_DRAWN: Mapping[int, Callable[[Gallery, Sequence[Attempt], Layout], _Part]] = {
    5: _costs,
    6: _costs,
    7: _epochs,
    8: _costs_per_model,
    9: _losses,
}
