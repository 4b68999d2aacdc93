"""``annealing``: simulated annealing over drafts of plans, with exact resources and certified feasibility.

*State*: a model and a cluster for each epoch, and the data of every cluster. *Moves*, one at a time, evenly
among those that the instance leaves room for: another model for a run of epochs; another cluster for a run of
epochs; one epoch more (a copy of a neighbour); one epoch less; two epochs exchanged; a dataset given to, or
taken from, a cluster, or all clusters. Moves that would make a forbidden switch are drawn again.

*Energy*: the cost with the cheapest resources, plus penalties for what is missed. A draft that is not
certified pays twice what its shortfall of loss would cost at the price per loss of the first draft, and at
least one per cent of that draft's cost; the shortfall is that of a mean and a multiple of the standard
deviation, a multiple which follows the certificates (`depl.heuristics.baselines.drafts.Appraiser`). A
late draft pays twice the cost of the first one for each unit of relative lateness, likewise. So only
certified drafts go without penalty.

*Schedule*: four chains share 20 000 drafts (the option ``evaluations``) or the time limit, whichever ends
first. In each, temperatures fall geometrically from a tenth of its first energy to a hundred-thousandth: by
its drafts alone, or, once it is late for its part of the time limit, by the clock. What the clock cooled
depends on the machine, and ends as stopped by the time limit. The
first chain starts from the best single model on its fastest cluster, the others from the best of a few random
drafts. The cheapest certified draft seen is returned; it proves nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from depl.heuristics.baselines.drafts import Best, Draft, Resources, searched, single_model_drafts
from depl.heuristics.baselines.peers import random_data, random_draft, whole_number
from depl.models.foundation.clock import now
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.options import Option

OPTIONS = (Option("evaluations", (int,), "drafts that all chains look at together"),)
DEFAULT_EVALUATIONS = 20_000
"""Drafts that all chains look at together. Set by hand: chains cool down over their share, so that more take
longer and end better on average."""

_HOTTEST, _COLDEST = 0.1, 1e-5
"""First and last temperature, as shares of the energy at the start of a chain. Set by hand: at first a draft
that costs a tenth more is taken with probability 1 / e, at last next to none that costs more."""
_PENALTY, _LEAST_PENALTY = 2.0, 0.01
"""Penalty of a shortfall of the whole fall, or of a lateness of the whole limit, and the least of any, in
units of the cheapest single model. Set by hand: without the least one a draft that just misses the target
might look better than one that meets it."""
_CHAINS, _RANDOM_STARTS = 4, 20
"""Chains among which the evaluations are divided, and random drafts of which the best starts a chain. Set by
hand: more chains are shorter ones from more starts."""
_LATE = 0.1
"""Share of its time by which a chain is late before the clock cools it. Set by hand: without it every first
step, and so every answer under a time limit, would depend on the machine."""
_DRAWS_OF_A_MOVE = 20
"""Draws before a step of a chain is given up. Set by hand: nearly every draw is allowed where switches are
free; where few are, more draws take time and lose fewer steps."""
_MEAN_RUN = 0.25
"""Mean length of a run of epochs that is changed, as a share of the plan."""

Move = Callable[[np.random.Generator, Draft], Draft]


def annealing(instance: Instance, limits: Limits) -> Outcome:
    """Simulated annealing over models, clusters and data, with exact resources and certified feasibility.

    Raises
    ------
    InvalidInputError
        If the option ``evaluations`` is not a whole number of at least 1.
    """
    evaluations = whole_number(limits, "evaluations", DEFAULT_EVALUATIONS)
    rng = np.random.default_rng(limits.seed)
    return searched(instance, limits, lambda best: _Annealer(best, rng, evaluations).run())


@dataclass
class _Annealer:
    """Chains of annealing that share what they know."""

    best: Best
    rng: np.random.Generator
    evaluations: int
    _resources: dict[Draft, Resources] = field(default_factory=dict)
    _certified: dict[Draft, bool] = field(default_factory=dict)

    def run(self) -> None:
        """Anneal from the best single model, then from random drafts."""
        self._calibrate()
        if not self.moves:
            return
        for chain in range(_CHAINS):
            start = self._start(chain)
            if start is not None:
                self._anneal(start, chain)

    def _anneal(self, state: Draft, chain: int) -> None:
        """One chain from hot to cold."""
        energy = first = self._energy(state)
        steps = max(1, self.evaluations // _CHAINS)
        for step in range(steps):
            if self.best.limits.expired():
                return
            gone = self._gone(step / steps, chain)
            if gone >= 1:
                return
            proposed = self._neighbour(state)
            if proposed is None:
                continue
            temperature = first * _HOTTEST * (_COLDEST / _HOTTEST) ** gone
            # Drawn beforehand, so that drafts which are too expensive need no certificate.
            ceiling = energy - temperature * math.log(1 - self.rng.random())
            found = self._energy(proposed, ceiling)
            if found <= ceiling:
                state, energy = proposed, found

    def _start(self, chain: int) -> Draft | None:
        """Of the single models, or of a few random drafts, the one of least energy, cut where it can be."""
        appraiser = self.best.appraiser
        drafts = self.singles
        if chain > 0:
            drafts = [random_draft(self.rng, appraiser) for _ in range(_RANDOM_STARTS)]
        kept = [draft for draft in drafts if draft.models and appraiser.keeps_rules(draft)]
        cut = [appraiser.shortest(draft) or draft for draft in kept]
        return min(cut, key=self._energy, default=None)

    def _gone(self, of_steps: float, chain: int) -> float:
        """Share of a chain that is over: of its steps, or of its time where it is late."""
        of_time = self._time_gone(chain)
        if of_time > of_steps + _LATE:
            self.best.timed = True
        return max(of_steps, of_time) if self.best.timed else of_steps

    def _time_gone(self, chain: int) -> float:
        """Share of the chain's part of the time limit that is gone."""
        limits = self.best.limits
        if limits.time_limit is None:
            return 0.0
        return (now() - limits.started) / limits.time_limit * _CHAINS - chain

    def _calibrate(self) -> None:
        """Prices of shortfall and lateness from the single models."""
        appraiser = self.best.appraiser
        self.singles = single_model_drafts(appraiser)
        self.moves = _moves(appraiser.instance) if self.singles else []
        costs = [appraiser.resources(draft).cost for draft in self.singles]
        self.unit = max(min(costs, default=0.0), 1e-300)
        fall = appraiser.target.initial_loss - appraiser.target.maximum_loss
        self.price_of_loss = _PENALTY * self.unit / max(abs(fall), 1e-300)

    def _energy(self, draft: Draft, ceiling: float = math.inf) -> float:
        """Cost and penalties; infinite once the ceiling is certainly passed. Certified drafts are offered."""
        best, appraiser = self.best, self.best.appraiser
        best.looked_at += 1
        asked = self._asked(draft)
        energy = asked.cost
        if asked.lateness:
            energy += _PENALTY * self.unit * (asked.lateness + _LEAST_PENALTY)
        if energy > ceiling:
            return math.inf
        moments = appraiser.moments(draft)
        score, limit = moments.score(appraiser.target.maximum_loss), appraiser.target.maximum_loss
        if appraiser.promising(score) and self._met(draft):
            if not asked.lateness:
                best.offer(draft, energy)
            return energy
        shortfall = max(moments.mean + appraiser.needed_score * moments.deviation - limit, 0.0)
        return energy + max(self.price_of_loss * shortfall, _LEAST_PENALTY * self.unit)

    def _asked(self, draft: Draft) -> Resources:
        if draft not in self._resources:
            self._resources[draft] = self.best.appraiser.resources(draft)
        return self._resources[draft]

    def _met(self, draft: Draft) -> bool:
        if draft not in self._certified:
            self._certified[draft] = self.best.appraiser.met(draft)
        return self._certified[draft]

    def _neighbour(self, draft: Draft) -> Draft | None:
        """The draft after a random move that makes no forbidden switch; None after many draws of none."""
        appraiser = self.best.appraiser
        for _ in range(_DRAWS_OF_A_MOVE):
            proposed = self.moves[int(self.rng.integers(len(self.moves)))](self.rng, draft)
            length = len(proposed.models)
            if proposed is draft or not 1 <= length <= appraiser.target.maximum_epochs:
                continue
            proposed = replace(proposed, data=appraiser.within_rules(proposed.data))
            if (
                proposed.models is draft.models or appraiser.allowed(proposed.models)
            ) and appraiser.keeps_rules(proposed):
                return proposed
        return None


def _moves(instance: Instance) -> list[Move]:
    """The moves that an instance leaves room for."""
    names = [item.name for item in instance.datasets]
    models, clusters = len(instance.models), len(instance.clusters)
    moves: list[Move] = [_lengthen, _shorten]
    if models > 1:
        moves += [lambda rng, draft: _remodel(rng, draft, models)]
    if clusters > 1:
        moves += [lambda rng, draft: _relocate(rng, draft, clusters, names)]
    if models > 1 or clusters > 1:
        moves += [_exchange]
    if len(names) > 1:
        moves += [lambda rng, draft: _toggle(rng, draft, names)]
    return moves


def _run(rng: np.random.Generator, draft: Draft) -> slice:
    """A random run of epochs, short ones more often."""
    epochs = len(draft.models)
    length = min(1 + int(rng.exponential(_MEAN_RUN * epochs) * rng.random()), epochs)
    first = int(rng.integers(epochs - length + 1))
    return slice(first, first + length)


def _replaced(values: tuple[int, ...], chosen: slice, value: int) -> tuple[int, ...]:
    changed = list(values)
    changed[chosen] = [value] * (chosen.stop - chosen.start)
    return tuple(changed)


def _remodel(rng: np.random.Generator, draft: Draft, models: int) -> Draft:
    return replace(draft, models=_replaced(draft.models, _run(rng, draft), int(rng.integers(models))))


def _relocate(rng: np.random.Generator, draft: Draft, clusters: int, names: list[str]) -> Draft:
    """Another cluster for a run; half of the time with data drawn anew, if it did not train before."""
    n, data = int(rng.integers(clusters)), draft.data
    if n not in draft.clusters and len(names) > 1 and rng.random() < 0.5:
        data = (*data[:n], random_data(rng, names), *data[n + 1 :])
    return Draft(draft.models, _replaced(draft.clusters, _run(rng, draft), n), data)


def _lengthen(rng: np.random.Generator, draft: Draft) -> Draft:
    k = int(rng.integers(len(draft.models)))
    return _spliced(draft, slice(k, k), slice(k, k + 1))


def _shorten(rng: np.random.Generator, draft: Draft) -> Draft:
    k = int(rng.integers(len(draft.models)))
    return _spliced(draft, slice(k, k + 1), slice(0, 0))


def _spliced(draft: Draft, taken: slice, given: slice) -> Draft:
    """The draft with one part of its epochs in the place of another."""
    first, rest = slice(0, taken.start), slice(taken.stop, None)
    return Draft(
        draft.models[first] + draft.models[given] + draft.models[rest],
        draft.clusters[first] + draft.clusters[given] + draft.clusters[rest],
        draft.data,
    )


def _exchange(rng: np.random.Generator, draft: Draft) -> Draft:
    first, second = (int(k) for k in rng.integers(len(draft.models), size=2))
    models, clusters = list(draft.models), list(draft.clusters)
    models[first], models[second] = models[second], models[first]
    clusters[first], clusters[second] = clusters[second], clusters[first]
    return Draft(tuple(models), tuple(clusters), draft.data)


def _toggle(rng: np.random.Generator, draft: Draft, names: list[str]) -> Draft:
    """A dataset more or less for a used cluster, or for all clusters alike; none is left without data."""
    name = names[int(rng.integers(len(names)))]
    used = sorted(set(draft.clusters))
    alone = used[int(rng.integers(len(used)))]
    everywhere = rng.random() < 0.5
    leaving = name in draft.data[alone]

    def changed(n: int, datasets: frozenset[str]) -> frozenset[str]:
        if not everywhere and n != alone:
            return datasets
        return (datasets - {name} or datasets) if leaving else datasets | {name}

    return replace(draft, data=tuple(changed(n, datasets) for n, datasets in enumerate(draft.data)))
