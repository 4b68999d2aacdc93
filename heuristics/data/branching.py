"""Best-first branch and bound for stage 1: exact for any data law with volumes, without submodularity.

A node fixes some datasets as used and some as left out; its bound is that of `relaxed`. Where the relaxation
takes a dataset in part, the two children take it whole and leave it out. Where all free datasets have one
density, the node is solved at once (`depl.heuristics.data.sums`). Good sets come from the best prefix and
from rounding the relaxation down and up. The problem is NP-hard (docs/dataset_selection), so the number of
nodes is small on instances as they come, and exponential on some: a search that is stopped returns its bound.
"""

from dataclasses import dataclass

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.prefix import best_prefix
from depl.heuristics.data.problem import SelectionProblem
from depl.heuristics.data.relaxation import relaxed
from depl.heuristics.data.sums import candidates, one_density
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
        K^ by volume, and no transfers.
    nonempty : bool
        Whether a dataset has to be used.
    nodes : int
        Most nodes; then the best set so far is returned with the least bound that is left.

    Raises
    ------
    NotCoveredError
        For K^ from a table, for transfers, or if a dataset has to be used and there is none.
    InvalidInputError
        If ``nodes`` is not positive.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes; enumerate its sets")
    if nodes < 1:
        raise InvalidInputError(f"must be at least 1, not {nodes}", "nodes")
    search = _Search(problem, nonempty, best_prefix(problem, nonempty))
    search.run(nodes)
    return Searched(search.subset, search.value, search.lower_bound, search.nodes)


class _Search:
    """The best set so far, the nodes that wait, and the least bound of those that were given up."""

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
        """Bound a node; close it or let it wait."""
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
        elif not self._one_density(rest, inside, places):
            self.waiting.push(found.bound, (inside, outside, order[found.whole]))

    def _one_density(
        self,
        rest: SelectionProblem,
        inside: frozenset[int],
        places: np.ndarray[tuple[int], np.dtype[np.intp]],
    ) -> bool:
        """Consider the sets that matter where all open datasets have one density; whether that is all."""
        density = one_density(rest)
        if density is None:
            return False
        sets, certain = candidates(rest, density)
        for chosen in sets:
            self.consider(inside | frozenset(places[sorted(chosen)].tolist()))
        return certain
