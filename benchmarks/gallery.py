"""The figures of a comparison: Figs. 5, 7 and 9 of the paper for one family, and one picture of all three."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.comparison import Entry
from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.cost_against_target import CostCurve, cost_against_target
from depl.benchmarks.figures.epochs_per_model import epochs_per_model
from depl.benchmarks.figures.loss_evolution import LossCurve, loss_evolution
from depl.models.plan import Plan
from depl.models.result import Solution
from depl.models.trajectory import milestones, trajectory

_POINTS = 5


class Gallery:
    """Draws the entries of one family; bands are computed once for equal sequences of models.

    Parameters
    ----------
    against : str, optional
        Method whose loss the overview shows beside that of the first one; the last by default.
    """

    def __init__(self, family: str, entries: Sequence[Entry], against: str | None = None) -> None:
        self.family = family
        self.entries = [entry for entry in entries if entry.plan is not None]
        with_plans = {entry.method for entry in self.entries}
        self.methods = [
            name for name in dict.fromkeys(entry.method for entry in entries) if name in with_plans
        ]
        self.against = against if against in self.methods else (self.methods or [""])[-1]
        self.targets = list(dict.fromkeys(entry.target for entry in entries))
        self._curves: dict[tuple[str, tuple[tuple[str, str], ...]], LossCurve] = {}

    def write(self, folder: Path) -> list[Path]:
        """Write all figures as PNG and SVG into ``folder``; returns their paths."""
        drawings = {
            f"{self.family}-cost": self.costs(),
            f"{self.family}-epochs": self.epochs(),
            f"{self.family}-loss": self.losses(),
            f"{self.family}-overview": self.overview(),
        }
        return [path for name, figure in drawings.items() for path in save(figure, folder, name)]

    def costs(self) -> Figure:
        """Cost against target (Fig. 5, left)."""
        figure, (axes,) = panels(1)
        self._draw_costs(axes)
        return figure

    def epochs(self) -> Figure:
        """Epochs per model, a panel for each method (Fig. 7)."""
        figure, axes = panels(max(len(self.methods), 1))
        for method, panel in zip(self.methods, axes, strict=False):
            self._draw_epochs(method, panel)
        return figure

    def losses(self) -> Figure:
        """Evolution of the loss at the first, the middle and the last target (Fig. 9)."""
        chosen = [self.targets[index] for index in sorted({0, len(self.targets) // 2, len(self.targets) - 1})]
        figure, axes = panels(len(chosen))
        for target, panel in zip(chosen, axes, strict=True):
            self._draw_losses(target, self.methods, panel)
        return figure

    def overview(self) -> Figure:
        """Cost, epochs of the first method, and its loss beside that of another at the middle target."""
        figure, axes = panels(3)
        self._draw_costs(axes[0])
        if self.methods:
            self._draw_epochs(self.methods[0], axes[1])
        self._draw_losses(self.targets[len(self.targets) // 2], [*self.methods[:1], self.against], axes[2])
        return figure

    def _draw_costs(self, axes: Axes) -> None:
        curves = []
        for style, method in enumerate(self.methods):
            own = [entry for entry in self.entries if entry.method == method]
            targets = [float(entry.target) for entry in own]
            curves.append(CostCurve(self._label(method), targets, [entry.cost for entry in own], style))
        cost_against_target(curves, axes).set_title(self.family, fontsize="medium")

    def _draw_epochs(self, method: str, axes: Axes) -> None:
        own = {entry.target: entry for entry in self.entries if entry.method == method}
        names = [model.name for model in next(iter(own.values())).instance.models]
        planned = {target: own[target].epochs_by_model for target in self.targets if target in own}
        none = dict.fromkeys(names, 0)
        counts = {name: [planned.get(target, none)[name] for target in self.targets] for name in names}
        targets = [float(target) for target in self.targets]
        without = [float(target) for target in self.targets if target not in own]
        epochs_per_model(targets, counts, axes, without).set_title(self._label(method), fontsize="medium")

    def _draw_losses(self, target: str, methods: Sequence[str], axes: Axes) -> None:
        own = [entry for entry in self.entries if entry.target == target and entry.method in methods]
        limit = own[0].instance.target.maximum_loss if own else None
        loss_evolution([self._curve(entry) for entry in own], limit, axes)
        axes.set_title(f"guaranteed loss {target}", fontsize="medium")

    def _label(self, method: str) -> str:
        """The method, and that it proved its plans if it proved all of them."""
        results = [entry.result for entry in self.entries if entry.method == method]
        proved = all(result and result.solution is Solution.PROVEN_OPTIMAL for result in results)
        return f"{method}: proved cheapest" if proved else method

    def _curve(self, entry: Entry) -> LossCurve:
        plan = entry.plan or Plan()
        key = entry.target, tuple((epoch.model, epoch.cluster) for epoch in plan.epochs)
        if key not in self._curves:
            found = trajectory(entry.instance, plan, epochs=milestones(plan, _POINTS))
            self._curves[key] = LossCurve(
                label="",
                epochs=found.epochs,
                mean=found.mean,
                lower=[interval.lower for interval in found.lower],
                upper=[interval.upper for interval in found.upper],
            )
        return self._curves[key]._replace(label=entry.method, style=self.methods.index(entry.method))
