"""Cells under one law with a density or the sum of two: below quadrature, and hardly."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.policy import densities
from depl.models.policy.grid import Grid, noise_cells
from depl.models.policy.ledger import EDGE
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Law, Lognormal, Normal, StudentT
from depl.models.verifier import policy_noise
from depl.models.verifier.laws import Increment
from depl.models.verifier.policy_noise import Noise

GAIN = Term(-1.0, InverseGamma(mean=0.3, variance=0.01))
HALF = Term(-0.5, Lognormal(mean=0.4, variance=0.02))
SWITCH = Term(1.0, StudentT(degrees_of_freedom=3, location=0.05, scale=0.05))
CUT = Term(1.0, StudentT(degrees_of_freedom=3, location=0.05, scale=0.05, lower=-0.1, upper=0.2))
CHANGE = Term(2.0, Normal(mean=0.02, variance=0.001))
PAIRS = [(GAIN, SWITCH), (GAIN, CUT), (HALF, CUT), (CHANGE, HALF), (SWITCH, CHANGE)]
GRID = Grid(0.0, 2.0 / 64, 64, 16, 17)


class TwoModes(Law, frozen=True, kw_only=True, tag="two_modes"):
    """Uniform on two intervals."""

    def distribution(self) -> Any:
        """Half of it each."""
        return stats.rv_histogram((np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.1, 0.2, 0.3]))).freeze()


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(densities, "_SUB_CELLS", 2**14)
    monkeypatch.setattr(policy_noise, "_PARTS", 2**14)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
LEVELS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03])


def probability(pair: tuple[Term, Term], low: float, high: float) -> float:
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


def test_beside_two_densities_atoms_are_mixed():
    three = (Term(1.0, Empirical(values=(-0.25, 0.5))), HALF, CUT)
    found = noise_cells(three, GRID, up=True)
    index = round(-0.4 / GRID.step)
    low = (index - 1 + EDGE) * GRID.step
    exact = 0.5 * sum(probability((HALF, CUT), low - x, low - x + GRID.step) for x in (-0.25, 0.5))
    assert exact * 0.98 - 2e-4 <= found.masses[index - found.first] <= exact + 1e-10


def test_a_sum_that_leads_far_below_the_grid_is_lumped_and_one_far_above_is_missing():
    down = (Term(-1.0, Lognormal(mean=40.0, variance=1.0)), CUT)
    found = noise_cells(down, GRID, up=True)
    assert found.lumped
    assert found.masses[0] > 0.999
    above = noise_cells((Term(1.0, Normal(mean=40.0, variance=1.0)), CUT), GRID, up=True)
    assert above.masses.sum() == 0
    assert above.missing == 1


def test_one_law_of_two_has_to_have_a_single_mode():
    unknown = Term(1.0, TwoModes())
    found = noise_cells((HALF, unknown), GRID, up=True)
    assert found.missing < 0.02
    low = (-2 + EDGE) * GRID.step
    assert found.masses[-1 - found.first] <= probability((HALF, unknown), low, low + GRID.step) + 1e-10
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
