"""Bounds of whole instances, after every step and at any prices: never above the optimum of all plans
written out, nor above a plan that is known; and they say something."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.heuristics.bounds.dual import Part, Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import Proof
from depl.heuristics.bounds.tilted_bound import Classes
from depl.heuristics.bounds.tilted_learning import COARSE, FINE, TiltedLearning
from depl.heuristics.data import sites
from depl.heuristics.data.sites import DataFactors, Sites, has_frontier, listed_sites
from depl.heuristics.depl.labels import Judge
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.instances.regions import regional_instance
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws import Normal
from depl.models.problem.learning import PowerDataLaw
from depl.testing.problems import with_rules
from tests.cases.loop_cases import DATA_LAWS, TABLES, crowded, plain, tabled
from tests.cases.site_cases import keeps_rules
from tests.oracles.brute_force import cheapest_by_brute_force
from tests.problems import atoms, drawn, gain, switches


def proof_of(instance):
    return Proof.of(instance, Learning.of(instance), DataFactors(instance))


def of_all_laws(seed, count):
    """Those that the tilt covers, and that take an epoch."""
    for instance in drawn(
        [16, seed], count, models=(1, 3), clusters=(1, 2), datasets=2, maximum_epochs=(2, 3)
    ):
        met = Judge(instance).met(FinalLoss(instance.target.initial_loss, ()))
        if not met and TiltedLearning.covers(instance, Learning.of(instance)):
            yield instance


def with_tables():
    for place, kind in enumerate(TABLES):
        rng = np.random.default_rng([2213, place % 3, place])
        law = DATA_LAWS[place % 3]
        yield tabled(rng, crowded(rng, law, deadline=not place % 3, datasets=2, clusters=2, epochs=3), kind)


FAMILIES = {
    "sites that are listed": (lambda: of_all_laws(2, 3), False),
    "a frontier in their place": (lambda: filter(has_frontier, of_all_laws(1, 8)), True),
    "rules of sites": (
        lambda: (with_rules(np.random.default_rng(5), item) for item in of_all_laws(3, 6)),
        True,
    ),
    "tables of work": (with_tables, True),
}
"""Instances, and whether no site is listed where a frontier may stand for it."""


@pytest.fixture
def few_listed(monkeypatch):
    for name in ("FEW_LISTED", "MOST_LISTED", "LISTED_DATASETS"):
        monkeypatch.setattr(sites, name, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_is_above_the_optimum_and_none_takes_anything_back(family, request):
    """What stands in the way of every plan leaves none, either."""
    made, relaxed = FAMILIES[family]
    if relaxed:
        request.getfixturevalue("few_listed")
    seen = positive = 0
    for instance in made():
        proof, (optimum, _) = proof_of(instance), cheapest_by_brute_force(instance, rule=keeps_rules)
        if proof.obstacle():
            assert optimum == math.inf
            continue
        found = list(itertools.islice(proof.steps(lambda: False), 8))
        values = [item.value for item in found]
        if proof.stages is not None and optimum < math.inf:  # a plan that costs more is held
            divided = proof.stages.divided(1.2 * optimum, lambda: False)
            values += [max(value, values[-1]) for value in itertools.islice(divided, 6)]
        assert max(values) <= optimum * (1 + 1e-9)
        assert values == sorted(values)
        assert optimum == math.inf or not any(item.infeasible for item in found)
        seen += optimum < math.inf
        positive += values[-1] > 0 and optimum < math.inf
    assert seen > 1
    assert positive > 0.5 * seen


def classes_of(instance, fine):
    learning = Learning.of(instance)
    known = Sites.of(instance, listed_sites(instance), DataFactors(instance))
    part = Part(known.transfers / instance.target.maximum_epochs)
    low, high = float(known.low.min()), float(known.high.max())
    tables = TiltedLearning(instance, learning, low, high, FINE if fine else COARSE)
    return Classes(tables, known, part, instance.target.maximum_time, 1e9, tables.tilts())


def test_no_prices_prove_more_than_the_optimum():
    """At random prices of every size and sign, in all classes, coarse and fine."""
    rng = np.random.default_rng([16, 0])
    seen = 0
    for index, instance in enumerate(of_all_laws(1, 5)):
        optimum, _ = cheapest_by_brute_force(instance)
        if not 0 < optimum < math.inf:
            continue
        classes = classes_of(instance, fine=index % 2 == 1)
        for _ in range(3):
            time, gained, variance, excess, rough = np.exp(rng.normal(0, 2, 5)) * optimum / 5
            prices = Prices(
                0.0 if instance.target.maximum_time is None else time,
                gained,
                variance * rng.choice([-1, 0, 1]),
                excess=-excess * (rng.random() < 0.5),
                roughness=-rough * (rng.random() < 0.5),
            )
            values = [dual.values(classes.part, dual.tilt.requirement, prices) for dual in classes.duals]
            assert min(map(min, values)) <= optimum * (1 + 1e-9)
        seen += 1
    assert seen > 1


@pytest.mark.usefixtures("few_listed")
def test_the_first_steps_say_something_later_ones_more_and_what_is_at_hand_counts_when_time_is_over():
    rng, looks = np.random.default_rng(5), itertools.count()
    instance, plan = heterogeneous_instance_with_plan(
        rng, clusters=5, datasets=6, models=2, maximum_epochs=20
    )
    proof = proof_of(instance)
    values = [found.value for found in itertools.islice(proof.steps(lambda: False), 12)]
    assert 0 < 1.01 * values[0] < values[-1] <= depl.evaluate(instance, plan).cost
    assert [found.value for found in proof.steps(lambda: True)] == [0.0]
    stopped = list(proof_of(instance).steps(lambda: next(looks) > 200))
    assert stopped[-1].value <= values[-1] * (1 + 1e-9)


@pytest.mark.usefixtures("few_listed")
def test_dividing_all_plans_by_their_volumes_raises_the_bound_up_to_the_plan_that_is_held():
    """By exact search, which lists all sets; time that is over takes nothing back."""
    rng = np.random.default_rng([0])
    instance = regional_instance(rng, clusters=2, datasets=4, models=2, maximum_epochs=6)
    optimum, proof = depl.solve(instance, "exact").cost, proof_of(instance)
    before = [found.value for found in proof.steps(lambda: False)][-1]
    values = list(proof.stages.divided(1.1 * optimum, lambda: False))
    assert 1.01 * before < values[-1] <= optimum * (1 + 1e-9)
    assert values == sorted(values)
    assert list(proof.stages.divided(optimum, lambda: True)) == [pytest.approx(before)]
    assert list(proof.stages.divided(before, lambda: False)) == [before]


@pytest.mark.usefixtures("few_listed")
def test_neither_a_wrong_guess_of_the_cost_nor_shares_of_transfers_prove_anything_wrong():
    """If the first epoch pays all of the transfers, or four do; not every site of six datasets is listed."""
    rng = np.random.default_rng([16, 5, 1])
    instance = crowded(rng, PowerDataLaw(p=0.5), datasets=6, clusters=2, epochs=6)
    cost, proof = depl.solve(instance, "density-greedy").cost, proof_of(instance)
    for expected in (0.3, 4.0):
        found = proof_of(instance).steps(lambda: False, expected * cost)
        values = [item.value for item in itertools.islice(found, 10)]
        assert values == sorted(values)
        assert 0 < values[-1] <= cost
    for first in (1, 4):
        proof.outlook.charged = np.array([[6 / first], [0.0]]), (np.arange(6) >= first).astype(np.int64)
        values.append(next(itertools.islice(proof.steps(lambda: False), 1, None)).value)
        assert 0 < values[-1] <= cost
    assert values[-1] != values[-2]


def test_switches_with_atoms_do_not_spoil_the_bound_of_plans_without():
    """No roughness of theirs is known: in one range with plans without them the bound falls below 0."""
    rng = np.random.default_rng(0)
    instance, _ = heterogeneous_instance_with_plan(rng, clusters=3, datasets=3, models=3, maximum_epochs=40)
    unit = float(np.abs(Learning.of(instance).gains).mean())
    pairs = itertools.permutations([model.name for model in instance.models], 2)
    proof = proof_of(instance.replace(switches=switches(dict.fromkeys(pairs, atoms(-unit, 3 * unit)))))
    by_moments = proof._by_moments(proof.requirement, lambda: False)
    assert max(proof._by_tilts(lambda: False)) > 2.5 * by_moments > 0


def test_many_normal_epochs_have_a_bound_of_nearly_their_least_number():
    """K / 10 - z (K)**(1/2) / 10 >= 10; every epoch costs 3 * 8 / (2 - 0.5) = 16 at its deadline."""
    base = plain(maximum_time=None, round_deadline=2.0, epochs=150, target=0.0)
    model = msgspec.structs.replace(base.models[0], improvement=gain(Normal(mean=0.1, variance=0.01)))
    instance = base.replace(models=(model,))
    z = float(stats.norm.isf(0.1))
    least = ((z + math.sqrt(z**2 + 400)) / 2) ** 2
    *_, found = proof_of(instance).steps(lambda: False)
    assert 0.997 * 16 * least <= found.value <= 16 * math.ceil(least)
    assert depl.solve(instance, "depl").cost == pytest.approx(16 * math.ceil(least))
