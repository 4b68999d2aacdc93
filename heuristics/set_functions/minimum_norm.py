"""The minimum-norm point of the base polytope, by Wolfe's algorithm (Fujishige 1980, Wolfe 1976).

Fujishige: if x is the point of least Euclidean norm in the base polytope of a submodular f, then
{i : x_i < 0} is the least minimiser of f and {i : x_i <= 0} the greatest. Wolfe's algorithm keeps x as a
convex combination of affinely independent greedy bases (the corral):

1. add the greedy base q of the order in which x rises (it minimises x . q); stop if that is no improvement;
2. move to the point y of least norm in the affine hull of the corral; if y leaves the convex hull, stop at
   its border, drop the bases whose weight became 0, and repeat.

Elements that their extreme gains decide are fixed first (`depl.heuristics.set_functions.persistency`); x then
lives on the free ones, and every base is one of the whole function.

Exactness does not depend on any of this floating point: all level sets of all x are swept for the best set,
and the bases and weights of the corral are the certificate that `concluded` checks in rational numbers.
"""

import time

import numpy as np

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import greedy_certificate
from depl.heuristics.set_functions.corral import Corral
from depl.heuristics.set_functions.functions import SetFunction
from depl.heuristics.set_functions.lovasz import GreedyBase, greedy_base
from depl.heuristics.set_functions.persistency import Decided, decided_by_gains
from depl.heuristics.set_functions.status import check_base
from depl.heuristics.set_functions.verdicts import Submodularity

_MOST_IDLE = 10
"""Steps in a row in which the norm does not fall. In exact arithmetic every step of Wolfe's algorithm lowers
it, so these are rounding; ten, set by hand, end the search soon and let it pass one that is off."""


def minimum_norm_point(
    function: SetFunction, *, iterations: int = 100_000, seconds: float | None = None, decide: bool = True
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
    decide : bool
        Whether to fix the elements that their extreme gains decide before the search; only done where
        submodularity is PROVED.

    Returns
    -------
    Minimum
        With a certificate; ``optimal`` says whether it closes the gap.
    """
    status = function.submodularity()
    begun = time.perf_counter()
    search = _Search(function.normalised(), decide=decide and status.proved)
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
    return concluded(function, search.best, certificate, search.count, status, search_seconds=spent)


class _Search:
    """x on the free elements, the newest base, the best set and the corral."""

    def __init__(self, function: SetFunction, decide: bool) -> None:
        self.function = function
        nothing = np.zeros(0, dtype=np.int64)
        self.parts = (
            decided_by_gains(function) if decide else Decided(nothing, np.arange(function.size), nothing)
        )
        self.free = np.sort(self.parts.free)
        self.granularity = 0.99 * float(function.granularity)
        first = greedy_base(function, np.concatenate(self.parts))
        self.best_value, self._best = float(first.values.min()), first
        self.start_value = float(first.values[len(self.parts.first)])
        self.corral = Corral(first.order, first.base[self.free])
        self.x = first.base[self.free]
        self.count = 1
        self.least_square, self.idle = np.inf, 0
        self.newest = self._next()

    @property
    def best(self) -> frozenset[int]:
        """The best set met."""
        return self._best.best_prefix

    def finished(self) -> bool:
        """Whether the best set is within the granularity, or a hundredth of the tolerance, of the bound."""
        lower = self.start_value + float(np.minimum(self.x, 0).sum())
        scale = max(abs(self.best_value), abs(self.start_value), float(np.abs(self.x).max(initial=0)))
        return self.best_value - lower <= max(self.granularity, 1e-11 * scale)

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
        q = self.newest.base[self.free]
        square = float(self.x @ self.x)
        self.idle = 0 if square < self.least_square else self.idle + 1
        self.least_square = min(square, self.least_square)
        if square <= float(self.x @ q) or self.idle > _MOST_IDLE or not self.corral.add(self.newest.order, q):
            return False
        self.corral.settle()
        self.x = self.corral.least()
        self.count += 1
        self.newest = self._next()
        return True

    def _next(self) -> GreedyBase:
        rising = self.free[np.argsort(self.x, kind="stable")]
        found = greedy_base(self.function, np.concatenate([self.parts.first, rising, self.parts.last]))
        value = float(found.values.min())
        if value < self.best_value:
            self.best_value, self._best = value, found
        return found
