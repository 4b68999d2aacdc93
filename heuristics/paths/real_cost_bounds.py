r"""Lower bounds of the real cost, first sequences, and the paces that matter.

For prices lam = q**2 of time and mu of loss, weak duality twice gives, for every sequence that reaches the
target within T_max and every prefix of it,

    cost >= F(opened) + sum psi(q) - q**2 T_max + mu (l(0) + sum l - l_max)
         >= [prefix] + H(k, m, opened),   H = min over completions, with their openings, "stop" included,

where H is a recursion over (epoch, model, opened clusters). Two more bounds of this kind say which paces
matter, if only sequences cheaper than U do: at its own optimal pace q a sequence spends sum kappa x(q) and
takes T_max (or q = 0), and both are monotone in q. So no such sequence has a pace of q or more if

    min { F + sum kappa x(q) : target reached } >= U,

and none has a pace of q or less if min { sum (c / x(q) + s / b) : target reached } > T_max. Both minima are
bounded from below by their Lagrangian in the loss. The second holds for *every* sequence that reaches the
target.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from depl.heuristics.paths.real_cost_curves import PriceCurves
from depl.heuristics.paths.real_cost_kernels import (
    Guides,
    Network,
    best_loss_price,
    completions,
    without_charges,
)
from depl.heuristics.paths.real_cost_problem import Kinds, RealCostProblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.golden import golden_sections
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_MOST_PRICED_CLUSTERS = 10
"""Clusters with transfers at most: tables have a column for every set of them, 1024 for ten. Set by hand:
each cluster more doubles time and memory, and instances beyond are refused."""
_ASCENT_STEPS = 24
"""Steps on the logarithm of the pace: its range of 1e6 shrinks to a factor of 1.0001. Set by hand: every pace
proves a bound, so that fewer make it weaker; a step more costs one best price of loss."""
_BISECTIONS = 14
"""Steps on the logarithm of the pace: its range of 1e6 shrinks to a factor of 1.001, by which the paces that
matter are too wide at most. Set by hand: a wider range of paces leaves more labels; a step more costs one
best price of loss."""
_WIDEST = 1e-6
"""Least pace looked at, as a share of the last at which anything changes; slower ones count as pace 0. Set by
hand: every pace proves a bound, so one that is best at a slower pace is weaker, never wrong."""
_GUIDES = 7
"""Paces between the slowest and the quickest that matter, the best one and the ends beside them, whose
completions bound labels. Set by hand: each takes one table of completions and one product for every label;
fewer leave more labels."""
MARGIN = 1e-9
"""Share by which a bound has to exceed a limit before anything is left out: sums of K numbers are off by
about K 1e-16 of themselves, which stays below 1e-9 up to K of some millions."""


@dataclass(frozen=True)
class Paces:
    """Between which paces the optimal ones of all sequences of interest lie."""

    slowest: float
    quickest: float


@dataclass
class Bounds:
    """The Lagrangian side of one problem, and the cheapest sequence met on the way.

    Attributes
    ----------
    problem : RealCostProblem
    network : Network
    curves : PriceCurves
    best : tuple of int or None
        Cheapest feasible sequence so far.
    best_cost : float
        Its cost; infinite without one [cost].
    lower : float
        No feasible sequence costs less [cost].
    """

    problem: RealCostProblem
    network: Network
    curves: PriceCurves
    best: Kinds | None = None
    best_cost: float = math.inf
    lower: float = 0.0
    pace: float = 0.0
    _tried: set[Kinds] = field(default_factory=set)

    @classmethod
    def of(cls, problem: RealCostProblem) -> "Bounds":
        """Read a problem.

        Raises
        ------
        NotCoveredError
            If more than ten clusters cost something to open.
        """
        return cls(problem, network_of(problem), PriceCurves.of(problem))

    @property
    def latest(self) -> float:
        """T_max with its tolerance; infinite without one [time]."""
        limit = self.problem.maximum_time
        return math.inf if limit is None else limit * (1 + TIME_TOLERANCE)

    def offer(self, sequence: Kinds) -> None:
        """Take a sequence that reaches the target as incumbent if it is cheaper."""
        if sequence in self._tried:
            return
        self._tried.add(sequence)
        if self.problem.loss(sequence) <= self.problem.highest_loss:
            cost = self.problem.cost(sequence)
            if cost < self.best_cost:
                self.best, self.best_cost = sequence, cost

    def ascend(self, proceed: Callable[[], bool] = lambda: True) -> None:
        """Raise ``lower`` by golden sections on log q, while ``proceed``: the Lagrangian is unimodal in q."""
        last = self.curves.last_pace
        self._raise_at(0.0)
        if last == 0 or self.problem.maximum_time is None:
            return
        self._raise_at(last)
        ends = math.log(last * _WIDEST), math.log(last)
        asked = golden_sections(
            lambda point: self._raise_at(math.exp(point)), *ends, _ASCENT_STEPS, value=float
        )
        next(asked)
        for _ in asked:  # from the second of the two points that it begins with on
            if not proceed():
                break

    def paces(self, upper: float) -> Paces:
        """Between which paces the optimal ones of all sequences cheaper than ``upper`` lie."""
        last = self.curves.last_pace
        if last == 0 or self.problem.maximum_time is None:
            return Paces(0.0, 0.0)
        charged, free = self.network, without_charges(self.network)

        def too_expensive(pace: float) -> bool:
            return self._bound(charged, self.curves.spending(pace)) >= upper * (1 + MARGIN)

        def too_slow(pace: float) -> bool:
            return self._bound(free, self.curves.times(pace)) > self.latest * (1 + MARGIN)

        floor = last * _WIDEST
        searched = math.isfinite(upper) and too_expensive(last)
        quickest = _first(too_expensive, floor, last) if searched else last
        if not too_slow(floor):
            return Paces(0.0, quickest)
        # Everything is too slow at a pace just below the first at which something need not be.
        slowest = _last(too_slow, floor, quickest)
        return Paces(slowest, quickest)

    def guides(self, paces: Paces) -> Guides:
        """Points of the dual around the best one, within the paces that matter, with completions."""
        points = _spread(paces, self.pace)
        weights = np.array([self.curves.prices(pace)[self.curves.index] for pace in points])
        constants = np.array([self._constant(pace) for pace in points])
        prices = np.array([best_loss_price(self.network, table)[0] for table in weights])
        return guides_of(self.network, weights, prices, constants)

    def _raise_at(self, pace: float) -> float:
        """The Lagrangian at a pace, the best over the price of loss; keeps bound and sequences."""
        _, bound, met = best_loss_price(self.network, self.curves.prices(pace)[self.curves.index])
        bound -= self._constant(pace)
        if bound > self.lower:
            self.lower, self.pace = bound, pace
        for row in np.unique(met, axis=0):
            self.offer(tuple(int(g) for g in row if g >= 0))
        return float(bound)

    def _constant(self, pace: float) -> float:
        return pace * pace * self.latest if pace > 0 else 0.0

    def _bound(self, network: Network, values: FloatArray) -> float:
        if not np.isfinite(values).all():
            return math.inf
        return float(best_loss_price(network, values[self.curves.index])[1])


def network_of(problem: RealCostProblem) -> Network:
    """The steps of a problem as arrays; only clusters that cost something to open are remembered.

    Raises
    ------
    NotCoveredError
        If more than ten clusters cost something to open.
    """
    priced = np.flatnonzero(problem.transfers > 0).tolist()
    if len(priced) > _MOST_PRICED_CLUSTERS:
        raise NotCoveredError(
            f"{len(priced)} clusters have transfer costs; sets of at most {_MOST_PRICED_CLUSTERS} are covered"
        )
    bit = {place: 1 << position for position, place in enumerate(priced)}
    charges = [
        math.fsum(float(problem.transfers[place]) for place in priced if chosen & bit[place])
        for chosen in range(1 << len(priced))
    ]
    return Network(
        losses=np.ascontiguousarray(problem.losses),
        allowed=np.ascontiguousarray(problem.allowed),
        models=np.array([model for _, model in problem.kinds], dtype=np.int64),
        bits=np.array([bit.get(place, 0) for place, _ in problem.kinds], dtype=np.int64),
        charges=np.array(charges),
        initial_loss=problem.initial_loss,
        highest_loss=problem.highest_loss,
    )


def guides_of(
    network: Network, weights: FloatArray, loss_prices: FloatArray, constants: FloatArray
) -> Guides:
    """Completions at given points of the dual, and the reach of the loss."""
    reach = completions(without_charges(network), np.zeros_like(weights[0]), 1.0).min(axis=2)
    tables = [completions(network, table, price) for table, price in zip(weights, loss_prices, strict=True)]
    return Guides(weights, loss_prices, constants, np.array(tables), reach)


def _spread(paces: Paces, centre: float) -> list[float]:
    """The best pace, both ends and some between."""
    inner: Iterable[float] = ()
    low = max(paces.slowest, paces.quickest * 1e-3)
    if low < paces.quickest:
        inner = np.geomspace(low, paces.quickest, _GUIDES).tolist()
    return sorted({min(max(centre, paces.slowest), paces.quickest), paces.slowest, *inner})


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """About the least pace at which a monotone condition holds, from above; it holds at ``high``."""
    return _bisect(holds, low, high)[1]


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """About the greatest pace at which a falling condition holds, from below; it holds at ``low``."""
    return _bisect(lambda pace: not holds(pace), low, high)[0]


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        if holds(middle):
            high = middle
        else:
            low = middle
    return low, high
