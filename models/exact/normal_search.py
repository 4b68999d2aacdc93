"""Plans of normal increments: the quantile constraint is a few linear ones, any of which will do.

`ChordedProblem` is the problem of the search under scenarios, with chords of the root of the variance for
scenarios, of which all but one may miss, and `ChordSearch` the search; a leaf is judged by its certified
violation. What it prunes misses every chord. Long plans are searched on one chord after another. Derived on
the page "Optima under the law" (``exact``), under "Normal increments: chords".
"""

import functools
import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.assignments import make_sample
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.exact.law_bounds import Moments
from depl.models.exact.priced_plans import LONG
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.scenario_search import ScenarioSearch
from depl.models.exact.tree import GROWTH
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.golden import golden_sections
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.epochs import Term, loss_step, switch_steps
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.pairs import require_tabulated
from depl.models.problem.plan import Plan
from depl.models.risk.batch import Verdict
from depl.models.risk.discrete import decimal
from depl.models.risk.prepared import PreparedVerdicts
from depl.models.solving.result import Termination

_CHORDS = 24
"""Chords of the square root: set by hand. A plan may fall short by z largest / (4 times 24) on the first
chord and by far less on later ones; more chords exclude more of them and cost time for each. Leaves are
certified, so any number is sound."""

_TANGENTS = 8
"""Tangents tried for a first plan: set by hand; the deviation mostly repeats after three. Nothing is proved
by it."""

_FEW_NODES = 20_000
"""Nodes for a chord before it is split: set by hand. More are lost where a chord lets in many plans that miss
the target, fewer split chords that were nearly finished. Its halves get twice as many each, as a search may
also be hard for other reasons."""

_SPREAD, _STEPS = 2.0, 20
"""The price of gain of a chord is sought within exp(2) = 7 times either side of the average cost of what is
needed, to 4 * 0.618**20 = 3e-4 of itself. Any price is sound; near the best one the bound is flat."""

_NARROWEST = 2.0**-24
"""Width of a chord, in the largest deviation, that is not split any more: the root lies above it by less than
1e-15 of that."""

_CAUTION = 1e-9
"""Relative amount by which z is lowered and the largest deviation raised, on which proofs rest: rounding is
some 1e-15 in the quantile function and in sums. z is taken from 1 - omega, as omega itself is a double that
is off by 6e-17, too much next to 1."""


@dataclass(frozen=True, eq=False)
class ChordedProblem(CountedProblem):
    """Problem (2)-(6) with normal increments; see the module's docstring.

    Attributes
    ----------
    instance : Instance
    ties : list of tuple
        Those whose certified interval contains 1 - omega; appended to.
    span : tuple of float, optional
        Two deviations: only the chord between them, or the tangent where they are one [loss].
    """

    instance: Instance
    ties: list[tuple[Configuration, ...]] = field(default_factory=list)
    span: tuple[float, float] | None = None
    _shared: "_Shared | None" = None

    def between(self, first: float, last: float) -> "ChordedProblem":
        """The problem on the chord between two standard deviations, or on the tangent at one [loss]."""
        return replace(self, span=(first, last), _shared=self._known)

    def deviation(self, choices: Sequence[Configuration]) -> float:
        """Standard deviation of the gain of a sequence [loss]."""
        return math.sqrt(final_loss(self.instance, self.plan(tuple(choices))).variance())

    @functools.cached_property
    def ends(self) -> FloatArray:
        """Standard deviations between which the root is replaced by its chord, from 0 to the largest."""
        if self.span is not None:
            return np.array(self.span)
        moments = self._known.moments
        per_epoch = moments.variances.max(axis=(1, 2), initial=0.0)
        per_epoch = per_epoch + moments.switch_variances.max(axis=(1, 2), initial=0.0)
        largest = math.sqrt(float(per_epoch.sum())) * (1 + _CAUTION)
        return np.linspace(0.0, largest, _CHORDS + 1) if largest > 0 else np.array([0.0, 1.0])

    @property
    def size(self) -> int:
        """Number of chords; one if nothing is random."""
        return len(self.ends) - 1

    @property
    def allowed(self) -> int:
        """All chords but one may be missed."""
        return self.size - 1

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Mean less slope times variance; the first epoch pays for the constant of the chord."""
        moments = self._known.moments
        table = moments.gains[..., None] - self._slopes * moments.variances[..., None]
        table[:1] -= self._safety * self.ends[:-1] * self.ends[1:] / self._sums
        return np.ascontiguousarray(table)

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Mean plus slope times variance."""
        moments = self._known.moments
        return np.ascontiguousarray(
            moments.losses[..., None] + self._slopes * moments.switch_variances[..., None]
        )

    def misses(self, choices: Sequence[Configuration]) -> int:
        """None of the chords if the plan is certified to meet the target, and may end so; otherwise all."""
        if not self.ends_well(choices):
            return self.size
        plan = self.plan(tuple(choices)) if choices else Plan()
        verdict = self._known.verdicts.verdict(final_loss(self.instance, plan))
        if verdict is Verdict.UNDECIDED:
            self.ties.append(tuple(choices))
        return 0 if verdict is Verdict.MET else self.size

    @functools.cached_property
    def _safety(self) -> float:
        """z, rounded down."""
        z = -float(special.ndtri(float(self.instance.target.violation_budget)))
        return z - _CAUTION * abs(z)

    @functools.cached_property
    def _sums(self) -> FloatArray:
        return np.asarray(self.ends[:-1] + self.ends[1:])

    @functools.cached_property
    def _slopes(self) -> FloatArray:
        return np.asarray(self._safety / self._sums)

    @functools.cached_property
    def _known(self) -> "_Shared":
        return self._shared or _Shared.of(self)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What does not depend on the chords: means and variances, and what verdicts have computed."""

    moments: Moments
    verdicts: PreparedVerdicts

    @classmethod
    def of(cls, problem: ChordedProblem) -> "_Shared":
        target = problem.instance.target
        verdicts = PreparedVerdicts(target.maximum_loss, 1 - decimal(target.quantile_level))
        return cls(Moments.of(problem), verdicts)


@dataclass
class ChordSearch(ScenarioSearch):
    """The search under scenarios, on all chords at once, or, of long plans, on one after another."""

    problem: ChordedProblem

    def run(self) -> Termination:
        """Search until something is proved."""
        if self.problem.epochs < LONG or self.problem.misses(()) <= self.problem.allowed:
            return super().run()
        self._tangent_plans()
        return super().run() if self.best is None else self._on_one_chord_after_another()

    def _tangent_plans(self) -> None:
        """Plans by a price of gain on tangents, each at the deviation of the plan before."""
        deviation = float(self.problem.ends[-1])
        for _ in range(_TANGENTS):
            if not deviation > 0:
                return
            held = self.best
            search = self._on(self.problem.between(deviation, deviation))
            search.priced_plans()
            if search.best is None or search.best is held:
                return
            self.best = search.best
            self.limits.report(self.cost, min(self.lower, self.cost))
            deviation = self.problem.deviation(self.best.choices)

    def _on_one_chord_after_another(self) -> Termination:
        """Finish the chord of least bound, or split it, until none has a bound below the incumbent."""
        left: list[tuple[float, float, float, int]] = []
        self._add(left, 0.0, _FEW_NODES, self.problem.ends)
        least = float(self.problem.ends[-1]) * _NARROWEST
        while left and left[0][0] < self.threshold:
            bound, first, last, effort = heapq.heappop(left)
            self._raise_bound(bound)
            finished, bound = self._on_chord(first, last, bound, effort)
            if not finished and last - first > least:
                self._add(left, bound, 2 * effort, np.array([first, (first + last) / 2, last]))
            elif not finished:
                heapq.heappush(left, (bound, first, last, GROWTH * effort))
        return self.ended()

    def _add(
        self, left: list[tuple[float, float, float, int]], bound: float, effort: int, ends: FloatArray
    ) -> None:
        """Add the chords between some deviations, each with its bound by prices if that is greater."""
        for first, last in itertools.pairwise(map(float, ends)):
            self._require_time()
            own = max(bound, self._bound_on(self.problem.between(first, last)))
            if own < self.threshold:
                heapq.heappush(left, (own, first, last, effort))

    def _bound_on(self, problem: ChordedProblem) -> float:
        """No plan that satisfies the chord costs less, by the best price of gain [cost]."""
        multiplier, limit = self._incumbent().multiplier, self._prices.maximum_time
        if not (self.cost > 0 and problem.needed > 0):
            return 0.0
        middle, least = math.log(self.cost / problem.needed), math.inf
        for assignment in self._every_assignment():
            costs = assignment.cheapest(self._prices.at(multiplier))
            sample = make_sample(problem, assignment, np.arange(1))
            asked = functools.partial(_least_at_price, sample, costs, problem.needed)
            found = golden_sections(asked, middle - _SPREAD, middle + _SPREAD, _STEPS, value=float)
            paid = 0.0 if limit is None else multiplier * limit
            least = min(least, max(value for _, value in found) + assignment.transfers - paid)
        return least * (1 - SEARCH_TOLERANCE)

    def _on_chord(self, first: float, last: float, bound: float, effort: int) -> tuple[bool, float]:
        """Whether no plan below the incumbent satisfies the chord, and the least that such a plan costs."""
        search = self._on(self.problem.between(first, last))
        try:
            tasks = search.explore(search.tasks(), effort)
        finally:
            self.best = search.best
        return not tasks, max(bound, search.lower)

    def _on(self, problem: ChordedProblem) -> ScenarioSearch:
        """A search on other chords with the same incumbent."""
        search = ScenarioSearch(problem, replace(self.limits, progress=None), self.best)
        search.share(self)
        return search

    def _why_infeasible(self) -> str:
        """Nothing: `depl.models.exact.law_search` says it in terms of the law."""
        return ""


def _least_at_price(sample: Sample, costs: FloatArray, needed: float, exponent: float) -> float:
    """Least sum of costs less a price of gain, exp(exponent), and that price of what is needed [cost]."""
    price = math.exp(exponent)
    return float(priced_prefixes(sample, costs, price).min()) + price * needed


def all_normal(problem: Choices) -> bool:
    """Whether every increment is normal or certain, some of them normal, and omega is at least 1/2."""
    terms = random_terms(problem) if problem.instance.target.quantile_level >= 0.5 else []
    return bool(terms) and all(term.law.is_normal for term in terms)


def random_terms(problem: Choices) -> list[Term]:
    """The random parts of all epochs and switches that a plan may have; none where everything is certain."""
    instance = problem.instance
    require_tabulated(instance, "the search", problem.epochs)
    terms = [term for step in switch_steps(instance).values() for term in step.terms]
    for k, model in itertools.product(range(1, problem.epochs + 1), instance.models):
        keep_time()
        terms += loss_step(instance, k, 0, model.name, model.name, problem.subsets[0]).terms
    return terms
