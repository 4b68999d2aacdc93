"""The Lovász extension: greedy bases, what they prove, and cutting planes on it through cvxpy.

    f^L(x) = f(0) + max { s . x : s in the base polytope },      s_i = f(those up to i) - f(those before i),

where s, the greedy base of any order in which x falls, attains the maximum (Edmonds). f^L agrees with f on
indicators, and is convex iff f is submodular; then min f = min of f^L over the unit cube. Every base of a
submodular f, and so every mean s of bases, satisfies s(X) <= f(X) - f(0), so that f(X) >= f(0) + sum of
min(0, s_i) for all X. A certificate is the orders and their weights; its bound is in rational numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from depl.heuristics.submodular.function import (
    FloatArray,
    IntArray,
    SetFunction,
    Submodularity,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.programs.quiet import silence_greeting

if TYPE_CHECKING:
    import cvxpy

TOLERANCE = Fraction(1, 10**9)
"""Gap of an optimum relative to the greatest of |f(A) - f(0)| and |s_i|, where gains are not whole numbers; a
constant of f changes nothing."""

_WEIGHT_BITS = 80
"""Bits of a weight after the point: the least that is kept, 1e-15 of the sum, still has 30 significant ones,
and all errors together are 1e-24 of a base for each order, far below `TOLERANCE`."""

_TOWARDS_NEWEST = 0.3
"""Share of the way from the best point to the answer of the program at which the next base is taken (in-out
separation, Ben-Ameur and Neto 2007). Set by hand: 1 is Kelley's method, whose points jump; nearer to 0 each
base cuts off less. The optimum is the same."""

_MOST_IDLE = 100
"""Programs in a row in which neither bound nor best set nor best point moves by more than rounding. Set by
hand: a program need not move any of them, so that fewer may give up too early; the bound is valid in any
case."""


class GreedyBase(NamedTuple):
    """The greedy base s of an order, by element: a subgradient of the extension where x falls in that order.

    The gains are f - f(0) of the first 0, 1, ..., n elements of the order, shape (n + 1,).
    """

    order: IntArray
    gains: FloatArray
    base: FloatArray

    @property
    def best_prefix(self) -> frozenset[int]:
        """The first of the best sets on the way."""
        return frozenset(self.order[: int(np.argmin(self.gains))].tolist())


def greedy_base(function: SetFunction, order: IntArray) -> GreedyBase:
    """The greedy base of an order."""
    gains, base = function.chain(order), np.empty(function.size)
    base[order] = np.diff(gains)
    return GreedyBase(order, gains, base)


def steepest_base(function: SetFunction, x: FloatArray) -> GreedyBase:
    """The greedy base of the order in which x falls."""
    return greedy_base(function, np.argsort(-x, kind="stable"))


def lovasz_extension(function: SetFunction, x: FloatArray) -> float:
    """f^L(x), defined for every real x [as f]."""
    return float(function.start) + float(steepest_base(function, x).base @ x)


class CertifiedBound(NamedTuple):
    """f(X) - f(0) >= lower for all X, if f falls short of submodularity by no more than was counted.

    ``largest`` is the greatest |s_i|: how much one element may matter.
    """

    lower: Fraction
    largest: Fraction


@dataclass(frozen=True, eq=False)
class GreedyCertificate:
    """A convex combination of greedy bases.

    Attributes
    ----------
    orders : ndarray
        Shape (k, n), a permutation per row.
    weights : tuple of Fraction
        Nonnegative, with sum exactly 1.
    """

    orders: IntArray
    weights: tuple[Fraction, ...]

    def bound(self, function: SetFunction, short: float = 0.0) -> CertifiedBound:
        """The bound, computed again from the function: one chain per order, summed in rational numbers.

        Every s_i is off by no more than twice the noise of a gain. If triples fall ``short`` of submodularity
        by so much, a base promises too much: at most that for each pair of an element of X and one not of X
        that stands before it, n**2 / 4 pairs.

        Raises
        ------
        InvalidInputError
            If the orders and weights are no convex combination of bases of this function.
        """
        _require_convex(self.orders, self.weights, function.size)
        n, units = function.size, math.lcm(*(weight.denominator for weight in self.weights))
        gains = np.array([function.chain(order) for order in self.orders])
        steps, bits = as_integers(gains)
        base = np.array([0] * n, dtype=object)
        for order, weight, step in zip(self.orders, self.weights, np.diff(steps), strict=True):
            base[order] += step * int(weight * units)
        scale = Fraction(1, units) * Fraction(2) ** bits
        slack = 2 * (n + 1) * Fraction(function.noise(gains)) + Fraction(short) * n * n / 4
        least = sum((entry for entry in base.tolist() if entry < 0), 0) * scale - slack
        return CertifiedBound(least, max(map(abs, base.tolist()), default=0) * scale)


def as_integers(numbers: FloatArray) -> tuple[np.ndarray, int]:
    """Floats as Python integers times two to one power, exactly."""
    mantissas, exponents = np.frexp(numbers)
    whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    places = np.where(numbers == 0, np.iinfo(exponents.dtype).max, exponents)
    least = int(places.min(initial=1100))
    return whole << np.maximum(exponents - least, 0).astype(object), least - 53


def greedy_certificate(orders: Sequence[IntArray], weights: FloatArray) -> GreedyCertificate:
    """A certificate from floating-point weights, rounded to rational ones with sum exactly 1.

    Weights below 1e-15 of the sum are left out.
    """
    positive = np.flatnonzero(weights > 1e-15 * weights.sum())
    total = Fraction(float(weights.sum()))
    units = [round(Fraction(weight) * 2**_WEIGHT_BITS / total) for weight in weights[positive].tolist()]
    units[int(np.argmax(weights[positive]))] += 2**_WEIGHT_BITS - sum(units)
    return GreedyCertificate(
        np.array([orders[place] for place in positive.tolist()], dtype=np.int64),
        tuple(Fraction(unit, 2**_WEIGHT_BITS) for unit in units),
    )


def proves(function: SetFunction, subset: frozenset[int], bound: CertifiedBound) -> bool:
    """Whether no set is better than ``subset``, apart from `TOLERANCE`; of whole numbers, whether none is.

    A bound above the value proves nothing but that f is not submodular; of a function only told to be that,
    by more than the tolerance: what is computed in floats need not be submodular bit by bit.
    """
    gain = function.gain(subset)
    gap = Fraction(gain) + Fraction(function.noise(np.array([gain]))) - bound.lower
    if function.whole and 0 <= gap < 1:
        return True
    most = TOLERANCE * max(abs(Fraction(gain)), bound.largest)
    return (-most if function.known.told else 0) <= gap <= most


class Planes(NamedTuple):
    """What cutting planes on the extension end with.

    Attributes
    ----------
    subset : frozenset of int
        The best set met.
    certificate : GreedyCertificate
        The multipliers of the cuts sum to 1: a convex combination of greedy bases.
    cuts : list of GreedyBase
        In the order of the constraints of the program, and those found after it.
    program : cvxpy.Problem
        As it was solved last, with variables ``x`` and ``t``, in units of ``unit``.
    unit : float
        The objective of the program times this is the least of f^L - f(0) [as f].
    refutation : Submodularity or None
        What ended the search, if a cut showed that f is not submodular.
    """

    subset: frozenset[int]
    certificate: GreedyCertificate
    cuts: list[GreedyBase]
    program: "cvxpy.Problem"
    unit: float
    refutation: Submodularity | None = None


def cutting_planes(
    function: SetFunction,
    proceed: Callable[[], bool] = lambda: True,
    check: Callable[[Sequence[GreedyBase]], Submodularity | None] = lambda cuts: None,
    programs: int = 400,
) -> Planes:
    """Minimise the extension over the cube: solve the program over the cuts so far, add cuts near its answer.

    The extension has no formula in general, so it is described by t >= s . x for the bases s found so far.

    Parameters
    ----------
    function : SetFunction
        f, of at least one element.
    proceed : callable
        Asked after every program; False ends the search.
    check : callable
        Looks at the cuts, the newest last, for a sign that f is not submodular, which ends the search.
    programs : int
        Most programs.
    """
    search = _Search(function)
    unit = float(np.abs(search.cuts[0].base).max()) or 1.0  # solvers measure feasibility absolutely
    refutation = None
    for _ in range(programs):
        program = extension_program(np.array([cut.base for cut in search.cuts]) / unit)
        weights, outer = _solved(program)
        certified = [cut.order for cut in search.cuts]
        if not proceed() or search.closed(weights):
            break
        if not search.ask(outer):
            break  # the program describes the extension where it is least: only rounding is left
        refutation = check(search.cuts)
        if refutation is not None:
            break
    certificate = greedy_certificate(certified, weights)
    return Planes(search.best, certificate, search.cuts, program, unit, refutation)


def extension_program(bases: FloatArray) -> "cvxpy.Problem":
    """min t subject to t >= s . x for the rows s of ``bases``, shape (k, n), and 0 <= x <= 1."""
    import cvxpy  # takes a second

    x = cvxpy.Variable(bases.shape[1], name="x", bounds=[0, 1])
    t = cvxpy.Variable(name="t")
    return cvxpy.Problem(cvxpy.Minimize(t), [t >= bases @ x])


class _Search:
    """The cuts, the best set met, and where to ask for the next one: near the best point so far."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function
        self.inner = np.full(function.size, 0.5)
        self.cuts = [steepest_base(function, self.inner)]
        self.inner_value = float(self.cuts[0].base @ self.inner)
        self._best, self._state, self._idle = self.cuts[0], (-np.inf, np.inf, np.inf), 0

    @property
    def best(self) -> frozenset[int]:
        """The best set met."""
        return self._best.best_prefix

    def closed(self, weights: FloatArray) -> bool:
        """Whether these weights prove the best set, to a hundredth of the tolerance, or nothing moves."""
        base = weights @ np.array([cut.base for cut in self.cuts])
        lower, least = float(np.minimum(base, 0).sum()), float(self._best.gains.min())
        scale = max(-least, float(np.abs(base).max()))
        bound, best, inner = self._state
        noise = 1e-12 * scale
        moved = lower > bound + noise or least < best - noise or self.inner_value < inner - noise
        self._idle = 0 if moved else self._idle + 1
        self._state = max(lower, bound), least, min(self.inner_value, inner)
        whole = 0.99 if self.function.whole else 0.0
        return least - lower <= max(whole, 1e-11 * scale) or self._idle > _MOST_IDLE

    def ask(self, outer: FloatArray) -> bool:
        """Add the base of a point between, and that of ``outer`` if the first does not cut it off.

        False if neither does.
        """
        level = max(float(cut.base @ outer) for cut in self.cuts)
        for point in (self.inner + _TOWARDS_NEWEST * (outer - self.inner), outer):
            new = steepest_base(self.function, point)
            self.cuts.append(new)
            if new.gains.min() < self._best.gains.min():
                self._best = new
            if float(new.base @ point) < self.inner_value:
                self.inner, self.inner_value = point, float(new.base @ point)
            if float(new.base @ outer) > level + 1e-9 * max(float(np.abs(new.base).max()), abs(level)):
                return True
        return False


def _solved(program: "cvxpy.Problem") -> tuple[FloatArray, FloatArray]:
    """The multipliers of the cuts and the point x of a program."""
    import cvxpy

    silence_greeting()
    program.solve(solver=cvxpy.HIGHS)  # type: ignore[no-untyped-call]
    weights = np.maximum(program.constraints[0].dual_value, 0.0)
    return weights / weights.sum(), np.asarray(program.var_dict["x"].value, dtype=float)


def _require_convex(orders: IntArray, weights: tuple[Fraction, ...], size: int) -> None:
    if len(orders) != len(weights) or not len(weights):
        raise InvalidInputError("a certificate needs as many weights as orders, and some")
    if min(weights) < 0 or sum(weights) != 1:
        raise InvalidInputError("the weights of a certificate must be nonnegative with sum exactly 1")
    if orders.shape[1] != size or (np.sort(orders, axis=1) != np.arange(size)).any():
        raise InvalidInputError(f"every order of a certificate must be a permutation of {size} elements")
