"""Assignments of data that are too many to list are divided as the search goes on."""

import math
import re

import msgspec
import numpy as np
import pytest

import depl
from depl.models.exact import assignments, search
from depl.models.exact.assignments import few_assignments
from depl.models.exact.choices import Choices
from depl.models.solving.result import Termination
from tests import problems


def drawn(seed, clusters, datasets, epochs, equal=0):
    """A random instance; as many clusters more as ``equal`` that are equal to its first."""
    sizes = {"clusters": clusters, "datasets": datasets, "models": 2, "maximum_epochs": epochs}
    (instance,) = problems.drawn([2204, seed], 1, **sizes)
    first = instance.clusters[0]
    more = [msgspec.structs.replace(first, name=f"again {index}") for index in range(equal)]
    brought = [row for row in instance.transfers if row.cluster == first.name]
    return instance.replace(
        clusters=(*instance.clusters, *more),
        transfers=(
            *instance.transfers,
            *(msgspec.structs.replace(row, cluster=item.name) for item in more for row in brought),
        ),
    )


def solved(instance, method):
    options = {"scenarios": 12, "seed": 3} if method == "scenario-search" else {}
    return depl.solve(instance, method, time_limit=60, **options)


@pytest.mark.parametrize("method", ["scenario-search", "exact"])
@pytest.mark.parametrize("seed", range(6))
def test_divided_and_listed_assignments_have_the_same_optimum(monkeypatch, method, seed):
    """Every third instance has equal clusters, and every other third is out of reach or nearly so."""
    sizes = np.random.default_rng(seed).integers(1, 4, size=3)
    instance = drawn(
        seed, int(sizes[0]), min(int(sizes[1]), 2), int(sizes[2]) + 1, equal=2 if seed % 3 == 0 else 0
    )
    if seed % 3 == 1:
        target = instance.target
        instance = instance.replace(maximum_loss=1.4 * target.maximum_loss - 0.4 * target.initial_loss)
    listed = solved(instance, method)
    monkeypatch.setattr(search, "few_assignments", lambda _: False)
    monkeypatch.setattr(assignments, "MOST_CHILDREN", 1 + 7 * (seed % 2))
    divided = solved(instance, method)
    assert divided.termination is listed.termination
    assert (divided.cost or math.inf) == pytest.approx(listed.cost or math.inf, rel=1e-8)


def test_a_target_out_of_reach_is_proved_on_parts_and_what_is_reached_is_told(monkeypatch):
    instance = depl.load("tiny").replace(maximum_loss=-20.0)
    listed = solved(instance, "scenario-search")
    monkeypatch.setattr(search, "few_assignments", lambda _: False)
    found = solved(instance, "scenario-search")
    assert found.termination is listed.termination is Termination.INFEASIBLE
    assert "target -20 at omega 0.7 unreachable on 12 scenarios" in found.reason
    bound = float(re.search("no plan reaches less than (.*)$", found.reason).group(1))
    reached = float(re.search("model or data at most once is ([^,]*)", listed.reason).group(1))
    assert -20 < bound <= reached
    assert solved(instance, "exact").termination is Termination.INFEASIBLE


def test_more_assignments_than_can_be_listed_are_no_obstacle():
    """The program of the third method knows nothing of assignments."""
    instance = drawn(0, 5, 3, 4)
    assert not few_assignments(Choices(instance))
    found = depl.solve(instance, "scenario-search", scenarios=5)  # verified, its dual bound, too
    known = depl.solve(instance, "milp", scenarios=5)
    assert found.termination is known.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(known.cost, rel=1e-6)
