r"""Transfers: which clusters to open, by add and drop, and lower bounds that count transfers.

For a set W of open clusters, V(W) = F(W) + max over lam of L_W(lam), the dual restricted to W, is at most the
cost of every placement that pays for W. Add and drop of clusters with V as evaluator starts from the best
single cluster and from the clusters of the problem without transfers. At the price lam of the present set,

    F(W + n) + sum of N_g min(least psi over W, psi_gn) - lam T_max

is at most V(W + n): additions for which it is not below V(W) need not be tried.

*A bound for all sets.* For numbers v_g with  sum over g of max(0, v_g - N_g psi_gn(lam)) <= F_n  for every n,
every placement costs at least  sum of v_g - lam T_max.  Proof: with its shares f_gn = a_gn / N_g and its open
clusters W, cost >= sum over g, n of f_gn N_g psi_gn + F(W) - lam T_max, and F(W) >= sum over W and g of
max(0, v_g - N_g psi_gn) >= sum of f_gn (v_g - N_g psi_gn), since 0 <= f_gn <= 1. Dual ascent raises the v_g
in turn as long as some cluster has room: it is the dual of the relaxation with a_gn <= N_g w_n.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.dual import Dual, best_price, prices
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_TRIED, _GUESSED, _MOVES = 3, 12, 200
"""Single clusters to start from, of how many guessed ones, and moves of a descent. Set by hand: more starts
may end in a better set; every move lowers V, so a descent ends by itself."""
_ROUNDING = 1e-13
"""Relative error of V and of sums of charges: some hundred roundings of doubles. V has to fall by more in
every move, and what a bound counts is lowered by as much."""

Opened = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class OpeningBound:
    """A lower bound that says what every opened cluster adds to it.

    A placement that opens the clusters W costs at least ``value`` and the sum of ``slack`` over W: in the
    proof of this module the transfers of a cluster are counted only as far as it is charged.

    Attributes
    ----------
    value : float
        The lower bound of every placement [cost].
    slack : ndarray
        F_n less what the charges take of it, at least 0; shape (N,) [cost].
    """

    value: float
    slack: FloatArray


class Openings:
    """V(W) of sets of clusters, remembered."""

    def __init__(self, problem: PlacementProblem) -> None:
        """Look at ``problem``."""
        self.problem = problem
        self._known: dict[Opened, tuple[float, Dual]] = {}

    def dual(self, opened: Opened) -> Dual:
        """The best price when only these clusters may train."""
        return self._entry(opened)[1]

    def value(self, opened: Opened) -> float:
        """V(W) [cost]; infinite if nothing is feasible on W."""
        return self._entry(opened)[0]

    def search(self) -> list[Opened]:
        """Sets that add and drop ends with, the best V first."""
        everywhere = best_price(self.problem)
        if everywhere.fast is None or everywhere.slow is None:
            return []
        free = set(np.flatnonzero(self.problem.transfers <= 0).tolist())
        fast, slow = set(everywhere.fast.choice.tolist()), set(everywhere.slow.choice.tolist())
        starts = [fast | slow | free, fast | free, *({n} | free for n in self._best_single())]
        ends = {self._descend(tuple(sorted(start))) for start in starts}
        return sorted((end for end in ends if math.isfinite(self.value(end))), key=self.value)

    def _entry(self, opened: Opened) -> tuple[float, Dual]:
        if opened not in self._known:
            dual = best_price(restricted(self.problem, opened))
            paid = math.fsum(self.problem.transfers[list(opened)].tolist())
            self._known[opened] = (dual.value + paid, dual)
        return self._known[opened]

    def _best_single(self) -> list[int]:
        """The clusters that are cheapest alone, by exact allocation."""
        guesses = _guessed_alone(self.problem)
        near = [int(n) for n in np.argsort(guesses, kind="stable")[:_GUESSED] if np.isfinite(guesses[n])]
        costs = {n: _alone(self.problem, n) for n in near}
        return sorted((n for n in near if np.isfinite(costs[n])), key=lambda n: costs[n])[:_TRIED]

    def _descend(self, opened: Opened) -> Opened:
        """Add, drop or exchange one cluster while V falls."""
        for _ in range(_MOVES):
            better = self._better(opened)
            if better is None:
                break
            opened = better
        return opened

    def _better(self, opened: Opened) -> Opened | None:
        value, dual = self._entry(opened)
        for trial in self._neighbours(opened, dual, value):
            if self.value(trial) < value * (1 - _ROUNDING):
                return trial
        return None

    def _neighbours(self, opened: Opened, dual: Dual, value: float) -> list[Opened]:
        """Drops, additions that the price does not rule out, and exchanges, cheapest at the price first."""
        psi, _ = prices(self.problem, dual.multiplier)
        weighted = self.problem.counts[:, None] * np.where(self.problem.counts[:, None] > 0, psi, 0.0)
        inside = np.array(opened)
        charge = dual.multiplier * (self.problem.maximum_time or 0.0) if dual.multiplier else 0.0
        paid = math.fsum(self.problem.transfers[inside].tolist())
        found: list[tuple[float, Opened]] = []

        def offer(kept: Opened) -> None:
            """``kept``, and it with every addition that may lead below V(W)."""
            least = weighted[:, list(kept)].min(axis=1) if kept else np.full(len(weighted), math.inf)
            rest = paid - math.fsum(self.problem.transfers[[n for n in opened if n not in kept]].tolist())
            if kept and kept != opened:
                found.append((rest + float(least.sum()) - charge, kept))
            totals = np.minimum(least[:, None], weighted).sum(axis=0) + rest + self.problem.transfers - charge
            totals[inside] = math.inf
            for n in np.argsort(totals, kind="stable")[:_TRIED].tolist():
                found.append((float(totals[n]), tuple(sorted({*kept, n}))))

        offer(opened)
        for n in opened if len(opened) <= 40 else ():
            offer(tuple(item for item in opened if item != n))
        return [trial for guess, trial in sorted(found) if guess < value]


def restricted(problem: PlacementProblem, opened: Opened) -> PlacementProblem:
    """The problem on some of the clusters, their transfers not counted."""
    if len(opened) == len(problem.clusters) and not problem.transfers.any():
        return problem  # and what it has derived so far
    return problem.on(opened)


def widened(problem: PlacementProblem, opened: Opened, assignment: Assignment) -> Assignment:
    """An assignment of `restricted` as one of ``problem``."""
    found = np.zeros(problem.dimensions, dtype=np.int64)
    found[:, list(opened)] = assignment
    return found


def ascent(problem: PlacementProblem, multiplier: float) -> OpeningBound:
    """Dual ascent at one price: a lower bound of every placement, transfers included.

    Every class climbs from level to level of its own N_g psi_gn as long as the clusters that it has passed
    have room in their F_n; rounds over all classes go on until none can climb.

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite.
    """
    live = np.flatnonzero(problem.counts)
    psi, _ = prices(problem, multiplier)
    levels = problem.counts[live, None] * psi[live]
    if np.isinf(levels.min(axis=1, initial=math.inf)).any():
        return OpeningBound(math.inf, np.zeros(len(problem.clusters)))
    order = np.argsort(levels, axis=1, kind="stable")
    ranked = np.take_along_axis(levels, order, axis=1)
    room = problem.transfers.astype(float).copy()
    values, passed = ranked[:, 0].copy(), np.ones(len(live), dtype=int)
    climbing = list(range(len(live)))
    while climbing:
        climbing = [row for row in climbing if _climb(row, values, passed, ranked, order, room)]
    everything = np.zeros(len(problem.counts))
    everything[live] = values
    return charged_bound(problem, multiplier, everything)


def charged_bound(problem: PlacementProblem, multiplier: float, values: FloatArray) -> OpeningBound:
    """The lower bound of a price and of charges v_g, lowered until it holds in spite of rounding.

    Parameters
    ----------
    values : ndarray
        v_g, shape (G,), of any sign. Where they charge a cluster with more than its F_n, all are lowered
        by the excess, so the bound holds whatever is given, such as the duals of a program [cost].

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite, or positive without T_max.
    """
    limit = problem.maximum_time
    if multiplier != 0 and (limit is None or limit == math.inf):
        raise InvalidInputError("there is no T_max to be priced; only 0 is a multiplier", "multiplier")
    live = problem.counts > 0
    psi, _ = prices(problem, multiplier)
    levels = problem.counts[live, None] * psi[live]
    charged = np.maximum(values[live, None] - levels, 0.0).sum(axis=0)
    broken = max(0.0, float(np.max(charged - problem.transfers, initial=0.0)))
    charge = multiplier * limit if multiplier and limit is not None else 0.0
    size = math.fsum(np.abs(values[live]).tolist()) + charge
    lowered = broken * int(live.sum()) + _ROUNDING * size
    # what is lowered charges less: the slack of the given charges is on the safe side
    slack = np.maximum(problem.transfers - charged, 0.0)
    return OpeningBound(math.fsum(values[live].tolist()) - charge - lowered, slack)


def _climb(
    row: int, values: FloatArray, passed: Assignment, ranked: FloatArray, order: Assignment, room: FloatArray
) -> bool:
    """Raise one v_g to its next level, or as far as there is room; whether it may climb further."""
    places = ranked.shape[1]
    while passed[row] < places and ranked[row, passed[row]] <= values[row]:
        passed[row] += 1
    inside = order[row, : passed[row]]
    wanted = (ranked[row, passed[row]] if passed[row] < places else math.inf) - values[row]
    step = min(float(wanted), float(room[inside].min()))
    values[row] += step
    room[inside] -= step
    return bool(step == wanted)


def _guessed_alone(problem: PlacementProblem) -> FloatArray:
    """Costs of single clusters where no capacity binds; infinite where limits cannot be kept; shape (N,)."""
    counts = problem.counts[:, None]
    late = (problem.costs.late & (counts > 0)).any(axis=0)
    held = (counts * problem.price * np.where(np.isinf(problem.least), 0.0, problem.least)).sum(axis=0)
    if problem.maximum_time is None or problem.maximum_time == math.inf:
        return np.where(late, math.inf, held + problem.transfers)
    late |= (counts * problem.shortest).sum(axis=0) > problem.maximum_time * (1 + TIME_TOLERANCE)
    room = problem.maximum_time - (counts * problem.communication).sum(axis=0)
    roots = (counts * problem.costs.root).sum(axis=0)
    free = np.divide(roots**2, room, out=np.zeros(len(room)), where=room > 0)
    return np.where(late, math.inf, np.maximum(held, free) + problem.transfers)


def _alone(problem: PlacementProblem, cluster: int) -> float:
    """Cost with all epochs on one cluster; infinite if it cannot keep the limits [cost]."""
    assignment = np.zeros(problem.dimensions, dtype=np.int64)
    assignment[:, cluster] = problem.counts
    return float(problem.evaluate([assignment]).costs[0])
