"""What counts of runs prove about a probability, and how many runs a proof needs.

Of n independent runs of a plan X exceed the target, each with the unknown probability q. With T(x; n, q) =
P(X <= x), which falls in q, the promise q <= 1 - omega is *certified* with confidence c iff T(x; n, 1 -
omega) <= 1 - c, and *refuted* iff 1 - T(x - 1; n, 1 - omega) <= 1 - c: each happens wrongly with probability
at most 1 - c, whatever the law. omega and c are read as the decimals that they print as, and ties are
decided exactly. Everywhere omega lies in (0, `HIGHEST_LEVEL`] and c in [0.5, 1); other numbers are refused.
"""

import math
from bisect import bisect_left
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from scipy import special

from depl.models.foundation.errors import InvalidInputError
from depl.models.risk.discrete import decimal

HIGHEST_LEVEL = 0.999999
"""No plan can be run often enough for more: this takes three million runs."""

_UNDECIDED = 1e-7
"""Relative difference of a binomial tail and its limit below which fractions decide. That the answer is exact
rests on it, and it is set by hand: scipy 1.17 was off by up to 9e-9 in 108 tails of 1e4 to 3e6 runs (and by
1e-12 at a thousand); ten times that decides, and a greater one costs time for exact sums."""

_MOST_TRIED = 5_000
"""Exceedances up to which a design is sought: set by hand. Each takes a search for its number of runs; with
more of them the samples have more than 5,000 misses, and violations nearer to the promised one are covered.
"""


class Verdict(Enum):
    """What runs say of a promise."""

    CERTIFIED = "certified"
    """It is kept, with the confidence asked for."""
    UNDECIDED = "undecided"
    """It may be kept or not: the runs are too few to tell. That is much less than certified."""
    REFUTED = "refuted"
    """It is broken, with the confidence asked for: the exact one-sided binomial test."""


class Design(NamedTuple):
    """A sample fixed before it is drawn.

    Attributes
    ----------
    runs : int
    exceedances : int
        How many may exceed the target.
    probability : float
        That it certifies, if the true violation is what was assumed.
    """

    runs: int
    exceedances: int
    probability: float


def verdict(exceedances: int, runs: int, level: float, confidence: float) -> Verdict:
    """What so many exceedances say of the promise P(l(K) <= l_max) >= ``level``."""
    _check_counts(exceedances, runs)
    violation, risk = violation_of(level), _risk(confidence)
    if _tail_is_at_most(exceedances, runs, violation, risk):
        return Verdict.CERTIFIED
    # P(X >= x) is the lower tail of the runs that do not exceed, of which there are at most n - x
    broken = _tail_is_at_most(runs - exceedances, runs, 1 - violation, risk)
    return Verdict.REFUTED if broken else Verdict.UNDECIDED


def binomial_tail(exceedances: int, runs: int, violation: Fraction) -> Fraction:
    """P(X <= exceedances) among ``runs`` runs that exceed with probability ``violation`` < 1, exactly."""
    hit, miss = violation.numerator, violation.denominator - violation.numerator
    term = miss**runs
    total = term
    for count in range(exceedances):
        term = term * (runs - count) * hit // ((count + 1) * miss)  # a whole number again
        total += term
    return Fraction(total, violation.denominator**runs)


def binomial_p_values(exceedances: int, runs: int, level: float) -> tuple[float, float]:
    """P(X <= exceedances) and P(X >= exceedances) of a promise just kept: certifying and refuting it.

    1 less each is the greatest confidence that certifies or refutes.
    """
    _check_counts(exceedances, runs)
    violation = float(violation_of(level))
    more = special.bdtrc(exceedances - 1, runs, violation) if exceedances else 1.0
    return float(special.bdtr(exceedances, runs, violation)), float(more)


def allowed_exceedances(runs: int, level: float, confidence: float) -> int | None:
    """The most exceedances among ``runs`` that certify; None where not even none does."""
    _check_counts(0, runs)
    violation, risk = violation_of(level), _risk(confidence)
    too_many = bisect_left(
        range(runs), True, key=lambda count: not _tail_is_at_most(count, runs, violation, risk)
    )
    return too_many - 1 if too_many else None


def least_runs(level: float, confidence: float, exceedances: int = 0) -> int:
    """The fewest runs that certify although so many of them exceed.

    For none this is the least n with omega**n <= 1 - c: 29, 59 and 299 for omega = 0.90, 0.95 and 0.99 at
    confidence 0.95. Fewer runs cannot certify at all.
    """
    _check_counts(exceedances, max(exceedances, 1))
    violation, risk = violation_of(level), _risk(confidence)
    # by Chernoff's bound, exp(-(m - x)**2 / (2 m)) with m = n violation, so many are enough
    enough = 8 * (exceedances + 1 - math.log(risk)) / violation
    tried = range(exceedances + 1, int(enough) + 2)
    return tried[bisect_left(tried, True, key=lambda n: _tail_is_at_most(exceedances, n, violation, risk))]


def design(level: float, confidence: float, violation: float, power: float = 0.9) -> Design | None:
    """The smallest sample that certifies with probability ``power`` a plan whose true violation is known.

    The minimum of `least_runs` nearly always fails for a plan that just keeps its promise: one exceedance
    spoils it. How many runs are worth paying for depends on how much better than promised the plan is.

    Parameters
    ----------
    violation : float
        The P(l(K) > l_max) that is hoped for; below 1 - omega, or no size is enough.
    power : float
        Inside (0, 1).

    Returns
    -------
    Design or None
        None where the violation is so near to 1 - omega that more than 5000 exceedances would be needed.

    Raises
    ------
    InvalidInputError
        If a number is outside its range.
    """
    promised = violation_of(level)
    if not 0 <= violation < promised:
        message = (
            f"must be below the promised {float(promised):g}, not {violation}: no sample is large enough"
        )
        raise InvalidInputError(message, ".violation")
    if not 0 < power < 1:
        raise InvalidInputError(f"must lie strictly between 0 and 1, not at {power}", ".power")
    for exceedances in range(_MOST_TRIED):
        runs = least_runs(level, confidence, exceedances)
        probability = float(special.bdtr(exceedances, runs, violation))
        if probability >= power:
            return Design(runs, exceedances, probability)
    return None


def _tail_is_at_most(exceedances: int, runs: int, violation: Fraction, risk: Fraction) -> bool:
    if exceedances >= runs:
        return risk >= 1
    tail = float(special.bdtr(exceedances, runs, float(violation)))
    if abs(tail - float(risk)) > _UNDECIDED * float(risk):
        return tail <= risk
    return binomial_tail(exceedances, runs, violation) <= risk


def violation_of(level: float) -> Fraction:
    """1 - omega, of the decimal that omega prints as."""
    if not 0 < level <= HIGHEST_LEVEL:
        message = f"omega must lie strictly above 0 and at most at {HIGHEST_LEVEL}, not at {level}"
        raise InvalidInputError(message, ".level")
    return 1 - decimal(level)


def _risk(confidence: float) -> Fraction:
    if not 0.5 <= confidence < 1:
        raise InvalidInputError(f"the confidence must be in [0.5, 1), not {confidence}", ".confidence")
    return 1 - decimal(confidence)


def _check_counts(exceedances: int, runs: int) -> None:
    if not 0 <= exceedances <= runs or runs < 1:
        message = f"needs at least one run and 0 <= exceedances <= runs, not {exceedances} of {runs}"
        raise InvalidInputError(message, ".exceedances")
