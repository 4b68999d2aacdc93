"""Losses with untruncated Student-t switches, which have no exponential moments on either side.

No additive label exists for them. Each such S_i is therefore split at loc_i +- U_i into a truncated
core, which joins the label, and two tails of total probability eps_i. With R the other increments and
C_j the cores,

    P(l(K) > v) = prod(1 - eps) P(R + sum C > v)                                    (no tail)
                + sum_i prod_{j != i}(1 - eps_j) E[H_i(S_i); S_i in a tail]         (one tail)
                + something between 0 and P(two tails or more),

where H_i(s) = P(R + sum_{j != i} C_j > v - s) is nondecreasing. The first line is one contour. For the
second, on cells with edges loc_i + U_i = e_0 < ... < e_n, H lies between its values at the ends of each
cell, and by summation by parts the right tail contributes between

    sum_i P(S > e_i) (H(e_i) - H(e_{i-1})),                 H(e_{-1}) = 0,      and
    P(S > e_0) H(e_0) + sum_i P(S > e_i) (H(e_{i+1}) - H(e_i)),   H(e_{n+1}) = 1,

which stay bounds when H and the survival function are replaced by bounds of theirs. H comes from
contours, the survival function from scipy (with slack). Cells are halved where the difference is
largest. The left tail lies between 0 and P(left tail) H(loc - U). A violation probability is
*decided* only as far as this bracket decides it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from depl.models.epochs import FinalLoss, Term
from depl.models.laws import StudentT
from depl.models.risk.contour import Contour, Labels, choose_contour, distribution, labels_of
from depl.models.risk.interval import Interval
from depl.models.risk.transforms import EPSILON, decays

Array = NDArray[np.float64]
Bounds = tuple[Array, Array]

SURVIVAL_SLACK = 1e-11
"""Relative error granted to scipy's Student-t distribution function."""

_LARGEST_CELLS = 4096
_FIRST_CELLS = 160
_GOOD_ENOUGH = 1e-4
_TWO_TAILS = 1e-4
_FIRST_GUESS = 1e-3


def conditioned_violation(loss: FinalLoss, maximum_loss: float) -> Interval | None:
    """Interval of P(l(K) > maximum_loss) for a loss with untruncated Student-t terms.

    None where the rest of the loss has no decaying increment (unless one t is all the randomness there
    is): then the grid answers.
    """
    switches, rest = _split(loss)
    if not rest.terms and sum(count for _, count in switches) == 1:
        low, high = _survival(switches[0][0], np.array([maximum_loss - rest.constant]))
        return Interval(float(low[0]), float(high[0]), "conditioning")
    if not any(decays(term.law) for term, _ in rest.terms):
        return None
    first = _bracket(_Split.at(switches, rest, _FIRST_GUESS), maximum_loss)
    if first is None or first.width <= 10 * _GOOD_ENOUGH * first.upper:
        return first
    second = _bracket(_Split.at(switches, rest, max(first.middle, 1e-12)), maximum_loss)
    if second is None:
        return first
    return Interval(max(first.lower, second.lower), min(first.upper, second.upper), "conditioning")


def conditioned_quantile(loss: FinalLoss, budget: Fraction) -> Interval | None:
    """Interval of the (1 - budget)-quantile of l(K), by root-finding on certified bounds; None as above."""
    switches, rest = _split(loss)
    if not any(decays(term.law) for term, _ in rest.terms):
        return None
    probability = float(budget)
    split = _Split.at(switches, rest, probability)

    def bounds(value: float) -> tuple[float, float]:
        interval = _bracket(split, value)
        return (0.0, 1.0) if interval is None else (interval.lower, interval.upper)

    unit = split.spread
    low, high = split.centre - unit, split.centre + unit
    for _ in range(60):
        if bounds(low)[0] > probability:
            break
        low -= 2 * (high - low)
    for _ in range(60):
        if bounds(high)[1] <= probability:
            break
        high += 2 * (high - low)
    root = optimize.brentq(lambda v: math.log(sum(bounds(v)) / 2 / probability), low, high, xtol=1e-6 * unit)
    slope = (sum(bounds(root - 1e-3 * unit)) - sum(bounds(root + 1e-3 * unit))) / (4e-3 * unit)
    here = bounds(root)
    reach = 0.6 * (here[1] - here[0]) / slope + 1e-6 * unit if slope > 0 else unit
    lower = _first_beyond(root, -reach, lambda value: bounds(value)[0] > probability)
    upper = _first_beyond(root, reach, lambda value: bounds(value)[1] <= probability)
    return Interval(lower, upper, "conditioning")


def core_term(term: Term, tails: float) -> Term:
    """An untruncated Student-t cut to its core, which leaves out the probability ``tails``; others as is."""
    if not _heavy(term):
        return term
    return Term(1.0, _core(_scaled(term), tails))


@dataclass(frozen=True)
class _Tail:
    """One kind of switch, ``count`` times: its law, its core, and everything else that is not in a tail."""

    law: StudentT
    count: int
    core: StudentT
    probability: float
    others: "_SmoothTail"


@dataclass(frozen=True)
class _Split:
    """The decomposition of the module's docstring for one choice of the eps_i."""

    whole: "_SmoothTail"
    tails: tuple[_Tail, ...]
    centre: float
    spread: float

    @classmethod
    def at(cls, switches: Sequence[tuple[StudentT, int]], rest: FinalLoss, probability: float) -> "_Split":
        """Cores so wide that two tails at once have a share of about ``_TWO_TAILS`` in ``probability``."""
        total = sum(count for _, count in switches)
        share = min(0.1, probability if total == 1 else math.sqrt(2 * _TWO_TAILS * probability) / total)
        cores = [_core(law, share) for law, _ in switches]
        pairs = [(Term(1.0, core), count) for core, (_, count) in zip(cores, switches, strict=True)]
        tails = []
        for index, (law, count) in enumerate(switches):
            left = [(term, n - (place == index)) for place, (term, n) in enumerate(pairs)]
            kept = tuple(pair for pair in left if pair[1])
            others = _SmoothTail.of(FinalLoss(rest.constant, (*rest.terms, *kept)), probability)
            tails.append(_Tail(law, count, cores[index], 1 - cores[index].interval_mass(), others))
        whole = _SmoothTail.of(FinalLoss(rest.constant, (*rest.terms, *pairs)), probability)
        variance = whole.variance
        spread = math.sqrt(variance) if math.isfinite(variance) else abs(whole.mean - whole.constant)
        return cls(whole, tuple(tails), whole.mean, spread)


def _bracket(split: _Split, value: float) -> Interval | None:
    """The three lines of the module's docstring; None if no contour could be built."""
    if not split.whole.contours or not all(tail.others.contours for tail in split.tails):
        return None
    none = math.prod((1 - tail.probability) ** tail.count for tail in split.tails)
    low, high = split.whole(np.array([value]))
    lower, upper = none * float(low[0]), none * float(high[0])
    one = 0.0
    for tail in split.tails:
        others = tail.count * none / (1 - tail.probability)
        below, above = _tail_bounds(tail, value, split.spread)
        lower, upper = lower + others * below, upper + others * above
        one += others * tail.probability
    upper += max(1 - none - one, 0.0) + 1e-15  # two tails or more
    return Interval(max(lower * (1 - 1e-10), 0.0), min(upper * (1 + 1e-10), 1.0), "conditioning")


def _split(loss: FinalLoss) -> tuple[list[tuple[StudentT, int]], FinalLoss]:
    switches = [(_scaled(term), count) for term, count in loss.terms if _heavy(term)]
    return switches, FinalLoss(loss.constant, tuple(pair for pair in loss.terms if not _heavy(pair[0])))


def _core(law: StudentT, tails: float) -> StudentT:
    reach = law.scale * abs(float(special.stdtrit(law.degrees_of_freedom, tails / 2)))
    return msgspec.structs.replace(law, lower=law.location - reach, upper=law.location + reach)


def _heavy(term: Term) -> bool:
    return isinstance(term.law, StudentT) and not term.law.truncated


def _scaled(term: Term) -> StudentT:
    """The Student-t law of ``coefficient * X`` (symmetric about its location)."""
    law = term.law
    if not isinstance(law, StudentT):  # pragma: no cover - callers pass heavy terms only
        raise TypeError("not a Student-t term")
    return StudentT(
        degrees_of_freedom=law.degrees_of_freedom,
        location=term.coefficient * law.location,
        scale=abs(term.coefficient) * law.scale,
    )


def _survival(law: StudentT, values: Array) -> Bounds:
    """Bounds of P(S > value) for one t."""
    nu, standard = law.degrees_of_freedom, (values - law.location) / law.scale
    middle = np.asarray(special.stdtr(nu, -standard), dtype=float)
    # the quotient is off by a few ulp of the location over the scale
    doubt = 8 * EPSILON * (np.abs(values) + abs(law.location)) / law.scale
    slack = SURVIVAL_SLACK + (nu + 1) * doubt
    return middle * (1 - slack), np.minimum(middle * (1 + slack), 1.0)


@dataclass(frozen=True)
class _SmoothTail:
    """P(R > value) from several contours, the best of which counts at each value."""

    constant: float
    mean: float
    variance: float
    contours: tuple[tuple[Contour, Labels], ...]

    @classmethod
    def of(cls, rest: FinalLoss, probability: float) -> "_SmoothTail":
        """Contours from far below ``probability`` up to nearly one."""
        levels = (probability * 1e-3, probability, 0.5)
        chosen = (choose_contour(rest.terms, level) for level in levels)
        contours = tuple((contour, labels_of(rest, contour)) for contour in chosen if contour is not None)
        return cls(rest.constant, rest.mean(), rest.variance(), contours)

    def __call__(self, values: Array) -> Bounds:
        deviation = self.mean - values  # R > v means G - E G < mean - v
        doubt = 8 * EPSILON * (abs(self.mean) + np.abs(values) + abs(self.constant))
        lower, upper = np.zeros(values.shape), np.ones(values.shape)
        if math.isfinite(self.variance):
            safe = np.maximum(deviation, 1e-300)
            cantelli = np.where(deviation > 0, 1 - self.variance / (self.variance + safe**2), 0.0)
            lower = np.maximum(cantelli * (1 - 1e-9), 0.0)
        for contour, labels in self.contours:
            many = labels[np.zeros(len(values), dtype=np.intp)]
            lower = np.maximum(lower, distribution(contour, many, deviation - doubt)[0])
            upper = np.minimum(upper, distribution(contour, many, deviation + doubt)[1])
        # both are bounds of a nonincreasing function of the value: let each value profit from all
        order = np.argsort(values, kind="stable")
        back = np.argsort(order, kind="stable")
        lower = np.maximum.accumulate(lower[order][::-1])[::-1][back]
        return lower, np.minimum.accumulate(upper[order])[back]


def _tail_bounds(tail: _Tail, value: float, spread: float) -> tuple[float, float]:
    """Bounds of E[H(S); S in a tail] of one switch, halving the cells that contribute most."""
    start = float(tail.core.upper or 0.0)
    rise = max(value - tail.others.mean, start)
    growth = np.geomspace(1e-3, 1e9, _FIRST_CELLS)
    edges = np.unique(
        np.concatenate([[start], start + tail.law.scale * growth, rise + spread * np.linspace(-9, 9, 60)])
    )
    edges = edges[edges >= start]
    heights, masses = tail.others(value - edges), _survival(tail.law, edges)
    while True:
        lower, upper = _expectation(heights, masses)
        gaps = (masses[1][:-1] - masses[0][1:]) * np.maximum(heights[1][1:] - heights[0][:-1], 0.0)
        chosen = np.flatnonzero(gaps > 0.25 * gaps.sum() / len(gaps))
        chosen = chosen[np.argsort(gaps[chosen])[::-1][: _LARGEST_CELLS - len(edges)]]
        if upper - lower <= _GOOD_ENOUGH * upper or not len(chosen):
            break
        middles = (edges[chosen] + edges[chosen + 1]) / 2
        order = np.argsort(np.concatenate([edges, middles]), kind="stable")
        edges = np.concatenate([edges, middles])[order]
        heights = _joined(heights, tail.others(value - middles), order)
        masses = _joined(masses, _survival(tail.law, middles), order)
    mirrored = np.array([2 * tail.law.location - start])
    left = float(tail.others(value - mirrored)[1][0]) * float(masses[1][0])
    return lower, upper + left


def _joined(old: Bounds, new: Bounds, order: NDArray[np.intp]) -> Bounds:
    return np.concatenate([old[0], new[0]])[order], np.concatenate([old[1], new[1]])[order]


def _expectation(heights: Bounds, masses: Bounds) -> tuple[float, float]:
    """The two sums of the module's docstring for the right tail."""
    # H is nondecreasing, so its bounds may be made so too
    low, high = np.maximum.accumulate(heights[0]), np.minimum.accumulate(heights[1][::-1])[::-1]
    lower = float(masses[0][0] * low[0] + masses[0][1:] @ np.diff(low))
    steps = np.append(np.diff(high), 1 - high[-1])
    return lower, float(masses[1][0] * high[0] + masses[1] @ steps)


def _first_beyond(start: float, step: float, holds: Callable[[float], bool]) -> float:
    """The first of start + step, start + 1.5 step, ... at which ``holds``; an infinite end if none does."""
    for _ in range(80):
        if holds(start + step):
            return start + step
        step *= 1.5
    return math.copysign(math.inf, step)
