"""What the verifier reads from instances and plans, and its cheapest resources, against numbers by hand."""

import math
from fractions import Fraction

import pytest

from depl.models.problem.instance import (
    ComputeTable,
    Dataset,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    SubsetEpochs,
    TableDataLaw,
)
from depl.models.problem.laws import Forbidden, Normal
from depl.models.verifier.reading import (
    EpochFacts,
    epoch_facts,
    given_data,
    longest_tables,
    loss_facts,
    transfers,
)
from depl.models.verifier.resources import least_cost, shortest_times
from tests.problems import atoms, gain, gains, model, plan, site, student, switches
from tests.problems import instance as made

BELL = Normal(mean=1, variance=1)
TABLES = {"good": (4, 5, 6, 7), "poor": (1, 2, 3, 4)}


@pytest.fixture
def instance():
    """Two models that share their noise, two clusters, two datasets of which one is half useful."""
    return made(
        model("full", InverseSqrtImprovement(scale=3, offset=3, noise=BELL), demand=6, size=2),
        model("small", gain(BELL, 0.5), demand=1),
        clusters=(site("near", 8, 4, 3, nodes=2), site("far", 5, 0.5, 1)),
        datasets=(Dataset(name="good", volume=2), Dataset(name="poor", volume=1, work=3)),
        transfers={("good", "near"): 1.5, ("poor", "near"): 0.25, ("poor", "far"): 7},
        switches={("full", "small"): 0.3},
        other_switches=OTHER,
        initial_loss=10.1,
        maximum_loss=4,
        maximum_epochs=4,
        maximum_time=100,
    )


KINDS = {"F": ("full", "near"), "S": ("small", "near"), "f": ("full", "far"), "s": ("small", "far")}


def plan_of(word, far=("poor",)):
    """Epochs by the first letters of their models, small on the cluster ``far``."""
    given = {"near": ("good", "poor"), "far": far}
    rows = [(*KINDS[letter], 2) for letter in word]
    return plan(*rows, data={name: given[name] for name in given if any(row[1] == name for row in rows)})


def test_work_is_demand_times_work_of_the_data_shared_by_the_nodes_that_are_all_paid(instance):
    near, far = epoch_facts(instance, plan_of("Fs"))
    assert (near.work, near.price, near.capacity, near.communication) == (6 * 5 / 2, 6, 8, 0.5)
    assert (far.work, far.price, far.capacity, far.communication) == (3, 1, 5, 2)
    assert (near.time, far.time) == (15 / 2 + 0.5, 3 / 2 + 2)
    assert shortest_times([near, far, EpochFacts(0, 1, 8, 0.25)]).tolist() == [15 / 8 + 0.5, 3 / 5 + 2, 0.25]
    for chosen, cost in ((plan_of("FsFs"), 1.5 + 0.25 + 7), (plan_of("f", far=("good",)), 0)):
        assert transfers(instance, given_data(chosen).items()) == cost


def test_tables_of_compute_replace_demand_and_are_summed_over_the_data(instance):
    full, small = instance.models
    tables = tuple(ComputeTable(dataset=name, epochs=row) for name, row in TABLES.items())
    for compute, word, works in (
        (tables, "Ff", (5 / 2, 2)),
        ((ComputeTable(epochs=(9, 0, 0, 0)),), "FF", (4.5, 0)),
    ):
        tabled = Model(name="full", size=2, improvement=full.improvement, compute=compute)
        changed = instance.replace(models=(tabled, small))
        found = epoch_facts(changed, plan_of(word))
        assert tuple(item.work for item in found) == works
        assert longest_tables(changed, ["full", "small"]) == 4
        assert longest_tables(changed, ["small"]) is None
    assert found[1].time == 0.5


def root(k):
    """Minus A / sqrt(k + B) of the model ``full``."""
    return -3 / math.sqrt(k + 3)


def small_volumes(unit):
    data = Dataset(name="good", volume=2 * unit), Dataset(name="poor", volume=unit, work=3)
    return {"datasets": data, "data_law": InverseLogDataLaw(a=3, base_volume=0)}


def logarithms(unit):
    """ln(1 + unit) / ln(1 + 3 unit) by ln(1 + v) = v - v^2 / 2 + v^3 / 3 - ..."""
    part, whole = (sum((-1) ** (n + 1) * Fraction(v) ** n / n for n in range(1, 8)) for v in (unit, 3 * unit))
    return float(part / whole)


OTHER = Normal(mean=0.2, variance=0.5)
SHARES = TableDataLaw(
    subsets=tuple(
        SubsetEpochs(datasets=names, epochs=epochs)
        for names, epochs in ((("good",), 5), (("poor",), 6), (("good", "poor"), 2))
    )
)
TABLED = model("full", gains(0.1, 0.2, 0.3, 0.4), size=2), model("small", gain(BELL, 0.5), demand=1)


@pytest.mark.parametrize(
    ("changes", "word", "certain", "random"),
    [
        ({}, "FFFF", "10.1", [(Fraction(-3, 2), 1), (root(2), 1), (root(3), 1), (root(4), 1)]),
        # equal increments are counted, and constants go to the certain part; the switch costs 0.3
        ({}, "Fss", "10.4", [(Fraction(-3, 2), 1), (Fraction(-1, 2), 2)]),
        ({}, "Ss", "10.1", [(Fraction(-1, 2), 2)]),
        ({}, "SF", "10.1", [(Fraction(-1, 2), 1), (root(2), 1), (1, OTHER)]),
        ({"models": TABLED}, "FFF", "9.5", []),
        ({"initial_model": "small"}, "S", "10.1", [(Fraction(-1, 2), 1)]),
        ({"initial_model": "full"}, "S", "10.4", [(Fraction(-1, 2), 1)]),
        # data laws: with all the data, and with the poor ones of a volume of 1 of 3
        *(
            ({"data_law": law}, "Ff", "10.1", [(Fraction(-3, 2), 1), (root(2) * share, 1)])
            for law, share in (
                (None, 1),
                (LogDataLaw(a=5, b=2, base_volume=1), (5 - 2 * math.log(4)) / (5 - 2 * math.log(2))),
                (InverseLogDataLaw(a=3, base_volume=0), math.log(2) / math.log(4)),
                (PowerDataLaw(p=0.5, a=7, base_volume=1), math.sqrt(2 / 4)),
            )
        ),
        *(
            (small_volumes(unit), "Ff", "10.1", [(Fraction(-3, 2), 1), (root(2) * logarithms(unit), 1)])
            for unit in (1e-3, 1e-15)
        ),
        ({"data_law": SHARES}, "s", "10.1", [(Fraction(-1, 6), 1)]),
    ],
)
def test_the_loss_is_what_is_certain_and_increments_that_are_counted(
    instance, changes, word, certain, random
):
    """Of the law BELL, but for the law of other switches; exact where decimals and roots are."""
    facts = loss_facts(instance.replace(**changes), plan_of(word))
    assert (facts.certain, facts.forbidden) == (Fraction(certain), ())
    for item, (coefficient, count) in zip(facts.increments, random, strict=True):
        law, count = (OTHER, 1) if count is OTHER else (BELL, count)
        exact = isinstance(coefficient, Fraction)
        assert item.coefficient == (coefficient if exact else pytest.approx(coefficient, rel=1e-14))
        assert (item.law, item.count) == (law, count)
    means = [item.count * item.factor * item.law.mean for item in facts.increments]
    assert facts.mean == pytest.approx(float(facts.certain) + sum(means), rel=1e-14)


def test_forbidden_switches_are_listed_and_tables_of_gains_end(instance):
    facts = loss_facts(instance.replace(other_switches=Forbidden()), plan_of("FSF"))
    assert facts.forbidden == ((3, "small", "full"),)
    tabled = instance.replace(models=TABLED)
    assert [longest_tables(tabled, [name]) for name in ("full", "small")] == [4, None]


def test_means_of_every_kind_of_switch_are_found(instance):
    """That of 4 degrees of freedom is as (4 + x^2)^(-5/2): it and x times it have antiderivatives."""
    end = 2 / math.sqrt(8)
    half = (4**-1.5 - 8**-1.5) / 3 / ((end - end**3 / 3) / 16)
    for law, mean in {
        atoms(0.5, 1.5, weights=(3, 1)): 0.75,
        student(2, 0.3, 0.2): 0.3,
        student(2, 0.3, 0.2, -0.7, 1.3): 0.3,
        student(4, 0, 1, 0, 2): half,
    }.items():
        changed = instance.replace(switches=switches({("full", "small"): law}))
        found = loss_facts(changed, plan_of("FS")).mean
        assert found == pytest.approx(10.1 - 1.5 - 0.5 + mean, rel=1e-13)


def epoch(work, price, capacity=1e6, communication=0.0):
    return EpochFacts(work, price, capacity, communication, resources=1.0)


FREE, IDLE = epoch(3, 0, capacity=2), epoch(0, 5, communication=0.5)


def test_free_and_idle_epochs_cost_nothing_and_take_their_time():
    """Beside 1.5 for work 3 that is free, work 2 has 2 of 3.5 left and takes x = 1; alone x = 2 / 3.5."""
    plans = [[FREE, epoch(2, 1)], [epoch(2, 1)], [FREE], [epoch(2, 1), IDLE], [FREE, FREE], []]
    for time, deadline, costs in (
        (3.5, None, [1, 2 / 3.5, 0, 2 / 3, 0, 0]),
        (None, 2.5, [0.8, 0.8, 0, 0.8, 0, 0]),
        (3.5, 2.5, [1, 0.8, 0, 0.8, 0, 0]),
    ):
        assert [least_cost(plan, time, deadline) for plan in plans] == pytest.approx(costs, rel=1e-9)
    assert least_cost([epoch(2, 1), IDLE], None, 0.5) == pytest.approx(4, rel=1e-9)  # which IDLE just keeps
    assert least_cost([epoch(2, 1, communication=0.5)], None, 2.5) == pytest.approx(1, rel=1e-9)
    assert least_cost([epoch(1, 1e13, capacity=1)], 7e12, None) == pytest.approx(10 / 7, rel=1e-9)
