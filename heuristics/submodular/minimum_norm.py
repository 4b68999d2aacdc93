"""The minimum-norm point of the base polytope, by Wolfe's algorithm (Fujishige 1980, Wolfe 1976).

If x is the point of least norm, {i : x_i < 0} is the least minimiser of f and {i : x_i <= 0} the greatest.
Wolfe's algorithm keeps x as a convex combination of affinely independent greedy bases (the corral): it adds
the greedy base of the order in which x rises, and moves to the point of least norm of the affine hull; where
that leaves the convex hull it stops at its border and drops the bases whose weight became 0. Exactness does
not depend on this floating point: the corral is the certificate that `concluded` checks in rational numbers.
"""

import time

import numpy as np
from scipy import linalg

from depl.heuristics.submodular.answers import Minimum, concluded
from depl.heuristics.submodular.function import FloatArray, IntArray, SetFunction, Submodularity
from depl.heuristics.submodular.lovasz import GreedyBase, greedy_base, greedy_certificate
from depl.heuristics.submodular.submodularity import check_base

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

    The affine step solves (sigma e e' + P P') z = e for the rows P of the corral, by Cholesky.

    Attributes
    ----------
    bases : list of GreedyBase
        The points with their orders.
    weights : ndarray
        Convex weights, shape (k,).
    """

    def __init__(self, first: GreedyBase) -> None:
        # e e' must weigh about as much as P P', or its part of the factor is lost in rounding
        self._sigma = max(float(first.base @ first.base), 1e-300)
        self.bases, self.weights = [first], np.ones(1)
        self._products = np.array([[self._sigma + first.base @ first.base]])

    @property
    def orders(self) -> list[IntArray]:
        """One per point."""
        return [base.order for base in self.bases]

    def least(self) -> FloatArray:
        """The convex combination of the points, shape (n,)."""
        return np.asarray(self.weights @ np.array([base.base for base in self.bases]))

    def add(self, new: GreedyBase) -> bool:
        """Add a point with weight 0; False if it lies in the affine hull already, up to rounding."""
        row = self._sigma + np.array([base.base @ new.base for base in [*self.bases, new]])
        products = np.block([[self._products, row[:-1, None]], [row[None]]])
        try:
            rest = linalg.cholesky(products, lower=True)[-1, -1] ** 2
        except linalg.LinAlgError:
            return False
        if rest <= _DEPENDENT * row[-1]:
            return False
        self._products, self.bases = products, [*self.bases, new]
        self.weights = np.append(self.weights, 0.0)
        return True

    def settle(self) -> None:
        """Minor steps: to the point of least norm of the affine hull, or of a face on the way there."""
        while True:
            solved = linalg.solve(self._products, np.ones(len(self.weights)), assume_a="pos")
            target = solved / solved.sum()
            leaving = target <= _NEGLIGIBLE
            if not leaving.any() or len(target) == 1:
                self.weights = target
                return
            now = self.weights[leaving]
            steps = now / np.maximum(now - target[leaving], 1e-300)
            share = min(1.0, float(steps.min()))
            self.weights = share * target + (1 - share) * self.weights
            self.weights[np.flatnonzero(leaving)[np.argmin(steps)]] = 0.0
            stay = np.flatnonzero(self.weights > _NEGLIGIBLE)
            self.bases, self._products = [self.bases[i] for i in stay], self._products[np.ix_(stay, stay)]
            self.weights = self.weights[stay] / self.weights[stay].sum()
