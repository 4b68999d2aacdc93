"""The cheapest path within limits, and all paths that no other one dominates, on any graph without cycles."""

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from depl.heuristics.paths.dag import Arc, Dag, ExactArcs, Number, dag, exact_arcs
from depl.heuristics.paths.dag_labels import MOST_LABELS, DagSearch, Found, cheapest_path
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.solving.result import Termination


@dataclass(frozen=True)
class ResourcePath:
    """A path with its totals.

    Attributes
    ----------
    vertices : tuple
        From the source to the target.
    arcs : tuple of int
        Indices among the arcs that were given.
    cost : float
        What its arcs cost.
    resources : tuple of float
        What they use.
    exact : tuple of Fraction
        Cost and resources without rounding.
    """

    vertices: tuple[Hashable, ...]
    arcs: tuple[int, ...]
    cost: float
    resources: tuple[float, ...]
    exact: tuple[Fraction, ...]


@dataclass(frozen=True)
class PathAnswer:
    """The answer to a question for the cheapest path.

    Attributes
    ----------
    path : ResourcePath or None
        The cheapest one known that keeps the limits.
    lower_bound : float
        No path within the limits costs less; infinite if there is none.
    termination : Termination
        OPTIMAL, INFEASIBLE, TIME_LIMIT or EXHAUSTED (the labels).
    proof : str
        What is proved, in words.
    labels : int
        Labels kept.
    """

    path: ResourcePath | None
    lower_bound: float
    termination: Termination
    proof: str
    labels: int = 0

    @property
    def optimal(self) -> bool:
        """Whether the path is proved to be cheapest."""
        return self.termination is Termination.OPTIMAL

    @property
    def cost(self) -> float:
        """Of the path; infinite without one."""
        return math.inf if self.path is None else self.path.cost

    @property
    def resources(self) -> tuple[float, ...]:
        """Of the path; empty without one."""
        return () if self.path is None else self.path.resources


def cheapest(
    arcs: Iterable[Arc] | Any,
    source: Hashable,
    target: Hashable,
    limits: Number | Sequence[Number],
    *,
    cost: str = "cost",
    resources: str = "resources",
    time_limit: float | None = None,
    most_labels: int = MOST_LABELS,
) -> PathAnswer:
    """The cheapest path of a graph without cycles whose resources keep their limits, exactly.

    Parameters
    ----------
    arcs : iterable of tuples, or a directed graph of networkx
        ``(tail, head, cost, resources)``: vertices are anything that can be hashed, costs and resources of
        any sign; resources are a number, or a sequence as long as ``limits``. Parallel arcs are arcs of their
        own.
    source, target : hashable
        Where paths begin and end.
    limits : number or sequence of numbers
        Greatest total of each resource over a whole path; infinite for none. Numbers are read as the decimals
        that they print as, so that ten arcs of 0.1 keep a limit of 1.
    cost, resources : str
        Attributes of the edges of a graph of networkx.
    time_limit : float, optional
        Seconds; then the answer is an interval.
    most_labels : int
        Labels that may be kept; then, too.

    Raises
    ------
    InvalidInputError
        If an arc is no such tuple, a number is not finite, the arcs close a cycle (which is named), or a
        vertex is not in the graph.
    """
    exact = exact_arcs(_arcs(arcs, cost, resources), limits)
    graph = _between(exact, source, target)
    if isinstance(graph, PathAnswer):
        return graph
    found = cheapest_path(graph, time_limit=time_limit, most_labels=most_labels)
    path = None if found.path is None else _path(exact, graph, found.path)
    return PathAnswer(
        path,
        math.inf if found.lower is None else float(Fraction(found.lower, graph.units[0])),
        found.termination,
        _words(found, path),
        found.labels,
    )


def front(
    arcs: Iterable[Arc] | Any,
    source: Hashable,
    target: Hashable,
    limits: Number | Sequence[Number],
    *,
    cost: str = "cost",
    resources: str = "resources",
    most_labels: int = MOST_LABELS,
) -> tuple[ResourcePath, ...]:
    """A path for each cost and resources within the limits that no other path is as good as in all of them.

    Parameters are those of `cheapest`; the cheapest path comes first. Labels are compared in all resources,
    with a limit or without one.

    Raises
    ------
    InvalidInputError
        As for `cheapest`.
    NotCoveredError
        If more than ``most_labels`` labels would be kept: a front may have exponentially many points.
    """
    exact = exact_arcs(_arcs(arcs, cost, resources), limits)
    graph = _between(exact, source, target)
    if isinstance(graph, PathAnswer):
        return () if graph.path is None else (graph.path,)
    search = DagSearch(graph, all_columns=True)
    if not search.reachable:
        return ()
    layers, _, stopped = search.run(None, math.inf, most_labels)
    if stopped:
        raise NotCoveredError(f"the front takes more than {most_labels} labels; tighten the limits")
    return tuple(_path(exact, graph, search.path_of(layers, place)) for place in range(len(layers[-1].arcs)))


def _arcs(given: Any, cost: str, resources: str) -> Iterable[Arc]:
    """Arcs as tuples, of a graph of networkx by its attributes."""
    if not hasattr(given, "is_directed"):
        return list(given)
    if not given.is_directed():
        raise InvalidInputError("must be a directed graph", "arcs")
    found = []
    for tail, head, data in given.edges(data=True):
        for name in (cost, resources):
            if name not in data:
                raise InvalidInputError(f"the edge {tail} -> {head} has no attribute {name!r}", "arcs")
        used = data[resources]
        found.append((tail, head, data[cost], used.tolist() if hasattr(used, "tolist") else used))
    return found


def _between(exact: ExactArcs, source: Hashable, target: Hashable) -> Dag | PathAnswer:
    """The graph between two vertices, or the answer where there is nothing to search."""
    known = set(itertools.chain.from_iterable(exact.ends))
    for name, vertex in (("source", source), ("target", target)):
        if vertex not in known:
            raise InvalidInputError(f"there is no arc at {vertex!r}", name)
    graph = dag(exact, source, target)
    if graph is None:
        words = f"infeasible: no path leads from {source} to {target}"
        return PathAnswer(None, math.inf, Termination.INFEASIBLE, words)
    if source != target:
        return graph
    nothing = (Fraction(0),) * (1 + len(exact.limits))
    if not exact.keeps_limits(nothing):
        return PathAnswer(None, math.inf, Termination.INFEASIBLE, "infeasible: a limit is negative")
    path = ResourcePath((source,), (), 0.0, tuple(0.0 for _ in exact.limits), nothing)
    return PathAnswer(path, 0.0, Termination.OPTIMAL, "optimal: the source is the target")


def _path(exact: ExactArcs, graph: Dag, places: Sequence[int]) -> ResourcePath:
    """A path of the search as one of the arcs that were given, checked on these.

    Raises
    ------
    DeplError
        If its arcs do not follow each other, or it breaks a limit: a defect.
    """
    arcs = tuple(int(graph.given[place]) for place in places)
    ends = [exact.ends[arc] for arc in arcs]
    totals = exact.totals(arcs)
    joined = all(one[1] == other[0] for one, other in itertools.pairwise(ends))
    if not joined or not exact.keeps_limits(totals):
        raise DeplError(
            f"the label setting found the arcs {arcs}, no path within the limits; please report it"
        )
    used = tuple(float(value) for value in totals[1:])
    return ResourcePath((ends[0][0], *(head for _, head in ends)), arcs, float(totals[0]), used, totals)


def _words(found: Found, path: ResourcePath | None) -> str:
    if found.termination is Termination.OPTIMAL:
        return "optimal: every label was kept, dominated, or bounded by the cost"
    if found.termination is Termination.INFEASIBLE:
        return "infeasible: no path keeps the limits"
    why = "time" if found.termination is Termination.TIME_LIMIT else "labels"
    held = "no path is known" if path is None else "the path is not proved to be cheapest"
    return f"the {why} came to an end: {held}, and none within the limits costs less than the lower bound"
