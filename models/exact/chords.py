"""Plans of normal increments: the quantile constraint is a few linear ones, any of which will do.

`ChordedProblem` is the problem of the search under scenarios, with chords of the root of the variance for
scenarios, of which all but one may miss; a leaf is judged by its certified violation. What is pruned misses
every chord. Long plans are searched on one chord after another. Where everything is certain, one chord is the
law. Derived on the page "Optima under the law" (``exact``), under "Normal increments: chords".
"""

import functools
import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from depl.models.exact.choices import Configuration
from depl.models.exact.counted import Counted
from depl.models.exact.first_plans import LONG, Neighbourhood
from depl.models.exact.kernels import Sample
from depl.models.exact.law_judge import LawJudge, Moments
from depl.models.exact.root_bounds import length_bounds
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.search import GROWTH, Search
from depl.models.foundation.search import golden_sections
from depl.models.foundation.tolerances import SEARCH_TOLERANCE, sum_rounding
from depl.models.problem.laws import FloatArray
from depl.models.risk.verdicts import Verdict
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
    """Problem (2)-(6) with normal or certain increments; see the module's docstring.

    Attributes
    ----------
    judge : LawJudge
    moments : Moments
    span : tuple of float, optional
        Two deviations: only the chord between them, or the tangent where they are one [loss].
    """

    judge: LawJudge
    moments: Moments
    span: tuple[float, float] | None = None

    @functools.cached_property
    def ends(self) -> FloatArray:
        """Standard deviations between which the root is replaced by its chord, from 0 to the largest."""
        if self.span is not None:
            return np.array(self.span)
        per_epoch = self.moments.variances.max(axis=(1, 2), initial=0.0)
        per_epoch = per_epoch + self.moments.switch_variances.max(axis=(1, 2), initial=0.0)
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
    def needed(self) -> float:
        """Less by what sums over all epochs may be rounded [loss]."""
        target, moments = self.instance.target, self.moments
        size = abs(target.initial_loss) + abs(target.maximum_loss)
        for table in (moments.gains, moments.losses):
            size += float(np.abs(table).max(axis=(1, 2), initial=0.0).sum())
        return super().needed - sum_rounding(self.epochs) * size

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Mean less slope times variance; the first epoch pays for the constant of the chord."""
        table = self.moments.gains[..., None] - self._slopes * self.moments.variances[..., None]
        table[:1] -= self._slopes * self.ends[:-1] * self.ends[1:]
        return np.ascontiguousarray(table)

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Mean plus slope times variance."""
        slopes = self._slopes * self.moments.switch_variances[..., None]
        return np.ascontiguousarray(self.moments.losses[..., None] + slopes)

    def misses(self, choices: Sequence[Configuration]) -> int:
        """None of the chords if the plan is certified to meet the target, and may end so; otherwise all."""
        return 0 if self.judge.verdict(choices) is Verdict.MET else self.size

    @functools.cached_property
    def _slopes(self) -> FloatArray:
        """z, rounded down, over the sum of the ends of the chord."""
        z = -float(special.ndtri(float(self.instance.target.violation_budget)))
        return np.asarray((z - _CAUTION * abs(z)) / (self.ends[:-1] + self.ends[1:]))


@dataclass
class Chords(Counted):
    """All chords at once; leaves are judged by the law."""

    problem: ChordedProblem

    def verdict(self, choices: Sequence[Configuration]) -> Verdict:
        """What is certified."""
        return self.problem.judge.verdict(choices)

    def why_infeasible(self, search: Search) -> str:
        """In terms of the law."""
        return self.problem.judge.why_infeasible(search)

    def between(self, first: float, last: float) -> "Chords":
        """On the chord between two standard deviations alone, or on the tangent at one [loss]."""
        return Chords(replace(self.problem, span=(first, last)))


@dataclass
class ChordSearch(Search):
    """On all chords at once, or, of long plans, on one after another."""

    risk: Chords

    def run(self) -> Termination:
        """Search until something is proved."""
        problem = self.risk.problem
        if problem.epochs >= LONG and problem.size > 1 and self.risk.verdict(()) is not Verdict.MET:
            self._tangent_plans()
            if self.best is not None:
                return self._on_one_chord_after_another(problem.ends)
        return super().run()

    def _tangent_plans(self) -> None:
        """Plans by a price of gain on tangents, each at the deviation of the plan before."""
        deviation = float(self.risk.problem.ends[-1])
        for _ in range(_TANGENTS):
            if not deviation > 0:
                return
            risk, held = self.risk.between(deviation, deviation), self.best
            search = self.on(risk)
            for assignment in self.assigned:
                if assignment.transfers >= search.cost:
                    break
                self.require_time()
                near = Neighbourhood(risk.problem, self.prices, assignment, self.in_time)
                risk.improve(search, near, scan=False)
            if search.best is None or search.best is held:
                return
            self.accept(search.best)
            deviation = math.sqrt(self.risk.problem.judge.loss(search.best.choices).variance())

    def _on_one_chord_after_another(self, ends: FloatArray) -> Termination:
        """Finish the chord of least bound, or split it, until none has a bound below the incumbent."""
        left: list[tuple[float, float, float, int]] = []
        self._add(left, 0.0, _FEW_NODES, ends)
        while left and left[0][0] < self.threshold:
            bound, first, last, effort = heapq.heappop(left)
            self.raise_bound(bound)
            finished, bound = self._on_chord(first, last, bound, effort)
            if not finished and last - first > float(ends[-1]) * _NARROWEST:
                self._add(left, bound, 2 * effort, np.array([first, (first + last) / 2, last]))
            elif not finished:
                heapq.heappush(left, (bound, first, last, GROWTH * effort))
        return self.settled(self.ended())

    def _add(
        self, left: list[tuple[float, float, float, int]], bound: float, effort: int, ends: FloatArray
    ) -> None:
        """Add the chords between some deviations, each with its bound by prices if that is greater."""
        for first, last in itertools.pairwise(map(float, ends)):
            self.require_time()
            own = max(bound, self._bound_on(self.risk.between(first, last)))
            if own < self.threshold:
                heapq.heappush(left, (own, first, last, effort))

    def _bound_on(self, risk: Chords) -> float:
        """No plan that satisfies the chord costs less, by the best price of gain [cost]."""
        if not (self.cost > 0 and risk.problem.needed > 0):
            return 0.0
        middle, least = math.log(self.cost / risk.problem.needed), math.inf
        for assignment in self.relaxations:
            costs = assignment.cheapest(self.prices.at(self.multiplier))
            asked = functools.partial(_least_at_price, *risk.relaxed(assignment), costs)
            found = golden_sections(asked, middle - _SPREAD, middle + _SPREAD, _STEPS, value=float)
            least = min(least, max(value for _, value in found) + assignment.transfers)
        return (least - self.paid(self.multiplier)) * (1 - SEARCH_TOLERANCE)

    def _on_chord(self, first: float, last: float, bound: float, effort: int) -> tuple[bool, float]:
        """Whether no plan below the incumbent satisfies the chord, and the least that such a plan costs."""
        search = self.on(self.risk.between(first, last))
        try:
            tasks = search.explore(search.tasks(), effort)
        finally:
            self.best, self.undecided = search.best, min(self.undecided, search.undecided)
        return not tasks, max(bound, search.lower)


def _least_at_price(sample: Sample, required: float, costs: FloatArray, exponent: float) -> float:
    """What plans of any length spend at least at the price of gain exp(exponent) [cost]."""
    return float(length_bounds(sample, costs, [math.exp(exponent)], required).min())
