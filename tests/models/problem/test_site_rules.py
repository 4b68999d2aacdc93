"""The rules of the sites in the statement: what is read, what they answer, which cluster is most capable."""

import msgspec
import pytest

import depl
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.paths.additive_problem import additive_problem
from depl.models.evaluation.evaluate import SITE_RULES, evaluate
from depl.models.problem.epochs import compute
from depl.models.problem.plan import Plan
from depl.models.problem.site_rules import most_capable_cluster, why_not_idle
from depl.models.solving.early_stopping import early_stopping
from depl.showing.explain import explain
from tests.problems import plan, site

change = msgspec.structs.replace


@pytest.fixture
def ruled(tiny):
    """Sensors in the cloud alone, nothing but ``pruned`` on the edge, and ``full`` last."""
    archive, sensors = tiny.datasets
    cloud, edge = tiny.clusters
    full, pruned = tiny.models
    return tiny.replace(
        datasets=(archive, change(sensors, clusters=("cloud",))),
        clusters=(cloud, change(edge, memory=4)),
        models=(change(full, memory=5), change(pruned, memory=4)),
        deployable=("full",),
    )


def test_answers_of_the_rules(tiny, ruled):
    rules = ruled.rules
    assert rules.data == {"cloud": {"archive", "sensors"}, "edge": {"archive"}}
    assert not rules.may_use(("archive", "sensors"), "edge")
    assert rules.may_train("full", "cloud")
    assert not rules.may_train("full", "edge")
    assert rules.may_train("pruned", "edge")  # as much as a node has
    assert [rules.may_end(name) for name in ("full", "pruned", None)] == [True, False, False]
    assert rules.usable(("edge",), ("archive", "sensors")).tolist() == [[True, False]]
    assert (rules.restrict_data, rules.restrict_models, rules.may_stop) == (True, True, False)
    assert tiny.rules.may_end(None)
    assert ruled.replace(initial_model="full").rules.may_stop


def everywhere(items, **fields):
    return tuple(change(item, **fields) for item in items)


def test_a_rule_that_forbids_nothing_restricts_nothing(tiny):
    wide = tiny.replace(
        datasets=everywhere(tiny.datasets, clusters=("edge", "cloud")),
        clusters=everywhere(tiny.clusters, memory=3.0),
        models=everywhere(tiny.models, memory=3.0),
    )
    assert not wide.rules.restrict_sites
    assert wide.rules.obstacle() == ""


def test_what_leaves_no_plan_is_said_in_words(tiny):
    (cloud, edge), (_, pruned), archive = tiny.clusters, tiny.models, tiny.datasets[0]
    large, narrow = everywhere(tiny.models, memory=9.0), everywhere(tiny.clusters, memory=8.0)
    at_edge = tiny.replace(datasets=(change(archive, clusters=("edge",)),), transfers=())
    only = tiny.replace(models=(large[0], pruned), clusters=narrow, deployable=("full",))
    for instance, said in (
        (tiny.replace(models=large, clusters=narrow), "no cluster has memory for any model"),
        (
            at_edge.replace(models=large, clusters=(cloud, change(edge, memory=8.0))),
            "no cluster that may use some dataset has memory for any model",
        ),
        (only, "no model that may be the last one (full) fits on a cluster with data"),
    ):
        assert instance.rules.obstacle() == f"models: {said}"
        for method in ("depl", "enumerate"):
            found = depl.solve(instance, method)
            assert (found.termination, found.reason) == (depl.Termination.INFEASIBLE, f"models: {said}")


def test_without_an_epoch_the_initial_model_is_the_last(tiny):
    met = tiny.replace(maximum_loss=15, deployable=("pruned",))
    assert why_not_idle(met).startswith("a plan without an epoch ends with no model")
    assert (
        why_not_idle(met.replace(initial_model="full")) == "the initial model 'full' may not be the last one"
    )
    assert why_not_idle(met.replace(maximum_loss=14)) == "the initial loss is above the target"
    assert why_not_idle(tiny) == "the initial loss is above the target"


BROKEN = plan(
    ("full", "cloud", 4.0), ("full", "edge", 4.0), ("pruned", "edge", 3.0), data=("archive", "sensors")
)


def test_an_evaluation_has_a_constraint_for_every_rule(tiny, ruled):
    rows = [item for item in evaluate(ruled, BROKEN).constraints if item.equation in SITE_RULES]
    assert [(item.equation, item.name, item.value, item.limit, item.satisfied) for item in rows] == [
        ("residency", "datasets on 'cloud' that may not be used there", 0, 0, True),
        ("residency", "datasets on 'edge' that may not be used there", 1, 0, False),
        ("memory", "memory at epoch 2", 5, 4, False),
        ("memory", "memory at epoch 3", 4, 4, True),
        ("deployment", "last model 'pruned'", 1, 0, False),
    ]
    idle = evaluate(ruled, Plan()).constraints[-2]
    assert (idle.equation, idle.name, idle.satisfied) == ("deployment", "no last model", False)
    assert not [item for item in evaluate(tiny, BROKEN).constraints if item.equation in SITE_RULES]
    assert "memory memory fails: 5 against 4, 1 too much, at epoch 2" in explain(ruled, BROKEN)


def test_a_target_met_before_training_does_not_stop_a_run_that_has_no_model_to_keep(tiny):
    met = tiny.replace(maximum_loss=16, deployable=("pruned",))
    trained = depl.solve(met, "exact")
    assert trained.plan.schedule == (("pruned", "edge"),)
    assert trained.cost == pytest.approx(0.25)  # one epoch of work 1 in time 5 - 1 at the edge
    assert early_stopping(met, change(trained.plan, instance=None)).epochs.exact == 1
    assert depl.solve(met.replace(initial_model="pruned"), "exact").plan.epochs == ()
    none = depl.solve(met.replace(maximum_epochs=0), "exact")
    assert (none.plan, "ends with no model" in none.reason) == (None, True)


# --- the most capable cluster --------------------------------------------------------------------------


def test_the_most_capable_cluster_has_the_most_resources_then_costs_least_and_is_linked_best(
    tiny,
):
    def chosen(*clusters):
        return most_capable_cluster(tiny.replace(clusters=clusters, transfers=())).name

    assert most_capable_cluster(tiny).name == "cloud"
    assert chosen(tiny.clusters[0], change(tiny.clusters[1], nodes=3)) == "edge"
    expensive, far = site("expensive", 4, 9, 2), site("far", 2, 1, 1, nodes=2)
    near, twin = site("near", 4, 3, 1), site("twin", 4, 3, 1)
    assert chosen(expensive, far) == "far"
    assert chosen(expensive, far, near) == "near"
    assert [chosen(near, twin), chosen(twin, near)] == ["near", "twin"]


def test_the_data_are_chosen_for_the_same_cluster_as_the_models(tiny):
    """Equal clusters: stage 1 counts the communication of the cheap one, like the graph of stage 2."""
    instance = tiny.replace(clusters=(site("expensive", 4, 8, 2), site("cheap", 4, 2, 1)), transfers=())
    largest = max(item.size for item in instance.models)
    assert selection_problem(instance).fixed_duration == largest / 2
    place, data = most_capable_cluster(instance).name, frozenset({"archive"})
    problem = additive_problem(instance, data, place)
    works = [compute(instance, 1, item.name, data) for item in instance.models]
    assert problem.times[0].max() == largest / 2 + max(works) / 4
