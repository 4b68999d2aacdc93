r"""The cheapest sequence of (model, cluster) on the real cost, by labels that carry price forms.

A label is a prefix; it knows its loss, the clusters that it opened, and its price form G(q) = sum psi(q) as
pieces of parabolas. By duality (`depl.models.problem.allocation`) a sequence costs F + max over q of G(q) -
q**2 T_max. Between labels with the same number of epochs and the same last model,

    a dominates b  if  loss_a <= loss_b,  G_a(q) + F(opened_a minus opened_b) <= G_b(q) for all q, and
    a with the quickest pace is no slower than b.

Then every completion of b is one of a, too, that ends no higher and costs no more (docs, *Real cost inside*).
It is enough to compare between the paces of `depl.heuristics.paths.real_cost_bounds`. If no epoch is clipped
there, G has one piece and the rule is about the pair (sum s / b, sum sqrt(kappa c)).

Labels that end at or below the target are ends: another epoch never makes a plan cheaper. The loss may rise
(switches), so labels above l(0) stay. Labels whose Lagrangian bound reaches the incumbent are dropped; the
least bound ever dropped is the certified lower bound, so every budget ends in an interval.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.paths.real_cost_bounds import Bounds, guides_of
from depl.heuristics.paths.real_cost_kernels import best_loss_price, without_charges
from depl.heuristics.paths.real_cost_layers import Criterion, Incumbent, Passed, pass_over_layers
from depl.heuristics.paths.real_cost_problem import Kinds, RealCostProblem
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

MOST_LABELS = 1_000_000
"""Labels that are kept before the search narrows to the best of every layer."""

_BEAM = 100
"""Labels of a layer in the first, narrow pass. Set by hand: it looks for a cheap sequence, with which the
second pass drops more labels; the proof does not depend on it."""
_NARROW = 2_000
"""Labels of a layer once a pass holds as many as it may. Set by hand: those of least bound go on; more take
more time and leave a better sequence and bound."""


@dataclass(frozen=True)
class RealCostAnswer:
    """What a search holds and what it proved.

    Attributes
    ----------
    termination : Termination
        `OPTIMAL` (bound within 1e-9 of the cost), `GAP_REACHED`, `INFEASIBLE`, `TIME_LIMIT`, or
        `EXHAUSTED` if the labels did not suffice.
    sequence : tuple of int or None
        Kinds of the epochs; None if nothing feasible was found.
    cost : float
        By `depl.models.problem.allocation`; infinite without a sequence [cost].
    lower_bound : float
        No feasible sequence costs less; infinite if there is none [cost].
    labels : int
        Labels that were kept.
    reason : str or None
        Why there is no sequence, with the nearest value that can be reached.
    """

    termination: Termination
    sequence: Kinds | None
    cost: float
    lower_bound: float
    labels: int = 0
    reason: str | None = None


def cheapest_sequence(
    problem: RealCostProblem, limits: Limits | None = None, most_labels: int = MOST_LABELS
) -> RealCostAnswer:
    """The feasible sequence of least real cost, or a certified interval.

    Parameters
    ----------
    limits : Limits, optional
        Gap, time limit and receiver of progress.
    most_labels : int
        Labels to keep before the search narrows.

    Raises
    ------
    NotCoveredError
        If more than ten clusters have transfer costs.
    InvalidInputError
        If computing costs money and nothing limits time.
    """
    limits = Limits() if limits is None else limits
    if problem.initial_loss <= problem.highest_loss:
        return RealCostAnswer(Termination.OPTIMAL, (), 0.0, 0.0)
    return _Search(problem, Bounds.of(problem), limits, most_labels).run()


@dataclass
class _Search:
    """One problem on its way to an answer."""

    problem: RealCostProblem
    bounds: Bounds
    limits: Limits
    most_labels: int
    labels: int = 0
    stopped: bool = False
    proved: float = 0.0

    def run(self) -> RealCostAnswer:
        reach = self._reach()
        if reach > self.problem.highest_loss:
            return self._infeasible(
                f"models: no sequence ends below {reach:.9g} in terms of the label, "
                f"and {self.problem.maximum_loss:.9g} is asked for"
            )
        self.bounds.ascend(lambda: not self.limits.expired())
        self.proved = max(0.0, self.bounds.lower)
        if self.bounds.best is None:
            fastest = self._fastest()
            if fastest > self.bounds.latest:
                return self._infeasible(
                    f"resources: sequences that reach the target take at least {fastest:.9g}, "
                    f"longer than maximum_time {self.problem.maximum_time:.9g}"
                )
        for most in (0, self.most_labels):
            if self.bounds.best is not None and not self.stopped and not self._good_enough():
                self._cheapest(most)
        return self.answer(self._termination())

    def answer(self, termination: Termination) -> RealCostAnswer:
        """What is held and proved now."""
        best, cost = self.bounds.best, self.bounds.best_cost
        proved = max(self.proved, self.bounds.lower)
        return RealCostAnswer(termination, best, cost, min(proved, cost), self.labels)

    def _termination(self) -> Termination:
        if self.bounds.best is not None and counts_as_proved(self.bounds.best_cost, self.proved):
            return Termination.OPTIMAL
        if self.bounds.best is not None and self._good_enough():
            return Termination.GAP_REACHED
        return Termination.TIME_LIMIT if self.stopped else Termination.EXHAUSTED

    def _good_enough(self) -> bool:
        return counts_as_proved(self.bounds.best_cost, self.proved, max(self.limits.gap, PROOF_TOLERANCE))

    def _infeasible(self, reason: str) -> RealCostAnswer:
        return RealCostAnswer(Termination.INFEASIBLE, None, math.inf, math.inf, self.labels, reason)

    def _reach(self) -> float:
        """The lowest label of all sequences [loss]."""
        nothing = np.zeros((1, *self.bounds.curves.index.shape))
        reach = guides_of(self.bounds.network, nothing, np.zeros(1), np.zeros(1)).least_losses
        return self.problem.initial_loss + float(reach[0, self.problem.start])

    def _fastest(self) -> float:
        """Least time of the sequences that reach the target, or a lower bound of it; keeps a sequence [time].

        0 if the search was cut short without one.
        """
        bounds, network = self.bounds, without_charges(self.bounds.network)
        weights = bounds.curves.fastest[bounds.curves.index]
        price, _, met = best_loss_price(network, weights)
        pieces = np.zeros((len(bounds.curves.loads), 1, 3))
        pieces[:, 0, 2] = bounds.curves.fastest
        guides = guides_of(network, weights[None], np.array([price]), np.zeros(1))
        criterion = Criterion(network, bounds.curves.index, guides, np.zeros(2), pieces, math.inf)
        incumbent = Incumbent(lambda sequence: self._exactly(sequence, fastest=True))
        for row in met:
            incumbent.offer(tuple(int(g) for g in row if g >= 0))
        passed = self._pass(criterion, incumbent, self.most_labels)
        if incumbent.sequence is not None and incumbent.value <= bounds.latest:
            bounds.offer(incumbent.sequence)
        return min(incumbent.value, passed.lower)

    def _cheapest(self, most_labels: int) -> None:
        """Raise the bound and lower the cost by one pass over the layers."""
        bounds = self.bounds
        paces = bounds.paces(bounds.best_cost)
        breaks, pieces = bounds.curves.pieces(paces.slowest, paces.quickest)
        limit = math.inf if self.problem.maximum_time is None else self.problem.maximum_time
        if limit == math.inf:
            pieces[:, :, 0] = 0.0  # time does not matter
        criterion = Criterion(
            bounds.network, bounds.curves.index, bounds.guides(paces), breaks, pieces, limit
        )
        incumbent = Incumbent(self._exactly, bounds.best_cost, bounds.best)
        passed = self._pass(criterion, incumbent, most_labels)
        if incumbent.sequence is not None:
            bounds.offer(incumbent.sequence)
        self.proved = max(self.proved, min(passed.lower, bounds.best_cost))
        self.limits.report(bounds.best_cost, self.proved)

    def _exactly(self, sequence: Kinds, fastest: bool = False) -> float:
        """Cost or least time of a sequence; infinite if its exact sum of losses misses the target."""
        if self.problem.loss(sequence) > self.problem.highest_loss:
            return math.inf
        return self.problem.allocation(sequence).fastest_time if fastest else self.problem.cost(sequence)

    def _pass(self, criterion: Criterion, incumbent: Incumbent, most_labels: int) -> Passed:
        passed = pass_over_layers(
            criterion,
            incumbent,
            gap=self.limits.gap,
            most_labels=most_labels,
            widest=_NARROW if most_labels else _BEAM,
            proceed=lambda: not self.limits.expired(),
        )
        self.labels += passed.labels
        self.stopped = self.stopped or passed.stopped
        return passed
