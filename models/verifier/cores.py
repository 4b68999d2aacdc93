"""Untruncated Student-t increments, cut to cores: without exponential moments nothing of them can be tilted.

A core is the law between two ends far out, truncated there. The probability is that of the sum with cores,
that of one increment outside of its core and the others inside, and at most T^2 / 2 for more, with T the
expected number outside. Beyond an end of its core the increment counts as at that end or as far as it wants.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from depl.models.problem.laws import StudentT
from depl.models.verifier.laws import Bracket, Increment, exceedance, is_polynomial, middle, spread
from depl.models.verifier.tolerances import RELATIVE_ROUNDING

Tail: TypeAlias = Callable[[Sequence[Increment], float], Bracket | None]

_NARROW = 1e-5
"""Relative width from which no other reach is tried: set by hand, as every bracket is sound."""


def with_cores(
    tail: Tail,
    increments: Sequence[Increment],
    gap: float,
    reaches: Sequence[float],
    last: Increment | None = None,
) -> Bracket | None:
    """P(sum > gap) by what can do it for laws that are not heavy; None where it cannot.

    Parameters
    ----------
    reaches : sequence of float
        How far cores reach beyond where the sum is asked, in spreads of all but the widest law, one after
        the other until the bracket is narrow.
    last : Increment, optional
        One that ``tail`` adds to any sum by itself.
    """
    if not any(is_polynomial(item.law) for item in increments):
        return tail(increments, gap)
    best: Bracket | None = None
    for reach in reaches:
        found = _cored(tail, increments, gap, _half_width(increments, gap, last, reach))
        if found is not None and (best is None or found.upper - found.lower < best.upper - best.lower):
            best = found
        if best is not None and best.upper - best.lower <= _NARROW * best.upper:
            break
    return best


def _half_width(increments: Sequence[Increment], gap: float, last: Increment | None, reach: float) -> float:
    """Rounded up, so that thresholds close together have cores and transforms in common."""
    every = [*increments] if last is None else [*increments, Increment(last.coefficient, last.law)]
    centre = math.fsum(item.count * item.factor * middle(item.law) for item in every)
    squares = [item.count * (item.factor * spread(item.law)) ** 2 for item in every]
    widest = max((item.factor * spread(item.law)) ** 2 for item in every if is_polynomial(item.law))
    found = abs(gap - centre) + reach * math.sqrt(max(0.0, math.fsum(squares) - widest) or widest)
    return float(2.0 ** (math.ceil(4.0 * math.log2(found)) / 4.0))


def _cored(tail: Tail, increments: Sequence[Increment], gap: float, half_width: float) -> Bracket | None:
    """For cores that reach so far to both sides of their centres."""
    heavy = [item for item in increments if is_polynomial(item.law)]
    others = [item for item in increments if not is_polynomial(item.law)]
    cores = [Increment(item.coefficient, _core(item, half_width), item.count) for item in heavy]
    whole = tail([*others, *cores], gap)
    if whole is None:
        return None
    ends = [(item.factor * middle(item.law) + half_width) for item in heavy]
    ups = [float(exceedance(item, np.array(end))) for item, end in zip(heavy, ends, strict=True)]
    likely = math.prod((1.0 - 2.0 * up) ** item.count for up, item in zip(ups, heavy, strict=True))
    lower, upper = likely * float(whole.lower), likely * float(whole.upper)
    for place, (item, up, end) in enumerate(zip(heavy, ups, ends, strict=True)):
        left = [
            Increment(core.coefficient, core.law, core.count - (index == place))
            for index, core in enumerate(cores)
        ]
        rest = [*others, *(core for core in left if core.count)]
        above = tail(rest, gap - end) or Bracket(0.0, 1.0)
        below = tail(rest, gap - end + 2.0 * half_width) or Bracket(0.0, 1.0)
        share = item.count * likely / (1.0 - 2.0 * up) * up
        lower += share * float(above.lower)
        upper += share * (1.0 + float(below.upper))
    if sum(item.count for item in heavy) > 1:
        upper += math.fsum(2.0 * up * item.count for up, item in zip(ups, heavy, strict=True)) ** 2 / 2.0
    return Bracket(lower * (1.0 - RELATIVE_ROUNDING), min(1.0, upper * (1.0 + RELATIVE_ROUNDING)))


def _core(item: Increment, half_width: float) -> StudentT:
    law = item.law
    if not isinstance(law, StudentT):
        raise TypeError("only a Student-t has a core")
    reach = half_width / abs(item.factor)
    return msgspec.structs.replace(law, lower=law.location - reach, upper=law.location + reach)
