"""Limits of charges and cells of extra charge: what is affordable in whole fractions is never excluded."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from depl.models.exact import kernels
from depl.models.exact.subproblem import Subproblem, cell_scale, whole_cells
from depl.models.foundation.tolerances import TIME_TOLERANCE

EPOCHS = 1000
"""So many summands, each rounded by a unit of 2**-53."""


@pytest.mark.parametrize("cutoff", [0.3, 1.0, 1e6])
@pytest.mark.parametrize("maximum_time", [None, 0.7, 1e5])
def test_limits_allow_for_the_rounding_of_sums_and_for_no_more(
    cutoff: float, maximum_time: float | None
) -> None:
    """cutoff - transfers + lam T_max for every price lam of time, and T_max with its tolerance."""
    prices_of_time, transfers = (0.0, 0.01, 3.0, 500.0), 0.11 * cutoff
    subproblem = SimpleNamespace(
        prices=SimpleNamespace(maximum_time=maximum_time),
        multipliers=prices_of_time,
        cutoff=cutoff,
        assignment=SimpleNamespace(transfers=transfers),
        _priced=None,
        length=EPOCHS,
    )
    *costs, time = Subproblem._limit_values(subproblem).tolist()
    for multiplier, found in zip(prices_of_time, costs, strict=True):
        paid = Fraction(multiplier) * Fraction(maximum_time or 0)
        exact, size = Fraction(cutoff) - Fraction(transfers) + paid, Fraction(cutoff) + paid
        assert exact + size * EPOCHS / 2**53 <= Fraction(found) <= exact + size / 10**11
    if maximum_time is not None:
        most = Fraction(maximum_time) * (1 + Fraction(TIME_TOLERANCE))
        assert most * (1 + Fraction(EPOCHS, 2**53)) <= Fraction(time) <= most * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("seed", range(5))
def test_there_is_a_cell_for_every_charge_within_the_budget(seed: int) -> None:
    """Cells are looked up from 0, so there is one more of them than the budget has."""
    rng = np.random.default_rng(seed)
    unit = int(rng.integers(1, 6))
    extras = unit * rng.integers(0, 30, 20).astype(float)
    for budget in (float(extras.max()), float(extras.max()) + 0.4 * unit):
        scale, cells = whole_cells(extras, budget, 1000)
        assert Fraction(scale) == Fraction(1.0 / math.gcd(*map(int, extras)))
        assert cells == round(float(extras.max()) * scale) + 1
        assert whole_cells(extras, budget, cells) == (scale, cells)
        assert whole_cells(extras, budget, cells - 1) is None
        for most in (2, 10, 100):
            scale, cells = cell_scale(extras + 0.25, budget + 0.25, most)
            assert cells - 1 <= (budget + 0.25) * scale + 1e-6 < cells


def lost(extras: np.ndarray, scale: float) -> float:
    """Mean share of an extra charge that is lost when it is rounded down to cells, half a millionth less."""
    cells = extras[extras > 0] * scale
    return float(np.mean((cells - np.floor(cells + 5e-7)) / cells))


@pytest.mark.parametrize("different", [1, 2, 5, 39, 40])
def test_no_number_of_cells_that_fits_a_charge_loses_less_than_the_one_that_is_taken(different: int) -> None:
    """Of up to forty different charges, to three digits; the plain number of cells is one of them."""
    rng = np.random.default_rng(different)
    for most in (10, 60):
        values = rng.uniform(0.5, 10.0, different)
        extras, budget = rng.choice(values, 200), 10.0 + rng.uniform()
        extras[:different] = values
        fitting = [(most - 1) / budget]
        for value in values:
            fitting += [n / value for n in range(1, int((most - 1) * value / budget) + 1)]
        scale, cells = cell_scale(extras, budget, most)
        assert lost(extras, scale) <= min(lost(extras, other) for other in fitting) + 1e-3
        assert cells <= most


def test_numbers_are_rounded_to_single_precision_upward_and_whole_ones_are_kept() -> None:
    """A single-precision number stays; others rise by at most two of their last places."""
    rng = np.random.default_rng(4)
    values = [0.0, *(float(sign * number) for sign in (-1, 1) for number in (1, 3, 2**24 - 1, 2**24))]
    kept = np.float32(rng.normal(size=100) * 10.0 ** rng.integers(-20, 20, 100))
    drawn = rng.normal(size=300) * 10.0 ** rng.integers(-20, 20, 300)
    for value in (*values, *map(float, kept)):
        assert float(kernels._at_least(value)) == value
    for value in map(float, drawn):
        found = kernels._at_least(value)
        assert found == np.float32(found)
        assert value <= float(found) <= value + 2 * float(np.spacing(np.float32(abs(value))))


def test_an_epoch_is_affordable_where_what_is_spent_and_the_least_of_the_rest_keep_all_limits() -> None:
    """Charges are whole numbers, so that nothing is rounded and many sums meet their limit."""
    rng, seen = np.random.default_rng(5), set()
    for _ in range(300):
        values = rng.integers(0, 6, (2, 3, 2)).astype(float)
        rest = np.zeros((2, 4))
        rest[:, :3] = values.min(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1]
        limits, spent = rng.integers(2, 12, 2).astype(float), np.zeros((2, 4))
        depth, kind = int(rng.integers(3)), int(rng.integers(2))
        spent[:, depth] = rng.integers(0, 5, 2)
        total = spent[:, depth] + values[:, depth, kind]
        least = [
            min(
                sum(row[k, kind] for k, kind in enumerate(later, depth + 1))
                for later in itertools.product(range(2), repeat=2 - depth)
            )
            for row in values
        ]
        found = kernels.affordable(kernels.Charges(values, rest, limits, spent), depth, kind)
        assert found == bool(np.all(total + least <= limits))
        if found:
            assert spent[:, depth + 1].tolist() == total.tolist()
        seen.add((found, bool(np.any(total + least == limits)), bool(np.all(total <= limits))))
    assert {(True, True, True), (False, False, True), (False, False, False)} <= seen
