"""Stages 2 and 3 on given data: sequences of models and clusters by increasing real cost, each certified.

The label (`depl.heuristics.depl.calibration`) is nearly the quantile. Sequences are ranked on the real cost
(`depl.heuristics.paths.real_cost_ranking`), clusters and resources included, up to a label of l_max and a
slack, and the first that is certified is kept. So nothing is blacklisted: what comes next costs at least as
much.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.learning import Learning, distinct_terms, scaled
from depl.heuristics.data.sites import DataFactors, Site, Sites
from depl.heuristics.depl.calibration import Judge
from depl.heuristics.paths.additive_labels import AdditiveLabel
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.ranking import RankedPaths
from depl.heuristics.paths.real_cost_curves import PriceCurves
from depl.heuristics.paths.real_cost_problem import Kinds, RealCostProblem
from depl.heuristics.paths.real_cost_ranking import Ranking
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, LossStep, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving.methods import Limits

MOST_TRIED = 500
"""Sequences that one search judges."""

_PER_CLASS = 10
"""Sequences of one cost that are judged, those of least label first. Set by hand: they cost the same, so more
help only where the label orders them wrongly; each costs a certificate."""
_MOST_PREFIXES = 200_000
"""Merged prefixes of one threshold, a tenth of what `depl.heuristics.paths.real_cost_ranking` allows a
ranking of its own. Set by hand: rankings here are many; when it is reached, sequences beyond it are not
judged."""
_MOST_LABELS = 100_000
"""Labels of the search for the cheapest sequence, a tenth of what `depl.heuristics.paths.real_cost_search`
allows by itself. Set by hand: beyond, the search narrows, so its bound is weaker and a sequence may be
missed."""
_PATHS = 20
"""Lightest paths at one price of time that are judged. Set by hand: their weight is a lower bound of the cost
only, so the ranking by real cost follows where none is certified; doubled, it is needed less often."""
_SHORT = 600
"""Steps, kinds x K, up to which sequences are ranked by real cost. Set by hand: the classes of loads grow
with a power of K, so the ranking of longer ones runs into its limits; they are improved at their prices
instead."""


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
    """Everything that the searches of one instance share.

    Attributes
    ----------
    most_kinds : int
        Kinds that count at most where sequences are long.
    """

    instance: Instance
    learning: Learning
    factors: DataFactors
    judge: Judge
    limits: Limits
    most_kinds: int = 12

    def __post_init__(self) -> None:
        """Searches within do not report: their weights are no costs of plans."""
        self.limits = replace(self.limits, progress=None)

    @property
    def steps(self) -> int:
        """Steps that a search on one choice of data looks at, about: at most ``most_kinds`` in an epoch."""
        kinds = len(self.instance.clusters) * len(self.instance.models)
        epochs = self.instance.target.maximum_epochs
        return epochs * (min(kinds, self.most_kinds) if kinds * epochs > _SHORT else kinds)

    def is_long(self, kinds: Sequence[Kind]) -> bool:
        """Whether there are too many steps to rank sequences by their real cost."""
        return len(kinds) * self.instance.target.maximum_epochs > _SHORT

    def search(
        self,
        data: Mapping[int, frozenset[str]],
        kinds: Sequence[Kind],
        label: AdditiveLabel,
        slack: float,
        cutoff: float,
        most: int = MOST_TRIED,
    ) -> Searched:
        """The cheapest certified sequence on some data, ranked by real cost.

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
        most : int
            Sequences that are judged at most.
        """
        problem = self.problem(data, kinds, label, slack)
        nearest, tried = None, 0
        for group in Ranking(problem, self.limits, _MOST_PREFIXES, most_labels=_MOST_LABELS):
            if group.cost >= cutoff:
                break
            for item in itertools.islice(group.sequences(), _PER_CLASS):
                candidate = self._candidate(data, problem, item.sequence, item.cost)
                tried += 1
                if self.certified(candidate):
                    return Searched(candidate, nearest)
                nearest = nearest or candidate
            if tried >= most or self.limits.expired():
                break
        return Searched(None, nearest)

    def paths(
        self,
        data: Mapping[int, frozenset[str]],
        kinds: Sequence[Kind],
        label: AdditiveLabel,
        slack: float,
        cutoff: float,
        multiplier: float,
    ) -> Searched:
        """As `search`, ranked by psi at one price of time: a lower bound of the real cost.

        Parameters
        ----------
        multiplier : float
            The price [cost / time].
        """
        problem = self.problem(data, kinds, label, slack)
        layered = self._layered(problem, multiplier)
        paid = 0.0 if problem.maximum_time is None else multiplier * problem.maximum_time
        best: Candidate | None = None
        nearest: Candidate | None = None
        for path in itertools.islice(RankedPaths(layered, self.limits), _PATHS):
            if path.weight - paid >= cutoff or self.limits.expired():
                break
            cost = problem.cost(path.models)
            if cost >= cutoff:
                continue
            candidate = self._candidate(data, problem, path.models, cost)
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
        instance, target = self.instance, self.instance.target
        used = sorted(set(found.clusters))
        sites = Sites.of(instance, [Site(n, found.data[n]) for n in used], self.factors)
        steps = list(zip(found.models, found.clusters, strict=True))
        loads = [sites.load(k, m, used.index(n)) for k, (m, n) in enumerate(steps)]
        resources = allocate(loads, target.maximum_time, target.round_deadline).resources.tolist()
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
                for (m, n), x in zip(steps, resources, strict=True)
            ),
        )

    def problem(
        self,
        data: Mapping[int, frozenset[str]],
        kinds: Sequence[Kind],
        label: AdditiveLabel,
        slack: float,
    ) -> RealCostProblem:
        """The sequences of some kinds; clusters and models are those of the kinds, in order."""
        clusters, models = (sorted({kind[part] for kind in kinds}) for part in (0, 1))
        sites = Sites.of(self.instance, [Site(n, data[n]) for n in clusters], self.factors)
        target, learning = self.instance.target, self.learning
        pairs = tuple((clusters.index(n), models.index(m)) for n, m in sorted(kinds))
        before = [*models, len(learning.switches) - 1]
        values = _LabelValues(learning, label, models, sites.factors.tolist())
        changes, numbers = values.switches(before, models)
        steps = np.zeros((target.maximum_epochs, len(before), len(pairs)), dtype=np.int64)
        losses, loads, known = np.zeros(steps.shape), [], dict[object, int]()
        for k in range(target.maximum_epochs):
            loads.append(tuple(sites.load(k, models[m], n) for n, m in pairs))
            for g, (n, m) in enumerate(pairs):
                run = learning.runs[k][models[m]]
                number = known.setdefault((loads[k][g], run, sites.factors[n]), len(known) + 1)
                losses[k, :, g] = values.run(run, sites.factors[n]) + changes[:, m]
                steps[k, :, g] = number * (numbers.size + 1) + numbers[:, m]
        in_time = _in_time(sites, target.maximum_epochs, [(n, models[m]) for n, m in pairs])
        follow = learning.allowed[np.ix_(before, [models[m] for _, m in pairs])]
        problem = RealCostProblem(
            models=tuple(self.instance.models[m].name for m in models),
            clusters=tuple(self.instance.clusters[n].name for n in clusters),
            kinds=pairs,
            loads=tuple(loads),
            losses=losses,
            allowed=in_time[:, None, :] & follow[None],
            transfers=sites.transfers,
            initial_loss=learning.initial_loss,
            maximum_loss=target.maximum_loss - label.surcharge + slack,
            maximum_time=target.maximum_time,
            round_deadline=target.round_deadline,
            steps=steps,
        )
        return problem.ending_with(learning.may_end[models], self.instance.rules.may_stop)

    def _candidate(
        self, data: Mapping[int, frozenset[str]], problem: RealCostProblem, sequence: Kinds, cost: float
    ) -> Candidate:
        names = [(problem.clusters[n], problem.models[m]) for n, m in (problem.kinds[g] for g in sequence)]
        clusters = tuple(self._cluster_positions[name] for name, _ in names)
        models = tuple(self._model_positions[name] for _, name in names)
        h = {n: self.factors.of(data[n]) for n in set(clusters)}
        return Candidate(data, models, clusters, cost, self.learning.loss(models, [h[n] for n in clusters]))

    def _layered(self, problem: RealCostProblem, multiplier: float) -> AdditiveProblem:
        """Paths of kinds weighed by psi and their share of the transfers, without a time row."""
        charges = problem.transfers / max(1, problem.epochs)
        curves = PriceCurves.of(problem)
        psi = curves.prices(math.sqrt(multiplier))[curves.index]
        weights = psi + charges[[n for n, _ in problem.kinds]]
        before = [*(m for _, m in problem.kinds), problem.start]
        usable = np.isfinite(weights)
        return AdditiveProblem(
            models=tuple(str(g) for g in range(len(problem.kinds))),
            weights=np.where(usable, weights, 0.0),
            times=np.zeros(weights.shape),
            losses=problem.losses[:, before],
            allowed=problem.allowed[:, before] & usable[:, None],
            initial_loss=problem.initial_loss,
            maximum_loss=problem.maximum_loss,
            maximum_time=math.inf,
        )

    @functools.cached_property
    def _cluster_positions(self) -> dict[str, int]:
        return {item.name: n for n, item in enumerate(self.instance.clusters)}

    @functools.cached_property
    def _model_positions(self) -> dict[str, int]:
        return {item.name: m for m, item in enumerate(self.instance.models)}


def _in_time(sites: Sites, epochs: int, pairs: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Whether (site, model) pairs keep the round deadline, shape (K, G)."""
    rows = np.minimum(np.arange(epochs), len(sites.fastest) - 1)
    return np.stack([np.isfinite(sites.fastest[rows, m, n]) for n, m in pairs], axis=1)


class _LabelValues:
    """The label of every step that some models can make on some data."""

    def __init__(
        self,
        learning: Learning,
        label: AdditiveLabel,
        models: Sequence[int],
        factors: Sequence[float],
    ) -> None:
        self._learning = learning
        runs = distinct_terms([row[m] for row in learning.runs for m in models])
        changes = distinct_terms([row[m] for row in learning.switches for m in models])
        terms = list(dict.fromkeys([*(scaled(term, h) for term in runs for h in set(factors)), *changes]))
        self._values: dict[Term, float] = dict(zip(terms, label.values(terms).tolist(), strict=True))

    def run(self, step: LossStep, factor: float) -> float:
        return factor * step.shift + math.fsum(self._values[scaled(term, factor)] for term in step.terms)

    def switches(self, before: Sequence[int], models: Sequence[int]) -> tuple[FloatArray, NDArray[np.int64]]:
        """Label of every switch, and a number for it, 0 where nothing changes; both (len(before), M)."""
        steps = [[self._learning.switches[p][m] for m in models] for p in before]
        values = [[0.0 if step is None else self.run(step, 1.0) for step in row] for row in steps]
        known: dict[LossStep | None, int] = {None: 0}
        numbers = [[known.setdefault(step, len(known)) for step in row] for row in steps]
        return np.array(values), np.array(numbers, dtype=np.int64)
