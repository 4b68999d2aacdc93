"""The minimum-norm point of the base polytope, by Wolfe's algorithm (Fujishige 1980, Wolfe 1976).

Fujishige: if x is the point of least Euclidean norm in the base polytope of a submodular f, then
{i : x_i < 0} is the least minimiser of f and {i : x_i <= 0} the greatest. Wolfe's algorithm keeps x as a
convex combination of affinely independent greedy bases (the corral):

1. add the greedy base q of the order in which x rises (it minimises x . q); stop if that is no improvement;
2. move to the point y of least norm in the affine hull of the corral; if y leaves the convex hull, stop at
   its border, drop the bases whose weight became 0, and repeat.

The affine step solves (sigma e e' + P P') z = e for the rows P of the corral, with a Cholesky factor that is
extended when a base enters and repaired by rotations when one leaves.

Exactness does not depend on any of this floating point: all level sets of all x are swept for the best set,
and the bases and weights of the corral are the certificate that `concluded` checks in rational numbers.
"""

import time

import numba
import numpy as np
from scipy.linalg import solve_triangular

from depl.heuristics.submodular.answers import Minimum, concluded
from depl.heuristics.submodular.certificate import greedy_certificate
from depl.heuristics.submodular.functions import FloatArray, IntArray, SetFunction
from depl.heuristics.submodular.lovasz import GreedyBase, greedy_base
from depl.heuristics.submodular.status import check_base
from depl.heuristics.submodular.verdicts import Submodularity

_NEGLIGIBLE = 1e-12
_DEPENDENT = 1e-14
_MOST_IDLE = 10


def minimum_norm_point(
    function: SetFunction, *, iterations: int = 100_000, seconds: float | None = None
) -> Minimum:
    """Minimise a submodular function by its minimum-norm point.

    Parameters
    ----------
    function : SetFunction
        If its submodularity is not PROVED, every base is checked against the sets that are visited, and the
        answer is never called optimal.
    iterations : int
        Most bases to add.
    seconds : float, optional
        Wall time after which to stop.

    Returns
    -------
    Minimum
        With a certificate; ``optimal`` says whether it closes the gap.
    """
    search = _Search(function)
    status = function.submodularity()
    stop = None if seconds is None else time.perf_counter() + seconds
    while search.count < iterations:
        found = None if status.proved else search.refutation()
        if found is not None:
            status = found
            break
        if search.finished() or not search.step() or (stop is not None and time.perf_counter() >= stop):
            break
    certificate = greedy_certificate(search.corral.orders, search.corral.weights)
    return concluded(function, search.best, certificate, search.count, status)


class _Search:
    """x, the newest base, the best set and the corral."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function
        first = greedy_base(function, np.arange(function.size))
        self.best, self.best_value = first.best_prefix, float(first.values.min())
        self.empty_value = float(first.values[0])
        self.corral = _Corral(first)
        self.x = first.base
        self.count = 1
        self.least_square, self.idle = np.inf, 0
        self.newest = self._next()

    def finished(self) -> bool:
        """Whether the best set is within the granularity, or a hundredth of the tolerance, of the bound."""
        lower = self.empty_value + float(np.minimum(self.x, 0).sum())
        scale = max(abs(self.best_value), abs(self.empty_value), float(np.abs(self.x).max()))
        return self.best_value - lower <= max(0.99 * float(self.function.granularity), 1e-11 * scale)

    def refutation(self) -> Submodularity | None:
        """The free check of all bases of the corral on the newest prefixes."""
        newest = self.newest
        for order, base in zip(self.corral.orders, self.corral.points, strict=True):
            found = check_base(self.function, order, base, newest.order, newest.values)
            if found is not None:
                return found
        return None

    def step(self) -> bool:
        """Add the newest base and move x; False where rounding allows no further progress."""
        q = self.newest.base
        square = float(self.x @ self.x)
        self.idle = 0 if square < self.least_square else self.idle + 1
        self.least_square = min(square, self.least_square)
        if square <= float(self.x @ q) or self.idle > _MOST_IDLE or not self.corral.add(self.newest):
            return False
        self.corral.settle()
        self.x = self.corral.weights @ self.corral.points
        self.count += 1
        self.newest = self._next()
        return True

    def _next(self) -> GreedyBase:
        found = greedy_base(self.function, np.argsort(self.x, kind="stable"))
        if found.values.min() < self.best_value:
            self.best, self.best_value = found.best_prefix, float(found.values.min())
        return found


class _Corral:
    """Affinely independent bases, their weights, and the factor R of sigma e e' + P P' = R' R."""

    def __init__(self, first: GreedyBase) -> None:
        self.orders: list[IntArray] = [first.order]
        room = min(len(first.base) + 1, 64)
        self._points = np.zeros((room, len(first.base)))
        self._factor = np.zeros((room, room))
        self._points[0] = first.base
        # e e' must weigh about as much as P P', or its part of the factor is lost in rounding
        self._sigma = max(float(first.base @ first.base), 1e-300)
        self._factor[0, 0] = np.sqrt(self._sigma + float(first.base @ first.base))
        self.weights = np.ones(1)

    @property
    def points(self) -> FloatArray:
        """P, shape (k, n)."""
        return self._points[: len(self.orders)]

    def add(self, found: GreedyBase) -> bool:
        """Add a base with weight 0; False if it lies in the affine hull already, up to rounding."""
        size, q = len(self.orders), found.base
        products = self._sigma + self.points @ q
        column = solve_triangular(self._factor[:size, :size], products, trans=1, check_finite=False)
        whole = self._sigma + float(q @ q)
        rest = whole - float(column @ column)
        if rest <= _DEPENDENT * whole:
            return False
        self._make_room(size + 1)
        self._points[size] = q
        self._factor[:size, size] = column
        self._factor[size, :size] = 0
        self._factor[size, size] = np.sqrt(rest)
        self.orders.append(found.order)
        self.weights = np.append(self.weights, 0.0)
        return True

    def settle(self) -> None:
        """Minor steps: to the point of least norm of the affine hull, or of a face on the way there."""
        while True:
            target = self._affine_weights()
            if target.min() > _NEGLIGIBLE or len(target) == 1:
                self.weights = target
                return
            falling = target <= _NEGLIGIBLE
            steps = self.weights[falling] / np.maximum(self.weights[falling] - target[falling], 1e-300)
            share = min(1.0, float(steps.min()))
            moved = share * target + (1 - share) * self.weights
            moved[np.flatnonzero(falling)[int(np.argmin(steps))]] = 0.0
            self.weights = np.where(moved > _NEGLIGIBLE, moved, 0.0)
            for place in np.flatnonzero(self.weights == 0)[::-1].tolist():
                self._remove(place)
            self.weights = self.weights[self.weights > 0]
            self.weights /= self.weights.sum()

    def _affine_weights(self) -> FloatArray:
        size = len(self.orders)
        factor = self._factor[:size, :size]
        half = solve_triangular(factor, np.ones(size), trans=1, check_finite=False)
        found = solve_triangular(factor, half, check_finite=False)
        return np.asarray(found / found.sum(), dtype=float)

    def _remove(self, place: int) -> None:
        size = len(self.orders)
        _COMPILED(self._factor, place, size)
        self._points[place : size - 1] = self._points[place + 1 : size]
        del self.orders[place]

    def _make_room(self, size: int) -> None:
        room = len(self._points)
        if size > room:
            grown = min(2 * room, self._points.shape[1] + 1)
            points, factor = np.zeros((grown, self._points.shape[1])), np.zeros((grown, grown))
            points[:room], factor[:room, :room] = self._points, self._factor
            self._points, self._factor = points, factor


def _drop_column(factor: FloatArray, place: int, size: int) -> None:
    """Remove a column of an upper triangular factor and rotate it back to triangular form, in place."""
    for column in range(place, size - 1):
        for row in range(column + 2):
            factor[row, column] = factor[row, column + 1]
    for row in range(place, size - 1):
        above, below = factor[row, row], factor[row + 1, row]
        length = np.hypot(above, below)
        cosine, sine = above / length, below / length
        factor[row, row] = length
        factor[row + 1, row] = 0.0
        for column in range(row + 1, size - 1):
            upper, lower = factor[row, column], factor[row + 1, column]
            factor[row, column] = cosine * upper + sine * lower
            factor[row + 1, column] = cosine * lower - sine * upper


_COMPILED = numba.njit(cache=True)(_drop_column)
