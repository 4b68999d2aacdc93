"""Lower bounds of the cost from prices of time and of gain: no search tree, no solver.

For prices lam of time and mu of gain, let c_s be the least of sum of [psi(lam) - mu gain_s] over all
sequences under an assignment, a dynamic program over (epoch, model), plus mu needed - lam T_max. A plan of it
costs at least its transfers plus the (S - p)-th smallest c_s, proved on the page of the verifier; the root
bound is the least of these over all assignments, or 0. `depl check` proves it again from the two prices.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter

import numpy as np

from depl.models.exact.assignments import (
    Assignment,
    assignments,
    everything_allowed,
    few_assignments,
)
from depl.models.exact.choices import Choices
from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.exact.sampled import CountedProblem, SampledProblem
from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline, keep_time, now
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

_Told = tuple[Assignment, Sample]


def root_bound(problem: CountedProblem, time_price: float, gain_price: float) -> float:
    """No feasible plan costs less than this [cost]; see the module's docstring.

    Where assignments are not few (`depl.models.exact.assignments.few_assignments`), all configurations are
    allowed together and transfers count 0. It is 0 if the plan without epochs is feasible.

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
    if problem.maximum_time is None and time_price > 0:
        raise InvalidInputError("must be 0 for an instance without maximum_time", "time_price")
    if problem.misses(()) <= problem.allowed:
        return 0.0
    return max(0.0, min(_bounds(problem, _sampled(problem, _told_apart(problem)), time_price, gain_price)))


def best_root_bound(problem: CountedProblem, time_price: float) -> DualBound:
    """The root bound at a good price of gain, and of time near the given one [cost / time]."""
    if problem.misses(()) <= problem.allowed or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    active = _lowest(problem, time_price)
    best = _climb(problem, active, time_price)
    for factor in (0.8, 1.25) if problem.maximum_time is not None else ():
        best = max(best, _climb(problem, active, best.time_price * factor), key=attrgetter("bound"))
    return DualBound(best.time_price, best.gain_price, root_bound(problem, best.time_price, best.gain_price))


def certificate_in_time(
    problem: SampledProblem, multiplier: float, cost: float, limits: Limits, termination: Termination
) -> DualBound | None:
    """The best root bound that is found in the time that a solve has left when it ends so; None if none is.

    The multiplier of a good plan is a good lam. Were all scenarios alike and epochs divisible, the best mu
    would make the priced epochs cost as much as the gain that they bring: mu needed = cost + lam T_max.
    """
    if cost == 0 or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    # nothing may have to be gained where only the last model is to be another one
    usual = (cost + problem.paid(multiplier)) / problem.needed if problem.needed > 0 else 0.0
    ends, found = now(), list[DualBound]()
    if termination is not Termination.INTERRUPTED:
        ends = max(ends, math.inf if limits.time_limit is None else limits.started + limits.time_limit)
    try:
        with deadline(lambda: now() - ends - ALLOWANCE + LEEWAY):
            for price in (usual, 0.9 * usual):
                found.append(DualBound(multiplier, price, root_bound(problem, multiplier, price)))
            found.append(best_root_bound(problem, multiplier))
    except (KeyboardInterrupt, OutOfTimeError):  # the plan is held, and waits for nothing
        pass
    return max(found, key=attrgetter("bound"), default=None)


def length_bounds(
    sample: Sample, costs: FloatArray, gain_prices: Iterable[float], required: float | FloatArray
) -> FloatArray:
    """What plans spend at least, transfers and lam T_max apart, by number of epochs; shape (K_max + 1,).

    The greatest of those at each of the prices of gain, each as in the root bound, for psi of each kind
    (K_max, J) and what all scenarios but some have to gain. Not lowered for rounding; infinite where no
    sequence of that length exists.
    """
    best = np.full(len(costs) + 1, -math.inf)
    for price in map(float, gain_prices):
        values = _quantile(priced_prefixes(sample, costs, price), sample.allowed)
        best = np.maximum(best, values + price * required)
    return best


def usual_time_price(problem: Choices) -> float:
    """A tenth of the median price of time at which an epoch takes full resources; 0 without T_max."""
    costs = problem.costs
    hurried = costs.price * costs.capacity**2
    ratio = np.divide(hurried, costs.work, out=np.zeros_like(hurried), where=costs.work > 0)
    known = ratio[ratio > 0]
    return 0.0 if problem.maximum_time is None or not known.size else 0.1 * float(np.median(known))


def _bounds(
    problem: CountedProblem, among: Iterable[_Told], time_price: float, gain_price: float
) -> Iterator[float]:
    """Of the plans of some assignments [cost]."""
    psi, paid = problem.psi(time_price), problem.paid(time_price)
    for assignment, sample in among:
        keep_time()
        values = priced_prefixes(sample, assignment.cheapest(psi), float(gain_price)).min(axis=0)
        least = float(_quantile(values, problem.allowed))
        yield assignment.transfers + least + gain_price * problem.needed - paid


def _usual(problem: CountedProblem, chosen: Sequence[Assignment], time_price: float) -> float:
    """Price of a unit of gain at an average epoch: mean psi over mean gain, at least something."""
    at = problem.psi(time_price)
    psi = np.concatenate([item.cheapest(at).ravel() for item in chosen])
    gain = float(np.mean([problem.gains[:, item.subsets, item.models].mean() for item in chosen]))
    known = psi[np.isfinite(psi)]
    average = float(known.mean()) if known.size else 0.0
    return average / gain if gain > 0 and average > 0 else 1.0


def _lowest(problem: CountedProblem, time_price: float) -> list[_Told]:
    """The few assignments that are likely to decide the bound."""
    everything = list(_told_apart(problem))
    if len(everything) > _ACTIVE:
        usual = _usual(problem, everything, time_price)
        bounds = list(_bounds(problem, _sampled(problem, everything), time_price, usual))
        everything = [everything[index] for index in np.argsort(bounds, kind="stable")[:_ACTIVE]]
    return list(_sampled(problem, everything))


def _climb(problem: CountedProblem, active: Sequence[_Told], time_price: float) -> DualBound:
    """Golden-section search for the best price of gain, on a logarithmic scale."""
    usual = _usual(problem, [item for item, _ in active], time_price)

    def bound(exponent: float) -> float:
        return min(_bounds(problem, active, time_price, usual * math.exp(exponent)))

    asked = golden_sections(bound, -_SPREAD, _SPREAD, _STEPS, value=float)
    exponent, value = max(asked, key=itemgetter(1))
    return DualBound(time_price, usual * math.exp(exponent), value)


def _told_apart(problem: CountedProblem) -> Iterable[Assignment]:
    """The assignments that the root bound tells apart."""
    return assignments(problem) if few_assignments(problem) else [everything_allowed(problem)]


def _sampled(problem: CountedProblem, chosen: Iterable[Assignment]) -> Iterator[_Told]:
    return ((item, problem.sample(item)) for item in chosen)


def _quantile(values: FloatArray, allowed: int) -> FloatArray:
    """The (S - p)-th smallest over scenarios, the last axis."""
    rank = values.shape[-1] - allowed - 1
    return np.asarray(np.partition(values, rank, axis=-1)[..., rank])
