"""A lower bound beside that of a solver or search, from two prices, which `depl check` can prove again.

Their own bound cannot be proved again without their tree. The root bound at a price lam of time and a price
mu of gain (`depl.models.exact.scenario_bounds`) is weaker, but needs nothing except the two prices. The
multiplier of the plan found is a good lam. Were all scenarios alike and epochs divisible, the best mu would
make the priced epochs cost as much as the gain that they bring: mu needed = sum psi = cost + lam T_max.
"""

import time

from depl.models.exact.assignments import count_assignments
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.scenario_bounds import best_root_bound, root_bound
from depl.models.foundation.clock import now
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.solving.methods import Limits
from depl.models.solving.result import DualBound, Termination

ALLOWANCE = 0.2
"""Seconds that the bound may take although no time is left."""

_SECONDS = 1e-7
"""Generous, for one assignment, epoch, pair of models and scenario."""

_EVALUATIONS = 60
"""So many bounds make a search for good prices, at most."""


def root_certificate(
    problem: SampledProblem, multiplier: float, cost: float, seconds: float | None = None
) -> DualBound | None:
    """The root bound at good prices, as far as there is time for it.

    Parameters
    ----------
    problem : SampledProblem
    multiplier : float
        Of the time row of a good plan [cost / time].
    cost : float
        Of that plan, with transfers [cost].
    seconds : float, optional
        Wall seconds that are left, of which `ALLOWANCE` always are. With enough of them, or without a
        limit, the prices are improved.

    Returns
    -------
    DualBound or None
        None if there is no time for it.
    """
    if cost == 0 or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    left = float("inf") if seconds is None else max(seconds, ALLOWANCE)
    size = count_assignments(problem) * problem.epochs * len(problem.instance.models) ** 2
    if size * len(problem.scenarios) * _SECONDS > left:
        return None
    paid = cost + multiplier * (problem.instance.target.maximum_time or 0.0)
    began = time.perf_counter()
    # nothing may have to be gained where only the last model is to be another one
    usual = paid / problem.needed if problem.needed > 0 else 0.0
    best = _at(problem, multiplier, usual)
    loaded = time.perf_counter()  # the first bound may have had to compile the kernels
    if loaded - began < left:
        again = _at(problem, multiplier, 0.9 * usual)
        best = max(best, again, key=lambda item: item.bound)
        now = time.perf_counter()
        if now - began + _EVALUATIONS * (now - loaded) < left:
            best = max(best, best_root_bound(problem, multiplier), key=lambda item: item.bound)
    return best


def certificate_in_time(
    problem: SampledProblem, multiplier: float, cost: float, limits: Limits, termination: Termination
) -> DualBound | None:
    """The same in the time that a solve has left when it ends so; None if the user stops that, too."""
    left = None if limits.time_limit is None else limits.started + limits.time_limit - now()
    if termination is Termination.INTERRUPTED:
        left = 0.0
    try:
        return root_certificate(problem, multiplier, cost, left)
    except (KeyboardInterrupt, OutOfTimeError):  # the plan is held, and waits for nothing
        return None


def _at(problem: SampledProblem, time_price: float, gain_price: float) -> DualBound:
    return DualBound(time_price, gain_price, root_bound(problem, time_price, gain_price))
