"""What an epoch costs at a price of time: against a minimiser, exact fractions, and in its three forms."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.heuristics.bounds.kernels import add_prices
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem import epoch_costs
from depl.models.problem.epoch_costs import EpochCosts, minimum_resources, price, root
from depl.models.problem.epochs import Load

ROOT = Path(__file__).resolve().parents[3]
QUICK = settings(deadline=None, max_examples=200)
ULPS = 8 * float(np.finfo(float).eps)

SMALL = Load(work=4.0, price=1.0, capacity=4.0, communication=0.5)
NOTHING = Load(work=0.0, price=1.0, capacity=4.0, communication=0.5)


def some_load(rng: np.random.Generator) -> Load:
    """Sizes from a hundredth to a hundred; each of work, price and communication is 0 at times."""
    sizes = np.exp(rng.uniform(-4.6, 4.6, 4))
    sizes[[0, 1, 3]] *= rng.random(3) > 0.1
    return Load(*sizes.tolist())


def some_deadline(rng: np.random.Generator, load: Load) -> float | None:
    """None, or from just too short to five times the shortest time, and now and then exactly that."""
    shortest = load.communication + load.work / load.capacity
    return [None, shortest, float(shortest * rng.uniform(0.9, 1.3)), float(shortest * rng.uniform(1, 5))][
        rng.integers(4)
    ]


def drawn(seed: int, count: int) -> list[tuple[Load, float | None, float]]:
    """Loads, deadlines and prices of time."""
    rng = np.random.default_rng(seed)
    loads = [some_load(rng) for _ in range(count)]
    return [(x, some_deadline(rng, x), float(np.exp(rng.uniform(-9, 9)))) for x in loads]


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
    cases = drawn(2, 300)
    late = 0
    for deadline, multiplier in itertools.product([None, 2.0, 40.0], [0.0, 1e-3, 1.0, 700.0]):
        loads = [load for load, _, _ in cases]
        known = [price(load, multiplier, deadline) for load in loads]
        columns = np.array([(x.work, x.price, x.capacity, x.communication) for x in loads]).T.copy()
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
    assert late > 100


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


class TestDegenerateEpochs:
    def test_without_work_only_waiting_is_paid(self) -> None:
        assert price(NOTHING, 3.0, None) == 1.5
        assert price(NOTHING, 3.0, 0.5) == 1.5
        assert price(NOTHING, 3.0, 0.4) == math.inf
        assert EpochCosts.of([NOTHING], 0.5).resources(7.0)[0] == 0.0

    def test_at_price_0_the_least_resources_are_paid_and_without_a_deadline_nothing(self) -> None:
        assert price(SMALL, 0.0, 2.5) == 2.0
        assert price(SMALL, 0.0, None) == 0.0
        psi, times = EpochCosts.of([SMALL], None).priced(0.0)
        assert (psi[0], times[0]) == (0.0, math.inf)

    def test_a_price_so_small_that_resources_vanish_costs_the_waiting_at_most(self) -> None:
        load = Load(work=1e-200, price=1e200, capacity=1.0, communication=0.5)
        assert price(load, 1e-250, None) == 0.5e-250
        psi, times = EpochCosts.of([load], None).priced(1e-250)
        assert (psi[0], times[0]) == (0.5e-250, math.inf)

    def test_a_late_epoch_has_full_resources_and_no_price(self) -> None:
        curves = EpochCosts.of([SMALL, SMALL, NOTHING], 1.4)
        np.testing.assert_array_equal(curves.late, [True, True, False])
        np.testing.assert_array_equal(curves.resources(0.1), [4.0, 4.0, 0.0])
        np.testing.assert_array_equal(curves.prices(1.0), [math.inf, math.inf, 0.5])
        np.testing.assert_array_equal(curves.fastest, [math.inf, math.inf, 0.5])
        np.testing.assert_array_equal(curves.shortest, [1.5, 1.5, 0.5])

    def test_half_a_tolerance_beyond_the_deadline_is_kept_with_full_resources(self) -> None:
        columns = np.array([[SMALL.work], [SMALL.price], [SMALL.capacity], [SMALL.communication]])
        for deadline, least in ((1.5 * (1 - 0.5e-9), 4.0), (1.5 * (1 - 1.5e-9), math.inf)):
            assert EpochCosts.of([SMALL], deadline).least[0] == least
            assert EpochCosts.of_arrays(*columns, deadline).least[0] == least

    def test_in_arrays_too_work_that_just_fits_takes_the_capacity_and_no_work_takes_nothing(self) -> None:
        """In doubles 24.09 / 3.3 is above 7.3; and messages that fill the round leave nothing to divide."""
        assert 24.09 / 3.3 > 7.3
        loads = [Load(24.09, 1.0, 7.3, 0.0), Load(0.0, 1.0, 7.3, 3.3)]
        columns = np.array([(x.work, x.price, x.capacity, x.communication) for x in loads]).T.copy()
        for found in (EpochCosts.of(loads, 3.3), EpochCosts.of_arrays(*columns, 3.3)):
            np.testing.assert_array_equal(found.least, [7.3, 0.0])

    @pytest.mark.parametrize("multiplier", [-1.0, math.inf, math.nan])
    def test_what_is_no_price_of_time_is_refused(self, multiplier: float) -> None:
        with pytest.raises(InvalidInputError, match="multiplier"):
            price(SMALL, multiplier, None)
