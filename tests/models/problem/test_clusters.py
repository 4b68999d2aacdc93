"""A cluster of unequal nodes is the cluster of equal ones that the problem page proves it to be."""

import math

import msgspec
import numpy as np
import pytest

import depl
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import Load
from depl.models.problem.instance import Cluster, NodeGroup
from depl.models.verifier.findings import Kind
from depl.models.verifier.verify import verify
from depl.showing.explain import explain
from tests.cases.bad_instances import FAST, SLOW
from tests.problems import plan, site


def drawn(rng):
    """One to four groups of up to three nodes."""
    return tuple(
        NodeGroup(
            count=int(rng.integers(1, 4)),
            capacity=rng.uniform(1, 10),
            bandwidth=rng.uniform(1, 10),
            unit_cost=rng.uniform(0.1, 5),
            speed=rng.uniform(0.2, 5),
        )
        for _ in range(int(rng.integers(1, 5)))
    )


def cheapest_of_nodes(nodes, work, size, limit):
    """Least cost of one epoch over the resources of every single node; infinite if none.

    Each node has what is left after the slowest link for its share, so it needs c / (N v t) at least.
    """
    left = limit - max(size / node.bandwidth for node in nodes)
    share = work / len(nodes)
    if left <= 0 or max(share / (node.speed * node.capacity) for node in nodes) > left:
        return math.inf
    return math.fsum(node.unit_cost * share / (node.speed * left) for node in nodes)


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_epoch_of_unequal_nodes_costs_what_the_cluster_says(seed):
    rng = np.random.default_rng([2211, seed])
    cluster = Cluster(name="hall", groups=drawn(rng))
    nodes = [group for group in cluster.groups for _ in range(group.count)]
    work, size = rng.uniform(1, 50), rng.uniform(0, 5)
    load = Load(
        work=work / cluster.nodes,
        price=cluster.nodes * cluster.unit_cost,
        capacity=cluster.capacity,
        communication=size / cluster.bandwidth,
    )
    quickest = load.work / load.capacity + load.communication
    for limit in (0.9 * quickest, 1.05 * quickest, 3 * quickest):
        expected = cheapest_of_nodes(nodes, work, size, limit)
        found = allocate([load], limit, None)
        assert found.feasible == math.isfinite(expected)
        if found.feasible:
            assert found.cost == pytest.approx(expected, rel=1e-12)


def test_the_values_of_a_cluster_follow_from_its_groups():
    found = Cluster(name="hall", groups=[FAST, SLOW])
    assert (found.nodes, found.capacity, found.bandwidth, found.unit_cost) == (4, 6, 5, 0.5)
    assert found.resources_of_groups(6) == (3, 6)
    plain = site(capacity=1)
    assert (plain.groups, plain.resources_of_groups(1)) == (None, ())


@pytest.mark.parametrize("counts", [(3,), (1, 2), (1, 1, 1)])
def test_equal_nodes_in_groups_have_exactly_the_values_of_the_number_of_them(counts):
    each = {"capacity": 0.1, "bandwidth": 1 / 3, "unit_cost": 0.7}
    found = Cluster(name="a", groups=[{"count": count, **each} for count in counts])
    plain = Cluster(name="a", nodes=3, **each)
    assert msgspec.structs.replace(found, groups=None) == plain


# --- plans on unequal nodes -----------------------------------------------------------------------------


def plan_of(*resources):
    return plan(*(("full", "hall", x) for x in resources), data=("archive", "sensors"))


@pytest.mark.parametrize("seed", range(2))
def test_the_verifier_finds_what_single_nodes_take(tiny, seed):
    cluster = Cluster(name="hall", groups=drawn(np.random.default_rng([2212, seed])))
    instance = tiny.replace(clusters=(cluster,), transfers=(), maximum_time=1000.0)
    x = 0.9 * cluster.capacity
    report = verify(instance, plan_of(x, x))
    nodes = [group for group in cluster.groups for _ in range(group.count)]
    model = instance.model("full")
    share = model.demand * instance.workload(frozenset({"archive", "sensors"})) / len(nodes)
    computing = max(share / (node.speed * (x / node.speed)) for node in nodes)
    sending = max(model.size / node.bandwidth for node in nodes)
    assert report.training_time == pytest.approx(2 * (computing + sending), rel=1e-12)
    assert report.cost == pytest.approx(2 * sum(node.unit_cost * x / node.speed for node in nodes), rel=1e-12)
    over = verify(instance, plan_of(1.001 * cluster.capacity))
    assert "(5)" in [finding.equation for finding in over.findings if finding.kind is Kind.FAILED]


def test_values_that_the_cluster_worked_out_are_not_believed_and_a_plan_tells_what_each_group_commits(tiny):
    hall = Cluster(name="hall", groups=[FAST, {**SLOW, "capacity": 12, "bandwidth": 4}])
    instance = tiny.replace(transfers=(), clusters=(hall,), maximum_time=3.0)
    result = depl.solve(instance, "exact")
    assert verify(instance, result.plan).ok
    for line in ("hall  3 nodes  x / v = 6 / 2 = 3 of 4\n", "hall  1 node   x / v = 6 / 1 = 6 of 12\n"):
        assert line in explain(instance, plan_of(6, 6))
    right = verify(instance, plan_of(6, 6))
    for field, wrong in (("unit_cost", 0.25), ("bandwidth", 100.0), ("capacity", 1.0)):
        msgspec.structs.force_setattr(instance.clusters[0], field, wrong)
    assert verify(instance, plan_of(6, 6)) == right
