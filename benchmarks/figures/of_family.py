"""Figs. 5 to 9 of the paper for one family of instances, and one picture of three of them.

What is drawn are plans at targets, whoever made them: the demo turns its live results into `Shown`, the
gallery of a sweep its attempts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.cost_against_target import cost_against_target
from depl.benchmarks.figures.legends import covered, make_room, set_title, shared_legend
from depl.benchmarks.figures.lines import MethodLine
from depl.benchmarks.figures.loss_against_target import loss_against_target
from depl.benchmarks.figures.loss_evolution import LossCurve, loss_evolution
from depl.benchmarks.figures.of_drawing import Drawing
from depl.benchmarks.figures.palette import styles_of
from depl.benchmarks.figures.stacks import stacked_bars
from depl.benchmarks.measure.outcome import epochs_by_model
from depl.benchmarks.suites.measures import costs_by_model
from depl.models.evaluation.evaluate import law_of_end
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Solution
from depl.models.solving.trajectory import milestones, trajectory

Number = TypeVar("Number", int, float)

_STACKED = {"epochs": "epochs", "cost-per-model": "cost"}
"""Drawings with bars by model, and what these count."""

_POINTS = 5
_COLUMNS = 3


@dataclass(frozen=True)
class Shown:
    """What one method holds at one target.

    Attributes
    ----------
    target : str
        As the family names it.
    method : str
        As legends name it.
    plan : Plan or None
    cost : float or None
        Of the plan [cost].
    proved : bool
        Whether the plan is proved cheapest.
    """

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

    @property
    def epochs_by_model(self) -> dict[str, int]:
        """Epochs of the plan trained with each model, in the order of the instance; 0 without a plan."""
        return epochs_by_model(self.instance, self.plan)

    @property
    def cost_by_model(self) -> dict[str, float]:
        """Cost of the resources of the epochs trained with each model; transfers are left out [cost]."""
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
        self._curves: dict[tuple[str, tuple[tuple[str, str], ...]], LossCurve] = {}

    def write(self, folder: Path) -> list[Path]:
        """Write the pictures of the demo as PNG and SVG into ``folder``; returns their paths."""
        drawings = {
            f"{self.family}-cost": self.costs(),
            f"{self.family}-epochs": self.epochs(),
            f"{self.family}-loss": self.losses(),
            f"{self.family}-overview": self.overview(),
        }
        return [path for name, figure in drawings.items() for path in save(figure, folder, name)]

    def drawings(self) -> list[Drawing]:
        """Figs. 5 or 6 (left and centre), 7, 8 and 9, with their numbers."""
        told = {
            "cost": ("cost of the plans against the guaranteed loss (as Figs. 5 and 6, left)", self.costs),
            "expected-loss": (
                "expected final loss over that of the optimum (as Figs. 5 and 6, centre)",
                self.expected_losses,
            ),
            "epochs": ("epochs with each model against the guaranteed loss (as Fig. 7)", self.epochs),
            "cost-per-model": (
                "cost of the epochs with each model against the guaranteed loss (as Fig. 8)",
                self.costs_per_model,
            ),
            "loss": (
                "expected loss along the epochs, 1st to 99th percentile shaded (as Fig. 9)",
                self.losses,
            ),
        }
        return [
            Drawing(f"{self.family}-{name}", f"{self.family}: {caption}.", draw(), self.table(name))
            for name, (caption, draw) in told.items()
        ]

    def table(self, kind: str) -> Table:
        """The numbers of one of the drawings: ``cost``, ``expected-loss``, ``epochs`` and so on."""
        if kind == "loss":
            return self._loss_table()
        if kind in _STACKED:
            return self._model_table(_STACKED[kind], lambda item: getattr(item, f"{_STACKED[kind]}_by_model"))
        if kind == "cost":
            return self._table("cost", lambda item: item.cost)
        return self._table("loss_over_optimum", self._loss_ratio)

    def costs(self) -> Figure:
        """Cost against target (Figs. 5 and 6, left)."""
        figure, (axes,) = panels(1)
        self.draw_costs(axes)
        make_room(figure)
        return figure

    def expected_losses(self) -> Figure:
        """Expected loss over that of the proved optimum (Figs. 5 and 6, centre)."""
        figure, (axes,) = panels(1)
        self.draw_expected_losses(axes)
        make_room(figure)
        return figure

    def epochs(self) -> Figure:
        """Epochs per model, a panel for each method; all panels have one scale (Fig. 7)."""
        figure, axes = panels(max(len(self.methods), 1), self._columns)
        for method, panel in zip(self.methods, axes, strict=False):
            self.draw_epochs(method, panel)
        return self._stacked(figure, axes)

    def costs_per_model(self) -> Figure:
        """Cost per model, a panel for each method; all panels have one scale (Fig. 8)."""
        figure, axes = panels(max(len(self.methods), 1), self._columns)
        for method, panel in zip(self.methods, axes, strict=False):
            self.draw_costs_per_model(method, panel)
        return self._stacked(figure, axes)

    def _stacked(self, figure: Figure, axes: Sequence[Axes]) -> Figure:
        """Panels of one scale and one legend."""
        highest = max(panel.get_ylim()[1] for panel in axes)
        for panel in axes:
            panel.set_ylim(top=highest)
        return _explained(figure)

    def losses(self) -> Figure:
        """Evolution of the loss at the first, the middle and the last target (Fig. 9)."""
        chosen = self.chosen()
        figure, axes = panels(len(chosen))
        for target, panel in zip(chosen, axes, strict=True):
            self.draw_losses(target, self.methods, panel)
        return _explained(figure)

    def overview(self) -> Figure:
        """Cost, epochs of the first method, and its loss beside that of another at the middle target."""
        figure, axes = panels(3)
        self.draw_costs(axes[0])
        if self.methods:
            self.draw_epochs(self.methods[0], axes[1])
        middle = self.targets[len(self.targets) // 2]
        self.draw_losses(middle, [*self.methods[:1], self.against], axes[2])
        return _explained(figure)

    @property
    def _columns(self) -> int:
        """Panels side by side: three, or two if that leaves no gap in the last row."""
        return 2 if len(self.methods) == 4 else _COLUMNS

    def chosen(self) -> list[str]:
        """The first, the middle and the last target."""
        places = sorted({0, len(self.targets) // 2, len(self.targets) - 1})
        return [self.targets[place] for place in places]

    def _of(self, method: str) -> dict[str, Shown]:
        """What a method holds, by target."""
        return {item.target: item for item in self.shown if item.method == method}

    def _lines(self, value: Callable[[Shown], float | None]) -> list[MethodLine]:
        """Values of every method at the targets; None where it holds no plan."""
        targets, found = [float(target) for target in self.targets], []
        for method in self.methods:
            own = self._of(method)
            values = [value(own[target]) if target in own else None for target in self.targets]
            found.append(MethodLine(self._label(method), targets, values, self._styles[method]))
        return found

    def _by_model(
        self, method: str, value: Callable[[Shown], Mapping[str, Number]]
    ) -> dict[str, list[Number | int]]:
        """For every model one value per target; 0 without a plan."""
        own = {target: value(item) for target, item in self._of(method).items()}
        names = next(iter(own.values()))
        return {
            name: [own[target][name] if target in own else 0 for target in self.targets] for name in names
        }

    def _without(self, method: str) -> tuple[list[float], list[float]]:
        """All targets, and those at which a method holds no plan."""
        own = self._of(method)
        return [float(item) for item in self.targets], [
            float(item) for item in self.targets if item not in own
        ]

    def _loss_ratio(self, item: Shown) -> float | None:
        """Expected loss over that of a plan that is proved cheapest; None if there is no positive one."""
        proved = [other for other in self.shown if other.target == item.target and other.proved]
        best = proved[0].expected_loss if proved else None
        own = item.expected_loss
        return own / best if own is not None and best is not None and best > 0 else None

    def draw_costs(self, axes: Axes) -> None:
        """Cost against target (Figs. 5 and 6, left)."""
        cost_against_target(self._lines(lambda item: item.cost), axes)
        set_title(axes, self.family)

    def draw_expected_losses(self, axes: Axes) -> None:
        """Expected loss over that of the proved optimum (Figs. 5 and 6, centre)."""
        loss_against_target(self._lines(self._loss_ratio), axes)
        set_title(axes, self.family)

    def draw_epochs(self, method: str, axes: Axes) -> None:
        """Epochs per model of one method (Fig. 7)."""
        self._draw_bars(method, "epochs", axes)

    def draw_costs_per_model(self, method: str, axes: Axes) -> None:
        """Cost per model of one method (Fig. 8)."""
        self._draw_bars(method, "cost", axes)

    def _draw_bars(self, method: str, what: str, axes: Axes) -> None:
        amounts = self._by_model(method, lambda item: getattr(item, f"{what}_by_model"))
        targets, without = self._without(method)
        stacked_bars(targets, amounts, what, axes, without)
        set_title(axes, self._label(method))

    def draw_losses(self, target: str, methods: Sequence[str], axes: Axes) -> None:
        """Evolution of the loss of some methods at one target (Fig. 9)."""
        own = [item for item in self.shown if item.target == target and item.method in methods]
        limit = own[0].instance.target.maximum_loss if own else None
        loss_evolution([self._curve(item) for item in own], limit, axes)
        set_title(axes, f"guaranteed loss {target}")

    def _label(self, method: str) -> str:
        """The method, whether it proved all its plans, and at how many targets it has one if not at all."""
        called = self._names.get(method, method)
        name = f"{called}: proved cheapest" if self._proved_all(method) else called
        return covered(name, len(self._of(method)), len(self.targets))

    def _proved_all(self, method: str) -> bool:
        return all(item.proved for item in self.shown if item.method == method)

    def _curve(self, item: Shown) -> LossCurve:
        plan = item.plan or Plan()
        key = item.target, plan.schedule
        if key not in self._curves:
            found = trajectory(item.instance, plan, epochs=milestones(plan, _POINTS))
            self._curves[key] = LossCurve(
                label="",
                epochs=found.epochs,
                mean=found.mean,
                lower=[interval.lower for interval in found.lower],
                upper=[interval.upper for interval in found.upper],
            )
        name, style = self._label(item.method), self._styles[item.method]
        return self._curves[key]._replace(label=name, style=style)

    def _table(self, name: str, value: Callable[[Shown], float | None]) -> Table:
        rows = [
            (method, target, value(own[target]) if target in own else None)
            for method in self.methods
            for own in (self._of(method),)
            for target in self.targets
        ]
        return Table(("method", "target", name), tuple(rows))

    def _model_table(self, name: str, value: Callable[[Shown], Mapping[str, float]]) -> Table:
        rows = [
            (item.method, item.target, model, number)
            for method in self.methods
            for item in self._of(method).values()
            for model, number in value(item).items()
        ]
        return Table(("method", "target", "model", name), tuple(rows))

    def _loss_table(self) -> Table:
        rows = [
            (item.method, item.target, *point)
            for target in self.chosen()
            for item in self.shown
            if item.target == target
            for curve in (self._curve(item),)
            for point in zip(curve.epochs, curve.mean, curve.lower, curve.upper, strict=True)
        ]
        return Table(("method", "target", "epoch", "expected", "lower", "upper"), tuple(rows))


def _explained(figure: Figure) -> Figure:
    """The same with one legend for all panels."""
    shared_legend(figure)
    make_room(figure)
    return figure
