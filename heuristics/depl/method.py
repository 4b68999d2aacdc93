"""The method ``depl``: data, models and resources in turn, ranked by bounds in place of blacklists (Fig. 3).

The dual of the whole instance gives the lower bound under what every plan certainly needs, and says where to
look under what plans were seen to need. Choices of data come by increasing expected cost; on each, sequences
of models and clusters come by increasing psi where they are short, or are improved at their own exact prices.
What is certified is kept, and calibrates the next step. With many datasets all plans are then divided by the
volumes of their data; where no plan is found and there are few classes of plans, all are listed. Every plan
is certified, the gap is between its cost and a proved bound (docs, *The loop*).
"""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from scipy import special

from depl.heuristics.bounds.dual import Bound, Cut, Dual, Part, Prices, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import LowerBound, Proof
from depl.heuristics.bounds.outlook import Outlook
from depl.heuristics.bounds.requirement import (
    Requirement,
    VarianceRange,
    calibrated_requirement,
    fall_of,
    largest_variance,
)
from depl.heuristics.data.sites import DataFactors, Site, Sites, listed_sites
from depl.heuristics.depl.data_stage import DataChoice, DataStage
from depl.heuristics.depl.improve import Polish, Start
from depl.heuristics.depl.labels import Judge, Reference, differ
from depl.heuristics.depl.models import Candidate, Kind, ModelStage, most_certain
from depl.heuristics.depl.record import Record
from depl.models.exact.listing import enumerate_plans
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import SEARCH_TOLERANCE, counts_as_proved
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.site_rules import why_not_idle
from depl.models.solving.decisions import Stage, StageClock
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination

_Key = tuple[tuple[int, frozenset[str]], ...]

_ROOMS = (0.0, 0.2)
"""How far labels may lie above l_max, as a share of the margin. Set by hand: without a slack first, as the
label is exact at its reference; the second finds cheaper sequences whose label is too high by up to a fifth
of the margin."""
_ROUNDS = 5
"""Times that one step is repeated: with a label calibrated on what it found, or with sites added at its
prices. Set by hand: both end once nothing changes; halved, labels are more often off and sites missing."""
_PATIENCE = 60
"""Data choices in a row without a better plan after which the search ends. Set by hand: choices come by
expected cost, which a plan may miss; doubled, the search takes up to twice as long where nothing better
comes."""
_APART = 0.5
"""Difference of the logarithms of two standard deviations that get a label of their own: just below ln
sqrt(3) = 0.55, by which neighbouring ranges of `depl.heuristics.bounds.requirement.calibrated_requirement`
differ, so that none of these is passed over for its neighbour."""
_FEW_CLASSES = 20_000
"""Classes of plans that are listed, some seconds' work, where every other step ended without a plan."""
_FIRST_SHARE, _NEXT_SHARE = 0.2, 0.5
"""Shares of the time left that the bound may take before there is a plan, and once there is one, where all
sites are listed: a bound without a plan is of little use. What is left of it comes after the search."""
_EARLY, _EARLY_SHARE = 0.95, 0.4
"""Share of what plans are expected to cost that the bound should reach before plans are looked for where
sites are not listed, and of the time left that it may take. Set by hand: most of it goes into the tables of
all laws, which every bound needs; steps up to there take about a second, and later ones wait for a plan."""
_DIVIDING = 1.0
"""Without a limit all plans are divided for so many times the CPU seconds that the run took before: dividing
may take for ever, and who wants that gives a time limit."""
_REPORTED = 1e-3
"""By how much a bound has to rise to be reported at once."""


def depl(instance: Instance, limits: Limits) -> Outcome:
    """Data, models and resources in turn, each ranked by a bound; certified plans, a proved gap, any size."""
    loop = _Loop(instance, limits, Record(instance))
    try:
        return loop.run()
    except KeyboardInterrupt:
        return loop.outcome(Termination.INTERRUPTED)
    except OutOfTimeError:
        if loop.best is None and loop.lower == 0:
            raise
        return loop.outcome(Termination.TIME_LIMIT)


@dataclass
class _Loop:
    """One run: the incumbent, the bound, the sequence that the margin follows, and what the searches share.

    No feasible plan costs less than ``lower`` [cost]; ``bound`` is None until `_prove` has come to its end.
    ``seen_choices`` has the data choices searched, each with its bound and what the margin followed then.
    Bounds and data choices count as data; resources are chosen as sequences are ranked, and count as models.
    """

    instance: Instance
    limits: Limits
    record: Record
    best: Candidate | None = None
    lower: float = 0.0
    build_seconds: float = 0.0
    clock: StageClock = field(default_factory=StageClock)
    calibrated: Reference | None = field(default=None, init=False)
    bound: LowerBound | None = field(default=None, init=False)
    expected: float = field(default=math.nan, init=False)
    seen_choices: dict[_Key, tuple[Reference, Bound]] = field(default_factory=dict, init=False)
    judge: Judge = field(init=False)
    learning: Learning = field(init=False)
    factors: DataFactors = field(init=False)
    stage: ModelStage = field(init=False)
    largest: float = field(init=False)
    proof: Proof = field(init=False)
    start: Prices = field(init=False)
    sites: Sites = field(init=False)
    dual: Dual = field(init=False)
    polish: Polish = field(init=False)
    data: DataStage = field(init=False)
    _steps: Iterator[LowerBound] | None = field(default=None, init=False)
    _until: Limits = field(init=False)

    def run(self) -> Outcome:
        """The steps of Fig. 3, until the bound of what is left reaches the incumbent."""
        target, begun = self.instance.target, time.process_time()
        self.judge = Judge(self.instance)
        if self.instance.rules.may_stop and self.judge.met(FinalLoss(target.initial_loss, ())):
            self.record.nothing_to_do()
            return Outcome(Termination.OPTIMAL, Plan(), 0.0, decisions=self.record.decisions)
        with self.clock.during(Stage.DATA):
            obstacle = self._build()
        if obstacle:
            self.record.unreachable(obstacle)
            self.lower = math.inf
            return self.outcome(Termination.INFEASIBLE)
        self._search()
        self._prove()
        self._divide(self.limits.turn(1.0, _DIVIDING * (time.process_time() - begun)))
        self._go_on()
        sought = self.best is None and math.isinf(self.cost)  # a caller that holds a plan needs none
        if sought and not self.limits.expired():
            self._insist()
        if self.best is None and self.bound is not None and self.bound.infeasible:
            # what was found only says how near plans come
            self.lower = math.inf
            return self.outcome(Termination.INFEASIBLE)
        listed = self._listed() if sought and self.best is None and not self.limits.expired() else None
        return listed or self.outcome(self._termination())

    def _go_on(self) -> None:
        """Spend what is left of a time limit, unless others run then, on further data choices."""
        alone = self.limits.time_limit is not None and self.limits.within is None
        if alone and self.proof.outlook is not None and math.isfinite(self.cost):
            self._choices()
            self._polish_best()

    def _listed(self) -> Outcome | None:
        """What a list of all plans says, if they are few enough and it comes to its end in time."""
        everywhere = dict.fromkeys(range(len(self.instance.clusters)), frozenset[str]())
        if self._is_long(everywhere):  # even the table of single steps would take its time
            return None
        try:
            with self.clock.during(Stage.MODELS):
                found = enumerate_plans(self.instance, replace(self.limits, progress=None), _FEW_CLASSES)
        except NotCoveredError:
            return None
        if found.plan is None and uninterrupted(found).termination is not Termination.INFEASIBLE:
            return None
        self.record.listed(found)
        return replace(
            found,
            lower_bound=max(found.lower_bound, self.lower),
            build_seconds=self.build_seconds,
            decisions=self.record.decisions,
            stage_seconds=self.clock.seconds,
        )

    def outcome(self, termination: Termination) -> Outcome:
        """What is held and proved now."""
        reason = None
        with self.clock.during(Stage.RESOURCES):
            plan = None if self.best is None else self.stage.plan(self.best)
        if plan is not None:
            self.record.stopped(termination, self.cost, self.lower, self.data.least)
        elif termination is not Termination.INTERRUPTED:
            reason = self.record.reason(termination is Termination.INFEASIBLE)
        return Outcome(
            termination,
            plan,
            self.lower,
            reason,
            build_seconds=self.build_seconds,
            decisions=self.record.decisions,
            stage_seconds=self.clock.seconds,
        )

    @property
    def cost(self) -> float:
        """Of the incumbent, or of the plan that the caller holds; infinite without one [cost]."""
        own = math.inf if self.best is None else self.best.cost
        return min(own, self.limits.cutoff_cost)

    @property
    def reference(self) -> Reference:
        """The sequence that the margin follows, or a guess of one from the largest variance."""
        return self.calibrated or self.judge.guess(math.sqrt(self.largest) / 2)

    def _build(self) -> str:
        """Everything that does not depend on a plan: tables and sites; or why there is no plan."""
        started = time.perf_counter()
        instance, epochs = self.instance, self.instance.target.maximum_epochs
        if epochs == 0:
            reason = "the loss does not meet the target"
            return f"models: no epoch is allowed, and {why_not_idle(instance, reason)}"
        if barred := instance.rules.obstacle():
            return barred
        self.learning = Learning.of(instance, lambda: not self.limits.expired())
        self.factors = DataFactors(instance)
        self.stage = ModelStage(instance, self.learning, self.factors, self.judge, self.limits)
        variances = self.learning.with_stand_ins()
        self.largest = largest_variance(*variances)
        self.proof = Proof.of(instance, self.learning, self.factors)
        if obstacle := self.proof.obstacle():
            return obstacle
        guess, outlook = self._first_guess(), self.proof.outlook
        if outlook is None:
            self._prove(_FIRST_SHARE)
            sites = listed_sites(instance)
        else:
            self.start = self._calibrated_on(outlook, guess)
            self._prove(_EARLY_SHARE, _EARLY * self.expected)
            sites = self._with_better(outlook, outlook.sites(self.start), guess)
        self.sites = Sites.of(instance, sites, self.factors)
        self.dual = Dual(self.learning, self.sites, instance.target.maximum_time, self.proof.highest_cost)
        self.polish = Polish(instance, self.learning, self.factors, self.judge, self.limits)
        self.data = DataStage(self.sites, self.dual, epochs, guess)
        if outlook is None:
            likely = replace(guess, ranges=guess.ranges[:1])
            self.start = start_prices(self.dual, self.data.everything(), likely)
        self.build_seconds = time.perf_counter() - started
        return ""

    def _prove(self, share: float = 1.0, enough: float = math.inf) -> None:
        """The lower bound, or better ones, until one is enough; what had to be left is tried again later.

        It takes at most so much of the time that is left.
        """
        if self.bound is not None or self.limits.expired():
            return
        self._until = self.limits.part(share)
        if self._steps is None:
            self._steps = self.proof.steps(lambda: self._until.expired(), self.expected)
        found, before = LowerBound(0.0), self.lower
        with self.clock.during(Stage.DATA):
            for found in self._steps:
                self.lower = max(self.lower, found.value)
                if found.infeasible or self.lower >= enough or self._good_enough():
                    break
                if self.proof.outlook is not None and self.lower > before * (1 + _REPORTED):
                    before = self.lower
                    self.limits.report(self.cost, self.lower)
                if self._until.expired():
                    break
            else:
                self._steps = None
                if share == 1 or not self._until.expired():
                    self.bound = found
        if found.infeasible:
            self.bound = found
        if self.best is not None or (self.proof.outlook is not None and self.lower > before):
            self.limits.report(self.cost, self.lower)

    def _divide(self, limits: Limits) -> None:
        """Once all steps of the bound were made: raise it by dividing all plans, while there is time."""
        stages = self.proof.stages
        if stages is None or self.bound is None or math.isinf(self.cost) or self._finished():
            return
        with self.clock.during(Stage.DATA):
            for value in stages.divided(self.cost, limits.expired):
                if value > self.lower * (1 + _REPORTED) or value >= self.cost:
                    self.limits.report(self.cost, value)
                self.lower = max(self.lower, value)
                if self._good_enough():
                    break

    def _first_guess(self) -> Requirement:
        """Before any plan is seen: the normal quantile of half the largest standard deviation."""
        score = float(special.ndtri(self.instance.target.quantile_level))
        deviation = math.sqrt(self.largest) / 2
        return calibrated_requirement(self.instance, score * deviation, deviation, self.largest)

    def _calibrated_on(self, outlook: Outlook, guess: Requirement) -> Prices:
        """Prices of the outlook under the margin that its own sequences need."""
        plain = VarianceRange(0.0, self.largest, 0.0, 0.0)
        requirement = Requirement(fall_of(self.instance), (plain,))
        prices = outlook.start(requirement)
        bound = outlook.first(requirement, prices)
        for _ in range(2):
            if bound.cut is None:
                return prices
            self.calibrated = self._seen(bound.cut, outlook.thin)
            requirement = self._requirement(self.calibrated)
            bound = outlook.first(requirement, bound.prices)
        bound = outlook.bound(replace(requirement, ranges=bound.ranges), bound.prices)
        bound = outlook.share(requirement, bound, self.limits.expired)
        self.expected = bound.value
        return bound.prices

    def _with_better(self, outlook: Outlook, sites: list[Site], guess: Requirement) -> list[Site]:
        """Sites and those that the outlook would rather use at their prices, a few times over."""
        requirement = guess if self.calibrated is None else self._requirement(self.calibrated)
        for _ in range(_ROUNDS):
            listed = Sites.of(self.instance, sites, self.factors)
            dual = Dual(self.learning, listed, self.instance.target.maximum_time, self.proof.highest_cost)
            part = Part(listed.transfers / max(1, self.instance.target.maximum_epochs))
            bound = dual.bound(part, requirement, self.start)
            if bound.cut is None:
                break
            self.start = bound.prices
            more = [site for site in outlook.used_at(bound.prices) if site not in set(sites)]
            if not more:
                break
            sites = sites + more
        return sites

    def _search(self) -> None:
        """Data choices by increasing expected cost, each with its models and resources."""
        if self.calibrated is not None:
            self._calibrate(self.calibrated)
        root = self.data.begin(self.start)
        for _ in range(2):  # calibrate on the sequence that the root suggests
            if root.cut is not None and self.best is None:
                self._calibrate(self._seen(root.cut, self.dual))
                root = self.data.begin(root.prices)
        self.seen_choices = {}
        self._choices(_PATIENCE)
        self._polish_best()
        before = self.cost
        for key, (reference, bound) in list(self.seen_choices.items()):
            if not self._finished() and self.reference.unlike(reference):  # its label was another one
                self._models(dict(key), bound)
        if self.cost < before:
            self._polish_best()

    def _choices(self, patience: float = math.inf) -> None:
        """Data choices whose expected cost is below the incumbent, until too many were of no use."""
        idle = 0
        while not self._finished() and idle < patience:
            with self.clock.during(Stage.DATA):
                following = self.data.next(lambda: self.cost)
            if following is None:
                break
            before = self.cost
            (self._polish if self._is_long(following[0]) else self._try)(*following)
            idle = 0 if self.cost < before else idle + 1

    def _is_long(self, choice: DataChoice) -> bool:
        """Whether sequences on the data of a choice are too many to be ranked."""
        return self.stage.is_long(self._kinds(choice))

    def _polish(self, choice: DataChoice, bound: Bound) -> None:
        """The choice and its sequences improved at their own prices; its bound suggests where to begin."""
        if bound.cut is None:
            return
        before, cut = self.cost, bound.cut
        loss = self.learning.loss(cut.models.tolist(), self.dual.places.factors[cut.sites].tolist())
        self._improve(Start(choice, bound.prices, loss))
        if self.cost == before:
            self.record.went_back(choice, bound.value, self.cost)

    def _polish_best(self) -> None:
        """The incumbent improved at its own prices, until that is of no use."""
        before = math.inf
        while self.best is not None and self.cost < before and not self._finished():
            before = self.cost
            self._improve(Start(self.best.data, self.start, self.best.loss))

    def _improve(self, start: Start) -> None:
        with self.clock.during(Stage.MODELS):
            found = self.polish.better(start, self.sites.sites, self.cost)
        self._learnt(found)

    def _try(self, choice: DataChoice, bound: Bound) -> None:
        key = tuple(choice.items())
        if key not in self.seen_choices and bound.value < self.cost:
            self._models(choice, bound)
            self.seen_choices[key] = self.reference, bound

    def _insist(self) -> None:
        """Without a plan: look for the one that is most certain to meet the target, and go on from there."""
        found, quantile, prices = most_certain(self.stage, self.dual, self.data, self.reference)
        if found is None:
            self.record.nearest(quantile)
            return
        self._learnt(found)
        self.start = prices
        self._search()

    def _models(self, choice: DataChoice, bound: Bound) -> None:
        """Stages 2 and 3 on the data of a choice, for every spread that its bound leaves open."""
        before, kinds, tried = self.cost, self._kinds(choice), list[float]()
        for deviation in [self.reference.deviation, *(piece.deviation for piece in bound.ranges)]:
            if not self._finished() and all(differ(deviation, other, _APART) for other in tried):
                tried.append(deviation)
                with self.clock.during(Stage.MODELS):
                    self._at_spread(choice, kinds, deviation, bound.prices)
        if self.cost == before:
            self.record.went_back(choice, bound.value, self.cost)

    def _at_spread(self, choice: DataChoice, kinds: list[Kind], deviation: float, prices: Prices) -> None:
        """With a label for one spread, then with more and more of a slack; what is found moves the label."""
        for _ in range(_ROUNDS):
            before = self.reference
            rooms = [slack * abs(before.margin) for slack in _ROOMS]
            if self.learning.has_atoms:  # no smooth label follows the steps of a quantile
                rooms.append(before.reach)
            for room in rooms:
                label = self.judge.label(self.reference, deviation)
                self._learnt(*self.stage.paths(choice, kinds, label, room, self.cost, prices.time))
            if self._finished() or not self.reference.unlike(before):
                return

    def _learnt(self, found: Candidate | None, refused: Candidate | None = None) -> None:
        """Keep what was found and calibrate on it; as long as there is no plan, on what was refused."""
        if found is not None:
            self._accept(found)
            self._calibrate(self.judge.reference(found.loss))
        elif refused is not None:
            self.record.missed(refused)
            if self.best is None:
                self._calibrate(self.judge.refused(refused.loss))

    def _kinds(self, choice: DataChoice) -> list[Kind]:
        """(Cluster, model) pairs of a choice, as far as models fit."""
        places, models, rules = self.instance.clusters, self.instance.models, self.instance.rules
        pairs = itertools.product(choice, range(len(models)))
        return [Kind(n, m) for n, m in pairs if rules.may_train(models[m].name, places[n].name)]

    def _accept(self, found: Candidate) -> None:
        self.best = found
        self.limits.report(found.cost, self.lower)
        self.record.accepted(found, self.judge.target)
        self._prove(_NEXT_SHARE)

    def _calibrate(self, reference: Reference) -> None:
        self.calibrated = reference
        self.data.requirement = self._requirement(reference)

    def _requirement(self, reference: Reference) -> Requirement:
        return calibrated_requirement(self.instance, reference.margin, reference.deviation, self.largest)

    def _seen(self, cut: Cut, dual: Dual) -> Reference:
        factors = dual.places.factors[cut.sites].tolist()
        return self.judge.reference(self.learning.loss(cut.models.tolist(), factors))

    def _finished(self) -> bool:
        """Whether time is up or the incumbent is good enough."""
        return self.limits.expired() or self._good_enough()

    def _good_enough(self) -> bool:
        """Whether the incumbent is proved to be as near to the bound as is asked for."""
        return counts_as_proved(self.cost, self.lower, max(self.limits.gap, SEARCH_TOLERANCE))

    def _termination(self) -> Termination:
        gaps = {Termination.OPTIMAL: SEARCH_TOLERANCE, Termination.GAP_REACHED: self.limits.gap}
        for ending, gap in gaps.items():
            if self.best is not None and gap > 0 and counts_as_proved(self.cost, self.lower, gap):
                return ending
        if self.limits.expired():
            return Termination.TIME_LIMIT
        return Termination.EXHAUSTED if self.best is None or self.lower <= 0 else Termination.STUCK
