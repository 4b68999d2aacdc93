"""Figs. 5 to 9 of the paper for one family of instances, and one picture of three of them.

What is drawn are plans at targets, whoever made them: the demo turns its live results into `Shown`, the
gallery of a sweep its attempts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
    given_or_new,
    legend_beside,
    make_room,
    nth,
    panels,
    save,
    set_title,
    shared_legend,
    styles_of,
)
from depl.benchmarks.measure.outcome import epochs_by_model
from depl.benchmarks.suites.measures import costs_by_model
from depl.models.evaluation.evaluate import law_of_end
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Solution
from depl.models.solving.trajectory import milestones, trajectory

KINDS = {
    "cost": "cost of the plans against the guaranteed loss (as Figs. 5 and 6, left)",
    "expected-loss": "expected final loss over that of the optimum (as Figs. 5 and 6, centre)",
    "epochs": "epochs with each model against the guaranteed loss (as Fig. 7)",
    "cost-per-model": "cost of the epochs with each model against the guaranteed loss (as Fig. 8)",
    "loss": "expected loss along the epochs, 1st to 99th percentile shaded (as Fig. 9)",
}
"""What there is to draw of a family, with what it shows."""

_STACKED = {"epochs": "epochs", "cost-per-model": "cost"}
"""Those with bars by model, and what these count."""
_TARGET = "guaranteed loss $\\ell_{\\max}$"
_POINTS = 5
_COLUMNS = 3

Draw = Callable[[Axes], object]
"""Draws one panel."""


class MethodLine(NamedTuple):
    """Values of one configuration; None where it has none."""

    label: str
    across: Sequence[float]
    up: Sequence[float | None]
    style: Style


class LossCurve(NamedTuple):
    """Mean and band of the loss after the epochs k that are listed, k = 0 first [loss]."""

    label: str
    epochs: Sequence[int]
    mean: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    style: Style


@dataclass(frozen=True)
class Shown:
    """What one method holds at one target, which has the name that the family gives it."""

    target: str
    instance: Instance
    method: str
    plan: Plan | None
    cost: float | None
    proved: bool

    @classmethod
    def of(cls, entry: Entry) -> "Shown":
        """What an entry of a comparison shows."""
        proved = entry.result is not None and entry.result.solution is Solution.PROVEN_OPTIMAL
        return cls(entry.target, entry.instance, entry.method, entry.plan, entry.cost, proved)

    def by_model(self, kind: str) -> Mapping[str, float]:
        """Epochs by the model that they train, or the cost of their resources, transfers left out [cost]."""
        if kind == "epochs":
            return epochs_by_model(self.instance, self.plan)
        return costs_by_model(self.instance, self.plan or Plan())

    @property
    def expected_loss(self) -> float | None:
        """E l(K) of the plan [loss]."""
        return None if self.plan is None else law_of_end(self.instance, self.plan).mean()


class Gallery:
    """Draws what is shown of one family; bands are computed once for equal sequences of models.

    Parameters
    ----------
    shown : sequence of Shown
        Every method at every target, in the order in which they are drawn.
    against : str, optional
        Method whose loss the overview shows beside that of the first one; the last by default.
    names : mapping of str to str, optional
        What legends call methods that they do not call by their own names.
    """

    def __init__(
        self,
        family: str,
        shown: Sequence[Shown],
        against: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.family = family
        self._names = names or {}
        self.shown = [item for item in shown if item.plan is not None]
        with_plans = {item.method for item in self.shown}
        self.methods = [name for name in dict.fromkeys(item.method for item in shown) if name in with_plans]
        self.against = against if against in self.methods else (self.methods or [""])[-1]
        self.targets = list(dict.fromkeys(item.target for item in shown))
        self._styles = styles_of(self.methods)
        self._courses: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[Sequence[float], ...]] = {}

    def write(self, folder: Path) -> list[Path]:
        """Write the pictures of the demo as PNG and SVG into ``folder``; returns their paths."""
        figures = {kind: self.figure(kind) for kind in ("cost", "epochs", "loss")}
        figures["overview"] = self.overview()
        return [path for kind, one in figures.items() for path in save(one, folder, f"{self.family}-{kind}")]

    def drawings(self) -> list[Drawing]:
        """Figs. 5 or 6 (left and centre), 7, 8 and 9, with their numbers."""
        return [
            Drawing(
                f"{self.family}-{kind}", f"{self.family}: {caption}.", self.figure(kind), self.table(kind)
            )
            for kind, caption in KINDS.items()
        ]

    def figure(self, kind: str) -> Figure:
        """One of `KINDS`, with one legend where there are several panels."""
        side_by_side = 2 if kind in _STACKED and len(self.methods) == 4 else _COLUMNS  # without a gap
        return _figure(self.parts(kind), side_by_side)

    def overview(self) -> Figure:
        """Cost, epochs of the first method, and its loss beside that of another at the middle target."""
        compared = [*self.methods[:1], self.against]
        middle = partial(self._draw_losses, self.targets[len(self.targets) // 2], compared)
        return _figure([*self.parts("cost"), *self.parts("epochs")[:1], middle])

    def parts(self, kind: str) -> list[Draw]:
        """What draws the panels: one, one for each method with one scale, or one for each chosen target."""
        if kind == "loss":
            return [partial(self._draw_losses, target, self.methods) for target in self._chosen()]
        if kind in _STACKED:
            height = max((sum(item.by_model(kind).values()) for item in self.shown), default=0.0)
            return [partial(self._draw_bars, kind, method, height) for method in self.methods]
        return [partial(self._draw_lines, kind)]

    def table(self, kind: str) -> Table:
        """The numbers of one of `KINDS`."""
        if kind == "loss":
            rows = [
                (item.method, item.target, *point)
                for target in self._chosen()
                for item in self.shown
                if item.target == target
                for point in zip(*self._course(item), strict=True)
            ]
            return Table(("method", "target", "epoch", "expected", "lower", "upper"), tuple(rows))
        held = {(item.method, item.target): item for item in self.shown}
        if kind in _STACKED:
            ordered = sorted(self.shown, key=lambda item: self.methods.index(item.method))
            parts = [
                (item.method, item.target, *part) for item in ordered for part in item.by_model(kind).items()
            ]
            return Table(("method", "target", "model", _STACKED[kind]), tuple(parts))
        value = self._value(kind)
        places = [(method, target) for method in self.methods for target in self.targets]
        values = [(*place, value(held[place]) if place in held else None) for place in places]
        return Table(("method", "target", "cost" if kind == "cost" else "loss_over_optimum"), tuple(values))

    def _chosen(self) -> list[str]:
        """The first, the middle and the last target."""
        places = sorted({0, len(self.targets) // 2, len(self.targets) - 1})
        return [self.targets[place] for place in places]

    def _of(self, method: str) -> dict[str, Shown]:
        """What a method holds, by target."""
        return {item.target: item for item in self.shown if item.method == method}

    def _value(self, kind: str) -> Callable[[Shown], float | None]:
        return (lambda item: item.cost) if kind == "cost" else self._loss_ratio

    def _loss_ratio(self, item: Shown) -> float | None:
        """Expected loss over that of a plan that is proved cheapest; None if there is no positive one."""
        proved = [other for other in self.shown if other.target == item.target and other.proved]
        best = proved[0].expected_loss if proved else None
        own = item.expected_loss
        return own / best if own is not None and best is not None and best > 0 else None

    def _draw_lines(self, kind: str, axes: Axes) -> None:
        targets, lines, value = [float(target) for target in self.targets], [], self._value(kind)
        for method in self.methods:
            own = self._of(method)
            values = [value(own[target]) if target in own else None for target in self.targets]
            lines.append(MethodLine(self._label(method), targets, values, self._styles[method]))
        (cost_against_target if kind == "cost" else loss_against_target)(lines, axes)
        set_title(axes, self.family)

    def _draw_bars(self, kind: str, method: str, height: float, axes: Axes) -> None:
        own = {target: item.by_model(kind) for target, item in self._of(method).items()}
        parts = {
            name: [own[target][name] if target in own else 0 for target in self.targets]
            for name in next(iter(own.values()))
        }
        without = [float(target) for target in self.targets if target not in own]
        stacked_bars([float(target) for target in self.targets], parts, _STACKED[kind], axes, without)
        axes.set_ylim(top=1.08 * height or 1.0)
        set_title(axes, self._label(method))

    def _draw_losses(self, target: str, methods: Collection[str], axes: Axes) -> None:
        own = [item for item in self.shown if item.target == target and item.method in methods]
        limit = own[0].instance.target.maximum_loss if own else None
        curves = [
            LossCurve(self._label(item.method), epochs, mean, lower, upper, self._styles[item.method])
            for item in own
            for epochs, mean, lower, upper in (self._course(item),)
        ]
        loss_evolution(curves, limit, axes)
        set_title(axes, f"guaranteed loss {target}")

    def _label(self, method: str) -> str:
        """The method, whether it proved all its plans, and at how many targets it has one if not at all."""
        own = self._of(method)
        called = self._names.get(method, method)
        name = f"{called}: proved cheapest" if all(item.proved for item in own.values()) else called
        return covered(name, len(own), len(self.targets))

    def _course(self, item: Shown) -> tuple[Sequence[Any], ...]:
        """Epochs, and the mean and the ends of the band of the loss after them."""
        plan = item.plan or Plan()
        key = item.target, plan.schedule
        if key not in self._courses:
            found = trajectory(item.instance, plan, epochs=milestones(plan, _POINTS))
            ends = [one.lower for one in found.lower], [one.upper for one in found.upper]
            self._courses[key] = found.epochs, found.mean, *ends
        return self._courses[key]


def _figure(parts: Sequence[Draw], side_by_side: int = _COLUMNS) -> Figure:
    figure, axes = panels(max(len(parts), 1), side_by_side)
    for draw, panel in zip(parts, axes, strict=False):
        draw(panel)
    if len(axes) > 1:
        shared_legend(figure)
    make_room(figure)
    return figure


def cost_against_target(lines: Sequence[MethodLine], axes: Axes | None = None) -> Axes:
    """Draw the cost against the guaranteed loss, one line per method (Figs. 5 and 6, left).

    Parameters
    ----------
    lines : sequence of MethodLine
        Costs [cost] at targets l_max [loss]; None without a plan, which is a cross on the floor.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    _draw_against_target(lines, axes)
    look: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 7}
    for line in lines:
        missing = [x for x, y in zip(line.across, line.up, strict=True) if y is None]
        if missing:
            floor: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(missing, [0.0] * len(missing), color=line.style.colour, **floor, **look)
    if any(y is None for line in lines for y in line.up):
        axes.plot([], [], color="0.3", label="no plan found", **look)
    axes.set_ylabel("cost")
    legend_beside(axes)
    highest = max((y for line in lines for y in line.up if y is not None), default=1.0)
    axes.set_ylim(0, 1.08 * highest)
    return axes


def loss_against_target(lines: Sequence[MethodLine], axes: Axes | None = None) -> Axes:
    """Draw the expected loss over that of the optimum, one line per method (Figs. 5 and 6, centre).

    Parameters
    ----------
    lines : sequence of MethodLine
        Ratios of expected losses at targets l_max [loss]; None without a plan, or without a proved optimum.
        Below 1 a plan expects a lower loss than the optimum does.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    _draw_against_target(lines, axes)
    axes.set_ylabel("expected loss / optimum's")
    legend_beside(axes)
    return axes


def _draw_against_target(lines: Sequence[MethodLine], axes: Axes) -> None:
    """Draw every line; one that coincides with an earlier one is seen on top of it, because it is thinner."""
    for index, line in enumerate(lines):
        points = [(x, y) for x, y in zip(line.across, line.up, strict=True) if y is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=line.label,
            color=line.style.colour,
            marker=line.style.marker,
            linestyle=line.style.dash,
            linewidth=max(4.0 - 1.3 * index, 1.0),
            markersize=max(9.0 - 2.5 * index, 3.0),
        )
    axes.set_xlabel(_TARGET)
    if lines:
        axes.set_xticks(sorted({x for line in lines for x in line.across}))


def stacked_bars(
    targets: Sequence[float],
    parts: Mapping[str, Sequence[float]],
    what: str,
    axes: Axes | None = None,
    without: Collection[float] = (),
) -> Axes:
    """Draw one stacked bar per target, a part per model (Figs. 7 and 8).

    Parameters
    ----------
    targets : sequence of float
        Targets l_max [loss].
    parts : mapping of str to sequence of float
        For every part one height per target; drawn bottom up in this order.
    what : str
        What is counted, such as ``epochs``, which are whole, or ``cost``.
    axes : Axes, optional
        Where to draw; new axes by default.
    without : collection of float
        Targets for which there is no plan; it is written where their bar would stand.
    """
    axes = given_or_new(axes)
    places = range(len(targets))
    below = [0.0] * len(targets)
    for index, (name, heights) in enumerate(parts.items()):
        look: dict[str, Any] = {
            "color": nth(MODEL_COLOURS, index),
            "hatch": nth(HATCHES, index),
            "edgecolor": "white",
        }
        axes.bar(places, heights, 0.7, below, label=name, linewidth=0.5, **look)
        below = [base + height for base, height in zip(below, heights, strict=True)]
    for place, target in enumerate(targets):
        if target in without:
            axes.annotate("no plan", (place, 0), (0, 4), textcoords="offset points", rotation=90, ha="center")
    axes.set_xticks(places, [f"{target:g}" for target in targets])
    axes.set_xlabel(_TARGET)
    axes.set_ylim(top=1.08 * max(below, default=1.0) or 1.0)
    axes.set_ylabel(what)
    if what == "epochs":
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    legend_beside(axes)
    return axes


def loss_evolution(
    curves: Sequence[LossCurve],
    maximum_loss: float | None = None,
    axes: Axes | None = None,
    band: str = "1 to 99 % of runs",
) -> Axes:
    """Draw the expected loss along the epochs, with a band between two quantiles (Figs. 2 and 9).

    Parameters
    ----------
    curves : sequence of LossCurve
    maximum_loss : float, optional
        l_max, drawn as a thin horizontal line [loss].
    axes : Axes, optional
        Where to draw; new axes by default.
    band : str
        What the bands are, for the legend.
    """
    axes = given_or_new(axes)
    if maximum_loss is not None:
        axes.axhline(maximum_loss, color="black", linewidth=0.8, linestyle=":")
        at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate("$\\ell_{\\max}$", (0, maximum_loss), (4, 3), **at)
    for curve in curves:
        colour = curve.style.colour
        axes.fill_between(curve.epochs, curve.lower, curve.upper, color=colour, alpha=0.2, linewidth=0)
        for edge in (curve.lower, curve.upper):
            axes.plot(curve.epochs, edge, color=colour, linewidth=0.6, alpha=0.7)
        look: dict[str, Any] = {"color": colour, "linestyle": curve.style.dash, "linewidth": 2}
        axes.plot(curve.epochs, curve.mean, label=curve.label, **look)
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if curves:
        axes.plot([], [], color="0.8", linewidth=7, label=band)
    legend_beside(axes)
    return axes
