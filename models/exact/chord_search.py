"""The search under normal increments: on all chords at once, by labels, or on one chord after another."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from depl.models.exact.assignments import everything_allowed
from depl.models.exact.chords import ChordedProblem, Chords
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.first_plans import LONG, Neighbourhood
from depl.models.exact.labels import LabelSearch, Line, Span
from depl.models.exact.root_bounds import length_bounds
from depl.models.exact.search import GROWTH, Search
from depl.models.foundation.search import BestFirst, golden_sections
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.risk.verdicts import Verdict
from depl.models.solving.result import Termination

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

_HALVINGS, _TANGENTS = 6, 8
"""Tangents tried for a first plan and for better ones: set by hand. Where little of what could be gained is
needed, its deviation is a small part of the largest; that of better ones mostly repeats after three. Nothing
is proved by them."""

_FEW_LABELS = 5_000
"""Labels for a span before it is split, and of one of `_NARROW` of the largest deviation before it gets eight
times as many: set by hand. In a narrow span the line is as good as the root, and plans alone are many."""

_NARROW = 1e-3

_MOST_PIECES = 200
"""Spans, assignments and numbers of epochs that are told apart at first: set by hand, a few numbers of epochs
as in knapsacks. With many the other search, which shares more among them, takes less."""

_AIM = 1 / 16
"""Of what lies between the bound of a span and the incumbent so much is aimed at first, a unit of cost at
least, and then twice as much each time: set by hand. Few labels are near the bound, and a plan among them
ends the search."""


class _Piece(NamedTuple):
    """Plans of one assignment and number of epochs within a span, and how far they are looked for."""

    labels: LabelSearch
    span: Span
    length: int
    line: Line
    share: float  # of the way to the incumbent that is aimed at
    most: int  # labels


@dataclass
class ChordSearch(Search):
    """On all chords at once; of long plans by labels, or else on one chord after another."""

    risk: Chords

    def run(self) -> Termination:
        """Search until something is proved."""
        problem = self.risk.problem
        if problem.epochs >= LONG and problem.size > 1 and self.problem.verdict(()) is not Verdict.MET:
            self._tangent_plans()
            if self.best is not None:
                if not self._by_labels():
                    self._on_one_chord_after_another()
                return self.settled(self.ended())
        return super().run()

    def _tangent_plans(self) -> None:
        """Plans by a price of gain on tangents, which ask for more than the root does.

        At the largest deviation, or the first of its halves at which there is one; then at that of the plan.
        """
        largest = float(self.risk.problem.ends[-1])
        tried = (self._tangent_plan(largest / 2**half) for half in range(_HALVINGS))
        found = next(filter(None, tried), None)
        for _ in range(_TANGENTS):
            deviation = math.sqrt(self.risk.problem.loss(found.choices).variance()) if found else 0.0
            found = self._tangent_plan(deviation) if deviation > 0 else None

    def _tangent_plan(self, deviation: float) -> Clustered | None:
        """A plan that the tangent at a deviation gives, if it is better than what is held."""
        risk, held = Chords(self.risk.problem.between(deviation, deviation)), self.best
        search = self.on(risk)
        for assignment in self.assigned:
            if assignment.transfers >= search.cost:
                break
            self.require_time()
            near = Neighbourhood(risk.problem, assignment, self.in_time)
            risk.improve(search, near, scan=False)
        if search.best is None or search.best is held:
            return None
        self.accept(search.best)
        return search.best

    def _by_labels(self) -> bool:
        """Finish the span of least bound, or split it, until none is below the incumbent; whether it is done.

        If not, there are too many numbers of epochs for it, or a plan was found that does not meet the target
        for certain, and may stand in the place of one that does.
        """
        waiting = self._pieces()
        while waiting is not None and waiting.least < self.threshold:
            bound, piece = waiting.pop()
            self.require_time()
            self.raise_bound(bound * (1 - SEARCH_TOLERANCE))
            labels, span, length, line, share, most = piece
            aim = min(self.threshold, bound + max(self._unit, share * (self.threshold - bound)))
            kinds, complete = labels.cheapest(span, length, line, aim, most, self.require_time)
            if kinds is not None and not self._met(labels, kinds.tolist()):
                return False
            if kinds is None and complete:
                self._wait(waiting, aim, piece._replace(share=2 * share))
            elif kinds is None:
                for part in self._halves(piece):
                    self._wait(waiting, bound, part)
        return waiting is not None

    def _pieces(self) -> BestFirst[_Piece] | None:
        """All plans that may cost less than the incumbent; None where labels are not the way."""
        problem, waiting = self.risk.problem, BestFirst[_Piece]()
        if not (self.listed and LabelSearch.covers(problem)):
            return None
        for assignment in self.listed:
            labels = LabelSearch(problem, assignment)
            for span in itertools.pairwise(map(float, problem.ends)):
                for length, line in enumerate(self._lines(labels, span)):
                    piece = _Piece(labels, span, length, line, _AIM, _FEW_LABELS)
                    self._wait(waiting, 0.0, piece)
                if len(waiting) > _MOST_PIECES:
                    return None
        return waiting

    def _halves(self, piece: _Piece) -> list[_Piece]:
        """Its halves; if it is narrow, the same with more labels."""
        first, last = piece.span
        if last - first < _NARROW * float(self.risk.problem.ends[-1]):
            return [piece._replace(most=GROWTH * piece.most)]
        halves = itertools.pairwise((first, (first + last) / 2, last))
        return [
            piece._replace(span=half, line=self._lines(piece.labels, half)[piece.length]) for half in halves
        ]

    def _lines(self, labels: LabelSearch, span: Span) -> list[Line]:
        self.require_time()
        return labels.lines(span, self.cost / self.risk.problem.needed)

    def _wait(self, waiting: BestFirst[_Piece], bound: float, piece: _Piece) -> None:
        """Let a piece wait, if its plans may cost less than the incumbent."""
        bound = max(bound, piece.line.bound)
        if piece.length and bound < self.threshold:
            waiting.push(bound, piece)

    def _met(self, labels: LabelSearch, kinds: Sequence[int]) -> bool:
        """Make kinds the incumbent if the law certifies them."""
        known = self.risk.problem, labels.assignment
        plan = cheapest_clusters(*known, kinds, 0.0, self.in_time)
        if plan is None or self.problem.verdict(plan.choices) is not Verdict.MET:
            return False
        self.accept(plan)
        return True

    def _on_one_chord_after_another(self) -> None:
        """Finish the chord of least bound, or split it, until none has a bound below the incumbent."""
        waiting, ends = BestFirst[tuple[Span, int]](), self.risk.problem.ends
        self._add(waiting, 0.0, ends.tolist(), _FEW_NODES)
        while waiting.least < self.threshold:
            bound, ((first, last), effort) = waiting.pop()
            self.raise_bound(bound)
            finished, bound = self._on_chord((first, last), bound, effort)
            if not finished and last - first > float(ends[-1]) * _NARROWEST:
                self._add(waiting, bound, [first, (first + last) / 2, last], 2 * effort)
            elif not finished:
                self._add(waiting, bound, [first, last], GROWTH * effort)

    def _add(
        self, waiting: BestFirst[tuple[Span, int]], bound: float, ends: list[float], effort: int
    ) -> None:
        """Let the chords between some deviations wait, each with its bound by prices if that is greater."""
        for span in itertools.pairwise(ends):
            self.require_time()
            own = max(bound, self._bound_on(self.risk.problem.between(*span)))
            if own < self.threshold:
                waiting.push(own, (span, effort))

    def _bound_on(self, problem: ChordedProblem) -> float:
        """No plan that satisfies the chord costs less, by the best price of gain [cost]."""
        if not (self.cost > 0 and problem.needed > 0):
            return 0.0
        psi, allowed = problem.psi(self.multiplier), self.listed or [everything_allowed(problem)]
        parts = [(problem.sample(item), item.cheapest(psi), item.transfers) for item in allowed]

        def least(exponent: float) -> float:
            price = [math.exp(exponent)]
            return min(
                float(length_bounds(sample, costs, price, problem.needed).min()) + transfers
                for sample, costs, transfers in parts
            )

        middle = math.log(self.cost / problem.needed)
        found = golden_sections(least, middle - _SPREAD, middle + _SPREAD, _STEPS, value=float)
        return (max(value for _, value in found) - problem.paid(self.multiplier)) * (1 - SEARCH_TOLERANCE)

    def _on_chord(self, span: Span, bound: float, effort: int) -> tuple[bool, float]:
        """Whether no plan below the incumbent satisfies the chord, and the least that such a plan costs."""
        search = self.on(Chords(self.risk.problem.between(*span)))
        try:
            tasks = search.explore(search.tasks(), effort)
        finally:
            self.best, self.undecided = search.best, min(self.undecided, search.undecided)
        return not tasks, max(bound, search.lower)
