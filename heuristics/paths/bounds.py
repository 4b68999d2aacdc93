r"""The path problem in whole numbers, and lower bounds of what completions of a label weigh.

*Whole numbers*: sums of floating-point numbers depend on their order, so that labels that should be one are
many. In units of at most 2.5e-11 of a budget, over K, sums are exact. All numbers are rounded down, so that
what is too heavy, late or high in whole numbers is so in truth, by less than K units; the budgets, with the
tolerances of `AdditiveProblem.feasible` (1e-9) less a tenth, hold every path that keeps the exact budgets,
and only paths that it accepts. Losses are counted from l(0); ``loss_budget`` is above 0 only where l(0) meets
the target.

*Bounds*, the Lagrangian dual: for prices lam, mu >= 0 a label (w, t, l) at (k, m) has no feasible completion
lighter than w + lam (t - T) + mu (l - L) + H(k, m), H being the least sum of weight + lam time + mu loss of a
completion, the empty one included. Kelley's cutting planes find the best prices at the start, and the best
few are used together; with the weight left out they say which labels can reach the target in time at all.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from depl.heuristics.paths import kernels
from depl.heuristics.paths.additive_problem import AdditiveProblem, BoolArray
from depl.heuristics.paths.kernels import Data, IntArray, Rows
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.programs.cut_program import CutProgram

RESOLUTION = 2.5e-11
"""Share of T_max [1], and loss [loss], by which whole numbers may fall short over all epochs."""

LARGEST_LOSS = 2.0**16
"""Losses of this size can still be told apart to 1e-9, the tolerance of l_max."""

_MARGIN = 1e-10  # of the tolerances, for numbers rounded down and for rounding in `AdditiveProblem.feasible`
_WEIGHT_RESOLUTION = 1e-13
"""Share of the sum of the heaviest epochs by which weights may fall short over all epochs: K epochs sum up to
at most 1e13 K units, which 64-bit integers hold up to K of 900,000; where a lighter path is known, the unit
is finer."""
_LARGEST = 2.0**60
"""Greatest sum of falls in whole numbers: an eighth of what 64-bit integers hold, so that sums and
differences of a few such numbers do not overflow."""


@dataclass(frozen=True, eq=False)
class WholeProblem:
    """A path problem in whole numbers.

    Attributes
    ----------
    weights, times : ndarray of int
        Shape (K, M). All times are 0 without T_max.
    losses : ndarray of int
        Shape (K, M + 1, M), row M for the start.
    allowed : ndarray of bool
        Shape (K, M + 1, M); without the steps that alone break a budget.
    maximum_time, loss_budget : int
        Greatest sum of times and of losses of a feasible path.
    weight_unit : float
        Weight of one unit.
    scale : float
        Units of time in T_max, and units of loss in 1: a power of 2.
    """

    weights: IntArray
    times: IntArray
    losses: IntArray
    allowed: BoolArray
    maximum_time: int
    loss_budget: int
    weight_unit: float
    scale: float

    @property
    def epochs(self) -> int:
        """K_max."""
        return len(self.weights)

    @property
    def start(self) -> int:
        """M, the index of the start among the predecessors."""
        return int(self.weights.shape[1])

    @property
    def weight_error(self) -> float:
        """Weight by which the sum of a path may fall short."""
        return self.weight_unit * (self.epochs + 2)


def in_whole_numbers(problem: AdditiveProblem, upper: float = math.inf) -> WholeProblem:
    """Round a problem down to whole numbers.

    Parameters
    ----------
    problem : AdditiveProblem
        With T_max >= 0 and at least one epoch.
    upper : float
        Steps heavier than this are not allowed, and the unit of weight is no more than it needs.

    Raises
    ------
    NotCoveredError
        If losses are so large that 1e-9, the tolerance of l_max, is lost in their rounding.
    """
    epochs = problem.epochs
    light = np.isfinite(problem.weights) & (problem.weights <= upper)
    allowed = problem.allowed & light[:, None, :]
    allowed[0, : problem.start] = False
    allowed[1:, problem.start] = False
    scale = 2.0 ** math.ceil(math.log2(epochs / RESOLUTION))  # multiplies without rounding
    times, maximum_time, on_time = _whole_times(problem, scale)
    allowed &= on_time[:, None, :]
    weights, unit = _whole_weights(problem.weights, np.any(allowed, axis=1, keepdims=True)[:, 0], upper)
    losses, loss_budget, most = _whole_losses(problem, allowed, scale)
    return WholeProblem(
        weights=weights,
        times=times,
        losses=losses,
        # What rises by more than the target and all falls make up for is no way there.
        allowed=np.ascontiguousarray(allowed & (losses <= most)),
        maximum_time=maximum_time,
        loss_budget=loss_budget,
        weight_unit=unit / epochs,
        scale=scale,
    )


def _whole_times(problem: AdditiveProblem, scale: float) -> tuple[IntArray, int, BoolArray]:
    """Times, T_max, and whether an epoch keeps T_max by itself."""
    limit = problem.maximum_time * (1 + TIME_TOLERANCE)
    on_time = problem.times <= limit
    if math.isinf(limit):
        return np.zeros(problem.times.shape, dtype=np.int64), 0, on_time
    shares = np.where(on_time, problem.times, 0.0) / (problem.maximum_time or 1.0)
    return _down(shares * scale), math.floor((1 + TIME_TOLERANCE - _MARGIN) * scale), on_time


def _whole_weights(weights: FloatArray, used: BoolArray, upper: float) -> tuple[IntArray, float]:
    """Weights, and K units of them."""
    kept = np.where(used, weights, 0.0)
    heaviest = math.fsum(kept.max(axis=1))
    unit = heaviest * _WEIGHT_RESOLUTION
    if 0 < upper < math.inf:
        unit = min(unit, upper * RESOLUTION / 4)
    if not unit > 0:  # nothing weighs anything that could be told from 0
        unit = 1.0
    return _down(kept / unit * len(weights)), unit


def _whole_losses(problem: AdditiveProblem, allowed: BoolArray, scale: float) -> tuple[IntArray, int, int]:
    """Losses, what they have to come to, and the most by which a step may rise."""
    falls = math.fsum(np.where(allowed, -problem.losses, 0.0).max(axis=(1, 2), initial=0.0))
    largest = max(falls, abs(problem.initial_loss))
    if largest > LARGEST_LOSS or falls * scale > _LARGEST:
        raise NotCoveredError(
            f"losses of {largest:.3g} cannot be told apart to {ATOM_TOLERANCE:g} over {problem.epochs} "
            "epochs; give the loss in a larger unit"
        )
    target = max(problem.maximum_loss, problem.initial_loss - 2 * falls - 1)  # as hopeless as any lower one
    needed = Fraction(target) - Fraction(problem.initial_loss)
    budget = math.floor((needed + Fraction(ATOM_TOLERANCE - _MARGIN)) * Fraction(scale))
    budget = min(budget, int(_LARGEST))  # where l(0) meets the target by more than whole numbers hold
    most = math.ceil(falls * scale) + max(budget, 0) + problem.epochs
    losses = np.clip(problem.losses, -2 * LARGEST_LOSS, most / scale + 1)  # may rise by no more than that
    return _down(losses * scale), budget, most


def _down(values: FloatArray) -> IntArray:
    return np.ascontiguousarray(np.floor(values), dtype=np.int64)


_PRICES = 5
"""Prices, the best of the dual, whose rows bound labels. Set by hand: each row takes K (M + 1) numbers and
one product for every label; fewer rows leave more labels."""
_CUTS = 80
"""Cuts of one dual. Set by hand: it ends at `_CONVERGED`; every price found is a bound, so fewer make it
weaker."""
_LARGEST_PRICE = 1e4
"""Bounds of the prices in shares of the weight of all epochs per budget, so that the program has an optimum
from its first cut on. Set by hand: every price proves a bound; one that needs a greater price is weaker."""
_CONVERGED = 1e-7
"""Relative gap between the ceiling of the program and the best bound at which the dual is left. Set by hand:
the bound is at most that much below the best of its kind, and the passes close the rest."""
_ALLOWED_SLACK = 1e-10
"""Share of the dual bound that rounding of a row may blur. Set by hand: rows that it blurs more are left out,
which leaves more labels; the rounding of those that are used is granted."""


class Point(NamedTuple):
    """Prices, and the lower bound that they prove at the start."""

    bound: float
    time_price: float
    loss_price: float


@dataclass(frozen=True, eq=False)
class CompletionBounds:
    """Bounds for all labels of a problem.

    Attributes
    ----------
    points : tuple of Point
        The prices used, the best first.
    rows : Rows
        J rows, those without the weight first; ``completions`` and ``totals`` have a first axis for the
        epochs, K + 1 long.
    following : ndarray of int
        Shape (J, K, M + 1): the next model of the completion that is least at the prices of a row, or -1.
    prefixes, rest : ndarray
        F and H at the first prices, shape (K + 1, M + 1).
    slack : float
        What rounding may add to a bound that counts the weight [units of weight].
    """

    points: tuple[Point, ...]
    rows: Rows
    following: kernels.ShortArray
    prefixes: FloatArray
    rest: FloatArray
    slack: float

    @property
    def lower(self) -> float:
        """Lower bound of all feasible paths [units of weight]."""
        return max(self.points[0].bound - self.slack, 0.0)

    def rows_after(self, epoch: int) -> Rows:
        """The rows for labels of this epoch."""
        rows = self.rows
        return rows._replace(completions=rows.completions[epoch], totals=rows.totals[epoch])

    def completion(self, row: int, epoch: int, model: int) -> tuple[int, ...]:
        """The models that follow a label of this epoch and model at the prices of a row."""
        return _followed(self.following[row], epoch, model)


@dataclass(frozen=True)
class Dual:
    """What the cutting planes found: points, the best first, and the lightest feasible path met, if any."""

    points: tuple[Point, ...]
    path: tuple[int, ...] | None


def least_loss(whole: WholeProblem) -> tuple[int, tuple[int, ...]]:
    """The lowest sum of losses, whatever the time, and a path that has it."""
    data = data_of(whole)
    following = _choices(whole, data, 0.0, 0.0, 1.0)[1]
    _, _, loss, _ = kernels.totals(data, following)
    return loss, _followed(following, 0, whole.start)


def least_time(whole: WholeProblem) -> tuple[float, Dual]:
    """A lower bound of the time to the target, and the dual that proves it, its weight being the time."""
    data = data_of(whole)._replace(weights=whole.times, times=np.zeros_like(whole.times))
    dual = _maximise(whole, data)
    return dual.points[0].bound - _slack(whole, data, dual.points[0]), dual


def lagrangian_dual(whole: WholeProblem) -> Dual:
    """The dual of the least weight."""
    return _maximise(whole, data_of(whole))


def completion_bounds(whole: WholeProblem, dual: Dual, time_dual: Dual | None) -> CompletionBounds:
    """Rows for the best prices of the dual, and for what cannot reach the target in time."""
    data = data_of(whole)
    points, slack = _sharp(whole, dual.points)
    prices = [(0.0, 0.0, 1.0)]
    if time_dual is not None:
        prices += [(0.0, 1.0, point.loss_price) for point in time_dual.points[:1]]
    prices += [(1.0, point.time_price, point.loss_price) for point in points]
    choices = [_choices(whole, data, *price) for price in prices]
    tables = [least for least, _ in choices]
    counted, time_prices, loss_prices = (np.array(column) for column in zip(*prices, strict=True))
    light = data._replace(weights=np.zeros_like(whole.weights))
    slacks = [0.0 if price[0] else _slack(whole, light, Point(0.0, *price[1:])) for price in prices]
    prefixes = np.empty((whole.epochs + 1, whole.start + 1))
    kernels.cheapest_prefixes(data, points[0].time_price, points[0].loss_price, prefixes)
    return CompletionBounds(
        points=points,
        rows=Rows(
            counted,
            time_prices,
            loss_prices,
            time_prices * float(whole.maximum_time) + loss_prices * float(whole.loss_budget),
            np.array(slacks),
            np.ascontiguousarray(np.stack(tables, axis=1)),
            np.ascontiguousarray(np.stack([_totals(data, row) for _, row in choices], axis=1)),
        ),
        following=np.stack([row for _, row in choices]),
        prefixes=prefixes,
        rest=tables[len(prices) - len(points)],
        slack=slack,
    )


def data_of(whole: WholeProblem) -> Data:
    """The arrays that the kernels read."""
    return Data(whole.weights, whole.times, whole.losses, whole.allowed)


def _maximise(whole: WholeProblem, data: Data) -> Dual:
    """Kelley's cutting planes, in shares of the budgets: max z with z <= w + lam late + mu high."""
    timed = bool(data.times.any())
    unit = float(data.weights.max(axis=1, initial=0).sum()) or 1.0
    budgets = float(whole.maximum_time) if timed else 1.0, float(abs(whole.loss_budget)) or 1.0
    program = CutProgram(np.zeros(2), np.array([_LARGEST_PRICE if timed else 0.0, _LARGEST_PRICE]))
    points: list[Point] = []
    known, path = math.inf, None
    prices = (0.0, 0.0)
    for _ in range(_CUTS):
        _, following = _choices(whole, data, 1.0, *prices)
        weight, time, loss, _ = kernels.totals(data, following)
        late, high = time - whole.maximum_time if timed else 0, loss - whole.loss_budget
        if late <= 0 and high <= 0 and weight < known:
            known, path = weight, _followed(following, 0, whole.start)
        points.append(Point(float(weight + prices[0] * late + prices[1] * high), *prices))
        program.add(np.array([[-late / budgets[0], -high / budgets[1]]]), np.array([weight / unit]))
        found, best = program.solve(), max(point.bound for point in points)
        if found is None or not found.ceiling * unit > best + _CONVERGED * abs(best):
            break  # every point found is a bound all the same
        time_price, loss_price = np.maximum(found.point, 0.0).tolist()
        prices = time_price * unit / budgets[0], loss_price * unit / budgets[1]
    return Dual(tuple(sorted(points, key=lambda point: -point.bound)), path)


def _choices(
    whole: WholeProblem, data: Data, counted: float, time_price: float, loss_price: float
) -> tuple[FloatArray, kernels.ShortArray]:
    """H at these prices, and the next models that attain it."""
    least = np.empty((whole.epochs + 1, whole.start + 1))
    following = np.empty((whole.epochs, whole.start + 1), dtype=np.int32)
    kernels.completions(data, counted, time_price, loss_price, least, following)
    return least, following


def _totals(data: Data, following: kernels.ShortArray) -> IntArray:
    """Weight, time and loss of the completions, shape (K + 1, M + 1, 3)."""
    sums = np.empty((len(following) + 1, following.shape[1], 3), dtype=np.int64)
    kernels.completion_totals(data, following, sums)
    return sums


def _followed(following: kernels.ShortArray, epoch: int, model: int) -> tuple[int, ...]:
    """The models after this epoch and model."""
    path: list[int] = []
    for row in following[epoch:]:
        model = int(row[model])
        if model < 0:
            break
        path.append(model)
    return tuple(path)


def _sharp(whole: WholeProblem, points: tuple[Point, ...]) -> tuple[tuple[Point, ...], float]:
    """The best points whose rows rounding does not blur, and by how much it may blur them."""
    data = data_of(whole)
    allowed = _ALLOWED_SLACK * max(points[0].bound, 0.0)
    blurs = {point: _slack(whole, data, point) for point in points}
    kept = [point for point in points if blurs[point] <= allowed][:_PRICES]  # prices of 0 are among them
    return tuple(kept), max(blurs[point] for point in kept)


def _slack(whole: WholeProblem, data: Data, point: Point) -> float:
    """Most that rounding can change in a bound: (2 K + 16) 2**-53 times the sum of all magnitudes.

    At prices of 0 nothing is added to the weight, and completions add nothing.
    """
    if point.time_price == point.loss_price == 0:
        return 0.0
    rises = np.where(data.allowed, np.abs(data.losses), 0).max(axis=(1, 2), initial=0)
    magnitude = (
        float(data.weights.max(axis=1, initial=0).sum())
        + point.time_price * (float(data.times.max(axis=1, initial=0).sum()) + whole.maximum_time)
        + point.loss_price * (float(rises.sum()) + abs(whole.loss_budget))
    )
    return (2 * whole.epochs + 16) * 2.0**-53 * magnitude
