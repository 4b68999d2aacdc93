"""What the verifier reads from instances and plans, and its cheapest resources, against numbers by hand."""

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.problem.instance import (
    ComputeTable,
    Dataset,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    SubsetEpochs,
    TableDataLaw,
)
from depl.models.problem.laws import Forbidden, Normal
from depl.models.problem.plan import Plan
from depl.models.verifier.reading import (
    EpochFacts,
    epoch_facts,
    given_data,
    longest_tables,
    loss_facts,
    transfers,
)
from depl.models.verifier.resources import least_cost, least_costs, shortest_times
from tests.problems import atoms, gain, gains, model, plan, site, student, switches
from tests.problems import instance as made

BELL = Normal(mean=1, variance=1)
TABLES = {"good": (4, 5, 6, 7), "poor": (1, 2, 3, 4)}


@pytest.fixture
def instance() -> Instance:
    """Two models that share their noise, two clusters, two datasets of which one is half useful."""
    return made(
        model("full", InverseSqrtImprovement(scale=3, offset=3, noise=BELL), demand=6, size=2),
        model("small", gain(BELL, 0.5), demand=1),
        clusters=(site("near", 8, 4, 3, nodes=2), site("far", 5, 0.5, 1)),
        datasets=(Dataset(name="good", volume=2), Dataset(name="poor", volume=1, work=3)),
        transfers={("good", "near"): 1.5, ("poor", "near"): 0.25, ("poor", "far"): 7},
        switches={("full", "small"): 0.3},
        other_switches=Normal(mean=0.2, variance=0.5),
        initial_loss=10.1,
        maximum_loss=4,
        maximum_epochs=4,
        maximum_time=100,
    )


def plan_of(*rows: tuple[str, str], far: tuple[str, ...] = ("poor",)) -> Plan:
    given = {"near": ("good", "poor"), "far": far}
    used = {name: given[name] for name in given if any(place == name for _, place in rows)}
    return plan(*((*row, 2) for row in rows), data=used)


def coefficients(instance: Instance, plan: Plan) -> list[float]:
    return [item.factor for item in loss_facts(instance, plan).increments]


def test_work_is_demand_times_work_of_the_data_shared_by_the_nodes_that_are_all_paid(instance):
    near, far = epoch_facts(instance, plan_of(("full", "near"), ("small", "far")))
    assert (near.work, near.price, near.capacity, near.communication) == (6 * 5 / 2, 6, 8, 0.5)
    assert (far.work, far.price, far.capacity, far.communication) == (3, 1, 5, 2)
    assert near.time == 15 / 2 + 0.5
    assert far.time == 3 / 2 + 2


def test_tables_of_compute_replace_demand_and_are_summed_over_the_data(instance):
    good, poor = (ComputeTable(dataset=name, epochs=row) for name, row in TABLES.items())
    full, small = instance.models
    tabled = model("full", full.improvement, demand=6, size=2, compute=(good, poor))
    changed = instance.replace(models=(tabled, small))
    first, second = epoch_facts(changed, plan_of(("full", "near"), ("full", "far")))
    assert (first.work, second.work) == (5 / 2, 2)
    shared = Model(
        name="full", size=2, improvement=full.improvement, compute=(ComputeTable(epochs=(9, 0, 0, 0)),)
    )
    changed = instance.replace(models=(shared, small))
    first, second = epoch_facts(changed, plan_of(("full", "near"), ("full", "near")))
    assert (first.work, second.work, second.time) == (4.5, 0, 0.5)
    assert longest_tables(changed, ["full"]) == 4
    assert longest_tables(instance, ["full", "small"]) is None


def test_the_improvement_falls_with_the_root_of_the_epoch(instance):
    four = plan_of(*[("full", "near")] * 4)
    expected = [-3 / 2, -3 / math.sqrt(5), -3 / math.sqrt(6), -3 / math.sqrt(7)]
    assert coefficients(instance, four) == pytest.approx(expected, rel=1e-15)
    assert loss_facts(instance, four).increments[0].coefficient == Fraction(-3, 2)


def test_equal_increments_are_counted_and_constants_go_to_the_certain_part(instance):
    facts = loss_facts(instance, plan_of(("full", "near"), ("small", "far"), ("small", "far")))
    assert facts.certain == Fraction("10.4")
    assert [(item.coefficient, item.law, item.count) for item in facts.increments] == [
        (Fraction(-3, 2), BELL, 1),
        (Fraction(-1, 2), BELL, 2),
    ]
    assert facts.mean == pytest.approx(10.4 - 1.5 - 1, rel=1e-14)


def test_tabled_improvements_have_a_law_per_epoch(instance):
    tabled = model("full", gains(0.1, 0.2, 0.3, 0.4), size=2)
    changed = instance.replace(models=(tabled, instance.models[1]))
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
    small = plan_of(("small", "near"))
    for initial, certain in ((None, "10.1"), ("small", "10.1"), ("full", "10.4")):
        assert loss_facts(instance.replace(initial_model=initial), small).certain == Fraction(certain)
    back = plan_of(("full", "near"), ("small", "near"), ("full", "near"))
    facts = loss_facts(instance.replace(other_switches=Forbidden()), back)
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
    for chosen, cost in (
        (plan_of(*[("full", "near"), ("small", "far")] * 2), 1.5 + 0.25 + 7),
        (plan_of(("full", "far"), far=("good",)), 0),
    ):
        assert transfers(instance, given_data(chosen).items()) == cost


def test_means_of_every_kind_of_switch_are_found(instance):
    laws = {
        atoms(0.5, 1.5, weights=(3, 1)): 0.75,
        student(2, 0.3, 0.2): 0.3,
        student(2, 0.3, 0.2, -0.7, 1.3): 0.3,
        # (4 + x^2)^(-5/2) on [0, 2], the density of 4 degrees of freedom: mean (1 - 2^(-3/2)) 8 / (3 mass)
        student(4, 0, 1, 0, 2): mean_of_half_student(),
    }
    for law, mean in laws.items():
        changed = instance.replace(switches=switches({("full", "small"): law}))
        found = loss_facts(changed, plan_of(("full", "near"), ("small", "near"))).mean
        assert found == pytest.approx(10.1 - 1.5 - 0.5 + mean, rel=1e-13)


def mean_of_half_student() -> float:
    """Integrals of x (4 + x^2)^(-5/2) and (4 + x^2)^(-5/2) over [0, 2], by their antiderivatives."""
    root = math.sqrt(8)
    moment = (4**-1.5 - 8**-1.5) / 3
    mass = (2 / root - (2 / root) ** 3 / 3) / 16
    return moment / mass


def epoch(work: float, price: float, capacity: float = 1e6, communication: float = 0.0) -> EpochFacts:
    return EpochFacts(work, price, capacity, communication, resources=1.0)


FREE, IDLE = epoch(3, 0, capacity=2), epoch(0, 5, communication=0.5)


@pytest.mark.parametrize(
    ("epochs", "limit", "deadline", "cost"),
    [
        # without a binding capacity, the square of the sum of roots
        (
            [epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1), epoch(1, 1)],
            10,
            None,
            (math.sqrt(6) + math.sqrt(2) + 1) ** 2 / (10 - 1.5),
        ),
        # what just meets the round deadline, with a generous total time or without one
        ([epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1)], None, 2, 3 * 2 / 1.5 + 0.25 * 8),
        ([epoch(2, 3), epoch(8, 0.25)], 1e3, 2, 3 * 1 + 0.25 * 4),
        # a total time that needs all capacity
        ([epoch(6, 2, capacity=3, communication=0.5), epoch(8, 1, capacity=4)], 4.5, None, 2 * 3 + 1 * 4),
        # free resources and idle epochs
        ([], 5, None, 0),
        ([IDLE], 5, None, 0),
        ([FREE], 5, None, 0),
    ],
)
def test_costs_worked_out_by_hand_are_found(epochs, limit, deadline, cost):
    assert least_cost(epochs, limit, deadline) == pytest.approx(cost, rel=1e-9)


def test_plans_of_different_lengths_with_free_and_idle_epochs_are_costed_at_once():
    """Beside 1.5 for work 3 that is free, work 2 has 2 of 3.5 left and takes x = 1; alone x = 2 / 3.5."""
    plans = [[FREE, epoch(2, 1)], [epoch(2, 1)], [FREE], [epoch(2, 1), IDLE], [FREE, FREE], []]
    assert least_costs(plans, 3.5, None) == pytest.approx([1, 2 / 3.5, 0, 2 / 3, 0, 0], rel=1e-9)
    assert least_costs(plans, 3.5, 2.5) == pytest.approx([1, 0.8, 0, 0.8, 0, 0], rel=1e-9)


def test_with_all_resources_an_epoch_takes_its_work_by_them_and_its_messages():
    epochs = [epoch(6, 2, capacity=3, communication=0.5), epoch(1, 1, capacity=4), epoch(0, 1, 8, 0.25)]
    assert shortest_times(epochs).tolist() == [2.5, 0.25, 0.25]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.5, 5), st.floats(0, 1)),
        min_size=1,
        max_size=4,
    ),
    st.floats(1.02, 4),
    st.booleans(),
)
def test_the_search_agrees_with_a_conic_solver(rows, slack, with_deadline):
    works, prices, capacities, communications = (np.array(column) for column in zip(*rows, strict=True))
    fastest = works / capacities + communications
    limit = float(fastest.sum() * slack)
    deadline = float(fastest.max() * 1.3) if with_deadline else None
    resources = cp.Variable(len(rows))
    times = cp.multiply(works, cp.inv_pos(resources)) + communications
    constraints = [cp.sum(times) <= limit, resources <= capacities]
    if deadline is not None:
        constraints.append(times <= deadline)
    problem = cp.Problem(cp.Minimize(prices @ resources), constraints)
    problem.solve(solver=cp.CLARABEL)
    epochs = [EpochFacts(*(float(value) for value in row), resources=1.0) for row in rows]
    assert least_cost(epochs, limit, deadline) == pytest.approx(problem.value, rel=1e-6)
