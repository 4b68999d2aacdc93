"""Best-first branch and bound for stage 1: exact for any data law with volumes, without submodularity.

A node fixes some datasets as used and some as left out; its bound is that of `relaxed`. Where the relaxation
takes a dataset in part, the two children take it whole and leave it out; of equal datasets the first are used
first, so that equal ones cost no search. Where all free datasets have one density, the node is solved at once
(`depl.heuristics.data.sums`). Good sets come from the best prefix and from rounding the relaxation down and
up; with one at hand, `flips` settles most datasets at once, so that few are ever branched on, and only
among those few are single datasets and pairs exchanged.

The problem is NP-hard (PARTITION, see docs/dataset_selection): the number of nodes is small on
instances as they come, and exponential on some. A search that is stopped returns its bound.
"""

from dataclasses import dataclass

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.prefix import best_prefix
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.data.relaxation import Relaxed, flips, relaxed
from depl.heuristics.data.sums import candidates, one_density
from depl.heuristics.set_functions.functions import BoolArray, IntArray
from depl.models.foundation.best_first import BestFirst
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved

CLOSED = PROOF_TOLERANCE / 1000
"""Relative gap below which a node cannot matter: a thousandth of what counts as proved."""


@dataclass(frozen=True)
class Searched:
    """What the search knows at its end.

    Attributes
    ----------
    subset : frozenset of int
        The best set found.
    value : float
        f of it.
    lower_bound : float
        No set of the kind asked for has a smaller value.
    nodes : int
        Nodes whose bound was computed.
    """

    subset: frozenset[int]
    value: float
    lower_bound: float
    nodes: int

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the value to `PROOF_TOLERANCE`, relative."""
        return counts_as_proved(self.value, self.lower_bound)


def branch_and_bound(problem: SelectionProblem, nonempty: bool = True, nodes: int = 10_000) -> Searched:
    """The best set by best-first branch and bound.

    Parameters
    ----------
    problem : SelectionProblem
        K^ by volume.
    nonempty : bool
        Whether a dataset has to be used.
    nodes : int
        Most nodes; then the best set so far is returned with the least bound that is left.

    Raises
    ------
    NotCoveredError
        For K^ from a table, or if a dataset has to be used and there is none.
    InvalidInputError
        If ``nodes`` is not positive.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes; enumerate its sets")
    if nodes < 1:
        raise InvalidInputError(f"must be at least 1, not {nodes}", "nodes")
    best = best_prefix(problem, nonempty)
    value = problem.value(best)
    whole = _part(problem, frozenset(), frozenset(), nonempty)
    cutoff = _cutoff(value)
    core, closed = _settled(problem, whole, relaxed(problem, cutoff, whole.least), cutoff)
    search = _Search(core.problem, core.nonempty, value, closed)
    search.consider(improved(core.problem, core.of(best), core.nonempty))
    search.run(nodes)
    if search.subset is not None:
        found = core.inside | frozenset(core.places[sorted(search.subset)].tolist())
        best = min(best, found, key=problem.value)
    value = problem.value(best)
    return Searched(best, value, min(value, search.lower_bound), search.nodes)


@dataclass(frozen=True, eq=False)
class _Part:
    """Sets that use some datasets and miss others.

    Attributes
    ----------
    inside, outside : frozenset of int
        Used and left out in any case.
    places : ndarray
        The other datasets, in order.
    problem : SelectionProblem
        Over those.
    nonempty : bool
        Whether one of them has to be used.
    """

    inside: frozenset[int]
    outside: frozenset[int]
    places: IntArray
    problem: SelectionProblem
    nonempty: bool

    @property
    def least(self) -> float:
        """Volume that every set of the part adds."""
        return float(self.problem.volumes.min()) if self.nonempty else 0.0

    def of(self, subset: frozenset[int]) -> frozenset[int]:
        """The open datasets of a set, numbered as in ``problem``."""
        return frozenset(np.flatnonzero(np.isin(self.places, sorted(subset))).tolist())


def _part(
    problem: SelectionProblem, inside: frozenset[int], outside: frozenset[int], nonempty: bool
) -> _Part:
    is_open = np.ones(problem.size, dtype=bool)
    is_open[list(inside | outside)] = False
    rest = problem.restricted(inside, outside) if inside or outside else problem
    return _Part(inside, outside, np.flatnonzero(is_open), rest, nonempty and not inside)


def _settled(problem: SelectionProblem, part: _Part, found: Relaxed, cutoff: float) -> tuple[_Part, float]:
    """Fix what no better set can have otherwise; and the least bound of what is given up, >= the cutoff."""
    if found.intervals is None:
        return part, np.inf
    left_out, taken = flips(part.problem, found.intervals, cutoff)
    must, may_not = left_out >= cutoff, taken >= cutoff
    if not (must | may_not).any():
        return part, np.inf
    given_up = float(np.concatenate([left_out[must], taken[may_not]]).min())
    may_not &= ~must  # where neither can be better, one child is as good as none
    inside = part.inside | frozenset(part.places[must].tolist())
    outside = part.outside | frozenset(part.places[may_not].tolist())
    return _part(problem, inside, outside, part.nonempty), given_up


def _cutoff(value: float) -> float:
    """Nodes of at least this bound cannot hold a set that is better by more than `CLOSED`."""
    return value - CLOSED * abs(value)


class _Search:
    """The incumbent, the nodes that wait, and the least bound of those that were given up.

    It begins with the value of a set that is known, and with what was given up before; ``subset`` is None
    until a better one is found.
    """

    def __init__(self, problem: SelectionProblem, nonempty: bool, value: float, closed: float) -> None:
        self.problem, self.nonempty = problem, nonempty
        self.subset: frozenset[int] | None = None
        self.value, self.closed = value, closed
        self.nodes = 0
        self._equal = _equal_datasets(problem)
        self.waiting = BestFirst[tuple[frozenset[int], frozenset[int], int]]()

    @property
    def lower_bound(self) -> float:
        """No set of the problem, and none that was given up before, has a smaller value."""
        return min(self.value, self.closed, self.waiting.least)

    def run(self, nodes: int) -> None:
        """Search until nothing can be better or the nodes are used up."""
        self.add(frozenset(), frozenset())
        while self.waiting and self.nodes + 2 <= nodes:
            bound, node = self.waiting.pop()
            if bound >= _cutoff(self.value):
                self.closed = min(self.closed, bound)
                self.waiting.clear()
                break
            inside, outside, fractional = node
            before, after = self._twins(fractional)
            self.add(inside | before | {fractional}, outside)
            self.add(inside, outside | {fractional} | after)

    def consider(self, subset: frozenset[int]) -> None:
        """Keep a set if it is allowed and better."""
        value = self.problem.value(subset)
        if value < self.value and (subset or not self.nonempty):
            self.subset, self.value = subset, value

    def add(self, inside: frozenset[int], outside: frozenset[int]) -> None:
        """Bound a node; close it or let it wait."""
        self.nodes += 1
        part = _part(self.problem, inside, outside, self.nonempty)
        while len(part.places):
            found = self._relaxed(part)
            if found.integral or found.bound >= _cutoff(self.value):
                self.closed = min(self.closed, found.bound)
                return
            before, (part, given_up) = part, _settled(self.problem, part, found, _cutoff(self.value))
            self.closed = min(self.closed, given_up)
            if part is before:
                break
        else:
            self.consider(part.inside)
            return
        if not self._one_density(part):
            fractional = int(part.places[found.order[found.whole]])
            self.waiting.push(found.bound, (part.inside, part.outside, fractional))

    def _relaxed(self, part: _Part) -> Relaxed:
        """The bound of a part; the sets next to its best point are considered."""
        found = relaxed(part.problem, _cutoff(self.value), part.least)
        order = part.places[found.order].tolist()
        for count in {found.whole, found.whole + 1}:
            self.consider(part.inside | frozenset(order[:count]))
        return found

    def _one_density(self, part: _Part) -> bool:
        """Consider the sets that matter where all open datasets have one density; whether that is all."""
        density = one_density(part.problem)
        if density is None:
            return False
        sets, certain = candidates(part.problem, density)
        for chosen in sets:
            self.consider(part.inside | frozenset(part.places[sorted(chosen)].tolist()))
        return certain

    def _twins(self, place: int) -> tuple[frozenset[int], frozenset[int]]:
        """The datasets equal to one, before and after it.

        Of equal datasets only how many are used matters: the first ones are, in every node.
        """
        equal = self._equal[place]
        before, after = (twin for twin in equal if twin < place), (twin for twin in equal if twin > place)
        return frozenset(before), frozenset(after)


def _equal_datasets(problem: SelectionProblem) -> list[list[int]]:
    """For every dataset the places of those equal to it, itself among them."""
    groups: dict[tuple[float, float, float], list[int]] = {}
    rows = zip(problem.volumes.tolist(), problem.durations.tolist(), problem.transfers.tolist(), strict=True)
    found = []
    for place, row in enumerate(rows):
        group = groups.setdefault(row, [])
        group.append(place)
        found.append(group)
    return found


def improved(problem: SelectionProblem, subset: frozenset[int], nonempty: bool) -> frozenset[int]:
    """Flip single datasets and pairs while that helps; at most 20 rounds of O(n**2)."""
    members = np.zeros(problem.size, dtype=bool)
    members[sorted(subset)] = True
    for _ in range(20 if problem.size else 0):
        changed = _best_flips(problem, members, nonempty)
        if changed is None:
            break
        members = changed
    return frozenset(np.flatnonzero(members).tolist())


def _best_flips(problem: SelectionProblem, members: BoolArray, nonempty: bool) -> BoolArray | None:
    """The best set at one or two flips, or None if it is no better."""
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes")
    sign = np.where(members, -1.0, 1.0)
    totals = []
    for part, start in (
        (problem.volumes, 0.0),
        (problem.durations, problem.fixed_duration),
        (problem.transfers, problem.constant),
    ):
        moved = sign * part
        total = start + float(part[members].sum()) + moved[:, None] + moved[None, :]
        np.fill_diagonal(total, start + float(part[members].sum()) + moved)
        totals.append(total)
    count = members.sum() + sign[:, None] + sign[None, :]
    np.fill_diagonal(count, members.sum() + sign)
    # sums of what is flipped out leave rounding behind where nothing remains
    volume = np.where(count > 0, np.maximum(totals[0], 0.0), 0.0)
    values = training_time(problem.needed.at(volume), np.maximum(totals[1], 0.0)) + totals[2]
    if nonempty:
        values[count == 0] = np.inf
    first, second = np.unravel_index(int(np.argmin(values)), values.shape)
    changed = members.copy()
    changed[first] = not members[first]
    if first != second:
        changed[second] = not members[second]
    before = problem.value(frozenset(np.flatnonzero(members).tolist()))
    after = problem.value(frozenset(np.flatnonzero(changed).tolist()))
    return changed if after < before else None
