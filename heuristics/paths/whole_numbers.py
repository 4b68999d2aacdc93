r"""The path problem in whole numbers: sums without rounding, and bounds that no rounding can break.

Sums of floating-point numbers depend on their order, so that two orders of the same epochs seem to differ by
1e-16 and neither dominates the other: labels that should be one are many. In units of at most 2.5e-11 of a
budget, over K, sums are exact. All numbers are rounded down; over at most K steps the sums fall short by
less than K units, 2.5e-11 of the budget. Therefore

- what is too heavy, late or high in whole numbers is so in truth, and lower bounds are lower bounds;
- the budgets, with the tolerances of `AdditiveProblem.feasible` (1e-9) less a tenth, hold every
  path that keeps the exact budgets, and only paths that `AdditiveProblem.feasible` accepts.

Losses are counted from l(0); a path has to bring them down to ``loss_budget`` < 0 or lower.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_problem import AdditiveProblem, BoolArray
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

IntArray = NDArray[np.int64]

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
    losses, loss_budget, falling = _whole_losses(problem, allowed, scale)
    return WholeProblem(
        weights=weights,
        times=times,
        losses=losses,
        # What rises by more than ever falls is no way to the target.
        allowed=np.ascontiguousarray(allowed & (losses <= falling)),
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
    """Losses, what they have to come to, and the sum of all greatest falls."""
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
    falling = math.ceil(falls * scale) + problem.epochs
    losses = np.clip(problem.losses, -2 * LARGEST_LOSS, falling / scale + 1)  # may rise by no more than that
    return _down(losses * scale), budget, falling


def _down(values: FloatArray) -> IntArray:
    return np.ascontiguousarray(np.floor(values), dtype=np.int64)
