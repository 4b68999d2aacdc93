"""Certified probabilities and quantiles of the final loss for every law, by a directed-rounding grid.

Every term is rounded up and rounded down to a grid, the rounded laws are convolved by FFT, and the
two results enclose the truth: lower <= P(l(K) > l_max) <= upper, for laws with atoms, for heavy
tails with infinite variance and for untruncated Student-t alike. The price is a width of about
(number of terms) * step * density, so the contour quantile is the better evaluator wherever it
applies.

Two choices keep the step small. Terms are added along a balanced tree, equal terms by repeated
doubling. And a partial sum A is followed only where it can matter: with B the rest of the sum and t
the threshold, only where t - high(B) <= A <= t - low(B). What leaves that window moves on in the
direction of rounding, so it can widen the interval but never invalidate it, and nothing wraps round.
Laws are read through scipy's distribution functions, with an allowance for their errors stated in
`depl.models.problem.laws.law.Law`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval, float_above, float_below
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.risk.discrete import decimal, is_discrete
from depl.models.risk.reach import Reach, reaches, total_reach
from depl.models.risk.rounded import RoundedLaw, rounded

EVALUATOR = "directed grid"

Terms = Sequence[tuple[Term, int]]
Pair = tuple[RoundedLaw, RoundedLaw]

_TAILS = (1e-2, 1e-3, 1e-5, 1e-7, 1e-10)
_LEAST_TAIL = 1e-15
"""Least probability that a sum may lose at its own ends: less than the bound of what transforms round away,
some 1e-14. What is lost moves in the direction of rounding, so any value is sound; a smaller one widens
windows and steps."""

_STEPS_PER_OCTAVE = 8
"""Steps have at most four binary digits, so that their products with indices below 2**49 are exact; they are
coarser than asked by an eighth at most. Soundness needs a power of 2: twice as many save a sixteenth of the
width and cost one digit."""

_ALIKE = 4.0
"""Ratio of the steps of all layouts up to which a formula chooses instead of a trial of each: set by hand.
Smaller ratios cost trials, greater ones may cost width; every layout is sound."""

_COARSER = 16
"""How much coarser a trial is than the grid: set by hand. Trials of five layouts take about 5/16 of the time
of the grid; coarser ones judge worse and make intervals wider, never wrong."""

_PASSES = 4
"""Times that the range of a quantile is narrowed on a coarse grid: set by hand; it ends sooner where a pass
does not halve the range. Fewer leave wider intervals for heavy tails."""

_LEAST_RELATIVE_WIDTH = 1e-10
"""Least width of a window relative to its farthest value: indices stay below 1e10 times the number of points,
7e14 for 2**16 and 4e16 for the most, which 64-bit integers hold. Survival functions are granted 8 roundings
of their argument, so what doubles cannot tell apart costs width only."""

_MOST_POINTS = 2**22
"""Most points a caller may ask for: 32 MiB for one array of doubles, of which an evaluation keeps a few
dozen. It also keeps sums within `rounded`'s bound of their rounding."""


def grid_violation(loss: FinalLoss, maximum_loss: float, points: int = 2**16) -> Interval:
    """Interval certain to contain P(l(K) > maximum_loss).

    Parameters
    ----------
    maximum_loss : float
        l_max [loss]. An atom at most 1e-9 above it counts as met.
    points : int
        Most grid points for any partial sum; the width falls in proportion to its inverse.

    Raises
    ------
    InvalidInputError
        If ``points`` is not between 16 and 2**22.
    """
    _require_points(points)
    # With a continuous term the final loss has no atoms, so there is nothing to be lenient about.
    threshold = Fraction(maximum_loss) + (EXACT_ATOM_TOLERANCE if is_discrete(loss) else 0)
    random_part = threshold - Fraction(loss.constant)
    terms = _random_terms(loss)
    if not terms:
        value = float(random_part < 0)
        return Interval(value, value, EVALUATOR, Fraction(value))
    up, down = _laws(terms, float(random_part), float(random_part), points)
    # Both grids have the same step, and a grid point exceeds the threshold iff its index does this one.
    index = math.floor(random_part / Fraction(up.step))
    upper, lower = up.above(index) + up.error, down.above(index) - down.error
    return Interval(max(0.0, lower), min(1.0, upper), EVALUATOR)


def grid_quantile(loss: FinalLoss, level: float | Fraction, points: int = 2**16) -> Interval:
    """Interval certain to contain the quantile of the final loss: the smallest v with P(l(K) <= v) >= level.

    Parameters
    ----------
    level : float or Fraction
        omega in (0, 1); a float is read as the decimal that it prints as.
    points : int
        Most grid points for any partial sum.

    Returns
    -------
    Interval
        In units of loss; an end is infinite where the grid cannot tell (more points may help).

    Raises
    ------
    InvalidInputError
        If ``level`` is not inside (0, 1) or ``points`` not between 16 and 2**22.
    """
    _require_points(points)
    if not 0 < level < 1:
        raise InvalidInputError(f"the quantile level must lie strictly between 0 and 1, not at {level}")
    terms = _random_terms(loss)
    if not terms:
        return Interval(loss.constant, loss.constant, EVALUATOR, Fraction(loss.constant))
    budget = 1 - decimal(level)
    low, high = _first_bracket(terms, float(level))
    # The reach is rough for heavy tails: zoom with few points, then once with all.
    for _ in range(_PASSES):
        lower, upper = _quantile_bracket(terms, budget, (low, high), max(16, points // _COARSER))
        lower, upper = max(low, lower), min(high, upper)
        if not lower < upper or upper - lower > (high - low) / 2:
            break
        low, high = lower, upper
    lower, upper = _quantile_bracket(terms, budget, (low, high), points)
    constant = Fraction(loss.constant)
    lower = lower if math.isinf(lower) else float_below(constant + Fraction(lower))
    upper = upper if math.isinf(upper) else float_above(constant + Fraction(upper))
    return Interval(lower, upper, EVALUATOR)


@dataclass(frozen=True, eq=False)
class _Sum:
    """A partial sum: one term, or two partial sums added (possibly the same law twice).

    ``reach`` describes it as the rest of another sum, ``support`` where it can lie itself: losing its
    own tails costs their probability, losing those of the rest only that of both going astray.
    """

    reach: Reach
    support: Reach
    content: "Term | tuple[_Sum, _Sum]"


@dataclass(frozen=True)
class _Windows:
    """Where a partial sum has to be followed, for thresholds of the whole sum in [start, stop]."""

    total: Reach
    start: float
    stop: float
    share: float
    own_share: float

    def of(self, part: _Sum) -> tuple[float, float]:
        """Ends of the window of a partial sum [loss]."""
        rest = self.total.plus(part.reach, -1)
        low = max(self.start - rest.high(self.share), part.support.low(self.own_share))
        high = min(self.stop - rest.low(self.share), part.support.high(self.own_share))
        return min(low, high), max(low, high)

    def harm(self, part: _Sum) -> float:
        """About the probability that what leaves the window of ``part`` is misjudged.

        Beyond its own tails that takes ``part`` outside its window and, independently, the rest beyond
        its reach.
        """
        low, high = self.of(part)
        outside = part.reach.exceedance(high) + part.reach.shortfall(low) + 2 * self.share
        return self.share * outside + 2 * self.own_share


def _require_points(points: int) -> None:
    if not 16 <= points <= _MOST_POINTS:
        raise InvalidInputError(f"the grid needs between 16 and {_MOST_POINTS} points, not {points}")


def _random_terms(loss: FinalLoss) -> list[tuple[Term, int]]:
    return [(term, count) for term, count in loss.terms if count > 0 and term.coefficient != 0]


def _laws(terms: Terms, start: float, stop: float, points: int) -> Pair:
    """The sum of the terms rounded up and down, followed where thresholds in [start, stop] need it."""
    count = sum(number for _, number in terms)
    layouts = [_layout(terms, start, stop, tail, points) for tail in _TAILS]
    steps = [layout.step for layout in layouts]
    if max(steps) <= _ALIKE * min(steps):
        best = min(layouts, key=lambda layout: _expected_width(layout, count))
    else:  # heavy tails that raise the loss: what to give up for a smaller step shows only by trying
        best = min(layouts, key=lambda layout: _tried_width(layout, count))
    return _evaluated(best.tree, best.windows, best.step, count, {})


@dataclass(frozen=True)
class _Layout:
    """Everything that is chosen before a grid is filled."""

    tree: _Sum
    windows: _Windows
    step: float


def _layout(terms: Terms, start: float, stop: float, tail: float, points: int) -> _Layout:
    """Tree, windows and step for one choice of the tail that may be cut off."""
    counts = [count for _, count in terms]
    share, own_share = tail / (4 * sum(counts)), max(tail**2, _LEAST_TAIL) / (4 * sum(counts))
    parts, supports = reaches(terms, share), reaches(terms, own_share)
    windows = _Windows(total_reach(parts, counts), start, stop, share, own_share)
    singles = [_Sum(part, own, term) for part, own, (term, _) in zip(parts, supports, terms, strict=True)]
    tree = _balanced([_repeated(single, count) for single, count in zip(singles, counts, strict=True)])
    ends = [windows.of(part) for part in _nodes(tree)]
    widest = max(stop - start, *(high - low for low, high in ends))
    farthest = max(abs(start), abs(stop), *(max(abs(low), abs(high)) for low, high in ends), 1e-290)
    width = max(widest, _LEAST_RELATIVE_WIDTH * farthest)
    return _Layout(tree, windows, short_step(width / points, terms))


def short_step(step: float, terms: Terms) -> float:
    """``step`` rounded up to few binary digits; to one if there are only atoms, so that integers fit."""
    digits = 1 if all(term.law.has_atoms for term, _ in terms) else _STEPS_PER_OCTAVE
    octave = 2.0 ** math.floor(math.log2(step))
    return math.ceil(step / octave * digits) / digits * octave


def _expected_width(layout: _Layout, count: int) -> float:
    """Rough width of the interval: rounding times density, plus what is cut off."""
    total = layout.windows.total
    spread, likely = total.high(0.1) - total.low(0.1), total.exceedance(layout.windows.start)
    rounding = count * layout.step / spread * likely if spread > 0 else 0.0
    return rounding + sum(layout.windows.harm(part) for part in _nodes(layout.tree))


def _tried_width(layout: _Layout, count: int) -> float:
    """Width of the interval on a grid `_COARSER` times coarser, at both ends of the thresholds."""
    step = layout.step * _COARSER
    up, down = _evaluated(layout.tree, layout.windows, step, count, {})
    ends = [math.floor(end / step) for end in (layout.windows.start, layout.windows.stop)]
    return sum(up.above(end) - down.above(end) for end in ends)


def _repeated(single: _Sum, count: int) -> _Sum:
    if count == 1:
        return single
    half = _repeated(single, count // 2)
    double = _added(half, half)
    return double if count % 2 == 0 else _added(double, single)


def _balanced(sums: list[_Sum]) -> _Sum:
    sums = sorted(sums, key=lambda part: part.reach.high(0.1) - part.reach.low(0.1))
    while len(sums) > 1:
        pairs = [_added(*sums[index : index + 2]) for index in range(0, len(sums) - 1, 2)]
        sums = pairs + sums[2 * len(pairs) :]
    return sums[0]


def _added(first: _Sum, second: _Sum) -> _Sum:
    return _Sum(first.reach.plus(second.reach), first.support.plus(second.support), (first, second))


def _nodes(tree: _Sum) -> list[_Sum]:
    """Every distinct partial sum of the tree."""
    found, waiting = {id(tree): tree}, [tree]
    while waiting:
        content = waiting.pop().content
        for part in content if isinstance(content, tuple) else ():
            if id(part) not in found:
                found[id(part)] = part
                waiting.append(part)
    return list(found.values())


def _evaluated(node: _Sum, windows: _Windows, step: float, margin: int, known: dict[int, Pair]) -> Pair:
    """The partial sum rounded up and down; ``known`` saves equal branches from being computed twice."""
    if id(node) in known:
        return known[id(node)]
    keep_time()
    low, high = windows.of(node)
    # Rounding moves a sum by up to one step per term, so the window grows by that much.
    first, last = math.floor(low / step) - margin, math.ceil(high / step) + margin
    if isinstance(node.content, Term):
        laws = rounded(node.content, step, first, last)
    else:
        one, other = (_evaluated(part, windows, step, margin, known) for part in node.content)
        up, down = one[0].convolve(other[0]), one[1].convolve(other[1])
        laws = up.within(first, last), down.within(first, last)
    known[id(node)] = laws
    return laws


def _first_bracket(terms: Terms, level: float) -> tuple[float, float]:
    """A range of the random part that contains the quantile, as far as the reach can tell."""
    tail = min(1e-6, 0.01 * (1 - level), 0.01 * level)
    count = sum(number for _, number in terms)
    total = total_reach(reaches(terms, tail / count), [number for _, number in terms])
    low, high = total.low(0.9 * level), total.high(0.9 * (1 - level))
    margin = 0.01 * (high - low) + _LEAST_RELATIVE_WIDTH * max(abs(low), abs(high))
    return low - margin, high + margin


def _quantile_bracket(
    terms: Terms, budget: Fraction, bracket: tuple[float, float], points: int
) -> tuple[float, float]:
    """Certified bounds of the quantile of the random part; infinite where it is outside the bracket."""
    up, down = _laws(terms, *bracket, points)
    # P(L > x) <= P(L up > x) <= p puts the quantile at x or below it.
    upper = _smallest(up, budget, up.error)
    # P(L >= x) >= P(L down >= x) > p puts it at x or above it; on the grid that is the last point
    # whose predecessor is still exceeded with more than p, which is the first that is not.
    lower = _smallest(down, budget, -down.error)
    return (
        -math.inf if lower < down.first else lower * down.step,
        math.inf if upper > up.last else upper * up.step,
    )


def _smallest(law: RoundedLaw, budget: Fraction, error: float) -> int:
    """The smallest index from first - 1 on with P(law > grid point) + error <= budget; last + 1 if none."""
    low, high = law.first - 1, law.last + 1
    while low < high:
        middle = (low + high) // 2
        if Fraction(law.above(middle) + error) <= budget:
            high = middle
        else:
            low = middle + 1
    return low
