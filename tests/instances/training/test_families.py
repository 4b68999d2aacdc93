"""Families: their schedules cover the design, their generators differ, their networks fit their data."""

from collections import Counter

import pytest

from depl.instances.training.families import (
    EPOCHS,
    FACTORS,
    FAMILIES,
    PLANS,
    SWITCH_EPOCHS,
    family,
)
from depl.models.foundation.errors import InvalidInputError

DIGITS = family("digits-alexnet")


def plan(seed):
    """F_1, F_2 and K_1 of a seed."""
    schedule = DIGITS.schedule(seed)
    switch = sum(epoch.cluster == "edge" for epoch in schedule)
    assert schedule == (schedule[0],) * switch + (schedule[-1],) * (EPOCHS - switch)
    return schedule[0].factor, schedule[-1].factor, switch


def test_even_seeds_follow_three_plans_equally_often():
    found = Counter(plan(seed) for seed in range(0, 600, 2))
    assert found == dict.fromkeys(PLANS, 100)


def test_odd_seeds_cover_the_design_equally_often():
    found = Counter(plan(seed) for seed in range(1, 600, 2))
    wanted = {
        (first, second, switch)
        for first in FACTORS
        for second in FACTORS
        for switch in SWITCH_EPOCHS
        if first <= second
    }
    assert found == dict.fromkeys(wanted, 4)


def test_the_first_few_seeds_are_spread_over_the_design_already():
    few = [plan(seed) for seed in range(1, 61, 2)]
    assert len(set(few)) == 30
    assert {switch for _, _, switch in few} == set(SWITCH_EPOCHS)
    assert {factor for first, second, _ in few for factor in (first, second)} == set(FACTORS)


def test_families_and_seeds_have_generators_of_their_own():
    drawn = {
        (name, seed): FAMILIES[name].generator(seed).random() for name in FAMILIES for seed in (0, 1, 10**16)
    }
    assert len(set(drawn.values())) == len(drawn)
    assert family("digits-alexnet").generator(5).random() == DIGITS.generator(5).random()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_network_of_a_family_fits_its_data(name):
    task = family(name).task()
    assert task.network.shapes[0] == task.material.example
    assert task.network.shapes[-1] == (task.material.classes, len(task.material.test.labels))
    assert len(task.material.train.inputs) == task.material.example.channels * task.material.example.positions


def test_at_least_1500_runs_are_shipped_and_500_of_each_main_family():
    assert sum(chosen.shipped for chosen in FAMILIES.values()) >= 1500
    assert min(family(name).shipped for name in ("digits-alexnet", "digits-mobilenet")) >= 500


def test_an_unknown_family_is_refused():
    with pytest.raises(InvalidInputError, match="there is no family 'none'; known are digits-alexnet"):
        family("none")
