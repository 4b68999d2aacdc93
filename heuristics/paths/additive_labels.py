"""Additive labels of the loss: what may stand for the quantile on the edges of a graph (Sec. IV-B, E5).

Each gives every random part Y of a step a value v(Y), and a path counts as feasible iff l(0) + sum of shifts
+ sum of v(Y) + surcharge <= l_max; with z = Phi^-1(omega) and p = 1 - omega these are E Y and 0 (expected),
E Y + z Var Y / (2 sigma) and z sigma / 2 (normal), ln E exp(s Y) / s and ln(1 / p) / s (entropic: feasible
paths meet the target under the law itself). Derived on the page "Model selection" (``model-selection``).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from scipy import special

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, Law
from depl.models.risk.transforms import centred_log_transform, transformable


@dataclass(frozen=True)
class AdditiveLabel:
    """One additive stand-in for the quantile of the final loss.

    Attributes
    ----------
    name : str
        Which, with its parameter.
    values : callable
        v of each of some random parts, shape (n,) [loss].
    surcharge : float
        What a path pays once [loss].
    safe : bool
        Whether a path that the label calls feasible meets the target under the law.
    """

    name: str
    values: Callable[[Sequence[Term]], FloatArray]
    surcharge: float
    safe: bool = False

    def quantile(self, loss: FinalLoss) -> float:
        """What the label takes for the omega-quantile of a final loss [loss]."""
        values = self.values([term for term, _ in loss.terms])
        parts = [count * value for (_, count), value in zip(loss.terms, values.tolist(), strict=True)]
        return math.fsum([loss.constant, self.surcharge, *parts])


def expected_label() -> AdditiveLabel:
    """The mean of the loss."""
    return AdditiveLabel("expected", _means, 0.0)


def normal_label(level: float, deviation: float) -> AdditiveLabel:
    """The tangent of the normal quantile at ``deviation`` = sigma > 0 [loss], ``level`` being omega.

    For omega < 1/2 the tangent lies below the quantile. The values are refused (NotCoveredError) for a law
    without a variance.
    """
    _require_inside(level, 1, "level")
    _require_inside(deviation, math.inf, "deviation")
    score = float(special.ndtri(level))

    def values(terms: Sequence[Term]) -> FloatArray:
        return _means(terms) + score / (2 * deviation) * _variances(terms)

    return AdditiveLabel(f"normal, sigma = {deviation:.6g}", values, score * deviation / 2)


def entropic_label(budget: Fraction | float, rate: float) -> AdditiveLabel:
    """Chernoff's bound of the quantile at the fixed real ``rate`` s > 0 [1 / loss], ``budget`` being p; E5.

    The values are refused (NotCoveredError) for a law without exponential moments.
    """
    _require_inside(float(budget), 1, "budget")
    _require_inside(rate, math.inf, "rate")

    def values(terms: Sequence[Term]) -> FloatArray:
        return _means(terms) + _centred(terms, rate) / rate

    return AdditiveLabel(f"entropic, s = {rate:.6g}", values, -math.log(budget) / rate, safe=True)


def best_rate(loss: FinalLoss, budget: Fraction | float) -> float | None:
    """The rate s at which Chernoff's bound of the quantile of ``loss`` is least (its EVaR) [1 / loss].

    Good to about six digits, which is plenty for a label; None for a loss without randomness.
    """
    _require_transforms([term for term, _ in loss.terms])
    deviation = typical_deviation(loss)
    if deviation == 0:
        return None
    share = float(budget)
    middle = math.log(math.sqrt(2 * math.log(1 / share)) / deviation)

    def bound(exponent: float) -> float:
        return entropic_label(share, math.exp(exponent)).quantile(loss)

    # Far from the saddle the bound is monotone, so the interval only has to contain the saddle.
    found = scipy.optimize.minimize_scalar(bound, bounds=(middle - 6, middle + 6), method="bounded")
    return math.exp(float(found.x))


def evar_quantile(loss: FinalLoss, level: float) -> float:
    """Entropic value at risk: the best of Chernoff's upper bounds on the ``level``-quantile of ``loss``.

    As good as `best_rate` is, with an error of its square; it never lies below the quantile.

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment in the direction that raises the loss.
    """
    rate = best_rate(loss, 1 - level)
    return loss.constant if rate is None else entropic_label(1 - level, rate).quantile(loss)


def typical_deviation(loss: FinalLoss) -> float:
    """Standard deviation of a final loss, the mean standing in for laws that have none [loss]."""
    total = 0.0
    for term, count in loss.terms:
        moments = term.law.moments()
        variance = moments.variance if math.isfinite(moments.variance) else moments.mean**2
        total += count * term.coefficient**2 * variance
    return math.sqrt(total)


def _means(terms: Sequence[Term]) -> FloatArray:
    return _by_law(terms, lambda law, c: c * law.moments().mean)


def _variances(terms: Sequence[Term]) -> FloatArray:
    def scaled(law: Law, coefficients: FloatArray) -> FloatArray:
        variance = law.moments().variance
        if not math.isfinite(variance):
            raise NotCoveredError(
                f"the normal label needs variances, and {type(law).__name__} has none here; "
                "take the entropic label"
            )
        return coefficients**2 * variance

    return _by_law(terms, scaled)


def _centred(terms: Sequence[Term], rate: float) -> FloatArray:
    """ln E exp(s (Y - E Y))."""
    _require_transforms(terms)
    return _by_law(terms, lambda law, c: centred_log_transform(law, (-rate * c).astype(complex))[0].real)


def _by_law(terms: Sequence[Term], values: Callable[[Law, FloatArray], FloatArray]) -> FloatArray:
    """A value of every term, of a law and its coefficients: each law is asked once."""
    rows: dict[Law, list[int]] = {}
    for index, term in enumerate(terms):
        rows.setdefault(term.law, []).append(index)
    coefficients, found = np.array([term.coefficient for term in terms]), np.zeros(len(terms))
    for law, places in rows.items():
        found[places] = values(law, coefficients[places])
    return found


def _require_transforms(terms: Iterable[Term]) -> None:
    for term in terms:
        if not transformable(term):
            raise NotCoveredError(
                f"{term.law.without_transform}, so there is no entropic label; "
                "truncate it, or take the expected label"
            )


def _require_inside(value: float, most: float, name: str) -> None:
    if not 0 < value < most:
        wanted = "lie between 0 and 1" if most == 1 else "be positive and finite"
        raise InvalidInputError(f"must {wanted}, not {value}", name)
