r"""A lower bound of the cost under scenarios, proved again from two prices.

Let lam >= 0 be a price of time and mu >= 0 a price of gain; ``needed`` = l(0) - l_max - 1e-9 is the fall of
the loss from which on a scenario meets the target. An *assignment* A gives every cluster a set of data or
none, at least one cluster some; t(A) are its transfers. For every scenario s let

.. code-block:: text

    c_s(A) = min over sequences of 0 ... K_max epochs, each on a cluster of A with its data, switches allowed,
             models fitting, the last one (of an epoch) one that may be the last,
             of  sum over epochs of (psi(lam) - mu gain_s)  +  mu needed  -  lam T_max,

where psi(lam) is the least of kappa x + lam T(k, x) over the resources that keep the round deadline, gain_s
is the fall of the loss in scenario s, less the loss of a switch, and the last term is absent without T_max.

*Claim.* A plan with assignment A that misses at most p of S scenarios costs at least t(A) + the (S - p)-th
smallest of the c_s(A).

*Proof.* Let the plan have resources x_k and meet scenario s: sum T(k) <= T_max and sum gain_s >= needed. So

.. code-block:: text

    cost - t(A) = sum kappa x_k
               >= sum kappa x_k + lam (sum T(k) - T_max) + mu (needed - sum gain_s)
               >= sum (psi(lam) - mu gain_s) + mu needed - lam T_max  >=  c_s(A).

This holds in at least S - p scenarios, and the greatest of any S - p of S numbers is at least the (S - p)-th
smallest of all. []

Costs are not negative, and without training they are 0. Hence ``bound`` = max(0, min over A of the above), or
0 if K = 0 meets enough scenarios. If there are more than 4096 assignments, those of at most K_max clusters: a
plan uses no more, and without the data of the others it costs no more. If these are more than 4096, too, one
that holds all configurations at once, without transfers, takes their place: it allows more sequences and
costs less, so the bound is valid.

The sequences are not listed: backwards over the epochs, the least value from an epoch on depends on the past
only through the model before it. T_max may be exceeded by rounding, a relative 1e-9; the bound speaks of
T_max itself.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray, Forbidden
from depl.models.problem.plan import DualClaim
from depl.models.verifier.findings import Finding, failed, passed
from depl.models.verifier.reading import data_share, facts_of, law_of_switch
from depl.models.verifier.resources import least_prices
from depl.models.verifier.sample import DrawnSample, gains, switch_losses
from depl.models.verifier.sites import fits, may_be_last, sets_of_data
from depl.models.verifier.tolerances import ATOM_TOLERANCE, CLAIM_TOLERANCE

MOST_ASSIGNMENTS = 4096
"""With more, the bound is that of those that K_max epochs can use, or of all configurations at once."""

Assignment = tuple[frozenset[str] | None, ...]
"""The data of every cluster, in the order of the instance; None where there are none."""

_NAME = "claim: dual bound"
NUMBERS_AT_ONCE = 1 << 20
"""Doubles in one temporary array, 8 MiB; it changes memory, not values."""

_Stage = Callable[[int], FloatArray]
"""Least priced value of epoch k, by assignment, model and scenario."""


def dual_finding(
    instance: Instance, sample: DrawnSample, allowed: int, claim: DualClaim, cost: float
) -> tuple[Finding, float]:
    """The verdict on a claimed dual bound, and the bound that is proved [cost] (0 if none is).

    Parameters
    ----------
    sample : DrawnSample
        The scenarios.
    allowed : int
        p.
    cost : float
        Of the plan, which a lower bound may not exceed [cost].
    """
    limit, bound = instance.target.maximum_time, claim.bound
    if limit is None and claim.time_price != 0:
        return failed(_NAME, "without T_max there is no time to price", claim.time_price), 0.0
    prices = f"at the prices {claim.time_price:.6g} of time and {claim.gain_price:.6g} of gain"
    low = high = dual_bound(instance, sample, allowed, claim.time_price, claim.gain_price)
    if bound > low + CLAIM_TOLERANCE * low:  # gains rounded the other way may give more
        high = dual_bound(instance, sample, allowed, claim.time_price, claim.gain_price, cautious=False)
    away = max(bound - high, 0.0) - max(low - bound, 0.0)
    if abs(away) > CLAIM_TOLERANCE * high:
        message = f"{bound:.12g} is claimed, {high:.12g} found {prices}: off by {away:.6g}"
        return failed(_NAME, message, away), low
    if bound > cost + CLAIM_TOLERANCE * (cost + claim.time_price * (limit or 0.0)):
        message = f"{bound:.12g} exceeds the plan's own cost {cost:.12g}"
        return failed(_NAME, message, bound - cost), low
    return passed(_NAME, f"{bound:.12g}, found again {prices}", away), low


def dual_bound(
    instance: Instance,
    sample: DrawnSample,
    allowed: int,
    time_price: float,
    gain_price: float,
    cautious: bool = True,
) -> float:
    """The bound of the module's docstring [cost].

    Parameters
    ----------
    allowed : int
        p.
    time_price, gain_price : float
        lam [cost / time] and mu [cost / loss], both >= 0.
    cautious : bool
        Whether to take the gains that favour the plan, where rounding leaves a choice.
    """
    idle = may_be_last(instance, instance.target.initial_model)
    if idle and (sample.size <= allowed or _needed(instance) <= 0.0):
        return 0.0  # K = 0 is feasible
    problem = _priced(instance, sample, time_price, gain_price, cautious)
    rank = sample.size - allowed
    given = tuple(itertools.islice(assignments(instance), MOST_ASSIGNMENTS + 1))
    if len(given) > MOST_ASSIGNMENTS:
        given = tuple(itertools.islice(used_assignments(instance), MOST_ASSIGNMENTS + 1))
    if len(given) > MOST_ASSIGNMENTS:
        return max(0.0, float(_ranked(problem, _everything(problem), 1, rank)[0]))
    at_once = max(1, NUMBERS_AT_ONCE // (len(instance.models) * sample.size))
    least = math.inf
    for first in range(0, len(given), at_once):
        part = given[first : first + at_once]
        moved = np.array([moving_cost(instance, assignment) for assignment in part])
        values = _ranked(problem, _assigned(problem, part), len(part), rank)
        least = min(least, float((moved + values).min()))
    return max(0.0, least)


def assignments(instance: Instance) -> Iterator[Assignment]:
    """Every choice of data that may be used for every cluster, except none for all."""
    every = itertools.product(*([None, *row] for row in sets_of_data(instance)))
    return (given for given in every if any(data is not None for data in given))


def used_assignments(instance: Instance) -> Iterator[Assignment]:
    """Those with data on at most K_max clusters, of which a plan needs no more; not none for all."""
    places = range(len(instance.clusters))
    sets = sets_of_data(instance)
    for count in range(1, min(len(places), instance.target.maximum_epochs) + 1):
        for used in itertools.combinations(places, count):
            for data in itertools.product(*(sets[place] for place in used)):
                given = dict(zip(used, data, strict=True))
                yield tuple(given.get(place) for place in places)


def moving_cost(instance: Instance, assignment: Assignment) -> float:
    """t(A): transfers of the data of all clusters, once [cost]."""
    listed = {(row.dataset, row.cluster): row.cost for row in instance.transfers}
    return math.fsum(
        listed.get((name, place.name), 0.0)
        for place, data in zip(instance.clusters, assignment, strict=True)
        for name in data or ()
    )


def may_switch(instance: Instance, before: int, after: int) -> bool:
    """Whether the second model may follow the first, both by position."""
    law = law_of_switch(instance, instance.models[before].name, instance.models[after].name)
    return before == after or not isinstance(law, Forbidden)


@dataclass(frozen=True, eq=False)
class _Priced:
    """The sampled problem with time and gain at their prices.

    ``prices`` holds psi(lam), one array (N, subsets, M) per epoch; ``shares`` is h of every subset;
    ``constant`` is mu needed - lam T_max.
    """

    instance: Instance
    sample: DrawnSample
    gain_price: float
    cautious: bool
    subsets: tuple[frozenset[str], ...]
    shares: FloatArray
    prices: tuple[FloatArray, ...]
    constant: float

    def gains(self, number: int, model: int) -> FloatArray:
        """The multiplier mu times the gain of epoch ``number``, shape (subsets, S)."""
        found = gains(self.instance, self.sample, number, model, self.shares)
        return self.gain_price * (found.upper if self.cautious else found.lower)

    def switch(self, number: int, before: int, after: int) -> FloatArray:
        """The multiplier mu times the loss of an allowed switch, shape (S,)."""
        found = switch_losses(self.instance, self.sample, number, before, after)
        return self.gain_price * (found.lower if self.cautious else found.upper)


def _priced(
    instance: Instance, sample: DrawnSample, time_price: float, gain_price: float, cautious: bool
) -> _Priced:
    subsets = tuple(map(frozenset, _nonempty([row.name for row in instance.datasets])))
    return _Priced(
        instance,
        sample,
        gain_price,
        cautious,
        subsets,
        np.array([float(data_share(instance, data)) for data in subsets]),
        _time_prices(instance, subsets, time_price),
        gain_price * _needed(instance) - time_price * (instance.target.maximum_time or 0.0),
    )


def _time_prices(
    instance: Instance, subsets: Sequence[frozenset[str]], time_price: float
) -> tuple[FloatArray, ...]:
    """psi(lam) of every configuration, an array (N, subsets, M) per epoch; tables differ between epochs."""
    shape = len(instance.clusters), len(subsets), len(instance.models)
    alike = all(model.compute is None for model in instance.models)
    last = 1 if alike else instance.target.maximum_epochs
    at_once = max(1, NUMBERS_AT_ONCE // math.prod(shape))
    found: list[FloatArray] = []
    for first in range(1, last + 1, at_once):
        facts = [
            facts_of(instance, number, model, place, data)
            for number in range(first, min(first + at_once, last + 1))
            for place, data, model in itertools.product(instance.clusters, subsets, instance.models)
        ]
        priced = least_prices(facts, np.array([time_price]), instance.target.round_deadline)
        found.extend(np.where(_open(instance, subsets), priced.reshape(-1, *shape), np.inf))
    return tuple(found * instance.target.maximum_epochs if alike else found)


def _open(instance: Instance, subsets: Sequence[frozenset[str]]) -> NDArray[np.bool_]:
    """Which (cluster, subset, model) the rules of the sites allow."""
    places, models = range(len(instance.clusters)), range(len(instance.models))
    usable = np.array([[data in row for data in subsets] for row in map(set, sets_of_data(instance))])
    fitting = np.array([[fits(instance, model, place) for model in models] for place in places])
    return np.asarray(usable[:, :, None] & fitting[:, None])


def _assigned(problem: _Priced, given: Sequence[Assignment]) -> _Stage:
    """Epochs on the clusters of assignments A, with their data; arrays (A, M, S)."""
    place = {data: index for index, data in enumerate(problem.subsets)}
    rows = np.array([[-1 if data is None else place[data] for data in row] for row in given])

    def stage(number: int) -> FloatArray:
        models = len(problem.instance.models)
        least = np.full((len(given), models, problem.sample.size), np.inf)
        for model in range(models):
            gain = problem.gains(number, model)
            for cluster, chosen in enumerate(rows.T):
                prices = np.where(chosen < 0, np.inf, problem.prices[number - 1][cluster, chosen, model])
                np.minimum(least[:, model], prices[:, None] - gain[chosen], out=least[:, model])
        return least

    return stage


def _everything(problem: _Priced) -> _Stage:
    """Epochs on any cluster with any data; arrays (1, M, S)."""

    def stage(number: int) -> FloatArray:
        cheapest = problem.prices[number - 1].min(axis=0)
        columns = [
            (cheapest[:, model, None] - problem.gains(number, model)).min(axis=0)
            for model in range(len(problem.instance.models))
        ]
        return np.array(columns)[None]

    return stage


def _ranked(problem: _Priced, stage: _Stage, count: int, rank: int) -> FloatArray:
    """The ``rank``-th smallest c_s of each of ``count`` assignments, by recursion over the epochs."""
    instance = problem.instance
    models = range(len(instance.models))
    start = instance.target.initial_model
    least: FloatArray = np.zeros((count, problem.sample.size))
    # of all that may follow an epoch, by the model of that epoch; training may also end there
    ending = np.array([may_be_last(instance, instance.models[model].name) for model in models])
    stop = np.where(ending, 0.0, np.inf)
    later = np.broadcast_to(stop[:, None], (count, len(models), problem.sample.size))
    for number in range(instance.target.maximum_epochs, 0, -1):
        through = later + stage(number)
        if number == 1:
            before = [model for model in models if instance.models[model].name == start]
            least = _least_after(problem, 1, before[0] if before else None, through, 0.0)
        else:
            rows = [_least_after(problem, number, model, through, stop[model]) for model in models]
            later = np.stack(rows, axis=1)
    values = np.partition(least + problem.constant, rank - 1, axis=1)
    return np.asarray(values[:, rank - 1])


def _least_after(
    problem: _Priced, number: int, before: int | None, through: FloatArray, stop: float
) -> FloatArray:
    """Least value from epoch ``number`` on, after model ``before`` or none; ``stop`` where training ends."""
    least = np.full((through.shape[0], through.shape[2]), stop)
    for after in range(through.shape[1]):
        if before is None or before == after:
            np.minimum(least, through[:, after], out=least)
        elif may_switch(problem.instance, before, after):
            np.minimum(least, through[:, after] + problem.switch(number, before, after), out=least)
    return least


def _needed(instance: Instance) -> float:
    return instance.target.initial_loss - instance.target.maximum_loss - ATOM_TOLERANCE


def _nonempty(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (chosen for size in range(1, len(names) + 1) for chosen in itertools.combinations(names, size))
