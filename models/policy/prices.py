"""Prices of a failure: what a success costs at least, and the price at which a promise is kept.

rho* = inf C / (P - P0), where P0 is the probability that the target is met before the first epoch, has as its
upper end the ratio of a policy (Dinkelbach's iteration), as its lower end a price that a bound proves; the
cheapest policy with F <= p lies at a price on the hull of all (F, C). `docs/policies` proves all of it.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.policy.dynamic import Table, lower, lower_by_loss, met_at_start, upper
from depl.models.policy.grid import Expectations, met
from depl.models.policy.process import Process
from depl.models.problem.laws.law import UNIT_ROUNDOFF

FAILURE_FACTOR = 1.5
"""Price of a failed run in least expected costs of a success, unless one is given. At 1 it may pay to give up
every run whose first loss makes a success cost more than that; at 1.5 no run was given up before its first
epoch on the real runs of the case `closed-loop`, whose record says what a success costs then."""

_SETTLED = 1e-9
"""Relative fall of the ratio that counts as none: any ratio of a policy is a valid upper end."""

_MOST_STEPS = 40
"""Steps of a search: set by hand. Dinkelbach's steps converge faster than linearly and number five or so,
those of the lower end halve the rest or do better, and a dozen were the most seen along a hull. Where they
end early the ends are wider, not wrong."""

CLOSE = 1e-4
"""Relative width at which the lower end is not raised further, and distance between the policy that is held
and the bound by its price at which the walk along the hull ends: set by hand, below what grids leave."""

_ALIKE = 1e-12
"""Relative amount by which a value has to fall below that of a chord to count as a new end of the hull."""


class Price(NamedTuple):
    """Of a failed run: rho, with the enclosure of rho*, if a success is paid for at all [cost]."""

    rho: float
    ratio: tuple[float, float] | None

    @property
    def decided(self) -> bool:
        """Whether rho is shown to be at least the least expected cost of a success."""
        return self.ratio is None or self.rho >= self.ratio[1]


def priced(
    process: Process,
    up: Expectations,
    down: Expectations,
    first: Table,
    given: float | None,
    close: float = CLOSE,
) -> Price:
    """The price of a failed run, from a policy that reaches the target."""
    high = least_ratio(process, up, first)
    rho = FAILURE_FACTOR * high if given is None else given
    if rho == 0:
        raise InvalidInputError(
            "a success costs nothing here, so no price of a failure follows from it; give a number",
            "failure_cost",
        )
    low = least_ratio_below(process, down, high, close)
    if rho < low:
        raise too_cheap(Price(rho, (low, high)))
    return Price(rho, (low, high))


def too_cheap(price: Price) -> InvalidInputError:
    """The refusal of a price of a failure that is not shown to be worth a success."""
    low, high = price.ratio or (math.nan, math.nan)
    sure = price.rho < low
    told = "is cheaper than" if sure else "may be cheaper than"
    then = ": not to train would be best" if sure else ", and not to train may then be best"
    return InvalidInputError(
        f"a failed run at {price.rho:.6g} {told} the least expected cost of a success, which is "
        f"{low:.6g} to {high:.6g}{then}; give at least {math.ceil(high * 1e4) / 1e4:.6g}",
        "failure_cost",
    )


def least_ratio(process: Process, up: Expectations, first: Table) -> float:
    """An upper end of rho* by Dinkelbach's iteration from a policy that reaches the target [cost]."""
    best = ratio_of(process, first)
    if math.isinf(best):
        raise NotCoveredError(
            "no policy is certified to reach the target with a probability above that of not training at "
            "all, so a success has no price; a finer grid or a higher target may help"
        )
    for _ in range(_MOST_STEPS):
        ratio = ratio_of(process, upper(process, up, best))
        if ratio >= best * (1 - _SETTLED):
            break
        best = ratio
    return best


def ratio_of(process: Process, table: Table) -> float:
    """C / (P - P0) of a policy, rounded up; infinite where P > P0 is not certified [cost]."""
    gained = 1 - table.failure - met_at_start(process, process.starts[table.start]) - 4 * UNIT_ROUNDOFF
    return table.cost / gained * (1 + 4 * UNIT_ROUNDOFF) if gained > 0 else math.inf


def least_ratio_below(process: Process, down: Expectations, ceiling: float, close: float = CLOSE) -> float:
    """A lower bound of rho*, from prices up to ``ceiling`` [cost].

    The excess is concave in lam and not negative at 0, so the zero of a chord between two prices, one on
    either side, is a price that is proved. The search ends between prices of relative width ``close``.
    """
    low, high = 0.0, ceiling
    below, above = _excess(process, down, low), _excess(process, down, high)
    if above >= 0:
        return high
    for step in range(_MOST_STEPS):
        if high - low <= close * high:
            break
        chord = low + (high - low) * below / (below - above)
        near = close > CLOSE and step == 0
        middle = high * (1 - close) if near else max(chord, (low + high) / 2)
        found = _excess(process, down, middle)
        if found >= 0:
            low, below = middle, found
        else:
            high, above = middle, found
    return low


def _excess(process: Process, down: Expectations, price: float) -> float:
    """How far a price is below rho* for sure, rounded down: where it is not negative, rho* >= price.

    It is V(price) - price (1 - P0), the least over the starts. Where a run may be given up before its first
    epoch this is 0 at best, as V <= price (1 - P0), and rounding would hide it; so V is then that of runs
    which train, and each l(0) is asked for by itself: if V >= price for all that do not meet the target, it
    is as well to give each of them up.
    """
    if not process.abandon_at_start:
        misses = ((1 - met_at_start(process, start)) * (1 + 8 * UNIT_ROUNDOFF) for start in process.starts)
        bounds = lower(process, down, price)
        return min(bound - price * missed for bound, missed in zip(bounds, misses, strict=True))
    found = []
    values = lower_by_loss(replace(process, abandon_at_start=False), down, price)
    for each, start in zip(values, process.starts, strict=True):
        reached = met(start.losses, process.limit) & process.nodes[start.node].may_stop
        found.append(float((each - price * ~reached).min()))
    return min(found)


class Walk(NamedTuple):
    """Neighbours on the hull: the policy with F <= p, and the price at which it is best, with the other one.

    There is no other one where the promise is slack, at the price that was begun with.
    """

    keeping: Table
    failing: Table | None
    price: float


def walk(solve: Callable[[float], Table], budget: float, least_price: float, careful: Table) -> Walk:
    """Walk along the lower hull of all (F, C) to the best policy with F <= p.

    ``solve`` finds the best policy at a price of a failure, ``budget`` is p, ``least_price`` rho, and
    ``careful`` has F <= p. Between a policy that keeps the promise and one that does not, the price at which
    both cost the same is solved for next.
    """
    keeping, failing = careful, solve(least_price)
    if failing.failure <= budget:
        return Walk(failing, None, least_price)
    for step in range(_MOST_STEPS):
        price = max(least_price, (keeping.cost - failing.cost) / (failing.failure - keeping.failure))
        found, held = solve(price), keeping.value(least_price)
        settled = held - (found.value(price) - (price - least_price) * budget) <= CLOSE * abs(held)
        ends = min(keeping.value(price), failing.value(price)) * (1 - _ALIKE)
        if settled or found.value(price) >= ends or step == _MOST_STEPS - 1:
            break
        if found.failure <= budget:
            keeping = found
        else:
            failing = found
    return Walk(keeping, failing, price)
