"""What an epoch costs at a price of time, the resources of a plan, of many plans at once, and the dual bound.

Against exact fractions, bisection in 50 digits, the optimality conditions, and one another.
"""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from depl.heuristics.bounds.kernels import add_prices
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem import allocation, epoch_costs
from depl.models.problem.allocation import Allocation, allocate, allocate_counts, dual_bound
from depl.models.problem.epoch_costs import EpochCosts, minimum_resources, price, root
from depl.models.problem.epochs import Load
from tests.problems import refusal

EPS = float(np.finfo(float).eps)
ULPS = 8 * EPS
QUICK = settings(deadline=None, max_examples=60)

Case = tuple[list[Load], float, float | None]

# Kinds of epochs: work, price, capacity, communication. At full resources they take 1.5, 2.5 and 0.25.
SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
LARGE = Load(work=9.0, price=4.0, capacity=4.5, communication=0.5)
IDLE = Load(work=0.0, price=1.0, capacity=4.0, communication=0.25)
FREE = Load(work=2.0, price=0.0, capacity=4.0, communication=0.5)
WAITING = Load(work=0.0, price=1.0, capacity=4.0, communication=0.5)


def columns_of(loads: Sequence[Load]) -> np.ndarray:
    return np.array([(x.work, x.price, x.capacity, x.communication) for x in loads]).T.copy()


def sizes(least: float = 1e-8, greatest: float = 1e8) -> st.SearchStrategy[float]:
    return st.floats(math.log(least), math.log(greatest)).map(math.exp)


def kinds(size: st.SearchStrategy[float]) -> st.SearchStrategy[Load]:
    maybe_zero = st.one_of(size, size, size, st.just(0.0))
    return st.builds(Load, work=maybe_zero, price=maybe_zero, capacity=size, communication=maybe_zero)


def some_loads(least: float = 1e-8, greatest: float = 1e8, most: int = 6) -> st.SearchStrategy[list[Load]]:
    """Up to ``most`` epochs, some of them equal, some without work, some free of charge."""
    found = st.lists(kinds(sizes(least, greatest)), min_size=1, max_size=4)
    return found.flatmap(lambda some: st.lists(st.sampled_from(some), min_size=1, max_size=most))


def some_deadline(draw: st.DrawFn, loads: Sequence[Load]) -> float | None:
    """None, or one that every epoch can keep, often exactly."""
    longest = max(load.communication + load.work / load.capacity for load in loads)
    factor = draw(st.one_of(st.none(), st.just(1.0), st.floats(1, 1.01), st.floats(1, 100)))
    return None if factor is None or longest == 0 else longest * factor


@st.composite
def feasible_cases(draw: st.DrawFn, least: float = 1e-8, greatest: float = 1e8) -> Case:
    """Loads, T_max and tau that can be kept; T_max often lies on a breakpoint."""
    loads = draw(some_loads(least, greatest))
    deadline = some_deadline(draw, loads)
    fastest = total_time(loads, [load.capacity for load in loads])
    assume(fastest > 0)
    if draw(st.booleans()):
        factor = draw(st.one_of(st.just(1.0), st.floats(1, 1.001), st.floats(1, 1000)))
        return loads, fastest * factor, deadline
    corner = draw(st.sampled_from(loads))
    assume(corner.work > 0 and corner.price > 0)
    ends = [corner.capacity, minimum_resources(corner, deadline)]
    pace = draw(st.sampled_from(ends)) * math.sqrt(corner.price / corner.work)
    assume(pace > 0)
    time = total_time(loads, [at_pace(load, pace, deadline) for load in loads])
    return loads, max(time, fastest), deadline


def at_pace(load: Load, pace: float, deadline: float | None) -> float:
    if load.work == 0:
        return 0.0
    wanted = pace * math.sqrt(load.work / load.price) if load.price > 0 else math.inf
    return min(max(wanted, minimum_resources(load, deadline)), load.capacity)


def total_time(loads: Sequence[Load], resources: Sequence[float]) -> float:
    return math.fsum(
        load.communication + (load.work / x if load.work > 0 else 0.0)
        for load, x in zip(loads, resources, strict=True)
    )


def by_bisection(loads: Sequence[Load], maximum_time: float, deadline: float | None) -> list[Decimal]:
    """The optimal x by bisection on the logarithm of lam, in 50 digits; the budget must bind."""
    with localcontext(prec=50):
        budget = Decimal(maximum_time)

        def resources(multiplier: Decimal) -> list[Decimal]:
            chosen = []
            for load in loads:
                work, unit, full = Decimal(load.work), Decimal(load.price), Decimal(load.capacity)
                least = work / (Decimal(deadline) - Decimal(load.communication)) if deadline else Decimal(0)
                wanted = (multiplier * work / unit).sqrt() if unit else full
                chosen.append(min(max(wanted, least), full))
            return chosen

        low, high = Decimal("1e-40"), Decimal("1e40")
        for _ in range(200):
            middle = (low * high).sqrt()
            taken = sum(
                Decimal(a.communication) + Decimal(a.work) / x
                for a, x in zip(loads, resources(middle), strict=True)
            )
            low, high = (middle, high) if taken > budget else (low, middle)
        return resources(high)


def assert_optimal(
    found: Allocation, loads: Sequence[Load], maximum_time: float | None, deadline: float | None
) -> None:
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


def binding_case(seed: int) -> Case:
    """Eight epochs on three clusters under a budget that binds; every other seed has a deadline too."""
    rng = np.random.default_rng(seed)
    loads = random_loads(rng, 8)
    longest = max(a.communication + a.work / a.capacity for a in loads)
    deadline = float(longest * rng.uniform(1.05, 3)) if seed % 2 else None
    fastest = total_time(loads, [a.capacity for a in loads])
    slowest = total_time(loads, [minimum_resources(a, deadline) for a in loads]) if deadline else 5 * fastest
    return (
        loads,
        float(fastest + rng.uniform(0.1, 0.98) ** rng.choice([0.3, 4]) * (slowest - fastest)),
        deadline,
    )


def random_loads(rng: np.random.Generator, epochs: int) -> list[Load]:
    """Epochs of three clusters (capacity, price) and three models (communication), work by epoch."""
    capacity, unit = rng.lognormal(1, 0.7, 3), rng.lognormal(0, 1, 3)
    sent = rng.lognormal(-2, 1, 3)
    places, models = rng.integers(0, 3, epochs), rng.integers(0, 3, epochs)
    return [
        Load(float(rng.lognormal(0, 1)), float(unit[n]), float(capacity[n]), float(sent[m]))
        for n, m in zip(places, models, strict=True)
    ]


# --- one plan by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loads", "maximum_time", "deadline", "resources", "multiplier"),
    [
        # roots 2, 2, 6; x = root / price * (10 / 8.5): (2.35, 2.35, 1.76), all below capacity
        ([SMALL, SMALL, LARGE], 10.0, None, [20 / 8.5, 20 / 8.5, 15 / 8.5], (10 / 8.5) ** 2),
        ([SMALL, LARGE], None, 3.5, [4 / 3, 3.0], 0.0),  # the least resources
        ([SMALL, LARGE], math.inf, 3.5, [4 / 3, 3.0], 0.0),
        ([SMALL, LARGE], 7.0, 3.5, [4 / 3, 3.0], 0.0),  # the deadline just keeps the budget
        # full capacity is reached at lam = kappa r**2 / c: 4 for the small epoch, 9 for the large one
        ([SMALL, LARGE], 4.0, None, [4.0, 4.5], 9.0),
        ([SMALL, LARGE], 4.0 * (1 - 0.9e-9), None, [4.0, 4.5], 9.0),  # missed by the tolerance
        # x = sqrt(lam) between the ends 1, 2 and 4, 8: from lam = 4 to 16 they take 6, whatever lam is
        ([Load(4.0, 4.0, 2.0, 0.0), Load(16.0, 16.0, 8.0, 0.0)], 6.0, 4.0, [2.0, 4.0], 4.0),
        ([], 5.0, 1.0, [], 0.0),
        ([], None, None, [], 0.0),
        ([IDLE], None, None, [0.0], 0.0),  # nothing to do, and it still communicates
        ([IDLE], 0.25, 0.25, [0.0], 0.0),
        ([FREE], 1.0, None, [4.0], 0.0),
        ([FREE], 100.0, 50.0, [4.0], 0.0),
        ([FREE, SMALL], 4.0, None, [4.0, 4 / 2.5], (2 / 2.5) ** 2),  # what it saves is left to what costs
    ],
)
def test_resources_and_the_price_of_time_by_hand(
    loads: list[Load],
    maximum_time: float | None,
    deadline: float | None,
    resources: list[float],
    multiplier: float,
) -> None:
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
        (
            [SMALL, LARGE],
            3.9,
            None,
            4.0,
            "the 2 epochs miss maximum_time 3.9 even with all resources; "
            "the nearest total time that can be kept is 4",
        ),
        (
            [SMALL, LARGE, SMALL],
            100.0,
            2.0,
            5.5,
            "epoch 2 misses the round deadline 2 even with all resources; "
            "the nearest deadline that can be kept is 2.5",
        ),
        ([SMALL, LARGE], 4.0 * (1 - 1.1e-9), None, 4.0, "miss maximum_time"),
        ([IDLE], 0.24, None, 0.25, "miss"),
        ([IDLE], None, 0.24, 0.25, "misses the round deadline"),
    ],
)
def test_what_cannot_be_kept_is_said_with_the_nearest_that_can(
    loads: list[Load], maximum_time: float | None, deadline: float | None, fastest: float, reason: str
) -> None:
    found = allocate(loads, maximum_time, deadline)
    assert (found.feasible, found.cost, found.time, found.fastest_time) == (False, math.inf, fastest, fastest)
    assert found.fastest_epoch == max(a.communication + a.work / a.capacity for a in loads)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("maximum_time", "deadline", "path"),
    [
        (-1.0, None, "maximum_time"),
        (math.nan, None, "maximum_time"),
        (1.0, -1.0, "round_deadline"),
        (1.0, math.nan, "round_deadline"),
    ],
)
def test_limits_that_are_no_times_are_refused(maximum_time: float, deadline: float | None, path: str) -> None:
    assert refusal(allocate, [SMALL], maximum_time, deadline).path == path
    assert refusal(dual_bound, [SMALL], 1.0, maximum_time, deadline).path == path


def test_priced_work_without_any_limit_is_refused() -> None:
    for limits in ((None, None), (math.inf, math.inf)):
        assert "nothing limits time" in refusal(allocate, [SMALL], *limits).message
        assert "nothing limits time" in refusal(allocate_counts, [SMALL], np.array([[1]]), *limits).message


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
def test_the_least_resources_finish_exactly_in_time(load: Load, deadline: float | None, least: float) -> None:
    assert minimum_resources(load, deadline) == least
    assert EpochCosts.of([load], deadline).least[0] == least
    assert EpochCosts.of_arrays(*columns_of([load]), deadline).least[0] == least
    if deadline is not None:
        assert allocate([load], None, deadline).feasible == math.isfinite(least)


# --- one plan against independent solvers --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(16))
def test_resources_agree_with_bisection_in_50_digits(seed: int) -> None:
    loads, maximum_time, deadline = binding_case(seed)
    found = allocate(loads, maximum_time, deadline)
    expected = [float(x) for x in by_bisection(loads, maximum_time, deadline)]
    np.testing.assert_allclose(found.resources, expected, rtol=1e-12)
    assert found.multiplier > 0


@given(some_loads(), st.floats(0.5, 2), st.floats(0.5, 2))
@QUICK
def test_infeasible_exactly_when_one_of_four_conditions_holds(
    loads: list[Load], of_time: float, of_deadline: float
) -> None:
    shortest = [a.communication + a.work / a.capacity for a in loads]
    maximum_time, deadline = math.fsum(shortest) * of_time, max(shortest) * of_deadline
    assume(deadline > 0)
    assume(abs(of_time - 1) > 1e-8 and abs(of_deadline - 1) > 1e-8)  # outside the tolerances
    fails = (
        any(a.communication > deadline for a in loads)
        or any(a.communication == deadline and a.work > 0 for a in loads)
        or any(a.work > a.capacity * (deadline - a.communication) for a in loads)
        or math.fsum(shortest) > maximum_time
    )
    found = allocate(loads, maximum_time, deadline)
    assert found.feasible is not fails
    assert bool(found.reason) is fails
    assert (found.cost == math.inf) is fails


def test_a_binding_budget_is_never_exceeded_by_more_than_the_tolerance() -> None:
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(400):
        loads = [Load(*(10.0 ** rng.uniform(-8, 8, 4))) for _ in range(rng.integers(1, 12))]
        maximum_time = total_time(loads, [a.capacity for a in loads]) * (1 + 10.0 ** rng.uniform(-16, 3))
        found = allocate(loads, maximum_time, None)
        assert found.feasible
        assert found.multiplier > 0
        assert all(x <= a.capacity for a, x in zip(loads, found.resources, strict=True))
        worst = max(worst, total_time(loads, found.resources.tolist()) / maximum_time - 1)
    assert worst < 1e-14


# --- the price form: weak duality at any multiplier, strong duality at the optimal one ------------------


def test_an_epoch_that_cannot_keep_the_deadline_has_no_finite_price() -> None:
    assert price(SMALL, 3.0, 1.0) == math.inf
    assert dual_bound([LARGE, SMALL], 3.0, 100.0, 2.0) == math.inf


@given(feasible_cases(), st.one_of(st.just(0.0), st.floats(0.99, 1.01), sizes(1e-12, 1e12)))
@QUICK
def test_at_any_scale_resources_are_optimal_and_the_bound_is_below_them_and_tight_at_their_multiplier(
    case: Case, factor: float
) -> None:
    loads, maximum_time, deadline = case
    found = allocate(loads, maximum_time, deadline)
    assert_optimal(found, loads, maximum_time, deadline)
    multiplier = factor * (found.multiplier or 1.0)
    excess = max(found.time - maximum_time, 0.0)  # roundings of the plan itself
    assert dual_bound(loads, multiplier, maximum_time, deadline) <= found.cost + multiplier * excess
    assert dual_bound(loads, multiplier, None, deadline) <= found.cost
    bound = dual_bound(loads, found.multiplier, maximum_time, deadline)
    scale = found.cost + found.multiplier * maximum_time
    assert bound == pytest.approx(found.cost, rel=0, abs=40 * EPS * scale)


def test_without_a_time_row_only_the_multiplier_zero_says_anything() -> None:
    loads = [SMALL, LARGE]
    assert dual_bound(loads, 0.0, None, 3.5) == pytest.approx(allocate(loads, None, 3.5).cost, rel=1e-14)
    assert dual_bound(loads, 1.0, None, 3.5) == -math.inf


def test_a_budget_missed_within_the_tolerance_costs_no_less_than_the_stated_allowance_below_the_bound() -> (
    None
):
    loads, maximum_time = [SMALL, LARGE], 4.0 * (1 - 0.9e-9)
    found = allocate(loads, maximum_time, None)
    bound = dual_bound(loads, found.multiplier, maximum_time, None)
    assert found.cost < bound <= found.cost + found.multiplier * maximum_time * TIME_TOLERANCE


@pytest.mark.parametrize("multiplier", [-1.0, math.nan, math.inf])
def test_multipliers_that_are_no_prices_are_refused(multiplier: float) -> None:
    for error in (
        refusal(price, SMALL, multiplier, None),
        refusal(dual_bound, [], multiplier, 1.0, None),
    ):
        assert "multiplier" in str(error)
        assert "finite nonnegative" in error.message


# --- many plans at once --------------------------------------------------------------------------------


Family = tuple[list[Load], np.ndarray, float | None, float | None]


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Kinds of epochs, plans, T_max and tau; limits may be out of reach, or at a corner."""
    loads = draw(st.lists(kinds(sizes()), min_size=1, max_size=4))
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


def epochs_of(loads: Sequence[Load], row: np.ndarray) -> list[Load]:
    return [load for load, count in zip(loads, row.tolist(), strict=True) for _ in range(count)]


@given(families())
@QUICK
def test_every_plan_gets_what_it_would_get_alone(family: Family) -> None:
    loads, counts, maximum_time, deadline = family
    found = allocate_counts(loads, counts, maximum_time, deadline)
    for index, row in enumerate(counts):
        plan = epochs_of(loads, row)
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
    ids=["columns", "flat", "negative", "floats"],
)
def test_counts_that_count_nothing_are_refused(counts: np.ndarray, message: str) -> None:
    assert message in refusal(allocate_counts, [SMALL, LARGE], counts, 12.0, None).message


# --- the price of one epoch ----------------------------------------------------------------------------


def some_load(rng: np.random.Generator) -> Load:
    """Sizes from a hundredth to a hundred; each of work, price and communication is 0 at times."""
    sizes = np.exp(rng.uniform(-4.6, 4.6, 4))
    sizes[[0, 1, 3]] *= rng.random(3) > 0.1
    return Load(*sizes.tolist())


def a_deadline(rng: np.random.Generator, load: Load) -> float | None:
    """None, or from just too short to five times the shortest time, and now and then exactly that."""
    shortest = load.communication + load.work / load.capacity
    return [None, shortest, float(shortest * rng.uniform(0.9, 1.3)), float(shortest * rng.uniform(1, 5))][
        rng.integers(4)
    ]


def drawn(seed: int, count: int) -> list[tuple[Load, float | None, float]]:
    """Loads, deadlines and prices of time."""
    rng = np.random.default_rng(seed)
    loads = [some_load(rng) for _ in range(count)]
    return [(x, a_deadline(rng, x), float(np.exp(rng.uniform(-9, 9)))) for x in loads]


def exact_psi(
    load: tuple[Fraction, ...], pace: Fraction, deadline: Fraction | None
) -> tuple[Fraction, Fraction]:
    """psi and the time, in rational arithmetic, of an epoch that is not late; c and kappa are squares.

    Of the three points at which a convex function on an interval can be least, the allowed one of least cost;
    there the derivative is 0, or points out of the interval.
    """
    work, unit_price, capacity, communication = load
    least = Fraction(0) if deadline is None else work / (deadline - communication)
    free = pace * Fraction(math.isqrt(work.numerator)) / Fraction(math.isqrt(unit_price.numerator))
    points = [x for x in (least, free, capacity) if least <= x <= capacity and x > 0]

    def cost(x: Fraction) -> Fraction:
        return unit_price * x + pace * pace * (work / x + communication)

    best = min(points, key=cost)
    rise = unit_price - pace * pace * work / best**2
    assert rise == 0 or (rise > 0 and best == least) or (rise < 0 and best == capacity)
    return cost(best), work / best + communication


@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 40), st.integers(0, 9)),
    st.integers(1, 640),
    st.one_of(st.none(), st.integers(1, 64)),
)
@QUICK
def test_where_the_roots_are_rational_psi_and_its_slope_are_exact(
    whole: tuple[int, int, int, int], steps: int, later: int | None
) -> None:
    pace = Fraction(steps, 64)
    load = tuple(map(Fraction, (whole[0] ** 2, whole[1] ** 2, *whole[2:])))
    shortest = load[0] / load[2] + load[3]
    deadline = None if later is None else Fraction(math.ceil(shortest * 8) + later, 8)
    psi, time = exact_psi(load, pace, deadline)
    limit = None if deadline is None else float(deadline)
    item = Load(*map(float, load))
    assert price(item, float(pace) ** 2, limit) == pytest.approx(float(psi), rel=ULPS)
    found = EpochCosts.of([item], limit).priced(float(pace) ** 2)
    assert [float(part[0]) for part in found] == pytest.approx([float(psi), float(time)], rel=ULPS)


def test_one_epoch_arrays_and_the_compiled_form_are_the_same() -> None:
    cases = drawn(2, 100)
    late = 0
    for deadline, multiplier in itertools.product([None, 2.0, 40.0], [0.0, 1e-3, 1.0, 700.0]):
        loads = [load for load, _, _ in cases]
        known = [price(load, multiplier, deadline) for load in loads]
        columns = columns_of(loads)
        curves = EpochCosts.of(loads, deadline)
        again = EpochCosts.of_arrays(*columns, deadline)
        limit = math.inf if deadline is None else deadline
        added = np.ones(len(loads))
        add_prices(*columns, limit, multiplier, 3.0, added)
        np.testing.assert_array_equal(again.least, curves.least)
        np.testing.assert_array_equal(again.least, [minimum_resources(x, deadline) for x in loads])
        np.testing.assert_array_equal(again.prices(multiplier), curves.prices(multiplier))
        np.testing.assert_allclose(curves.prices(multiplier), known, rtol=ULPS)
        np.testing.assert_allclose(added, 1 + 3 * np.array(known), rtol=ULPS)
        psi, times = curves.priced(multiplier)
        np.testing.assert_array_equal(psi, curves.prices(multiplier))
        np.testing.assert_array_equal(np.isinf(psi), curves.late)
        rows = zip(*columns.tolist(), curves.least.tolist(), strict=True)
        alone = [epoch_costs.priced(*row, multiplier, epoch_costs.drive(multiplier, row[1])) for row in rows]
        np.testing.assert_allclose(times, [time for _, time in alone], rtol=ULPS)
        late += int(curves.late.sum())
    assert late > 30


def test_a_price_for_each_column_is_that_price() -> None:
    rng = np.random.default_rng(3)
    work, price_of_each, capacity = rng.uniform(1, 9, (3, 4)), rng.uniform(1, 9, 4), rng.uniform(1, 9, 4)
    curves = EpochCosts.of_arrays(work, price_of_each, capacity, rng.uniform(0, 1, (3, 4)), 8.0)
    multipliers = np.array([0.0, 0.1, 1.0, 50.0])
    psi, times = curves.priced(multipliers)
    for n, multiplier in enumerate(multipliers.tolist()):
        one, when = curves.priced(multiplier)
        np.testing.assert_array_equal(psi[:, n], one[:, n])
        np.testing.assert_array_equal(times[:, n], when[:, n])


def test_resources_leave_the_least_at_the_start_and_are_full_from_the_end_on() -> None:
    moved = 0
    for load, deadline, _ in drawn(4, 300):
        curves = EpochCosts.of([load], deadline)
        start, end = float(curves.start[0]), float(curves.end[0])
        if curves.late[0] or load.work == 0 or load.price == 0:
            assert start == end == 0
            continue
        assert curves.resources(start)[0] == pytest.approx(curves.least[0], rel=1e-14)
        assert curves.resources(end)[0] == curves.resources(math.nextafter(end, math.inf))[0] == load.capacity
        middle = (start + end) / 2
        if end > start * 1.01:
            assert curves.least[0] < curves.resources(middle)[0] < load.capacity
            assert curves.durations(curves.resources(middle))[0] == pytest.approx(
                load.communication + root(load) / middle, rel=1e-14
            )
            moved += 1
    assert moved > 100


def test_without_work_only_waiting_is_paid() -> None:
    assert price(WAITING, 3.0, None) == 1.5
    assert price(WAITING, 3.0, 0.5) == 1.5
    assert price(WAITING, 3.0, 0.4) == math.inf
    assert EpochCosts.of([WAITING], 0.5).resources(7.0)[0] == 0.0


def test_at_price_0_the_least_resources_are_paid_and_without_a_deadline_nothing() -> None:
    assert price(SMALL, 0.0, 2.5) == 2.0
    assert price(SMALL, 0.0, None) == 0.0
    psi, times = EpochCosts.of([SMALL], None).priced(0.0)
    assert (psi[0], times[0]) == (0.0, math.inf)


def test_a_price_so_small_that_resources_vanish_costs_the_waiting_at_most() -> None:
    load = Load(work=1e-200, price=1e200, capacity=1.0, communication=0.5)
    assert price(load, 1e-250, None) == 0.5e-250
    psi, times = EpochCosts.of([load], None).priced(1e-250)
    assert (psi[0], times[0]) == (0.5e-250, math.inf)


def test_a_late_epoch_has_full_resources_and_no_price() -> None:
    curves = EpochCosts.of([SMALL, SMALL, WAITING], 1.4)
    np.testing.assert_array_equal(curves.late, [True, True, False])
    np.testing.assert_array_equal(curves.resources(0.1), [4.0, 4.0, 0.0])
    np.testing.assert_array_equal(curves.prices(1.0), [math.inf, math.inf, 0.5])
    np.testing.assert_array_equal(curves.fastest, [math.inf, math.inf, 0.5])
    np.testing.assert_array_equal(curves.shortest, [1.5, 1.5, 0.5])
