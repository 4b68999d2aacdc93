"""The method ``graph``: certified plans from the paper's expanded graph, its options, and what it refuses."""

import itertools
import json

import pytest

import depl
from depl.heuristics.baselines.graph_method import LabelKind, graph
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.readings import Weight
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Switch, Target
from depl.models.problem.laws import Deterministic, Forbidden, InverseGamma, StudentT
from depl.models.problem.learning import ConstantImprovement
from depl.models.solving.methods import Limits, find
from depl.models.solving.result import Termination

SMALL = ["paper-alexnet-13", "paper-mobilenet-9", "paper-alexnet-switching-9"]


@pytest.fixture(scope="module")
def costs() -> dict[str, float]:
    return {name: depl.solve(depl.load(name), "enumerate").cost for name in SMALL}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("label", [kind.value for kind in LabelKind])
def test_every_label_gives_a_certified_plan_that_costs_no_less_than_the_optimum(name, label, costs):
    instance = depl.load(name)
    result = depl.solve(instance, "graph", options={"label": label})
    assert result.termination is Termination.EXHAUSTED
    assert result.solution is depl.Solution.FEASIBLE
    assert depl.check(instance, result.plan).ok
    assert costs[name] * (1 - 1e-9) <= result.cost <= 1.25 * costs[name]
    assert result.lower_bound == 0


@pytest.mark.parametrize("name", SMALL)
def test_with_many_levels_the_certified_label_finds_the_optimum(name, costs):
    result = depl.solve(depl.load(name), "graph", options={"eta": 2000})
    assert result.cost == pytest.approx(costs[name], rel=1e-9)


def test_the_certified_label_needs_less_than_chernoffs_bound():
    # E5: the margin of Chernoff's bound is 1.3 times too large at omega = 0.99
    instance = depl.load("paper-alexnet-9")
    by_bound, certified = (
        depl.solve(instance, "graph", options={"eta": 1000, "label": label}).cost
        for label in ("entropic", "certified")
    )
    assert (by_bound, certified) == (pytest.approx(13), pytest.approx(12))
    assert depl.solve(instance, "enumerate").cost == pytest.approx(12)


def test_a_graph_too_coarse_finds_nothing_and_says_so():
    result = depl.solve(depl.load("paper-alexnet-deadline-9"), "graph", options={"eta": 50})
    assert (result.plan, result.termination) == (None, Termination.EXHAUSTED)
    assert result.reason.startswith("models: no path of the graph with eta = 50")


def test_a_target_out_of_reach_names_the_best_quantile():
    instance = depl.load("paper-alexnet-9").replace(maximum_loss=-40.0)
    result = depl.solve(instance, "graph", options={"eta": 20})
    assert result.plan is None
    assert "best quantile" in result.reason


def test_nothing_is_trained_for_a_target_that_is_met_already():
    result = depl.solve(depl.load("paper-alexnet-9").replace(maximum_loss=25.0), "graph")
    assert (result.cost, result.plan.epochs) == (0, ())


def test_levels_follow_from_the_gap():
    instance = depl.load("paper-alexnet-13")
    auto = depl.solve(instance, "graph", gap=0.05, options={"eta": "auto"})
    given = depl.solve(instance, "graph", options={"eta": instance.target.maximum_epochs * 20})
    assert auto.plan.epochs == given.plan.epochs
    with pytest.raises(InvalidInputError, match="gap between 0 and 1"):
        depl.solve(instance, "graph", options={"eta": "auto"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0}, "eta: must be a whole number"),
        ({"eta": True}, "eta: must be a whole number"),
        ({"eta": "many"}, "eta: must be a whole number"),
        ({"label": "median"}, "label: must be one of"),
        ({"weight": "gold"}, "weight: must be one of"),
        ({"zeta": 3}, "takes no option 'zeta'"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        depl.solve(depl.load("paper-alexnet-13"), "graph", options=options)


def test_methods_without_options_refuse_them_all():
    assert [option.name for option in find("graph").options] == ["eta", "label", "weight"]
    with pytest.raises(InvalidInputError, match=r"takes no option 'eta'"):
        depl.solve(depl.load("tiny"), "enumerate", options={"eta": 3})


def test_the_command_line_hands_eta_on(ask):
    code, shown, _ = ask("solve", "paper-alexnet-13", "--method", "graph", "--eta", 100, "--json")
    same = depl.solve(depl.load("paper-alexnet-13"), "graph", options={"eta": 100})
    assert (code, json.loads(shown)["cost"]) == (0, same.cost)
    code, shown, _ = ask(
        "solve", "paper-alexnet-13", "--method", "graph", "--eta", "auto", "--gap", 0.05, "--json"
    )
    assert code == 0
    assert json.loads(shown)["cost"] <= same.cost
    assert ask("solve", "tiny", "--eta", 20)[0] == 2
    with pytest.raises(InvalidInputError, match="one dataset and one cluster"):
        depl.solve(depl.load("tiny"), "graph")


@pytest.mark.parametrize("eta", ["0", "-1", "2.5", "some"])
def test_the_command_line_refuses_levels_that_are_none(ask, eta):
    code, shown, noted = ask("solve", "paper-alexnet-13", "--method", "graph", "--eta", eta)
    assert (code, shown) == (2, "")
    assert "--eta" in noted


def test_the_time_limit_is_kept():
    outcome = graph(depl.load("paper-alexnet-deadline-9"), Limits(time_limit=1e-9))
    assert (outcome.termination, outcome.plan) == (Termination.TIME_LIMIT, None)


def test_an_interrupt_returns_the_best_plan_so_far():
    def stop(seconds: float, incumbent: float, bound: float) -> None:
        raise KeyboardInterrupt

    outcome = graph(depl.load("paper-alexnet-13"), Limits(progress=stop))
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.plan is not None


def site(models: tuple[Model, ...], target: Target, **more: object) -> Instance:
    return Instance(
        name="site",
        clusters=(Cluster(name="site", capacity=100, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="data", volume=1),),
        models=models,
        target=target,
        **more,
    )


def gaining(name: str, gain: float, work: float) -> Model:
    return Model(
        name=name, size=0, demand=work, improvement=ConstantImprovement(noise=Deterministic(value=gain))
    )


TABLE = Target(initial_loss=40, maximum_loss=14.6, quantile_level=0.9, maximum_epochs=30, maximum_time=1.0)


def test_e12_counting_epochs_costs_2_40_times_the_optimum():
    # slow needs 26 epochs and costs 26**2 = 676; 25 epochs, all fast, cost 25**2 * 2.6 = 1625
    models = (gaining("fast", 1.02, 2.6), gaining("slow", 0.98, 1.0))
    instance = site(models, TABLE, other_switches=Forbidden())
    cost = {
        weight: depl.solve(instance, "graph", options={"eta": 2000, "weight": weight}).cost
        for weight in (Weight.ROOT.value, Weight.COMPUTE.value, Weight.FULL_RESOURCES.value)
    }
    assert cost["root"] == cost["compute"] == pytest.approx(676)
    assert cost["full-resources"] == pytest.approx(1625)


def test_the_readings_of_the_weight_are_those_of_their_names():
    instance = depl.load("tiny")
    cloud = frozenset({"archive", "sensors"})
    weights = {
        weight: additive_problem(instance, cloud, "cloud", weight=weight).weights[0].tolist()
        for weight in list(Weight)[:4]
    }
    # kappa = 4, r = 10, c = 4 and 2, s / b = 0.5 and 0.25
    assert weights[Weight.FULL_RESOURCES] == [40, 40]
    assert weights[Weight.COMPUTE] == [16, 8]
    assert weights[Weight.FULL_RESOURCES_TIME] == [4 * (4 + 5), 4 * (2 + 2.5)]
    assert weights[Weight.ROOT] == pytest.approx([4, 8**0.5])
    problem = additive_problem(instance, cloud, "cloud")
    assert problem.times[0] == pytest.approx([0.4 + 0.5, 0.2 + 0.25])
    assert not problem.allowed[1, 1, 0]
    # expected gains 4 and 2.5; the switch costs 0.375
    assert problem.losses[1, 0].tolist() == pytest.approx([-4, -2.5 + 0.375])
    with pytest.raises(InvalidInputError, match="without a round deadline"):
        additive_problem(instance, cloud, "cloud", weight=Weight.LEAST_RESOURCES)
    alexnet = depl.load("paper-alexnet-9")
    least = additive_problem(alexnet, frozenset({"training-data"}), "A")
    assert least.weights[0] == pytest.approx([2.6, 1.4, 1.0])  # kappa c / tau


@pytest.mark.parametrize(
    ("datasets", "cluster"), [((), "cloud"), (("rain",), "cloud"), (("archive",), "moon")]
)
def test_data_and_clusters_that_are_not_there_are_refused(datasets, cluster):
    with pytest.raises(InvalidInputError, match=r"must be|there is no"):
        additive_problem(depl.load("tiny"), frozenset(datasets), cluster)


def test_epochs_that_miss_the_round_deadline_are_not_edges():
    models = (gaining("fast", 2.0, 2.6), gaining("slow", 1.0, 1.0))
    target = Target(
        initial_loss=10, maximum_loss=5, quantile_level=0.9, maximum_epochs=9, round_deadline=0.02
    )
    result = depl.solve(site(models, target), "graph")
    assert [epoch.model for epoch in result.plan.epochs] == ["slow"] * 5  # fast takes 0.026 at least


def test_heavy_switches_fall_back_to_the_mean_as_an_order():
    models = tuple(
        Model(name=name, size=0, demand=work, improvement=ConstantImprovement(noise=noise))
        for name, work, noise in (
            ("fast", 3.0, InverseGamma(mean=1.5, variance=0.05)),
            ("slow", 1.0, InverseGamma(mean=1.0, variance=0.01)),
        )
    )
    switch = Switch(
        previous="fast", following="slow", law=StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.1)
    )
    target = Target(
        initial_loss=12, maximum_loss=4.5, quantile_level=0.95, maximum_epochs=8, round_deadline=1.0
    )
    instance = site(models, target, switches=(switch,), other_switches=Forbidden())
    best = depl.solve(instance, "enumerate").cost
    assert best * (1 - 1e-9) <= depl.solve(instance, "graph", options={"eta": 800}).cost <= 1.3 * best
    with pytest.raises(NotCoveredError, match="no exponential moments"):
        depl.solve(instance, "graph", options={"label": "entropic"})


def test_the_same_call_gives_the_same_plan_and_forbidden_switches_are_kept():
    instance = depl.load("paper-alexnet-9")
    plans = [depl.solve(instance, "graph", options={"eta": 200}).plan for _ in range(2)]
    assert plans[0] == plans[1]
    order = ["fast-unsteady", "intermediate", "slow-steady"]
    ranks = [order.index(epoch.model) for epoch in plans[0].epochs]
    assert all(first <= second for first, second in itertools.pairwise(ranks))
