"""Method ``scenario-search``: a cheapest plan under scenarios, proved by depth-first search (`search`).

Beside what it may spend, a path of kinds is cut off where too many scenarios cannot reach the target: V_s is
the most that scenario s can still gain after k epochs, the last of them on model m, when at most b cells of
extra charge are left, and S - p scenarios must satisfy gain so far + V_s >= needed. Leaves are judged by the
sums of `SampledProblem`, so that rounding in the search decides nothing. In the end the root bound is worked
out (`root_bounds`): weaker, but `depl check` proves it again without a search.
"""

import contextlib
import math
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from depl.models.exact import kernels
from depl.models.exact.assignments import Assignment
from depl.models.exact.clusters import Clustered
from depl.models.exact.first_plans import LONG, Neighbourhood
from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.exact.listing import enumerate_on_scenarios
from depl.models.exact.reasons import why_infeasible
from depl.models.exact.root_bounds import certificate_in_time
from depl.models.exact.sampled import CountedProblem, SampledProblem
from depl.models.exact.search import Risk, Search, Task
from depl.models.exact.subproblem import Priced, Subproblem
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.search import golden_sections
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome

_LONGEST_SCANNED = 1000
"""Epochs up to which plans with one switch are looked at beside a priced plan: set by hand. Their number
grows with the square, to seconds at 5000 epochs, and a priced plan is off by about one epoch of so many."""

_STARTS = 12
"""Prices of time tried for a first plan under an assignment: set by hand; a multiplier that repeats ends
them sooner. Fewer may leave a worse first plan; nothing is proved by it."""

_GAIN_SLACK = 1e-10
"""What gains may be off relative to the greatest sum of them, so that rounding excludes no plan: an epoch
adds two roundings of 2**-53 at most, and 1e-10 is enough for 4e5. Leaves are judged exactly."""

_MEAN_SLACK = 1e-9
"""Rounding granted to a sum of deviations, relative to the gains that they are differences of and to what is
needed, on which proofs rest: an epoch adds about 2**-53 of its gains, so 1e-9 is far more than enough. It
lowers what is required by as much."""

_LARGEST_TABLE = 1 << 27
"""Single-precision numbers of the table of reachable gains: 512 MiB at most. Beyond, there are fewer cells of
budget: weaker bounds and more nodes, never wrong ones."""

_SPREAD, _STEPS = 3.0, 40
"""A price of gain is sought within exp(3) = 20 times either side of the average cost of what is needed, to
6 * 0.618**40 = 3e-8 of itself: its room is a small difference. Any price is sound."""

_MOST_CELLS = 512
"""Cells of budget where extra charges are rounded: set by hand. Twice as many lose half as much to rounding,
and take twice the time and memory for the table."""


def first_plan(problem: CountedProblem, limits: Limits) -> Clustered | None:
    """A good plan without a proof; what is found by the end of the time will do."""
    search = Search(Counted(problem), replace(limits, progress=None))
    with contextlib.suppress(OutOfTimeError):
        search.build()
        search.risk.first_plans(search)
    return search.best


def scenario_search(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by exact search; proves optimality and infeasibility.

    Raises
    ------
    NotCoveredError
        If there are more datasets than `depl.models.exact.choices.MOST_DATASETS`.
    """
    sample = limits.scenarios
    if sample is None:
        sample = draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    if instance.has_memory:
        return enumerate_on_scenarios(instance, limits, sample)
    problem = SampledProblem(instance, sample)
    search = Search(Counted(problem), limits)
    found = search.answer()
    if search.best is None:
        return found
    dual = certificate_in_time(problem, search.best.multiplier, search.cost, limits, found.termination)
    proved = 0.0 if dual is None else min(dual.bound * (1 - SEARCH_TOLERANCE), search.threshold)
    return replace(found, dual=dual, lower_bound=max(found.lower_bound, proved))


@dataclass
class Counted(Risk):
    """All gains but some have to reach what is needed."""

    problem: CountedProblem
    first_round = 2_000_000
    nodes_per_call = 20_000
    nodes_per_leaf = 1
    _best_gain: float = field(default=-math.inf, init=False)

    def first_plans(self, search: Search) -> None:
        """Plans with at most one change of kind, or from a price of gain, under every assignment."""
        for assignment in search.assigned:
            if assignment.transfers >= search.cost:
                break
            search.require_time()
            near = Neighbourhood(self.problem, assignment, search.in_time)
            if self.problem.epochs >= LONG:
                self.improve(search, near, scan=False)
            if self.problem.epochs <= _LONGEST_SCANNED or search.best is None:
                self.improve(search, near, scan=True)

    def improve(self, search: Search, near: Neighbourhood, *, scan: bool) -> None:
        """At one price of time after another until its plan keeps T_max and has the same."""
        multiplier = search.multiplier
        for _ in range(_STARTS):
            search.require_time()
            kinds = near.one_switch(multiplier, search.cost) if scan else near.priced(multiplier)
            plan = None if kinds is None else near.costed(kinds, multiplier)
            if plan is not None:
                search.accept(plan)
            if kinds is None or (plan is not None and plan.multiplier == multiplier):
                return
            multiplier = 4 * multiplier if plan is None else plan.multiplier  # if too slow, time costs more

    def relaxed(self, assignment: Assignment) -> tuple[Sample, float]:
        """All scenarios, in order."""
        return self.problem.sample(assignment), self.problem.needed

    def subproblem(
        self, search: Search, task: Task, multipliers: tuple[float, ...], effort: int
    ) -> "CountedSubproblem":
        """Scenarios that the incumbent meets least are looked at first."""
        del effort
        met = np.zeros(self.problem.size) if search.best is None else self.problem.gain(search.best.choices)
        known = self.problem, task.assignment, task.length, multipliers, search.threshold
        found = CountedSubproblem(*known, np.argsort(met, kind="stable"))
        self._best_gain = max(self._best_gain, found.most_gain)
        return found

    def why_infeasible(self, search: Search) -> str:
        """With what no plan exceeds in enough scenarios."""
        return why_infeasible(self.problem, self._best_gain, search.listed)


@dataclass(eq=False)
class CountedSubproblem(Subproblem):
    """Where no extra charge is rounded to cells, a plan of just the least budget is looked for first.

    With one scenario, where the table is a dynamic program, that plan is the cheapest at the price of time.
    ``most_gain`` is what no plan gains more than in S - p scenarios, where no prices of time are given.
    """

    problem: CountedProblem
    hardest: NDArray[np.intp]  # scenarios in the order in which they are looked at
    most_gain: float = field(default=-math.inf, init=False)
    _aim: float | None = field(default=None, init=False)
    _further: int = field(default=1, init=False)

    def proceed(self, nodes: int) -> list[int] | None:
        """As any other; if nothing is left within what was aimed at, with more of the budget."""
        found = super().proceed(nodes)
        while self.finished and self._aim is not None:
            self._raise_aim()
            self.finished = False
            found = super().proceed(nodes)
        return found

    def _charge(self) -> None:
        problem = self.problem
        self._sample = problem.sample(self.assignment).ordered(self.hardest, self.length)
        scale = float(np.abs(self._sample.gains).max(axis=1).sum(axis=0).max(initial=0.0))
        self._sample = self._sample._replace(needed=problem.needed - _GAIN_SLACK * max(1.0, scale))
        super()._charge()
        if self.length < LONG or not self.multipliers or self.finished:
            return
        self._make_cells(1, self._most_cells)
        if not self._whole:
            self._priced = self._best_price()
            super()._charge()

    def _tabulated(self) -> tuple[Sample, kernels.SinglePrecision, FloatArray]:
        most = self._most_cells
        self._make_cells(min(_MOST_CELLS, most), most)
        table = kernels.reachable_gains(self._sample, self._steps, self._cells)
        if not self.multipliers:
            self.most_gain = self._root_gain(table)
        return self._sample, table, np.zeros((self.length + 1, len(self.hardest)))

    def _first_gain(self, kind: int) -> FloatArray:
        """Of a first epoch of that kind, with what its switch loses."""
        sample = self._sample
        lost = sample.switch_losses[0, sample.first_model, sample.models[kind]]
        return np.asarray(sample.gains[0, kind] - lost)

    def _root_gain(self, table: kernels.SinglePrecision) -> float:
        """What no plan within the first limit exceeds in S - p scenarios."""
        best = np.full(len(self.hardest), -np.inf)
        for kind, after in enumerate(self._sample.models):
            step = self._steps[0, kind]
            if step >= 0 and self._may_begin(kind):
                best = np.maximum(best, self._first_gain(kind) + table[1, after, self._cells - 1 - step])
        return float(np.partition(best, self._sample.allowed)[self._sample.allowed])

    def _able(self, kind: int) -> NDArray[np.bool_]:
        sample = self._sample
        gains = self._table[1, sample.models[kind]] + self._first_gain(kind)
        return np.asarray((gains < sample.needed).sum(axis=1) <= sample.allowed)

    def _bound_root(self) -> None:
        """The same; and aim at the least budget, if it is exact."""
        super()._bound_root()
        if self._whole and self._scale and self.multipliers and not self.finished:
            self._aim = float(self._charges.rest[0, 0]) + (self._least_cells() + 0.5) / self._scale
            self._charges = self._charges._replace(limits=self._limit_values())

    def _raise_aim(self) -> None:
        """Begin again with twice as many cells more."""
        self._aim = (self._aim or 0.0) + self._further / self._scale
        self._further *= 2
        if self._aim >= super()._limit_values()[0]:
            self._aim = None
        self._state[:] = 0
        self._charges = self._charges._replace(limits=self._limit_values())

    def _limit_values(self) -> FloatArray:
        values = super()._limit_values()
        if self._aim is not None:
            values[0] = min(values[0], self._aim)
        return values

    def _best_price(self) -> Priced | None:
        """The charge at the price of gain that leaves least room; None if no mean gain is required."""
        costs = self._cost_row(self.multipliers[0])
        paid = self.problem.paid(self.multipliers[0])
        mean = self._sample._replace(
            gains=self._sample.gains.mean(axis=-1, keepdims=True),
            switch_losses=self._sample.switch_losses.mean(axis=-1, keepdims=True),
        )
        required = required_mean(self._sample, mean, np.isfinite(costs))
        if not 0 < required < np.inf or not np.isfinite(costs).any(axis=1).all():
            return None

        def bound(exponent: float) -> float:
            price = math.exp(exponent)
            return float(priced_prefixes(mean, costs, price)[self.length, 0]) + price * required

        usual = math.log(max(self.cutoff - self.assignment.transfers + paid, 1e-300) / required)
        asked = golden_sections(bound, usual - _SPREAD, usual + _SPREAD, _STEPS, value=float)
        exponent, _ = max(asked, key=itemgetter(1))
        # A switch may also raise the gain, by this at most.
        raised = np.maximum(0.0, -mean.switch_losses.min(axis=(1, 2)))
        return Priced.of(costs, mean.gains[..., 0] + raised, math.exp(exponent), required)

    @property
    def _most_cells(self) -> int:
        layer = (self.length + 1) * len(self.problem.instance.models) * len(self.hardest)
        return max(1, _LARGEST_TABLE // layer)


def required_mean(sample: Sample, mean: Sample, open_kinds: NDArray[np.bool_]) -> float:
    """Least mean gain of a plan of all epochs that meets S - p scenarios [loss].

    Infinite where there is none, 0 where no sequence exists. Derived on the page "Optima under the law".

    Parameters
    ----------
    mean : Sample
        The mean of all scenarios, as the only one.
    open_kinds : bool array (K, J)
        Which kinds an epoch may have.
    """
    apart = sample._replace(
        gains=sample.gains - mean.gains, switch_losses=sample.switch_losses - mean.switch_losses
    )
    least = priced_prefixes(apart, np.where(open_kinds, 0.0, math.inf), -1.0)[-1]
    if not np.all(np.isfinite(least)):
        return 0.0
    # needed - c for the largest c with [sum of all e] + [sum of max(0, c - e) but the p smallest e] <= 0
    finite = (np.where(np.isfinite(rows), np.abs(rows), 0.0) for rows in sample[:2])
    size = sum(float(rows.reshape(len(rows), -1).max(axis=1, initial=0.0).sum()) for rows in finite)
    slack = _MEAN_SLACK * (float(np.abs(least).max()) + abs(sample.needed) + size) * len(least)
    room = slack - float(least.sum())  # exact deviations sum to at most 0, up to rounding
    if room < 0:
        return math.inf
    kept = np.sort(least)[sample.allowed :]
    parts = (room + np.cumsum(kept)) / np.arange(1, len(kept) + 1)
    ends = np.append(kept[1:], math.inf)  # between two of the e the sum is linear in c
    return sample.needed - float(parts[np.argmax(parts <= ends)])
