"""The least expected cost of a success, rho* = inf C / (P - P0), and the price of a failure that follows.

P0 is the probability that the target is met before the first epoch. The upper end is the ratio of a policy
(Dinkelbach's iteration), the lower end a price lam whose least value proves it: C + lam F >= V(lam) >=
lam (1 - P0) for all policies means C >= lam (P - P0). See `docs/policies`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.dynamic import Options, Table, lower, lower_by_loss, met_at_start, upper
from depl.models.policy.grid import Expectations, met
from depl.models.policy.process import Process, Start
from depl.models.problem.laws.law import UNIT_ROUNDOFF

_SETTLED = 1e-9
"""Relative fall of the ratio that counts as none: any ratio of a policy is a valid upper end."""

_MOST_STEPS = 40
"""Steps of either search: set by hand. Dinkelbach's steps converge faster than linearly and number five or
so, those of the lower end halve the rest or do better; where they end early the ends are wider, not wrong."""

CLOSE = 1e-4
"""Relative width at which the lower end is not raised further: set by hand, far below what a grid leaves."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """An enclosure of rho*.

    Attributes
    ----------
    upper : float
        C / (P - P0) of `table`, certified [cost].
    table : Table
        The policy that attains it.
    """

    upper: float
    table: Table


def least_ratio(process: Process, expectations: Expectations, first: Table, options: Options) -> Ratio:
    """Dinkelbach's iteration from a policy that reaches the target.

    Parameters
    ----------
    expectations : Expectations
        Of direction up.
    first : Table
        Any policy, such as one of least failure.

    Raises
    ------
    NotCoveredError
        If that policy is not certified to reach the target more often than without training.
    """
    best = Ratio(ratio_of(process, first), first)
    if math.isinf(best.upper):
        raise NotCoveredError(
            "no policy is certified to reach the target with a probability above that of not training at "
            "all, so a success has no price; a finer grid or a higher target may help"
        )
    for _ in range(_MOST_STEPS):
        found = upper(process, expectations, best.upper, options)
        ratio = ratio_of(process, found)
        if ratio >= best.upper * (1 - _SETTLED):
            break
        best = Ratio(ratio, found)
    return best


def ratio_of(process: Process, table: Table) -> float:
    """C / (P - P0) of a policy, rounded up; infinite where P > P0 is not certified [cost]."""
    gained = 1 - table.failure - met_at_start(process, process.starts[table.start]) - 4 * UNIT_ROUNDOFF
    return table.cost / gained * (1 + 4 * UNIT_ROUNDOFF) if gained > 0 else math.inf


def least_ratio_below(
    process: Process, expectations: Expectations, ceiling: float, options: Options, close: float = CLOSE
) -> float:
    """A lower bound of rho*, from prices up to ``ceiling``.

    The excess min over starts of V(lam) - lam (1 - P0) is concave in lam and not negative at 0, so the zero
    of a chord between two prices, one on either side, is a price that is proved.

    Parameters
    ----------
    expectations : Expectations
        Of direction down.
    close : float
        Relative width of the prices between which the search ends; they are tried first.
    """

    def excess(price: float) -> float:
        return excess_at(process, expectations, price, options)

    low, high = 0.0, ceiling
    below, above = excess(low), excess(high)
    if above >= 0:
        return high
    near = high * (1 - close)
    if close > CLOSE and excess(near) >= 0:
        return near
    for _ in range(_MOST_STEPS):
        if high - low <= close * high:
            break
        chord = low + (high - low) * below / (below - above)
        middle = max(chord, (low + high) / 2) if chord < (low + high) / 2 else chord
        found = excess(middle)
        if found >= 0:
            low, below = middle, found
        else:
            high, above = middle, found
    return low


def excess_at(process: Process, expectations: Expectations, price: float, options: Options) -> float:
    """How far a price is below rho* for sure, rounded down: where it is not negative, rho* >= price.

    It is V(price) - price (1 - P0), the least over the starts. Where a run may be given up before its first
    epoch this is 0 at best, as V <= price (1 - P0), and rounding would hide it; so V is then that of runs
    which train, and each l(0) is asked for by itself: if V >= price for all that do not meet the target, it
    is as well to give each of them up.
    """
    if not options.abandon_at_start:
        misses = ((1 - met_at_start(process, start)) * (1 + 8 * UNIT_ROUNDOFF) for start in process.starts)
        bounds = lower(process, expectations, price, options)
        return min(bound - price * missed for bound, missed in zip(bounds, misses, strict=True))
    values = lower_by_loss(process, expectations, price, replace(options, abandon_at_start=False))
    return min(
        float((found - price * ~_reached(process, start)).min())
        for found, start in zip(values, process.starts, strict=True)
    )


def _reached(process: Process, start: Start) -> NDArray[np.bool_]:
    """Whether each l(0) meets the target before the first epoch."""
    reached = met(start.losses, process.limit)
    return reached if process.nodes[start.node].may_stop else np.zeros_like(reached)
