"""A good plan of any length from one price of gain: the relaxation's own plan, made to meet the target.

At a price mu of gain every epoch decides by cost less mu times mean gain, and the cheapest sequence is a
dynamic program over (epoch, model). Its gain rises with mu; the least price at which it gains enough in
enough scenarios is found by bisection. With as many epochs as a knapsack has items the plan is off by about
one of them. Single epochs are then exchanged for cheaper ones while enough is gained. Nothing is proved
here.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.kernels import Booleans, Integers, Sample, compiled
from depl.models.problem.laws import FloatArray

LONG = 100
"""Epochs from which a priced plan is sought: set by hand. Below, plans with one switch and exchanges of
blocks find as good ones, and the kernel need not be compiled."""

_EXPANSIONS, _BISECTIONS = 40, 45
"""Doublings of a price until its plan gains enough, and halvings of the bracket, to the last bits of it."""

_TRIED = 64
"""Exchanges, those that save most first, of which the first that still gains enough is made: set by hand."""


def priced_plan(
    sample: Sample, costs: FloatArray, proceed: Callable[[], bool] = lambda: True
) -> list[int] | None:
    """Kinds of a cheap plan that gains enough; None if no price gives one.

    Parameters
    ----------
    sample : Sample
        Not summed.
    costs : float array (K, J)
        psi of each kind at each epoch; infinite excludes it.
    proceed : callable
        Says no when time is up; what is held by then is returned.
    """
    mean = sample.gains.mean(axis=-1), sample.switch_losses.mean(axis=-1)

    def at(price: float) -> NDArray[np.int64]:
        kinds = np.empty(len(costs), dtype=np.int64)
        length = _cheapest_sequence(
            *mean,
            sample.may_follow,
            sample.models,
            sample.first_model,
            costs,
            price,
            kinds,
            sample.may_end,
            0.0 if sample.needed > 0 else np.inf,
        )
        return kinds[:length]

    known = costs[np.isfinite(costs)]
    low, high = 0.0, max(float(known.max(initial=0.0)), 1e-300) / max(float(np.abs(mean[0]).max()), 1e-300)
    found = at(high)
    for _ in range(_EXPANSIONS):
        if _enough(sample, found) or not proceed():
            break
        low, high = high, 2 * high
        found = at(high)
    if not _enough(sample, found):
        return None
    for _ in range(_BISECTIONS):
        if not proceed():
            break
        middle = (low + high) / 2
        kinds = at(middle)
        if _enough(sample, kinds):
            high, found = middle, kinds
        else:
            low = middle
    return [int(kind) for kind in _cheapened(sample, costs, found, proceed)]


def gained(sample: Sample, kinds: NDArray[np.int64]) -> FloatArray:
    """Gain of a sequence in every scenario, shape (S,); minus infinity after a forbidden switch or end."""
    places, models = np.arange(len(kinds)), sample.models[kinds]
    total = sample.gains[places, kinds].sum(axis=0)
    before = np.concatenate([[sample.first_model], models[:-1]])[: len(models)]
    changed = np.flatnonzero((before != models) & (before >= 0))
    ends = sample.may_end[models[-1]] if len(models) else True
    if not (ends and sample.may_follow[before[changed], models[changed]].all()):
        return np.full(sample.gains.shape[-1], -math.inf)
    losses = sample.switch_losses[changed, before[changed], models[changed]].sum(axis=0)
    return np.asarray(total - losses, dtype=float)


def _enough(sample: Sample, kinds: NDArray[np.int64]) -> bool:
    return bool(_room(sample, kinds) >= 0)


def _room(sample: Sample, kinds: NDArray[np.int64]) -> float:
    """What the worst scenario that counts gains beyond what is needed."""
    return float(np.partition(gained(sample, kinds), sample.allowed)[sample.allowed] - sample.needed)


def _cheapened(
    sample: Sample, costs: FloatArray, kinds: NDArray[np.int64], proceed: Callable[[], bool]
) -> NDArray[np.int64]:
    """With cheaper kinds in single epochs, the greatest saving first, while enough is gained."""
    places = np.arange(len(kinds))
    while len(kinds) and proceed():
        own = sample.gains[places, kinds][:, None] - sample.gains[: len(kinds)]
        saved = (costs[places, kinds][:, None] - costs[: len(kinds)]).ravel()
        fits = own.mean(axis=-1).ravel() <= _room(sample, kinds) + own.std(axis=-1).ravel()
        candidates = np.flatnonzero((saved > 0) & fits)
        for place in candidates[np.argsort(-saved[candidates], kind="stable")][:_TRIED].tolist():
            tried = kinds.copy()
            tried[place // costs.shape[1]] = place % costs.shape[1]
            if _enough(sample, tried):
                kinds = tried
                break
        else:
            break
    return kinds


@compiled
def _cheapest_before(
    value: FloatArray,
    epoch: int,
    after: int,
    first_model: int,
    price: float,
    switch_losses: FloatArray,
    may_follow: Booleans,
) -> tuple[int, float]:
    """The model before an epoch that is trained on ``after``, and the least value with the switch from it."""
    best, least = after, np.inf
    for before in range(value.size):
        if epoch == 0 and before != (first_model if first_model >= 0 else after):
            continue
        total = value[before] if epoch > 0 else 0.0
        if before != after:
            if not may_follow[before, after]:
                continue
            total += price * switch_losses[epoch, before, after]
        if total < least:
            best, least = before, total
    return best, least


@compiled
def _cheapest_sequence(
    gains: FloatArray,
    switch_losses: FloatArray,
    may_follow: Booleans,
    models: NDArray[np.intp],
    first_model: int,
    costs: FloatArray,
    price: float,
    kinds: Integers,
    may_end: Booleans,
    idle: float,
) -> int:
    """Length of the sequence of least cost less price times gain; its kinds are put into ``kinds``.

    None at all counts ``idle``: infinite where the plan without an epoch is none although nothing has to be
    gained.
    """
    length, count = costs.shape
    many = may_follow.shape[0]
    value, following = np.full(many, np.inf), np.empty(many)
    chosen = np.full((length, many), -1, dtype=np.int64)  # kind of an epoch by its model
    origin = np.full((length, many), -1, dtype=np.int64)  # model before it
    best, best_length, best_model = idle, 0, -1
    for k in range(length):
        following[:] = np.inf
        for j in range(count):
            if costs[k, j] < np.inf:
                after = models[j]
                before, ahead = _cheapest_before(
                    value, k, after, first_model, price, switch_losses, may_follow
                )
                if ahead + costs[k, j] - price * gains[k, j] < following[after]:
                    following[after] = ahead + costs[k, j] - price * gains[k, j]
                    chosen[k, after], origin[k, after] = j, before
        value[:] = following
        for model in range(many):
            if value[model] < best and may_end[model]:
                best, best_length, best_model = value[model], k + 1, model
    model = best_model
    for k in range(best_length - 1, -1, -1):
        kinds[k] = chosen[k, model]
        model = origin[k, model]
    return best_length
