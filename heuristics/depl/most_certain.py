"""When nothing was found: the sequences that are most certain to meet the target, within the time limits.

Prices of gain and variance far above all costs, and prices of time between none and far above those: the
cheapest sequences at such prices trade the lowest quantile against the time that full resources take. Of
sequences that take too long, the longest beginning that does not is tried.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from depl.heuristics.bounds.cutting_planes import Cut, Prices
from depl.heuristics.bounds.dual import Dual
from depl.heuristics.depl.calibration import Reference
from depl.heuristics.depl.data_stage import DataStage
from depl.heuristics.depl.model_stage import Candidate, Kind, ModelStage

_WEIGHTS = (0.0, 0.5, 1.0, 2.0)
"""Prices of the variance, in units of the slope of the margin against it at the reference. Set by hand: 1 is
right near the reference; 0 looks at the mean alone, and the others stand for smaller and larger variances."""
_TIME_PRICES = np.geomspace(1e-4, 1e4, 33)
"""Prices of time, in units at which T_max is worth as much as the largest gain of an epoch; over eight
decades they are a factor of 1.8 apart. Set by hand: finer steps look at more sequences between the lowest
quantile and the least time."""
_FAR = 1e6
"""Price of the largest gain of an epoch in units of the highest cost of a plan: a millionth of that gain is
worth more than all costs, so that quantile and time decide, and doubles keep ten digits of the costs beside
it."""


@dataclass(frozen=True)
class MostCertain:
    """A certified candidate, if there is one, the best quantile met, and prices to go on from."""

    candidate: Candidate | None
    quantile: float
    prices: Prices


def most_certain(stage: ModelStage, dual: Dual, data: DataStage, reference: Reference) -> MostCertain:
    """Certify the sequences of lowest quantile that keep the time limits."""
    part = data.everything()
    gain = stage.learning.gains
    size = dual.highest_cost / max(float(np.abs(gain).max(initial=0.0)), 1e-300) * _FAR
    unit = dual.highest_cost / max(dual.maximum_time or 1.0, 1e-300) * _FAR
    slope = max(reference.margin, 0.0) / (2 * reference.deviation**2) if reference.deviation > 0 else 0.0
    best, lowest, prices = None, math.inf, Prices(unit, size, 0.0)
    tried: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for weight in _WEIGHTS:
        for step in _TIME_PRICES if dual.maximum_time is not None else (0.0,):
            here = Prices(unit * step, size, size * slope * weight)
            _, cut = dual.cheapest(part, here)
            key = None if cut is None else (tuple(cut.models.tolist()), tuple(cut.sites.tolist()))
            if cut is None or key is None or key in tried or stage.limits.expired():
                continue
            tried.add(key)
            candidate = _candidate(stage, data, cut)
            if not math.isfinite(candidate.cost):
                continue
            quantile = stage.judge.reference(candidate.loss).quantile
            lowest = min(lowest, quantile)
            if (best is None or candidate.cost < best.cost) and stage.certified(candidate):
                best, prices = candidate, here
    return MostCertain(best, lowest, prices)


def _candidate(stage: ModelStage, data: DataStage, cut: Cut) -> Candidate:
    """A sequence with one site for every cluster: the one of largest h among those it uses.

    Only its beginning as far as the time limits are kept, and to a model that may be the last.
    """
    sites = data.sites
    chosen: dict[int, int] = {}
    for site in np.flatnonzero(cut.uses).tolist():
        n = sites.sites[site].cluster
        if n not in chosen or sites.factors[site] > sites.factors[chosen[n]]:
            chosen[n] = site
    clusters = tuple(sites.sites[site].cluster for site in cut.sites.tolist())
    models = tuple(cut.models.tolist())
    given = {n: sites.sites[site].datasets for n, site in chosen.items()}
    sequence = [Kind(n, m) for n, m in zip(clusters, models, strict=True)]
    length = _in_time(stage, given, sequence)
    while length and not stage.learning.may_end[models[length - 1]]:
        length -= 1
    models, clusters = models[:length], clusters[:length]
    loss = stage.learning.loss(models, [float(sites.factors[chosen[n]]) for n in clusters])
    cost = stage.cost(given, sequence[:length]) if length else math.inf
    return Candidate(given, models, clusters, cost, loss)


def _in_time(stage: ModelStage, data: Mapping[int, frozenset[str]], sequence: list[Kind]) -> int:
    """The most epochs at the beginning of a sequence that keep the time limits."""
    if math.isfinite(stage.cost(data, sequence)):
        return len(sequence)
    low, high = 0, len(sequence) - 1
    while low < high:
        middle = (low + high + 1) // 2
        late = math.isinf(stage.cost(data, sequence[:middle]))
        low, high = (low, middle - 1) if late else (middle, high)
    return low
