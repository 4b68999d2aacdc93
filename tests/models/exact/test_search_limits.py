"""Exact searches look at the clock wherever work may grow without end, and keep what they hold."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

import depl
from depl.models.exact import clusters
from depl.models.problem.instance import Cluster, Instance
from depl.models.solving.methods import Limits
from depl.models.solving.result import Result, Termination

ENOUGH = 5_000
"""Choices after which a search that does not ask for the time is stopped by the test."""


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Clusters of a sequence can be chosen in ways without number, each as good as the one before."""
    tried: list[object] = []

    def near(_: object, __: object, options: list[tuple[int, ...]], ___: object) -> Iterator[Sequence[int]]:
        for _ in range(ENOUGH):
            tried.append(options)
            yield [row[0] for row in options]
        raise AssertionError("it goes on although the time is up")

    monkeypatch.setattr(clusters, "_near", near)
    monkeypatch.setattr(clusters, "_ROUNDING", -1.0)  # there is always something left to try
    return tried


def answer(instance: Instance, method: str, most: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, int]:
    """A solve whose time is up after so many looks at the clock, and how many there were."""
    looks = itertools.count(1)
    monkeypatch.setattr(Limits, "expired", lambda _: next(looks) > most)
    result = depl.solve(instance, method, time_limit=1)
    return result, next(looks) - 1


@pytest.fixture
def similar(bell: Instance) -> Instance:
    """Three clusters that differ a little in their price; each may train all epochs."""
    prices = (3.0, 3.01, 3.02)
    clusters = [
        Cluster(name=f"site{index}", capacity=10, bandwidth=2, unit_cost=price)
        for index, price in enumerate(prices)
    ]
    return bell.replace(clusters=tuple(clusters), maximum_loss=7)


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
@pytest.mark.parametrize("most", [20, 200])
def test_many_ways_to_choose_clusters_do_not_hold_up_a_search_whose_time_is_up(
    similar: Instance, endless: list[object], method: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, looks = answer(similar, method, most, monkeypatch)
    assert result.termination is Termination.TIME_LIMIT
    assert result.plan is not None
    assert endless
    assert len(endless) <= most
    assert looks <= most + 10


@pytest.mark.parametrize("method", ["exact", "scenario-search"])
@pytest.mark.parametrize("step", [7, pytest.param(3, marks=pytest.mark.slow)])
def test_a_search_that_is_stopped_anywhere_proves_no_more_than_is_true(
    similar: Instance, method: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the optimum that the whole search proves; the leaf that is cut short may be the last one."""
    optimum = depl.solve(similar, method)
    assert optimum.termination is Termination.OPTIMAL
    for most in range(0, 36, step):
        with monkeypatch.context() as patched:
            result, _ = answer(similar, method, most, patched)
        assert result.lower_bound <= optimum.cost * (1 + 1e-9)
        if result.termination is Termination.OPTIMAL:
            assert result.cost == pytest.approx(optimum.cost, rel=1e-9)
