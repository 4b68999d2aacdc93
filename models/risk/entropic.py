"""Exponential (Chernoff) bounds on the omega-quantile of l(K), which err on the safe side.

They are what additive real labels can give, and never decide feasibility. Erratum E5 (log-transforms do not
make quantiles additive, they only bound them) is what `evar_quantile` against a certified quantile shows.
"""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss
from depl.models.risk.lower_bound.tilted import tilted_loss

_DOUBLINGS = 40
"""Doublings of a rate before it counts as infinite: up to 2**40 = 1e12 over the spread of the loss. The
greatest loss is then the bound, which is safe."""

_HALVINGS = 300
"""Halvings of a rate before a root is given up: down to 2**-300 = 5e-91 times the typical one, far below what
doubles tell from 0 in log E exp(s L); one suffices if the typical rate is near."""


def evar_quantile(loss: FinalLoss, level: float) -> float:
    """Entropic value at risk: the best exponential (Chernoff) upper bound on the omega-quantile of l(K).

    inf over s > 0 of (log E exp(s l(K)) - log p) / s with p = 1 - omega; at the minimiser
    s Lambda'(s) - Lambda(s) = -log p, and the left side increases in s.

    Returns
    -------
    float
        At least the quantile [loss].

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment in the direction that raises the loss.
    """
    excess = -math.log1p(-checked_level(level))

    def deviation(rate: float) -> float:
        here = tilted_loss(loss, rate)
        return rate * here.mean - here.log_transform - excess

    rate = positive_root(deviation, typical_rate(loss))
    return greatest_loss(loss) if rate is None else chernoff_quantile(loss, level, rate)


def chernoff_quantile(loss: FinalLoss, level: float, rate: float) -> float:
    """Upper bound (log E exp(s l(K)) - log p) / s on the omega-quantile, for one fixed real s = ``rate`` > 0.

    This is what additive real labels give: linear in the terms, never below the quantile.
    """
    return (tilted_loss(loss, rate).log_transform - math.log1p(-checked_level(level))) / rate


def checked_level(level: float) -> float:
    """The level itself.

    Raises
    ------
    InvalidInputError
        If it does not lie strictly between 0 and 1.
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"the quantile level must lie strictly between 0 and 1, not at {level}")
    return level


def positive_root(increasing: Callable[[float], float], start: float) -> float | None:
    """The positive root of an increasing function that is negative near 0; None if it stays negative."""
    low = high = start
    for _ in range(_DOUBLINGS):
        if increasing(high) >= 0:
            break
        low, high = high, 2 * high
    else:
        return None
    for _ in range(_HALVINGS):
        if increasing(low) <= 0:
            break
        low /= 2
    return float(brentq(increasing, low, high, xtol=1e-300, rtol=1e-14))


def typical_rate(loss: FinalLoss) -> float:
    """A rate of the order of the reciprocal spread of the loss."""
    variance = loss.variance()
    if math.isfinite(variance):
        return 1 / math.sqrt(variance) if variance > 0 else 1.0
    return 1 / abs(loss.mean() - loss.constant)


def greatest_loss(loss: FinalLoss) -> float:
    """Essential supremum of the loss."""
    ends = [(count, [term.coefficient * end for end in term.law.support()]) for term, count in loss.terms]
    return math.fsum([loss.constant, *(count * max(pair) for count, pair in ends)])
