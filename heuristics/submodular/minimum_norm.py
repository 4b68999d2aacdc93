"""The minimum-norm point of the base polytope, by Wolfe's algorithm (Fujishige 1980, Wolfe 1976).

Fujishige: if x is the point of least Euclidean norm in the base polytope of a submodular f, then
{i : x_i < 0} is the least minimiser of f and {i : x_i <= 0} the greatest. Wolfe's algorithm keeps x as a
convex combination of affinely independent greedy bases (the corral):

1. add the greedy base q of the order in which x rises (it minimises x . q); stop if that is no improvement;
2. move to the point y of least norm in the affine hull of the corral; if y leaves the convex hull, stop at
   its border, drop the bases whose weight became 0, and repeat.

Exactness does not depend on any of this floating point: all level sets of all x are swept for the best set,
and the bases and weights of the corral are the certificate that `concluded` checks in rational numbers.
"""

import time

import numpy as np

from depl.heuristics.submodular.answers import Minimum, concluded
from depl.heuristics.submodular.function import FloatArray, IntArray, SetFunction, Submodularity
from depl.heuristics.submodular.lovasz import GreedyBase, greedy_base, greedy_certificate
from depl.heuristics.submodular.submodularity import check_base
from depl.models.foundation.compiling import kernel

_MOST_IDLE = 10
"""Steps in a row in which the norm does not fall. In exact arithmetic every step of Wolfe's algorithm lowers
it, so these are rounding; ten, set by hand, end the search soon and let it pass one that is off."""
_NEGLIGIBLE = 1e-12
"""Weight, of a sum of 1, below which a point leaves the corral: some thousand roundings of doubles, by which
the triangular solves may be off, so that a smaller one may be negative in truth."""
_DEPENDENT = 1e-14
"""Share of a point's squared length outside the hull of the others that counts as none: 45 roundings of
doubles, so that the factor is not extended by what may be rounding alone."""


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
    status = function.known
    begun = time.perf_counter()
    search = _Search(function)
    stop = None if seconds is None else begun + seconds
    while search.count < iterations:
        found = None if status.proved else search.refutation()
        if found is not None:
            status = found
            break
        if search.finished() or not search.step() or (stop is not None and time.perf_counter() >= stop):
            break
    spent = time.perf_counter() - begun
    certificate = greedy_certificate(search.corral.orders, search.corral.weights)
    return concluded(function, search.best.best_prefix, certificate, search.count, status, spent)


class _Search:
    """x, the newest base, the base with the best set on its way, and the corral."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function
        self.best = greedy_base(function, np.arange(function.size))
        self.corral = Corral(self.best)
        self.x = self.best.base
        self.count = 1
        self.least_square, self.idle = np.inf, 0
        self.newest = self._next()

    def finished(self) -> bool:
        """Whether the best set is as near to the bound as whole numbers or the tolerance ask."""
        lower, least = float(np.minimum(self.x, 0).sum()), float(self.best.gains.min())
        scale = max(-least, float(np.abs(self.x).max(initial=0)))
        return least - lower <= max(0.99 if self.function.whole else 0.0, 1e-11 * scale)

    def refutation(self) -> Submodularity | None:
        """The free check of all bases of the corral on the newest prefixes."""
        newest = self.newest
        for base in self.corral.bases:
            found = check_base(self.function, base.order, base.gains, newest.order, newest.gains)
            if found is not None:
                return found
        return None

    def step(self) -> bool:
        """Add the newest base and move x; False where rounding allows no further progress."""
        square = float(self.x @ self.x)
        self.idle = 0 if square < self.least_square else self.idle + 1
        self.least_square = min(square, self.least_square)
        if square <= float(self.x @ self.newest.base) or self.idle > _MOST_IDLE:
            return False
        if not self.corral.add(self.newest):
            return False
        self.corral.settle()
        self.x = self.corral.least()
        self.count += 1
        self.newest = self._next()
        return True

    def _next(self) -> GreedyBase:
        found = greedy_base(self.function, np.argsort(self.x, kind="stable"))
        if found.gains.min() < self.best.gains.min():
            self.best = found
        return found


class Corral:
    """Affinely independent greedy bases, the point of least norm of their hull, and what finds it.

    The affine step solves (sigma e e' + P P') z = e for the rows P of the corral, with a Cholesky factor L L'
    that gains a row when a point enters and is repaired by rotations when one leaves.

    Attributes
    ----------
    bases : list of GreedyBase
        The points with their orders.
    weights : ndarray
        Convex weights, shape (k,).
    """

    def __init__(self, first: GreedyBase) -> None:
        self.bases, point = [first], first.base
        room = min(len(point) + 1, 64)
        self._points = np.zeros((room, len(point)))
        self._factor = np.zeros((room, room))
        self._points[0] = point
        # e e' must weigh about as much as P P', or its part of the factor is lost in rounding
        self._sigma = max(float(point @ point), 1e-300)
        self._factor[0, 0] = np.sqrt(self._sigma + float(point @ point))
        self.weights = np.ones(1)

    @property
    def orders(self) -> list[IntArray]:
        """One per point."""
        return [base.order for base in self.bases]

    def least(self) -> FloatArray:
        """The convex combination of the points, shape (n,)."""
        return np.asarray(self.weights @ self._points[: len(self.bases)], dtype=float)

    def add(self, new: GreedyBase) -> bool:
        """Add a point with weight 0; False if it lies in the affine hull already, up to rounding."""
        size, point = len(self.bases), new.base
        self._make_room(size + 1)
        whole = self._sigma + float(point @ point)
        if not _extended(self._factor, self._sigma + self._points[:size] @ point, whole):
            return False
        self._points[size] = point
        self.bases.append(new)
        self.weights = np.append(self.weights, 0.0)
        return True

    def settle(self) -> None:
        """Minor steps: to the point of least norm of the affine hull, or of a face on the way there."""
        kept, self.weights = _settled(self._factor, self.weights)
        if len(kept) < len(self.bases):
            self._points[: len(kept)] = self._points[kept]
            self.bases = [self.bases[place] for place in kept.tolist()]

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
