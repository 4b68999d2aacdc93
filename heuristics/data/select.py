r"""Stage 1 exactly: which datasets to use, and which rule proves it, without submodularity.

1. *Table*: K^ from a table, or transfers that count: all subsets.
2. *Prefix*: 1/K^ is convex: some minimiser is a prefix of the datasets sorted by tau_d / q_d, or one dataset.
3. *Ends*: one density and K^ T^ concave (where the paper's claim is true, E4): the smallest dataset or all.
4. *Branching*: otherwise branch and bound on the fractional frontier; where few datasets are free and all
   have one density, a node is solved at once (`candidates`). Stopped, an answer carries its bound and is not
   called optimal. The page "Dataset selection" proves rules and bound, and that it has to be a search.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs
from depl.heuristics.data.problem import SelectionProblem, selection_problem, training_time
from depl.heuristics.data.set_function import product_is_concave
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.search import BestFirst
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

MOST_LISTED = 16
"""Datasets of which all sets are listed where transfers count: 65,536, in some hundredths of a second."""

CLOSED = PROOF_TOLERANCE / 1000
"""Relative gap below which a node cannot matter: a thousandth of what counts as proved."""

_PARTS = 4
"""Parts of an interval that is split: the error falls with the square of the width, so by a factor of 16. Set
by hand: two take twice the rounds, more evaluate parts that one split would have settled."""

_ROUNDS = 40
"""Rounds of splitting: after 26 an interval is 4**26 = 2**52 times narrower, which is the rounding of
doubles, and its bound is that of its ends. More, set by hand, keep the loop finite where K^ is so steep that
rounding still shows."""

_PRECISION = 2e-13
"""Relative difference of a bound and a value that counts as none: a thousand roundings of doubles, and a
fifth of `CLOSED`."""

_MOST_WEAK = 5_000
"""Intervals that may be open at once. Set by hand: where f is flat, splitting closes none of them; branching
decides what is left, and the bound so far is valid."""

IntArray = NDArray[np.int64]


class Rule(Enum):
    """What proves a selection."""

    TABLE = "table"
    """All subsets were tried."""
    PREFIX = "prefix"
    """1/K^ is convex: the sorted prefix."""
    ENDS = "ends"
    """K^ T^ is concave in the volume: the smallest dataset or everything."""
    BRANCHING = "branching"
    """The bound of branch and bound meets the value to 1e-9."""
    NONE = "none"
    """Nothing: the search was stopped before its bound met the value."""


@dataclass(frozen=True)
class Selection:
    """Datasets to use, and what is known of them.

    Attributes
    ----------
    datasets : tuple of str
        In the order of the problem.
    value : float
        K^ T^ plus transfers [time].
    lower_bound : float
        No other choice has a smaller value.
    rule : Rule
        Why.
    nodes : int
        Of branch and bound; 0 for the other rules.
    """

    datasets: tuple[str, ...]
    value: float
    lower_bound: float
    rule: Rule
    nodes: int = 0

    @property
    def optimal(self) -> bool:
        """Whether no choice is better, proved by ``rule``."""
        return self.rule is not Rule.NONE


def select_datasets(
    given: Instance | SelectionProblem,
    *,
    nonempty: bool = True,
    nodes: int = 10_000,
) -> Selection:
    """The best datasets of stage 1, with the rule that proves them.

    Parameters
    ----------
    given : Instance or SelectionProblem
        An instance is read by `depl.heuristics.data.problem.selection_problem`.
    nonempty : bool
        Whether a dataset has to be used, as in every plan that trains.
    nodes : int
        Limit of branch and bound.

    Raises
    ------
    InvalidInputError
        If ``nodes`` is not positive.
    NotCoveredError
        If transfers count and there are more than `MOST_LISTED` datasets, or there is none to use.
    """
    problem = given if isinstance(given, SelectionProblem) else selection_problem(given)
    if problem.priced and problem.size > MOST_LISTED:
        raise NotCoveredError(
            f"where transfers count all sets are listed, of {MOST_LISTED} datasets at most; not "
            f"{problem.size}"
        )
    if isinstance(problem.needed, TabledEpochs) or problem.priced:
        return _answer(problem, _best_of_table(problem, nonempty), Rule.TABLE)
    if rule_holds(problem, nonempty):
        return _answer(problem, best_prefix(problem, nonempty), Rule.PREFIX)
    ends = _best_end(problem) if nonempty else None
    if ends is not None:
        return _answer(problem, ends, Rule.ENDS)
    found = branch_and_bound(problem, nonempty, nodes)
    rule = Rule.BRANCHING if found.optimal else Rule.NONE
    return _answer(problem, found.subset, rule, found.lower_bound, found.nodes)


def rule_holds(problem: SelectionProblem, nonempty: bool = True) -> bool:
    """Whether the prefix rule applies: K^ by volume, no prices, and 1/K^ convex where sets can be."""
    if not isinstance(problem.needed, NeededEpochs) or problem.priced or problem.constant:
        return False
    least = float(problem.volumes.min()) if nonempty and problem.size else 0.0
    return problem.needed.reciprocal_is_convex(least)


def density_order(problem: SelectionProblem) -> IntArray:
    """The datasets by rising tau_d / q_d; of equals the larger first."""
    return np.lexsort((-problem.volumes, problem.durations / problem.volumes)).astype(np.int64)


def best_prefix(problem: SelectionProblem, nonempty: bool = True) -> frozenset[int]:
    """The best prefix, or for nonempty sets the best nonempty prefix or single dataset.

    It is a minimiser where `rule_holds`, and a feasible set elsewhere.

    Raises
    ------
    NotCoveredError
        For K^ from a table, or if a dataset has to be used and there is none.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes to sort by")
    if nonempty and not problem.size:
        raise NotCoveredError("there is no dataset to use")
    order, n = density_order(problem), problem.size
    prefixes: NDArray[np.bool_] = np.zeros((n + 1, n), dtype=bool)
    prefixes[:, order] = np.tri(n + 1, n, -1, dtype=bool)
    sets = np.concatenate([prefixes[1:], np.eye(n, dtype=bool)]) if nonempty else prefixes
    return frozenset(np.flatnonzero(sets[int(np.argmin(problem.values(sets)))]).tolist())


def _best_of_table(problem: SelectionProblem, nonempty: bool) -> frozenset[int]:
    index = np.arange(1 if nonempty else 0, 1 << problem.size)
    members = (index[:, None] >> np.arange(problem.size)) & 1 == 1
    return frozenset(np.flatnonzero(members[int(np.argmin(problem.values(members)))]).tolist())


def _best_end(problem: SelectionProblem) -> frozenset[int] | None:
    """The smallest dataset or everything, if K^ T^ is concave between them."""
    if not problem.size:
        return None
    smallest = int(np.argmin(problem.volumes))
    if not product_is_concave(problem, float(problem.volumes[smallest])):
        return None
    return min(frozenset({smallest}), frozenset(range(problem.size)), key=problem.value)


def _answer(
    problem: SelectionProblem,
    subset: frozenset[int],
    rule: Rule,
    lower: float = math.inf,
    nodes: int = 0,
) -> Selection:
    names, value = tuple(problem.names[place] for place in sorted(subset)), problem.value(subset)
    return Selection(names, value, min(lower, value), rule, nodes)


# --- branch and bound -----------------------------------------------------------------------------------


def branch_and_bound(problem: SelectionProblem, nonempty: bool = True, nodes: int = 10_000) -> "Search":
    """The best set by best-first branch and bound, for K^ by volume and without transfers.

    A node fixes some datasets as used and some as left out; its bound is that of `relaxed`. Where the
    relaxation takes a dataset in part, the two children take it whole and leave it out. Good sets come from
    the best prefix and from rounding the relaxation down and up.

    Parameters
    ----------
    problem : SelectionProblem
    nonempty : bool
        Whether a dataset has to be used.
    nodes : int
        Most nodes; then the best set so far is returned with the least bound that is left.

    Raises
    ------
    NotCoveredError
        For K^ from a table, for transfers, or if a dataset has to be used and there is none.
    """
    if nodes < 1:
        raise InvalidInputError(f"must be at least 1, not {nodes}", "nodes")
    search = Search(problem, nonempty, best_prefix(problem, nonempty))
    search.run(nodes)
    return search


class Search:
    """Branch and bound: the best set so far, ``subset``, its ``value``, and how many nodes were bounded.

    Besides the nodes that wait, and the least bound of those that were given up.
    """

    def __init__(self, problem: SelectionProblem, nonempty: bool, subset: frozenset[int]) -> None:
        self.problem, self.nonempty = problem, nonempty
        self.subset, self.value = subset, problem.value(subset)
        self.closed, self.nodes = np.inf, 0
        self.waiting = BestFirst[tuple[frozenset[int], frozenset[int], int]]()

    @property
    def lower_bound(self) -> float:
        """No set of the problem has a smaller value."""
        return min(self.value, self.closed, self.waiting.least)

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the value to `PROOF_TOLERANCE`, relative."""
        return counts_as_proved(self.value, self.lower_bound)

    @property
    def cutoff(self) -> float:
        """Nodes of at least this bound cannot hold a set that is better by more than `CLOSED`."""
        return self.value - CLOSED * abs(self.value)

    def run(self, nodes: int) -> None:
        """Search until nothing can be better or the nodes are used up."""
        self.add(frozenset(), frozenset())
        while self.waiting and self.nodes + 2 <= nodes:
            bound, (inside, outside, fractional) = self.waiting.pop()
            if bound >= self.cutoff:
                self.closed = min(self.closed, bound)
                self.waiting.clear()
                break
            self.add(inside | {fractional}, outside)
            self.add(inside, outside | {fractional})

    def consider(self, subset: frozenset[int]) -> None:
        """Keep a set if it is allowed and better."""
        value = self.problem.value(subset)
        if value < self.value and (subset or not self.nonempty):
            self.subset, self.value = subset, value

    def add(self, inside: frozenset[int], outside: frozenset[int]) -> None:
        """Bound a node; close it, solve it at once, or let it wait."""
        self.nodes += 1
        fixed = inside | outside
        places = np.array([place for place in range(self.problem.size) if place not in fixed], dtype=np.intp)
        if not len(places):
            self.consider(inside)
            return
        rest = self.problem.restricted(inside, outside) if fixed else self.problem
        least = float(rest.volumes.min()) if self.nonempty and not inside else 0.0
        found = relaxed(rest, self.cutoff, least)
        order = places[found.order].tolist()
        for count in {found.whole, found.whole + 1}:
            self.consider(inside | frozenset(order[:count]))
        if found.integral or found.bound >= self.cutoff:
            self.closed = min(self.closed, found.bound)
            return
        density = one_density(rest)
        if density is None:
            self.waiting.push(found.bound, (inside, outside, order[found.whole]))
            return
        for chosen in candidates(rest, density):
            self.consider(inside | frozenset(places[sorted(chosen)].tolist()))


class Relaxed(NamedTuple):
    """The bound of one part of the search.

    Attributes
    ----------
    bound : float
        No set of the part has a smaller value, up to rounding.
    order : ndarray
        The free datasets in the order of the frontier.
    whole : int
        So many datasets of ``order`` are taken whole at the best point.
    integral : bool
        Whether the best point takes no dataset in part.
    """

    bound: float
    order: IntArray
    whole: int
    integral: bool


def relaxed(problem: SelectionProblem, cutoff: float = np.inf, least: float = 0.0) -> Relaxed:
    """The bound over all sets of a problem that add enough volume: that of its fractional frontier.

    Without prices, f falls in Q and rises in T, so for a given added volume s only the least duration counts:
    phi(s) = min {tau.x : q.x = s, 0 <= x <= 1}, fractional knapsack, piecewise linear with the prefix sums in
    the order of tau_d / q_d as its corners. On an interval inside a piece K lies above its tangent at the
    middle, and tangent times duration is concave, so its ends bound f; intervals that are not good enough are
    split.

    Parameters
    ----------
    problem : SelectionProblem
        Of a part of the search, see `SelectionProblem.restricted`; with at least one dataset.
    cutoff : float
        Once the bound is known to be at least this, it is not refined further.
    least : float
        Least added volume: the smallest dataset where the empty set is not allowed [data].

    Raises
    ------
    NotCoveredError
        For K^ from a table, and for transfers.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes")
    if problem.priced:
        raise NotCoveredError("transfers have no fractional frontier; list all sets")
    order = density_order(problem)
    volume, length = _corners(problem.volumes[order]), _corners(problem.durations[order])
    length += problem.fixed_duration
    values = training_time(problem.needed.at(volume), length)
    values[volume < least * (1 - _PRECISION)] = np.inf
    corner = int(np.argmin(values))
    lowest = float(values[corner])
    pieces = _pieces(problem.needed, volume, length, least)
    parts = _refined(problem.needed, pieces, min(cutoff - problem.constant, lowest))
    place = int(np.argmin(parts.bound))
    bound = float(parts.bound[place])
    least_bound = min(bound, lowest) + problem.constant
    if bound >= lowest * (1 - _PRECISION):
        return Relaxed(least_bound, order, corner, True)
    middle = float(parts.low[place] + parts.high[place]) / 2
    whole = int(np.searchsorted(volume, middle, side="right")) - 1
    return Relaxed(least_bound, order, min(whole, len(order) - 1), False)


class _Parts(NamedTuple):
    """Intervals of added volume inside pieces of the frontier: T at both ends, bounds, better ends."""

    low: FloatArray
    high: FloatArray
    start: FloatArray
    end: FloatArray
    bound: FloatArray
    ends: FloatArray


def _pieces(needed: NeededEpochs, volume: FloatArray, length: FloatArray, least: float) -> _Parts:
    """One interval for each piece of the frontier beyond ``least``."""
    first = min(int(np.searchsorted(volume, least, side="right")) - 1, len(volume) - 2)
    start = float(np.interp(least, volume, length))
    volume = np.concatenate([[min(least, volume[-1])], volume[first + 1 :]])
    length = np.concatenate([[start], length[first + 1 :]])
    return _bounded(needed, volume[:-1], volume[1:], length[:-1], length[1:])


def _bounded(
    needed: NeededEpochs, low: FloatArray, high: FloatArray, start: FloatArray, end: FloatArray
) -> _Parts:
    middle = (low + high) / 2
    value, slope = needed.at(middle), needed.slope(middle)
    left = (value + slope * (low - middle)) * start
    right = (value + slope * (high - middle)) * end
    ends = np.minimum(training_time(needed.at(low), start), training_time(needed.at(high), end))
    return _Parts(low, high, start, end, np.minimum(left, right), ends)


def _refined(needed: NeededEpochs, parts: _Parts, cutoff: float) -> _Parts:
    """Split intervals until every bound is at least the cutoff, or as good as rounding lets it be."""
    share = np.arange(_PARTS + 1) / _PARTS
    for _ in range(_ROUNDS):
        target = min(cutoff, float(parts.ends.min()))
        weak = parts.bound < np.minimum(target, parts.ends) * (1 - _PRECISION)
        # where the product is flat, every interval stays weak: what is left is decided by branching
        if not 0 < np.count_nonzero(weak) <= _MOST_WEAK:
            break
        volume = parts.low[weak, None] + share * (parts.high - parts.low)[weak, None]
        length = parts.start[weak, None] + share * (parts.end - parts.start)[weak, None]
        cells = (part.ravel() for grid in (volume, length) for part in (grid[:, :-1], grid[:, 1:]))
        new = _bounded(needed, *cells)
        parts = _Parts(*(np.concatenate([old[~weak], more]) for old, more in zip(parts, new, strict=True)))
    return parts


def _corners(numbers: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(numbers)])


MOST_BY_HALVES = 36
"""Datasets whose sums are all listed by halves. Set by hand: 2**18 sums of each half take 2 MiB; two datasets
more double both time and memory. With more, a good sum next to a volume is soon met by branching."""

_SAME = 1e-12
"""Relative difference of densities that counts as none: products and quotients of decimals in doubles are off
by a few times 1e-16, a thousandth of it."""


def one_density(problem: SelectionProblem) -> float | None:
    """rho if few datasets have it up to rounding and nothing is priced, else None [time / data]."""
    if problem.priced or not isinstance(problem.needed, NeededEpochs):
        return None
    if not 0 < problem.size <= MOST_BY_HALVES:
        return None
    densities = problem.durations / problem.volumes
    low, high = float(densities.min()), float(densities.max())
    return low if high - low <= _SAME * high else None


def candidates(problem: SelectionProblem, density: float) -> list[frozenset[int]]:
    """Sets among which a best one is.

    With tau_d = rho q_d f is a function g of the added volume, and with g = K(Q) (t0 + rho Q) its derivative
    has the sign of

        power        (1 - p) rho Q - p t0                rises or is negative
        inverse_log  (1 + Q) ln(1 + Q) - Q - t0 / rho    rises
        log          K(Q) / b - 1 - t0 / (rho Q)         rises up to Q = t0 / rho, falls after

    So g falls and then rises, or under the logarithm falls, rises and falls; the best set has no volume, all
    of it, or one of the two sums of volumes next to the inner minimum. This is SUBSET SUM, hence NP-hard.

    Parameters
    ----------
    problem : SelectionProblem
        Without prices, at most `MOST_BY_HALVES` datasets, all of one density.
    density : float
        rho > 0 or 0.
    """
    smallest = frozenset({int(np.argmin(problem.volumes))})
    ends = [frozenset[int](), smallest, frozenset(range(problem.size))]
    if density == 0 or not isinstance(problem.needed, NeededEpochs):
        return ends  # without durations, more data cost nothing
    whole = math.fsum(problem.volumes.tolist())
    inner = inner_minimum(problem.needed, problem.fixed_duration, density, whole)
    return ends if inner is None else [*ends, *by_halves(problem.volumes, inner)]


def inner_minimum(needed: NeededEpochs, fixed: float, rate: float, whole: float) -> float | None:
    """Where K(s) (fixed + rate s) has its inner minimum on [0, whole]; None if it has none [data].

    Parameters
    ----------
    needed : NeededEpochs
        K^, positive at ``whole`` [epochs].
    fixed : float
        T^ without added volume [time].
    rate : float
        Duration per volume, positive [time / data].
    whole : float
        W > 0 [data].

    Returns
    -------
    float or None
        To about 1e-12 relative to ``whole``, even if an end is better.
    """
    if needed.constant:
        return None

    def rise(volume: float) -> float:
        """The derivative over -K' > 0, which keeps its sign: T^ < -K/K' rate."""
        return float(rate * needed.at(volume) / -needed.slope(volume) - (fixed + rate * volume))

    turn = whole  # where the sign may start to fall: at Q = t0 / rho under the logarithm
    if needed.logarithmic:
        base = needed.base_volume
        turn = min(whole, max((fixed - rate * base) / rate - base, 0.0))
    low = 1e-12 * whole if needed.base_volume == 0 else 0.0  # K^ is infinite at Q = 0, so g falls from there
    if not (low < turn and rise(low) < 0 < rise(turn)):
        return None
    return float(brentq(rise, low, turn, xtol=1e-13 * whole))


def by_halves(volumes: FloatArray, target: float) -> list[frozenset[int]]:
    """The set with the greatest sum up to ``target`` and the one with the least sum from it on."""
    half = len(volumes) // 2
    left, right = _sums(volumes[:half]), _sums(volumes[half:])
    order = np.argsort(right, kind="stable")
    above = np.searchsorted(right[order], target - left, side="left")
    found = []
    below = np.maximum(above - 1, 0)
    for places, sign in ((below, -1.0), (np.minimum(above, len(right) - 1), 1.0)):
        distance = sign * (left + right[order[places]] - target)
        # where a half has no sum on this side, the neighbour lies on the other side
        distance[distance < -1e-15 * abs(target)] = np.inf
        best = int(np.argmin(distance))
        if np.isfinite(distance[best]):
            index = best | int(order[places[best]]) << half
            found.append(frozenset(bit for bit in range(len(volumes)) if index >> bit & 1))
    return found


def _sums(volumes: FloatArray) -> FloatArray:
    """All sums, shape (2**n,); bit i of the index says whether volume i is in."""
    sums = np.zeros(1)
    for volume in volumes.tolist():
        sums = np.concatenate([sums, sums + volume])
    return sums
