"""The cheapest policy with a promise: min C + rho F subject to F <= p; `docs/policies` proves the bound.

Where the best policy at lam = rho keeps F <= p, it is the answer. Else the walk goes along the lower hull of
all (F, C): between a policy that keeps the promise and one that does not, the price at which both cost the
same is solved for next. It ends with neighbours on the hull, of which the one that keeps it is the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from depl.models.policy.dynamic import Table

_ALIKE = 1e-12
"""Relative amount by which a value has to fall below that of a chord to count as a new end of the hull."""

_CLOSE = 1e-4
"""Relative distance between the policy that is held and the bound by the price at which the walk ends: set by
hand, a tenth of the gap that a grid leaves."""

_MOST_STEPS = 60
"""Steps of the walk: set by hand. Each finds an end of the hull; a dozen were the most seen. Where the walk
ends early the answer keeps its promise and its bound, and its gap is wider."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Neighbours on the hull.

    Attributes
    ----------
    keeping : Table
        The policy with F <= p.
    failing : Table or None
        Its neighbour with F > p; None where the promise is slack.
    price : float
        lam at which both are best: rho where the promise is slack [cost].
    """

    keeping: Table
    failing: Table | None
    price: float


def walk(solve: Callable[[float], Table], budget: float, least_price: float, careful: Table) -> Walk:
    """Walk along the hull, to the best policy that keeps the promise.

    Parameters
    ----------
    solve : callable
        The best policy at a price of a failure.
    budget : float
        p.
    least_price : float
        rho.
    careful : Table
        A policy with F <= p.
    """
    greedy = solve(least_price)
    if greedy.failure <= budget:
        return Walk(greedy, None, least_price)
    keeping, failing = careful, greedy
    for _ in range(_MOST_STEPS):
        price = _chord(keeping, failing, least_price)
        found = solve(price)
        value = keeping.value(least_price)
        settled = value - (found.value(price) - (price - least_price) * budget) <= _CLOSE * abs(value)
        if settled or found.value(price) >= min(keeping.value(price), failing.value(price)) * (1 - _ALIKE):
            return Walk(keeping, failing, price)
        if found.failure <= budget:
            keeping = found
        else:
            failing = found
    return Walk(keeping, failing, _chord(keeping, failing, least_price))


def _chord(keeping: Table, failing: Table, least_price: float) -> float:
    """The price at which two policies cost the same."""
    return max(least_price, (keeping.cost - failing.cost) / (failing.failure - keeping.failure))
