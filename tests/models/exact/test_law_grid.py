"""What the search under the law chooses and grants, against numbers worked out by hand."""

import math

import pytest

from depl.models.exact import law as module
from depl.models.exact.law_completions import product_rounding
from depl.models.exact.law_grid import Grid
from depl.models.exact.law_problem import LawProblem
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.laws import Normal
from tests.cases.law_search_cases import BELL, WILD, law_search, make
from tests.problems import HEAVY, loss


def test_roundings_are_counted_as_they_are_derived():
    """Four epochs: exponents up to 2 * 0.5 * 100 + 4 * 3; transforms of 2**7 points err by 84 units."""
    tilted = Grid(0.5, -99, 0, -10, 2.0, 3.0).tilt_rounding(4)
    assert tilted == pytest.approx(5 * (8 * 112 + 24) * 2.0**-53, rel=1e-9, abs=0)
    assert product_rounding(4, 128) == pytest.approx(
        (4 * (2 * 84 + 8) + 84 + 64 + 16) * 2.0**-53, rel=1e-9, abs=0
    )


def test_the_scale_of_a_loss_is_its_deviation_within_what_is_asked_for():
    """A fall of 4 is asked for."""
    problem = LawProblem(make([BELL]), 0)
    for terms, scale in ([(-1, HEAVY)], 0.4), ([], 0.004), ([(-1, WILD.noise)], 2), ([(-9, WILD.noise)], 4):
        assert problem.deviation(loss(10, *terms)) == pytest.approx(scale)


@pytest.mark.parametrize("level", [0.5, 0.999])
@pytest.mark.parametrize("spread", [None, 0.004, 4.0])
def test_grids_hold_the_fall_and_room_and_little_wraps_round(level, spread, monkeypatch):
    search = law_search(make([BELL], quantile_level=level))
    search.risk._spread = spread
    grid = search.risk._grid(search, 3, 128)
    assert grid.size * grid.step >= 1.25 * 4
    assert grid.lowest * grid.step < -4 < (grid.target + 1) * grid.step
    assert grid.highest * grid.step >= 0.05 * 4
    assert grid.aliased <= 2.1e-7 * (1 - level)
    counted = 32 * 4 * 2 * 2  # bytes of a point: epochs, models before with none, kinds
    monkeypatch.setattr(module, "_MOST_BYTES", 512 * counted)
    assert search.risk._manageable_grids(2) == [(128, 24), (512, 64)]
    # what Cantelli's inequality requires of gains of variance 4 and switches of 2, less what is granted
    wide = law_search(make([WILD, WILD], Normal(mean=0.1, variance=2.0), quantile_level=level))
    _, required = wide.risk.relaxed(wide.assigned[0])
    for epochs, found in enumerate(required):
        away, fall = math.sqrt(6 * epochs * (1 - level) / level), 4 - ATOM_TOLERANCE
        assert fall - away * (1 + 3e-9) <= found <= fall - away * (1 + 5e-10)
