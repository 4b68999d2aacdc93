"""The paper's mapping of placement to service embedding, and where it is not one-to-one (Sec. IV-C).

The paper maps clusters to servers, models to virtual network functions, and the complexity of models to their
requirements. `service_embedding` makes that object and `assignment_of` reads an embedding back. What is lost:

- *functions are placed once.* An embedding puts all epochs of a model on one server; a placement may split
  them, and the cheapest one often does. Many placements map to no embedding;
- *servers are shared, epochs are not.* Requirements on a server add up against its capacity; epochs run one
  after another, each may use all of it. Placements that are feasible violate the server's capacity;
- *requirements are given, resources are chosen.* One embedding stands for all resources that keep T_max, and
  the time row, which couples all servers, has no counterpart.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.errors import InvalidInputError


@dataclass(frozen=True)
class Server:
    """A cluster, as a place for functions: capacity [resource] and cost [cost / resource]."""

    name: str
    capacity: float
    unit_cost: float


@dataclass(frozen=True)
class ServiceEmbedding:
    """The instance of service embedding that the paper makes of stage 3.

    Attributes
    ----------
    servers : tuple of Server
    functions : tuple of str
        The models that train, each once.
    requirements : mapping
        Of every function: resources with which its epochs take an equal part of T_max each, or keep the round
        deadline where there is no T_max [resource].
    graph : tuple of pairs of str
        The service graph: which function hands the weights to which, in the order in which this first
        happens; empty for a problem that does not say which epochs its classes are.
    """

    servers: tuple[Server, ...]
    functions: tuple[str, ...]
    requirements: Mapping[str, float]
    graph: tuple[tuple[str, str], ...] = ()

    def fits(self, hosts: Mapping[str, str]) -> bool:
        """Whether functions on their servers keep every capacity, as service embedding asks."""
        for server in self.servers:
            needed = [self.requirements[name] for name in self.functions if hosts[name] == server.name]
            if math.fsum(needed) > server.capacity:
                return False
        return True


def service_embedding(problem: PlacementProblem) -> ServiceEmbedding:
    """Clusters as servers, models as functions, complexity as requirements.

    The requirement of a model is the work of its most demanding epoch over the time that one epoch may take,
    T_max / K or tau, on the cluster that asks the least.

    Raises
    ------
    InvalidInputError
        If neither T_max nor tau limits time: complexity then requires nothing.
    """
    limits = [problem.round_deadline or math.inf]
    if problem.maximum_time is not None and problem.epochs:
        limits.append(problem.maximum_time / problem.epochs)
    share = min(limits)
    if not 0 < share < math.inf:
        raise InvalidInputError("needs a time limit to turn complexity into resources", "problem")
    live = np.flatnonzero(problem.counts).tolist()
    functions = tuple(dict.fromkeys(problem.classes[g] for g in live))
    return ServiceEmbedding(
        servers=tuple(
            Server(name, float(capacity), float(price))
            for name, capacity, price in zip(problem.clusters, problem.capacity, problem.price, strict=True)
        ),
        functions=functions,
        requirements={
            name: max(float(problem.work[g].min()) / share for g in live if problem.classes[g] == name)
            for name in functions
        },
        graph=_service_graph(problem),
    )


def _service_graph(problem: PlacementProblem) -> tuple[tuple[str, str], ...]:
    trained = {k: problem.classes[g] for g, members in enumerate(problem.members) for k in members}
    models = [trained[k] for k in sorted(trained)]
    pairs = itertools.pairwise(models)
    return tuple(dict.fromkeys((one, other) for one, other in pairs if one != other))


def assignment_of(problem: PlacementProblem, hosts: Mapping[str, str]) -> Assignment:
    """The placement that an embedding stands for: all epochs of a model on its server.

    Raises
    ------
    InvalidInputError
        If a model has no server, or its server is not a cluster.
    """
    found = np.zeros(problem.dimensions, dtype=np.int64)
    for g in np.flatnonzero(problem.counts).tolist():
        host = hosts.get(problem.classes[g])
        if host not in problem.clusters:
            raise InvalidInputError(f"model {problem.classes[g]!r} needs one of the clusters", "hosts")
        found[g, problem.clusters.index(host)] = problem.counts[g]
    return found


def hosts_of(problem: PlacementProblem, assignment: Assignment) -> dict[str, str] | None:
    """The embedding of a placement; None if a model trains on two clusters, so that there is none."""
    hosts: dict[str, str] = {}
    for g, n in np.argwhere(assignment > 0).tolist():
        if hosts.setdefault(problem.classes[g], problem.clusters[n]) != problem.clusters[n]:
            return None
    return hosts
