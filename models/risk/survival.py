r"""Certified probability that a loss has stayed above its target so far, epoch by epoch.

S(k) = P(l(0) > l_max, ..., l(k) > l_max) for l(k) = l(0) + sum of independent steps. Losses may rise, so this
is less than P(l(k) > l_max) in general: a run may have been below the target and left it again.

Three ways, each with both bounds:

- *Atoms*: where every step takes finitely many values and their sums stay few, S(k) is a fraction, exactly.
- *Runs*: where the loss cannot rise from epoch j + 1 to k, {l(j + 1) > l_max} follows from {l(k) > l_max},
  so S(j) + P(l(k) > l_max) - 1 <= S(k) <= P(l(k) > l_max); before the first rise S(k) = P(l(k) > l_max). The
  probabilities of all k come from a few contours. Sharp if the loss rises at few epochs (switches), none of
  them near the target.
- *Grid*: the law of the losses that have stayed above, moved from epoch to epoch on a grid. See
  `depl.models.risk.survival_grid`.

S falls in k, so bounds at one epoch are bounds at others; the best of all are kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, LossStep, compose
from depl.models.problem.laws import FloatArray
from depl.models.risk.batch import LossClasses
from depl.models.risk.certify import certified_violation, has_contour
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.discrete import decimal
from depl.models.risk.interval import Interval
from depl.models.risk.survival_grid import grid_survival

POINTS = 2**16
"""Grid points unless told otherwise."""

_MOST_PRODUCTS = 400_000
"""Products of whole numbers that exact sums may take: set by hand. Beyond, bounds are computed instead; twice
as many let longer discrete plans be exact, in twice the time."""

_MOST_RUNS = 20
"""Rises of the loss up to which bounds by runs are tried: set by hand. Each costs up to the width of an
interval, and an evaluation; with more rises the grid alone answers, soundly."""

_MOST_DISTINCT = 40
"""Distinct terms up to which bounds by runs are tried: set by hand, as labels take time for each. With more
terms the grid alone answers, soundly."""

_MOST_PREFIXES = 2000
"""Epochs up to which bounds by runs are tried: set by hand; the matrix of counts has epochs times terms
entries, 80,000 at most. With more epochs the grid alone answers, soundly."""

_SHARP = 1e-6
"""Width of the bounds by contours from which the grid is asked too: set by hand, finer than a decision on
stopping needs. Smaller values cost grids that can hardly improve on it; bounds hold at any."""

_REFERENCES = (0.5, 0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Survival:
    """Bounds of S(k) for k = 0, ..., K.

    Attributes
    ----------
    lower, upper : ndarray, shape (K + 1,)
        Nonincreasing; lower <= S <= upper.
    exact : tuple of Fraction or None
        S itself, where it is known.
    evaluator : str
        What established them.
    """

    lower: FloatArray
    upper: FloatArray
    exact: tuple[Fraction, ...] | None
    evaluator: str

    def at(self, epoch: int) -> Interval:
        """S(epoch)."""
        value = None if self.exact is None else self.exact[epoch]
        return Interval(float(self.lower[epoch]), float(self.upper[epoch]), self.evaluator, value)


def survival(
    initial_loss: float,
    steps: Sequence[LossStep],
    maximum_loss: float,
    points: int = POINTS,
    stops: Sequence[bool] | None = None,
) -> Survival:
    """Enclose S(0), ..., S(K).

    Parameters
    ----------
    maximum_loss : float
        l_max; a loss that takes finitely many values meets it up to 1e-9 above.
    points : int
        Most grid points; the width falls with their number.
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
    low, high = _by_runs(initial_loss, steps, maximum_loss)
    evaluator = "contour"
    # what has stayed above at all epochs has so at those that count; of others, only they bound from above
    bounds = _monotone(low, np.where(stops, high, 1.0))
    if float((bounds[1] - bounds[0]).max()) > _SHARP:
        found = grid_survival(initial_loss, steps, maximum_loss, points, stops)
        bounds = _monotone(np.maximum(bounds[0], found[0]), np.minimum(bounds[1], found[1]))
        evaluator = "contour and grid"
    return Survival(*bounds, None, evaluator)


def exact_survival(exact: tuple[Fraction, ...], evaluator: str) -> Survival:
    """What is known as fractions, with the floats around them."""
    values = np.array([float(value) for value in exact])
    lower, upper = np.nextafter(values, -1), np.nextafter(values, 2)
    return Survival(np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0), exact, evaluator)


def _monotone(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a bound at one epoch says of the others: S falls in k."""
    low = np.clip(np.maximum.accumulate(lower[::-1])[::-1], 0.0, 1.0)
    return low, np.maximum(low, np.clip(np.minimum.accumulate(upper), 0.0, 1.0))


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


def _by_runs(initial: float, steps: Sequence[LossStep], maximum_loss: float) -> tuple[FloatArray, FloatArray]:
    """Bounds from P(l(k) > l_max) of single epochs; [0, 1] where those would be expensive or useless."""
    size = len(steps) + 1
    starts = [k for k, step in enumerate(steps) if _may_rise(step)]
    trivial = np.zeros(size), np.ones(size)
    if size > _MOST_PREFIXES or len(starts) > _MOST_RUNS:
        return trivial
    losses = [compose(initial, steps[:k]) for k in range(size)]
    if len(losses[-1].terms) > _MOST_DISTINCT:
        return trivial
    above, upper = _marginals(losses, maximum_loss)
    lower = above.copy()
    for start in starts:
        if lower[start] < 1 - _SHARP and losses[start].terms:
            sharper = certified_violation(losses[start], maximum_loss).lower
            lower[start] += max(sharper - above[start], 0.0)
        # What has stayed above until the rise, and is above at k, has stayed above until k.
        lower[start + 1 :] = above[start + 1 :] + lower[start] - 1
    return lower, upper


def _may_rise(step: LossStep) -> bool:
    ends = (max(term.coefficient * end for end in term.law.support()) for term in step.terms)
    return step.shift + sum(ends) > 0


def _marginals(losses: Sequence[FinalLoss], maximum_loss: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of P(l(k) > maximum_loss), by contours chosen for a few k."""
    lower, upper = np.zeros(len(losses)), np.ones(len(losses))
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
