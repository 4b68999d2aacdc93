"""``density-greedy``: the greedy rule for knapsacks, by value density, with a repair (after Property 1).

Reaching a target is a covering knapsack: every epoch is an item (model, cluster), its *value* the fall of the
expected loss, less what the switch to it loses. Its weight is the least kappa x + lam (c / x + s), plus nu
and F / K_max, for all pairs of a price of time lam and of an epoch nu on a grid; data come by density of
volume per work and per cost of the transfer. Items are taken by falling density, and of this order the fewest
epochs that are certified are kept; of the cheapest drafts epochs are dropped or trained with a cheaper item,
one by one. What the rule knows of chance is the certificate alone: it sees means.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.baselines.drafts import Appraiser, Best, Draft, searched
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import Site, Sites
from depl.models.problem.epochs import compute
from depl.models.problem.instance import Cluster, Dataset, Instance
from depl.models.problem.laws import FloatArray
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome

_TIME_PRICES = np.geomspace(1e-3, 1e3, 13)
"""Prices of time, half a decade apart, in units of the most expensive full resources per quickest epoch. Set
by hand: each costs one draft for every price of an epoch."""
_FREE = 1e-12
"""Of the most expensive full resources: items that weigh less count as equally light."""
_EPOCH_PRICES = (0.0, *np.geomspace(1e-2, 1e2, 9).tolist(), 1e6)
"""Prices of an epoch in units of the most expensive full resources: none, half a decade apart, and one at
which only the number of epochs counts. Set by hand: each costs one draft for every price of time."""
_MOST_PREFIXES = 8
"""Prefixes of an order of the datasets that are tried, at sizes in geometric progression where there are
more. Set by hand: each costs the drafts of all prices."""
_MOST_AHEAD = 2**16
"""Items times epochs that are looked at ahead, while the model stays: set by hand, 512 KiB for an array. It
changes seconds, not what is found."""
_REDUCED = 10
"""Drafts, the cheapest first, that are reduced in the end. Set by hand: each costs certificates; one that
begins more expensive may end cheaper, so fewer may miss the best."""


def density_greedy(instance: Instance, limits: Limits) -> Outcome:
    """The knapsack heuristic by value density: expected fall of the loss per priced cost, then repaired."""
    return searched(instance, limits, _search)


def _search(best: Best) -> None:
    appraiser = best.appraiser
    found: dict[Draft, float] = {}
    tried: set[Draft] = set()
    for draft in _drafts(appraiser):
        if best.limits.expired():
            return
        if draft in tried:
            continue
        tried.add(draft)
        best.looked_at += 1
        short = appraiser.shortest(draft)
        if short is not None and short not in found:
            asked = appraiser.resources(short)
            if not asked.lateness:
                found[short] = asked.cost
                best.offer(short, asked.cost)
    for draft in sorted(found, key=lambda item: found[item])[:_REDUCED]:
        _reduce(best, draft)


def _drafts(appraiser: Appraiser) -> Iterator[Draft]:
    """K_max epochs by density, for every choice of data and all prices."""
    if not appraiser.target.maximum_epochs:
        return
    for data in _data_choices(appraiser.instance):
        data = appraiser.within_rules(data)
        places = [Site(n, datasets) for n, datasets in enumerate(data)]
        sites = Sites.of(appraiser.instance, places, appraiser.factors)
        most_expensive = float((sites.price * sites.capacity).max())
        whole = np.isfinite(sites.fastest)
        quickest = float(sites.fastest[whole].min(initial=math.inf))
        if not math.isfinite(quickest):
            continue
        unit = most_expensive / quickest if quickest > 0 else most_expensive
        timed = appraiser.target.maximum_time is not None
        free = appraiser.target.round_deadline is not None
        for price in (*((0.0,) if free else ()), *(_TIME_PRICES if timed else ())):
            psi = sites.at(unit * price).psi + sites.transfers / appraiser.target.maximum_epochs
            for epoch_price in _EPOCH_PRICES:
                # where nothing costs anything, all items are equally light
                lightest = _FREE * (most_expensive or 1.0)
                weights = np.maximum(psi + epoch_price * most_expensive, lightest)
                yield _by_density(appraiser, sites, data, weights)


def _by_density(
    appraiser: Appraiser, sites: Sites, data: tuple[frozenset[str], ...], weights: FloatArray
) -> Draft:
    """Epoch by epoch the densest item; it ends where every item would raise the expected loss.

    ``weights`` has the shape (1 or K, M, N); they are positive.
    """
    models: list[int] = []
    clusters: list[int] = []
    before, ahead, last = appraiser.start, 1, appraiser.target.maximum_epochs
    while len(models) < last:
        epochs = slice(len(models), min(len(models) + ahead, last))
        for item in _densest(appraiser.learning, sites, before, epochs, weights).tolist():
            if item < 0:
                return Draft(tuple(models), tuple(clusters), data)
            model, cluster = divmod(item, len(sites.price))
            models.append(model)
            clusters.append(cluster)
            if model != before:  # what was looked at ahead had no switch
                before, ahead = model, 1
                break
        else:
            ahead = min(2 * ahead, max(1, _MOST_AHEAD // weights[0].size))
    return Draft(tuple(models), tuple(clusters), data)


def _densest(
    learning: Learning, sites: Sites, before: int, epochs: slice, weights: FloatArray
) -> NDArray[np.intp]:
    """The densest item of every epoch if the model before it is ``before``: M index times N plus N index.

    -1 where every item would raise the expected loss.
    """
    switches = learning.switch_losses[before] + learning.end_charges[before]
    values = learning.gains[epochs][:, :, None] * sites.factors - switches[:, None]
    weight = weights if len(weights) == 1 else weights[epochs]
    possible = learning.allowed[before][:, None] & np.isfinite(weight)
    values = np.where(possible, values, -math.inf).reshape(len(values), -1)
    density = values / np.where(np.isfinite(weight), weight, 1.0).reshape(len(weight), -1)
    return np.where(values.max(axis=1) > 0, density.argmax(axis=1), -1)


def _data_choices(instance: Instance) -> Iterator[tuple[frozenset[str], ...]]:
    """The first datasets by volume per work, then by volume per cost of their transfer to each cluster."""
    datasets, places = instance.datasets, instance.clusters

    def per_work(item: Dataset) -> float:
        """Work of an epoch on this dataset alone, summed over the models, per volume."""
        alone = frozenset({item.name})
        return math.fsum(compute(instance, 1, model.name, alone) for model in instance.models) / item.volume

    def per_transfer(item: Dataset, place: Cluster) -> tuple[float, float]:
        """Cost of the transfer per volume; among free datasets the largest comes first."""
        return instance.transfer_cost(item.name, place.name) / item.volume, -item.volume

    by_work = sorted(datasets, key=per_work)
    by_transfer = [sorted(datasets, key=partial(per_transfer, place=place)) for place in places]
    sizes = np.arange(len(datasets), 0, -1)
    if len(datasets) > _MOST_PREFIXES:
        sizes = np.unique(np.geomspace(1, len(datasets), _MOST_PREFIXES).round().astype(int))[::-1]
    for orders in ([by_work] * len(places), by_transfer):
        for size in sizes.tolist():
            yield tuple(frozenset(item.name for item in order[:size]) for order in orders)


def _reduce(best: Best, draft: Draft) -> None:
    """From the last epoch to the first: drop it, or train it with the cheapest item that still suffices."""
    appraiser = best.appraiser
    cost = appraiser.resources(draft).cost
    for k in range(len(draft.models) - 1, -1, -1):
        if best.limits.expired():
            return
        found = [(appraiser.resources(other), other) for other in _cheaper(appraiser, draft, k)]
        best.looked_at += len(found)
        in_time = [(asked.cost, other) for asked, other in found if not asked.lateness and asked.cost < cost]
        for less, other in sorted(in_time, key=lambda item: item[0]):
            if appraiser.promising(float(appraiser.scores(other)[-1])) and appraiser.met(other):
                draft, cost = other, less
                best.offer(draft, cost)
                break


def _cheaper(appraiser: Appraiser, draft: Draft, epoch: int) -> Iterator[Draft]:
    """The draft without an epoch, or with another model or cluster for it; only clusters that train."""
    if len(draft.models) > 1:
        rest = draft.without(epoch)
        if appraiser.allowed(rest.models):
            yield rest
    models, clusters = list(draft.models), list(draft.clusters)
    for m in range(len(appraiser.instance.models)):
        models[epoch] = m
        if not appraiser.allowed(models):
            continue
        for n in sorted(set(draft.clusters)):
            if (m, n) != (draft.models[epoch], draft.clusters[epoch]):
                clusters[epoch] = n
                yield Draft(tuple(models), tuple(clusters), draft.data)
