"""Many plans at once against `allocate`, plan by plan."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem import allocation
from depl.models.problem.allocation import allocate, allocate_counts, dual_bound
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import Load

EPS = float(np.finfo(float).eps)

# Three kinds of epochs; at full resources they take 1.5, 2.5 and 0.25.
SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
LARGE = Load(work=9.0, price=4.0, capacity=4.5, communication=0.5)
IDLE = Load(work=0.0, price=1.0, capacity=4.0, communication=0.25)

Case = tuple[list[Load], np.ndarray, float | None, float | None]


def sizes() -> st.SearchStrategy[float]:
    return st.floats(math.log(1e-8), math.log(1e8)).map(math.exp)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Kinds of epochs, plans, T_max and tau; limits may be out of reach, or at a corner."""
    maybe_zero = st.one_of(sizes(), sizes(), sizes(), st.just(0.0))
    kind = st.builds(Load, work=maybe_zero, price=maybe_zero, capacity=sizes(), communication=maybe_zero)
    loads = draw(st.lists(kind, min_size=1, max_size=4))
    rows = st.lists(st.integers(0, 5), min_size=len(loads), max_size=len(loads))
    counts = np.array(draw(st.lists(rows, min_size=1, max_size=5)))
    shortest = np.array([load.communication + load.work / load.capacity for load in loads])
    factor = st.one_of(st.just(1.0), st.floats(0.3, 3), st.floats(1, 1000))
    deadline = float(draw(st.sampled_from(list(shortest))) * draw(factor)) if draw(st.booleans()) else None
    if draw(st.booleans()):
        slowest = [least_or_full(load, deadline) for load in loads]
        taken = [a.communication + (a.work / x if a.work else 0) for a, x in zip(loads, slowest, strict=True)]
        maximum_time = float(counts[0] @ np.array(taken))
    else:
        maximum_time = float(counts[0] @ shortest) * draw(factor)
    if deadline is not None and draw(st.booleans()):
        return loads, counts, None, deadline
    return loads, counts, maximum_time, deadline


def least_or_full(load: Load, deadline: float | None) -> float:
    least = minimum_resources(load, deadline)
    return least if 0 < least < math.inf else load.capacity


def epochs(loads: Sequence[Load], row: np.ndarray) -> list[Load]:
    return [load for load, count in zip(loads, row.tolist(), strict=True) for _ in range(count)]


def assert_equal_plan_by_plan(case: Case) -> None:
    loads, counts, maximum_time, deadline = case
    found = allocate_counts(loads, counts, maximum_time, deadline)
    for index, row in enumerate(counts):
        plan = epochs(loads, row)
        single = allocate(plan, maximum_time, deadline)
        assert found.feasible[index] == single.feasible
        if not single.feasible:
            assert found.costs[index] == math.inf
            assert found.multipliers[index] == 0
            assert found.times[index] == pytest.approx(single.fastest_time, rel=4 * EPS)
            continue
        # A rounding of T_max may move either answer, by the multiplier; at a corner a whole interval of
        # multipliers is optimal and the two may pick different ends, so compare what they prove.
        most_expensive = max(single.multiplier, float(found.multipliers[index]))
        worth = 40 * EPS * (single.cost + most_expensive * (maximum_time or 0.0))
        assert found.costs[index] == pytest.approx(single.cost, rel=0, abs=worth)
        assert found.times[index] == pytest.approx(single.time, rel=40 * EPS) or single.multiplier == 0
        if maximum_time is not None:
            assert found.times[index] <= maximum_time * (1 + 1e-9)
        bound = dual_bound(plan, float(found.multipliers[index]), maximum_time, deadline)
        slack = found.multipliers[index] * max(single.time - (maximum_time or math.inf), 0.0)
        assert bound == pytest.approx(single.cost, rel=0, abs=2 * worth + slack)


@given(cases())
@settings(deadline=None, max_examples=100)
def test_every_plan_gets_what_it_would_get_alone(case: Case) -> None:
    assert_equal_plan_by_plan(case)


def test_every_plan_of_a_small_family_gets_what_it_would_get_alone() -> None:
    counts = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    for limits in [(12.0, None), (12.0, 3.0), (12.0, 1.0), (None, 3.0), (4.0, None), (1e-3, None)]:
        assert_equal_plan_by_plan(([SMALL, LARGE, IDLE], counts, *limits))


def test_plans_without_epochs_cost_and_take_nothing() -> None:
    found = allocate_counts([SMALL, LARGE], np.zeros((2, 2), dtype=int), 12.0, 3.0)
    np.testing.assert_array_equal(found.costs, [0, 0])
    np.testing.assert_array_equal(found.times, [0, 0])
    assert found.feasible.all()
    nothing = allocate_counts([], np.zeros((3, 0), dtype=int), 12.0, None)
    np.testing.assert_array_equal(nothing.costs, [0, 0, 0])


def test_full_resources_have_the_least_multiplier_of_the_kinds_that_are_used() -> None:
    # Full capacity is reached at lam = kappa r**2 / c: 4, 9 and, for the kind that is not used, 1e6.
    greedy = Load(work=1.0, price=1.0, capacity=1e3, communication=0.0)
    for maximum_time in (4.0, 4.0 * (1 - 0.9e-9)):
        found = allocate_counts([SMALL, LARGE, greedy], np.array([[1, 1, 0], [1, 0, 0]]), maximum_time, None)
        assert found.multipliers[0] == 9.0
        assert found.costs[0] == 22.0
        assert found.multipliers[1] == allocate([SMALL], maximum_time, None).multiplier


@pytest.mark.parametrize(("taken", "wanted"), [(0.7, 0.7), (1.2, 0.2), (0.0, 1.4)])
def test_room_below_the_rounding_of_the_budget_does_not_speed_up_the_others(
    taken: float, wanted: float
) -> None:
    # The deadline makes `kept` take 1 until lam = 1; the other two take 1 and `taken` units in the last place
    # of T_max = 2 + 1 unit. The 1 - `taken` units that are left are too few for `tiny`, which takes `wanted`
    # at lam = 1, so `kept` must speed up by next to nothing. Roots over room would be far off.
    unit = 2 * EPS
    kept = Load(work=1.0, price=1.0, capacity=10.0, communication=0.0)
    sent = [Load(work=0.0, price=1.0, capacity=1.0, communication=time) for time in (1.0, taken * unit)]
    tiny = Load(work=(wanted * unit) ** 2, price=1.0, capacity=1.0, communication=0.0)
    loads = [kept, *sent, tiny]
    found = allocate(loads, 2 + unit, 1.0)
    assert found.cost == pytest.approx(1.0, rel=1e-14)
    assert found.time <= 2 + 2 * unit
    for order in itertools.permutations(loads):
        many = allocate_counts(order, np.ones((1, 4), dtype=int), 2 + unit, 1.0)
        assert many.costs[0] == pytest.approx(1.0, rel=1e-14)
        assert many.times[0] <= 2 + 2 * unit


def test_a_budget_that_nothing_can_shorten_has_no_price_even_if_it_is_just_kept() -> None:
    """Free work takes 1.5 at any lam, and the small epoch 2.5 with what the deadline asks for: lam = 0."""
    free = Load(work=4.0, price=0.0, capacity=4.0, communication=0.5)
    found = allocate_counts([free, SMALL, IDLE], np.array([[1, 0, 0], [2, 0, 2]]), 1.5, None)
    assert (found.multipliers[0], found.costs[0], found.times[0]) == (0.0, 0.0, 1.5)
    for others in ([free, IDLE], []):
        counts = np.array([[1, *[0] * len(others)], [0, *[2] * len(others)]])
        found = allocate_counts([SMALL, *others], counts, 2.5, 2.5)
        assert (found.multipliers[0], found.costs[0], found.times[0]) == (0.0, 2.0, 2.5)


@pytest.mark.parametrize("numbers", [100, 1])
def test_working_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch, numbers: int) -> None:
    """Plan by plan where not even one fits into the memory that is granted."""
    counts = np.random.default_rng(3).integers(0, 9, (1000, 3), dtype=np.uint8)
    whole = allocate_counts([SMALL, LARGE, IDLE], counts, 20.0, None)
    monkeypatch.setattr(allocation, "_NUMBERS_AT_ONCE", numbers)
    pieces = allocate_counts([SMALL, LARGE, IDLE], counts, 20.0, None)
    assert 0 < whole.feasible.sum() < 1000
    for name in ("costs", "times", "multipliers", "feasible"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=1e-14)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.zeros((2, 3), dtype=int), "one column for each of 2"),
        (np.zeros(2, dtype=int), "one column for each of 2"),
        (np.array([[1, -1]]), "whole numbers"),
        (np.array([[1.0, 2.0]]), "whole numbers"),
    ],
)
def test_counts_that_count_nothing_are_refused(counts: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        allocate_counts([SMALL, LARGE], counts, 12.0, None)


def test_priced_work_without_any_limit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="nothing limits time"):
        allocate_counts([SMALL], np.array([[1]]), None, None)
