"""How likely at most a loss has stayed above its target so far, epoch by epoch.

S(k) = P(l(0) > l_max, ..., l(k) > l_max) for l(k) = l(0) + sum of independent steps. Where every step takes
few values S is a fraction, exactly. Elsewhere a chain on a grid bounds it from above: every term is rounded
up, and what rises above the grid counts as staying above for good. The page "Replanning" has the proof.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import fft

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import LossStep, Term
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.risk.discrete import added, decimal, support
from depl.models.risk.grid import SUMMATION_ERROR, RoundedLaw, rounded

POINTS = 2**16
"""Points between target and top, and up to twice as many; what rounding costs goes with their inverse."""

_MOST_PRODUCTS = 400_000
"""Products of whole numbers that exact sums may take: set by hand. Beyond, bounds are computed instead; twice
as many let longer discrete plans be exact, in twice the time."""

_TAIL = 1e-3
"""Probability with which the farthest term may leave the grid at its top, roughly: what does counts as above
for good, so any value is sound. Of five tried for every plan none gave sharper bounds."""

_CUT = 1e-12
"""Probability at the ends of a continuous term that is moved up, or to infinity: any value is sound."""

_TRIMMED = 1e-13
"""Probability moved to infinity at either end of the masses after each epoch. Any value is sound: a thousand
epochs lose 2e-10, and tails cost time."""

_DIRECT_LENGTH = 64
"""Length of the shorter factor up to which a convolution is summed directly: set by hand between time for n m
products and the rounding of a transform. Both ways bound their own rounding."""

_LEAST_POINTS = 256
"""Grid points in any case: set by hand. The width goes with their inverse, time for very long plans in
proportion."""

_MOST_WORK = 3 * 2**23
"""Most points times epochs: set by hand, some seconds. More give sharper bounds of long plans in more
time."""


def survival(
    initial_loss: float,
    steps: Sequence[LossStep],
    maximum_loss: float,
    points: int = POINTS,
    stops: Sequence[bool] | None = None,
) -> list[Interval]:
    """S(0), ..., S(K): exactly where steps take few values, elsewhere from above, and from below by 0.

    Parameters
    ----------
    maximum_loss : float
        l_max; a loss that takes finitely many values meets it up to 1e-9 above.
    points : int
        Grid points, up to twice as many; fewer for plans so long that it would take more than seconds.
    stops : K + 1 of bool, optional
        After which epochs a loss counts: S(k) is then the probability that no l(j) that counts, j <= k, is at
        most l_max. By default all do.
    """
    stops = (True,) * (len(steps) + 1) if stops is None else tuple(stops)
    if stops[0] and Fraction(initial_loss) <= Fraction(maximum_loss) + EXACT_ATOM_TOLERANCE:
        exact: list[Fraction] | None = [Fraction(0)] * (len(steps) + 1)
    else:
        exact = _exact(initial_loss, steps, maximum_loss, stops)
    if exact is not None:
        return [Interval.around(value, "exact sum") for value in exact]
    upper = np.minimum.accumulate(_chain(initial_loss, steps, maximum_loss, points, stops))
    return [Interval(0.0, end, "rounded chain") for end in np.clip(upper, 0.0, 1.0).tolist()]


def _exact(
    initial: float, steps: Sequence[LossStep], maximum_loss: float, stops: Sequence[bool]
) -> list[Fraction] | None:
    """S by its atoms, in whole multiples of common units of loss and of probability."""
    if not all(term.law.has_atoms for step in steps for term in step.terms):
        return None
    tables = [{Fraction(0): Fraction(1)}, *map(_atoms, steps)]
    unit = math.lcm(decimal(initial).denominator, *(value.denominator for table in tables for value in table))
    threshold = math.floor((decimal(maximum_loss) + EXACT_ATOM_TOLERANCE) * unit)
    atoms, total, products, found = {int(decimal(initial) * unit): 1}, 1, 0, []
    for table, may_stop in zip(tables, stops, strict=True):
        products += len(atoms) * len(table)
        if products > _MOST_PRODUCTS:
            return None
        scale = math.lcm(*(weight.denominator for weight in table.values()))
        whole = {int(value * unit): int(weight * scale) for value, weight in table.items()}
        moved, total = added(atoms, whole), total * sum(whole.values())
        atoms = {loss: weight for loss, weight in moved.items() if loss > threshold or not may_stop}
        found.append(Fraction(sum(atoms.values()), total))
    return found


def _atoms(step: LossStep) -> dict[Fraction, Fraction]:
    """Values and weights (not normalised) of a step that takes finitely many values."""
    found = {decimal(step.shift): Fraction(1)}
    for term in step.terms:
        found = added(found, support(term))
    return found


def _chain(
    initial: float, steps: Sequence[LossStep], maximum_loss: float, points: int, stops: Sequence[bool]
) -> FloatArray:
    """At least S(0), ..., S(K), shape (K + 1,), with every random term rounded up; S(0) = 1."""
    base, limits = [Fraction(initial)], [Fraction(maximum_loss) + EXACT_ATOM_TOLERANCE]
    for step in steps:
        base.append(base[-1] + Fraction(step.shift))
        limits.append(
            limits[-1] if all(term.law.has_atoms for term in step.terms) else Fraction(maximum_loss)
        )
    points = max(_LEAST_POINTS, min(points, _MOST_WORK // len(steps)))
    top = _top(base, steps)
    # a power of two, so that its multiples and those of whole-number atoms are exact
    h = 2.0 ** math.floor(math.log2(max(top - maximum_loss, 1e-12 * abs(top), 1e-90) / points))
    # a term that moves a loss by more leaves the grid, whatever the shift beside it
    most = 2 * points + math.ceil(max(abs(step.shift) for step in steps) / h) + 2 * len(steps) + 8
    laws = {term: _rounded_up(term, h, most) for term in dict.fromkeys(t for s in steps for t in s.terms)}
    first, masses, lost = 0, np.ones(1), 0.0
    found = np.ones(len(base))
    for k, step in enumerate(steps, start=1):
        keep_time()
        for term in step.terms:
            law, alive = laws[term], float(masses.sum())
            masses, doubt = _convolved(masses, law.masses)
            first += law.first
            lost += law.escaped * alive + law.error + doubt + SUMMATION_ERROR
        lost += 4 * SUMMATION_ERROR
        barrier, ceiling = (math.floor((end - base[k]) / Fraction(h)) for end in (limits[k], Fraction(top)))
        low = min(max(barrier + 1 - first, 0), len(masses)) if stops[k] else 0
        high = min(max(ceiling + 1 - first, low), len(masses))
        lost += float(masses[high:].sum())
        masses, first = masses[low:high], first + low
        low, high = _ends(masses)
        lost += float(masses[:low].sum()) + float(masses[high:].sum())
        masses, first = masses[low:high], first + low
        found[k:] = float(masses.sum()) + lost
        if not len(masses):
            break
    return found


def _top(base: Sequence[Fraction], steps: Sequence[LossStep]) -> float:
    """The highest loss on the grid: medians, four times the spread, and how far one term reaches beyond."""

    def rise(term: Term, tail: float) -> float:
        return float(term.coefficient * term.law.quantile(tail, upper=term.coefficient > 0))

    terms = dict.fromkeys(term for step in steps for term in step.terms)
    reached = {term: (rise(term, 0.5), rise(term, 0.1), rise(term, _TAIL)) for term in terms}
    top, middle, squares, beyond, most = float(base[0]), 0.0, 0.0, 0.0, 0.0
    for start, step in zip(base[1:], steps, strict=True):
        for term in step.terms:
            half, tenth, far = reached[term]
            middle, squares = middle + half, squares + (tenth - half) ** 2
            beyond = max(beyond, far - half - 4 * (tenth - half))
            most += max(term.coefficient * end for end in term.law.support())
        top = max(top, float(start) + min(middle + 4 * math.sqrt(squares) + beyond, most))
    return top


def _rounded_up(term: Term, h: float, most: int) -> RoundedLaw:
    """A term on at most ``most`` points to either side."""
    first, last = -most, most
    if not term.law.has_atoms:
        ends = [float(term.coefficient * term.law.quantile(_CUT, upper=side)) for side in (False, True)]
        first = min(max(math.floor(min(ends) / h) - 1, -most), most - 1)
        last = min(max(math.ceil(max(ends) / h) + 1, first + 1), most)
    return rounded(term, h, first, last)[0]


def _ends(masses: FloatArray) -> tuple[int, int]:
    """Where the masses begin and end but for tails that do not matter."""
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])
    low = int(np.searchsorted(below, _TRIMMED, side="right"))
    return low, max(low, len(masses) - int(np.searchsorted(above, _TRIMMED, side="right")))


def _convolved(first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
    """Linear convolution, and a bound on the sum of the absolute errors of its entries.

    Directly for short factors: relative rounding only. Otherwise by zero-padded FFT of n points. With
    relative error eta <= 8 u log2(n) of a transform in the 2-norm (Higham, Accuracy and Stability of
    Numerical Algorithms, Thm 24.2) and 3 u of a complex product, the 2-norm of the error is at most
    (eta + 3 u)(|a|_2 |b|_1 + |a|_1 |b|_2 + min of both), and the 1-norm at most sqrt(n) times that.
    """
    if not len(first):
        return np.zeros(0), 0.0
    total = float(first.sum()) * float(second.sum())
    shortest = min(len(first), len(second))
    if shortest <= _DIRECT_LENGTH:
        return np.convolve(first, second), 2 * (shortest + 1) * UNIT_ROUNDOFF * total
    length = len(first) + len(second) - 1
    padded = fft.next_fast_len(length, real=True)
    spectrum = fft.rfft(first, padded) * fft.rfft(second, padded)
    masses = np.maximum(fft.irfft(spectrum, padded)[:length], 0.0)
    # 2-norms without BLAS, whose threads cost more than they save on vectors of this length
    one, other = (math.sqrt(float(np.square(item).sum())) for item in (first, second))
    left, right = one * float(second.sum()), other * float(first.sum())
    relative = (8 * (math.log2(padded) + 1) + 3) * UNIT_ROUNDOFF
    return masses, 1.01 * relative * (left + right + min(left, right)) * math.sqrt(padded)
