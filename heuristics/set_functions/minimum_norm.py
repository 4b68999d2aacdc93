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

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import greedy_certificate
from depl.heuristics.set_functions.corral import Corral
from depl.heuristics.set_functions.functions import SetFunction
from depl.heuristics.set_functions.lovasz import GreedyBase, greedy_base
from depl.heuristics.set_functions.status import check_base
from depl.heuristics.set_functions.verdicts import Submodularity

_MOST_IDLE = 10
"""Steps in a row in which the norm does not fall. In exact arithmetic every step of Wolfe's algorithm lowers
it, so these are rounding; ten, set by hand, end the search soon and let it pass one that is off."""


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
    status = function.submodularity()
    begun = time.perf_counter()
    search = _Search(function.normalised())
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
    """x, the newest base, the best set and the corral."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function
        self.granularity = 0.99 * float(function.granularity)
        first = greedy_base(function, np.arange(function.size))
        self.best_value, self._best = float(first.values.min()), first
        self.start_value = float(first.values[0])
        self.corral = Corral(first.order, first.base)
        self.x = first.base
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
        q = self.newest.base
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
        found = greedy_base(self.function, np.argsort(self.x, kind="stable"))
        value = float(found.values.min())
        if value < self.best_value:
            self.best_value, self._best = value, found
        return found
