"""Stages 2 and 3 on given data: sequences of models and clusters by a bound of their cost, each certified.

Where sequences are short they are ranked by psi at one price of time, a lower bound of the real cost, up to
a label (`depl.heuristics.depl.labels`, nearly the quantile) of l_max and a slack. The cheapest that is
certified is kept, so nothing is blacklisted: what comes next costs at least as much as its weight.
Where nothing was found, the sequences that are most certain to meet the target follow (`most_certain`).
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from depl.heuristics.bounds.dual import Cut, Dual, Prices
from depl.heuristics.bounds.learning import Learning, distinct_terms, scaled
from depl.heuristics.data.sites import DataFactors, Site, Sites
from depl.heuristics.depl.data_stage import DataStage
from depl.heuristics.depl.labels import Judge, Reference
from depl.heuristics.paths.additive_labels import AdditiveLabel
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.ranking import RankedPaths
from depl.models.exact.choices import build_plan
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, LossStep, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.solving.limits import Limits

_PATHS = 20
"""Lightest paths at one price of time that are judged. Set by hand: their weight is a lower bound of the cost
only, so the cheapest need not come first; doubled, more certificates are paid for rarely cheaper plans."""
_SHORT = 600
"""Steps, kinds x K, up to which sequences are ranked. Set by hand: ranked paths keep labels for every step;
longer ones are improved at their prices instead."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A sequence with its data, cost and final loss; models and clusters by position."""

    data: Mapping[int, frozenset[str]]
    models: tuple[int, ...]
    clusters: tuple[int, ...]
    cost: float
    loss: FinalLoss


class Kind(NamedTuple):
    """What an epoch may do on given data: a cluster and a model, by position in the instance."""

    cluster: int
    model: int


@dataclass(eq=False)
class ModelStage:
    """Everything that the searches of one instance share."""

    instance: Instance
    learning: Learning
    factors: DataFactors
    judge: Judge
    limits: Limits

    def __post_init__(self) -> None:
        """Searches within do not report: their weights are no costs of plans."""
        self.limits = replace(self.limits, progress=None)

    def is_long(self, kinds: Sequence[Kind]) -> bool:
        """Whether there are too many steps to rank sequences."""
        return len(kinds) * self.instance.target.maximum_epochs > _SHORT

    def paths(
        self,
        data: Mapping[int, frozenset[str]],
        kinds: Sequence[Kind],
        label: AdditiveLabel,
        slack: float,
        cutoff: float,
        multiplier: float,
    ) -> tuple[Candidate | None, Candidate | None]:
        """The cheapest certified sequence on some data, ranked by psi at one price, and the first refused.

        Parameters
        ----------
        data, kinds
            Datasets of every cluster that may train, and what epochs may do.
        label, slack
            What stands for the quantile, and how far it may lie above l_max [loss].
        cutoff : float
            Only sequences that cost less [cost].
        multiplier : float
            The price [cost / time].
        """
        if not kinds:
            return None, None
        kinds = sorted(kinds)
        sites = self._sites(data, {kind.cluster for kind in kinds})
        problem = self._problem(sites, kinds, label, slack, multiplier)
        paid = multiplier * (self.instance.target.maximum_time or 0.0)
        best: Candidate | None = None
        nearest: Candidate | None = None
        for path in itertools.islice(RankedPaths(problem, self.limits), _PATHS):
            if path.weight - paid >= cutoff or self.limits.expired():
                break
            sequence = [kinds[g] for g in path.models]
            cost = self._cost(sites, sequence)
            if cost >= cutoff:
                continue
            candidate = self._candidate(data, sequence, cost)
            if self.certified(candidate):
                best, cutoff = candidate, cost
            else:
                nearest = nearest or candidate
        return best, nearest

    def certified(self, found: Candidate) -> bool:
        """Whether a candidate may end as it does, and is certified to meet the target."""
        ends = self.learning.may_end[found.models[-1]] if found.models else self.instance.rules.may_stop
        return bool(ends) and self.judge.met(found.loss)

    def plan(self, found: Candidate) -> Plan:
        """The plan of a candidate, with the cheapest resources."""
        instance, names = self.instance, [place.name for place in self.instance.clusters]
        pairs = zip(found.models, found.clusters, strict=True)
        schedule = [(instance.models[m].name, names[n]) for m, n in pairs]
        return build_plan(instance, {names[n]: found.data[n] for n in set(found.clusters)}, schedule)

    def cost(self, data: Mapping[int, frozenset[str]], sequence: Sequence[Kind]) -> float:
        """Transfers and the cheapest resources; infinite if the time limits cannot be kept [cost]."""
        return self._cost(self._sites(data, {kind.cluster for kind in sequence}), sequence)

    def _sites(self, data: Mapping[int, frozenset[str]], clusters: Iterable[int]) -> Sites:
        return Sites.of(self.instance, [Site(n, data[n]) for n in sorted(clusters)], self.factors)

    def _cost(self, sites: Sites, sequence: Sequence[Kind]) -> float:
        target, place = self.instance.target, {site.cluster: n for n, site in enumerate(sites.sites)}
        loads = [sites.load(k, m, place[n]) for k, (n, m) in enumerate(sequence)]
        paid = [sites.transfers[place[n]] for n in sorted({kind.cluster for kind in sequence})]
        return math.fsum([allocate(loads, target.maximum_time, target.round_deadline).cost, *paid])

    def _candidate(
        self, data: Mapping[int, frozenset[str]], sequence: Sequence[Kind], cost: float
    ) -> Candidate:
        clusters, models = tuple(n for n, _ in sequence), tuple(m for _, m in sequence)
        h = {n: self.factors.of(data[n]) for n in set(clusters)}
        return Candidate(data, models, clusters, cost, self.learning.loss(models, [h[n] for n in clusters]))

    def _problem(
        self,
        sites: Sites,
        kinds: Sequence[Kind],
        label: AdditiveLabel,
        slack: float,
        multiplier: float,
    ) -> AdditiveProblem:
        """Paths of kinds weighed by psi and their share of the transfers, without a time row.

        The models of the path problem are the kinds, in order.
        """
        learning, target = self.learning, self.instance.target
        epochs, models = target.maximum_epochs, [m for _, m in kinds]
        place = {site.cluster: n for n, site in enumerate(sites.sites)}
        pairs = [(place[n], m) for n, m in kinds]
        psi = sites.at(multiplier).psi
        rows = np.minimum(np.arange(epochs), len(psi) - 1)
        shares = sites.transfers / max(1, epochs)
        weights = np.array([psi[rows, m, n] + shares[n] for n, m in pairs]).T
        in_time = np.isfinite(weights)
        follow = learning.allowed[np.ix_([*models, len(learning.switches) - 1], models)]
        problem = AdditiveProblem(
            models=tuple(map(str, range(len(kinds)))),
            weights=np.where(in_time, weights, 0.0),
            times=np.zeros(weights.shape),
            losses=_label_steps(learning, label, [(float(sites.factors[n]), m) for n, m in pairs]),
            allowed=in_time[:, None, :] & follow[None],
            initial_loss=learning.initial_loss,
            maximum_loss=target.maximum_loss - label.surcharge + slack,
            maximum_time=math.inf,
        )
        return problem.ending_with(learning.may_end[models], self.instance.rules.may_stop)


def _label_steps(learning: Learning, label: AdditiveLabel, kinds: Sequence[tuple[float, int]]) -> FloatArray:
    """The label of every step, shape (K, G + 1, G): after each (factor h, model), then at the start."""
    models = [m for _, m in kinds]
    runs = distinct_terms([row[m] for row in learning.runs for m in models])
    changes = distinct_terms([row[m] for row in learning.switches for m in models])
    factors = {h for h, _ in kinds}
    terms = list(dict.fromkeys([*(scaled(term, h) for term in runs for h in factors), *changes]))
    values: dict[Term, float] = dict(zip(terms, label.values(terms).tolist(), strict=True))

    def of(step: LossStep | None, factor: float) -> float:
        if step is None:
            return 0.0
        return factor * step.shift + math.fsum(values[scaled(term, factor)] for term in step.terms)

    before = [learning.switches[p] for p in (*models, len(learning.switches) - 1)]
    added = np.array([[of(row[m], h) for h, m in kinds] for row in learning.runs])
    return np.asarray(added[:, None] + np.array([[of(row[m], 1.0) for m in models] for row in before]))


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


def most_certain(
    stage: ModelStage, dual: Dual, data: DataStage, reference: Reference
) -> tuple[Candidate | None, float, Prices]:
    """The cheapest certified one of the sequences of lowest quantile that keep the time limits.

    With it come the lowest quantile that was met, and prices to go on from.
    """
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
    return best, lowest, prices


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
