"""Figs. 5 to 9 of the paper for one family of instances, and one picture of three of them.

What is drawn are plans at targets, whoever made them: entries of the demo hold its live results, those
of a sweep its attempts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.figures.style import (
    HATCHES,
    MODEL_COLOURS,
    Style,
    covered,
    finished,
    legend_beside,
    nth,
    panels,
    save,
    set_title,
    styles_of,
)
from depl.benchmarks.figures.trajectory import milestones, trajectory
from depl.benchmarks.suites.measures import costs_by_model
from depl.models.evaluation.evaluate import law_of_end
from depl.models.problem.plan import Plan

KINDS = {
    "cost": "cost of the plans against the guaranteed loss (as Figs. 5 and 6, left)",
    "expected-loss": "expected final loss over that of the optimum (as Figs. 5 and 6, centre)",
    "epochs": "epochs with each model against the guaranteed loss (as Fig. 7)",
    "cost-per-model": "cost of the epochs with each model against the guaranteed loss (as Fig. 8)",
    "loss": "expected loss along the epochs, 1st to 99th percentile shaded (as Fig. 9)",
}
"""What there is to draw of a family, with what it shows."""

_COLUMNS = {
    "cost": ("method", "target", "cost"),
    "expected-loss": ("method", "target", "loss_over_optimum"),
    "epochs": ("method", "target", "model", "epochs"),
    "cost-per-model": ("method", "target", "model", "cost"),
    "loss": ("method", "target", "epoch", "expected", "lower", "upper"),
}
_TARGET = "guaranteed loss $\\ell_{\\max}$"
_POINTS = 5

Draw = Callable[[Axes], object]
"""Draws one panel."""
Row = tuple[Any, ...]


class LossCurve(NamedTuple):
    """Mean and band of the loss after the epochs k that are listed, k = 0 first [loss]."""

    label: str
    epochs: Sequence[int]
    mean: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    style: Style


class Gallery:
    """Draws what is shown of one family: every method at every target, in the order in which they are drawn.

    The overview shows the loss of the first method beside that of ``against``, the last by default. Legends
    call methods by ``names``, or by their own. Bands are computed once for equal sequences of models.
    """

    def __init__(
        self,
        family: str,
        shown: Sequence[Entry],
        against: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.family = family
        self.shown = [item for item in shown if item.plan is not None]
        methods = list(dict.fromkeys(item.method for item in shown))
        held = {name: [item for item in self.shown if item.method == name] for name in methods}
        self.methods = [name for name in methods if held[name]]
        self.targets = list(dict.fromkeys(item.target for item in shown))
        self._against = against if against in self.methods else (self.methods or [""])[-1]
        self._styles = styles_of(self.methods)
        self._labels = {}
        for name in self.methods:
            proved = ": proved cheapest" if all(item.proved for item in held[name]) else ""
            called = f"{(names or {}).get(name, name)}{proved}"
            self._labels[name] = covered(called, len(held[name]), len(self.targets))
        self._courses: dict[tuple[str, tuple[tuple[str, str], ...]], list[Row]] = {}

    def write(self, folder: Path) -> list[Path]:
        """Write the pictures of the demo as PNG and SVG into ``folder``; returns their paths."""
        figures = {kind: _shared(self.figure(kind)) for kind in ("cost", "epochs", "loss")}
        figures["overview"] = self.overview()
        return [path for kind, one in figures.items() for path in save(one, folder, f"{self.family}-{kind}")]

    def drawings(self) -> list[Drawing]:
        """Figs. 5 or 6 (left and centre), 7, 8 and 9, with their numbers."""
        name = self.family
        return [
            Drawing(f"{name}-{kind}", f"{name}: {caption}.", _shared(self.figure(kind)), self.table(kind))
            for kind, caption in KINDS.items()
        ]

    def figure(self, kind: str, columns: int = 0) -> Figure:
        """One of `KINDS`, as many panels side by side as are told, or without a gap in the last row."""
        parts = self.parts(kind)
        return _figure(parts, columns or (2 if len(parts) == 4 else 3))

    def overview(self) -> Figure:
        """Cost, epochs of the first method, and its loss beside that of another at the middle target."""
        compared = [*self.methods[:1], self._against]
        middle = partial(self._draw_losses, self.targets[len(self.targets) // 2], compared)
        return _shared(_figure([*self.parts("cost"), *self.parts("epochs")[:1], middle], 3))

    def parts(self, kind: str) -> list[Draw]:
        """What draws the panels: one, one for each method with one scale, or one for each chosen target."""
        if kind == "loss":
            return [partial(self._draw_losses, target, self.methods) for target in self._chosen()]
        if "model" in _COLUMNS[kind]:
            return [partial(self._draw_bars, kind, method) for method in self.methods]
        return [partial(self._draw_lines, kind)]

    def table(self, kind: str) -> Table:
        """The numbers of one of `KINDS`."""
        return Table(_COLUMNS[kind], tuple(self._rows(kind)))

    def _chosen(self) -> list[str]:
        """The first, the middle and the last target."""
        places = sorted({0, len(self.targets) // 2, len(self.targets) - 1})
        return [self.targets[place] for place in places]

    def _rows(self, kind: str) -> list[Row]:
        """What is drawn, with the columns of the table."""
        held = {(item.method, item.target): item for item in self.shown}
        if kind == "loss":
            at = [item for target in self._chosen() for item in self.shown if item.target == target]
            return [(item.method, item.target, *point) for item in at for point in self._course(item)]
        places = [(method, target) for method in self.methods for target in self.targets]
        if "model" in _COLUMNS[kind]:
            known = [held[place] for place in places if place in held]
            return [
                (item.method, item.target, *part) for item in known for part in _by_model(item, kind).items()
            ]
        value = self._loss_ratio if kind == "expected-loss" else lambda item: item.cost
        return [(*place, value(held[place]) if place in held else None) for place in places]

    def _loss_ratio(self, item: Entry) -> float | None:
        """Expected loss over that of a plan that is proved cheapest; None if there is no positive one."""
        proved = [other for other in self.shown if other.target == item.target and other.proved]
        both = [law_of_end(one.instance, one.plan or Plan()).mean() for one in (item, *proved[:1])]
        return both[0] / both[1] if proved and both[1] > 0 else None

    def _course(self, item: Entry) -> list[Row]:
        """Epochs, and the mean and the ends of the band of the loss after them."""
        plan = item.plan or Plan()
        key = item.target, plan.schedule
        if key not in self._courses:
            self._courses[key] = [*trajectory(item.instance, plan, milestones(plan, _POINTS))]
        return self._courses[key]

    def _draw_lines(self, kind: str, axes: Axes) -> None:
        rows = self._rows(kind)
        for place, method in enumerate(self.methods):
            points = [(float(target), value) for name, target, value in rows if name == method]
            self._draw_line(axes, method, points, place)
        axes.set_xticks([float(target) for target in self.targets])
        if kind == "cost":
            missing = [
                (float(target), self._styles[name].colour) for name, target, value in rows if value is None
            ]
            for target, colour in missing:
                floor: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
                axes.plot(target, 0.0, "x", markersize=7, color=colour, **floor)
            if missing:
                axes.plot([], [], "x", markersize=7, color="0.3", label="no plan found")
            axes.set_ylim(0, 1.08 * max((value for _, _, value in rows if value is not None), default=1.0))
            axes.set_ylabel("cost")
        else:
            axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
            axes.set_ylabel("expected loss / optimum's")
        legend_beside(axes)
        set_title(axes, self.family)

    def _draw_line(
        self, axes: Axes, method: str, points: Sequence[tuple[float, float | None]], place: int
    ) -> None:
        """A line that coincides with one of an earlier ``place`` is seen on top of it: it is thinner."""
        known, style = [(x, y) for x, y in points if y is not None], self._styles[method]
        look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "linestyle": style.dash}
        look |= {"linewidth": max(4.0 - 1.3 * place, 1.0), "markersize": max(9.0 - 2.5 * place, 3.0)}
        axes.plot([x for x, _ in known], [y for _, y in known], label=self._labels[method], **look)
        axes.set_xlabel(_TARGET)

    def _draw_bars(self, kind: str, method: str, axes: Axes) -> None:
        """One stacked bar per target, a part per model bottom up, one scale of all panels (Figs. 7 and 8)."""
        totals: dict[tuple[str, str], float] = {}
        heights: dict[str, dict[str, float]] = {}
        for name, target, model, amount in self._rows(kind):
            totals[name, target] = totals.get((name, target), 0.0) + amount
            if name == method:
                heights.setdefault(model, {})[target] = amount
        places, below = range(len(self.targets)), np.zeros(len(self.targets))
        for index, (name, own) in enumerate(heights.items()):
            look: dict[str, Any] = {"color": nth(MODEL_COLOURS, index), "hatch": nth(HATCHES, index)}
            part = np.array([own.get(target, 0) for target in self.targets])
            axes.bar(places, part, 0.7, below, label=name, edgecolor="white", linewidth=0.5, **look)
            below = below + part
        for place, target in enumerate(self.targets):
            if (method, target) not in totals:
                at: dict[str, Any] = {"textcoords": "offset points", "rotation": 90, "ha": "center"}
                axes.annotate("no plan", (place, 0), (0, 4), **at)
        axes.set_xticks(places, self.targets)
        axes.set(xlabel=_TARGET, ylabel=_COLUMNS[kind][-1])
        if kind == "epochs":
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(top=1.08 * max(totals.values(), default=1.0) or 1.0)
        set_title(axes, self._labels[method])
        legend_beside(axes)

    def _draw_losses(self, target: str, methods: Collection[str], axes: Axes) -> None:
        own = [item for item in self.shown if item.target == target and item.method in methods]
        curves = []
        for item in own:
            epochs, mean, lower, upper = zip(*self._course(item), strict=True)
            label, style = self._labels[item.method], self._styles[item.method]
            curves.append(LossCurve(label, epochs, mean, lower, upper, style))
        draw_losses(axes, curves, own[0].instance.target.maximum_loss if own else None)
        set_title(axes, f"guaranteed loss {target}")


def _by_model(item: Entry, kind: str) -> Mapping[str, float]:
    """Epochs by the model that they train, or the cost of their resources, transfers left out [cost]."""
    return item.epochs_by_model if kind == "epochs" else costs_by_model(item.instance, item.plan or Plan())


def _figure(parts: Sequence[Draw], side_by_side: int) -> Figure:
    figure, axes = panels(max(len(parts), 1), side_by_side)
    for draw, panel in zip(parts, axes, strict=False):
        draw(panel)
    return figure


def _shared(figure: Figure) -> Figure:
    """With one legend where there are several panels."""
    return finished(figure, shared=len(figure.axes) > 1)


def draw_losses(axes: Axes, curves: Sequence[LossCurve], maximum_loss: float | None = None) -> None:
    """Draw expected losses along the epochs, with their bands and a thin line at l_max (Figs. 2 and 9)."""
    if maximum_loss is not None:
        axes.axhline(maximum_loss, color="black", linewidth=0.8, linestyle=":")
        at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate("$\\ell_{\\max}$", (0, maximum_loss), (4, 3), **at)
    for label, epochs, mean, lower, upper, (colour, _, dash) in curves:
        axes.fill_between(epochs, lower, upper, color=colour, alpha=0.2, linewidth=0)
        for edge in (lower, upper):
            axes.plot(epochs, edge, color=colour, linewidth=0.6, alpha=0.7)
        axes.plot(epochs, mean, label=label, color=colour, linestyle=dash, linewidth=2)
    axes.set(xlabel="epoch", ylabel="loss")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if curves:
        axes.plot([], [], color="0.8", linewidth=7, label="1 to 99 % of runs")
    legend_beside(axes)
