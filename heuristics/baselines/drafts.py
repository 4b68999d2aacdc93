"""Drafts of plans and what they are worth: the exact resources, and a certified answer to constraint (3).

A *draft* is the discrete part of a plan: data of every cluster, and a model and a cluster for each epoch. The
general-purpose methods of this package only propose drafts. Their cost is that of the cheapest resources
(`depl.models.problem.allocation`), and whether they meet the target is certified; so they differ from each
other, and from the methods they are compared with, by what they propose alone.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy import special

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, transfers_of
from depl.models.exact.choices import build_plan
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import probability
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, Load, load
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.verdicts import PreparedVerdicts, Verdict
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination

_HOPELESS = 0.4
"""Drafts whose score is lower than needed by this share of itself, and as much again, are not certified."""


@dataclass(frozen=True)
class Draft:
    """The discrete part of a plan; models and clusters by position in the instance.

    Attributes
    ----------
    models, clusters : tuple of int
        Of every epoch, shape (K,).
    data : tuple of frozenset of str
        Datasets of every cluster, shape (N,); those of clusters that do not train count for nothing.
    """

    models: tuple[int, ...]
    clusters: tuple[int, ...]
    data: tuple[frozenset[str], ...]

    def without(self, epoch: int) -> "Draft":
        """Itself without one epoch, counted from 0."""
        models, clusters = (row[:epoch] + row[epoch + 1 :] for row in (self.models, self.clusters))
        return Draft(models, clusters, self.data)

    def beginning(self, epochs: int) -> "Draft":
        """Its first ``epochs`` epochs."""
        return Draft(self.models[:epochs], self.clusters[:epochs], self.data)


@dataclass(frozen=True)
class Resources:
    """What a draft costs with the cheapest resources, transfers included, and by how much it is late.

    ``lateness`` is relative to the time limit that is missed most, 0 if both can be kept; the cost of a late
    draft is that of all resources [cost].
    """

    cost: float
    lateness: float


class Appraiser:
    """Appraises drafts of one instance.

    Attributes
    ----------
    needed_score : float
        Least score at which drafts were certified so far, about: only a guide to which are worth a
        certificate, moved by every certificate that says otherwise.

    Raises
    ------
    NotCoveredError
        If losses decay by themselves, or there are too many pairs of models.
    """

    def __init__(self, instance: Instance, limits: Limits) -> None:
        self.instance = instance
        self.target = instance.target
        self.learning = Learning.of(instance, lambda: not limits.expired())
        self.factors = DataFactors(instance)
        self.variances, self.switch_variances = self.learning.with_stand_ins()
        self.needed_score = float(special.ndtri(self.target.quantile_level))
        self._verdicts = PreparedVerdicts(self.target.maximum_loss, self.target.violation_budget)
        self._factors: dict[frozenset[str], float] = {}
        self._loads: dict[tuple[int, int, int, frozenset[str]], Load] = {}
        self._tabled = any(model.compute is not None for model in instance.models)

    @property
    def start(self) -> int:
        """Stands for the model before the first epoch."""
        return len(self.instance.models)

    def nothing_to_train(self) -> bool:
        """Whether the plan without epochs is one, and meets the target."""
        start = FinalLoss(self.target.initial_loss, ())
        return self.instance.rules.may_stop and self._verdicts.verdict(start) is Verdict.MET

    def allowed(self, models: Sequence[int]) -> bool:
        """Whether every switch of a sequence may be made."""
        before = (self.start, *models)
        return bool(self.learning.allowed[list(before[:-1]), list(models)].all())

    def keeps_rules(self, draft: Draft) -> bool:
        """Whether data are used, and models trained, where they may be; the last model is not looked at."""
        rules = self.instance.rules
        if not rules.restrict_sites:
            return True
        places, models = self.instance.clusters, self.instance.models
        return all(
            rules.may_use(draft.data[n], places[n].name) and rules.may_train(models[m].name, places[n].name)
            for m, n in set(zip(draft.models, draft.clusters, strict=True))
        )

    def within_rules(self, data: Sequence[frozenset[str]]) -> tuple[frozenset[str], ...]:
        """What every cluster may use of its data; where that is nothing, the data as they are."""
        rules, places = self.instance.rules, self.instance.clusters
        if not rules.restrict_data:
            return tuple(data)
        return tuple(
            chosen & rules.data[place.name] or chosen for chosen, place in zip(data, places, strict=True)
        )

    def resources(self, draft: Draft) -> Resources:
        """Cost and lateness of a draft."""
        loads = [
            self.load(k, m, n, draft.data[n])
            for k, (m, n) in enumerate(zip(draft.models, draft.clusters, strict=True))
        ]
        sites = [Site(n, draft.data[n]) for n in sorted(set(draft.clusters))]
        transfers = math.fsum(transfers_of(self.instance, site) for site in sites)
        found = allocate(loads, self.target.maximum_time, self.target.round_deadline)
        if found.feasible:
            return Resources(transfers + found.cost, 0.0)
        shares = [1.0]
        if self.target.maximum_time is not None:
            shares.append(found.fastest_time / self.target.maximum_time)
        if self.target.round_deadline is not None:
            shares.append(found.fastest_epoch / self.target.round_deadline)
        full = math.fsum(item.price * item.capacity for item in loads if item.work > 0)
        return Resources(transfers + full, max(shares) - 1)

    def moments(self, draft: Draft) -> tuple[FloatArray, FloatArray]:
        """Means and deviations of the loss after 0, 1, ..., K epochs, shape (K + 1,) each [loss].

        Infinite variances have a stand-in. The mean is far too high after a model that may not be the last
        (`Learning.end_charges`).
        """
        models = np.array(draft.models, dtype=np.intp)
        epochs, before = np.arange(len(models)), np.concatenate([[self.start], models[:-1]])[: len(models)]
        factors = np.array([self.factor(draft.data[n]) for n in draft.clusters])
        before = before.astype(np.intp)
        switches = self.learning.switch_losses + self.learning.end_charges
        steps = switches[before, models] - factors * self.learning.gains[epochs, models]
        spread = self.switch_variances[before, models] + factors**2 * self.variances[epochs, models]
        rises, variances = (np.append(0.0, np.cumsum(part)) for part in (steps, spread))
        return self.target.initial_loss + rises, np.sqrt(variances)

    def scores(self, draft: Draft) -> FloatArray:
        """(l_max - mean) / deviation after 0, 1, ..., K epochs; infinite, of its sign, without randomness."""
        means, deviations = self.moments(draft)
        room = self.target.maximum_loss - means
        certain = np.where(room >= -ATOM_TOLERANCE, math.inf, -math.inf)
        return np.divide(room, deviations, out=certain, where=deviations > 0)

    def promising(self, score: float) -> bool:
        """Whether a draft of this score is worth a certificate."""
        return score >= self.needed_score - _HOPELESS * (1 + abs(self.needed_score))

    def met(self, draft: Draft) -> bool:
        """Whether a draft keeps the rules and is certified to meet the target.

        Moves the needed score if the certificate says otherwise.
        """
        ends = self.learning.may_end[draft.models[-1]] if draft.models else self.instance.rules.may_stop
        if not (ends and self.keeps_rules(draft)):
            return False
        factors = [self.factor(draft.data[n]) for n in draft.clusters]
        met = self._verdicts.verdict(self.learning.loss(draft.models, factors)) is Verdict.MET
        score = float(self.scores(draft)[-1])
        if math.isfinite(score) and met is (score < self.needed_score):
            self.needed_score = score
        return met

    def shortest(self, draft: Draft) -> Draft | None:
        """The beginning of a draft with fewest epochs that is certified, in one search up or down.

        The search starts where the scores first suffice, and takes the certificate to be monotone from
        there on; what is returned is certified in any case.
        """
        if not draft.models:
            return None
        scores = self.scores(draft)[1:]
        enough = np.flatnonzero(scores >= self.needed_score)
        k = int(enough[0]) + 1 if len(enough) else int(np.argmax(scores)) + 1
        if not self.promising(float(scores[k - 1])):
            return None
        if not self.met(draft.beginning(k)):
            later = (j for j in range(k + 1, len(draft.models) + 1) if self.promising(float(scores[j - 1])))
            return next((draft.beginning(j) for j in later if self.met(draft.beginning(j))), None)
        while k > 1 and self.promising(float(scores[k - 2])) and self.met(draft.beginning(k - 1)):
            k -= 1
        return draft.beginning(k)

    def plan(self, draft: Draft) -> Plan:
        """The plan with the cheapest resources."""
        instance = self.instance
        names = [item.name for item in instance.clusters]
        sequence = [
            (instance.models[m].name, names[n]) for m, n in zip(draft.models, draft.clusters, strict=True)
        ]
        data = {names[n]: draft.data[n] for n in sorted(set(draft.clusters))}
        return build_plan(instance, data, sequence)

    def factor(self, datasets: frozenset[str]) -> float:
        """h of a set of datasets."""
        if datasets not in self._factors:
            self._factors[datasets] = self.factors.of(datasets)
        return self._factors[datasets]

    def load(self, epoch: int, model: int, cluster: int, datasets: frozenset[str]) -> Load:
        """What an epoch, counted from 0, asks of its cluster."""
        key = (epoch if self._tabled else 0, model, cluster, datasets)
        if key not in self._loads:
            instance = self.instance
            names = instance.models[model].name, instance.clusters[cluster].name
            self._loads[key] = load(instance, key[0] + 1, *names, datasets)
        return self._loads[key]


@dataclass
class Best:
    """The cheapest certified draft so far, if there is one, and how many were looked at."""

    appraiser: Appraiser
    limits: Limits
    draft: Draft | None = None
    cost: float = math.inf
    looked_at: int = 0

    def offer(self, draft: Draft, cost: float) -> None:
        """Take a certified draft if it is cheaper."""
        if cost < self.cost:
            self.draft, self.cost = draft, cost
            self.limits.report(cost, 0.0)

    def outcome(self, interrupted: bool = False) -> Outcome:
        """What a method that proves nothing returns."""
        termination = Termination.TIME_LIMIT if self.limits.expired() else Termination.EXHAUSTED
        termination = Termination.INTERRUPTED if interrupted else termination
        if self.draft is not None:
            return Outcome(termination, self.appraiser.plan(self.draft), 0.0)
        target = self.appraiser.target
        asked = f"target {target.maximum_loss:g} at omega {probability(target.quantile_level)}"
        drafts = f"none of {self.looked_at} drafts of plans is certified for {asked}"
        reason = f"models: {drafts} within the time limits; that proves nothing"
        return Outcome(termination, None, 0.0, reason)


def searched(instance: Instance, limits: Limits, search: Callable[[Best], None]) -> Outcome:
    """Run a search for drafts; the plan without epochs comes first, and an interrupt keeps what is held."""
    best = Best(Appraiser(instance, limits), limits)
    if best.appraiser.nothing_to_train():
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)
    try:
        with suppress(OutOfTimeError):
            search(best)
    except KeyboardInterrupt:
        return best.outcome(interrupted=True)
    return best.outcome()


def single_model_drafts(appraiser: Appraiser) -> list[Draft]:
    """K_max epochs of each model, all data, on the cluster where its first epoch is fastest.

    A model that may not follow the initial model, or fits nowhere, is left out, and all data are those that
    may be used on the cluster.
    """
    instance, longest = appraiser.instance, appraiser.target.maximum_epochs
    everything = frozenset(item.name for item in instance.datasets)
    data = appraiser.within_rules((everything,) * len(instance.clusters))
    found = []
    for m in range(len(instance.models)) if longest else ():
        if appraiser.allowed([m]):
            drafts = [Draft((m,) * longest, (n,) * longest, data) for n in range(len(data))]
            times = [
                _fastest(appraiser.load(0, m, n, data[n])) if appraiser.keeps_rules(draft) else math.inf
                for n, draft in enumerate(drafts)
            ]
            if min(times) < math.inf:
                found.append(drafts[int(np.argmin(times))])
    return found


def _fastest(asked: Load) -> float:
    return asked.communication + asked.work / asked.capacity
