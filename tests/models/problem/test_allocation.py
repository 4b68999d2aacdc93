"""What an epoch costs at a price of time, the resources of plans, and the dual bound.

Against exact fractions, the optimality conditions at any scale, and one another.
"""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.heuristics.bounds.frontier import add_prices
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem import allocation, epoch_costs
from depl.models.problem.allocation import allocate, allocate_counts, dual_bound
from depl.models.problem.epoch_costs import EpochCosts, minimum_resources, price, root
from depl.models.problem.epochs import Load
from tests.problems import refusal

EPS = float(np.finfo(float).eps)
ULPS = 8 * EPS

# Kinds of epochs: work, price, capacity, communication. At full resources they take 1.5, 2.5 and 0.25.
SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
LARGE = Load(work=9.0, price=4.0, capacity=4.5, communication=0.5)
CHEAP = Load(work=4.0, price=0.01, capacity=4.0, communication=0.5)
IDLE = Load(work=0.0, price=1.0, capacity=4.0, communication=0.25)
FREE = Load(work=2.0, price=0.0, capacity=4.0, communication=0.5)
WAITING = Load(work=0.0, price=1.0, capacity=4.0, communication=0.5)


def columns_of(loads):
    return np.array([(x.work, x.price, x.capacity, x.communication) for x in loads]).T.copy()


def sizes(least=1e-8, greatest=1e8):
    return st.floats(math.log(least), math.log(greatest)).map(math.exp)


def kinds(size):
    maybe_zero = st.one_of(size, size, size, st.just(0.0))
    return st.builds(Load, work=maybe_zero, price=maybe_zero, capacity=size, communication=maybe_zero)


@st.composite
def cases(draw):
    """Kinds of epochs, counts of them in up to three plans, T_max and tau.

    Some kinds have no work or are free of charge; limits may be out of reach, often lie on a breakpoint of
    the first plan, and at times only the deadline is there.
    """
    loads = draw(st.lists(kinds(sizes()), min_size=1, max_size=4))
    rows = st.lists(st.integers(0, 4), min_size=len(loads), max_size=len(loads))
    counts = np.array(draw(st.lists(rows, min_size=1, max_size=3)))
    shortest = [load.communication + load.work / load.capacity for load in loads]
    factor = st.one_of(st.just(1.0), st.floats(0.9, 1.01), st.floats(1, 1000))
    deadline = draw(st.sampled_from([None, min(shortest), max(shortest), max(shortest)]))
    deadline = None if deadline is None else deadline * draw(factor)
    if deadline is not None and draw(st.integers(0, 3)) == 0:
        return loads, counts, None, deadline
    fastest, corner = float(counts[0] @ shortest), draw(st.sampled_from(loads))
    if corner.work == 0 or corner.price == 0 or draw(st.booleans()):
        return loads, counts, fastest * draw(factor), deadline
    ends = [corner.capacity, min(minimum_resources(corner, deadline), corner.capacity) or corner.capacity]
    pace = draw(st.sampled_from(ends)) * math.sqrt(corner.price) / math.sqrt(corner.work)
    first = epochs_of(loads, counts[0])
    return (
        loads,
        counts,
        max(total_time(first, [at_pace(x, pace, deadline) for x in first]), fastest),
        deadline,
    )


def epochs_of(loads, row):
    return [load for load, count in zip(loads, row.tolist(), strict=True) for _ in range(count)]


def at_pace(load, pace, deadline):
    if load.work == 0:
        return 0.0
    wanted = pace * math.sqrt(load.work / load.price) if load.price > 0 else math.inf
    return min(max(wanted, minimum_resources(load, deadline)), load.capacity)


def total_time(loads, resources):
    return math.fsum(
        load.communication + (load.work / x if load.work > 0 else 0.0)
        for load, x in zip(loads, resources, strict=True)
    )


def assert_optimal(found, loads, maximum_time, deadline):
    """The Karush-Kuhn-Tucker conditions, each to a few roundings, whatever the scale."""
    assert found.feasible
    assert found.multiplier >= 0
    pace = math.sqrt(found.multiplier)
    for load, x in zip(loads, found.resources.tolist(), strict=True):
        least = minimum_resources(load, deadline)
        if load.work == 0:
            assert x == 0
            continue
        assert least <= x <= load.capacity
        assert deadline is None or load.communication + load.work / x <= deadline * (1 + TIME_TOLERANCE)
        free_pace = x * math.sqrt(load.price) / math.sqrt(load.work)  # the pace at which x would be free
        if x < load.capacity:
            assert load.price > 0
            assert free_pace >= pace * (1 - 8 * EPS)
        if x > least:
            assert free_pace <= pace * (1 + 8 * EPS)
    assert found.cost == pytest.approx(
        math.fsum(a.price * x for a, x in zip(loads, found.resources, strict=True)), rel=4 * EPS
    )
    assert found.time == pytest.approx(total_time(loads, found.resources.tolist()), rel=4 * EPS)
    if maximum_time is None:
        assert found.multiplier == 0
    else:
        assert found.time <= maximum_time * (1 + TIME_TOLERANCE)
        if found.multiplier > 0:
            assert found.time == pytest.approx(
                maximum_time,
                rel=(TIME_TOLERANCE if np.all(found.resources == [a.capacity for a in loads]) else 32 * EPS),
            )


# --- one plan by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loads", "maximum_time", "deadline", "resources", "multiplier"),
    [
        # roots 2, 2, 6; x = root / price * (10 / 8.5): (2.35, 2.35, 1.76), all below capacity
        ([SMALL, SMALL, LARGE], 10.0, None, [20 / 8.5, 20 / 8.5, 15 / 8.5], (10 / 8.5) ** 2),
        ([SMALL, LARGE], None, 3.5, [4 / 3, 3.0], 0.0),  # the least resources
        ([SMALL, LARGE], 7.0, 3.5, [4 / 3, 3.0], 0.0),  # the deadline just keeps the budget
        # full capacity is reached at lam = kappa r**2 / c: 4 for the small epoch, 9 for the large one
        ([SMALL, LARGE], 4.0, None, [4.0, 4.5], 9.0),
        ([SMALL, LARGE], 4.0 * (1 - 0.9e-9), None, [4.0, 4.5], 9.0),  # missed by the tolerance
        ([CHEAP], 1.5 * (1 - 0.9e-9), None, [4.0], 0.04),
        # x = sqrt(lam) between the ends 1, 2 and 4, 8: from lam = 4 to 16 they take 6, whatever lam is
        ([Load(4.0, 4.0, 2.0, 0.0), Load(16.0, 16.0, 8.0, 0.0)], 6.0, 4.0, [2.0, 4.0], 4.0),
        ([], 5.0, 1.0, [], 0.0),
        ([IDLE], None, None, [0.0], 0.0),  # nothing to do, and it still communicates
        ([FREE], 100.0, 50.0, [4.0], 0.0),
        ([FREE, SMALL], 4.0, None, [4.0, 4 / 2.5], (2 / 2.5) ** 2),  # what it saves is left to what costs
    ],
)
def test_resources_and_the_price_of_time_by_hand(loads, maximum_time, deadline, resources, multiplier):
    found = allocate(loads, maximum_time, deadline)
    np.testing.assert_allclose(found.resources, resources, rtol=1e-15)
    assert found.resources.shape == (len(loads),)
    assert found.feasible
    assert found.multiplier == pytest.approx(multiplier, rel=1e-15)
    assert found.cost == pytest.approx(
        sum(a.price * x for a, x in zip(loads, resources, strict=True)), rel=1e-15
    )
    assert found.time == pytest.approx(total_time(loads, resources), rel=1e-15)
    if maximum_time is not None:
        many = allocate_counts(loads, np.ones((1, len(loads)), dtype=int), maximum_time, deadline)
        assert many.costs[0] == pytest.approx(found.cost, rel=1e-14)
        assert many.multipliers[0] == pytest.approx(multiplier, rel=1e-14)


@pytest.mark.parametrize(
    ("loads", "maximum_time", "deadline", "fastest", "reason"),
    [
        ([SMALL, LARGE], 3.9, None, 4.0, "maximum_time 3.9 .* total time that can be kept is 4"),
        ([SMALL, LARGE, SMALL], 100.0, 2.0, 5.5, "epoch 2 .* deadline 2 .* that can be kept is 2.5"),
        ([SMALL, LARGE], 4.0 * (1 - 1.1e-9), None, 4.0, "maximum_time"),
        ([IDLE], 0.24, None, 0.25, "maximum_time"),
        ([IDLE], None, 0.24, 0.25, "round deadline"),
    ],
)
def test_what_cannot_be_kept_is_said_with_the_nearest_that_can(
    loads, maximum_time, deadline, fastest, reason
):
    found = allocate(loads, maximum_time, deadline)
    assert (found.feasible, found.cost, found.time, found.fastest_time) == (False, math.inf, fastest, fastest)
    assert found.multiplier == 0.0
    assert found.fastest_epoch == max(a.communication + a.work / a.capacity for a in loads)
    assert found.resources.tolist() == [a.capacity if a.work else 0 for a in loads]
    assert re.search(reason, found.reason)


ONE = np.array([[1]])


@pytest.mark.parametrize(
    ("call", "given", "where"),
    [
        *((allocate, ([SMALL], limit, None), "maximum_time: must be a nonneg") for limit in (-1, math.nan)),
        *((allocate, ([SMALL], 1, limit), "round_deadline: must be a nonneg") for limit in (-1, math.nan)),
        (dual_bound, ([SMALL], 1.0, -1.0, None), "maximum_time: must be a nonnegative"),
        *((allocate, ([SMALL], none, none), "nothing limits time") for none in (None, math.inf)),
        (allocate_counts, ([SMALL], ONE, None, None), "nothing limits time"),
        *((price, (SMALL, no, None), "multiplier: must be a finite") for no in (-1, math.nan, math.inf)),
        (dual_bound, ([], -1.0, 1.0, None), "multiplier: must be a finite nonnegative"),
        (allocate_counts, ([SMALL, LARGE], ONE, 12, None), "counts: .* one column for each of 2"),
        (allocate_counts, ([SMALL], ONE[0], 12, None), "counts: .* one column for each of 1"),
        (allocate_counts, ([SMALL, LARGE], np.array([[1, -1]]), 12, None), "counts: must be whole numbers"),
        (allocate_counts, ([SMALL], 1.0 * ONE, 12, None), "counts: must be whole numbers"),
    ],
)
def test_what_is_no_limit_price_or_count_is_refused(call, given, where):
    assert re.search(where, str(refusal(call, *given)))


def test_where_nothing_clips_the_price_of_an_epoch_follows_from_its_root():
    """c = 8, kappa = 2: psi(9) = 2 sqrt(9 * 8 * 2) + 9 / 2."""
    load = Load(work=8.0, price=2.0, capacity=1e6, communication=0.5)
    assert root(load) == pytest.approx(4.0, rel=1e-15)
    assert price(load, 9.0, None) == pytest.approx(6 * root(load) + 4.5, rel=1e-15)


@pytest.mark.parametrize(
    ("load", "deadline", "least"),
    [
        (SMALL, 2.5, 2.0),
        (SMALL, None, 0.0),
        (SMALL, 0.4, math.inf),  # communication alone is too long
        (SMALL, 0.5, math.inf),  # and leaves no time for work
        (WAITING, 2.5, 0.0),
        (WAITING, 0.4, math.inf),
        (WAITING, 0.5, 0.0),
        (SMALL, 1.5, 4.0),
        (SMALL, 1.5 * (1 - 0.9e-9), 4.0),  # full resources may miss it by the time tolerance only
        (SMALL, 1.5 * (1 - 1.1e-9), math.inf),
        # tau = s + c / r on paper; in doubles c / (tau - s) exceeds r by 4.6e-12, and 24.09 / 3.3 exceeds 7.3
        (Load(work=1e-5, price=1.0, capacity=1.0, communication=0.9), 0.90001, 1.0),
        (Load(work=24.09, price=1.0, capacity=7.3, communication=0.0), 3.3, 7.3),
        (Load(work=0.0, price=1.0, capacity=7.3, communication=3.3), 3.3, 0.0),
    ],
)
def test_the_least_resources_finish_exactly_in_time(load, deadline, least):
    assert minimum_resources(load, deadline) == least
    assert EpochCosts.of([load], deadline).least[0] == least
    assert EpochCosts.of_arrays(*columns_of([load]), deadline).least[0] == least
    if deadline is not None:
        assert allocate([load], None, deadline).feasible == math.isfinite(least)


# --- any plans at any scale ----------------------------------------------------------------------------


def slack_of_limits(plan, maximum_time, deadline):
    """By what share full resources keep both limits with the tolerance, or miss one of them (negative)."""
    times = [load.communication + load.work / load.capacity for load in plan]
    limits = [(math.fsum(times), maximum_time), *((time, deadline) for time in times)]
    return min(
        (limit * (1 + TIME_TOLERANCE) - time) / time for time, limit in limits if time and limit is not None
    )


@given(cases(), st.one_of(st.just(0.0), st.floats(0.99, 1.01), sizes(1e-12, 1e12)))
@settings(max_examples=100)
def test_at_any_scale_plans_are_optimal_alone_and_together_with_a_bound_that_is_tight_at_their_multiplier(
    case, factor
):
    loads, counts, maximum_time, deadline = case
    many = allocate_counts(loads, counts, maximum_time, deadline)
    for index, row in enumerate(counts):
        plan = epochs_of(loads, row)
        found, multiplier = allocate(plan, maximum_time, deadline), float(many.multipliers[index])
        slack = (
            slack_of_limits(plan, maximum_time, deadline)
            if any(load.work or load.communication for load in plan)
            else 1.0
        )
        assert abs(slack) < 1e-14 or found.feasible is (slack > 0)
        assert many.feasible[index] == found.feasible
        if not found.feasible:
            assert (many.costs[index], multiplier) == (math.inf, 0)
            assert many.times[index] == pytest.approx(found.fastest_time, rel=4 * EPS)
            continue
        assert_optimal(found, plan, maximum_time, deadline)
        # A rounding of T_max may move either answer, by the multiplier; at a corner a whole interval of
        # multipliers is optimal and the two may pick different ends, so compare what they prove.
        worth = 40 * EPS * (found.cost + max(found.multiplier, multiplier) * (maximum_time or 0.0))
        assert many.costs[index] == pytest.approx(found.cost, rel=0, abs=worth)
        assert many.times[index] == pytest.approx(found.time, rel=40 * EPS) or found.multiplier == 0
        excess = 0.0 if maximum_time is None else max(found.time - maximum_time, 0.0)
        assert maximum_time is None or many.times[index] <= maximum_time * (1 + 1e-9)
        for tight in (found.multiplier, multiplier):
            bound = dual_bound(plan, tight, maximum_time, deadline)
            assert bound == pytest.approx(found.cost, rel=0, abs=2 * worth + tight * excess)
        other = factor * (found.multiplier or 1.0)
        assert dual_bound(plan, other, maximum_time, deadline) <= found.cost + other * excess
        assert dual_bound(plan, other, None, deadline) <= found.cost


def test_without_a_time_row_only_the_multiplier_zero_says_anything():
    loads = [SMALL, LARGE]
    assert dual_bound(loads, 0.0, None, 3.5) == pytest.approx(allocate(loads, None, 3.5).cost, rel=1e-14)
    assert dual_bound(loads, 0.0, None, 3.5) < allocate(loads, None, 3.5).cost  # lowered by its rounding
    assert dual_bound(loads, 1.0, None, 3.5) == -math.inf
    assert dual_bound(loads, 3.0, 100.0, 2.0) == math.inf  # one cannot keep the deadline


def test_a_budget_missed_within_the_tolerance_costs_no_less_than_the_allowance_below_the_bound():
    loads, maximum_time = [SMALL, LARGE], 4.0 * (1 - 0.9e-9)
    found = allocate(loads, maximum_time, None)
    bound = dual_bound(loads, found.multiplier, maximum_time, None)
    assert found.cost < bound <= found.cost + found.multiplier * maximum_time * TIME_TOLERANCE


def test_full_resources_have_the_least_multiplier_of_the_kinds_that_are_used():
    # Full capacity is reached at lam = kappa r**2 / c: 4, 9, 0.04 and, for the kind that is not used, 1e6.
    greedy = Load(work=1.0, price=1.0, capacity=1e3, communication=0.0)
    alone = allocate_counts([CHEAP, greedy], np.array([[1, 0]]), 1.5 * (1 - 0.9e-9), None)
    assert alone.multipliers[0] == pytest.approx(0.04, rel=1e-15)
    for maximum_time in (4.0, 4.0 * (1 - 0.9e-9)):
        found = allocate_counts([SMALL, LARGE, greedy], np.array([[1, 1, 0], [1, 0, 0]]), maximum_time, None)
        assert found.multipliers[0] == 9.0
        assert found.costs[0] == 22.0
        assert found.multipliers[1] == allocate([SMALL], maximum_time, None).multiplier


@pytest.mark.parametrize(("taken", "wanted"), [(0.7, 0.7), (1.2, 0.2), (1.0, 0.4), (0.0, 1.4)])
def test_room_below_the_rounding_of_the_budget_does_not_speed_up_the_others(taken, wanted):
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


def test_working_in_pieces_changes_nothing(monkeypatch):
    """Plan by plan where not even one fits into the memory that is granted."""
    counts = np.random.default_rng(3).integers(0, 9, (1000, 3), dtype=np.uint8)
    whole = allocate_counts([SMALL, LARGE, IDLE], counts, 20.0, None)
    assert 0 < whole.feasible.sum() < 1000
    for granted in (100, 2):
        monkeypatch.setattr(allocation, "_NUMBERS_AT_ONCE", granted)
        pieces = allocate_counts([SMALL, LARGE, IDLE], counts, 20.0, None)
        for name in ("costs", "times", "multipliers", "feasible"):
            np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=1e-14)


# --- the price of one epoch ----------------------------------------------------------------------------


@given(
    st.lists(kinds(sizes(0.01, 100)), min_size=1, max_size=9),
    st.sampled_from([None, 2.0, 40.0]),
    st.sampled_from([0.0, 1e-3, 1.0, 700.0]),
)
def test_one_epoch_arrays_and_the_compiled_form_are_the_same(loads, deadline, multiplier):
    columns, curves = columns_of(loads), EpochCosts.of(loads, deadline)
    known = [price(load, multiplier, deadline) for load in loads]
    again, added = EpochCosts.of_arrays(*columns, deadline), np.ones(len(loads))
    add_prices(*columns, math.inf if deadline is None else deadline, multiplier, 3.0, added)
    np.testing.assert_array_equal(again.least, curves.least)
    np.testing.assert_array_equal(again.least, [minimum_resources(x, deadline) for x in loads])
    psi, times = curves.priced(multiplier)
    np.testing.assert_array_equal(psi, curves.prices(multiplier))
    np.testing.assert_array_equal(np.isinf(psi), curves.late)
    np.testing.assert_allclose(psi, known, rtol=ULPS)
    np.testing.assert_allclose(added, 1 + 3 * np.array(known), rtol=ULPS)
    rows = zip(*columns.tolist(), curves.least.tolist(), strict=True)
    alone = [epoch_costs.priced(*row, multiplier, epoch_costs.drive(multiplier, row[1])) for row in rows]
    np.testing.assert_allclose(times, [time for _, time in alone], rtol=ULPS)
    each = curves.priced(np.full(len(loads), multiplier))
    np.testing.assert_array_equal(each, (psi, times))


VANISHING = Load(work=1e-200, price=1e200, capacity=1.0, communication=0.5)


@pytest.mark.parametrize(
    ("load", "multiplier", "deadline", "psi", "time"),
    [
        (WAITING, 3.0, None, 1.5, 0.5),  # without work only waiting is paid
        (WAITING, 3.0, 0.5, 1.5, 0.5),
        (WAITING, 3.0, 0.4, math.inf, math.inf),
        (SMALL, 0.0, 2.5, 2.0, 2.5),  # at price 0 the least resources, and nothing without a deadline
        (SMALL, 0.0, None, 0.0, math.inf),
        (SMALL, 1.0, 1.4, math.inf, math.inf),
        (VANISHING, 1e-250, None, 0.5e-250, math.inf),
    ],
)
def test_prices_of_what_waits_is_late_or_gets_no_resources(load, multiplier, deadline, psi, time):
    assert price(load, multiplier, deadline) == psi
    curves = EpochCosts.of([load], deadline)
    assert [float(part[0]) for part in curves.priced(multiplier)] == [psi, time]
    assert curves.fastest[0] == (
        math.inf if psi == math.inf else load.communication + load.work / load.capacity
    )
