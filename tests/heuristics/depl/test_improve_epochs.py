"""Moves of change points and of data: never more expensive, within the room, and the least by brute force."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl import moves as improve_epochs
from depl.heuristics.depl.labels import Cumulants
from depl.heuristics.depl.moves import ChangePoints, _Prefixes
from depl.heuristics.depl.priced_sites import Restricted
from depl.models.problem.allocation import allocate
from depl.models.problem.learning import PowerDataLaw
from tests.cases.loop_cases import crowded


def drawn(seed: int, epochs: int = 6, sets: int = 3) -> Restricted:
    rng = np.random.default_rng([6, 43, seed])
    instance = crowded(rng, PowerDataLaw(p=0.4), datasets=2, clusters=1, epochs=epochs)
    sites = Sites.of(instance, listed_sites(instance)[:sets], DataFactors(instance))
    return Restricted(Learning.of(instance), Cumulants(), sites, (0, 1), instance.target.maximum_time)


def cost_of(found: Restricted, models: tuple[int, ...], sites: tuple[int, ...]) -> float:
    loads = [found.sites.load(k, m, o) for k, (m, o) in enumerate(zip(models, sites, strict=True))]
    return allocate(loads, found.maximum_time, None).cost + found.paid(sorted(set(sites)))


@pytest.mark.parametrize(("sets", "share"), [(1, 1.0), (3, 0.3)])
@pytest.mark.parametrize("seed", range(6))
def test_two_runs_end_as_the_cheapest_of_all_lengths(seed: int, sets: int, share: float) -> None:
    """Model 0, then model 1, on one cluster: all are written out. Other data keep the lengths in one move."""
    found = drawn(seed, sets=sets)
    plain = ChangePoints(found, found.labels(2.0, 0.0), None)
    every = {}
    for first, last, site in itertools.product(range(1, 6), range(1, 6), range(sets)):
        if first + last <= 6:
            models, sites = (0,) * first + (1,) * last, (site,) * (first + last)
            row = plain.sequenced(np.array(models), np.array(sites))
            assert row.cost == pytest.approx(cost_of(found, models, sites), rel=1e-12)
            every[models, sites] = row
    room = sorted(row.label for row in every.values())[len(every) // 3]
    allowed = [row for row in every.values() if row.label <= room and math.isfinite(row.cost)]
    moves = ChangePoints(found, found.labels(2.0, room), None)
    best = min(row.cost for row in allowed)
    exact = 0
    for start in every.values():
        end = moves.settled(start)
        if end is None:
            assert sets > 1
            continue
        assert end.label <= room
        assert best * (1 - 1e-9) <= end.cost
        if start in allowed:
            assert end.cost <= start.cost
        exact += end.cost <= best * (1 + 1e-9)
    assert exact >= share * len(every)


def test_without_room_nothing_is_found() -> None:
    found = drawn(0)
    moves = ChangePoints(found, found.labels(2.0, -1e6), None)
    start = moves.sequenced(np.array([0, 1]), np.array([0, 0]))
    assert moves.settled(start) is None


def test_a_late_sequence_becomes_one_in_time_if_there_is_room() -> None:
    """The limit is what 20 of 40 epochs take with full resources."""
    found = drawn(3, epochs=40)
    limit = float(found.sites.fastest[0, :, 0].sum() * 10)
    quick = Restricted(found.learning, found.cumulants, found.sites, found.models, limit)
    moves = ChangePoints(quick, quick.labels(2.0, 1e6), None)
    late = moves.sequenced(np.repeat([0, 1], 20), np.zeros(40, dtype=np.int64))
    assert math.isinf(late.cost)
    in_time = moves.settled(late)
    assert in_time is not None
    assert math.isfinite(in_time.cost)


def test_epochs_that_may_not_be_trained_count_where_they_are_trained_alone() -> None:
    rng = np.random.default_rng([6, 46])
    table = np.where(rng.random((3, 9)) < 0.1, math.inf, rng.random((3, 9)))
    points = np.array([[0, a, b, 9] for a in range(1, 8) for b in range(a + 1, 9)])
    found = _Prefixes.of(table).over(points)
    for row, value in zip(points.tolist(), found.tolist(), strict=True):
        parts = [table[r, row[r] : row[r + 1]].sum() for r in range(3)]
        assert value == pytest.approx(sum(parts))
    assert 0 < np.isinf(found).sum() < len(found)


@pytest.mark.parametrize(("runs", "together"), [(3, 2), (7, 2), (8, 1), (28, 1), (29, 0)])
def test_of_many_runs_no_more_change_points_move_than_memory_is_meant_for(
    runs: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: 7 * 6 / 2 pairs x 100 steps x 8 numbers are 16,800; 28 points x 24 steps x 29 are 19,488."""
    monkeypatch.setattr(improve_epochs, "_MOST_NUMBERS", 20_000)
    points = 10 * np.arange(runs + 1)
    tried = improve_epochs._moved(points, 10 * runs)
    assert tried.size <= 20_000
    assert max(np.count_nonzero(tried != points, axis=1), default=0) == together
