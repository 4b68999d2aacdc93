"""Sums of graph functions as one, where no number of it is rounded: then a single maximum flow minimises."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.functions import FloatArray, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction


def merged(terms: Sequence[SetFunction], coefficients: Sequence[Fraction]) -> GraphFunction | None:
    """Sum of c_t f_t as one graph function.

    Parameters
    ----------
    terms : sequence of SetFunction
        f_t.
    coefficients : sequence of Fraction
        c_t >= 0.

    Returns
    -------
    GraphFunction or None
        None if a term is of another kind, or a product or a sum of numbers of theirs is no float.
    """
    graphs = [term for term in terms if isinstance(term, GraphFunction)]
    if len(graphs) < len(terms):
        return None
    pairs = list(zip(coefficients, graphs, strict=True))
    modular = _summed([(c, graph.modular) for c, graph in pairs])
    constant = _summed([(c, np.array([graph.constant])) for c, graph in pairs])
    capacities = [_scaled(c, graph.capacities) for c, graph in pairs]
    weights = [_scaled(c, graph.weights) for c, graph in pairs]
    if modular is None or constant is None:
        return None
    scaled = [part for part in (*capacities, *weights) if part is not None]
    if len(scaled) < 2 * len(graphs):
        return None
    lengths = np.cumsum([0, *(len(graph.groups) for graph in graphs)])[:-1].tolist()
    return GraphFunction(
        modular=modular,
        tails=np.concatenate([graph.tails for graph in graphs]),
        heads=np.concatenate([graph.heads for graph in graphs]),
        capacities=np.concatenate(scaled[: len(graphs)]),
        groups=np.concatenate([graph.groups for graph in graphs]),
        starts=np.concatenate([graph.starts + first for graph, first in zip(graphs, lengths, strict=True)]),
        weights=np.concatenate(scaled[len(graphs) :]),
        constant=float(constant[0]),
    )


def _scaled(factor: Fraction, numbers: FloatArray) -> FloatArray | None:
    """Products, if they are floats."""
    return numbers if factor == 1 else _floats([factor * Fraction(value) for value in numbers.tolist()])


def _summed(parts: Sequence[tuple[Fraction, FloatArray]]) -> FloatArray | None:
    """Sums of products, if they are floats."""
    columns = zip(*(numbers.tolist() for _, numbers in parts), strict=True)
    factors = [factor for factor, _ in parts]
    exact = [
        sum((c * Fraction(value) for c, value in zip(factors, column, strict=True)), Fraction(0))
        for column in columns
    ]
    return _floats(exact)


def _floats(exact: Sequence[Fraction]) -> FloatArray | None:
    near = [float(value) for value in exact]
    return np.array(near) if all(map(Fraction.__eq__, map(Fraction, near), exact)) else None
