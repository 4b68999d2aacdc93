r"""A lower bound of the cost under scenarios, proved again from a price of time and a price of gain.

A plan with an assignment A of data that misses at most p of S scenarios costs at least its transfers plus the
(S - p)-th smallest over scenarios of c_s(A), the least that a sequence on A costs with time and gain at their
prices: defined and proved on the page of the verifier. The sequences are not listed: backwards over the
epochs, the least value from an epoch on depends on the past only through the model before it.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import DualClaim
from depl.models.verifier.findings import Finding, failed, passed, repeated
from depl.models.verifier.reading import (
    assignment_count,
    data_share,
    facts_of,
    fits,
    may_be_last,
    may_switch,
    sets_of_data,
    transfers,
)
from depl.models.verifier.resources import least_prices
from depl.models.verifier.scenarios import DrawnSample, gains, switch_losses
from depl.models.verifier.tolerances import ATOM_TOLERANCE, CLAIM_TOLERANCE

MOST_ASSIGNMENTS = 4096
"""With more, a claimed bound is repeated."""

Assignment = tuple[frozenset[str] | None, ...]
"""The data of every cluster, in the order of the instance; None where there are none."""

_NAME = "claim: dual bound"
NUMBERS_AT_ONCE = 1 << 20
"""Doubles in one temporary array, 8 MiB; it changes memory, not values."""


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
    listed = assignment_count(instance) <= MOST_ASSIGNMENTS
    low = away = 0.0
    if listed:
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
    if listed:
        return passed(_NAME, f"{bound:.12g}, found again {prices}", away), low
    told = f"with more than {MOST_ASSIGNMENTS} assignments of data nothing proves it"
    return repeated(_NAME, f"{bound:.12g} {prices}; {told}"), 0.0


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
    target = instance.target
    needed = target.initial_loss - target.maximum_loss - ATOM_TOLERANCE
    if may_be_last(instance, target.initial_model) and (sample.size <= allowed or needed <= 0.0):
        return 0.0  # K = 0 is feasible
    problem = _priced(instance, sample, time_price, gain_price, cautious)
    constant, rank = gain_price * needed - time_price * (target.maximum_time or 0.0), sample.size - allowed
    given = list(assignments(instance))
    place = {data: index for index, data in enumerate(problem.subsets)}
    rows = np.array([[-1 if data is None else place[data] for data in row] for row in given])
    moved = np.array([moving_cost(instance, assignment) for assignment in given])
    width = max(rows.shape[1], len(instance.models))
    least, at_once = math.inf, max(1, NUMBERS_AT_ONCE // (width * sample.size))
    for first in range(0, len(given), at_once):
        part = slice(first, first + at_once)
        values = np.partition(_least(problem, rows[part]) + constant, rank - 1, axis=1)[:, rank - 1]
        least = min(least, float((moved[part] + values).min()))
    return max(0.0, least)


def assignments(instance: Instance) -> Iterator[Assignment]:
    """Every choice of data that may be used for every cluster, except none for all."""
    every = itertools.product(*([None, *row] for row in sets_of_data(instance)))
    return (given for given in every if any(data is not None for data in given))


def moving_cost(instance: Instance, assignment: Assignment) -> float:
    """t(A): transfers of the data of all clusters, once [cost]."""
    names = (place.name for place in instance.clusters)
    return transfers(instance, [(name, data or ()) for name, data in zip(names, assignment, strict=True)])


class _Priced(NamedTuple):
    """The sampled problem: psi(lam), an array (N, H, M) per epoch, and mu; ``favoured``: an end."""

    instance: Instance
    sample: DrawnSample
    subsets: list[frozenset[str]]
    prices: list[FloatArray]
    gain_price: float
    favoured: int


def _priced(
    instance: Instance, sample: DrawnSample, time_price: float, gain_price: float, cautious: bool
) -> _Priced:
    subsets = list({data: None for row in sets_of_data(instance) for data in row})
    shape = len(instance.clusters), len(subsets), len(instance.models)
    fitting = [[[fits(model, place) for model in instance.models]] for place in instance.clusters]
    alike = all(model.compute is None for model in instance.models)  # tables differ between epochs
    prices: list[FloatArray] = []
    for number in range(1, 2 if alike else instance.target.maximum_epochs + 1):
        configurations = itertools.product(instance.clusters, subsets, instance.models)
        facts = [facts_of(instance, number, model, place, data) for place, data, model in configurations]
        priced = least_prices(facts, np.array([time_price]), instance.target.round_deadline)
        prices.append(np.where(fitting, priced.reshape(shape), np.inf))
    prices *= instance.target.maximum_epochs if alike else 1
    return _Priced(instance, sample, subsets, prices, gain_price, int(cautious))


def _least(problem: _Priced, rows: FloatArray) -> FloatArray:
    """The c_s of assignments but for the constant, shape (A, S), by recursion over the epochs.

    ``rows``, shape (A, N), hold the subset of every cluster, or -1.
    """
    instance, sample = problem.instance, problem.sample
    models, names = range(len(instance.models)), [item.name for item in instance.models]
    first = None if instance.target.initial_model is None else names.index(instance.target.initial_model)
    shares = np.array([float(data_share(instance, data)) for data in problem.subsets])
    stop = [0.0 if may_be_last(instance, name) else math.inf for name in names]
    # the least of all that may follow an epoch, by the model of that epoch; training may also end there
    later = np.broadcast_to(np.array(stop)[:, None], (len(rows), len(models), sample.size))
    for number in range(instance.target.maximum_epochs, 0, -1):
        through = np.empty((len(rows), len(models), sample.size))
        for model in models:
            gain = problem.gain_price * gains(instance, sample, number, model, shares)[problem.favoured]
            table = problem.prices[number - 1][range(rows.shape[1]), rows, model]
            prices = np.where(rows < 0, np.inf, table)[:, :, None]
            through[:, model] = later[:, model] + (prices - gain[rows]).min(axis=1)
        before = [(m, stop[m]) for m in models] if number > 1 else [(first, 0.0)]
        later = np.stack([_after(problem, number, m, through, end) for m, end in before], axis=1)
    return later[:, 0] if instance.target.maximum_epochs else np.zeros((len(rows), sample.size))


def _after(problem: _Priced, number: int, before: int | None, through: FloatArray, stop: float) -> FloatArray:
    """Least value from epoch ``number`` on, after model ``before`` or none; ``stop`` where training ends."""
    instance, least = problem.instance, np.full((through.shape[0], through.shape[2]), stop)
    for after, model in enumerate(instance.models):
        charged = through[:, after]
        if before is not None and before != after:
            if not may_switch(instance, instance.models[before].name, model.name):
                continue
            switch = switch_losses(instance, problem.sample, number, before, after)
            charged = charged + problem.gain_price * switch[1 - problem.favoured]
        np.minimum(least, charged, out=least)
    return least
