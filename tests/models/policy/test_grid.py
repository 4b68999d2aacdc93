"""Grids: points on a lattice stay where they are, and noise that leads far down leads below the grid."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.policy import grid as gridding
from depl.models.policy.dynamic import lower, upper
from depl.models.policy.grid import Expectations, Grid, correlation_error, lattice_unit, noise_cells
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import process
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Deterministic, InverseGamma, Law, Lognormal, Normal
from depl.models.problem.policy import STOP
from depl.models.verifier import policy_noise
from depl.models.verifier.laws import Increment
from depl.models.verifier.policy_noise import Noise
from tests.cases.policy_cases import tiny
from tests.problems import atoms, student


@pytest.mark.parametrize("limit", [0.4, 0.35, 0.4 - 1e-7, 0.4 + 1e-9, 0.4 + 3e-9, 0.123456789])
def test_on_a_lattice_both_roundings_say_of_every_first_loss_whether_it_comes_to_the_target(limit):
    """Three epochs of 0.2 from losses on and off the lattice, and within the tolerance of both its sides."""
    whole = process(tiny(0.2, 0.4, maximum_loss=limit))
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


def test_densities_odd_values_no_steps_and_losses_kept_in_part_have_no_lattice():
    assert lattice_unit(process(tiny(Normal(mean=0.3, variance=0.01), 0.3))) is None
    assert lattice_unit(process(tiny(atoms(0.1, math.pi), 0.3))) is None
    assert lattice_unit(process(tiny(0.0, 0.0))) is None
    whole = process(tiny(0.1, 0.3))
    first, *nodes = whole.nodes
    kept = [replace(item, kernel=replace(item.kernel, retention=0.5)) for item in first.trainings]
    assert lattice_unit(replace(whole, nodes=(replace(first, trainings=tuple(kept)), *nodes))) is None


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


@pytest.mark.parametrize("law", [Deterministic(value=7.0), atoms(7.0, 9.0), Lognormal(mean=7, variance=0.1)])
def test_a_noise_that_leads_far_below_the_grid_reaches_the_target_for_sure(law):  # fmt: skip
    whole = process(tiny(law, law, maximum_epochs=2))
    for cells in (128, 4096):
        grid = Grid.of(whole, cells)
        assert upper(whole, Expectations(grid, up=True), 1e6).failure < 1e-9
        assert upper(whole, Expectations(grid, up=True), 1e6).cost == pytest.approx(1.0)


def test_below_the_grid_a_run_costs_what_it_does_at_the_first_index():
    """Large alone may be the last; it is trained there, after small, and elsewhere runs are given up."""
    whole = process(tiny(7.0, 7.0, maximum_epochs=2, deployable=("large",)))
    up = Expectations(Grid.of(whole, 128), up=True)
    actions = [np.full(up.grid.cells, STOP if node.epoch else 0, np.int16) for node in whole.nodes]
    (small,) = (place for place, node in enumerate(whole.nodes) if node.epoch == 1 and not node.may_stop)
    actions[small][0] = 1
    found = upper(whole, up, 1e6, replace(upper(whole, up, 1e6), actions=tuple(actions)))
    assert (found.cost, found.failure) == (pytest.approx(3.5), pytest.approx(0.0, abs=1e-9))


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


GAIN = Term(-1.0, InverseGamma(mean=0.3, variance=0.01))
HALF = Term(-0.5, Lognormal(mean=0.4, variance=0.02))
SWITCH = Term(1.0, student(3, 0.05, 0.05))
CUT = Term(1.0, student(3, 0.05, 0.05, -0.1, 0.2))
CHANGE = Term(2.0, Normal(mean=0.02, variance=0.001))
PAIRS = [(GAIN, SWITCH), (GAIN, CUT), (HALF, CUT), (CHANGE, HALF), (SWITCH, CHANGE)]
GRID = Grid(0.0, 2.0 / 64, 64, 16, 17)


class TwoModes(Law, frozen=True, kw_only=True, tag="two_modes"):
    """Uniform on two intervals."""

    def distribution(self):
        """Half of it each."""
        return stats.rv_histogram((np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.1, 0.2, 0.3]))).freeze()


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(gridding, "_SUB_CELLS", 2**14)
    monkeypatch.setattr(policy_noise, "_PARTS", 2**14)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
LEVELS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03])


def probability(pair, low, high):
    """P(low < A + B <= high), by Gauss rules between quantiles of A."""
    one, other = pair
    levels = np.concatenate([LEVELS, np.arange(0.08, 0.95, 0.06), 1 - LEVELS[::-1]])
    jumps = [end - x for end in other.law.support() if np.isfinite(end) for x in (low, high)]
    marks = np.unique(np.concatenate([one.coefficient * one.law.quantile(levels), [-x for x in jumps]]))
    half, centre = 0.5 * np.diff(marks)[:, None], 0.5 * (marks[1:] + marks[:-1])[:, None]
    points, weights = centre + half * NODES, half * WEIGHTS
    density = one.law.density(points / one.coefficient) / abs(one.coefficient)
    first, second = (other.law.cdf((end - points) / other.coefficient) for end in (low, high))
    return float((weights * density * np.abs(second - first)).sum())


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("up", [True, False])
def test_cells_of_a_sum_of_two_laws_are_lower_bounds_that_leave_out_little(pair, up):
    found = noise_cells(pair, GRID, up=up)
    step, edge = GRID.step, EDGE if up else -EDGE
    assert found.masses.sum() + found.missing >= 1
    assert found.missing < 0.02
    rng = np.random.default_rng(3)
    middle = found.first + int(found.masses.argmax())
    for index in {middle, middle + 3, middle - 5, int(rng.integers(found.first + 1, found.last + 1))}:
        if not found.first < index <= found.last:
            continue
        low = (index - (1 if up else 0) + edge) * step
        exact, mine = probability(pair, low, low + step), found.masses[index - found.first]
        assert mine <= exact + 1e-10
        assert mine >= exact * 0.98 - 2e-4


def test_beside_two_densities_atoms_are_mixed(monkeypatch):
    three = (Term(1.0, atoms(-0.25, 0.5)), HALF, CUT)
    found = noise_cells(three, GRID, up=True)
    index = round(-0.4 / GRID.step)
    low = (index - 1 + EDGE) * GRID.step
    exact = 0.5 * sum(probability((HALF, CUT), low - x, low - x + GRID.step) for x in (-0.25, 0.5))
    assert exact * 0.98 - 2e-4 <= found.masses[index - found.first] <= exact + 1e-10
    cells, mixed = gridding.Range(GRID.step, index, index + 20, True), np.array([[-0.25, 0.5], [0.5, 0.5]])
    masses, ends = gridding.masses_of_two(tuple(mixed), (HALF, CUT), cells, lumped=True), cells.ends()
    for cell, low in ((0, -9.0), (9, float(ends[9]))):
        exact = 0.5 * sum(probability((HALF, CUT), low - x, ends[cell + 1] - x) for x in (-0.25, 0.5))
        assert exact * 0.98 - 2e-4 <= masses[cell] <= exact + 1e-10
    alone = gridding.masses_of_one(tuple(mixed), HALF, cells, lumped=True)
    tails = HALF.law.survival(-2 * np.subtract.outer(ends, mixed[0])).mean(axis=1)  # P(half + atom <= end)
    assert alone == pytest.approx(np.diff(tails[1:], prepend=0.0), abs=1e-10)
    placed = gridding._placed(np.ones(2), index + 1, replace(cells, last=index + 3))
    assert placed.tolist() == [0, 1, 1, 0]
    monkeypatch.setattr(gridding, "_SUB_CELLS", 1)
    assert noise_cells((HALF, CUT), GRID, up=True).masses.sum() < 1


def test_one_law_of_two_has_to_have_a_single_mode():
    unknown = Term(1.0, TwoModes())
    with pytest.raises(
        depl.NotCoveredError, match=r"two_modes\), neither of which is known to have a single"
    ):
        noise_cells((unknown, unknown), GRID, up=True)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_verifier_finds_the_same_cells_by_quadrature(pair):
    noise = Noise.of([Increment(term.coefficient, term.law) for term in pair])
    found = noise.on_cells(GRID.step, -40, 20)
    total = found.masses.sum() + found.below + found.above
    assert total == pytest.approx(1, abs=1e-9)
    assert found.lost + found.doubt < 1e-4
    for index in (-12, -9, -3):
        low = (index - 1 + EDGE) * GRID.step
        exact = probability(pair, low, low + GRID.step)
        away = min(1e-6, found.lost + found.doubt + 1e-10)
        assert found.masses[index - found.first] == pytest.approx(exact, abs=away)
