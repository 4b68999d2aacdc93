"""Certified probabilities and quantiles of any sum of independent random numbers.

    S = constant + sum of coefficient * (X_1 + ... + X_count)      over the summands, all X independent

The evaluators are those of a final loss (`depl.models.risk.certify`), which asks for P(S > x) and where a
heavy right tail may lower the loss and not raise it. Here a sum is looked at from both sides: where there are
no atoms P(S <= x) is P(-S > -x), and the side with a contour answers. Atoms are counted exactly, without the
leniency that a plan has.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec
import scipy

from depl.models.foundation.documents import decimal
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, Law
from depl.models.problem.laws.registry import require_sound
from depl.models.risk.certify import SMALLEST_BUDGET, certified_quantile, certified_violation, has_contour
from depl.models.risk.contour import typical_square
from depl.models.risk.discrete import exact_quantile, exact_violation, is_discrete
from depl.models.risk.far_tails import beyond, jump_bound
from depl.models.risk.grid import grid_quantile, grid_violation

_SHARP, _FAIR = 1.001, 2.0
"""Ratios of the ends of an interval up to which nothing sharper is sought, for one law and for a sum: set by
hand. Far out in a tail they are in the thousands or infinite."""

_FARTHEST, _STRIDE, _REFINED = math.log(1e6), math.log(1.4), 20
"""Logarithm of the farthest distance from the mean, in spreads, at which a bound that rises is sought, of the
ratio of those that are tried, and trials around the best: set by hand. A bound holds for all values beyond,
so any number is sound; farther out the one-jump bound takes over."""


@dataclass(frozen=True)
class Summand:
    """``coefficient`` times the sum of ``count`` independent random numbers of one law.

    Attributes
    ----------
    law : Law
        Any law of `depl.models.problem.laws`, or one of your own (`depl.register_law`).
    coefficient : float
        Any finite number.
    count : int
        At least 0.
    """

    law: Law
    coefficient: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise InvalidInputError(f"must be a Law, not {type(self.law).__name__}", "law")
        if not self.law.declared or self.law.forbids:
            raise NotCoveredError(f"a law of type {self.law.tag()} has no probabilities; give one that has")
        require_sound(self.law, "law")
        _finite(self.coefficient, "coefficient")
        count: object = self.count
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise InvalidInputError(f"must be a whole number of at least 0, not {count!r}", "count")


Given = Law | Summand | tuple[Law, float] | tuple[Law, float, int]
"""A summand, or its law with a coefficient and a count after it."""


def probability(
    terms: Iterable[Given], value: float, *, constant: float = 0.0, above: bool = False
) -> Interval:
    """An interval that is certain to contain P(S <= value).

    Parameters
    ----------
    terms : iterable
        Laws, `Summand`, or tuples ``(law, coefficient)`` and ``(law, coefficient, count)``.
    value : float
        Finite.
    constant : float
        What is added to the sum.
    above : bool
        Whether P(S > value) is asked for: small probabilities of an upper tail keep their digits.

    Returns
    -------
    Interval
        With ``exact`` filled if all laws take finitely many values and their sums stay few; all numbers are
        then read as the decimals that they print as.

    Raises
    ------
    InvalidInputError
        If a summand, the value or the constant is no such thing, or numbers are beyond about 1e+-100.
    NotCoveredError
        If a law has no probabilities.
    """
    total = _sum(terms, constant)
    value = _finite(value, "value")
    if is_discrete(total):
        found = _exceeding_atoms(total, value)
        return found if above else found.complement()
    return _exceeding(total, value) if above else _exceeding(_turned(total), -value)


def quantile(terms: Iterable[Given], level: float | Fraction, *, constant: float = 0.0) -> Interval:
    """An interval that is certain to contain the least v with P(S <= v) >= level.

    Parameters
    ----------
    terms, constant
        As for `probability`.
    level : float or Fraction
        Between 1e-14 and 1 - 1e-14; a float is read as the decimal that it prints as.

    Returns
    -------
    Interval
        An end is infinite where no evaluator can tell.

    Raises
    ------
    InvalidInputError
        As for `probability`, or if the level is out of range.
    NotCoveredError
        If a law has no probabilities.
    """
    share = _level(level)
    total = _sum(terms, constant)
    if is_discrete(total):
        return exact_quantile(total, share, lenient=False) or grid_quantile(total, share)
    turned = _turned(total)
    sides = [has_contour(total), has_contour(turned)]
    # a sum with a contour has a density wherever it is between its ends, so that its quantiles are unique
    lower = certified_quantile(turned, share).negated() if sides[1] else None
    upper = certified_quantile(total, 1 - share) if sides[0] or not sides[1] else None
    if lower is None or upper is None:
        return lower or upper or Interval(-math.inf, math.inf, "none")
    return lower.met_with(upper)


def _sum(terms: Iterable[Given], constant: float) -> FinalLoss:
    """The sum as a loss; constants among the laws become laws of one value, so that nothing is rounded."""
    counts: dict[Term, int] = {}
    for place, given in enumerate(terms):
        summand = _summand(given, f"terms[{place}]")
        fixed = summand.law.constant
        law = summand.law if fixed is None else Empirical(values=(fixed,))
        term = Term(float(summand.coefficient), law)
        counts[term] = counts.get(term, 0) + summand.count
    return FinalLoss(_finite(constant, "constant"), tuple(counts.items())).reduced()


def _summand(given: Any, name: str) -> Summand:
    try:
        if isinstance(given, Summand):
            return given
        if isinstance(given, Law):
            return Summand(given)
        if isinstance(given, tuple) and 1 <= len(given) <= 3:
            return Summand(*given)
    except NotCoveredError:
        raise
    except InvalidInputError as error:
        raise InvalidInputError(str(error), name) from error
    raise InvalidInputError("must be a law, with a coefficient and a count if need be", name)


def _exceeding(total: FinalLoss, value: float) -> Interval:
    """P(S > value) of a sum without atoms; its upper end hardly rises with the value, however far out."""
    found = _by_contours(total, value)
    if len(total.terms) == 1 and total.terms[0][1] == 1 and found.upper > _SHARP * found.lower:
        gap = Fraction(value) - Fraction(total.constant)
        return found.met_with(Interval(*beyond(total.terms[0][0], gap), found.how))
    if found.upper <= _FAIR * found.lower:
        return found
    upper, (best, least) = min(found.upper, jump_bound(total, value)), _least_bound(total)
    return msgspec.structs.replace(found, upper=max(found.lower, min(upper, least if value >= best else 1.0)))


@functools.lru_cache(maxsize=16)
def _least_bound(total: FinalLoss) -> tuple[float, float]:
    """From where on in the upper tail the bound by contours or a grid begins to rise, and the bound there."""
    mean, spread = total.mean(), math.sqrt(typical_square(total.terms))

    def bound(away: float) -> float:
        return _by_contours(total, mean + spread * math.exp(away)).upper

    away, least = 0.0, bound(0.0)
    while away < _FARTHEST and (further := bound(away + _STRIDE)) <= least:
        away, least = away + _STRIDE, further
    around = away - _STRIDE, away + _STRIDE
    limit = {"maxiter": _REFINED}
    found = scipy.optimize.minimize_scalar(bound, bounds=around, method="bounded", options=limit)
    away, least = (float(found.x), float(found.fun)) if found.fun < least else (away, least)
    return mean + spread * math.exp(away), least


def _by_contours(total: FinalLoss, value: float) -> Interval:
    """P(S > value) from the sides that have a contour, or else from this one."""
    turned = _turned(total)
    lower = certified_violation(total, value) if has_contour(total) or not has_contour(turned) else None
    upper = certified_violation(turned, -value) if has_contour(turned) else None
    if lower is None or upper is None:
        return lower or (upper or Interval(0.0, 1.0, "none")).complement()
    return lower.met_with(upper.complement())


def _exceeding_atoms(total: FinalLoss, value: float) -> Interval:
    """P(S > value) of a sum of atoms; on the grid, which is lenient, the value is moved out of the way."""
    exact = exact_violation(total, value, lenient=False)
    if exact is not None:
        return exact
    earlier = math.nextafter(value - 2 * ATOM_TOLERANCE, -math.inf)
    most, least = grid_violation(total, value), grid_violation(total, earlier)
    return Interval(most.lower, least.upper, most.how)


def _turned(total: FinalLoss) -> FinalLoss:
    terms = tuple((replace(term, coefficient=-term.coefficient), count) for term, count in total.terms)
    return FinalLoss(-total.constant, terms)


def _level(level: float | Fraction) -> Fraction:
    try:
        share = decimal(level)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"must be a number, not {level!r}", "level") from error
    if not SMALLEST_BUDGET <= share <= 1 - SMALLEST_BUDGET:
        least = float(SMALLEST_BUDGET)
        raise InvalidInputError(
            f"must lie between {least:g} and 1 - {least:g}, not at {float(share)}", "level"
        )
    return share


def _finite(value: object, name: str) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInputError(f"must be a finite number, not {value!r}", name)
    return float(value)
