"""The price form of the allocation: weak duality at any multiplier, strong duality at the optimal one."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import allocate, dual_bound
from depl.models.problem.epoch_costs import minimum_resources, price
from depl.models.problem.epochs import Load

EPS = float(np.finfo(float).eps)
QUICK = settings(deadline=None, max_examples=200)

# Two kinds of epochs that take 1.5 and 2.5 at full resources.
SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
LARGE = Load(work=9.0, price=4.0, capacity=4.5, communication=0.5)


def sizes(least: float, greatest: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(least), math.log(greatest)).map(math.exp)


def some_loads(least: float, greatest: float) -> st.SearchStrategy[Load]:
    size = sizes(least, greatest)
    maybe_zero = st.one_of(size, size, size, st.just(0.0))
    return st.builds(Load, work=maybe_zero, price=maybe_zero, capacity=size, communication=maybe_zero)


@st.composite
def feasible_cases(draw: st.DrawFn) -> tuple[list[Load], float, float | None]:
    """Loads, T_max and tau that can be kept, at scales from 1e-8 to 1e8 and often exactly."""
    loads = draw(st.lists(some_loads(1e-8, 1e8), min_size=1, max_size=6))
    shortest = [load.communication + load.work / load.capacity for load in loads]
    assume(max(shortest) > 0)
    looser = st.one_of(st.just(1.0), st.floats(1, 1.001), st.floats(1, 1000))
    deadline = max(shortest) * draw(looser) if draw(st.booleans()) else None
    return loads, math.fsum(shortest) * draw(looser), deadline


def test_unclipped_price_is_twice_the_root() -> None:
    # 2 sqrt(lam c kappa) + lam s
    assert price(LARGE, 0.25, None) == pytest.approx(2 * math.sqrt(0.25 * 36) + 0.125, rel=1e-15)


def test_clipped_prices_are_those_of_the_ends() -> None:
    assert price(SMALL, 100.0, None) == 4.0 + 100.0 * 1.5
    assert price(SMALL, 0.01, 2.5) == pytest.approx(2.0 + 0.01 * 2.5, rel=1e-15)
    assert price(SMALL, 0.0, 2.5) == 2.0
    assert price(SMALL, 0.0, None) == 0.0


def test_epochs_without_choice_pay_for_their_time_alone() -> None:
    assert price(Load(0.0, 5.0, 2.0, 0.5), 3.0, None) == 1.5
    assert price(Load(2.0, 0.0, 2.0, 0.5), 3.0, 10.0) == 4.5


def test_an_epoch_that_cannot_keep_the_deadline_has_no_finite_price() -> None:
    assert price(SMALL, 3.0, 1.0) == math.inf
    assert dual_bound([LARGE, SMALL], 3.0, 100.0, 2.0) == math.inf


def test_a_plan_without_epochs_saves_all_of_the_time() -> None:
    assert dual_bound([], 2.0, 5.0, None) == pytest.approx(-10.0, rel=1e-14)
    assert dual_bound([], 0.0, 5.0, None) == dual_bound([], 0.0, None, None) == 0.0


@given(some_loads(1e-3, 1e3), sizes(1e-4, 1e4), st.floats(0, 1), st.booleans())
@QUICK
def test_no_allowed_resources_are_cheaper_than_the_price(
    load: Load, multiplier: float, share: float, hurried: bool
) -> None:
    assume(load.work > 0)
    deadline = 2 * (load.communication + load.work / load.capacity) if hurried else None
    least = minimum_resources(load, deadline) or load.capacity * 1e-9
    x = least ** (1 - share) * load.capacity**share
    value = load.price * x + multiplier * (load.work / x + load.communication)
    assert price(load, multiplier, deadline) <= value * (1 + 1e-14)


@given(feasible_cases(), st.one_of(st.just(0.0), st.floats(0.99, 1.01), sizes(1e-12, 1e12)))
@QUICK
def test_the_bound_is_below_the_cost_at_any_multiplier(
    case: tuple[list[Load], float, float | None], factor: float
) -> None:
    loads, maximum_time, deadline = case
    found = allocate(loads, maximum_time, deadline)
    multiplier = factor * (found.multiplier or 1.0)
    excess = max(found.time - maximum_time, 0.0)  # roundings of the plan itself
    assert dual_bound(loads, multiplier, maximum_time, deadline) <= found.cost + multiplier * excess
    assert dual_bound(loads, multiplier, None, deadline) <= found.cost


@given(feasible_cases())
@QUICK
def test_the_bound_is_tight_at_the_optimal_multiplier(case: tuple[list[Load], float, float | None]) -> None:
    loads, maximum_time, deadline = case
    found = allocate(loads, maximum_time, deadline)
    bound = dual_bound(loads, found.multiplier, maximum_time, deadline)
    scale = found.cost + found.multiplier * maximum_time
    assert bound == pytest.approx(found.cost, rel=0, abs=40 * EPS * scale)


def test_no_other_multiplier_bounds_better() -> None:
    loads = [SMALL, SMALL, LARGE]
    best = dual_bound(loads, allocate(loads, 7.0, 3.0).multiplier, 7.0, 3.0)
    for multiplier in np.geomspace(0.01, 100, 401):
        assert dual_bound(loads, float(multiplier), 7.0, 3.0) <= best * (1 + 1e-14)


def test_without_a_time_row_only_the_multiplier_zero_says_anything() -> None:
    loads = [SMALL, LARGE]
    assert dual_bound(loads, 0.0, None, 3.5) == pytest.approx(allocate(loads, None, 3.5).cost, rel=1e-14)
    assert dual_bound(loads, 1.0, None, 3.5) == -math.inf


def test_the_bound_of_an_infeasible_budget_grows_without_limit() -> None:
    assert dual_bound([SMALL, LARGE], 1e9, 3.9, None) > 1e7


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
