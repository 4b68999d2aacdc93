"""All plans, divided by the volumes of the data on their clusters: a bound that rises as parts are divided.

A plan has one set of data on a cluster, the relaxation may have another one in every epoch. In a *part* the
volumes on some clusters lie in a window each, or there is no data. What is proved of its plans is the least
over the ranges of all classes (`depl.heuristics.bounds.tilted_bound`) on a frontier within the windows
(`depl.heuristics.bounds.frontier.Frontier.within`). The part of least bound is divided at the cluster on
which its cheapest sequence disagrees most about the volume (docs, *The loop*).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from depl.heuristics.bounds.dual import Part
from depl.heuristics.bounds.frontier import Frontier, Integers
from depl.heuristics.bounds.tilted_bound import Classes, Opened
from depl.models.foundation.search import BestFirst
from depl.models.problem.laws import FloatArray

_APART = 1e-3
"""Sums over the epochs of how far the logarithms of h on a cluster are from their mean, up to which it agrees
with itself. Set by hand: below, all its sets are worth nearly the same, and to divide them proves no more."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Some plans, and what is proved of them.

    Attributes
    ----------
    spans : mapping of int to (int, int)
        Windows by cluster, by position; an empty one: no data there.
    obliged : frozenset of int
        Clusters that have data.
    items : tuple of Opened
        Ranges in which a plan may cost less than the one that is held; ``value`` is what is proved of each.
    bound : float
        None of these plans costs less, or none less than the plan that is held [cost].
    uses : mapping of int to int array
        By cluster the intervals that the epochs of the cheapest sequence use, at the prices that decide.
    """

    spans: Mapping[int, tuple[int, int]]
    obliged: frozenset[int]
    items: tuple[Opened, ...]
    bound: float = 0.0
    uses: Mapping[int, Integers] = field(default_factory=dict)


def divided_bounds(
    classes: Classes, frontier: Frontier, items: Iterable[Opened], cost: float, stop: Callable[[], bool]
) -> Iterator[float]:
    """Rising lower bounds of all plans, up to the cost of one that is held, until dividing is of no more use.

    Parameters
    ----------
    classes : Classes
        On the frontier.
    items : iterable of Opened
        All ranges, with what is ``proved`` of each.
    cost : float
        Of a plan [cost].
    stop : callable
        Whether to be content with what is proved so far.
    """
    alive = tuple(replace(item, value=item.proved) for item in items if item.proved < cost)
    waiting = BestFirst[Windows]()
    root = _bounded(classes, frontier, Windows({}, frozenset(), alive), cost, stop)
    waiting.push(root.bound, root)
    while True:
        yield waiting.least
        if waiting.least >= cost or stop():
            return
        bound, chosen = waiting.pop()
        parts = _parts(frontier, chosen)
        if not parts:
            return
        for part in parts:
            found = _bounded(classes, frontier, part, cost, stop)
            waiting.push(max(found.bound, bound), replace(found, bound=max(found.bound, bound)))


def _bounded(
    classes: Classes, frontier: Frontier, part: Windows, cost: float, stop: Callable[[], bool]
) -> Windows:
    """The part with what is proved of it: until the least is of a range that has prices of its own."""
    places, paid = frontier.within(part.spans, part.obliged)
    here = classes.on(places, Part(np.zeros(len(places.low)), paid))
    waiting = BestFirst[Opened]()
    for item in part.items:
        waiting.push(item.value, replace(item, proved_at=None, settled=False))
    while waiting.least < cost and not stop():
        _, item = waiting.pop()
        if item.proved_at is None:
            item.value, item.proved_at = max(item.value, here.at_prices(item)[0]), (0, item.prices)
        elif not item.settled:
            here.settle(item, cost)
        waiting.push(item.value, item)
        if item.settled and item.value <= waiting.least:
            break
    left = sorted((item for item in waiting if item.value < cost), key=lambda item: item.value)
    if not left:
        return replace(part, items=(), bound=cost)
    return replace(part, items=tuple(left), bound=left[0].value, uses=_uses(here, places, left[0]))


def _uses(here: Classes, places: Frontier, item: Opened) -> dict[int, Integers]:
    """The intervals that the cheapest sequence at the prices of a range uses, by cluster."""
    _, cut = here.at_prices(item)
    if cut is None:
        return {}
    stretches = np.zeros(len(cut.models), dtype=np.int64)
    if places.stretches is not None:
        stretches = places.stretches[: len(cut.models)]
    clusters = np.empty(len(cut.models), dtype=np.int64)
    for b, weights in enumerate(places.weights):
        mine, (_, _, rows) = stretches == b, places.rows_at(item.prices.time, weights)
        clusters[mine] = places.clusters[rows[cut.models[mine], cut.sites[mine]]]
    return {int(n): cut.sites[clusters == n] // 2 for n in np.unique(clusters)}


def _parts(frontier: Frontier, chosen: Windows) -> list[Windows]:
    """Parts that have all plans of one between them; none where its cheapest sequence divides nothing."""
    logarithms = np.log(np.maximum(frontier.high[::2], np.finfo(float).tiny))
    apart = {
        n: float(np.abs(x - x.mean()).sum())
        for n, used in chosen.uses.items()
        if (x := logarithms[used]).size
    }
    cluster = max(apart, key=lambda n: apart[n], default=-1)
    if cluster >= 0 and apart[cluster] > _APART:
        first, end = chosen.spans.get(cluster, (0, len(logarithms)))
        middle = max(first + 1, _middle(chosen.uses[cluster], logarithms))
        spans, obliged = [(first, middle), (middle, end)], chosen.obliged | {cluster}
        parts = [replace(chosen, spans={**chosen.spans, cluster: span}, obliged=obliged) for span in spans]
    else:
        paid = {
            n: len(used) for n, used in chosen.uses.items() if n not in chosen.obliged and _pays(frontier, n)
        }
        if not paid:
            return []
        cluster = max(paid, key=lambda n: paid[n])
        parts = [replace(chosen, obliged=chosen.obliged | {cluster})]
    if cluster not in chosen.obliged:
        parts.append(replace(chosen, spans={**chosen.spans, cluster: (0, 0)}))
    return parts


def _middle(used: Integers, logarithms: FloatArray) -> int:
    """Where to divide: half way between the intervals with less than the mean of ln h and those with more."""
    less = logarithms[used] <= logarithms[used].mean()
    below, above = int(used[less].max()), int(used[~less].min())
    return min(max((below + 1 + above) // 2, below + 1), above)


def _pays(frontier: Frontier, cluster: int) -> bool:
    """Whether some set costs something to bring to a cluster."""
    return bool((frontier.charges[frontier.clusters == cluster] > 0).any())
