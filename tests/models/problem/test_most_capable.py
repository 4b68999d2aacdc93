"""The most capable cluster: the most resources in all, and one rule for equal ones in both stages."""

import depl
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.paths.additive_problem import additive_problem
from depl.models.problem.epochs import compute
from depl.models.problem.instance import Cluster
from depl.models.problem.site_rules import most_capable_cluster


def test_the_most_capable_cluster_has_the_most_resources_in_all():
    instance = depl.load("tiny")
    assert most_capable_cluster(instance).name == "cloud"
    edge = instance.clusters[1]
    many = Cluster(name="edge", capacity=4, bandwidth=1, unit_cost=1, nodes=3)
    assert edge.capacity * many.nodes > instance.clusters[0].capacity
    assert most_capable_cluster(instance.replace(clusters=(instance.clusters[0], many))).name == "edge"


def test_of_equal_clusters_the_cheapest_counts_then_the_best_linked_then_the_first():
    def chosen(*clusters: Cluster) -> str:
        return most_capable_cluster(depl.load("tiny").replace(clusters=clusters, transfers=())).name

    expensive = Cluster(name="expensive", capacity=4, bandwidth=9, unit_cost=2)
    far = Cluster(name="far", capacity=2, bandwidth=1, unit_cost=1, nodes=2)
    near = Cluster(name="near", capacity=4, bandwidth=3, unit_cost=1)
    twin = Cluster(name="twin", capacity=4, bandwidth=3, unit_cost=1)
    assert chosen(expensive, far) == "far"
    assert chosen(expensive, far, near) == "near"
    assert chosen(near, twin) == "near"
    assert chosen(twin, near) == "twin"


def test_the_data_are_chosen_for_the_same_cluster_as_the_models():
    """Equal clusters: stage 1 counts the communication of the cheap one, like the graph of stage 2."""
    expensive = Cluster(name="expensive", capacity=4, bandwidth=8, unit_cost=2)
    cheap = Cluster(name="cheap", capacity=4, bandwidth=2, unit_cost=1)
    instance = depl.load("tiny").replace(clusters=(expensive, cheap), transfers=())
    largest = max(model.size for model in instance.models)
    assert selection_problem(instance).fixed_duration == largest / 2
    place = most_capable_cluster(instance).name
    problem = additive_problem(instance, frozenset({"archive"}), place)
    works = [compute(instance, 1, model.name, frozenset({"archive"})) for model in instance.models]
    assert problem.times[0].max() == largest / 2 + max(works) / 4
