"""Grids: points on a lattice stay where they are, and noise that leads far down leads below the grid."""

import math
from dataclasses import replace

import numpy as np
import pytest

from depl.models.policy.dynamic import lower, upper
from depl.models.policy.grid import (
    DRIFT,
    Cells,
    Expectations,
    Grid,
    correlation_error,
    lattice_unit,
    noise_cells,
)
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import process
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Deterministic, Empirical, Lognormal, Normal
from tests.cases.policy_cases import tiny


@pytest.mark.parametrize("limit", [0.4, 0.35, 0.4 - 1e-7, 0.4 + 1e-9, 0.4 + 3e-9, 0.123456789])
def test_on_a_lattice_both_roundings_say_of_every_first_loss_whether_it_comes_to_the_target(limit):
    """Three epochs of 0.2 from losses on and off the lattice, and within the tolerance of both its sides."""
    laws = Deterministic(value=0.2), Deterministic(value=0.4)
    whole = process(tiny(*laws, maximum_loss=limit))
    grid = Grid.of(whole, 65_536)
    assert grid.on_lattice
    losses = limit + np.add.outer((0.0, 0.2, 0.6), (0.0, 5e-10, 1e-9, 1.1e-9, 1e-6, -5e-10, -1.1e-9)).ravel()
    three = round(0.6 / grid.step)
    up, down = grid.indices(losses, up=True) - three, grid.below(losses) - three
    met = losses - 0.6 <= limit + 1e-9
    assert np.all((up <= grid.target) <= met)
    assert np.all((down >= grid.least_missed) <= ~met)
    clear = np.abs(losses - 0.6 - limit - 1e-9) > 1.1e-9  # by more than the drift
    assert np.array_equal((up <= grid.target)[clear], met[clear])
    assert np.array_equal((down < grid.least_missed)[clear], met[clear])


def test_a_law_with_a_density_or_values_that_are_no_decimals_has_no_lattice():
    assert lattice_unit(process(tiny(Normal(mean=0.3, variance=0.01), Deterministic(value=0.3)))) is None
    assert lattice_unit(process(tiny(Empirical(values=(0.1, math.pi)), Deterministic(value=0.3)))) is None


def test_there_is_no_lattice_where_a_loss_is_kept_in_part_or_never_moves():
    found = process(tiny(Empirical(values=(0.1, 0.25)), Deterministic(value=0.3)))
    kept = with_kernels(found, retention=0.5, shift=0.1)
    assert lattice_unit(kept) is None
    assert lattice_unit(process(tiny(Deterministic(value=0.0), Deterministic(value=0.0)))) is None


def with_kernels(whole, **kernel):
    """The process with every kernel changed."""
    nodes = tuple(
        replace(
            node,
            trainings=tuple(replace(item, kernel=replace(item.kernel, **kernel)) for item in node.trainings),
        )
        for node in whole.nodes
    )
    return replace(whole, nodes=nodes)


def test_a_target_that_is_met_exactly_is_certified_and_one_that_is_just_missed_is_not():
    for gain, failure in ((0.3, 0.0), (0.2999, 1.0)):
        whole = process(tiny(Deterministic(value=gain), Deterministic(value=gain), maximum_epochs=2))
        grid = Grid.of(whole, 65_536)
        table = upper(whole, Expectations(grid, up=True), 1e6)
        assert table.failure == pytest.approx(failure, abs=1e-10)
        assert lower(whole, Expectations(grid, up=False), 1.0, free=True)[0] == pytest.approx(
            failure, abs=1e-9
        )


def test_losses_so_small_that_the_tolerance_is_many_cells_keep_their_lower_bound():
    # three epochs end 8e-10 above l_max, within the tolerance of 1e-9: reached, for 3
    size = 1.2e-6
    gain = (size - 0.6e-6 - 8e-10) / 3
    noise = Normal(mean=gain, variance=1e-24)
    whole = process(
        tiny(noise, noise, prices=(1.0, 2.0), initial_loss=size, maximum_loss=0.6e-6, maximum_epochs=3)
    )
    for cells in (4096, 65_536):
        found = lower(whole, Expectations(Grid.of(whole, cells), up=False), 100.0)
        assert found[0] <= 3 + 1e-9


@pytest.mark.parametrize(
    "law", [Deterministic(value=7.0), Empirical(values=(7.0, 9.0)), Lognormal(mean=7, variance=0.1)]
)
def test_a_noise_that_leads_far_below_the_grid_reaches_the_target_for_sure(law):  # fmt: skip
    whole = process(tiny(law, law, maximum_epochs=2))
    for cells in (128, 4096):
        grid = Grid.of(whole, cells)
        assert upper(whole, Expectations(grid, up=True), 1e6).failure < 1e-9
        assert upper(whole, Expectations(grid, up=True), 1e6).cost == pytest.approx(1.0)


def test_masses_below_are_lumped_and_those_above_are_missing():
    found = Cells(-4, np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1]), 0.0).within(-2, 0)
    assert (found.first, found.lumped) == (-2, True)
    assert found.masses.tolist() == pytest.approx([0.6, 0.2, 0.1])
    assert found.missing == pytest.approx(0.1)
    beside = Cells(-9, np.array([0.25, 0.75]), 0.0).within(-2, 0)
    assert (beside.first, beside.masses.tolist()) == (-2, pytest.approx([1.0]))
    assert Cells(5, np.ones(1), 0.0).within(-2, 2).missing == 1.0


def test_expectations_from_far_above_the_grid_count_a_lump_at_its_worst():
    grid = Grid(0.0, 1.0, 8, 2, 3)
    noise = (Term(1.0, Empirical(values=(-40.0, -1.0))),)
    values = np.array([np.arange(8.0)])
    images = np.array([0, 1, 2, 3, 4, 15, 16, 40])
    exact = [max(0, min(7, z - 40)) / 2 + max(0, min(7, z - 1)) / 2 for z in images]
    up = Expectations(grid, up=True).bounds(values, [(0.0, 7.0)], images, noise)[0]
    down = Expectations(grid, up=False).bounds(values, [(0.0, 7.0)], images, noise)[0]
    assert (up >= np.array(exact) - 1e-12).all()
    assert (down <= np.array(exact) + 1e-12).all()
    assert up[:7] == pytest.approx(exact[:7], abs=1e-9)


@pytest.mark.parametrize("length", [16, 2**12])
@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("mass", [0.25, 1.0])
def test_the_error_of_a_correlation_is_that_of_higham_s_bound_for_three_transforms(length, size, mass):
    """24 log2(n) u of three transforms and 3 u of their products, times norms; n is doubled by padding."""
    values, masses = size * np.array([[3.0, 4.0], [0.0, 1.0]]), mass * np.array([0.25, 0.75])
    unit = 2.0**-53
    least = (3 * 8 * (math.log2(length) + 1) * unit + 3 * unit) * size * np.array([5.0, 1.0]) * mass
    found = correlation_error(values, masses, length)
    assert np.all(found >= least)
    assert np.all(found <= 1.02 * least)


def test_cells_of_two_normal_noises_are_those_of_their_sum():
    whole = process(tiny(Deterministic(value=0.1), Deterministic(value=0.2)))
    grid = Grid.of(whole, 128)
    parts = (Term(-1.0, Normal(mean=0.3, variance=0.04)), Term(2.0, Normal(mean=0.1, variance=0.01)))
    one = (Term(1.0, Normal(mean=-0.1, variance=0.08)),)
    for up in (True, False):
        both, single = noise_cells(parts, grid, up=up), noise_cells(one, grid, up=up)
        assert both.first == single.first
        assert both.masses == pytest.approx(single.masses, abs=1e-12)
    assert EDGE * 2 == DRIFT
