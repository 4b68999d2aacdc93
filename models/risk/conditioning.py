"""Losses with heavy switches: Student-t laws without truncation, or cut too widely for a contour.

The former have no exponential moments, and a transform of the latter is a sum over very many points at very
many nodes. Each is split into a core, which joins the label of a contour, and two tails: one tail is bounded
cell by cell (`Knots`), two or more together. The formulas and their proof stand on the page "Risk", under
"Heavy switches". A violation probability is *decided* only as far as this bracket decides it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import TailedLaw
from depl.models.risk.contour import chernoff_probability, choose_contour, label_table, like
from depl.models.risk.heavy import beyond
from depl.models.risk.interval import Interval
from depl.models.risk.knots import Knots, SmoothTail
from depl.models.risk.transforms import transformable

EVALUATOR = "conditioning"

_GOOD_ENOUGH, _ROUGH = 1e-4, 0.1
_NEAR = 30.0
"""Factor up to which the guessed and the found probability agree well enough to keep the contours: set by
hand. Twice as much: wider intervals for some losses; half: more of them are split twice. Sound for any value.
"""

_EXPANSIONS = 40
"""Triplings of the distance in which an end of a quantile is sought: 3**40 = 1e19 spreads, beyond the
resolution of doubles around the centre. Where that is not enough, the end is infinite."""

_CLOSE = 1e-6
"""Relative distance at which the bisection of a quantile stops: set by hand, 100 times finer than
`_GOOD_ENOUGH` in probability. Ends are certified at any value; each halving costs one evaluation for an end.
"""

_MOST_OUTSIDE = 0.3
"""Most switches expected in their tails: with 0.3 of them, more than `_MOST_TAILS` at once have a probability
of at most 0.3**7 / 7! = 4e-8. With twice as many 6e-6, which the bound then counts; beyond, the grid answers.
"""

_LEAST_GUESS = 1e-15
"""Least probability that contours are chosen for: set by hand. It only guides; what is rarer gets a wider
interval relative to its size."""

_TWO_TAILS = 1e-4
"""Share that two tails may have in the answer: that of `_GOOD_ENOUGH`, the accuracy asked for. They are
bounded, so any value is sound: twice as much widens the interval, half makes cores wider and labels longer.
"""

_MOST_TAILS = 6
"""Most tails at once that are bounded one by one: seven or more weigh T**7 / 7! <= 4e-8 at most, T <=
`_MOST_OUTSIDE`. That is counted, so any number is sound; each more costs one sum over the knots."""

_WIDEST = 1500.0
"""Most radians by which the last node turns over the width of a core: set by hand, with points and time of a
label in proportion. Twice as much: fewer switches are conditioned, and cores may reach farther; sound for any
value."""

_MOST_PRODUCTS = 800_000
"""Products of a node, a knot and a kind of switch for which there is time: set by hand. Time and the number
of knots grow in proportion; with fewer knots the interval is wider, never wrong."""

_TOLERANCE = 1e-9
"""Error of the contours relative to the probability: 1e-5 of the accuracy `_GOOD_ENOUGH`, so that knots may
ask for probabilities 1e5 times smaller. It only guides the choice of nodes; errors are counted."""

_OUTWARD = 1e-10
"""Relative widening that covers rounding, on which soundness rests: all summands are nonnegative, so that
sums over some 4,300 knots and powers with a switch a factor are off by 2**-53 for each. 1e-10 are 9e5 such
roundings, and no more may be needed: losses of up to 1e5 switches."""

Kind = tuple[TailedLaw, int]


def conditioned_violation(loss: FinalLoss, maximum_loss: float) -> Interval | None:
    """Interval of P(l(K) > maximum_loss) for a loss with heavy Student-t terms.

    None where there are none, where the rest of the loss has no decaying increment, or where even cores are
    too much for a contour: then the grid answers.
    """
    if not _coverable(loss):
        return None
    guess = _guess(loss, maximum_loss)
    split = None if guess is None else _Split.of(loss, guess)
    if guess is None or split is None:
        return None
    found = _bracket(split, maximum_loss, _ROUGH)
    if guess / _NEAR < found.middle < _NEAR * guess:
        return _bracket(split, maximum_loss)
    again = _Split.of(loss, min(max(found.middle, _LEAST_GUESS), 0.5))
    return both(found, _bracket(again or split, maximum_loss))


def conditioned_quantile(loss: FinalLoss, budget: Fraction) -> Interval | None:
    """Interval of the (1 - budget)-quantile of l(K), by root-finding on certified bounds; None as above."""
    probability = float(budget)
    split = _Split.of(loss, probability) if _coverable(loss) else None
    if split is None:
        return None

    def bounds(value: float) -> tuple[float, float]:
        interval = _bracket(split, value)
        return interval.lower, interval.upper

    low = _reached(split, -1.0, lambda value: bounds(value)[0] > probability)
    high = _reached(split, 1.0, lambda value: bounds(value)[1] <= probability)
    while math.isfinite(high - low) and not split.close(low, high):
        middle = low + (high - low) / 2
        below, above = bounds(middle)
        if below > probability:
            low = middle
        elif above <= probability:
            high = middle
        else:
            low = _last(split, low, middle, lambda value: bounds(value)[0] > probability)
            high = _last(split, high, middle, lambda value: bounds(value)[1] <= probability)
            break
    return Interval(low, high, EVALUATOR)


def both(one: Interval, other: Interval) -> Interval:
    """What two intervals of one number say together."""
    return Interval(max(one.lower, other.lower), min(one.upper, other.upper), one.evaluator)


@dataclass(frozen=True)
class _Tail:
    """One kind of switch, ``count`` times: its law, its core, bounds of the probability beyond, and H."""

    law: TailedLaw
    count: int
    core: TailedLaw
    outside: tuple[float, float]
    others: Knots


@dataclass(frozen=True)
class _Split:
    """The decomposition of the page "Risk" for one choice of the eps_i."""

    whole: SmoothTail
    tails: tuple[_Tail, ...]
    centre: float
    spread: float
    likely: float
    """A value that every core exceeds with probability 1/2 or more."""

    @classmethod
    def of(cls, loss: FinalLoss, probability: float) -> "_Split | None":
        """Cores and contours for a violation probability of about this size; None if there are none."""
        parts = _parts(loss, probability)
        if parts is None:
            return None
        switches, rest, widest = parts
        total = sum(count for _, count in switches)
        cores = [law.core(_share(law, total, probability), widest) for law, _ in switches]
        outsides = [beyond(law, core)[1] * n for (law, n), core in zip(switches, cores, strict=True)]
        if total > 1 and sum(outsides) > _MOST_OUTSIDE:
            return None
        pairs = [*rest.terms, *((Term(1.0, core), n) for core, (_, n) in zip(cores, switches, strict=True))]
        levels = dict.fromkeys((probability * 1e-3, probability, 0.5))
        chosen = [choose_contour(pairs, level, _TOLERANCE) for level in levels]
        contours = [contour for contour in chosen if contour is not None]
        if not contours:
            return None
        tables = [(contour, label_table([term for term, _ in pairs], contour)) for contour in contours]

        def without(place: int | None) -> SmoothTail:
            left = [(term, count - (index == place)) for index, (term, count) in enumerate(pairs)]
            counts = np.array([[float(count) for _, count in left]])
            labels = tuple((contour, table.combine(counts)) for contour, table in tables)
            kept = FinalLoss(loss.constant, tuple(left))
            return SmoothTail(loss.constant, kept.mean(), kept.variance(), labels)

        whole = without(None)
        spread = (
            math.sqrt(whole.variance) if math.isfinite(whole.variance) else abs(whole.mean - loss.constant)
        )
        most = max(int(_MOST_PRODUCTS / sum(contour.count for contour in contours) / len(switches)), 1)
        tails = tuple(
            _Tail(law, n, core, beyond(law, core), Knots(without(len(rest.terms) + index), spread, most))
            for index, ((law, n), core) in enumerate(zip(switches, cores, strict=True))
        )
        likely = min(float(core.inverse_cdf(0.4)) for core in cores)
        return cls(whole, tails, whole.mean, spread, likely)

    def close(self, one: float, other: float) -> bool:
        """Whether quantiles need not be told apart: by `_CLOSE` of their distance from the mean."""
        return abs(other - one) <= _CLOSE * (abs(other - self.centre) + _CLOSE * self.spread)


def _coverable(loss: FinalLoss) -> bool:
    """Whether every increment has a transform, or tails that can be cut off."""
    return all(term.law.tailed is not None or transformable(term) for term, count in loss.terms if count)


def _parts(loss: FinalLoss, probability: float) -> tuple[list[Kind], FinalLoss, float] | None:
    """The heavy switches, the rest of the loss, and how far a core may reach; None if there are none."""
    terms = [(term, count) for term, count in loss.terms if count]
    decaying = [(term, count) for term, count in terms if term.law.decays]
    if not decaying:
        return None
    contour = choose_contour(like(decaying), probability, _TOLERANCE)
    if contour is None:
        return None
    rate = math.hypot(contour.abscissa, contour.spacing * contour.count)
    widest = _WIDEST / 2 / rate

    switches: list[Kind] = []
    others: list[tuple[Term, int]] = []
    for term, count in terms:
        lower, upper = term.law.support()
        tailed = term.law.tailed
        if tailed is not None and abs(term.coefficient) * (upper - lower) > 2 * widest:
            switches.append((tailed.scaled(term.coefficient), count))
        else:
            others.append((term, count))
    return (switches, FinalLoss(loss.constant, tuple(others)), widest) if switches else None


def _share(law: TailedLaw, total: int, probability: float) -> float:
    """Probability of the tails of one switch for which two tails matter little.

    Either two tails have a share of about `_TWO_TAILS` in ``probability``, or they have it in what one tail
    contributes: one of two has to reach at least half as far as one alone, which is less likely by 2**nu.
    """
    if total == 1:
        return min(0.1, probability)
    small = math.sqrt(2 * _TWO_TAILS * probability)
    halved = math.ldexp(_TWO_TAILS, -math.ceil(min(law.tail_power + 1, 100.0)))
    return min(0.1, max(small, halved) / total)


def _guess(loss: FinalLoss, value: float) -> float | None:
    """About P(l(K) > value), to choose contours by: the greatest of one long tail and Chernoff's bound."""
    terms = [(term, count) for term, count in loss.terms if count]
    rest = [(term, count) for term, count in terms if term.law.decays]
    if not rest:
        return None
    far = value - loss.mean()
    found = [0.3 * chernoff_probability(like(rest), -far)]
    for term, count in terms:
        if term.law.tailed is not None:
            law = term.law.tailed.scaled(term.coefficient)
            found.append(count * float(law.exceedance(np.array([far + law.centre]))[1][0]))
    return min(max(*found, _LEAST_GUESS), 0.5)


def _bracket(split: _Split, value: float, accuracy: float = _GOOD_ENOUGH) -> Interval:
    """The three lines of the page "Risk"."""
    least = math.prod((1 - tail.outside[1]) ** tail.count for tail in split.tails)
    most = math.prod((1 - tail.outside[0]) ** tail.count for tail in split.tails)
    low, high = split.whole(np.array([value]))
    lower, upper = least * float(low[0]), most * float(high[0])
    enough = accuracy / len(split.tails)
    for tail in split.tails:
        others = tail.count * least / (1 - tail.outside[0]), tail.count * most / (1 - tail.outside[1])
        below, above = tail.others.expectation(tail.law, tail.core, value, enough, lower / others[1])
        lower, upper = lower + others[0] * below, upper + others[1] * above
    upper += _several(split, value)
    return Interval(max(lower * (1 - _OUTWARD), 0.0), min(upper * (1 + _OUTWARD), 1.0), EVALUATOR)


def _several(split: _Split, value: float) -> float:
    """Upper bound of the probability that two switches or more are in their tails and the loss is above."""
    number, total = (
        sum(tail.count for tail in split.tails),
        sum(tail.count * tail.outside[1] for tail in split.tails),
    )
    if number == 1:
        return 0.0
    bound = total ** (_MOST_TAILS + 1) / math.factorial(_MOST_TAILS + 1) if number > _MOST_TAILS else 0.0
    for tail in split.tails:
        rest = sum((other.count - (other is tail)) * other.outside[1] for other in split.tails)
        for m in range(2, min(number, _MOST_TAILS) + 1):
            reached = tail.others.exceeded(tail.law, tail.core, value + (m - 1) * split.likely, m)
            bound += tail.count * rest ** (m - 1) / math.factorial(m - 1) * reached
    return min(bound, total**2 / 2)


def _reached(split: _Split, direction: float, holds: Callable[[float], bool]) -> float:
    """A value on one side of the centre from which on something holds; an infinite one if none is found."""
    distance = split.spread
    for _ in range(_EXPANSIONS):
        if holds(split.centre + direction * distance):
            return split.centre + direction * distance
        distance *= 3
    return math.copysign(math.inf, direction)


def _last(split: _Split, start: float, end: float, holds: Callable[[float], bool]) -> float:
    """About the last value from ``start``, where something holds, to ``end``, where it does not."""
    while not split.close(end, start):
        middle = start + (end - start) / 2
        start, end = (middle, end) if holds(middle) else (start, middle)
    return start
