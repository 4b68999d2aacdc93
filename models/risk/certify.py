"""Certified probability of missing the target, and certified quantile, of any final loss.

Which evaluator answers depends on the increments alone (the page "Risk", "Who answers when"). Each returns an
interval that contains the true value, wide where none is close enough; a plan is feasible only if the *upper*
end of its violation interval is within the budget 1 - omega.
"""

import math
from fractions import Fraction

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws.log_variable import EPSILON
from depl.models.risk.closed_sums import closed_quantile, closed_violation, quantile_by
from depl.models.risk.contour import (
    chernoff_probability,
    choose_contour,
    distribution,
    labels_of,
    like,
    typical_square,
    violation,
)
from depl.models.risk.cores import EVALUATOR as BY_CORES
from depl.models.risk.cores import cored_quantile, cored_violation
from depl.models.risk.discrete import exact_quantile, exact_violation, is_discrete
from depl.models.risk.grid import grid_quantile, grid_violation
from depl.models.risk.transforms import transformable

_USELESS, _COARSE = 0.01, 1e-3

SMALLEST_BUDGET = Fraction(1, 10**14)
"""Violation budgets below this are refused: 1 - omega would be rounding noise."""


def certified_violation(loss: FinalLoss, maximum_loss: float) -> Interval:
    """Interval that contains P(l(K) > maximum_loss), constraint (3) of the paper under the law.

    Parameters
    ----------
    loss : FinalLoss
    maximum_loss : float
        l_max; an atom of the loss within 1e-9 of it counts as met.

    Raises
    ------
    InvalidInputError
        If a count is negative, or increments that are not atoms are beyond about 1e+-100.
    """
    loss = loss.reduced()
    if is_discrete(loss):
        exact = exact_violation(loss, maximum_loss)
        return exact if exact is not None else grid_violation(loss, maximum_loss)
    typical_square(loss.terms)
    closed = closed_violation(loss, maximum_loss)
    if closed is not None:
        return closed
    if _smooth(loss) and _always_met(loss, maximum_loss):
        return Interval(0.0, 0.0, "support", Fraction(0))
    found = contour_violation(loss, maximum_loss) if has_contour(loss) else None
    if found is None or found.width > _USELESS:
        found = cored_violation(loss, maximum_loss)
    if found is None:
        return grid_violation(loss, maximum_loss)
    wide = found.width > _USELESS * found.upper and found.how == BY_CORES
    return found.met_with(grid_violation(loss, maximum_loss)) if wide else found


def certified_quantile(loss: FinalLoss, budget: Fraction) -> Interval:
    """Interval that contains the (1 - budget)-quantile of l(K).

    Raises
    ------
    InvalidInputError
        If the budget is below the round-off floor, or not below 1, or as for `certified_violation`.
    """
    _check_budget(budget)
    loss = loss.reduced()
    if is_discrete(loss):
        exact = exact_quantile(loss, 1 - budget)
        return exact if exact is not None else grid_quantile(loss, 1 - budget)
    typical_square(loss.terms)
    closed = closed_quantile(loss, budget)
    if closed is not None:
        return closed
    if has_contour(loss):
        margin = certified_margin(loss, budget)
        if margin is not None:
            mean = loss.mean()
            sizes = (count * abs(term.coefficient) * term.law.mean_rounding() for term, count in loss.terms)
            doubt = 2 * EPSILON * math.fsum([abs(loss.constant), abs(mean), abs(margin.upper), *sizes])
            return Interval(mean + margin.lower - doubt, mean + margin.upper + doubt, margin.how)
    cored = cored_quantile(loss, budget)
    if cored is not None and cored.width <= _COARSE * abs(cored.upper - loss.mean()):
        return cored
    grid = grid_quantile(loss, 1 - budget)
    return grid if cored is None else cored.met_with(grid)


def certified_margin(loss: FinalLoss, budget: Fraction) -> Interval | None:
    """Interval of E G - quantile of G: by how much the quantile of the loss exceeds its mean.

    By the contour alone; None where the loss has no decaying increment or too many nodes were needed.
    """
    _check_budget(budget)
    loss = loss.reduced()
    contour = choose_contour(loss.terms, float(budget)) if has_contour(loss) else None
    if contour is None:
        return None
    labels = labels_of(loss, contour)

    def bounds(margin: float) -> tuple[float, float]:
        low, high = distribution(contour, labels, np.array([-margin]))
        return float(low[0]), float(high[0])

    # By Chernoff's bound the quantile lies below this, as a rule by three units or so.
    unit = 1 / contour.abscissa
    highest = unit * (float(labels.transform[0, 0].real) - math.log(budget))
    lower, upper = quantile_by(bounds, budget, highest, unit / 20, EPSILON)
    return Interval(lower, upper, "contour") if math.isfinite(upper - lower) else None


def contour_violation(loss: FinalLoss, maximum_loss: float) -> Interval | None:
    """P(l(K) > maximum_loss) by a contour chosen for this loss; None where the contour does not apply."""
    loss = loss.reduced()
    mean = loss.mean()
    deviation = mean - maximum_loss
    variance = loss.variance()
    levels = [0.5, 0.97]
    if deviation < 0:
        levels = [min(0.5, 0.3 * chernoff_probability(like(loss.terms), deviation))]
    lower, upper = 0.0, 1.0
    if math.isfinite(variance) and deviation > 0:  # Cantelli: far above the mean nothing is left to chance
        square = max(deviation - 4 * EPSILON * (abs(mean) + abs(maximum_loss) + abs(loss.constant)), 0.0) ** 2
        lower = square / (variance + square) * (1 - 1e-9)
    found = False
    for level in levels:
        contour = choose_contour(loss.terms, level)
        if contour is None:
            continue
        found = True
        size = abs(loss.constant) + abs(loss.constant - maximum_loss)
        low, high = violation(contour, labels_of(loss, contour), loss.constant - maximum_loss, size)
        lower, upper = max(lower, float(low[0])), min(upper, float(high[0]))
        if upper - lower < 1e-9 * level:
            break
    return Interval(lower, upper, "contour") if found else None


def has_contour(loss: FinalLoss) -> bool:
    """Whether every random increment has a transform and one of them a decaying one."""
    return _smooth(loss) and all(transformable(term) for term, _ in loss.terms) and not is_discrete(loss)


def _smooth(loss: FinalLoss) -> bool:
    return any(term.law.decays for term, _ in loss.terms)


def _always_met(loss: FinalLoss, maximum_loss: float) -> bool:
    """Whether l_max is above the support of the loss: there Chernoff's bound has no best rate."""
    greatest, scale = loss.constant, abs(loss.constant) + abs(maximum_loss)
    for term, count in loss.terms:
        highest = count * max(term.coefficient * end for end in term.law.support())
        greatest += highest
        scale += abs(highest)
    return greatest + 4 * (len(loss.terms) + 2) * EPSILON * scale < maximum_loss


def _check_budget(budget: Fraction) -> None:
    if not SMALLEST_BUDGET <= budget < 1:
        raise InvalidInputError(
            f"a violation budget 1 - omega = {float(budget):g} cannot be told from rounding; it must lie "
            f"between {float(SMALLEST_BUDGET):g} and 1"
        )
