"""Every plan of a tiny instance written out under scenarios: the judge of the exact methods.

The method is as plain as possible and uses no solver's code; what an epoch asks for and what data leave of it
are read by `brute_force`, which is as slow as this is fast. All sequences of (model, cluster) of
every length and all assignments of datasets to clusters are listed; the final loss of each of them in each
scenario is added up from the fields of the instance, eq. (8) and the data law; scenarios that end above
l_max by more than the atom tolerance are counted against floor((1 - omega) S + 1e-9) in exact fractions;
and the resources of what remains come from bisection on the multiplier of the time row, for many plans at
once. The work grows like (models x clusters) ** K_max times the assignments, so K_max is 4 or so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Cluster, Instance
from depl.models.problem.laws import Deterministic, FloatArray, Forbidden, Zero
from depl.models.problem.learning import InverseSqrtImprovement, TabledImprovement
from depl.models.problem.plan import Plan
from tests.oracles.brute_force import asked_by, assignments, learning_left, moved
from tests.problems import plan

MAXIMUM_PLANS = 3_000_000
"""Sequences times assignments above which nothing is written out."""

_ATOM = 1e-9
_RELATIVE_TIME = 1e-9
_QUADRUPLINGS = 60
_BISECTIONS = 120

Names = tuple[str, ...]
Positions = NDArray[np.intp]


def cheapest_under_scenarios(
    instance: Instance, improvements: FloatArray, switches: FloatArray, decimals: int | None = None
) -> tuple[float, Plan | None]:
    """Cost and plan of the optimum when constraint (3) counts scenarios; (infinity, None) if infeasible.

    Parameters
    ----------
    instance : Instance
    improvements : ndarray
        X of every model at every epoch, shape (S, K, M), as in `depl.models.scenarios.draws.Scenarios`.
    switches : ndarray
        Loss of every switch, shape (S, K, M, M) [loss].
    decimals : int, optional
        Of the grid that the gain of an epoch and the loss of a switch are rounded to.

    Raises
    ------
    NotCoveredError
        If there are more than `MAXIMUM_PLANS` plans.
    """
    count = _plan_count(instance)
    if count > MAXIMUM_PLANS:
        raise NotCoveredError(f"{count} plans cannot be written out; at most {MAXIMUM_PLANS} can")
    samples = _Samples(instance, improvements, switches, decimals)
    start = np.full(len(improvements), instance.target.initial_loss)
    if samples.misses(start) <= samples.allowed:
        return 0.0, Plan()
    best, found = math.inf, None
    for data in assignments(instance):
        for sequences, losses in _sequences(samples, data):
            kept = sequences[samples.misses(losses) <= samples.allowed]
            costs, resources = _cheapest_resources(instance, data, kept)
            if len(costs) and costs.min() < best:
                row = int(np.argmin(costs))
                best = float(costs[row])
                found = _plan(instance, data, kept[row], resources[row])
    return best, found


def cost_and_misses(
    instance: Instance,
    given: Plan,
    improvements: FloatArray,
    switches: FloatArray,
    decimals: int | None = None,
) -> tuple[float, int]:
    """Cost of a plan, with the resources that it states, and how many scenarios it misses.

    Parameters
    ----------
    improvements, switches, decimals
        As for `cheapest_under_scenarios`.
    """
    samples = _Samples(instance, improvements, switches, decimals)
    data = {row.cluster: row.datasets for row in given.data}
    names = [model.name for model in instance.models]
    losses = np.full(len(improvements), instance.target.initial_loss)
    before = instance.target.initial_model
    for k, epoch in enumerate(given.epochs):
        losses = losses - samples.gain(k, names.index(epoch.model), data[epoch.cluster])
        if before not in (None, epoch.model):
            losses = losses + samples.switch(k, names.index(str(before)), names.index(epoch.model))
        before = epoch.model
    places = {item.name: item for item in instance.clusters}
    paid = [
        places[epoch.cluster].nodes * places[epoch.cluster].unit_cost * epoch.resources
        for epoch in given.epochs
    ]
    return math.fsum([moved(instance, data), *paid]), int(samples.misses(losses))


@dataclass(frozen=True, eq=False)
class _Samples:
    """The scenarios, and what every decision does to the loss in each of them."""

    instance: Instance
    improvements: FloatArray
    switches: FloatArray
    decimals: int | None

    @property
    def allowed(self) -> int:
        """floor((1 - omega) S + 1e-9), omega as it was written."""
        budget = 1 - Fraction(repr(self.instance.target.quantile_level))
        return math.floor(budget * len(self.improvements) + Fraction(1, 10**9))

    def misses(self, losses: FloatArray) -> FloatArray:
        """How many scenarios, along the last axis, end above l_max."""
        return np.asarray((losses > self.instance.target.maximum_loss + _ATOM).sum(axis=-1))

    def gain(self, k: int, m: int, datasets: Names) -> FloatArray:
        """h(D) A / sqrt(k + B) X of one epoch, k from 0; shape (S,) [loss]."""
        rule = self.instance.models[m].improvement
        own = rule.epochs[k] if isinstance(rule, TabledImprovement) else rule
        factor = learning_left(self.instance, datasets) * own.scale
        if isinstance(own, InverseSqrtImprovement):
            factor = factor / math.sqrt(k + 1 + own.offset)
        if isinstance(own.noise, Deterministic):
            return self._on_grid(np.full(len(self.improvements), factor * own.noise.value))
        return self._on_grid(factor * self.improvements[:, k, m])

    def switch(self, k: int, before: int, after: int) -> FloatArray:
        """Loss of a switch that is not forbidden, zero without one; shape (S,) [loss]."""
        law = _switch_law(self.instance, before, after)
        if before == after or isinstance(law, Zero):
            return np.zeros(len(self.switches))
        if isinstance(law, Deterministic):
            return self._on_grid(np.full(len(self.switches), law.value))
        return self._on_grid(self.switches[:, k, before, after])

    def _on_grid(self, values: FloatArray) -> FloatArray:
        return values if self.decimals is None else np.round(values, self.decimals)


def _switch_law(instance: Instance, before: int, after: int) -> object:
    pair = instance.models[before].name, instance.models[after].name
    rows = {(row.previous, row.following): row.law for row in instance.switches}
    return rows.get(pair, instance.other_switches)


def _plan_count(instance: Instance) -> int:
    """Sequences of all lengths times assignments, those with idle clusters counted too."""
    choices: int = len(instance.models) * len(instance.clusters)
    lengths = range(1, instance.target.maximum_epochs + 1)
    assignments: int = (1 << len(instance.datasets) * len(instance.clusters)) - 1
    return assignments * sum(int(choices**length) for length in lengths)


def _options(instance: Instance, data: dict[str, Names]) -> list[tuple[int, Cluster]]:
    """What an epoch may be: a model, by position, on one of the clusters that have data."""
    used = [place for place in instance.clusters if place.name in data]
    return [(m, place) for m in range(len(instance.models)) for place in used]


def _sequences(samples: _Samples, data: dict[str, Names]) -> Iterator[tuple[Positions, FloatArray]]:
    """For each length, the sequences that train every cluster of ``data``, with their final losses.

    Yields
    ------
    tuple of ndarray
        Positions among `_options`, shape (P, K), and losses, shape (P, S).
    """
    instance = samples.instance
    options = _options(instance, data)
    home = np.array([list(data).index(place.name) for _, place in options])
    sequences = np.zeros((1, 0), dtype=np.intp)
    losses = np.full((1, len(samples.improvements)), instance.target.initial_loss)
    for k in range(instance.target.maximum_epochs):
        parts = list(_longer(samples, data, sequences, losses, k))
        if not parts:
            return
        sequences = np.concatenate([part for part, _ in parts])
        losses = np.concatenate([part for _, part in parts])
        complete = np.all([(home[sequences] == place).any(axis=1) for place in range(len(data))], axis=0)
        yield sequences[complete], losses[complete]


def _longer(
    samples: _Samples, data: dict[str, Names], sequences: Positions, losses: FloatArray, k: int
) -> Iterator[tuple[Positions, FloatArray]]:
    """One more epoch, k from 0, behind all sequences of k epochs: by option, and by the model before it."""
    instance = samples.instance
    options = _options(instance, data)
    first = instance.target.initial_model
    start = -1 if first is None else [model.name for model in instance.models].index(first)
    models = np.array([m for m, _ in options])
    before = models[sequences[:, -1]] if k else np.full(len(sequences), start)
    for option, (m, place) in enumerate(options):
        gain = samples.gain(k, m, data[place.name])
        for previous in np.unique(before):
            rows = before == previous
            moves = previous not in (-1, m)
            if moves and isinstance(_switch_law(instance, previous, m), Forbidden):
                continue
            fallen = losses[rows] - gain
            after = fallen + samples.switch(k, previous, m) if moves else fallen
            yield np.column_stack([sequences[rows], np.full(rows.sum(), option)]), after


@dataclass(frozen=True, eq=False)
class _Epochs:
    """What the epochs of P plans of one length ask of their clusters, every array of shape (P, K)."""

    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    wait: FloatArray

    @property
    def full(self) -> FloatArray:
        """The most that an epoch can use."""
        return np.where(self.work > 0, self.capacity, 0.0)

    def least(self, deadline: float | None) -> FloatArray:
        """The resources with which every epoch just keeps the round deadline."""
        if deadline is None:
            return np.zeros(self.work.shape)
        room = deadline - self.wait
        wanted = np.divide(self.work, room, out=np.full(self.work.shape, np.inf), where=room > 0)
        return np.asarray(np.minimum(wanted, self.full))

    def chosen(self, root: FloatArray, least: FloatArray) -> FloatArray:
        """X where the multiplier of time is ``root**2``, shape (P,); what costs nothing is used in full."""
        paid = self.price > 0
        slope = np.sqrt(np.divide(self.work, self.price, out=np.zeros(self.work.shape), where=paid))
        return np.clip(np.where(paid, root[:, None] * slope, self.full), least, self.full)

    def durations(self, resources: FloatArray) -> FloatArray:
        """Time of every epoch, infinite where work gets no resources."""
        waiting = np.where((self.work > 0) & (resources == 0), np.inf, 0.0)
        return self.wait + np.divide(self.work, resources, out=waiting, where=resources > 0)


def _epochs(instance: Instance, data: dict[str, Names], sequences: Positions) -> _Epochs:
    options, length = _options(instance, data), sequences.shape[1]
    table = [
        [asked_by(instance, k, instance.models[m], place, data[place.name]) for m, place in options]
        for k in range(length)
    ]
    return _Epochs(*np.moveaxis(np.array(table)[np.arange(length), sequences], -1, 0))


def _cheapest_resources(
    instance: Instance, data: dict[str, Names], sequences: Positions
) -> tuple[FloatArray, FloatArray]:
    """Cost of each sequence, transfers included and infinite if it is too slow, and x, shape (P, K)."""
    target, epochs = instance.target, _epochs(instance, data, sequences)
    shortest = epochs.durations(epochs.full)
    in_time = np.ones(len(sequences), dtype=bool)
    if target.round_deadline is not None:
        in_time &= (shortest <= target.round_deadline * (1 + _RELATIVE_TIME)).all(axis=1)
    least = epochs.least(target.round_deadline)
    x = epochs.chosen(np.zeros(len(sequences)), least)
    if target.maximum_time is not None:
        limit, fastest = target.maximum_time, shortest.sum(axis=1)
        in_time &= fastest <= limit * (1 + _RELATIVE_TIME)
        open_ones = (epochs.durations(x).sum(axis=1) > limit) & in_time & (fastest < limit)
        part = _Epochs(*(getattr(epochs, item.name)[open_ones] for item in fields(_Epochs)))
        x = np.where((fastest >= limit)[:, None], epochs.full, x)
        x[open_ones] = _hurried(part, least[open_ones], limit)
    costs = (epochs.price * x).sum(axis=1) + moved(instance, data)
    return np.where(in_time, costs, np.inf), x


def _hurried(epochs: _Epochs, least: FloatArray, limit: float) -> FloatArray:
    """Resources x at the least multiplier that keeps the time limit, by bisection; full use must keep it."""

    def keeps(root: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(epochs.durations(epochs.chosen(root, least)).sum(axis=1) <= limit)

    high = np.ones(len(least))
    for _ in range(_QUADRUPLINGS):
        slow = ~keeps(high)
        if not slow.any():
            break
        high[slow] *= 4
    low = np.zeros(len(high))
    for _ in range(_BISECTIONS):
        middle = np.where(low > 0, (low + high) / 2, high / 4)
        good = keeps(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return epochs.chosen(high, least)


def _plan(instance: Instance, data: dict[str, Names], sequence: Positions, resources: FloatArray) -> Plan:
    options = [(instance.models[m].name, place.name) for m, place in _options(instance, data)]
    rows = [(*options[position], float(x)) for position, x in zip(sequence, resources, strict=True)]
    return plan(*rows, data=data, instance=instance.fingerprint)
