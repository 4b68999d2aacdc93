r"""Stage 2 as printed: the graph of a data choice, its weight and what stands for the loss quantile.

The graph assumes the most capable cluster and all its resources (Sec. IV-B): an epoch takes c / r + s / b and
weighs kappa r by default, "the cost associated with the switch" (E12: that counts epochs).

*Label.* The paper adds logarithms of Laplace transforms. A sum that decides feasibility needs one real
argument s for the whole graph (E5): the *entropic* label, Chernoff's bound of the quantile. The paper names
no s. Here it is the best one for the path that the graph leads to: start from the path for the mean, take the
s at which its bound is least, search, and repeat with the path found (or, where no path is feasible, with the
one that ends lowest) until s changes by less than 2 %, five times at most. Of the graphs tried the one with
the lightest path is kept (of equals the one where it ends lowest), and stays while its paths are blacklisted.

An untruncated Student-t has no Laplace transform at any real s > 0. Unless the label is given, the *normal*
label takes over then, and the *expected* one where there is no variance either; a label that is given is
refused instead. Only the entropic label is safe under the law; paths of the others may prove insufficient.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from depl.heuristics.baselines.paper_graph import GraphPath, ModelGraph
from depl.heuristics.data.most_capable import most_capable_cluster
from depl.heuristics.paths.additive_labels import (
    AdditiveLabel,
    best_rate,
    entropic_label,
    expected_label,
    normal_label,
)
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.readings import Weight
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, compose, loss_step
from depl.models.problem.instance import Instance

_MOST_SEARCHES = 5
"""Labels that are tried for one choice of data. Set by hand: each builds its graph anew, and the loop ends
once a parameter comes back."""
_SAME = 0.02
"""Relative difference of two parameters that count as the same. Set by hand: a label hardly changes near its
best parameter, where its derivative is 0."""
_PROBE = 1e-3
"""Parameter with which a label is tried to see whether it covers all laws [1 / loss or loss]. Set by hand:
small, so that a law with exponential moments near 0 alone has one."""


class PaperLabel(Enum):
    """What stands for the quantile on the edges."""

    ENTROPIC = "entropic"
    """Log-transform at one real s: Chernoff's bound."""
    NORMAL = "normal"
    """The normal quantile, by its tangent at one deviation."""
    EXPECTED = "expected"
    """The mean."""


@dataclass(frozen=True, eq=False)
class Selector:
    """Model selection of an instance by the paper's graph.

    Attributes
    ----------
    instance : Instance
    levels : int
        eta.
    weight : Weight
        Reading of the weight of an edge.
    label : PaperLabel or None
        None chooses as the module says.
    proceed : callable
        Asked before every layer; False stops the search.
    """

    instance: Instance
    levels: int
    weight: Weight
    label: PaperLabel | None
    proceed: Callable[[], bool]

    def graph(self, datasets: frozenset[str]) -> tuple[ModelGraph, AdditiveLabel]:
        """The graph of a data choice with the label that it was built for.

        Raises
        ------
        StoppedError
            If ``proceed`` says so.
        NotCoveredError
            If the graph is too large, or the label that was asked for does not cover a law.
        """
        expected = expected_label()
        graph = self._built(datasets, expected)
        path = next(graph.paths(), None) or graph.nearest()
        kind = self._kind(datasets)
        if path is None or kind is PaperLabel.EXPECTED:
            return graph, expected
        parameter = self._own(kind, self.final_loss(datasets, path))
        if parameter is None:  # nothing is random: every label is the loss itself
            return graph, expected
        tried: list[float] = []
        found: list[tuple[float, float, ModelGraph, AdditiveLabel]] = []
        while parameter is not None and len(tried) < _MOST_SEARCHES:
            if any(math.isclose(parameter, other, rel_tol=_SAME) for other in tried):
                break
            tried.append(parameter)
            label = self._label(kind, parameter)
            graph = self._built(datasets, label)
            lightest = next(graph.paths(), None)
            path = lightest or graph.nearest() or path
            weight = math.inf if lightest is None else lightest.weight
            found.append((weight, graph.loss(path) + label.surcharge, graph, label))
            parameter = self._own(kind, self.final_loss(datasets, path))
        _, _, graph, label = min(found, key=lambda item: item[:2])
        return graph, label

    def names(self, path: GraphPath) -> tuple[str, ...]:
        """The models of a path."""
        return tuple(self.instance.models[index].name for index in path.models)

    def final_loss(self, datasets: frozenset[str], path: GraphPath) -> FinalLoss:
        """The law of l(K) on a path; it does not depend on the clusters (Sec. IV-C)."""
        steps, previous, since = [], self.instance.target.initial_model, 0
        for index, model in enumerate(self.names(path)):
            since = since + 1 if index and model == previous else 0
            steps.append(loss_step(self.instance, index + 1, since, previous, model, datasets))
            previous = model
        return compose(self.instance.target.initial_loss, steps)

    def _built(self, datasets: frozenset[str], label: AdditiveLabel) -> ModelGraph:
        place = most_capable_cluster(self.instance).name
        problem = additive_problem(self.instance, datasets, place, label, self.weight)
        return ModelGraph(problem, self.levels, self.proceed)

    def _kind(self, datasets: frozenset[str]) -> PaperLabel:
        """The label to take; refuses one that was asked for and does not cover a law of the graph."""
        place = most_capable_cluster(self.instance).name
        for kind in (self.label,) if self.label else (PaperLabel.ENTROPIC, PaperLabel.NORMAL):
            try:
                additive_problem(self.instance, datasets, place, self._label(kind, _PROBE), self.weight)
            except NotCoveredError:
                if self.label is not None:
                    raise
                continue
            return kind
        return PaperLabel.EXPECTED

    def _label(self, kind: PaperLabel, parameter: float) -> AdditiveLabel:
        target = self.instance.target
        if kind is PaperLabel.ENTROPIC:
            return entropic_label(target.violation_budget, parameter)
        if kind is PaperLabel.NORMAL:
            return normal_label(target.quantile_level, parameter)
        return expected_label()

    def _own(self, kind: PaperLabel, loss: FinalLoss) -> float | None:
        """A loss's own parameter of a label; None where nothing is random."""
        if kind is PaperLabel.ENTROPIC:
            return best_rate(loss, self.instance.target.violation_budget)
        return math.sqrt(loss.variance()) or None
