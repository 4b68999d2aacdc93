"""What the nodes of a cluster commit where they differ: x of the plan over the speed of the node."""

from collections.abc import Iterable

from depl.models.foundation.wording import counted, number
from depl.models.problem.instance import Cluster, Instance
from depl.models.problem.plan import Plan


def unequal_clusters(instance: Instance, plan: Plan) -> list[Cluster]:
    """The clusters that train and have groups of nodes, in the order in which they first train."""
    used = dict.fromkeys(epoch.cluster for epoch in plan.epochs)
    return [instance.cluster(name) for name in used if instance.cluster(name).groups is not None]


def shares_of(cluster: Cluster) -> str:
    """What one node of every group commits, as a share of x.

    Examples
    --------
    >>> fast = {"count": 3, "capacity": 4, "bandwidth": 2, "unit_cost": 1, "speed": 2}
    >>> slow = {"count": 1, "capacity": 4, "bandwidth": 2, "unit_cost": 1}
    >>> shares_of(Cluster(name="hall", groups=(fast, slow)))
    '3 nodes commit x / 2 each; 1 node commits x'
    """
    parts = []
    for group in cluster.groups or ():
        share = "x" if group.speed == 1 else f"x / {number(group.speed)}"
        verb, each = ("commits", "") if group.count == 1 else ("commit", " each")
        parts.append(f"{counted(group.count, 'node')} {verb} {share}{each}")
    return "; ".join(parts)


def share_rows(
    instance: Instance, epochs: Iterable[tuple[str, str, float]]
) -> Iterable[tuple[str, str, str, str]]:
    """Epochs, cluster, nodes and what each of them commits, one row for every group of nodes.

    Parameters
    ----------
    epochs : iterable of (str, str, float)
        Which epochs, on which cluster, and x.
    """
    for label, name, resources in epochs:
        cluster = instance.cluster(name)
        for group, each in zip(cluster.groups or (), cluster.resources_of_groups(resources), strict=True):
            division = f"x / v = {number(resources)} / {number(group.speed)} = {number(each)}"
            yield label, name, counted(group.count, "node"), f"{division} of {number(group.capacity)}"
