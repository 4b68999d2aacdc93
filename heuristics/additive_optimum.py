r"""The optimum of the additive path problem, without a grid: labels with exact values.

A label is a path prefix's (weight w, time t, loss l) at its last (epoch, model). Only prefixes of the same
epoch and model are compared; one that is no better in any of the three is dropped, because the same steps may
follow both. Loss falls and rises, so nothing is dropped for a high loss alone. What keeps the labels few is a
bound: for prices lam, mu >= 0 every completion to a feasible path weighs at least

    w + lam (t - T_max) + mu (l - l_max) + H(k, m),
    H(k, m) = min over completions, the empty one included, of sum (weight + lam time + mu loss),

so a label is dropped if that reaches the least known weight. Good prices are those of the Lagrangian dual,
max over lam, mu of the bound at the start, found by cutting planes; some of the last are used together.

This is a reference for measuring the graph; the solver to use is the exact label setting of the toolkit.
"""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from depl.heuristics.additive_problem import LOSS_TOLERANCE, AdditiveProblem
from depl.models.allocation import TIME_TOLERANCE
from depl.models.errors import NotCoveredError
from depl.models.laws import FloatArray

MOST_LABELS = 2_000_000
"""Labels after which the search gives up."""

_CUTS = 60
_PRICES = 6
_ROUNDING = 1e-12


@dataclass(frozen=True)
class AdditivePath:
    """A path with its exact totals."""

    models: tuple[int, ...]
    weight: float
    time: float
    loss: float


@dataclass(frozen=True)
class Prices:
    """A point of the Lagrangian dual: lam of time, mu of loss, and the lower bound that they prove."""

    time: float
    loss: float
    bound: float


def additive_optimum(
    problem: AdditiveProblem, upper: float = math.inf, most_labels: int = MOST_LABELS
) -> AdditivePath | None:
    """A feasible path of least weight; None if there is none.

    Parameters
    ----------
    upper : float
        A known upper bound of the least weight; paths above it are not looked for.
    most_labels : int
        Labels that may be kept.

    Raises
    ------
    NotCoveredError
        If that many labels do not suffice.
    """
    if problem.initial_loss <= problem.maximum_loss + LOSS_TOLERANCE:
        return AdditivePath((), 0.0, 0.0, problem.initial_loss)
    if problem.maximum_time < 0:
        return None
    prices, known = dual_prices(problem)
    if known is not None:
        upper = min(upper, known)
    search = _LabelSearch(problem, prices, upper * (1 + 1e-9) + 1e-300, most_labels)
    return search.run()


def dual_prices(problem: AdditiveProblem) -> tuple[list[Prices], float | None]:
    """Points of the Lagrangian dual, the best first, and the least weight of a feasible path met on the way.

    Kelley's cutting planes: every path that is cheapest at some prices cuts the concave dual from above.
    """
    timed = math.isfinite(problem.maximum_time)
    scale = float(problem.weights.sum(axis=0).max(initial=0.0)) + 1e-12
    span = float(np.abs(problem.losses).max(initial=0.0)) + 1e-12
    longest = max(problem.maximum_time, float(problem.times.max(initial=0.0)), 1e-12)
    box = [1e4 * scale / longest if timed else 0.0, 1e4 * scale / span]
    cuts: list[tuple[float, float, float]] = []
    points: list[Prices] = []
    known: float | None = None
    lam, mu = 0.0, 0.0
    for _ in range(_CUTS):
        path, _ = _cheapest(problem, lam, mu)
        weight, time, loss = problem.totals(path)
        if problem.feasible(path):
            known = weight if known is None else min(known, weight)
        excess = (time - problem.maximum_time if timed else 0.0, loss - problem.maximum_loss)
        points.append(Prices(lam, mu, weight + lam * excess[0] + mu * excess[1]))
        cuts.append((weight, *excess))
        rows = np.array([[1.0, -a, -b] for _, a, b in cuts])
        found = optimize.linprog(
            [-1.0, 0.0, 0.0],
            A_ub=rows,
            b_ub=[cut[0] for cut in cuts],
            bounds=[(None, None), (0, box[0]), (0, box[1])],
        )
        best = max(point.bound for point in points)
        if found.x is None or found.x[0] <= best + 1e-7 * abs(best):
            break
        lam, mu = float(found.x[1]), float(found.x[2])
    return sorted(points, key=lambda point: -point.bound)[:_PRICES], known


def _cheapest(problem: AdditiveProblem, lam: float, mu: float) -> tuple[tuple[int, ...], FloatArray]:
    """The path of least weight + lam time + mu loss, and H(k, m), the start in the last row."""
    count, epochs = problem.start, problem.epochs
    timed = math.isfinite(problem.maximum_time)
    node = problem.weights + (lam * problem.times if timed else 0.0)
    completions = np.zeros((epochs + 1, count + 1))
    following = np.full((epochs + 1, count + 1), -1, dtype=np.int64)
    for k in range(epochs - 1, -1, -1):
        costs = node[k] + mu * problem.losses[k] + completions[k + 1, :count]
        costs = np.where(problem.allowed[k], costs, np.inf)
        best = costs.argmin(axis=1)
        least = costs[np.arange(count + 1), best]
        going = least < 0  # otherwise it is better to stop
        completions[k] = np.where(going, least, 0.0)
        following[k] = np.where(going, best, -1)
    path, model = [], count
    for k in range(epochs):
        model = int(following[k, model])
        if model < 0:
            break
        path.append(model)
    return tuple(path), completions


@dataclass
class _Labels:
    """Labels of one (epoch, model), one row each; ``parent`` points into the predecessor's labels."""

    values: FloatArray  # weight, time, loss
    before: NDArray[np.int64]
    parent: NDArray[np.int64]


class _LabelSearch:
    def __init__(
        self, problem: AdditiveProblem, prices: list[Prices], upper: float, most_labels: int
    ) -> None:
        self.problem, self.upper, self.left = problem, upper, most_labels
        self.latest = problem.maximum_time * (1 + TIME_TOLERANCE)
        self.highest = problem.maximum_loss + LOSS_TOLERANCE
        self.bounds = [self._bound(point) for point in prices]
        self.layers: list[list[_Labels]] = []
        self.end: tuple[int, int, int] | None = None

    def run(self) -> AdditivePath | None:
        count = self.problem.start
        nothing = np.zeros((0, 3))
        start = np.array([[0.0, 0.0, self.problem.initial_loss]])
        open_ = [nothing] * count + [start]
        for k in range(self.problem.epochs):
            layer = [self._arrivals(k, m, open_) for m in range(count)]
            self.layers.append(layer)
            open_ = [self._close(k, m, labels) for m, labels in enumerate(layer)] + [nothing]
            if not any(map(len, open_)):
                break
        return None if self.end is None else self._path(*self.end)

    def _bound(self, point: Prices) -> Callable[[int, int, FloatArray], FloatArray]:
        """A lower bound of the weight of every feasible completion of labels at (epoch k + 1, model)."""
        _, completions = _cheapest(self.problem, point.time, point.loss)
        timed = math.isfinite(self.problem.maximum_time)
        lam = point.time if timed else 0.0
        charge = (lam * self.latest if timed else 0.0) + point.loss * self.highest

        def bound(k: int, m: int, values: FloatArray) -> FloatArray:
            priced = values[:, 0] + lam * values[:, 1] + point.loss * values[:, 2]
            return np.asarray(priced - charge + completions[k + 1, m])

        return bound

    def _arrivals(self, k: int, m: int, open_: list[FloatArray]) -> _Labels:
        """Labels that arrive at (k + 1, m), undominated and within the bounds."""
        parts, before, parent = [], [], []
        for p, labels in enumerate(open_):
            going = np.flatnonzero(np.isfinite(labels[:, 0]))
            if len(going) and self.problem.allowed[k, p, m]:
                step = (
                    self.problem.weights[k, m],
                    self.problem.times[k, m],
                    self.problem.losses[k, p, m],
                )
                parts.append(labels[going] + np.array(step))
                before.append(np.full(len(going), p))
                parent.append(going)
        if not parts:
            empty = np.zeros(0, dtype=np.int64)
            return _Labels(np.zeros((0, 3)), empty, empty)
        values = np.concatenate(parts)
        keep = (values[:, 1] <= self.latest) & (values[:, 0] < self.upper)
        for bound in self.bounds:
            keep &= bound(k, m, values) * (1 - _ROUNDING) < self.upper
        rows = np.flatnonzero(keep)
        rows = rows[_undominated(values[rows])]
        self.left -= len(rows)
        if self.left < 0:
            raise NotCoveredError("the exact search needs too many labels; give it a tighter upper bound")
        return _Labels(values[rows], np.concatenate(before)[rows], np.concatenate(parent)[rows])

    def _close(self, k: int, m: int, labels: _Labels) -> FloatArray:
        """Take the labels that end feasibly as ends; the values of the others, which go on."""
        values = labels.values
        done = values[:, 2] <= self.highest
        for row in np.flatnonzero(done):
            if values[row, 0] < self.upper:
                self.upper, self.end = float(values[row, 0]), (k, m, int(row))
        return np.where(done[:, None], np.inf, values)

    def _path(self, k: int, m: int, row: int) -> AdditivePath:
        path = []
        while k >= 0:
            path.append(m)
            labels = self.layers[k][m]
            m, row = int(labels.before[row]), int(labels.parent[row])
            k -= 1
        models = tuple(path[::-1])
        return AdditivePath(models, *self.problem.totals(models))


def _undominated(values: FloatArray) -> NDArray[np.int64]:
    """Rows that no other row matches or beats in all three columns."""
    order = np.lexsort((values[:, 2], values[:, 1], values[:, 0]))
    times: list[float] = []  # a staircase: later and lower
    losses: list[float] = []
    kept = []
    for row in order:
        time, loss = float(values[row, 1]), float(values[row, 2])
        place = bisect.bisect_right(times, time)
        if place and losses[place - 1] <= loss:
            continue
        kept.append(row)
        last = place
        while last < len(losses) and losses[last] >= loss:
            last += 1
        if place and times[place - 1] == time:
            place -= 1
        times[place:last], losses[place:last] = [time], [loss]
    return np.array(kept, dtype=np.int64)
