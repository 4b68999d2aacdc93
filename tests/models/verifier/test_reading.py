"""What the verifier reads from instances and plans, against numbers worked out by hand."""

import math
from fractions import Fraction

import pytest

from depl.models.problem.instance import (
    Cluster,
    ComputeTable,
    ConstantImprovement,
    Dataset,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    SubsetEpochs,
    Switch,
    TableDataLaw,
    TabledImprovement,
    Target,
    Transfer,
)
from depl.models.problem.laws import Deterministic, Empirical, Forbidden, Normal, StudentT
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.verifier.reading import epoch_facts, given_data, longest_tables, loss_facts, transfers

BELL = Normal(mean=1, variance=1)


@pytest.fixture
def instance() -> Instance:
    """Two models that share their noise, two clusters, two datasets of which one is half useful."""
    return Instance(
        name="reading",
        clusters=(
            Cluster(name="near", capacity=8, bandwidth=4, unit_cost=3, nodes=2),
            Cluster(name="far", capacity=5, bandwidth=0.5, unit_cost=1),
        ),
        datasets=(Dataset(name="good", volume=2), Dataset(name="poor", volume=1, work=3)),
        models=(
            Model(
                name="full",
                size=2,
                demand=6,
                improvement=InverseSqrtImprovement(scale=3, offset=3, noise=BELL),
            ),
            Model(name="small", size=1, improvement=ConstantImprovement(scale=0.5, noise=BELL)),
        ),
        target=Target(
            initial_loss=10.1, maximum_loss=4, quantile_level=0.9, maximum_epochs=4, maximum_time=100
        ),
        transfers=(
            Transfer(dataset="good", cluster="near", cost=1.5),
            Transfer(dataset="poor", cluster="near", cost=0.25),
            Transfer(dataset="poor", cluster="far", cost=7),
        ),
        switches=(Switch(previous="full", following="small", law=Deterministic(value=0.3)),),
        other_switches=Normal(mean=0.2, variance=0.5),
    )


def plan_of(
    *rows: tuple[str, str], near: tuple[str, ...] = ("good", "poor"), far: tuple[str, ...] = ("poor",)
) -> Plan:
    given = {"near": near, "far": far}
    used = [name for name in given if any(cluster == name for _, cluster in rows)]
    return Plan(
        data=tuple(ClusterData(cluster=name, datasets=given[name]) for name in used),
        epochs=tuple(PlannedEpoch(model=model, cluster=cluster, resources=2) for model, cluster in rows),
    )


def coefficients(instance: Instance, plan: Plan) -> list[float]:
    return [item.factor for item in loss_facts(instance, plan).increments]


def test_work_is_demand_times_work_of_the_data_shared_by_the_nodes_that_are_all_paid(instance):
    near, far = epoch_facts(instance, plan_of(("full", "near"), ("small", "far")))
    assert (near.work, near.price, near.capacity, near.communication) == (6 * 5 / 2, 6, 8, 0.5)
    assert (far.work, far.price, far.capacity, far.communication) == (3, 1, 5, 2)
    assert near.time == 15 / 2 + 0.5
    assert far.time == 3 / 2 + 2


def test_tables_of_compute_replace_demand_and_are_summed_over_the_data(instance):
    tables = (
        ComputeTable(dataset="good", epochs=(4, 5, 6, 7)),
        ComputeTable(dataset="poor", epochs=(1, 2, 3, 4)),
    )
    full = instance.models[0]
    tabled = Model(name="full", size=2, demand=6, improvement=full.improvement, compute=tables)
    changed = instance.replace(models=(tabled, instance.models[1]))
    first, second = epoch_facts(changed, plan_of(("full", "near"), ("full", "far")))
    assert (first.work, second.work) == (5 / 2, 2)
    shared = Model(
        name="full", size=2, improvement=full.improvement, compute=(ComputeTable(epochs=(9, 0, 0, 0)),)
    )
    changed = instance.replace(models=(shared, instance.models[1]))
    first, second = epoch_facts(changed, plan_of(("full", "near"), ("full", "near")))
    assert (first.work, second.work, second.time) == (4.5, 0, 0.5)
    assert longest_tables(changed, ["full"]) == 4
    assert longest_tables(instance, ["full", "small"]) is None


def test_the_improvement_falls_with_the_root_of_the_epoch(instance):
    plan = plan_of(*[("full", "near")] * 4)
    expected = [-3 / 2, -3 / math.sqrt(5), -3 / math.sqrt(6), -3 / math.sqrt(7)]
    assert coefficients(instance, plan) == pytest.approx(expected, rel=1e-15)
    assert loss_facts(instance, plan).increments[0].coefficient == Fraction(-3, 2)


def test_equal_increments_are_counted_and_constants_go_to_the_certain_part(instance):
    facts = loss_facts(instance, plan_of(("full", "near"), ("small", "far"), ("small", "far")))
    assert facts.certain == Fraction("10.4")
    assert [(item.coefficient, item.law, item.count) for item in facts.increments] == [
        (Fraction(-3, 2), BELL, 1),
        (Fraction(-1, 2), BELL, 2),
    ]
    assert facts.mean == pytest.approx(10.4 - 1.5 - 1, rel=1e-14)


def test_tabled_improvements_have_a_law_per_epoch(instance):
    rows = tuple(ConstantImprovement(scale=k, noise=Deterministic(value=0.1)) for k in (1, 2, 3, 4))
    changed = instance.replace(
        models=(Model(name="full", size=2, improvement=TabledImprovement(epochs=rows)), instance.models[1])
    )
    assert loss_facts(changed, plan_of(*[("full", "near")] * 3)).certain == Fraction("9.5")
    assert longest_tables(changed, ["full"]) == 4
    assert longest_tables(changed, ["small"]) is None


def test_switches_count_only_between_different_models(instance):
    same_model = loss_facts(instance, plan_of(("small", "near"), ("small", "far")))
    assert [item.count for item in same_model.increments] == [2]
    back = loss_facts(instance, plan_of(("small", "near"), ("full", "near")))
    assert (Fraction(1), instance.other_switches) in [
        (item.coefficient, item.law) for item in back.increments
    ]
    listed = loss_facts(instance, plan_of(("full", "near"), ("small", "near")))
    assert listed.certain == Fraction("10.4")


def test_an_initial_model_makes_the_first_epoch_a_switch_and_forbidden_ones_are_listed(instance):
    plan = plan_of(("small", "near"))
    for initial, certain in ((None, "10.1"), ("small", "10.1"), ("full", "10.4")):
        assert loss_facts(instance.replace(initial_model=initial), plan).certain == Fraction(certain)
    plan = plan_of(("full", "near"), ("small", "near"), ("full", "near"))
    facts = loss_facts(instance.replace(other_switches=Forbidden()), plan)
    assert facts.forbidden == ((3, "small", "full"),)


@pytest.mark.parametrize(
    ("law", "share"),
    [
        (None, 1),
        (LogDataLaw(a=5, b=2, base_volume=1), (5 - 2 * math.log(4)) / (5 - 2 * math.log(2))),
        (InverseLogDataLaw(a=3, base_volume=0), math.log(2) / math.log(4)),
        (PowerDataLaw(p=0.5, a=7, base_volume=1), math.sqrt(2 / 4)),
    ],
    ids=["none", "log", "inverse_log", "power"],
)
def test_less_data_scales_the_improvement_by_the_data_law(instance, law, share):
    changed = instance.replace(data_law=law)
    with_all, with_poor = coefficients(changed, plan_of(("full", "near"), ("full", "far")))
    assert with_all == -1.5
    assert with_poor == pytest.approx(-3 / math.sqrt(5) * share, rel=1e-14)


@pytest.mark.parametrize("unit", [1e-3, 1e-15])
def test_shares_of_data_in_a_great_unit_keep_their_digits(instance, unit):
    """ln(1 + v) = v - v^2 / 2 + v^3 / 3 - ... of volumes that are as small as their unit is great."""
    good, poor = (
        Dataset(name=row.name, volume=row.volume * unit, work=row.work) for row in instance.datasets
    )
    law = InverseLogDataLaw(a=3, base_volume=0)
    small = instance.replace(datasets=(good, poor), data_law=law)
    part, whole = (
        sum((-1) ** (n + 1) * Fraction(volume) ** n / n for n in range(1, 8)) for volume in (unit, 3 * unit)
    )
    expected = -3 / math.sqrt(5) * float(part / whole)
    assert coefficients(small, plan_of(("full", "near"), ("full", "far")))[1] == pytest.approx(
        expected, rel=1e-14
    )


def test_a_table_of_subsets_gives_exact_shares(instance):
    rows = [(("good",), 5), (("poor",), 6), (("good", "poor"), 2)]
    table = TableDataLaw(subsets=tuple(SubsetEpochs(datasets=names, epochs=epochs) for names, epochs in rows))
    facts = loss_facts(instance.replace(data_law=table), plan_of(("small", "far")))
    assert facts.increments[0].coefficient == Fraction(-1, 6)


def test_transfers_are_summed_once_per_cluster_and_dataset(instance):
    for plan, cost in (
        (plan_of(*[("full", "near"), ("small", "far")] * 2), 1.5 + 0.25 + 7),
        (plan_of(("full", "far"), far=("good",)), 0),
    ):
        assert transfers(instance, given_data(plan).items()) == cost


def test_means_of_every_kind_of_switch_are_found(instance):
    laws = {
        Empirical(values=(0.5, 1.5), weights=(3, 1)): 0.75,
        StudentT(degrees_of_freedom=2, location=0.3, scale=0.2): 0.3,
        StudentT(degrees_of_freedom=2, location=0.3, scale=0.2, lower=-0.7, upper=1.3): 0.3,
        # (4 + x^2)^(-5/2) on [0, 2], the density of 4 degrees of freedom: mean (1 - 2^(-3/2)) 8 / (3 mass)
        StudentT(degrees_of_freedom=4, location=0, scale=1, lower=0, upper=2): mean_of_half_student(),
    }
    for law, mean in laws.items():
        changed = instance.replace(switches=(Switch(previous="full", following="small", law=law),))
        found = loss_facts(changed, plan_of(("full", "near"), ("small", "near"))).mean
        assert found == pytest.approx(10.1 - 1.5 - 0.5 + mean, rel=1e-13)


def mean_of_half_student() -> float:
    """Integrals of x (4 + x^2)^(-5/2) and (4 + x^2)^(-5/2) over [0, 2], by their antiderivatives."""
    root = math.sqrt(8)
    moment = (4**-1.5 - 8**-1.5) / 3
    mass = (2 / root - (2 / root) ** 3 / 3) / 16
    return moment / mass
