"""Losses with heavy switches: Student-t laws without truncation, or cut too widely for a contour.

The former have no exponential moments, and a transform of the latter is a sum over very many points at very
many nodes. Each is split into a core, which joins the label of a contour, and two tails, which are bounded
where the rest of the loss is known at points (the page "Risk", "Heavy switches", has formulas and proof). A
violation probability is *decided* only as far as this bracket decides it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, StudentT
from depl.models.problem.laws.law import Bounds
from depl.models.problem.laws.log_variable import EPSILON
from depl.models.risk.closed_sums import quantile_by
from depl.models.risk.contour import (
    Contour,
    chernoff_probability,
    choose_contour,
    distribution,
    label_table,
    like,
)
from depl.models.risk.labels import Labels
from depl.models.risk.transforms import transformable

EVALUATOR = "contour with cores"

_NEAR = 30.0
"""Factor up to which the guessed and the found probability agree well enough to keep the contours: set by
hand. Twice as much: wider intervals for some losses; half: more of them are split twice. Sound for any value.
"""

_OUTSIDE = 1e-8
"""Share of the probability asked for that lies outside of the cores, if they are affordable: set by hand.
What lies outside is bounded, so any value is sound: the interval is wider in proportion, at most."""

_WIDEST = 1500.0
"""Most radians by which the last node turns over the width of a core: set by hand, with points and time of a
label in proportion. Twice as much: fewer tails matter, and a label takes four times as long; sound for any
value."""

_MOST_OUTSIDE = 0.3
"""Most switches expected in their tails: set by hand. Three tails or more count with T**3 / 6, 0.5 % here,
and sums of two are bounded. Beyond, the grid answers."""

_LEAST_GUESS = 1e-15
"""Least probability that contours are chosen for: set by hand. It only guides; what is rarer gets a wider
interval relative to its size."""

_TOLERANCE = 1e-9
"""Error of the contours relative to the probability, and of the least of their levels to that: set by hand.
It only guides the choice of nodes; errors are counted."""

_KNOTS = np.sinh(np.linspace(-20.0, 20.0, 641)) / 4
"""Points at which the rest is known, in spreads about its mean: every 64th of a spread near it, with steps of
6 % far away, where a tail of the switch hardly changes either. Set by hand; any points are sound."""

_OUTWARD = 1e-10
"""Relative widening that covers rounding, on which soundness rests: all summands are nonnegative, so that
sums over some 650 points and powers with a switch a factor are off by 2**-53 for each. 1e-10 are 9e5 such
roundings, and no more may be needed: losses of up to 1e5 switches."""

_MUCH_NARROWER = 0.5
"""A truncated law is cut where its core is at most so wide in comparison: less would not save work."""


def cored_violation(loss: FinalLoss, maximum_loss: float) -> Interval | None:
    """Interval of P(l(K) > maximum_loss) for a loss with heavy Student-t terms.

    None where there are none, where the rest of the loss has no decaying increment, or where even cores are
    too much for a contour: then the grid answers.
    """
    guess = _guess(loss, maximum_loss) if _coverable(loss) else None
    split = None if guess is None else _Split.of(loss, guess)
    if guess is None or split is None:
        return None
    found = Interval(*split.bounds(maximum_loss), EVALUATOR)
    if guess / _NEAR < found.middle < _NEAR * guess:
        return found
    again = _Split.of(loss, min(max(found.middle, _LEAST_GUESS), 0.5))
    return found.met_with(Interval(*(again or split).bounds(maximum_loss), EVALUATOR))


def cored_quantile(loss: FinalLoss, budget: Fraction) -> Interval | None:
    """Interval of the (1 - budget)-quantile of l(K), by root-finding on certified bounds; None as above."""
    split = _Split.of(loss, float(budget)) if _coverable(loss) else None
    if split is None:
        return None
    return Interval(*quantile_by(split.bounds, budget, split.whole.mean, split.whole.spread), EVALUATOR)


@dataclass(frozen=True)
class _Smooth:
    """A sum R of increments that all have labels, at several contours, the best of which counts."""

    constant: float
    mean: float
    variance: float
    contours: tuple[tuple[Contour, Labels], ...]

    @property
    def spread(self) -> float:
        """About the width of its law."""
        finite = math.isfinite(self.variance)
        return math.sqrt(self.variance) if finite else abs(self.mean - self.constant)

    def exceedance(self, values: FloatArray) -> Bounds:
        """Bounds of P(R > value) at increasing values, none of which rises."""
        deviation = self.mean - values  # R > v means G - E G < mean - v
        doubt = 8 * EPSILON * (abs(self.mean) + np.abs(values) + abs(self.constant))
        lower, upper = np.zeros(values.shape), np.ones(values.shape)
        if math.isfinite(self.variance):
            square = np.maximum(deviation - doubt, 0.0) ** 2  # Cantelli
            lower = square / (self.variance + square) * (1 - 1e-9)
        for contour, labels in self.contours:
            many = labels[np.zeros(len(values), dtype=np.intp)]
            lower = np.maximum(lower, distribution(contour, many, deviation - doubt)[0])
            upper = np.minimum(upper, distribution(contour, many, deviation + doubt)[1])
        return np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)


@dataclass(frozen=True, eq=False)
class _Kind:
    """A heavy switch, ``count`` times: its law and core, bounds of the probability beyond, and all others.

    ``low`` and ``high`` bound P(R > point) of these at ``points``, which fall.
    """

    law: StudentT
    core: StudentT
    count: int
    outside: tuple[float, float]
    points: FloatArray
    low: FloatArray
    high: FloatArray

    def tail(self, value: float) -> tuple[float, float]:
        """Bounds of E[P(R > value - S); S outside of its core]: sums by parts, and below cell by cell.

        H rises: with edges too high it is bounded from below, with edges too low from above, by more than
        the rounding of a difference.
        """
        moved = 4 * EPSILON * (abs(value) + np.abs(self.points))
        floor, ceiling = np.append(0.0, self.low), np.append(self.high, 1.0)
        least = self._sums(value - self.points + moved, floor)[0]
        return least, self._sums(value - self.points - moved, ceiling)[1]

    def _sums(self, edges: FloatArray, heights: FloatArray) -> tuple[float, float]:
        """The sums with lower and with upper bounds of the masses, for one height a cell."""
        lower, upper = self.core.support()
        first = int(np.searchsorted(edges, upper, side="right"))
        above = self.law.exceedance(np.append(upper, edges[first:]))
        last = int(np.searchsorted(edges, lower)) + 1
        below = self.law.shortfall(np.append(edges[: last - 1], lower))
        rises = np.diff(heights[first:], prepend=0.0)
        sums = []
        for side in (0, 1):
            cells = np.maximum(below[side] - np.append(0.0, below[1 - side][:-1]), 0.0)
            sums.append(float(above[side] @ rises + cells @ heights[:last]))
        return sums[0], sums[1]

    def two_tails(self, value: float) -> float:
        """Upper bound of E[min(1, 2 P(R > value - 2 S)); S outside of its core]."""
        lower, upper = self.core.support()
        edges = (value - self.points - 4 * EPSILON * (abs(value) + np.abs(self.points))) / 2
        ceiling = np.minimum(2 * np.append(self.high, 1.0), 1.0)
        first = int(np.searchsorted(edges, upper, side="right"))
        above = self.law.exceedance(np.append(upper, edges[first:]))[1]
        below = float(self.law.shortfall(np.array([lower]))[1][0])
        most = above @ np.diff(ceiling[first:], prepend=0.0)
        return float(most) + below * float(ceiling[int(np.searchsorted(edges, lower))])


@dataclass(frozen=True)
class _Split:
    """The decomposition of the page "Risk" for one choice of cores; ``likely`` is its q."""

    whole: _Smooth
    kinds: tuple[_Kind, ...]
    likely: float

    @classmethod
    def of(cls, loss: FinalLoss, probability: float) -> "_Split | None":
        """Cores and contours for a violation probability of about this size; None if there are none."""
        parts = _parts(loss, probability)
        if parts is None:
            return None
        switches, rest, widest = parts
        total = sum(count for _, count in switches)
        cores = [law.core(min(0.1, _OUTSIDE * probability / total), widest) for law, _ in switches]
        outsides = [beyond(law, core) for (law, _), core in zip(switches, cores, strict=True)]
        expected = sum(outside[1] * n for outside, (_, n) in zip(outsides, switches, strict=True))
        if total > 1 and expected > _MOST_OUTSIDE:
            return None
        pairs = [*rest.terms, *((Term(1.0, core), n) for core, (_, n) in zip(cores, switches, strict=True))]
        levels = dict.fromkeys((probability * 1e-3, probability, 0.5))
        chosen = [choose_contour(pairs, level, _TOLERANCE) for level in levels]
        terms = [term for term, _ in pairs]
        tables = [(contour, label_table(terms, contour)) for contour in chosen if contour is not None]
        if not tables:
            return None

        def without(place: int | None) -> _Smooth:
            left = [(term, count - (index == place)) for index, (term, count) in enumerate(pairs)]
            counts = np.array([[float(count) for _, count in left]])
            labels = tuple((contour, table.combine(counts)) for contour, table in tables)
            kept = FinalLoss(loss.constant, tuple(left))
            return _Smooth(loss.constant, kept.mean(), kept.variance(), labels)

        kinds = []
        for index, ((law, count), core, outside) in enumerate(zip(switches, cores, outsides, strict=True)):
            others = without(len(rest.terms) + index)
            points = others.mean + others.spread * _KNOTS
            low, high = others.exceedance(points)
            kinds.append(_Kind(law, core, count, outside, points[::-1], low[::-1], high[::-1]))
        return cls(without(None), tuple(kinds), min(float(core.inverse_cdf(0.4)) for core in cores))

    def bounds(self, value: float) -> tuple[float, float]:
        """The three lines of the page "Risk" for P(loss > value)."""
        least = math.prod((1 - kind.outside[1]) ** kind.count for kind in self.kinds)
        most = math.prod((1 - kind.outside[0]) ** kind.count for kind in self.kinds)
        low, high = self.whole.exceedance(np.array([value]))
        lower, upper = least * float(low[0]), most * float(high[0])
        number = sum(kind.count for kind in self.kinds)
        total = sum(kind.count * kind.outside[1] for kind in self.kinds)
        several = 0.0
        for kind in self.kinds:
            below, above = kind.tail(value)
            lower += kind.count * least / (1 - kind.outside[0]) * below
            upper += kind.count * most / (1 - kind.outside[1]) * above
            if number > 1:
                others = total - kind.outside[1] * (1 - EPSILON)
                several += kind.count * others * kind.two_tails(value + self.likely)
        upper += min(several + (total**3 / 6 if number > 2 else 0.0), total**2 / 2)
        return max(lower * (1 - _OUTWARD), 0.0), min(upper * (1 + _OUTWARD), 1.0)


def core_term(term: Term, tails: float) -> Term:
    """A Student-t cut to its core, which leaves out the probability ``tails``; others as they are.

    So is a truncated one that is cut much farther out: a transform is a sum over points all over its support.
    """
    if (law := term.tailed) is None:
        return term
    core = law.core(tails)
    (lower, upper), (first, last) = law.support(), core.support()
    return Term(1.0, core) if last - first <= _MUCH_NARROWER * (upper - lower) else term


def beyond(law: StudentT, core: StudentT) -> tuple[float, float]:
    """Bounds of the probability that S is outside of its core."""
    lower, upper = core.support()
    right, left = law.exceedance(np.array([upper])), law.shortfall(np.array([lower]))
    low, high = float(right[0][0] + left[0][0]), float(right[1][0] + left[1][0])
    return low * (1 - EPSILON), high * (1 + EPSILON)


def _coverable(loss: FinalLoss) -> bool:
    """Whether every increment has a transform, or tails that can be cut off."""
    return all(term.law.tailed is not None or transformable(term) for term, _ in loss.terms)


def _parts(loss: FinalLoss, probability: float) -> tuple[list[tuple[StudentT, int]], FinalLoss, float] | None:
    """The heavy switches, the rest of the loss, and how far a core may reach; None if there are none."""
    decaying = [(term, count) for term, count in loss.terms if term.law.decays]
    contour = choose_contour(like(decaying), probability, _TOLERANCE) if decaying else None
    if contour is None:
        return None
    widest = _WIDEST / 2 / math.hypot(contour.abscissa, contour.spacing * contour.count)
    switches: list[tuple[StudentT, int]] = []
    others: list[tuple[Term, int]] = []
    for term, count in loss.terms:
        (lower, upper), law = term.law.support(), term.tailed
        if law is not None and abs(term.coefficient) * (upper - lower) > 2 * widest:
            switches.append((law, count))
        else:
            others.append((term, count))
    return (switches, FinalLoss(loss.constant, tuple(others)), widest) if switches else None


def _guess(loss: FinalLoss, value: float) -> float | None:
    """About P(l(K) > value), to choose contours by: the greatest of one long tail and Chernoff's bound."""
    rest = [(term, count) for term, count in loss.terms if term.law.decays]
    if not rest:
        return None
    far = value - loss.mean()
    found = [0.3 * chernoff_probability(like(rest), -far)]
    for term, count in loss.terms:
        if (law := term.tailed) is not None:
            found.append(count * float(law.exceedance(np.array([far + law.location]))[1][0]))
    return min(max(*found, _LEAST_GUESS), 0.5)
