"""How likely at most a loss has stayed above its target so far, epoch by epoch.

S(k) = P(l(0) > l_max, ..., l(k) > l_max) for l(k) = l(0) + sum of independent steps. Where every step takes
few values S is a fraction, exactly. Elsewhere it is bounded from above: by P(l(k) > l_max) from a few
contours, which is S(k) itself while the loss cannot rise, and by a chain on a grid, with every term rounded
up. What rises above the grid counts as staying above for good. The page "Replanning" has the proof.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import LossStep, compose
from depl.models.problem.laws import FloatArray
from depl.models.risk.certify import has_contour
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.discrete import decimal
from depl.models.risk.grid import short_step
from depl.models.risk.reach import reaches, typical_spread
from depl.models.risk.rounded import SUMMATION_ERROR, RoundedLaw, Rounding, convolved, rounded
from depl.models.risk.verdicts import LossClasses

POINTS = 2**17
"""Grid points between target and top unless told otherwise; what rounding costs goes with their inverse."""

_MOST_PRODUCTS = 400_000
"""Products of whole numbers that exact sums may take: set by hand. Beyond, bounds are computed instead; twice
as many let longer discrete plans be exact, in twice the time."""

_MOST_DISTINCT = 40
"""Distinct terms up to which contours are tried: set by hand, as labels take time for each. With more terms
the grid alone answers, soundly."""

_MOST_PREFIXES = 2000
"""Epochs up to which contours are tried: set by hand; the matrix of counts has epochs times terms entries,
80,000 at most. With more epochs the grid alone answers, soundly."""

_SHARP = 1e-6
"""Width of what contours know from which the grid is asked too: set by hand, finer than a decision on
stopping needs. Smaller values cost grids that can hardly improve on it; the bound holds at any."""

_REFERENCES = (0.5, 0.05, 0.95)

_TAILS = (1e-2, 1e-3, 1e-5, 1e-7, 1e-10)
"""Probabilities with which an epoch may leave the grid at its top. What does counts as above for good, so any
value is sound; see `_top`."""

_CUT = 1e-12
"""Probability at the ends of a continuous term that is moved up, or to infinity: any value is sound."""

_TRIMMED = 1e-13
"""Probability moved to infinity at either end of the masses after each epoch. Any value is sound: a thousand
epochs lose 2e-10, and tails cost time."""

_LEAST_POINTS = 256
"""Grid points in any case: set by hand. The width goes with their inverse, time for very long plans in
proportion."""

_MOST_WORK = 2**25
"""Most grid points times epochs: set by hand, some seconds. More give sharper bounds of long plans in more
time."""

_NOTHING = 1e-13
"""Surviving probability at which following ends; what is left stays in the bound, so any value is sound."""


@dataclass(frozen=True, eq=False)
class Survival:
    """At least S(k) for k = 0, ..., K.

    Attributes
    ----------
    upper : ndarray, shape (K + 1,)
        Nonincreasing.
    exact : tuple of Fraction or None
        S itself, where it is known.
    how : str
        What established it.
    """

    upper: FloatArray
    exact: tuple[Fraction, ...] | None
    how: str

    def at(self, epoch: int) -> Interval:
        """S(epoch), from below by 0 where it is not known."""
        if self.exact is None:
            return Interval(0.0, float(self.upper[epoch]), self.how)
        value = self.exact[epoch]
        lower = max(0.0, math.nextafter(float(value), -1))
        return Interval(lower, float(self.upper[epoch]), self.how, value)


def survival(
    initial_loss: float,
    steps: Sequence[LossStep],
    maximum_loss: float,
    points: int = POINTS,
    stops: Sequence[bool] | None = None,
) -> Survival:
    """Bound S(0), ..., S(K) from above.

    Parameters
    ----------
    maximum_loss : float
        l_max; a loss that takes finitely many values meets it up to 1e-9 above.
    points : int
        Most grid points; fewer for plans so long that it would take more than seconds.
    stops : K + 1 of bool, optional
        After which epochs a loss counts: S(k) is then the probability that no l(j) that counts, j <= k, is at
        most l_max. By default all do.

    Raises
    ------
    NotCoveredError
        If a step does not keep the loss before it (retention below 1).
    """
    if any(step.retention != 1 for step in steps):
        raise NotCoveredError("early stopping is computed for steps that keep the loss before them, only")
    stops = (True,) * (len(steps) + 1) if stops is None else tuple(stops)
    if stops[0] and Fraction(initial_loss) <= Fraction(maximum_loss) + EXACT_ATOM_TOLERANCE:
        exact: tuple[Fraction, ...] | None = (Fraction(0),) * (len(steps) + 1)
    else:
        exact = _exact(initial_loss, steps, maximum_loss, stops)
    if exact is not None:
        return exact_survival(exact, "exact sum")
    # what has stayed above at all epochs that count has so at this one, if it counts
    lower, above = _marginals(initial_loss, steps, maximum_loss)
    upper, evaluator = np.where(stops, above, 1.0), "contour"
    if not all(stops) or any(map(_may_rise, steps)) or (above - lower).max() > _SHARP:
        upper = np.minimum(upper, grid_survival(initial_loss, steps, maximum_loss, points, stops))
        evaluator = "contour and grid"
    return Survival(np.clip(np.minimum.accumulate(upper), 0.0, 1.0), None, evaluator)


def exact_survival(exact: tuple[Fraction, ...], evaluator: str) -> Survival:
    """What is known as fractions, with the floats above them."""
    values = np.array([float(value) for value in exact])
    return Survival(np.clip(np.nextafter(values, 2), 0.0, 1.0), exact, evaluator)


def _exact(
    initial: float, steps: Sequence[LossStep], maximum_loss: float, stops: Sequence[bool]
) -> tuple[Fraction, ...] | None:
    """S by its atoms, in whole multiples of common units of loss and of probability."""
    tables = [_atoms(step) for step in steps]
    if any(table is None for table in tables):
        return None
    known = [table for table in tables if table is not None]
    values = [decimal(initial), *(value for table in known for value, _ in table)]
    unit = math.lcm(*(value.denominator for value in values))
    threshold = math.floor((decimal(maximum_loss) + EXACT_ATOM_TOLERANCE) * unit)
    atoms = {int(decimal(initial) * unit): 1}
    scale, products, found = 1, 0, []
    for table, may_stop in zip(([], *known), stops, strict=True):
        if table:
            whole = [(int(value * unit), int(weight)) for value, weight in _whole(table)]
            products += len(atoms) * len(whole)
            if products > _MOST_PRODUCTS:
                return None
            moved: dict[int, int] = {}
            for loss, weight in atoms.items():
                for change, part in whole:
                    moved[loss + change] = moved.get(loss + change, 0) + weight * part
            atoms, scale = moved, scale * sum(part for _, part in whole)
        if may_stop:
            atoms = {loss: weight for loss, weight in atoms.items() if loss > threshold}
        found.append(Fraction(sum(atoms.values()), scale))
    return tuple(found)


def _atoms(step: LossStep) -> list[tuple[Fraction, Fraction]] | None:
    """Values and weights of a step that takes finitely many values."""
    found = [(decimal(step.shift), Fraction(1))]
    for term in step.terms:
        if not term.law.has_atoms:
            return None
        found = [
            (value + decimal(term.coefficient) * decimal(atom), weight * decimal(share))
            for value, weight in found
            for atom, share in term.law.decimals()
        ]
    return found


def _whole(table: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The same table with whole weights."""
    scale = math.lcm(*(weight.denominator for _, weight in table))
    common = math.gcd(*(int(weight * scale) for _, weight in table))
    return [(value, weight * scale / common) for value, weight in table]


def _may_rise(step: LossStep) -> bool:
    ends = (max(term.coefficient * end for end in term.law.support()) for term in step.terms)
    return step.shift + sum(ends) > 0


def _marginals(
    initial: float, steps: Sequence[LossStep], maximum_loss: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of P(l(k) > maximum_loss), by contours chosen for a few k; [0, 1] where those are expensive."""
    lower, upper = np.zeros(len(steps) + 1), np.ones(len(steps) + 1)
    if len(upper) > _MOST_PREFIXES:
        return lower, upper
    losses = [compose(initial, steps[:k]) for k in range(len(upper))]
    if len(losses[-1].terms) > _MOST_DISTINCT:
        return lower, upper
    for k, loss in enumerate(losses):
        if not loss.terms:
            lower[k] = upper[k] = float(
                Fraction(loss.constant) > Fraction(maximum_loss) + EXACT_ATOM_TOLERANCE
            )
    rows = np.array([k for k, loss in enumerate(losses) if has_contour(loss)], dtype=np.intp)
    if not len(rows):
        return lower, upper
    classes = LossClasses.of([losses[k] for k in rows])
    likely = special.ndtr(-classes.scores(maximum_loss))
    references = {int(np.argmin(np.abs(likely - level))) for level in (*_REFERENCES, likely[-1])}
    for reference in sorted(references):
        wanted = min(max(float(likely[reference]), 1e-9), 0.97)
        contour = choose_contour(classes.loss(reference).terms, wanted)
        if contour is not None:
            labels = label_table(classes.terms, contour).combine(classes.counts)
            size = 32 * np.abs(classes.constants) + 4 * abs(maximum_loss)
            low, high = violation(contour, labels, classes.constants - maximum_loss, size)
            lower[rows], upper[rows] = np.maximum(lower[rows], low), np.minimum(upper[rows], high)
    return lower, upper


def grid_survival(
    initial: float, steps: Sequence[LossStep], maximum_loss: float, points: int, stops: Sequence[bool]
) -> FloatArray:
    """At least S(0), ..., S(K), shape (K + 1,), with every random term rounded up; S(0) = 1."""
    base, limits = [Fraction(initial)], [Fraction(maximum_loss) + EXACT_ATOM_TOLERANCE]
    for step in steps:
        base.append(base[-1] + Fraction(step.shift))
        atoms_only = limits[-1] > maximum_loss and all(term.law.has_atoms for term in step.terms)
        limits.append(limits[0] if atoms_only else Fraction(maximum_loss))
    points = max(_LEAST_POINTS, min(points, _MOST_WORK // max(len(steps), 1)))
    top = _top(base, steps, maximum_loss, points)
    terms = [(term, 1) for step in steps for term in step.terms]
    h = short_step(max(top - maximum_loss, 1e-12 * abs(top), 1e-90) / points, terms)
    barriers = [math.floor((limit - start) / Fraction(h)) for limit, start in zip(limits, base, strict=True)]
    ceilings = [math.floor((Fraction(top) - start) / Fraction(h)) for start in base]
    # a term that moves a loss by more leaves the grid, whatever the shift beside it
    most = points + math.ceil(max(abs(step.shift) for step in steps) / h) + 2 * len(terms) + 8
    laws = {step: _rounded_up(step, h, most) for step in dict.fromkeys(steps)}
    return _staying(
        [laws[step] for step in steps],
        [barrier if may_stop else None for barrier, may_stop in zip(barriers, stops, strict=True)],
        ceilings,
    )


def _staying(
    laws: Sequence[RoundedLaw], barriers: Sequence[int | None], ceilings: Sequence[int]
) -> FloatArray:
    """Probability above the barriers so far, after every epoch; nothing is lost where there is no barrier."""
    first, masses, lost = 0, np.ones(1), 0.0
    found = np.ones(len(barriers))
    for k, law in enumerate(laws, start=1):
        keep_time()
        alive, barrier = float(masses.sum()), barriers[k]
        masses, doubt = convolved(masses, law.masses)
        first += law.first
        lost += law.escaped * alive + law.error + doubt + 5 * SUMMATION_ERROR
        low = 0 if barrier is None else min(max(barrier + 1 - first, 0), len(masses))
        high = min(max(ceilings[k] + 1 - first, low), len(masses))
        lost += float(masses[high:].sum())
        masses, first = masses[low:high], first + low
        low, high = _ends(masses)
        lost += float(masses[:low].sum()) + float(masses[high:].sum())
        masses, first = masses[low:high], first + low
        found[k] = float(masses.sum()) + lost
        if not len(masses) or found[k] - lost < _NOTHING:
            found[k + 1 :] = found[k]
            break
    return found


def _top(base: Sequence[Fraction], steps: Sequence[LossStep], maximum_loss: float, points: int) -> float:
    """The highest loss on the grid: for the tail of `_TAILS` for which rounding and escapes cost least."""
    highs = np.array([float(start) for start in base])
    terms = [(term, 1) for step in steps for term in step.terms]
    if all(max(term.coefficient * end for end in term.law.support()) <= 0 for term, _ in terms):
        return float(highs.max())
    ends = np.cumsum([0, *(len(step.terms) for step in steps)])
    spread, costs = max(typical_spread(terms), 1e-90), []
    for tail in _TAILS:
        found = reaches(terms, tail / len(terms))
        upward = np.vstack([np.zeros_like(found[0].rates), np.cumsum([r.upward for r in found], axis=0)])
        greatest = np.concatenate([[0.0], np.cumsum([r.greatest for r in found])])
        rise = np.minimum(((upward - math.log(tail)) / found[0].rates).min(axis=1), greatest)
        top = float((highs + rise[ends]).max())
        costs.append((len(terms) * (top - maximum_loss) / points / spread + len(steps) * tail, top))
    return min(costs)[1]


def _rounded_up(step: LossStep, h: float, most: int) -> RoundedLaw:
    """The terms of one step, on at most ``most`` points to either side."""
    total = RoundedLaw(Rounding.UP, h, 0, np.ones(1), 0.0, 0.0)
    for term in step.terms:
        first, last = -most, most
        if not term.law.has_atoms:
            ends = [float(term.coefficient * term.law.quantile(_CUT, upper=side)) for side in (False, True)]
            first = min(max(math.floor(min(ends) / h) - 1, -most), most - 1)
            last = min(max(math.ceil(max(ends) / h) + 1, first + 1), most)
        total = total.convolve(rounded(term, h, first, last)[0])
    return total


def _ends(masses: FloatArray) -> tuple[int, int]:
    """Where the masses begin and end but for tails that do not matter."""
    if not len(masses):
        return 0, 0
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])
    low = int(np.searchsorted(below, _TRIMMED, side="right"))
    return low, max(low, len(masses) - int(np.searchsorted(above, _TRIMMED, side="right")))
