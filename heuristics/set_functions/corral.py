"""The corral of Wolfe's algorithm: affinely independent points, and the point of least norm of their hull.

The affine step solves (sigma e e' + P P') z = e for the rows P of the corral, with a Cholesky factor L L'
that gains a row when a point enters and is repaired by rotations when one leaves. Both run in compiled loops.
"""

import numpy as np

from depl.heuristics.set_functions.functions import FloatArray, IntArray
from depl.models.foundation.compiling import kernel

_NEGLIGIBLE = 1e-12
"""Weight, of a sum of 1, below which a point leaves the corral: some thousand roundings of doubles, by which
the triangular solves may be off, so that a smaller one may be negative in truth."""
_DEPENDENT = 1e-14
"""Share of a point's squared length outside the hull of the others that counts as none: 45 roundings of
doubles, so that the factor is not extended by what may be rounding alone."""


class Corral:
    """Points with their orders, their weights, and the factor L of sigma e e' + P P' = L L'.

    Parameters
    ----------
    order : ndarray
        The order whose greedy base the first point is.
    point : ndarray
        Shape (n,).

    Attributes
    ----------
    orders : list of ndarray
        One per point.
    weights : ndarray
        Convex weights, shape (k,).
    """

    def __init__(self, order: IntArray, point: FloatArray) -> None:
        self.orders = [order]
        room = min(len(point) + 1, 64)
        self._points = np.zeros((room, len(point)))
        self._factor = np.zeros((room, room))
        self._points[0] = point
        # e e' must weigh about as much as P P', or its part of the factor is lost in rounding
        self._sigma = max(float(point @ point), 1e-300)
        self._factor[0, 0] = np.sqrt(self._sigma + float(point @ point))
        self.weights = np.ones(1)

    @property
    def points(self) -> FloatArray:
        """P, shape (k, n)."""
        return self._points[: len(self.orders)]

    def least(self) -> FloatArray:
        """The convex combination of the points, shape (n,)."""
        return np.asarray(self.weights @ self.points, dtype=float)

    def add(self, order: IntArray, point: FloatArray) -> bool:
        """Add a point with weight 0; False if it lies in the affine hull already, up to rounding."""
        size = len(self.orders)
        self._make_room(size + 1)
        whole = self._sigma + float(point @ point)
        if not _extended(self._factor, self._sigma + self.points @ point, whole):
            return False
        self._points[size] = point
        self.orders.append(order)
        self.weights = np.append(self.weights, 0.0)
        return True

    def settle(self) -> None:
        """Minor steps: to the point of least norm of the affine hull, or of a face on the way there."""
        kept, self.weights = _settled(self._factor, self.weights)
        if len(kept) < len(self.orders):
            self._points[: len(kept)] = self._points[kept]
            self.orders = [self.orders[place] for place in kept.tolist()]

    def _make_room(self, size: int) -> None:
        room = len(self._points)
        if size > room:
            grown = min(2 * room, self._points.shape[1] + 1)
            points, factor = np.zeros((grown, self._points.shape[1])), np.zeros((grown, grown))
            points[:room], factor[:room, :room] = self._points, self._factor
            self._points, self._factor = points, factor


@kernel()
def _extended(factor: FloatArray, products: FloatArray, whole: float) -> bool:
    """Append the row of a point to the factor, given its products with the others and with itself."""
    size = len(products)
    if size >= len(factor):
        return False
    row = factor[size]
    rest = whole
    for i in range(size):
        found = products[i]
        for j in range(i):
            found -= factor[i, j] * row[j]
        row[i] = found / factor[i, i]
        rest -= row[i] * row[i]
    if rest <= _DEPENDENT * whole:
        return False
    row[size] = np.sqrt(rest)
    return True


@kernel()
def _affine_weights(factor: FloatArray, size: int) -> FloatArray:
    """The weights z / (e . z) of the solution z of L L' z = e."""
    found = np.empty(size)
    for i in range(size):
        value = 1.0
        for j in range(i):
            value -= factor[i, j] * found[j]
        found[i] = value / factor[i, i]
    for i in range(size - 1, -1, -1):
        found[i] /= factor[i, i]
        for j in range(i):
            found[j] -= factor[i, j] * found[i]
    shares: FloatArray = found / found.sum()
    return shares


@kernel()
def _drop_row(factor: FloatArray, place: int, size: int) -> None:
    """Remove a row of the lower triangular factor and rotate it back to triangular form, in place."""
    for row in range(place, size - 1):
        for column in range(row + 2):
            factor[row, column] = factor[row + 1, column]
    for column in range(place, size - 1):
        kept, above = factor[column, column], factor[column, column + 1]
        length = np.hypot(kept, above)
        cosine, sine = kept / length, above / length
        factor[column, column] = length
        factor[column, column + 1] = 0.0
        for row in range(column + 1, size - 1):
            left, right = factor[row, column], factor[row, column + 1]
            factor[row, column] = cosine * left + sine * right
            factor[row, column + 1] = cosine * right - sine * left


@kernel()
def _settled(factor: FloatArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """The places that stay and their weights; repairs the factor."""
    kept, now = np.arange(len(weights)), weights.copy()
    while True:
        target = _affine_weights(factor, len(now))
        if target.min() > _NEGLIGIBLE or len(target) == 1:
            return kept, target
        share, blocking = np.inf, 0
        for i in range(len(now)):
            if target[i] <= _NEGLIGIBLE:
                step = now[i] / max(now[i] - target[i], 1e-300)
                if step < share:
                    share, blocking = step, i
        share = min(1.0, share)
        now = share * target + (1 - share) * now
        now[blocking] = 0.0
        for i in range(len(now) - 1, -1, -1):
            if now[i] <= _NEGLIGIBLE:
                size = len(now)
                _drop_row(factor, i, size)
                now[i : size - 1] = now[i + 1 : size].copy()
                kept[i : size - 1] = kept[i + 1 : size].copy()
                now, kept = now[: size - 1], kept[: size - 1]
        now = now / now.sum()
