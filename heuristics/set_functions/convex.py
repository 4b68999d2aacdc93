"""The Lovász extension as a `cvxpy.Problem`: cutting planes for any oracle.

Minimising the extension over the unit cube is the convex program behind the paper's reference [18]. It has no
formula in general, so the problem holds the greedy bases found so far as cuts. Kelley's method asks for the
base at the minimiser of this program and needs far too many steps from about 200 elements on; here the base
is taken between the best point so far and that minimiser (in-out separation, Ben-Ameur and Neto 2007).

The multipliers of the cuts sum to 1, so they are a convex combination of greedy bases: the same certificate
as that of the minimum-norm point. The problem comes with the answer: look inside, change it, or give it to
another solver. This module is the only one of the package that needs cvxpy.
"""

import time
from dataclasses import dataclass

import cvxpy
import numpy as np

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import greedy_certificate
from depl.heuristics.set_functions.functions import FloatArray, SetFunction
from depl.heuristics.set_functions.lovasz import GreedyBase, steepest_base
from depl.heuristics.set_functions.status import check_base
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.programs.quiet import silence_greeting

_TOWARDS_NEWEST = 0.3
"""Share of the way from the best point to the minimiser of the program at which f is asked. Set by hand: 1 is
Kelley's method, whose points jump; nearer to 0, each base cuts off less. The optimum is the same."""
_MOST_IDLE = 100
"""Iterations in a row in which neither bound nor best set nor best point moves by more than rounding. Set by
hand: an iteration need not move any of them, so that fewer may give up too early; the bound is valid in any
case."""


@dataclass(frozen=True, eq=False)
class ConvexAnswer:
    """A minimum with the convex program that gave it.

    Attributes
    ----------
    minimum : Minimum
        The best set, and the certificate made from the multipliers of the program.
    problem : cvxpy.Problem
        As it was solved last; its variable ``x`` holds the point in the cube.
    unit : float
        Its objective times this is the extension [as f].
    """

    minimum: Minimum
    problem: cvxpy.Problem
    unit: float = 1.0


def lovasz_program(size: int, empty_value: float, bases: FloatArray) -> cvxpy.Problem:
    """min t + f(0) subject to t >= s_j . x for the rows s_j of ``bases``, 0 <= x <= 1.

    Parameters
    ----------
    size : int
        n.
    empty_value : float
        f(0).
    bases : ndarray
        Greedy bases, shape (k, n). Its first constraint holds them; its variables are ``x`` and ``t``.
    """
    x = cvxpy.Variable(size, name="x", bounds=[0, 1])
    t = cvxpy.Variable(name="t")
    return cvxpy.Problem(cvxpy.Minimize(t + empty_value), [t >= bases @ x])


def convex_cutting_planes(
    function: SetFunction,
    *,
    iterations: int = 400,
    seconds: float | None = None,
) -> ConvexAnswer:
    """Minimise any submodular oracle by stabilised cutting planes, each program solved through cvxpy.

    Parameters
    ----------
    function : SetFunction
        f. If its submodularity is not PROVED the answer is never called optimal.
    iterations : int
        Most programs.
    seconds : float, optional
        Wall time after which to stop.
    """
    silence_greeting()
    stop = None if seconds is None else time.perf_counter() + seconds
    status, search = function.submodularity(), InOut(function.normalised())
    # solvers measure feasibility absolutely, so the program is given in units of a typical entry
    unit = float(np.abs(search.newest.base).max()) or 1.0
    empty_value = function.value(()) / unit
    for _ in range(iterations):
        cuts = list(search.found)
        bases = np.array([found.base for found in cuts]) / unit
        problem = lovasz_program(function.size, empty_value, bases)
        problem.solve(solver=cvxpy.HIGHS)  # type: ignore[no-untyped-call]
        weights = np.maximum(problem.constraints[0].dual_value, 0.0)
        late = stop is not None and time.perf_counter() >= stop
        if search.closed(weights) or search.stalled() or late:
            break
        search.query(_value(problem, "x"))
        refutation = None if status.proved else search.refutation()
        if refutation is not None:
            status = refutation
            break
    certificate = greedy_certificate([found.order for found in cuts], weights)
    minimum = concluded(function, search.best, certificate, len(search.found), status)
    return ConvexAnswer(minimum, problem, unit)


def _value(problem: cvxpy.Problem, name: str) -> FloatArray:
    return np.asarray(problem.var_dict[name].value, dtype=float)


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
