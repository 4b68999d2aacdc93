"""Certified distribution function of a sum of independent increments, from a few complex transform values.

Poisson's summation formula turns Bromwich's integral for P(Y <= y) into a sum over nodes c + i j Delta of a
vertical line. The *label* of a plan, its log-transform at the nodes, is additive over its epochs, which is
what the paper's Sec. IV-B wants of its log-transforms (E5). The four parts of the error, high alias, low
alias, truncation and rounding, and their bounds are derived on the page "Risk" (``risk``).
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Law
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray
from depl.models.risk.labels import Labels, scalar_columns
from depl.models.risk.scaled_transforms import scaled_log_transforms
from depl.models.risk.transforms import centred_log_transform

TOLERANCE = 1e-14
"""Wanted error of a violation probability, relative to the probability the contour was chosen for."""

LARGEST_CONTOUR = 8192
"""Most nodes of a contour: set by hand. Labels take 16 bytes a node, 128 KiB, and time in proportion; with
fewer nodes more losses go to the other evaluators."""

MOST_WORK = 3e7
"""Most products of a node and a point of a law for one label: a few tenths of a second."""

SMALLEST_SQUARE = 1e-200
"""Losses whose variance is below it or above its inverse are refused: products would under- or overflow."""

_CANDIDATE_COUNTS = np.unique(np.round(np.geomspace(12, LARGEST_CONTOUR, 40)).astype(int))
_SMALLEST_PROBABILITY = 1e-250
"""No upper bound is smaller. Soundness asks that it be far above 2.2e-308, where exponentials lose their
digits, and 1e-250 leaves 58 orders of magnitude for the factors around them; budgets are not that small."""

_CHUNK = 1_000_000
"""Complex numbers in one temporary array, 16 MB; it changes memory, not values."""

_MANY_TERMS, _STEPS_OF_SIZE = 64, 16
_SLOPE_DOWN = np.array([-1.0, 1.0])
"""Signs of the errors at the last two nodes: the last modulus is bounded above, the secant slope below."""


@dataclass(frozen=True)
class Contour:
    """The nodes s_j = abscissa + i j spacing, j < count, and the abscissa of the low-alias bound."""

    abscissa: float
    spacing: float
    count: int
    tilt: float

    @functools.cached_property
    def nodes(self) -> ComplexArray:
        """The J nodes, shape (J,)."""
        return np.asarray(self.abscissa + 1j * self.spacing * np.arange(self.count), dtype=complex)

    @functools.cached_property
    def radii(self) -> FloatArray:
        """Their moduli."""
        return np.abs(self.nodes)

    @property
    def period(self) -> float:
        """P = 2 pi / spacing."""
        return 2 * math.pi / self.spacing


class ErrorTerms(NamedTuple):
    """The four parts of the distance between the finite sum and the distribution function, each (n,)."""

    high_alias: FloatArray
    high_alias_uncertain: FloatArray
    low_alias: FloatArray
    truncation: FloatArray
    rounding: FloatArray


def label_table(terms: Sequence[Term], contour: Contour) -> Labels:
    """One row per term: the label of the gain ``-coefficient * X`` at the nodes of ``contour``."""
    count = len(terms)
    transform = np.zeros((count, contour.count), dtype=complex)
    rounding, envelope = np.zeros((count, contour.count)), np.zeros((count, 2))
    tilted = np.zeros(count)
    for law, rows in _rows_by_law(terms).items():
        weights = np.array([-terms[row].coefficient for row in rows])
        values, errors = scaled_log_transforms(law, weights, contour.nodes)
        transform[rows], rounding[rows] = values, errors
        beyond, doubts = scaled_log_transforms(law, weights, np.array([complex(contour.tilt)]))
        tilted[rows] = beyond[:, 0].real + doubts[:, 0]
        ends = np.array([contour.count - 2, contour.count - 1] if law.decays else [0, 0])
        envelope[rows] = values[:, ends].real + errors[:, ends] * _SLOPE_DOWN
    return Labels(transform, rounding, envelope, tilted, *scalar_columns(terms))


def distribution(contour: Contour, labels: Labels, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Certified bounds of P(G - E G <= deviation).

    Parameters
    ----------
    labels : `depl.models.risk.labels.Labels` of n gains
    deviation : float array (n,)
        y, in the unit of the loss; must be exact (rounding of a mean is added by `violation`).

    Returns
    -------
    lower, upper : float arrays (n,)
        Within [0, 1]; far outside the contour's window they are wide, never wrong.
    """
    return _bounds(contour, labels, deviation, np.zeros(len(labels)))


def violation(
    contour: Contour,
    labels: Labels,
    threshold: float | FloatArray,
    size: float | FloatArray = 0.0,
    elementary: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Certified bounds of P(G < threshold) for n gains, each with its own or one common threshold.

    ``size`` is the sum of the magnitudes that the threshold was rounded in, if it is not exact. Without
    ``elementary`` bounds it is faster, and no tighter.
    """
    deviation = threshold - labels.mean
    # The threshold, the means of the rows, their sum (rounded once), and the difference.
    sizes = size + np.abs(labels.mean) + np.abs(deviation)
    doubt = labels.mean_rounding + EPSILON / 2 * sizes
    return _bounds(contour, labels, deviation, doubt, elementary)


@np.errstate(over="ignore", invalid="ignore")
def error_terms(
    contour: Contour, labels: Labels, deviation: FloatArray, doubt: FloatArray
) -> tuple[FloatArray, ErrorTerms]:
    """F_h at ``deviation`` and the four parts of its distance from P(Y <= deviation), shapes (n,)."""
    nodes, period = contour.nodes, contour.period
    shift = deviation[:, None] * nodes
    values = np.exp(labels.transform + shift) / nodes
    values[:, 0] *= 0.5
    scale = contour.spacing / math.pi
    estimate = scale * np.add.reduce(values.real, axis=1)
    # Nodes and products of the exponent; exp (3 units of 2^-53), division (7), sum (20), scaling (2).
    moved = doubt + (2 * EPSILON) * np.abs(deviation)
    relative = (
        labels.rounding
        + (2 * EPSILON) * (np.abs(labels.transform) + 8)
        + contour.radii * moved[:, None]  # of the shift, too
    )
    rounding = scale * 1.01 * np.add.reduce(np.abs(values) * np.expm1(relative), axis=1)
    decay = math.exp(-contour.abscissa * period)
    alias = decay / (1 - decay)
    uncertain = _cantelli(deviation - doubt + period, labels) * alias
    truncation = _truncation(contour, labels, deviation + doubt)
    return estimate, ErrorTerms(
        np.full(len(labels), alias),
        uncertain,
        _low_alias(contour, labels, deviation + doubt),
        truncation,
        rounding,
    )


def choose_contour(
    terms: Iterable[tuple[Term, int]], probability: float, tolerance: float = TOLERANCE
) -> Contour | None:
    """Nodes for gains like ``terms`` near their quantile at ``probability``; None if too much were needed.

    That is, more than `LARGEST_CONTOUR` nodes, or more than `MOST_WORK` exponentials for the transforms.

    The abscissa is the minimiser of (log E exp(-s Y) - log p) / s (the EVaR level), the period brings
    both aliases, and the number of nodes the truncation, below ``tolerance * p``. Nothing rests on them:
    what a contour is worth is computed for the gain itself. So `like` terms do.
    """
    pairs = like(terms)
    if not pairs:
        return None
    wanted = math.log(tolerance * probability)
    abscissa, level = _evar_point(pairs, probability)
    # The quantile lies above the EVaR bound by 1.4 / c (omega = 1/2) to 3 / c under the normal law.
    deviation = min(level + 3 / abscissa, 0.0)
    tilt, period = _tilt_and_period(pairs, abscissa, deviation, wanted)
    spacing = 2 * math.pi / period
    count = _least_count(pairs, abscissa, deviation, spacing, wanted)
    if count is None:
        return None
    contour = Contour(abscissa, spacing, count, tilt)
    return contour if work_of(contour, [term for term, _ in pairs]) <= MOST_WORK else None


def work_of(contour: Contour, terms: Iterable[Term]) -> float:
    """About how many products of a node and a point of a law the labels of some terms are."""
    farthest = math.hypot(contour.abscissa, contour.spacing * contour.count)
    points = (term.law.sum_length(abs(term.coefficient) * farthest) for term in terms)
    return math.fsum(points) * contour.count


def _least_count(
    pairs: Sequence[tuple[Term, int]], abscissa: float, deviation: float, spacing: float, wanted: float
) -> int | None:
    """The first of the candidate numbers of nodes with a truncation below exp(wanted).

    It falls with the number of nodes: every sixth is tried, and then those between two.
    """
    first, last = 0, len(_CANDIDATE_COUNTS)
    for stride in (6, 1):
        tried = np.arange(first, last, stride)
        counts = _CANDIDATE_COUNTS[tried]
        ends = abscissa + 1j * spacing * np.stack([counts - 2, counts - 1], axis=1)

        def envelope_of(law: Law, weights: FloatArray, ends: ComplexArray = ends) -> FloatArray:
            if law.decays:
                return centred_log_transform(law, weights * ends.ravel())[0].real
            once = centred_log_transform(law, (weights * abscissa).astype(complex))[0].real
            return np.asarray(np.broadcast_to(once, (len(weights), ends.size)))

        envelope = _summed_by_law(pairs, envelope_of).reshape(ends.shape)
        slope = -np.diff(envelope, axis=1)[:, 0] / np.diff(np.log(ends.imag), axis=1)[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            truncation = abscissa * deviation + envelope[:, 1] - np.log(math.pi * np.maximum(slope, 1e-300))
        enough = np.flatnonzero((slope > 0.5) & (truncation < wanted))
        last = int(tried[enough[0]]) + 1 if len(enough) else last
        first = max(int(tried[enough[0]]) - stride + 1, 0) if len(enough) else int(tried[-1]) + 1
    return int(_CANDIDATE_COUNTS[last - 1]) if len(enough) else None


def like(terms: Iterable[tuple[Term, int]]) -> list[tuple[Term, int]]:
    """A few terms whose sum is much like that of many: those of a law with nearly one coefficient are merged.

    The variance is kept. They only guide: a training has a coefficient for every epoch.
    """
    pairs = [(term, count) for term, count in terms if count and term.coefficient]
    if len(pairs) <= _MANY_TERMS:
        return pairs
    merged: dict[tuple[Law, bool, int], list[float]] = {}
    for term, count in pairs:
        size = abs(term.coefficient)
        step = round(_STEPS_OF_SIZE * math.log(size)) if size > 0 else 0
        sums = merged.setdefault((term.law, term.coefficient < 0, step), [0, 0.0])
        sums[0] += count
        sums[1] += count * size**2
    return [
        (Term(math.sqrt(squares / count) * (-1 if negative else 1), law), int(count))
        for (law, negative, _), (count, squares) in merged.items()
    ]


def chernoff_probability(terms: Iterable[tuple[Term, int]], deviation: float) -> float:
    """min over s of E exp(-s (Y - deviation)), an upper bound of P(Y <= deviation), at least 1e-250."""
    pairs = [(term, count) for term, count in terms if count and term.coefficient]
    if deviation >= 0 or not pairs:
        return 1.0
    grid = _abscissa_grid(pairs)
    for _ in range(3):
        exponent = cumulant(pairs, grid) + grid * deviation
        # Higher rates say nothing about so small a probability, and near the end of a support never cease to.
        if np.argmin(exponent) < len(grid) - 1 or exponent.min() <= math.log(_SMALLEST_PROBABILITY):
            break
        grid = grid * (grid[-1] / grid[0]) ** 0.9
    return math.exp(max(min(float(exponent.min()), 0.0), math.log(_SMALLEST_PROBABILITY)))


def cumulant(pairs: Sequence[tuple[Term, int]], s: FloatArray) -> FloatArray:
    """log E exp(-s Y) at real s > 0, any shape."""

    def values(law: Law, weights: FloatArray) -> FloatArray:
        return centred_log_transform(law, (weights * s.ravel()).astype(complex))[0].real

    return _summed_by_law(pairs, values).reshape(s.shape)


def _bounds(
    contour: Contour, labels: Labels, deviation: FloatArray, doubt: FloatArray, elementary: bool = True
) -> tuple[FloatArray, FloatArray]:
    rows = _CHUNK // contour.count
    if len(labels) <= rows:
        return _bounds_at_once(contour, labels, deviation, doubt, elementary)
    parts = [slice(first, first + rows) for first in range(0, len(labels), rows)]
    found = [
        _bounds_at_once(contour, labels[part], deviation[part], doubt[part], elementary) for part in parts
    ]
    lower, upper = zip(*found, strict=True)
    return np.concatenate(lower), np.concatenate(upper)


@np.errstate(over="ignore", invalid="ignore")
def _bounds_at_once(
    contour: Contour, labels: Labels, deviation: FloatArray, doubt: FloatArray, elementary: bool
) -> tuple[FloatArray, FloatArray]:
    estimate, terms = error_terms(contour, labels, deviation, doubt)
    error = terms.truncation + terms.rounding
    low = estimate - terms.high_alias - terms.low_alias - error
    high = estimate - (terms.high_alias - terms.high_alias_uncertain) + error
    known = np.isfinite(low + high)
    floor, ceiling = _elementary(contour, labels, deviation, doubt) if elementary else (0.0, 1.0)
    lower = np.maximum(np.where(known, np.minimum(low, 1.0), 0.0), floor)
    # What underflows is not proven to be zero.
    upper = np.maximum(np.minimum(np.where(known, high, 1.0), ceiling), _SMALLEST_PROBABILITY)
    return lower, upper


def _elementary(
    contour: Contour, labels: Labels, deviation: FloatArray, doubt: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds that need no window: Cantelli or Markov far above the mean, Chernoff at c below it."""
    above = deviation - doubt
    reach = labels.mean - labels.infimum
    bounded = (labels.unbounded == 0) & (above > 0)
    markov = np.where(bounded, reach / np.where(bounded, reach + above, 1.0), 1.0)
    floor = np.maximum(1 - np.minimum(_cantelli(above, labels), markov) - 1e-12, 0.0)
    known, moved = labels.transform[:, 0].real, contour.abscissa * (deviation + doubt)
    chernoff = known + labels.rounding[:, 0] + moved
    # What the product, the sums and the exponential may be off
    chernoff += 4 * EPSILON * (np.abs(known) + np.abs(moved) + 1)
    return floor, np.exp(np.minimum(chernoff, 0.0))


def _cantelli(distance: FloatArray, labels: Labels) -> FloatArray:
    """Bound of P(Y > distance) by the one-sided Chebyshev inequality."""
    usable = (labels.infinite_variance == 0) & (distance > 0)
    safe = np.where(usable, distance, 1.0)
    return np.where(usable, labels.variance / (labels.variance + safe * safe), 1.0)


def _low_alias(contour: Contour, labels: Labels, deviation: FloatArray) -> FloatArray:
    gap = contour.tilt - contour.abscissa
    exponent = labels.tilted + contour.tilt * deviation - gap * contour.period
    bound = np.exp(exponent) / -math.expm1(-gap * contour.period)
    # Some slack, because the comparison itself is made in floating point.
    slack = 1e-9 * (np.abs(labels.infimum) + np.abs(labels.mean) + contour.period)
    bottom = labels.infimum - labels.mean - slack
    empty = (labels.unbounded == 0) & (deviation - contour.period < bottom)
    return np.where(empty, 0.0, bound)


def _truncation(contour: Contour, labels: Labels, deviation: FloatArray) -> FloatArray:
    last = contour.count - 1
    slope = (labels.envelope[:, 0] - labels.envelope[:, 1]) / math.log(last / (last - 1))
    size = np.exp(contour.abscissa * deviation + labels.envelope[:, 1])
    return np.where(slope > 1e-3, size / (math.pi * np.maximum(slope, 1e-3)), math.inf)


def _rows_by_law(terms: Sequence[Term]) -> dict[Law, list[int]]:
    rows: dict[Law, list[int]] = {}
    for index, term in enumerate(terms):
        rows.setdefault(term.law, []).append(index)
    return rows


def _summed_by_law(
    pairs: Sequence[tuple[Term, int]], values: Callable[[Law, FloatArray], FloatArray]
) -> FloatArray:
    """Sum over the terms of count times values(law, weight of the gain), all terms of a law at once."""
    total: FloatArray = np.zeros(1)
    for law, rows in _rows_by_law([term for term, _ in pairs]).items():
        weights = np.array([-pairs[row][0].coefficient for row in rows])
        counts = np.array([pairs[row][1] for row in rows], dtype=float)
        total = total + np.einsum("i,ij->j", counts, values(law, weights[:, None]))
    return total


def typical_square(pairs: Sequence[tuple[Term, int]]) -> float:
    """About the variance of the loss, with stand-ins where it is infinite or far above the squared mean.

    Raises
    ------
    InvalidInputError
        If that is not a number to calculate with in double precision.
    """
    total = 0.0
    for term, count in pairs:
        total += count * term.coefficient * term.coefficient * term.law.typical_square()
    if pairs and not SMALLEST_SQUARE <= total <= 1 / SMALLEST_SQUARE:
        raise InvalidInputError(
            "the increments of the loss are too great or too small to calculate with in double precision "
            f"(their variance would be about {total:.3g}); rescale the losses"
        )
    return total


def _abscissa_grid(pairs: Sequence[tuple[Term, int]]) -> FloatArray:
    """Candidate abscissae: four decades around one over the spread of the gain."""
    return np.geomspace(0.02, 200, 49) / math.sqrt(typical_square(pairs))


def _evar_point(pairs: Sequence[tuple[Term, int]], probability: float) -> tuple[float, float]:
    """Minimiser of (log E exp(-s Y) - log p) / s, and minus the minimum: the EVaR bound of Y's p-quantile."""
    grid, shift = _abscissa_grid(pairs), 1.0
    for _ in range(6):
        grid = grid * shift
        margin = (cumulant(pairs, grid) - math.log(probability)) / grid
        best = int(np.argmin(margin))
        if 0 < best < len(grid) - 1:
            break
        shift = (grid[-1] / grid[0] if best else grid[0] / grid[-1]) ** 0.9
    around = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 9)
    margin = (cumulant(pairs, around) - math.log(probability)) / around
    best = int(np.argmin(margin))
    return float(around[best]), -float(margin[best])


def _tilt_and_period(
    pairs: Sequence[tuple[Term, int]], abscissa: float, deviation: float, wanted: float
) -> tuple[float, float]:
    """Abscissa c' and the shortest period for which both aliases are below exp(wanted)."""
    tilts = abscissa * np.array([1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0])
    needed = (cumulant(pairs, tilts) + tilts * deviation - wanted + math.log(10)) / (tilts - abscissa)
    best = int(np.argmin(needed))
    low = float(needed[best])
    columns = scalar_columns([term for term, _ in pairs])
    counts = np.array([count for _, count in pairs], dtype=float)
    mean, bottom, unbounded = counts @ columns[0], counts @ columns[3], counts @ columns[5]
    if unbounded == 0:  # beyond the essential infimum there is no low alias at all
        low = min(low, float(deviation + mean - bottom) * 1.01)
    return float(tilts[best]), max(-wanted / abscissa, low)


@functools.lru_cache(maxsize=4)
def labels_of(loss: FinalLoss, contour: Contour) -> Labels:
    """The label of one final loss, shape (1, ...); kept, as violation and quantile may share a contour."""
    terms = [term for term, _ in loss.terms]
    return label_table(terms, contour).combine(np.array([[count for _, count in loss.terms]]))
