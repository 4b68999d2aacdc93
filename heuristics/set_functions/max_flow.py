"""Sums of arcs and groups by one minimum cut: `scipy.sparse.csgraph.maximum_flow`, kept exact.

Element i with u_i < 0 hangs on the source with capacity -u_i (paid if i is left out), with u_i > 0 on the
sink with capacity u_i (paid if i is taken); arcs stay arcs; group g becomes a vertex, with an arc from each
member and one of capacity w_g to the sink. A cut costs f(S) - f(0) - sum of negative u. By duality the flow
splits into a base of every term (`depl.heuristics.set_functions.certificate.FlowCertificate`), and the least
s_i that it leaves sum to the value of the cut: the certificate is the flow.

csgraph counts in 32-bit integers. All data times their common power of two are Python integers here, and
larger ones are treated by refinement: a flow through the residual network, rounded down to a unit that fits,
leaves a residual cut of at most (arcs + 1) units, so that every round gains about 30 bits; it ends at unit 1,
exactly.
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
    """Arcs and their reverses, interleaved: arc 2 a and its reverse 2 a + 1, in Python integers."""

    vertices: int
    tails: IntArray
    heads: IntArray
    capacities: ObjectArray
    residual: ObjectArray
    source: int
    sink: int
    rounds: int = 0

    def flow(self) -> ObjectArray:
        """Net flow per arc."""
        return np.asarray(self.capacities - self.residual[::2])


def _network(function: GraphFunction) -> _Network:
    n, groups = function.size, len(function.weights)
    _, modular, capacities, weights = function.integer_parts
    source, sink = n + groups, n + groups + 1
    elements = np.arange(n)
    takes = np.array([value < 0 for value in modular], dtype=bool)
    members = _group_of_member(function)
    tails = np.concatenate(
        [function.tails, function.groups, n + np.arange(groups), np.where(takes, source, elements)]
    )
    heads = np.concatenate(
        [function.heads, n + members, np.full(groups, sink), np.where(takes, elements, sink)]
    )
    limits = np.concatenate([capacities, weights[members], weights, np.abs(modular)])
    residual = np.zeros(2 * len(limits), dtype=object)
    residual[::2] = limits
    return _Network(n + groups + 2, tails, heads, limits, residual, source, sink)


def _group_of_member(function: GraphFunction) -> IntArray:
    lengths = np.diff(np.append(function.starts, len(function.groups)))
    return np.repeat(np.arange(len(function.starts)), lengths)


def _saturate(network: _Network) -> BoolArray:
    """Push a maximum flow, in rounds of falling units; returns what the source still reaches."""
    ends = _ends(network)
    remaining = _leaving(network, np.arange(network.vertices) == network.source)
    while True:
        network.rounds += 1
        limits = np.minimum(network.residual, remaining)
        unit = _unit(network, limits, ends)
        scaled = np.array(limits // unit, dtype=np.int64)
        reached = _push(network, scaled, unit, ends)
        remaining = _leaving(network, reached)
        if remaining == 0:
            return reached


def _ends(network: _Network) -> tuple[IntArray, IntArray]:
    tails, heads = (
        np.empty(2 * len(network.tails), dtype=np.int64),
        np.empty(2 * len(network.tails), dtype=np.int64),
    )
    tails[::2], tails[1::2] = network.tails, network.heads
    heads[::2], heads[1::2] = network.heads, network.tails
    return tails, heads


def _unit(network: _Network, limits: ObjectArray, ends: tuple[IntArray, IntArray]) -> int:
    """The least power of two in which all that one vertex or one pair can carry fits into 32 bits."""
    tails, _ = ends
    out = np.zeros(network.vertices, dtype=object)
    np.add.at(out, tails, limits)
    # two arcs of a pair, and their reverses, add up in one entry, and so does the flow at the source
    worst = max(2 * int(out[network.source]), 4 * max((int(value) for value in limits), default=0))
    unit = 1
    while worst // unit > _LARGEST // 2:
        unit *= 2
    return unit


def _push(network: _Network, scaled: IntArray, unit: int, ends: tuple[IntArray, IntArray]) -> BoolArray:
    """One maximum flow in multiples of ``unit``; returns the vertices that it leaves reachable."""
    tails, heads = ends
    shape = (network.vertices, network.vertices)
    used = scaled > 0
    matrix = csr_array((scaled[used].astype(np.int32), (tails[used], heads[used])), shape=shape)
    matrix.sum_duplicates()
    flow = maximum_flow(matrix, network.source, network.sink).flow
    _spread(network, scaled, csr_array(flow), unit, ends)
    left = (matrix - flow).tocsr()
    left.data = np.where(left.data > 0, left.data, 0)
    left.eliminate_zeros()
    reached = np.zeros(network.vertices, dtype=bool)
    reached[network.source] = True
    if left.nnz:
        reached[breadth_first_order(left, network.source, return_predecessors=False)] = True
    return reached


def _spread(
    network: _Network, scaled: IntArray, flow: csr_array, unit: int, ends: tuple[IntArray, IntArray]
) -> None:
    """Hand the flow between two vertices out to the parallel arcs between them."""
    tails, heads = ends
    coordinates = flow.tocoo()
    positive = coordinates.data > 0
    wanted = {
        (tail, head): amount
        for tail, head, amount in zip(
            coordinates.row[positive].tolist(),
            coordinates.col[positive].tolist(),
            coordinates.data[positive].tolist(),
            strict=True,
        )
    }
    for place in np.flatnonzero(scaled > 0).tolist():
        pair = int(tails[place]), int(heads[place])
        amount = min(wanted.get(pair, 0), int(scaled[place]))
        if amount:
            wanted[pair] -= amount
            network.residual[place] -= amount * unit
            network.residual[place ^ 1] += amount * unit


def _leaving(network: _Network, reached: BoolArray) -> int:
    """Residual capacity of the arcs that leave a set of vertices: no more flow is possible."""
    tails, heads = _ends(network)
    return int(network.residual[reached[tails] & ~reached[heads]].sum())


def _certificate(function: GraphFunction, network: _Network) -> FlowCertificate:
    """Flows on the arcs; what a group does not send to the sink goes to its first member."""
    flow = network.flow()
    arcs, members = len(function.capacities), len(function.groups)
    shares = flow[arcs : arcs + members].copy()
    weights = function.integer_parts[3]
    for group, part in enumerate(np.split(np.arange(members), function.starts[1:]) if members else []):
        shares[part[0]] += weights[group] - sum(shares[part].tolist())
    return FlowCertificate(flow[:arcs], shares, function.denominator)
