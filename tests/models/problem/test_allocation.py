"""The closed form for x against bisection in 50 digits and the optimality conditions, and its dual."""

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation, allocate, allocate_counts, dual_bound
from depl.models.problem.epoch_costs import minimum_resources, price
from depl.models.problem.epochs import Load

EPS = float(np.finfo(float).eps)
QUICK = settings(deadline=None, max_examples=60)

Case = tuple[list[Load], float, float | None]

# Two kinds of epochs: work, price, capacity, communication. At full resources they take 1.5 and 2.5.
SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
LARGE = Load(work=9.0, price=4.0, capacity=4.5, communication=0.5)


def sizes(least: float = 1e-8, greatest: float = 1e8) -> st.SearchStrategy[float]:
    return st.floats(math.log(least), math.log(greatest)).map(math.exp)


def some_loads(least: float = 1e-8, greatest: float = 1e8, most: int = 6) -> st.SearchStrategy[list[Load]]:
    """Up to ``most`` epochs, some of them equal, some without work, some free of charge."""
    size = sizes(least, greatest)
    maybe_zero = st.one_of(size, size, size, st.just(0.0))
    kind = st.builds(Load, work=maybe_zero, price=maybe_zero, capacity=size, communication=maybe_zero)
    kinds = st.lists(kind, min_size=1, max_size=4)
    return kinds.flatmap(lambda found: st.lists(st.sampled_from(found), min_size=1, max_size=most))


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
        return (
            loads,
            fastest * draw(st.one_of(st.just(1.0), st.floats(1, 1.001), st.floats(1, 1000))),
            deadline,
        )
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


def test_without_clipping_the_cost_is_the_square_of_the_summed_roots() -> None:
    loads = [SMALL, SMALL, LARGE]
    # roots 2, 2, 6; x = root / price * (10 / 8.5): (2.35, 2.35, 1.76), all below capacity.
    found = allocate(loads, 10.0, None)
    assert found.cost == pytest.approx(10.0**2 / 8.5, rel=1e-15)
    assert found.multiplier == pytest.approx((10 / 8.5) ** 2, rel=1e-15)
    np.testing.assert_allclose(found.resources, np.array([2.0, 2.0, 1.5]) * 10 / 8.5, rtol=1e-15)
    assert found.time == pytest.approx(10.0, rel=1e-15)


def test_a_round_deadline_alone_sets_the_least_resources() -> None:
    found = allocate([SMALL, LARGE], None, 3.5)
    np.testing.assert_array_equal(found.resources, [4 / 3, 3.0])
    assert (found.cost, found.time, found.multiplier) == (4 / 3 + 12, 7.0, 0.0)


def test_a_budget_that_full_resources_just_keep_has_the_least_of_its_multipliers() -> None:
    # Full capacity is reached at lam = kappa r**2 / c: 4 for the small epoch, 9 for the large one.
    found = allocate([SMALL, LARGE], 4.0, None)
    np.testing.assert_array_equal(found.resources, [4.0, 4.5])
    assert found.multiplier == 9.0


def test_a_budget_that_the_deadline_just_keeps_has_no_price() -> None:
    assert allocate([SMALL, LARGE], 7.0, 3.5).multiplier == 0.0


def test_a_budget_that_holds_between_two_multipliers_has_the_lesser_of_them() -> None:
    """Both epochs have x = sqrt(lam) between their ends: 1 to 2 for one, 4 to 8 for the other.

    From lam = 4 to 16 they take 4 / 2 + 16 / 4 = 6, whatever lam is.
    """
    first, second = Load(4.0, 4.0, 2.0, 0.0), Load(16.0, 16.0, 8.0, 0.0)
    found = allocate([first, second], 6.0, 4.0)
    assert (found.resources.tolist(), found.multiplier) == ([2.0, 4.0], 4.0)
    both = allocate_counts([first, second], np.array([[1, 1]]), 6.0, 4.0)
    assert (both.costs.tolist(), both.multipliers.tolist()) == ([found.cost], [4.0])


def test_a_plan_without_epochs_costs_and_takes_nothing() -> None:
    for limits in [(None, None), (0.0, None), (5.0, 1.0)]:
        found = allocate([], *limits)
        assert (found.cost, found.time, found.multiplier, found.feasible) == (0.0, 0.0, 0.0, True)
        assert found.resources.shape == (0,)
        assert (found.fastest_time, found.fastest_epoch) == (0.0, 0.0)


def test_an_epoch_without_work_gets_nothing_and_still_communicates() -> None:
    idle = Load(work=0.0, price=3.0, capacity=2.0, communication=0.75)
    for limits in [(None, None), (0.75, None), (None, 0.75), (1.0, 0.8)]:
        found = allocate([idle], *limits)
        assert found.feasible
        assert (found.resources[0], found.cost, found.time) == (0.0, 0.0, 0.75)
    assert not allocate([idle], None, 0.74).feasible
    assert not allocate([idle], 0.74, None).feasible


def test_an_epoch_free_of_charge_runs_at_full_capacity() -> None:
    free = Load(work=2.0, price=0.0, capacity=4.0, communication=0.5)
    for limits in [(None, None), (1.0, None), (100.0, 50.0), (None, 1.0)]:
        found = allocate([free], *limits)
        assert (found.resources[0], found.cost, found.time, found.multiplier) == (4.0, 0.0, 1.0, 0.0)
    # What it saves is left to the epoch that costs.
    assert allocate([free, SMALL], 4.0, None).resources[1] == pytest.approx(4 / 2.5, rel=1e-15)


def test_infinite_limits_are_no_limits() -> None:
    found = allocate([SMALL, LARGE], math.inf, 3.5)
    np.testing.assert_array_equal(found.resources, allocate([SMALL, LARGE], None, 3.5).resources)
    assert allocate([SMALL], 9.0, math.inf).cost == allocate([SMALL], 9.0, None).cost


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
    for refuse in (
        lambda: allocate([SMALL], maximum_time, deadline),
        lambda: dual_bound([SMALL], 1.0, maximum_time, deadline),
    ):
        with pytest.raises(InvalidInputError) as caught:
            refuse()
        assert caught.value.path == path


def test_priced_work_without_any_limit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="nothing limits time"):
        allocate([SMALL], None, None)
    with pytest.raises(InvalidInputError, match="nothing limits time"):
        allocate([SMALL], math.inf, math.inf)


class TestTheRoundDeadline:
    def test_least_resources_finish_exactly_in_time(self) -> None:
        assert minimum_resources(SMALL, 2.5) == 2.0
        assert minimum_resources(SMALL, None) == 0.0
        assert minimum_resources(replace(SMALL, work=0.0), 2.5) == 0.0

    def test_communication_alone_may_be_too_long(self) -> None:
        assert minimum_resources(SMALL, 0.4) == math.inf
        assert minimum_resources(replace(SMALL, work=0.0), 0.4) == math.inf

    def test_communication_that_fills_the_round_leaves_no_time_for_work(self) -> None:
        assert minimum_resources(SMALL, 0.5) == math.inf
        assert minimum_resources(replace(SMALL, work=0.0), 0.5) == 0.0

    def test_full_resources_may_miss_it_by_the_time_tolerance_only(self) -> None:
        assert minimum_resources(SMALL, 1.5) == 4.0
        assert minimum_resources(SMALL, 1.5 * (1 - 0.9e-9)) == 4.0
        assert minimum_resources(SMALL, 1.5 * (1 - 1.1e-9)) == math.inf

    def test_a_deadline_that_is_just_reachable_survives_the_rounding_of_a_small_difference(self) -> None:
        # tau = s + c / r on paper; in doubles c / (tau - s) exceeds r by 4.6e-12.
        load = Load(work=1e-5, price=1.0, capacity=1.0, communication=0.9)
        deadline = 0.90001
        assert load.work / (deadline - load.communication) > load.capacity * (1 + 1e-12)
        assert minimum_resources(load, deadline) == load.capacity
        assert allocate([load], None, deadline).feasible


class TestAgainstIndependentSolvers:
    @pytest.mark.parametrize("seed", range(40))
    def test_resources_agree_with_bisection_in_50_digits(self, seed: int) -> None:
        loads, maximum_time, deadline = binding_case(seed)
        found = allocate(loads, maximum_time, deadline)
        expected = [float(x) for x in by_bisection(loads, maximum_time, deadline)]
        np.testing.assert_allclose(found.resources, expected, rtol=1e-12)
        assert found.multiplier > 0

    @given(feasible_cases())
    @QUICK
    def test_at_any_scale_resources_are_those_of_a_budget_that_is_off_by_roundings_only(
        self, case: Case
    ) -> None:
        loads, maximum_time, deadline = case
        assert_optimal(allocate(loads, maximum_time, deadline), loads, maximum_time, deadline)


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


class TestFeasibility:
    def test_missing_the_total_time_names_the_nearest_one(self) -> None:
        found = allocate([SMALL, LARGE], 3.9, None)
        assert not found.feasible
        assert found.cost == math.inf
        assert found.time == found.fastest_time == 4.0
        assert found.reason == (
            "the 2 epochs miss maximum_time 3.9 even with all resources; "
            "the nearest total time that can be kept is 4"
        )

    def test_missing_the_deadline_names_the_epoch_and_the_nearest_one(self) -> None:
        found = allocate([SMALL, LARGE, SMALL], 100.0, 2.0)
        assert not found.feasible
        assert found.cost == math.inf
        assert found.fastest_epoch == 2.5
        assert found.reason == (
            "epoch 2 misses the round deadline 2 even with all resources; "
            "the nearest deadline that can be kept is 2.5"
        )

    def test_full_resources_may_miss_the_budget_by_the_tolerance_only(self) -> None:
        found = allocate([SMALL, LARGE], 4.0 * (1 - 0.9e-9), None)
        assert found.feasible
        np.testing.assert_array_equal(found.resources, [4.0, 4.5])
        assert not allocate([SMALL, LARGE], 4.0 * (1 - 1.1e-9), None).feasible

    @given(some_loads(), st.floats(0.5, 2), st.floats(0.5, 2))
    @QUICK
    def test_infeasible_exactly_when_one_of_four_conditions_holds(
        self, loads: list[Load], of_time: float, of_deadline: float
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

    def test_a_binding_budget_is_never_exceeded_by_more_than_the_tolerance(self) -> None:
        rng = np.random.default_rng(7)
        worst = 0.0
        for _ in range(2000):
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


@given(some_loads(1e-3, 1e3, most=1), sizes(1e-4, 1e4), st.floats(0, 1), st.booleans())
@QUICK
def test_no_allowed_resources_are_cheaper_than_the_price(
    loads: list[Load], multiplier: float, share: float, hurried: bool
) -> None:
    load = loads[0]
    assume(load.work > 0)
    deadline = 2 * (load.communication + load.work / load.capacity) if hurried else None
    least = minimum_resources(load, deadline) or load.capacity * 1e-9
    x = least ** (1 - share) * load.capacity**share
    value = load.price * x + multiplier * (load.work / x + load.communication)
    assert price(load, multiplier, deadline) <= value * (1 + 1e-14)


@given(feasible_cases(), st.one_of(st.just(0.0), st.floats(0.99, 1.01), sizes(1e-12, 1e12)))
@QUICK
def test_the_bound_is_below_the_cost_at_any_multiplier(case: Case, factor: float) -> None:
    loads, maximum_time, deadline = case
    found = allocate(loads, maximum_time, deadline)
    multiplier = factor * (found.multiplier or 1.0)
    excess = max(found.time - maximum_time, 0.0)  # roundings of the plan itself
    assert dual_bound(loads, multiplier, maximum_time, deadline) <= found.cost + multiplier * excess
    assert dual_bound(loads, multiplier, None, deadline) <= found.cost


@given(feasible_cases())
@QUICK
def test_the_bound_is_tight_at_the_optimal_multiplier(case: Case) -> None:
    loads, maximum_time, deadline = case
    found = allocate(loads, maximum_time, deadline)
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
    with pytest.raises(InvalidInputError, match="finite nonnegative"):
        price(SMALL, multiplier, None)
    with pytest.raises(InvalidInputError, match="finite nonnegative"):
        dual_bound([], multiplier, 1.0, None)
