"""The most capable cluster, on which stages 1 and 2 of the paper take everything to be trained (Sec. IV).

"The cluster with the largest amount of available resources": the paper does not say which one if there are
several. Stages that answered differently would speak of different clusters, so all ask here.
"""

from depl.models.problem.instance import Cluster, Instance


def most_capable_cluster(instance: Instance) -> Cluster:
    """The cluster with most resources on all its nodes; of equal ones the cheapest, best linked, first."""
    return min(
        instance.clusters,
        key=lambda place: (-place.capacity * place.nodes, place.unit_cost, -place.bandwidth),
    )
