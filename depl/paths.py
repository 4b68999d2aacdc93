"""Cheapest paths within limits of additive resources, exactly, on any graph without cycles.

>>> from depl import paths
>>> arcs = [("a", "b", 1, 4), ("b", "d", 1, 4), ("a", "c", 3, 1), ("c", "d", 2, 2), ("b", "c", -1, 1)]
>>> found = paths.cheapest(arcs, "a", "d", limits=7)
>>> found.path.vertices, found.cost, found.resources, found.optimal
(('a', 'b', 'c', 'd'), 2.0, (7.0,), True)
>>> [(point.cost, point.resources) for point in paths.front(arcs, "a", "d", limits=float("inf"))]
[(2.0, (7.0,)), (5.0, (3.0,))]

Costs and resources may be negative; a cycle is refused by its name. Sums, limits and comparisons are those of
the decimals that numbers print as, without rounding. `depl.heuristics.paths` holds the label setting for
model selection, of which this is the general form.
"""

from depl.heuristics.paths.dag_answers import PathAnswer, ResourcePath, cheapest, front

__all__ = ["PathAnswer", "ResourcePath", "cheapest", "front"]


def __dir__() -> list[str]:
    """Both questions, and the kinds of their answers."""
    return sorted(__all__)
