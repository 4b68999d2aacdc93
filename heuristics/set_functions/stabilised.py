"""The Lovász extension by linear programs: cutting planes, stabilised by queries between best and newest.

The minimum of f^L over the cube is the limit of min { t : t >= f(0) + s_j . x, 0 <= x <= 1 } over the greedy
bases s_j found so far. Kelley's method asks for the base at the minimiser of this program and needs far too
many steps from about 200 elements on. Here the base is taken between the best point so far and that minimiser
(in-out separation, Ben-Ameur and Neto 2007): the next point lies inside, where the extension is less jagged.
Either the new cut lifts the program, or the point between is better than the best one so far.

The multipliers of the cuts sum to 1, so they are a convex combination s of greedy bases, and the value of the
program is f(0) + sum of min(0, s_i): the same certificate as that of the minimum-norm point.
"""

import time

import numpy as np

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import greedy_certificate
from depl.heuristics.set_functions.functions import FloatArray, SetFunction
from depl.heuristics.set_functions.lovasz import GreedyBase, steepest_base
from depl.heuristics.set_functions.status import check_base
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.programs.cut_program import CutProgram

_TOWARDS_NEWEST = 0.3
"""Share of the way from the best point to the minimiser of the program at which f is asked. Set by hand: 1 is
Kelley's method, whose points jump; nearer to 0, each base cuts off less. The optimum is the same."""
_MOST_IDLE = 100
"""Iterations in a row in which neither bound nor best set nor best point moves by more than rounding. Set by
hand: an iteration need not move any of them, so that fewer may give up too early; the bound is valid in any
case."""


def stabilised_cutting_planes(
    function: SetFunction, *, iterations: int = 10_000, seconds: float | None = None
) -> Minimum:
    """Minimise a submodular function by stabilised cutting planes on its Lovász extension, with HiGHS.

    Parameters
    ----------
    function : SetFunction
        If its submodularity is not PROVED, the newest base is checked against every set visited, and the
        answer is never called optimal.
    iterations : int
        Most linear programs.
    seconds : float, optional
        Wall time after which to stop.

    Returns
    -------
    Minimum
        With a certificate; ``optimal`` says whether it closes the gap.
    """
    status = function.submodularity()
    begun = time.perf_counter()
    stop = None if seconds is None else begun + seconds
    search = InOut(function.normalised())
    # HiGHS measures feasibility absolutely, so the cuts are given in units of a typical entry
    unit = float(np.abs(search.newest.base).max()) or 1.0
    program = CutProgram(np.zeros(function.size), np.ones(function.size))
    program.add(search.newest.base[None, :] / unit, np.zeros(1))
    weights = np.ones(1)
    for _ in range(iterations):
        optimum = program.solve()
        if optimum is None:
            break
        outer, weights = optimum.point, optimum.multipliers
        if search.closed(weights) or search.stalled() or (stop is not None and time.perf_counter() >= stop):
            break
        for found in search.query(outer):
            program.add(found.base[None, :] / unit, np.zeros(1))
            refutation = None if status.proved else search.refutation()
            if refutation is not None:
                status = refutation
        if not status.proved and status.violation is not None:
            break
    orders = [found.order for found in search.found[: len(weights)]]
    spent = time.perf_counter() - begun
    certificate = greedy_certificate(orders, weights)
    return concluded(function, search.best, certificate, len(search.found), status, search_seconds=spent)


class InOut:
    """Where to ask for the next base: between the best point so far and the minimiser of the program.

    Attributes
    ----------
    found : list of GreedyBase
        All bases, in the order of the cuts.
    best : frozenset of int
        Best set met.
    """

    def __init__(self, function: SetFunction) -> None:
        self.function = function
        self.inner = np.full(function.size, 0.5)
        first = steepest_base(function, self.inner)
        self.found = [first]
        self.empty_value = float(first.values[0])
        self.inner_value = float(first.base @ self.inner)
        self.best, self.best_value = first.best_prefix, float(first.values.min())
        self._state, self._idle = (-np.inf, np.inf, np.inf), 0

    @property
    def newest(self) -> GreedyBase:
        """The base found last."""
        return self.found[-1]

    def query(self, outer: FloatArray) -> list[GreedyBase]:
        """One base between, and one at ``outer`` if the first does not cut it off.

        Parameters
        ----------
        outer : ndarray
            The minimiser of the program, shape (n,).
        """
        between = self.inner + _TOWARDS_NEWEST * (outer - self.inner)
        level = max(float(found.base @ outer) for found in self.found)
        new = [self._ask(between)]
        unit = float(np.abs(new[0].base).max())
        if float(new[0].base @ outer) <= level + 1e-9 * max(unit, abs(level)):
            new.append(self._ask(outer))
        return new

    def closed(self, weights: FloatArray) -> bool:
        """Whether the bases with these weights prove the best set, up to a hundredth of the tolerance."""
        base = sum(weight * found.base for weight, found in zip(weights, self.found, strict=False) if weight)
        lower = self.empty_value + float(np.minimum(base, 0).sum())
        scale = max(abs(self.best_value), abs(self.empty_value), float(np.abs(base).max()))
        self._watch(lower, 1e-12 * scale)
        return self.best_value - lower <= max(0.99 * float(self.function.granularity), 1e-11 * scale)

    def stalled(self) -> bool:
        """Whether bound, best set and best point have stood still so long that rounding must be the cause."""
        return self._idle > _MOST_IDLE

    def refutation(self) -> Submodularity | None:
        """The free check of the newest base on the prefixes of all others, and the other way round."""
        newest = self.newest
        for other in self.found[:-1]:
            for one, two in ((newest, other), (other, newest)):
                verdict = check_base(self.function, one.order, one.base, two.order, two.values)
                if verdict is not None:
                    return verdict
        return None

    def _watch(self, lower: float, noise: float) -> None:
        bound, best, inner = self._state
        moved = lower > bound + noise or self.best_value < best - noise or self.inner_value < inner - noise
        self._idle = 0 if moved else self._idle + 1
        self._state = max(lower, bound), self.best_value, min(inner, self.inner_value)

    def _ask(self, point: FloatArray) -> GreedyBase:
        new = steepest_base(self.function, point)
        self.found.append(new)
        if new.values.min() < self.best_value:
            self.best, self.best_value = new.best_prefix, float(new.values.min())
        value = float(new.base @ point)
        if value < self.inner_value:
            self.inner, self.inner_value = point, value
        return new
