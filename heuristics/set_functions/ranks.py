"""Ranks of matroids: how many elements of S can be kept independent (Whitney 1935; Edmonds 1970).

Partition matroids keep at most so many elements of each block, uniform ones so many in all; of the edges of a
graph the forests are independent. A rank rises by 0 or 1 with every element, never falls, and is submodular.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.functions import ExactChain, FloatArray, IntArray, SetFunction
from depl.heuristics.set_functions.verdicts import Submodularity, proved

Adds = Callable[[int], bool]
"""Takes the next element and says whether the rank rises; it remembers the elements before."""


@dataclass(frozen=True, eq=False)
class MatroidRank(SetFunction):
    """The rank of a matroid that is known by how its elements extend each other.

    Attributes
    ----------
    elements : int
        n.
    kind : str
        What it is the rank of, in words.
    begin : callable
        Begins with the empty set: returns an `Adds`.
    """

    elements: int
    kind: str
    begin: Callable[[], Adds]

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return self.elements

    @property
    def granularity(self) -> Fraction:
        """Ranks are integers."""
        return Fraction(1)

    def submodularity(self) -> Submodularity:
        """What depends on a set depends on every larger one."""
        return proved(f"the rank of {self.kind}")

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        adds = self.begin()
        return np.cumsum([0.0, *(float(adds(element)) for element in order.tolist())])

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return ExactChain(self.chain(order).astype(np.int64), 1, Fraction(0))

    def normalised(self) -> SetFunction:
        """It is 0 on the empty set already."""
        return self


def partition(blocks: list[int], most: list[int]) -> Callable[[], Adds]:
    """Extending sets that hold at most ``most[b]`` of the elements i with ``blocks[i] == b``."""

    def begin() -> Adds:
        left = list(most)

        def adds(element: int) -> bool:
            left[blocks[element]] -= 1
            return left[blocks[element]] >= 0

        return adds

    return begin


def forests(edges: list[tuple[int, int]]) -> Callable[[], Adds]:
    """Extending sets of edges; an edge between trees that are joined already closes a cycle."""

    def begin() -> Adds:
        parent: dict[int, int] = {}

        def root(vertex: int) -> int:
            while (above := parent.setdefault(vertex, vertex)) != vertex:
                parent[vertex] = parent.setdefault(above, above)
                vertex = parent[vertex]
            return vertex

        def adds(element: int) -> bool:
            one, other = (root(vertex) for vertex in edges[element])
            parent[one] = other
            return one != other

        return adds

    return begin
