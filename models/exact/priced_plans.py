"""A good plan of any length from one price of gain: the relaxation's own plan, made to meet the target.

At a price mu of gain every epoch decides by cost less mu times mean gain, and the cheapest sequence is a
dynamic program over (epoch, model). Its gain rises with mu; the least price at which it gains enough in
enough scenarios is found by bisection. With as many epochs as a knapsack has items the plan is off by about
one of them. Single epochs are then exchanged for cheaper ones while enough is gained, and several of them
together, some for more expensive ones: combinations of the choices whose reduced cost at the price is least,
the core of a knapsack (Balas and Zemel 1980), by dynamic programming over what they save and gain less.
Nothing is proved here.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.kernels import Booleans, Integers, Sample, interpreted
from depl.models.problem.laws import FloatArray

LONG = 100
"""Epochs from which a priced plan is sought: set by hand. Below, plans with one switch are as good,
and the kernel need not be compiled."""

_EXPANSIONS, _BISECTIONS = 40, 45
"""Doublings of a price until its plan gains enough, and halvings of the bracket, to the last bits of it."""

_TRIED = 64
"""Exchanges, those that save most first, of which the first that still gains enough is made: set by hand."""

_CORE, _LABELS = 200, 500
"""Epochs whose choices are combined, and combinations that are kept after each: set by hand. Together they
take less than 0.1 s; with fewer, knapsacks whose values are multiples of a few stay 1 to 6 % off."""

_CLOSE = 1e-4
"""Relative difference from what the price bounds, below which a plan is not improved further: set by hand. A
search that starts from it needs no better one; above, labels mostly help."""


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
    at = _Priced(sample, costs)
    found, high = _enough_by_price(sample, costs, at, proceed)
    if found is None:
        return None
    found = _cheapened(sample, costs, found, proceed)
    if proceed() and _apart(sample, costs, found, at(high), high):
        found = _recombined(sample, costs, found, high)
    return [int(kind) for kind in found]


@dataclass(frozen=True)
class _Priced:
    """Cheapest sequences at prices of gain."""

    sample: Sample
    costs: FloatArray

    def __call__(self, price: float) -> NDArray[np.int64]:
        """Kinds of the cheapest sequence at a price of mean gain."""
        sample, kinds = self.sample, np.empty(len(self.costs), dtype=np.int64)
        length = _cheapest_sequence(
            *self._means,
            sample.may_follow,
            sample.models,
            sample.first_model,
            self.costs,
            price,
            kinds,
            sample.may_end,
            0.0 if sample.needed > 0 else np.inf,
        )
        return kinds[:length]

    @functools.cached_property
    def _means(self) -> tuple[FloatArray, FloatArray]:
        return self.sample.gains.mean(axis=-1), self.sample.switch_losses.mean(axis=-1)


def _enough_by_price(
    sample: Sample, costs: FloatArray, at: _Priced, proceed: Callable[[], bool]
) -> tuple[NDArray[np.int64] | None, float]:
    """The sequence at the least price that makes it gain enough, and that price; None if no price does."""
    known = costs[np.isfinite(costs)]
    greatest = float(np.abs(sample.gains.mean(axis=-1)).max())
    low, high = 0.0, max(float(known.max(initial=0.0)), 1e-300) / max(greatest, 1e-300)
    found = at(high)
    for _ in range(_EXPANSIONS):
        if _enough(sample, found) or not proceed():
            break
        low, high = high, 2 * high
        found = at(high)
    if not _enough(sample, found):
        return None, high
    for _ in range(_BISECTIONS):
        if not proceed():
            break
        middle = (low + high) / 2
        kinds = at(middle)
        if _enough(sample, kinds):
            high, found = middle, kinds
        else:
            low = middle
    return found, high


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


def _apart(
    sample: Sample, costs: FloatArray, held: NDArray[np.int64], cheapest: NDArray[np.int64], price: float
) -> bool:
    """Whether the cheapest sequence at the price of gain says that plans may be notably cheaper.

    In a single scenario, what it costs less the price of what it gains beyond need is a lower bound.
    """
    value = float(costs[np.arange(len(held)), held].sum())
    bound = float(costs[np.arange(len(cheapest)), cheapest].sum()) - price * _room(sample, cheapest)
    return value - bound > _CLOSE * abs(value)


def _recombined(
    sample: Sample, costs: FloatArray, kinds: NDArray[np.int64], price: float
) -> NDArray[np.int64]:
    """With other kinds in the epochs where they cost least at the price of gain, if that saves anything.

    A label is a combination of changes: the mean gain it loses, what it saves, and the label and the change
    that it comes from. Labels that lose no less and save no more than another are left out, and the most
    expensive ones at the price where there are too many. What switches lose is looked at in the end.
    """
    places = np.arange(len(kinds))
    lost = (sample.gains[places, kinds][:, None] - sample.gains[: len(kinds)]).mean(axis=-1)
    saved = costs[places, kinds][:, None] - costs[: len(kinds)]
    reduced = np.where(np.isfinite(saved), price * lost - saved, np.inf)
    reduced[places, kinds] = np.inf
    core = np.argsort(reduced.min(axis=1), kind="stable")[:_CORE]
    labels = np.zeros((1, 2))  # lost, saved
    trail: list[tuple[Integers, Integers]] = []
    for k in core[np.isfinite(reduced[core].min(axis=1))].tolist():
        changes = np.flatnonzero(np.isfinite(reduced[k]))
        moves = np.column_stack([lost[k, changes], saved[k, changes]])
        every = np.concatenate([labels, *(labels + move for move in moves)])
        kept = _undominated(every, price)
        turns, parents = np.divmod(kept, len(labels))
        trail.append((parents, np.where(turns > 0, k * costs.shape[1] + changes[turns - 1], -1)))
        labels = every[kept]
    worth = np.where(labels[:, 0] <= _room(sample, kinds), labels[:, 1], 0.0)
    for place in np.argsort(-worth, kind="stable")[:_TRIED].tolist():
        tried = kinds.copy()
        for change in _traced(trail, place):
            tried[change // costs.shape[1]] = change % costs.shape[1]
        if worth[place] > 0 and _enough(sample, tried):
            return tried
    return kinds


def _undominated(labels: FloatArray, price: float) -> Integers:
    """Rows of (lost, saved) of which no other loses less and saves more; at most `_LABELS`, the cheapest."""
    order = np.lexsort((-labels[:, 1], labels[:, 0]))
    saved = labels[order, 1]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(saved)[:-1]])
    order = order[saved > before]
    if len(order) > _LABELS:
        cost = price * labels[order, 0] - labels[order, 1]
        order = np.sort(order[np.argpartition(cost, _LABELS)[:_LABELS]])
    return np.asarray(order, dtype=np.int64)


def _traced(trail: list[tuple[Integers, Integers]], place: int) -> list[int]:
    """The changes of a label."""
    found = []
    for parents, changes in reversed(trail):
        if changes[place] >= 0:
            found.append(int(changes[place]))
        place = int(parents[place])
    return found


@interpreted
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


@interpreted
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
