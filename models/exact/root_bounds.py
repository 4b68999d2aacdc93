"""Lower bounds of the cost from prices of time and of gain: no search tree, no solver.

For prices lam of time and mu of gain, let c_s be the least of sum of [psi(lam) - mu gain_s] over all
sequences under an assignment, a dynamic program over (epoch, model), plus mu needed - lam T_max. A plan of it
costs at least its transfers plus the (S - p)-th smallest c_s, proved on the page of the verifier; the root
bound is the least of these over all assignments, or 0. `depl check` proves it again from the two prices.
"""

import math
import time
from collections.abc import Iterable, Sequence
from operator import itemgetter

import numpy as np

from depl.models.exact.assignments import (
    LARGEST_ASSIGNMENTS,
    Assignment,
    assignments,
    count_assignments,
    everything_allowed,
    kind_gains,
    make_sample,
)
from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import CountedProblem, SampledProblem
from depl.models.foundation.deadline import OutOfTimeError, now
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.search import golden_sections
from depl.models.problem.laws import FloatArray
from depl.models.solving.limits import Limits
from depl.models.solving.result import DualBound, Termination

_ACTIVE = 8
"""Assignments on which prices are tried: set by hand. The bound at the chosen prices is over all of them, so
any number is sound; more find better prices in more time."""

_SPREAD = 4.0
"""Prices are sought within exp(4) = 55 times either side of the usual one: set by hand. Beyond, the bound is
only weaker."""

_STEPS = 14
"""Steps of golden section: they leave 8 times 0.618**14 = 0.01 of the logarithm of the price, near whose best
the bound is flat. Each costs one dynamic program for an assignment."""

ALLOWANCE = 0.2
"""Seconds that the bound may take although no time is left."""

_SECONDS = 1e-7
"""Generous, for one assignment, epoch, pair of models and scenario."""

_EVALUATIONS = 60
"""So many bounds make a search for good prices, at most."""


def root_bound(problem: CountedProblem, time_price: float, gain_price: float) -> float:
    """No feasible plan costs less than this [cost]; see the module's docstring.

    With more than `LARGEST_ASSIGNMENTS` assignments that K_max epochs can use, all configurations are allowed
    together and transfers count 0. It is 0 if the plan without epochs is feasible.

    Parameters
    ----------
    time_price : float
        lam, price of one unit of total time [cost / time].
    gain_price : float
        mu, price of one unit of gain [cost / loss].

    Raises
    ------
    InvalidInputError
        If a price is negative or not finite, or time has a price without T_max.
    """
    for name, value in (("time_price", time_price), ("gain_price", gain_price)):
        if not 0 <= value < math.inf:
            raise InvalidInputError(f"must be a finite nonnegative number, not {value}", name)
    prices = Prices.of(problem)
    if prices.maximum_time is None and time_price > 0:
        raise InvalidInputError("must be 0 for an instance without maximum_time", "time_price")
    if problem.misses(()) <= problem.allowed:
        return 0.0
    at = _Priced(problem, prices, time_price)
    return max(0.0, min(at.bound(item, _sample(problem, item), gain_price) for item in _told_apart(problem)))


def best_root_bound(problem: CountedProblem, time_price: float) -> DualBound:
    """The root bound at a good price of gain, and of time near the given one [cost / time]."""
    if problem.misses(()) <= problem.allowed or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    prices = Prices.of(problem)
    active = _lowest(_Priced(problem, prices, time_price), list(_told_apart(problem)))
    best = _climb(_Priced(problem, prices, time_price), active)
    for factor in (0.8, 1.25) if prices.maximum_time is not None else ():
        moved = _climb(_Priced(problem, prices, best.time_price * factor), active)
        best = max(best, moved, key=lambda item: item.bound)
    return DualBound(best.time_price, best.gain_price, root_bound(problem, best.time_price, best.gain_price))


def root_certificate(
    problem: SampledProblem, multiplier: float, cost: float, seconds: float | None = None
) -> DualBound | None:
    """The root bound at good prices, as far as there is time for it; None if there is none.

    The multiplier of a good plan is a good lam. Were all scenarios alike and epochs divisible, the best mu
    would make the priced epochs cost as much as the gain that they bring: mu needed = cost + lam T_max.

    Parameters
    ----------
    multiplier : float
        Of the time row of a good plan [cost / time].
    cost : float
        Of that plan, with transfers [cost].
    seconds : float, optional
        Wall seconds that are left, of which `ALLOWANCE` always are. With enough of them, or without a
        limit, the prices are improved.
    """
    if cost == 0 or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    left = math.inf if seconds is None else max(seconds, ALLOWANCE)
    size = count_assignments(problem) * problem.epochs * len(problem.instance.models) ** 2
    if size * len(problem.scenarios) * _SECONDS > left:
        return None
    paid = cost + multiplier * (problem.instance.target.maximum_time or 0.0)
    # nothing may have to be gained where only the last model is to be another one
    usual = paid / problem.needed if problem.needed > 0 else 0.0

    def at(price: float) -> DualBound:
        return DualBound(multiplier, price, root_bound(problem, multiplier, price))

    began = time.perf_counter()
    found = [at(usual)]
    loaded = time.perf_counter()  # the first bound may have had to compile the kernels
    if loaded - began < left:
        found.append(at(0.9 * usual))
        ended = time.perf_counter()
        if ended - began + _EVALUATIONS * (ended - loaded) < left:
            found.append(best_root_bound(problem, multiplier))
    return max(found, key=lambda item: item.bound)


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


def length_bounds(
    sample: Sample, costs: FloatArray, gain_prices: Iterable[float], required: float | FloatArray
) -> FloatArray:
    """What plans spend at least, transfers and lam T_max apart, by number of epochs; shape (K_max + 1,).

    The greatest of those at each of the prices of gain, each as in the root bound. Not lowered for rounding;
    infinite where no sequence of that length exists.

    Parameters
    ----------
    costs : float array (K_max, J)
        psi of each kind [cost].
    required : float or float array (K_max + 1,)
        What all scenarios but some have to gain [loss].
    """
    best = np.full(len(costs) + 1, -math.inf)
    for price in map(float, gain_prices):
        values = _quantile(priced_prefixes(sample, costs, price), sample.allowed)
        best = np.maximum(best, values + price * required)
    return best


def usual_time_price(prices: Prices) -> float:
    """A tenth of the median price of time at which an epoch takes full resources; 0 without T_max."""
    hurried = prices.costs.price * prices.costs.capacity**2
    ratio = np.divide(hurried, prices.costs.work, out=np.zeros_like(hurried), where=prices.costs.work > 0)
    known = ratio[ratio > 0]
    return 0.0 if prices.maximum_time is None or not known.size else 0.1 * float(np.median(known))


class _Priced:
    """Bounds at one price of time."""

    def __init__(self, problem: CountedProblem, prices: Prices, time_price: float) -> None:
        self.problem, self.time_price, self._psi = problem, time_price, prices.at(time_price)
        self._paid = time_price * prices.maximum_time if prices.maximum_time is not None else 0.0

    def bound(self, assignment: Assignment, sample: Sample, gain_price: float) -> float:
        """Of the plans of an assignment [cost]."""
        values = priced_prefixes(sample, assignment.cheapest(self._psi), float(gain_price)).min(axis=0)
        least = float(_quantile(values, self.problem.allowed))
        return assignment.transfers + least + gain_price * self.problem.needed - self._paid

    def usual(self, chosen: Sequence[Assignment]) -> float:
        """Price of a unit of gain at an average epoch: mean psi over mean gain, at least something."""
        psi = np.concatenate([item.cheapest(self._psi).ravel() for item in chosen])
        gain = float(np.mean([kind_gains(self.problem, item).mean() for item in chosen]))
        known = psi[np.isfinite(psi)]
        average = float(known.mean()) if known.size else 0.0
        return average / gain if gain > 0 and average > 0 else 1.0


def _lowest(at: _Priced, everything: list[Assignment]) -> list[tuple[Assignment, Sample]]:
    """The few assignments that are likely to decide the bound."""
    if len(everything) > _ACTIVE:
        usual = at.usual(everything)
        bounds = [at.bound(item, _sample(at.problem, item), usual) for item in everything]
        everything = [everything[index] for index in np.argsort(bounds, kind="stable")[:_ACTIVE]]
    return [(item, _sample(at.problem, item)) for item in everything]


def _climb(at: _Priced, active: Sequence[tuple[Assignment, Sample]]) -> DualBound:
    """Golden-section search for the best price of gain, on a logarithmic scale."""
    usual = at.usual([item for item, _ in active])

    def bound(exponent: float) -> float:
        return min(at.bound(*pair, usual * math.exp(exponent)) for pair in active)

    asked = golden_sections(bound, -_SPREAD, _SPREAD, _STEPS, value=float)
    exponent, value = max(asked, key=itemgetter(1))
    return DualBound(at.time_price, usual * math.exp(exponent), value)


def _told_apart(problem: CountedProblem) -> Iterable[Assignment]:
    """The assignments that the root bound tells apart."""
    if count_assignments(problem) > LARGEST_ASSIGNMENTS:
        return [everything_allowed(problem)]
    return assignments(problem)


def _sample(problem: CountedProblem, assignment: Assignment) -> Sample:
    return make_sample(problem, assignment, np.arange(problem.size))


def _quantile(values: FloatArray, allowed: int) -> FloatArray:
    """The (S - p)-th smallest over scenarios, the last axis."""
    rank = values.shape[-1] - allowed - 1
    return np.asarray(np.partition(values, rank, axis=-1)[..., rank])
