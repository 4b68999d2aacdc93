"""Stages 2 and 3 on given data: sequences of models and clusters by a bound of their cost, each certified.

Where sequences are short they are ranked by psi at one price of time, a lower bound of the real cost, up to
a label (`depl.heuristics.depl.calibration`, nearly the quantile) of l_max and a slack. The cheapest that is
certified is kept, so nothing is blacklisted: what comes next costs at least as much as its weight.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from depl.heuristics.bounds.learning import Learning, distinct_terms, scaled
from depl.heuristics.data.sites import DataFactors, Site, Sites
from depl.heuristics.depl.calibration import Judge
from depl.heuristics.paths.additive_labels import AdditiveLabel
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.ranking import RankedPaths
from depl.models.problem.allocation import Allocation, allocate
from depl.models.problem.epochs import FinalLoss, LossStep, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving.methods import Limits

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


@dataclass(frozen=True)
class Searched:
    """The cheapest certified candidate below the cutoff, and the first one that was refused."""

    found: Candidate | None
    nearest: Candidate | None


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
    ) -> Searched:
        """The cheapest certified sequence on some data, ranked by psi at one price of time.

        Parameters
        ----------
        data : mapping of int to frozenset
            Datasets of every cluster that may train.
        kinds : sequence of Kind
            What epochs may do.
        label : AdditiveLabel
            What stands for the quantile.
        slack : float
            How far the label may lie above l_max [loss].
        cutoff : float
            Only sequences that cost less [cost].
        multiplier : float
            The price [cost / time].
        """
        if not kinds:
            return Searched(None, None)
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
        return Searched(best, nearest)

    def certified(self, found: Candidate) -> bool:
        """Whether a candidate may end as it does, and is certified to meet the target."""
        models, rules = found.models, self.instance.rules
        ends = self.learning.may_end[models[-1]] if models else rules.may_stop
        return bool(ends) and self.judge.met(found.loss)

    def plan(self, found: Candidate) -> Plan:
        """The plan of a candidate, with the cheapest resources."""
        instance = self.instance
        used = sorted(set(found.clusters))
        steps = [Kind(n, m) for m, n in zip(found.models, found.clusters, strict=True)]
        resources = self._allocation(self._sites(found.data, used), steps).resources.tolist()
        order = [item.name for item in instance.datasets]
        return Plan(
            instance=instance.fingerprint,
            data=tuple(
                ClusterData(
                    cluster=instance.clusters[n].name,
                    datasets=tuple(name for name in order if name in found.data[n]),
                )
                for n in used
            ),
            epochs=tuple(
                PlannedEpoch(model=instance.models[m].name, cluster=instance.clusters[n].name, resources=x)
                for (n, m), x in zip(steps, resources, strict=True)
            ),
        )

    def cost(self, data: Mapping[int, frozenset[str]], sequence: Sequence[Kind]) -> float:
        """Transfers and the cheapest resources; infinite if the time limits cannot be kept [cost]."""
        return self._cost(self._sites(data, {kind.cluster for kind in sequence}), sequence)

    def _sites(self, data: Mapping[int, frozenset[str]], clusters: Iterable[int]) -> Sites:
        return Sites.of(self.instance, [Site(n, data[n]) for n in sorted(clusters)], self.factors)

    def _cost(self, sites: Sites, sequence: Sequence[Kind]) -> float:
        used = {kind.cluster for kind in sequence}
        paid = [sites.transfers[n] for n, site in enumerate(sites.sites) if site.cluster in used]
        return math.fsum([self._allocation(sites, sequence).cost, *paid])

    def _allocation(self, sites: Sites, sequence: Sequence[Kind]) -> Allocation:
        place = {site.cluster: n for n, site in enumerate(sites.sites)}
        loads = [sites.load(k, m, place[n]) for k, (n, m) in enumerate(sequence)]
        target = self.instance.target
        return allocate(loads, target.maximum_time, target.round_deadline)

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
            losses=_LabelValues(learning, label, models, sites.factors.tolist()).steps(pairs),
            allowed=in_time[:, None, :] & follow[None],
            initial_loss=learning.initial_loss,
            maximum_loss=target.maximum_loss - label.surcharge + slack,
            maximum_time=math.inf,
        )
        return problem.ending_with(learning.may_end[models], self.instance.rules.may_stop)


class _LabelValues:
    """The label of every step that some models can make on some data."""

    def __init__(
        self,
        learning: Learning,
        label: AdditiveLabel,
        models: Sequence[int],
        factors: Sequence[float],
    ) -> None:
        self._learning, self._factors = learning, factors
        runs = distinct_terms([row[m] for row in learning.runs for m in models])
        changes = distinct_terms([row[m] for row in learning.switches for m in models])
        terms = list(dict.fromkeys([*(scaled(term, h) for term in runs for h in set(factors)), *changes]))
        self._values: dict[Term, float] = dict(zip(terms, label.values(terms).tolist(), strict=True))

    def steps(self, kinds: Sequence[tuple[int, int]]) -> FloatArray:
        """Label of every step, shape (K, G + 1, G): after each (site, model), then at the start."""
        learning = self._learning
        models = [m for _, m in kinds]
        runs = [[self._label(row[m], self._factors[n]) for n, m in kinds] for row in learning.runs]
        before = [learning.switches[p] for p in (*models, len(learning.switches) - 1)]
        changes = [[self._label(row[m], 1.0) for m in models] for row in before]
        return np.asarray(np.array(runs)[:, None, :] + np.array(changes)[None])

    def _label(self, step: LossStep | None, factor: float) -> float:
        if step is None:
            return 0.0
        return factor * step.shift + math.fsum(self._values[scaled(term, factor)] for term in step.terms)
