r"""The least weight against one of the budgets, the other one given.

The budget of the loss bounds the label of the problem, which is the *expected* loss unless another label was
chosen (`depl.heuristics.paths.additive_problem`): a path within it promises nothing about the quantile of the
loss, and omega is not used. The weight is a reading of the cost, with ``root`` a sum of square roots.

OPT(T, L) falls with either budget, in steps. `front` answers at given budgets; a path that keeps a tighter
budget as well answers there too. `whole_front` finds every step: the lightest path within a budget, then the
lightest that is better by more than the tolerance, and so on. A front may have exponentially many steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.bounds import least_loss
from depl.heuristics.paths.readings import Against
from depl.heuristics.paths.setting import MOST_LABELS, PathOutcome, least_weight, least_weight_so_far
from depl.heuristics.paths.whole_numbers import in_whole_numbers
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

_UNFINISHED = (Termination.TIME_LIMIT, Termination.INTERRUPTED)


@dataclass(frozen=True)
class FrontPoint:
    """The answer at one budget [loss or time]."""

    budget: float
    outcome: PathOutcome


def front(
    problem: AdditiveProblem,
    against: Against,
    budgets: Sequence[float],
    limits: Limits | None = None,
    *,
    most_labels: int = MOST_LABELS,
) -> tuple[FrontPoint, ...]:
    """The least weight at each of the budgets, the loosest first.

    Parameters
    ----------
    budgets : sequence of float
        Bounds on the label [loss], by default on the expected loss, or values of T_max [time].
    limits : Limits, optional
        ``gap`` for each budget, ``time_limit`` for all: those not come to are left out.
    most_labels : int
        Labels for each budget.
    """
    limits = limits or Limits()
    points: list[FrontPoint] = []
    for budget in sorted(set(budgets), reverse=True):
        there = _at(problem, against, budget)
        outcome = _inherited(points[-1].outcome, there) if points else None
        if outcome is None:
            outcome = least_weight_so_far(there, limits, most_labels=most_labels)
            if points and points[-1].outcome.lower_bound > outcome.lower_bound:
                outcome = replace(outcome, lower_bound=min(points[-1].outcome.lower_bound, outcome.weight))
        points.append(FrontPoint(budget, outcome))
        if outcome.termination in _UNFINISHED:
            break
    return tuple(points)


def whole_front(
    problem: AdditiveProblem,
    against: Against,
    most_points: int,
    limits: Limits | None = None,
    *,
    most_labels: int = MOST_LABELS,
) -> tuple[FrontPoint, ...]:
    """Every step of the front within the problem's budgets, the loosest first.

    The budget of a point is what its path needs; the last point has no path if the front ends there, and the
    budget at which there is none.

    Parameters
    ----------
    most_points : int
        Steps after which to stop.
    limits, most_labels
        As for `front`.
    """
    limits = limits or Limits()
    points: list[FrontPoint] = []
    budget = problem.maximum_loss if against is Against.LOSS else problem.maximum_time
    while len(points) < most_points:
        outcome = least_weight_so_far(_at(problem, against, budget), limits, most_labels=most_labels)
        path = outcome.path
        if path is None:
            points.append(FrontPoint(budget, outcome))
            break
        needed = path.loss if against is Against.LOSS else path.time
        if points and path.weight <= points[-1].outcome.weight:
            points.pop()  # as light, and better
        points.append(FrontPoint(needed, outcome))
        if outcome.termination in _UNFINISHED or (against is Against.TIME and not needed > 0):
            break
        budget = needed - 3 * ATOM_TOLERANCE if against is Against.LOSS else needed * (1 - 3 * TIME_TOLERANCE)
    return tuple(points)


def spread_budgets(
    problem: AdditiveProblem, against: Against, count: int, limits: Limits | None = None
) -> tuple[float, ...]:
    """Evenly spaced budgets over what can matter, both ends included.

    Against the loss: from the lowest loss that any number of epochs reaches, each of which keeps T_max by
    itself, to l(0): within T_max the lowest of them may be infeasible.
    Against the time: from the least time to the target to the time that the lightest path takes if it may
    take any. A single budget if both are the same, none if the target cannot be met.

    Parameters
    ----------
    count : int
        At least 2.
    limits : Limits, optional
        ``time_limit`` for the two times.

    Raises
    ------
    InvalidInputError
        If ``count`` is less than 2, or a time limit leaves an end unknown.
    """
    if count < 2:
        raise InvalidInputError(f"must be at least 2, not {count}", "points")
    if not problem.epochs:
        return ()
    if against is Against.LOSS:
        whole = in_whole_numbers(problem)
        lowest = problem.initial_loss + (least_loss(whole)[0] + whole.epochs) / whole.scale
        return _spread(lowest, max(problem.initial_loss, lowest), count)
    limits = replace(limits or Limits(), progress=None)
    times = np.where(problem.allowed.any(axis=1), problem.times, 0.0)
    endless = problem.within(math.inf, problem.maximum_loss)
    quickest = least_weight(replace(endless, weights=times), limits)
    lightest = least_weight(endless, limits)
    if quickest.termination is Termination.INFEASIBLE:
        return ()
    if quickest.path is None or lightest.path is None:
        raise InvalidInputError("no path was found in time; give the budgets", "between")
    return _spread(quickest.path.weight, max(lightest.path.time, quickest.path.weight), count)


def _spread(first: float, last: float, count: int) -> tuple[float, ...]:
    return tuple(float(value) for value in np.unique(np.linspace(first, last, count)))


def _at(problem: AdditiveProblem, against: Against, budget: float) -> AdditiveProblem:
    if against is Against.LOSS:
        return problem.within(problem.maximum_time, budget)
    return problem.within(budget, problem.maximum_loss)


def _inherited(looser: PathOutcome, problem: AdditiveProblem) -> PathOutcome | None:
    """The answer at a looser budget where it is one here, too."""
    if looser.termination is Termination.INFEASIBLE:
        return looser
    if looser.path is not None and problem.feasible(looser.path.models):
        return looser
    return None
