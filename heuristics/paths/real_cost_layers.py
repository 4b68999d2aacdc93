"""One pass over the layers of labels, by epochs: extend, bound, end, dominate (see `real_cost_search`)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from depl.heuristics.paths.real_cost_kernels import (
    Guides,
    Integers,
    Layer,
    Network,
    children,
    real_costs,
    undominated,
)
from depl.heuristics.paths.real_cost_problem import Kinds
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_CUT = 1e-10
"""Relative amount by which an end has to be cheaper, where no gap is given: a tenth of
`depl.models.foundation.tolerances.PROOF_TOLERANCE`, so that the bound of what is left out still proves the
cost."""
_MOST_NUMBERS = 1 << 25
"""Numbers of the price forms of one layer: doubles, 256 MiB. Set by hand: of a larger layer the labels of
least bound are kept, so that half as many make the bound weaker where layers are so large."""
_ROWS_AT_ONCE = 2_000
"""Labels that are compared between two looks at the clock. Set by hand: comparing takes up to their number
times that of the labels kept; results are the same for any."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """What a pass minimises: price forms between paces, guided from below.

    Attributes
    ----------
    network : Network
    index : ndarray of int
        Shape (K, G): row of ``pieces`` of each kind at each epoch.
    guides : Guides
    paces : ndarray
        Shape (J + 1,).
    pieces : ndarray
        Shape (R, J, 3): A, B, C of each load between neighbouring paces.
    maximum_time : float
        T_max; infinite if the value is G at the slowest pace.
    """

    network: Network
    index: Integers
    guides: Guides
    paces: FloatArray
    pieces: FloatArray
    maximum_time: float


@dataclass
class Incumbent:
    """The best end so far, by a value that ``measure`` computes exactly."""

    measure: Callable[[Kinds], float]
    value: float = math.inf
    sequence: Kinds | None = None

    def offer(self, sequence: Kinds) -> None:
        """Take a sequence if its value is less."""
        value = self.measure(sequence)
        if value < self.value:
            self.value, self.sequence = value, sequence


@dataclass(frozen=True)
class Passed:
    """What a pass proved.

    Attributes
    ----------
    lower : float
        Nothing is below the lesser of this and the incumbent.
    labels : int
        Labels that were kept.
    narrowed, stopped : bool
        Whether labels were left out for their number, or ``proceed`` said no.
    """

    lower: float
    labels: int
    narrowed: bool
    stopped: bool


def pass_over_layers(
    criterion: Criterion,
    incumbent: Incumbent,
    *,
    gap: float,
    most_labels: int,
    widest: int,
    proceed: Callable[[], bool],
) -> Passed:
    """Extend all labels epoch by epoch; improves the incumbent.

    Parameters
    ----------
    gap : float
        Labels that cannot improve the incumbent by this share are dropped.
    most_labels : int
        Labels that may be kept in all; beyond them every layer keeps the ``widest`` of least bound.
    widest : int
        Labels of a layer in a narrow pass.
    proceed : callable
        Asked now and then, at least before every layer that needs time.
    """
    return _Pass(criterion, incumbent, max(gap, _CUT), most_labels, widest, proceed).run()


class _Pass:
    def __init__(
        self,
        criterion: Criterion,
        incumbent: Incumbent,
        cut: float,
        most_labels: int,
        widest: int,
        proceed: Callable[[], bool],
    ) -> None:
        self.criterion, self.incumbent, self.cut = criterion, incumbent, cut
        self.most_labels, self.widest, self.proceed = most_labels, widest, proceed
        self.history: list[tuple[Integers, Integers]] = []
        self.lower, self.labels, self.narrowed = math.inf, 0, False

    def run(self) -> Passed:
        network, guides = self.criterion.network, self.criterion.guides
        layer = first_layer(network)
        values = np.zeros((1, len(guides.constants)))
        curves = np.zeros((1, *self.criterion.pieces.shape[1:]))
        for epoch in range(len(network.losses)):
            layer, dropped = children(network, guides, epoch, layer, values, self._threshold())
            self.lower = min(self.lower, float(dropped))  # a NumPy number without compilation
            layer = selected(layer, self._narrow(layer, np.arange(len(layer.losses)), self._most_rows))
            if not len(layer.losses):
                break
            curves = curves[layer.parents] + self.criterion.pieces[self.criterion.index[epoch, layer.kinds]]
            kept = self._kept(layer, curves)
            if kept is None:
                self.lower = min(self.lower, float(layer.bounds.min()))
                return Passed(self.lower, self.labels, self.narrowed, True)
            values = values[layer.parents[kept]] + guides.weights[:, epoch, layer.kinds[kept]].T
            layer, curves = selected(layer, kept), curves[kept]
            self.history.append((layer.parents, layer.kinds))
            self.labels += len(kept)
        return Passed(self.lower, self.labels, self.narrowed, False)

    def _threshold(self) -> float:
        return self.incumbent.value * (1 - self.cut)

    def _kept(self, layer: Layer, curves: FloatArray) -> Integers | None:
        """Rows that go on, those that end being offered to the incumbent; None if there is no time."""
        ends = layer.losses <= self.criterion.network.highest_loss
        self._end(layer, curves, np.flatnonzero(ends))
        late = ~ends & (layer.bounds >= self._threshold())
        self.lower = min(self.lower, float(layer.bounds[late].min(initial=math.inf)))
        going = np.flatnonzero(~ends & ~late)
        end = self.criterion.paces[-1]
        quickest = (curves[:, -1, 0] * end + 2 * curves[:, -1, 1]) * end + curves[:, -1, 2]
        going = going[np.lexsort((quickest[going], layer.losses[going]))]
        found = [going[:0]]
        for model in np.unique(layer.models[going]):
            rows = going[layer.models[going] == model]
            best = self._undominated(layer, curves[rows], rows)
            if best is None:
                return None
            found.append(rows[best])
        kept = np.concatenate(found)
        enough = self.labels + len(kept) <= self.most_labels
        return kept if enough else self._narrow(layer, kept, self.widest)

    def _undominated(self, layer: Layer, curves: FloatArray, rows: Integers) -> Integers | None:
        """Those of some rows, sorted by loss, that none dominates; None if there is no time."""
        kept, size = np.empty(len(rows), dtype=np.int64), 0
        losses, opened = layer.losses[rows], layer.opened[rows]
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            if not self.proceed():
                return None
            part = first, min(first + _ROWS_AT_ONCE, len(rows))
            size = undominated(
                losses,
                opened,
                curves,
                self.criterion.paces,
                self.criterion.network.charges,
                kept,
                part,
                size,
            )
        return np.sort(kept[:size])

    def _end(self, layer: Layer, curves: FloatArray, rows: Integers) -> None:
        criterion = self.criterion
        costs = real_costs(curves[rows], criterion.paces, criterion.maximum_time, TIME_TOLERANCE)
        costs += criterion.network.charges[layer.opened[rows]]
        for position in np.argsort(costs, kind="stable"):
            if costs[position] >= self._threshold():
                self.lower = min(self.lower, float(costs[position]))
                break
            self.incumbent.offer(self._sequence(layer, int(rows[position])))

    @property
    def _most_rows(self) -> int:
        """Labels of a layer whose price forms fit into memory."""
        return max(self.widest, _MOST_NUMBERS // int(self.criterion.pieces[0].size))

    def _narrow(self, layer: Layer, rows: Integers, most: int) -> Integers:
        """At most so many of some rows, those of least bound."""
        if len(rows) <= most:
            return rows
        self.narrowed = True
        order = rows[np.argsort(layer.bounds[rows], kind="stable")]
        self.lower = min(self.lower, float(layer.bounds[order[most]]))
        return order[:most]

    def _sequence(self, layer: Layer, row: int) -> Kinds:
        """The kinds of a label that has just been made."""
        kinds = [int(layer.kinds[row])]
        row = int(layer.parents[row])
        for parents, chosen in reversed(self.history):
            kinds.append(int(chosen[row]))
            row = int(parents[row])
        return tuple(kinds[::-1])


def selected(layer: Layer, rows: Integers) -> Layer:
    """Some labels of a layer."""
    return Layer(
        layer.losses[rows],
        layer.models[rows],
        layer.opened[rows],
        layer.parents[rows],
        layer.kinds[rows],
        layer.bounds[rows],
    )


def first_layer(network: Network) -> Layer:
    """The label without epochs."""
    start = np.full(1, network.losses.shape[1] - 1, dtype=np.int64)
    zero, nothing = np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64)
    return Layer(np.full(1, network.initial_loss), start, zero, nothing, nothing, np.zeros(1))
