r"""Bounds of the probability that a loss has stayed above its target, by one grid and two barriers.

Every random term is rounded to the *nearest* multiple of the step h; shifts are kept as they are. Let L'(k)
be the loss made of the rounded terms. The rounding errors e_j of n terms are independent and lie in an
interval of length h_j <= h each, so by Hoeffding's inequality in its maximal form

    P(max over k of |sum of (e_j - E e_j), j <= k|  >  t)  <=  2 exp(-2 t^2 / sum of h_j^2),

and t grows with the square root of n, where rounding in one direction costs n h / 2 (which serves for small
n). The means are small: for a density f of total variation at most 2 sup f (all laws here are unimodal)
|E e| <= h^2 sup f / 4, because f times the odd error of a cell integrates to at most (oscillation of f)
h^2 / 8. For atoms E e is known and L' is corrected by it; an atom on the grid has no error at all. With
d = t + sum of |E e_j| and eps the probability above,

    P(L' > l_max + d until k) - eps  <=  S(k)  <=  P(L' > l_max - d until k) + eps.

Both probabilities come from moving the masses above the barrier from epoch to epoch, by FFT. What rises
above the top of the grid counts as staying above forever in the upper bound and as stopped in the lower one,
so an untruncated Student-t costs width, never validity. S increases with every loss, so an error of at most a
in the distribution function of a term changes it by at most a: move a mass a to infinity, and the rest
dominates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import LossStep, Term
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.risk.reach import reaches
from depl.models.risk.rounded import convolved

Integers = NDArray[np.int64]

_MISJUDGED = 1e-9
"""eps, the probability that rounding errors add up to more than t. It is counted, so any value is sound; t
goes with sqrt(ln(2 / eps)), so that 100 times less costs 10 % more rounding."""

_CUT = 1e-12
"""Probability at either end at which the cells of a continuous term end. What lies beyond counts as error or
as a rise beyond the grid, so any value is sound: a thousandth of `_MISJUDGED`, so that it does not matter."""

_TRIMMED = 1e-13
"""Probability cut off either end of the masses after each epoch. It is counted, so any value is sound: even a
thousand epochs lose a tenth of `_MISJUDGED`, and tails cost time."""

_LIFT = 1e-10
"""Probability that an unbounded term rises by more than is provided for. It is counted, so any value is
sound: a tenth of `_MISJUDGED`; smaller values widen the grid of terms."""

_TAILS = (1e-3, 1e-5, 1e-7, 1e-10)
_ALIKE = 1.2
"""Ratio of the heights of all grids up to which the highest is taken without a trial: set by hand, where a
trial could save at most a fifth of the step."""

_COARSER = 16
"""How much coarser a trial is than the grid: set by hand. Trials of four tops take a quarter of the time of
the grid; coarser ones judge worse and make intervals wider, never wrong."""

_LEAST_POINTS = 256
"""Grid points in any case, for however many epochs and in trials: set by hand. The width goes with their
inverse, time for very long plans in proportion."""

_MOST_WORK = 2**25
"""Most grid points times epochs: set by hand, some seconds. More give narrower bounds of long plans in more
time."""

_NOTHING = 1e-13
"""Surviving probability at which following ends: what is left stays in the upper bound and is 0 in the lower
one, so any value is sound. 1e-13 is far below `_MISJUDGED`, which the width contains anyway."""


def grid_survival(
    initial_loss: float,
    steps: Sequence[LossStep],
    maximum_loss: float,
    points: int,
    stops: Sequence[bool] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of S(0), ..., S(K), shapes (K + 1,); S(0) = 1.

    Parameters
    ----------
    initial_loss : float
        Above the target, or nothing is left to survive.
    steps : sequence of LossStep
        With retention 1.
    points : int
        Grid points between the target and the top; fewer for plans so long that it would take more than
        seconds.
    stops : K + 1 of bool, optional
        After which epochs a loss counts; by default after all.
    """
    counting = (True,) * (len(steps) + 1) if stops is None else tuple(stops)
    path = _path(initial_loss, steps, maximum_loss, counting)
    points = max(_LEAST_POINTS, min(points, _MOST_WORK // max(len(steps), 1)))
    tops = [path.top(tail) for tail in _TAILS] if path.rises else [float(path.base.max())]
    spans = [top - float(path.threshold.min()) for top in tops]
    if max(spans) <= _ALIKE * min(spans):
        top = max(tops)
    else:  # heavy rises: whether to follow them or to have a finer grid shows only by trying
        coarse = max(_LEAST_POINTS, points // _COARSER)
        top = min(tops, key=lambda item: _width(_Grid(path, item, coarse).bounds()))
    return _Grid(path, top, points).bounds()


def _width(bounds: tuple[FloatArray, FloatArray]) -> float:
    return float((bounds[1] - bounds[0]).sum())


@dataclass(frozen=True, eq=False)
class _Path:
    """A sequence of steps and where it starts.

    Attributes
    ----------
    base : ndarray, shape (K + 1,)
        l(0) and the shifts so far: the loss without its random terms.
    threshold : ndarray, shape (K + 1,)
        What l(k) has to exceed: l_max, and a little more while it takes finitely many values.
    rises : bool
        Whether a random term may raise the loss.
    stops : tuple of bool, length K + 1
        Whether l(k) counts.
    """

    steps: Sequence[LossStep]
    base: FloatArray
    threshold: FloatArray
    rises: bool
    stops: tuple[bool, ...]

    @property
    def terms(self) -> list[Term]:
        """All random terms, in their order."""
        return [term for step in self.steps for term in step.terms]

    def top(self, tail: float) -> float:
        """A loss that is exceeded with about the probability ``tail``, or less, at each epoch."""
        found = reaches([(term, 1) for term in self.terms], tail / max(len(self.terms), 1))
        ends = np.cumsum([0, *(len(step.terms) for step in self.steps)])
        upward = np.vstack([np.zeros_like(found[0].rates), np.cumsum([r.upward for r in found], axis=0)])
        greatest = np.concatenate([[0.0], np.cumsum([r.greatest for r in found])])
        high = ((upward - math.log(tail)) / found[0].rates).min(axis=1)
        return float((self.base + np.minimum(high, greatest)[ends]).max())


def _path(initial: float, steps: Sequence[LossStep], maximum_loss: float, stops: tuple[bool, ...]) -> _Path:
    exact, base = Fraction(initial), [initial]
    limit = Fraction(maximum_loss)
    atoms_only, threshold = True, [float(limit + EXACT_ATOM_TOLERANCE)]
    for step in steps:
        exact += Fraction(step.shift)
        base.append(float(exact))
        atoms_only &= all(term.law.has_atoms for term in step.terms)
        threshold.append(float(limit + EXACT_ATOM_TOLERANCE) if atoms_only else maximum_loss)
    rises = any(
        max(term.coefficient * end for end in term.law.support()) > 0 for step in steps for term in step.terms
    )
    return _Path(steps, np.array(base), np.array(threshold), rises, stops)


@dataclass(frozen=True, eq=False)
class _Rounded:
    """Terms of one step, rounded to the nearest grid points.

    Attributes
    ----------
    first : int
        Change of the first mass, in steps.
    masses : ndarray, shape (n,)
    above : float
        Probability of a rise beyond the grid.
    error : float
        Bound on the error of the distribution function.
    drift : float
        E e where it is known, to be taken off [loss].
    bias : float
        Bound on |E e| of the rest [loss].
    spread : float
        Sum of h_j^2 [loss^2].
    worst : float
        Bound on what the rounding errors add up to, without drift [loss].
    """

    first: int
    masses: FloatArray
    above: float
    error: float
    drift: float
    bias: float
    spread: float
    worst: float

    def plus(self, other: "_Rounded") -> "_Rounded":
        """Both terms in one step."""
        masses, doubt = convolved(self.masses, other.masses)
        return _Rounded(
            self.first + other.first,
            masses,
            self.above + other.above,
            self.error + other.error + doubt,
            self.drift + other.drift,
            self.bias + other.bias,
            self.spread + other.spread,
            self.worst + other.worst,
        )


class _Grid:
    """One grid, its two barriers, and what has stayed above each."""

    def __init__(self, path: _Path, top: float, points: int) -> None:
        self._path, self._points = path, points
        self._step = max(top - float(path.threshold.min()), 1e-12 * abs(top), 1e-90) / points
        if all(term.law.has_atoms for term in path.terms):  # so that whole numbers fit
            self._step = 2.0 ** math.ceil(math.log2(self._step))
        self._top = top
        self._known: dict[LossStep, _Rounded] = {}
        self._laws = [self._law(step) for step in path.steps]
        self._margin = self._rounding()

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of S(k), shapes (K + 1,)."""
        path, h = self._path, self._step
        drift = np.concatenate([[0.0], np.cumsum([law.drift for law in self._laws])])
        base = path.base - drift
        size = float(np.abs(path.base).max() + np.abs(path.threshold).max())
        margin = self._margin + 1e-9 * h + 64 * UNIT_ROUNDOFF * size
        barriers = [np.floor((path.threshold + sign * margin - base) / h) for sign in (1, -1)]
        ceiling = np.floor((self._top + margin - base) / h)
        results = []
        for barrier, staying in zip(barriers, (False, True), strict=True):
            results.append(
                self._followed(barrier.astype(np.int64), ceiling.astype(np.int64), staying=staying)
            )
        return results[0], results[1]

    def _followed(self, barrier: Integers, ceiling: Integers, *, staying: bool) -> FloatArray:
        """Mass above the barrier after every epoch, corrected by all errors in one direction."""
        first, masses, escaped = 0, np.ones(1), 0.0
        error = _MISJUDGED
        found = np.ones(len(barrier))  # at the start nothing was rounded
        for k, law in enumerate(self._laws, start=1):
            keep_time()
            alive = float(masses.sum())
            escaped += law.above * alive
            masses, doubt = convolved(masses, law.masses)
            first += law.first
            error += law.error * alive + doubt
            counted = int(barrier[k]) + 1 - first if self._path.stops[k] else 0
            low = min(max(counted, 0), len(masses))
            high = min(max(int(ceiling[k]) + 1 - first, low), len(masses))
            escaped += float(masses[high:].sum())
            masses, first = masses[low:high], first + low
            low, high = _ends(masses)
            escaped += float(masses[high:].sum())
            error += float(masses[:low].sum())
            masses, first = masses[low:high], first + low
            total = float(masses.sum())
            found[k] = total + escaped + error if staying else total - error
            if not len(masses) or total < _NOTHING:
                found[k + 1 :] = total + escaped + error if staying else 0.0
                break
        return found

    def _rounding(self) -> float:
        """d of the module's docstring [loss]."""
        spread = math.fsum(law.spread for law in self._laws)
        typical = math.sqrt(spread * math.log(2 / _MISJUDGED) / 2) + math.fsum(law.bias for law in self._laws)
        return min(typical, math.fsum(law.worst for law in self._laws))

    def _law(self, step: LossStep) -> _Rounded:
        keep_time()
        if step not in self._known:
            lifts = [self._lift(term) if len(step.terms) > 1 else (0.0, 0.0) for term in step.terms]
            total = _Rounded(0, np.ones(1), 0.0, math.fsum(doubt for _, doubt in lifts), 0.0, 0.0, 0.0, 0.0)
            for index, term in enumerate(step.terms):
                others = math.fsum(rise for place, (rise, _) in enumerate(lifts) if place != index)
                total = total.plus(self._term(term, others))
            self._known[step] = total
        return self._known[step]

    def _lift(self, term: Term) -> tuple[float, float]:
        """A rise of one term [loss], and the probability that it rises more."""
        greatest = max(term.coefficient * end for end in term.law.support())
        if math.isinf(greatest):
            ends = (float(term.law.quantile(_LIFT, upper=side)) for side in (False, True))
            greatest = max(term.coefficient * end for end in ends)
        rise = min(max(greatest, 0.0), 2 * self._points * self._step)
        return rise, _beyond(term, rise)

    def _term(self, term: Term, others: float) -> _Rounded:
        """One term; by more than ``most`` steps every loss on the grid falls below it, or rises above it.

        Below it for good only if the other terms of the epoch do not lift it back, by ``others``.
        """
        path = self._path
        shift = max((step.shift for step in path.steps), default=0.0)
        most = self._points + 2 * len(path.terms) + math.ceil((max(shift, 0.0) + others) / self._step) + 8
        if term.law.has_atoms:
            return _atoms(term, self._step, most, stopped=all(path.stops))
        return _cells(term, self._step, most, stopped=all(path.stops))


def _ends(masses: FloatArray) -> tuple[int, int]:
    """Where the masses begin and end but for tails that do not matter."""
    if not len(masses):
        return 0, 0
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])
    low = int(np.searchsorted(below, _TRIMMED, side="right"))
    return low, max(low, len(masses) - int(np.searchsorted(above, _TRIMMED, side="right")))


def _cells(term: Term, h: float, most: int, *, stopped: bool) -> _Rounded:
    """A continuous term: the mass of every cell of width h around a grid point.

    ``stopped`` says whether all that falls below the grid is, after every epoch.
    """
    law = term.law
    ends = [float(term.coefficient * law.quantile(_CUT, upper=side)) for side in (False, True)]
    first = min(max(math.floor(min(ends) / h) - 1, -most), most - 1)
    last = min(max(math.ceil(max(ends) / h) + 1, first + 1), most)
    edges = (np.arange(first, last + 2) - 0.5) * h / term.coefficient
    above = law.survival(edges) if term.coefficient > 0 else law.cdf(edges)
    above = np.minimum.accumulate(np.clip(above, 0.0, 1.0))
    error = law.tail_error + law.survival_slack(np.asarray(edges, dtype=float))
    # Below the grid everything is stopped; short of it, what is cut off is an error.
    error += float(1 - above[0]) if first > -most or not stopped else 0.0
    # of coefficient * X, whose law is unimodal; half a cell where it is not known
    greatest = law.greatest_density() / abs(term.coefficient) * (1 + 1e-6)
    bias = h * min(0.5, h * greatest / 4)
    return _Rounded(first, above[:-1] - above[1:], float(above[-1]), error, 0.0, bias, h * h, h / 2)


def _beyond(term: Term, rise: float) -> float:
    """At least P(coefficient * X > rise)."""
    law, place = term.law, rise / term.coefficient
    if max(term.coefficient * end for end in law.support()) <= rise:
        return 0.0
    if law.has_atoms:
        values, weights = law.atoms()
        return float(weights[term.coefficient * values > rise].sum()) * (1 + 1e-9)
    found = law.survival(place) if term.coefficient > 0 else law.cdf(place)
    return float(found) * (1 + law.tail_error) + law.survival_slack(np.array([place]))


def _atoms(term: Term, h: float, most: int, *, stopped: bool) -> _Rounded:
    values, weights = term.law.atoms()
    changes = term.coefficient * values
    indices = np.clip(np.rint(changes / h), -most, most + 1).astype(int)
    # Atoms that leave the grid are misplaced without harm where they stop: their errors count as none.
    errors = np.where(np.abs(indices) < most, indices * h - changes, 0.0)
    spread = float(np.ptp(errors))
    astray = 0.0 if stopped else float(weights[indices <= -most].sum())
    inside = indices <= most
    masses = np.bincount(indices[inside] - indices.min(), weights[inside], minlength=1)
    return _Rounded(
        first=int(indices.min()),
        masses=np.asarray(masses, dtype=float),
        above=float(weights[~inside].sum()),
        error=(len(weights) + 64) * UNIT_ROUNDOFF + astray,
        drift=float(weights @ errors),
        bias=0.0,
        spread=spread**2,
        worst=spread,
    )
