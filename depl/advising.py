"""`depl.advise`: which further runs would bring the promise that was asked for, or a cheaper plan for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np

from depl.models.estimation.advice import CHOICE, SHARES, WORTH, Advice, Option, further_runs
from depl.models.estimation.affine import FEWEST
from depl.models.estimation.binomial import Verdict, verdict
from depl.models.evaluation.traced_law import runs_to_carry, staged
from depl.models.exact.listing import MOST_LISTED
from depl.models.exact.traced_schedules import Candidates, all_candidates
from depl.models.exact.traced_verdicts import UnderLaw, exceedances
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.affine_law import Position
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.verdicts import Verdict as Judged
from depl.models.traces.table import Schedule

CONFIDENCE = 0.95
"""With which the runs of a plan refute it: a convention."""


def advise(instance: Instance) -> Advice:
    """Say which runs to add to those that an instance was fitted to.

    Parameters
    ----------
    instance : Instance
        As `depl.fit` makes it, with the affine law and residuals kept per run.

    Returns
    -------
    Advice

    Raises
    ------
    NotCoveredError
        If the instance counts no whole runs, so that more of them change no promise, or the traces support
        too many schedules to list.

    Examples
    --------
    >>> import depl
    >>> found = advise(depl.load("digits-mobilenet").replace(maximum_epochs=20, maximum_loss=0.9))
    >>> found.lower_bound <= found.cost
    True
    """
    traced = instance.traced_law
    counts = traced is not None and traced.residuals == "per_run" and traced.unseen_loss is not None
    if traced is None or not counts or traced.observed is not None:
        raise NotCoveredError(
            "only promises that count whole runs grow with their number: fit with the affine law and "
            "residuals per_run, for runs from their start"
        )
    return _Search(instance, traced).advice()


@dataclass
class _Search:
    """All plans inside the support of the runs, cheapest first, until one is promised."""

    instance: Instance
    traced: TracedLaw
    lower_bound: float = field(default=math.inf, init=False)
    options: list[Option] = field(default_factory=list, init=False)
    likeliest: Option | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        target, traced = self.instance.target, self.traced
        self.limit = traced.on_scale(target.maximum_loss) + ATOM_TOLERANCE
        self.wanted = list(SHARES)

    def advice(self) -> Advice:
        """Walk through all plans."""
        target, cost = self.instance.target, self._cost()
        bound = self.lower_bound if cost is None else min(self.lower_bound, cost)
        asked, last = (target.maximum_loss, target.quantile_level), self.likeliest
        options = self.options or ([] if last is None else [last])
        return Advice(*asked, cost, bound, tuple(options), self.instance.units)

    def _cost(self) -> float | None:
        """That of the cheapest plan promised, once all that cost less were looked at."""
        instance, judged = self.instance, UnderLaw(self.instance)
        if instance.rules.may_stop and judged.idle_meets():
            return 0.0
        bare = msgspec.structs.replace(self.traced, deviations=(), care=None, confidence=None)
        listed = all_candidates(instance.replace(traced_law=bare), self.traced.law, MOST_LISTED)
        for node in listed.cheapest_first():
            if judged.verdict(listed, node) == Judged.MET:
                return listed.nodes[node].cost
            if self.wanted or math.isinf(self.lower_bound):
                self._look_at(listed, node)
        return None

    def _look_at(self, listed: Candidates, node: int) -> None:
        """Whether a plan is open, and what runs of it would bring."""
        law, item = self.traced.law, listed.nodes[node]
        own = law.beginnings.get(tuple((end.trained, end.age) for end in item.ends), ())
        runs = [law.records[index].losses for index in own]
        if math.isinf(self.lower_bound) and not self._refuted(runs, item.ends):
            self.lower_bound = item.cost
        trained = self._to_train(listed.schedule(node)) if len(runs) >= FEWEST and self.wanted else ()
        if not trained:
            return
        last = item.place.start + item.place.age
        picked = any(len(run) > last + 1 for run in runs)
        first = max(1, last + 1 - self.traced.settled_epochs) if picked else last
        over = np.array([run[first : last + 1] for run in runs]) > self.limit
        above = self._above(runs, item.ends, first) + CHOICE
        counted = len(runs), int(over.sum(axis=0).max())
        found = list(further_runs(self._needed, *counted, above, self.spread.size + CHOICE))
        for chosen in found:
            told = item.cost, len(runs), int(over.any(axis=1).sum()), found[0].runs, chosen
            option, best = Option(listed.schedule(node), trained, *told), self.likeliest
            if self.wanted and chosen.share >= self.wanted[0]:
                self.wanted = [share for share in self.wanted if share > chosen.share]
                self.options.append(option)
            if chosen.share >= WORTH and (best is None or chosen.share > best.advised.share):
                self.likeliest = option

    def _needed(self, misses: int) -> int:
        """Fewest runs of a plan, with so many misses among them, that carry the promise."""
        traced, level = self.traced, self.instance.target.quantile_level
        return max(runs_to_carry(level, traced.confidence, traced.diverged, misses), traced.whole_runs)

    def _refuted(self, runs: Sequence[FloatArray], ends: tuple[Position, ...]) -> bool:
        """Whether its own runs refute a plan, or the law where it has few."""
        if len(runs) < FEWEST:
            (share,) = exceedances(staged(self.traced.law, ends), np.zeros(1), [self.limit])
            return share > self.instance.target.violation_budget
        last, level = ends[-1].start + ends[-1].age, self.instance.target.quantile_level
        above = sum(bool(run[last] > self.limit) for run in runs)
        return verdict(above, len(runs), level, CONFIDENCE) is Verdict.REFUTED

    def _to_train(self, schedule: Schedule) -> Schedule:
        """What further runs train; nothing where runs that were whole would then seem to have ended early."""
        known = {run.trained for run in self.traced.law.records}
        on = [other for other in known if len(other) > len(schedule) and other[: len(schedule)] == schedule]
        trained = max(on, key=len, default=schedule)
        cut = any(len(other) < len(trained) and trained[: len(other)] == other for other in known)
        return () if cut and trained not in known else trained

    def _above(self, runs: Sequence[FloatArray], ends: tuple[Position, ...], first: int) -> int:
        """Of how many runs the spread exceeds the room below the target, over the epochs that count.

        By the mean and the deviation of its runs, or of the law where these are worse: a plan of few runs
        that looks best among many is often one whose runs were lucky.
        """
        found, last = 0, ends[-1].start + ends[-1].age
        for epoch in range(first, last + 1):
            mixed = staged(self.traced.law, _until(ends, epoch))
            losses = np.array([run[epoch] for run in runs])
            mean = mixed.constant + math.fsum(float(part.mean()) for part in mixed.parts)
            spread = math.sqrt(math.fsum(float(part.var()) for part in mixed.parts))
            spread = max(spread, float(losses.std(ddof=1))) * math.sqrt(1 + 1 / len(runs))
            gap = self.limit - max(mean, float(losses.mean()))
            room = gap / spread if spread else math.copysign(math.inf, gap)
            found += int(np.count_nonzero(self.spread > room))
        return min(found, self.spread.size)  # the sum: a run above after any of the epochs may count

    @cached_property
    def spread(self) -> FloatArray:
        """By how many deviations runs ended above the mean of their schedule, of all with enough runs."""
        law, by_schedule = self.traced.law, dict[Schedule, list[float]]()
        for index in law.apart(range(len(law.records))):
            run = law.records[index]
            by_schedule.setdefault(run.trained, []).append(float(run.losses[-1]))
        found = [np.zeros(0)]
        for losses in map(np.array, by_schedule.values()):
            if len(losses) >= FEWEST and np.ptp(losses) > 0:
                # the mean of n runs is nearer to them than that of the law
                found.append((losses - losses.mean()) / losses.std(ddof=1) / math.sqrt(1 - 1 / len(losses)))
        return np.concatenate(found)


def _until(ends: tuple[Position, ...], epoch: int) -> tuple[Position, ...]:
    kept = [end for end in ends if end.start < epoch]
    return (*kept[:-1], kept[-1]._replace(age=min(kept[-1].age, epoch - kept[-1].start)))
