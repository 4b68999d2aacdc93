r"""The paper's expanded graph as an object to look at: `networkx.DiGraph` (Sec. IV-B).

Vertices are (model, k, i, j): elapsed time i T_max / eta, loss j l(0) / eta; `START` is (time 0, loss l(0)),
which the paper leaves out (E11), and `OMEGA` its virtual vertex behind all feasible states. Only what can be
reached from the start is built, unless ``every_vertex`` asks for all M K eta**2 of the paper. Edges lead to
the tight heads; with ``every_head`` also to all later ones, as the paper's "at most" has it, which changes no
shortest path. `depl.heuristics.paths.layered` finds the same shortest paths much faster.
"""

import itertools
import math
from collections.abc import Iterator

import networkx

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.layered import Steps, steps_in_levels
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.risk.rounded import Rounding

START = "start"
OMEGA = "Omega"

LARGEST_VERTICES = 2_000_000
"""Most vertices of a graph object; beyond, it would fill the memory."""

_State = tuple[int, int, int]


def expanded_graph(
    problem: AdditiveProblem,
    levels: int,
    rounding: Rounding = Rounding.UP,
    *,
    capped: bool = False,
    every_head: bool = False,
    every_vertex: bool = False,
) -> networkx.DiGraph:
    """Build the graph.

    Parameters
    ----------
    levels : int
        eta.
    rounding : Rounding
        UP is the paper's.
    capped : bool
        Vertices with j = 1 .. eta only, as printed.
    every_head : bool
        Also the dominated edges, which needs ``capped``; for tiny graphs.
    every_vertex : bool
        Also the vertices that no path from the start reaches, which needs ``capped``.

    Returns
    -------
    networkx.DiGraph
        Vertices carry ``time`` [time] and ``loss`` [loss], edges ``weight``. A path from `START` to
        `OMEGA` is a sequence of models.

    Raises
    ------
    InvalidInputError
        As `depl.heuristics.paths.layered.steps_in_levels`; if ``every_head`` or ``every_vertex`` is asked
        for without ``capped``.
    NotCoveredError
        If there are more than `LARGEST_VERTICES` vertices, which `depl.heuristics.paths.layered` can search.
    """
    if (every_head or every_vertex) and not capped:
        raise InvalidInputError("without the cap there are infinitely many vertices; set capped")
    builder = _Builder(problem, steps_in_levels(problem, levels, rounding), capped, every_head)
    return builder.build(every_vertex)


def shortest_path(graph: networkx.DiGraph) -> tuple[float, tuple[str, ...]] | None:
    """Weight and models of a shortest path from `START` to `OMEGA` by Dijkstra's algorithm; None if none."""
    try:
        weight, path = networkx.single_source_dijkstra(graph, START, OMEGA)
    except networkx.NetworkXNoPath:
        return None
    return float(weight), tuple(vertex[0] for vertex in path[1:-1])


class _Builder:
    def __init__(self, problem: AdditiveProblem, steps: Steps, capped: bool, every_head: bool) -> None:
        self.problem, self.steps, self.capped, self.every_head = problem, steps, capped, every_head
        self.graph = networkx.DiGraph(levels=steps.levels)

    def build(self, every_vertex: bool) -> networkx.DiGraph:
        self.graph.add_node(START, time=0.0, loss=self.problem.initial_loss)
        self.graph.add_node(OMEGA)
        if self.steps.target >= 0:
            self.graph.add_edge(START, OMEGA, weight=0.0)
        layer: set[_State] = {(self.problem.start, 0, self.steps.levels)}
        for k in range(self.problem.epochs):
            layer = {head for state in layer for head in self._extend(k, state)}
            if every_vertex:
                layer |= self._whole_layer(k)
            if self.graph.number_of_nodes() > LARGEST_VERTICES:
                raise NotCoveredError(
                    f"the graph has more than {LARGEST_VERTICES} vertices; take fewer levels, or search it "
                    "with depl.heuristics.paths.layered"
                )
        return self.graph

    def _whole_layer(self, k: int) -> set[_State]:
        """All states of epoch k + 1; their vertices are added where they are missing."""
        levels = range(1, self.steps.levels + 1)
        times = levels if self.steps.last_time else range(1)
        states = set(itertools.product(range(self.problem.start), times, levels))
        for model, i, j in states:
            head = (self.problem.models[model], k + 1, i, j)
            if head not in self.graph:
                self._add_vertex(head)
        return states

    def _extend(self, k: int, state: _State) -> Iterator[_State]:
        """Add the edges of epoch k + 1 out of a state; the heads they lead to."""
        before, time, loss = state
        tail = START if before == self.problem.start else (self.problem.models[before], k, time, loss)
        for model, name in enumerate(self.problem.models):
            if not self.problem.allowed[k, before, model]:
                continue
            tight = (
                time + int(self.steps.times[k, model]),
                loss + int(self.steps.losses[k, before, model]),
            )
            for i, j in self._heads(*tight):
                head = (name, k + 1, i, j)
                if head not in self.graph:
                    self._add_vertex(head)
                self.graph.add_edge(tail, head, weight=float(self.problem.weights[k, model]))
                yield model, i, j

    def _heads(self, time: int, loss: int) -> Iterator[tuple[int, int]]:
        last = self.steps.last_time
        if self.capped:  # lower losses are rounded up, too
            loss = max(loss, 1)
        if time > last or (self.capped and loss > self.steps.levels):
            return
        if not self.every_head:
            yield time, loss
            return
        for i in range(time, last + 1):
            for j in range(loss, self.steps.levels + 1):
                yield i, j

    def _add_vertex(self, head: tuple[str, int, int, int]) -> None:
        _, _, i, j = head
        time = i * self.steps.time_step if math.isfinite(self.steps.time_step) else 0.0
        self.graph.add_node(head, time=time, loss=j * self.steps.loss_step)
        if j - self.steps.levels <= self.steps.target:
            self.graph.add_edge(head, OMEGA, weight=0.0)
