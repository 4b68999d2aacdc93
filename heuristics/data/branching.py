"""Best-first branch and bound for stage 1: exact for any data law with volumes, without submodularity.

A node fixes some datasets as used and some as left out; its bound is that of `relaxed`. Where the relaxation
takes a dataset in part, the two children take it whole and leave it out; of equal datasets the first are used
first, so that equal ones cost no search. Where all free datasets have one density, the node is solved at once
(`depl.heuristics.data.sums`). Good sets come from rounding the
relaxation down and up and from exchanging single datasets and pairs; with a good set at hand, `flip_bounds`
settles most datasets at once, so that few are ever branched on.

The problem is NP-hard (PARTITION, see `depl.heuristics.data.hardness`): the number of nodes is small on
instances as they come, and exponential on some. A search that is stopped returns its bound.
"""

from dataclasses import dataclass

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.prefix import best_prefix
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.data.relaxation import flip_bounds, relaxed
from depl.heuristics.data.sums import candidates, one_density
from depl.heuristics.set_functions.functions import BoolArray
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
    search = _Search(problem, nonempty)
    search.consider(improved(problem, best_prefix(problem, nonempty), nonempty))
    search.add(frozenset(), frozenset())
    while search.waiting and search.nodes + 2 <= nodes:
        bound, node = search.waiting.pop()
        if bound >= search.cutoff:
            search.closed = min(search.closed, bound)
            search.waiting.clear()
            break
        inside, outside, fractional = node
        before, after = search.twins[fractional]
        search.add(inside | before | {fractional}, outside)
        search.add(inside, outside | {fractional} | after)
    lower = min(search.value, search.closed, search.waiting.least)
    return Searched(search.subset, search.value, lower, search.nodes)


class _Search:
    """The incumbent, the nodes that wait, and the least bound of those that were given up."""

    def __init__(self, problem: SelectionProblem, nonempty: bool) -> None:
        self.problem, self.nonempty = problem, nonempty
        self.subset: frozenset[int] = frozenset()
        self.value = self.closed = np.inf
        self.nodes = 0
        self.twins = _twins(problem)
        self.waiting = BestFirst[tuple[frozenset[int], frozenset[int], int]]()

    @property
    def cutoff(self) -> float:
        """Nodes of at least this bound cannot hold a set that is better by more than `CLOSED`."""
        return self.value - CLOSED * abs(self.value)

    def consider(self, subset: frozenset[int]) -> None:
        """Keep a set if it is allowed and better."""
        value = self.problem.value(subset)
        if value < self.value and (subset or not self.nonempty):
            self.subset, self.value = subset, value

    def add(self, inside: frozenset[int], outside: frozenset[int]) -> None:
        """Bound a node; close it or let it wait."""
        self.nodes += 1
        inside, outside = self._settled(inside, outside)
        free = np.array(sorted(set(range(self.problem.size)) - inside - outside), dtype=np.int64)
        if not len(free):
            self.consider(inside)
            return
        part = self.problem.restricted(inside, outside)
        if self._one_density(part, inside, free.tolist()):
            return
        found = relaxed(part, self.cutoff, self._least(inside, part))
        order = free[found.order].tolist()
        for count in {found.whole, found.whole + 1}:
            self.consider(inside | frozenset(order[:count]))
        if found.integral or found.bound >= self.cutoff:
            self.closed = min(self.closed, found.bound)
            return
        node = inside, outside, int(order[found.whole])
        self.waiting.push(found.bound, node)

    def _one_density(self, part: SelectionProblem, inside: frozenset[int], free: list[int]) -> bool:
        """Consider the sets that matter where all free datasets have one density; whether that is all."""
        density = one_density(part)
        if density is None:
            return False
        sets, certain = candidates(part, density)
        for chosen in sets:
            self.consider(inside | frozenset(free[place] for place in chosen))
        return certain

    def _least(self, inside: frozenset[int], part: SelectionProblem) -> float:
        """Volume that every set of a node adds."""
        return float(part.volumes.min()) if self.nonempty and not inside else 0.0

    def _settled(
        self, inside: frozenset[int], outside: frozenset[int]
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Fix what no better set can have otherwise; what is given up is at least the cutoff."""
        free = np.array(sorted(set(range(self.problem.size)) - inside - outside), dtype=np.int64)
        if self.problem.priced or not len(free):
            return inside, outside
        part = self.problem.restricted(inside, outside)
        left_out, taken = flip_bounds(part, self.cutoff, self._least(inside, part))
        must, may_not = left_out >= self.cutoff, taken >= self.cutoff
        given_up = np.concatenate([left_out[must], taken[may_not]])
        self.closed = min([self.closed, *given_up.tolist()])
        both = must & may_not
        may_not &= ~both  # neither can be better: one child is as good as none
        return inside | frozenset(free[must].tolist()), outside | frozenset(free[may_not].tolist())


def _twins(problem: SelectionProblem) -> list[tuple[frozenset[int], frozenset[int]]]:
    """For every dataset the equal ones before and after it.

    Of equal datasets only how many are used matters: the first ones are, in every node.
    """
    rows = list(
        zip(problem.volumes.tolist(), problem.durations.tolist(), problem.transfers.tolist(), strict=True)
    )
    groups: dict[tuple[float, float, float], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row, []).append(place)
    return [
        (
            frozenset(twin for twin in groups[row] if twin < place),
            frozenset(twin for twin in groups[row] if twin > place),
        )
        for place, row in enumerate(rows)
    ]


def improved(problem: SelectionProblem, subset: frozenset[int], nonempty: bool) -> frozenset[int]:
    """Flip single datasets and pairs while that helps; at most 20 rounds of O(n**2)."""
    members = np.zeros(problem.size, dtype=bool)
    members[sorted(subset)] = True
    for _ in range(20):
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
