"""Lower bounds of the cost under scenarios from prices of time and of gain: no search tree, no solver.

For a price lam >= 0 of time and mu >= 0 of gain, and an assignment A of data with transfer costs t(A), let

    c_s(A) = min of [sum of psi(lam) - mu gain_s] over all sequences of 0 to K_max epochs under A
             + mu needed - lam T_max,

where gain_s counts the losses of switches, and the minimum is a dynamic program over (epoch, model). A
feasible plan of A costs at least t(A) + [sum of psi(lam) - lam T_max] by weak duality, and in every scenario
that it meets mu (needed - gain_s) <= 0; so it costs at least t(A) + c_s(A) in at least S - p scenarios, hence
at least t(A) plus the (S - p)-th smallest c_s(A). The root bound is the least of these over all A, or 0 if
that is more or if the plan without epochs is feasible. With more than `LARGEST_ASSIGNMENTS` assignments that
K_max epochs can use, all configurations are allowed together and transfers count 0.
"""

import math
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
from depl.models.exact.sampled import CountedProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.golden import golden_sections
from depl.models.problem.laws import FloatArray
from depl.models.solving.result import DualBound

_ACTIVE = 8
"""Assignments on which prices are tried: set by hand. The bound at the chosen prices is over all of them, so
any number is sound; more find better prices in more time."""

_SPREAD = 4.0
"""Prices are sought within exp(4) = 55 times either side of the usual one: set by hand. Beyond, the bound is
only weaker."""

_STEPS = 14
"""Steps of golden section: they leave 8 times 0.618**14 = 0.01 of the logarithm of the price, near whose best
the bound is flat. Each costs one dynamic program for an assignment."""


def root_bound(problem: CountedProblem, time_price: float, gain_price: float) -> float:
    """No feasible plan costs less than this [cost]; see the module's docstring.

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
    chosen = ((item, _sample(problem, item)) for item in root_assignments(problem))
    return max(0.0, _least(problem, prices, chosen, time_price, gain_price)[0])


def best_root_bound(problem: CountedProblem, time_price: float | None = None) -> DualBound:
    """The root bound at good prices.

    Parameters
    ----------
    time_price : float, optional
        Where to begin, for instance the multiplier of a good plan [cost / time].
    """
    if problem.misses(()) <= problem.allowed or not problem.epochs:
        return DualBound(0.0, 0.0, 0.0)
    prices = Prices.of(problem)
    everything = list(root_assignments(problem))
    starts = [time_price] if time_price is not None else _time_prices(prices)
    middle = starts[len(starts) // 2]
    active = [(item, _sample(problem, item)) for item in _lowest(problem, prices, everything, middle)]
    best = DualBound(0.0, 0.0, 0.0)
    for start in starts:
        best = max(best, _climb(problem, prices, active, start), key=lambda item: item.bound)
    if prices.maximum_time is not None:
        for factor in (0.8, 1.25):
            moved = _climb(problem, prices, active, best.time_price * factor)
            best = max(best, moved, key=lambda item: item.bound)
    return DualBound(best.time_price, best.gain_price, root_bound(problem, best.time_price, best.gain_price))


def length_bounds(
    problem: CountedProblem,
    prices: Prices,
    assignment: Assignment,
    time_price: float,
    gain_prices: Iterable[float],
) -> FloatArray:
    """Lower bounds of the cost of an assignment's plans by number of epochs, shape (K_max + 1,) [cost].

    The greatest of those at each of the prices of gain, each as in the root bound. Not lowered for rounding;
    infinite where no sequence of that length exists.
    """
    paid = time_price * prices.maximum_time if prices.maximum_time is not None else 0.0
    costs = assignment.cheapest(prices.at(time_price))
    sample = _sample(problem, assignment)
    best = np.full(len(costs) + 1, -math.inf)
    for price in gain_prices:
        values = priced_prefixes(sample, costs, float(price))
        best = np.maximum(best, _quantile(problem, values) + price * problem.needed)
    return best + (assignment.transfers - paid)


def usual_time_price(prices: Prices) -> float:
    """A tenth of the median price of time at which an epoch takes full resources; 0 without T_max."""
    hurried = prices.costs.price * prices.costs.capacity**2
    ratio = np.divide(hurried, prices.costs.work, out=np.zeros_like(hurried), where=prices.costs.work > 0)
    known = ratio[ratio > 0]
    return 0.0 if prices.maximum_time is None or not known.size else 0.1 * float(np.median(known))


def root_assignments(problem: CountedProblem) -> Iterable[Assignment]:
    """The assignments that the root bound tells apart."""
    if count_assignments(problem) > LARGEST_ASSIGNMENTS:
        return [everything_allowed(problem)]
    return assignments(problem)


def _least(
    problem: CountedProblem,
    prices: Prices,
    chosen: Iterable[tuple[Assignment, Sample]],
    time_price: float,
    gain_price: float,
) -> tuple[float, list[float]]:
    """The least bound over the assignments given, and the bound of each."""
    paid = time_price * prices.maximum_time if prices.maximum_time is not None else 0.0
    psi = prices.at(time_price)
    bounds = []
    for item, sample in chosen:
        values = priced_prefixes(sample, item.cheapest(psi), float(gain_price)).min(axis=0)
        bounds.append(item.transfers + float(_quantile(problem, values)) + gain_price * problem.needed - paid)
    return min(bounds), bounds


def _sample(problem: CountedProblem, assignment: Assignment) -> Sample:
    return make_sample(problem, assignment, np.arange(problem.size))


def _quantile(problem: CountedProblem, values: FloatArray) -> FloatArray:
    """The (S - p)-th smallest over scenarios, the last axis."""
    rank = problem.size - problem.allowed - 1
    return np.asarray(np.partition(values, rank, axis=-1)[..., rank])


def _time_prices(prices: Prices) -> list[float]:
    """Prices between those at which all epochs hurry hardly and as much as they can; 0 without T_max."""
    usual = usual_time_price(prices)
    return [usual * factor for factor in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)] if usual else [0.0]


def _lowest(
    problem: CountedProblem, prices: Prices, everything: Sequence[Assignment], time_price: float
) -> list[Assignment]:
    """The few assignments that are likely to decide the bound."""
    if len(everything) <= _ACTIVE:
        return list(everything)
    usual = _usual(problem, prices, everything, time_price)
    chosen = ((item, _sample(problem, item)) for item in everything)
    bounds = _least(problem, prices, chosen, time_price, usual)[1]
    return [everything[index] for index in np.argsort(bounds, kind="stable")[:_ACTIVE]]


def _usual(problem: CountedProblem, prices: Prices, chosen: Sequence[Assignment], time_price: float) -> float:
    """Price of a unit of gain at an average epoch: mean psi over mean gain, at least something."""
    psi = np.concatenate([item.cheapest(prices.at(time_price)).ravel() for item in chosen])
    gain = float(np.mean([kind_gains(problem, item).mean() for item in chosen]))
    known = psi[np.isfinite(psi)]
    average = float(known.mean()) if known.size else 0.0
    return average / gain if gain > 0 and average > 0 else 1.0


def _climb(
    problem: CountedProblem, prices: Prices, active: Sequence[tuple[Assignment, Sample]], time_price: float
) -> DualBound:
    """Golden-section search for the best price of gain, on a logarithmic scale."""
    usual = _usual(problem, prices, [item for item, _ in active], time_price)

    def bound(exponent: float) -> float:
        return _least(problem, prices, active, time_price, usual * math.exp(exponent))[0]

    asked = golden_sections(bound, -_SPREAD, _SPREAD, _STEPS, value=float)
    exponent, value = max(asked, key=itemgetter(1))
    return DualBound(time_price, usual * math.exp(exponent), value)
