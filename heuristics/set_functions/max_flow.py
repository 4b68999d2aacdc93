"""Sums of arcs and groups by one minimum cut: `scipy.sparse.csgraph.maximum_flow`, kept exact.

Element i with u_i < 0 hangs on the source with capacity -u_i (paid if i is left out), with u_i > 0 on the
sink with capacity u_i (paid if i is taken); arcs stay arcs; group g becomes a vertex, with an arc from each
member and one of capacity w_g to the sink. A cut costs f(S) - f(0) - sum of negative u. By duality the flow
splits into a base of every term (`depl.heuristics.set_functions.certificate.FlowCertificate`), and the least
s_i that it leaves sum to the value of the cut: the certificate is the flow.

csgraph counts in 32-bit integers. All data times their common power of two are integers here, of 64 bits
where all sums fit into 53, else Python's. Larger ones are treated by refinement: a flow through the
residual network, rounded down to a unit that fits, leaves a residual cut of at most (arcs + 1) units, so that
every round gains about 30 bits; it ends at unit 1, exactly.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import FlowCertificate
from depl.heuristics.set_functions.functions import BoolArray, IntArray, ObjectArray, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.models.foundation.errors import NotCoveredError

Integers = IntArray | ObjectArray
"""Of 64 bits or Python's."""

_LARGEST = 2**31 - 1
"""Greatest 32-bit integer: `scipy.sparse.csgraph.maximum_flow` is given 32-bit capacities."""


def max_flow(function: SetFunction) -> Minimum:
    """Minimise a sum of arcs and groups by a maximum flow.

    Parameters
    ----------
    function : SetFunction
        A `GraphFunction` without negative capacities.

    Returns
    -------
    Minimum
        With the flow as certificate, of gap exactly 0; the set is the least minimiser.

    Raises
    ------
    NotCoveredError
        If the function is of another kind, or not submodular.
    """
    if not isinstance(function, GraphFunction):
        raise NotCoveredError("maximum flow minimises sums of arcs and groups only; take another method")
    if len(function.capacities) and function.capacities.min() < 0:
        raise NotCoveredError("a negative arc has no minimum cut; the function may not be submodular")
    network = _network(function)
    reached = _saturate(network)
    subset = frozenset(np.flatnonzero(reached[: function.size]).tolist())
    return concluded(function, subset, _certificate(function, network), network.rounds)


@dataclass(eq=False)
class _Network:
    """Arcs and their reverses, interleaved: arc 2 a and its reverse 2 a + 1, in whole units."""

    vertices: int
    tails: IntArray
    heads: IntArray
    capacities: Integers
    residual: Integers
    source: int
    sink: int
    rounds: int = 0

    def __post_init__(self) -> None:
        """Look for parallel arcs, which are one entry of a matrix."""
        # the least type that holds them: numpy sorts 16 bits by counting
        least = np.min_scalar_type(self.vertices)
        by_head = np.argsort(self.heads.astype(least), kind="stable")
        self.order = by_head[np.argsort(self.tails[by_head].astype(least), kind="stable")]
        ordered = (self.tails * self.vertices + self.heads)[self.order]
        self.starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self.rows, self.columns = np.divmod(ordered[self.starts], self.vertices)
        self.entry = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(ordered)))
        self.indptr = np.searchsorted(self.rows, np.arange(self.vertices + 1)).astype(np.int32)

    def flow(self) -> Integers:
        """Net flow per arc."""
        return np.asarray(self.capacities - self.residual[::2])

    def matrix(self, entries: IntArray) -> csr_array:
        """One number for each pair of vertices with an arc or its reverse."""
        numbers = entries.astype(np.int32), self.columns.astype(np.int32), self.indptr.copy()
        return csr_array(numbers, shape=(self.vertices, self.vertices))


def _network(function: GraphFunction) -> _Network:
    n, groups = function.size, len(function.weights)
    _, modular, capacities, weights = function.integers
    source, sink = n + groups, n + groups + 1
    elements = np.arange(n)
    takes = (modular < 0).astype(bool)
    members = _group_of_member(function)
    tails = np.concatenate(
        [function.tails, function.groups, n + np.arange(groups), np.where(takes, source, elements)]
    )
    heads = np.concatenate(
        [function.heads, n + members, np.full(groups, sink), np.where(takes, elements, sink)]
    )
    limits = np.concatenate([capacities, weights[members], weights, np.abs(modular)])
    residual = np.zeros(2 * len(limits), dtype=limits.dtype)
    residual[::2] = limits
    both = np.column_stack([tails, heads]).ravel(), np.column_stack([heads, tails]).ravel()
    return _Network(n + groups + 2, *both, limits, residual, source, sink)


def _group_of_member(function: GraphFunction) -> IntArray:
    lengths = np.diff(np.append(function.starts, len(function.groups)))
    return np.repeat(np.arange(len(function.starts)), lengths)


def _saturate(network: _Network) -> BoolArray:
    """Push a maximum flow, in rounds of falling units; returns what the source still reaches."""
    remaining = _leaving(network, np.arange(network.vertices) == network.source)
    while True:
        network.rounds += 1
        limits = np.minimum(network.residual, remaining)
        unit = _unit(network, limits)
        reached = _push(network, np.array(limits // unit, dtype=np.int64), unit)
        remaining = _leaving(network, reached)
        if remaining == 0:
            return reached


def _unit(network: _Network, limits: Integers) -> int:
    """The least power of two in which all that one vertex or one pair can carry fits into 32 bits."""
    # two arcs of a pair, and their reverses, add up in one entry, and so does the flow at the source
    worst = max(2 * int(limits[network.tails == network.source].sum()), 4 * int(limits.max(initial=0)))
    unit = 1
    while worst // unit > _LARGEST // 2:
        unit *= 2
    return unit


def _push(network: _Network, scaled: IntArray, unit: int) -> BoolArray:
    """One maximum flow in multiples of ``unit``; returns the vertices that it leaves reachable."""
    limits = np.add.reduceat(scaled[network.order], network.starts)
    flow = maximum_flow(network.matrix(limits), network.source, network.sink).flow
    same = np.array_equal(flow.indptr, network.indptr) and np.array_equal(flow.indices, network.columns)
    pushed = (flow.data if same else csr_array(flow)[network.rows, network.columns]).astype(np.int64)
    _spread(network, scaled, pushed, unit)
    left = network.matrix(limits - pushed)
    left.eliminate_zeros()
    reached = np.zeros(network.vertices, dtype=bool)
    reached[network.source] = True
    if left.nnz:
        reached[breadth_first_order(left, network.source, return_predecessors=False)] = True
    return reached


def _spread(network: _Network, scaled: IntArray, pushed: IntArray, unit: int) -> None:
    """Hand the flow between two vertices out to the parallel arcs between them, the first ones first."""
    room = scaled[network.order]
    before = np.cumsum(room) - room
    before -= before[network.starts][network.entry]
    taken = np.zeros(len(scaled), dtype=np.int64)
    taken[network.order] = np.clip(pushed[network.entry] - before, 0, room)
    moved = taken.astype(network.residual.dtype) * unit
    network.residual -= moved
    network.residual += moved.reshape(-1, 2)[:, ::-1].ravel()


def _leaving(network: _Network, reached: BoolArray) -> int:
    """Residual capacity of the arcs that leave a set of vertices: no more flow is possible."""
    return int(network.residual[reached[network.tails] & ~reached[network.heads]].sum())


def _certificate(function: GraphFunction, network: _Network) -> FlowCertificate:
    """Flows on the arcs; what a group does not send to the sink goes to its first member."""
    flow = network.flow()
    arcs, members = len(function.capacities), len(function.groups)
    shares = flow[arcs : arcs + members].copy()
    if members:
        shares[function.starts] += function.integers[3] - np.add.reduceat(shares, function.starts)
    return FlowCertificate(flow[:arcs], shares, function.denominator)
