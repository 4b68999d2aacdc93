"""Tables of tilted laws against quadrature by quantiles, at nodes and in between."""

import math

import numpy as np
import pytest

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk.lower_bound.laws import STEP, TiltedTable, covers, unclear
from tests.oracles.tilted import tilted_numbers
from tests.problems import atoms

LAWS = (
    InverseGamma(mean=0.4, variance=0.02),
    InverseGamma(mean=3.0, variance=20.0),
    InverseGamma(shape=1.6, scale=2.0),
    Lognormal(mean=2.0, variance=0.5),
    Lognormal(mean=1.0, variance=6.0),
    InverseGamma(mean=1.0, variance=1e-5),
)
FIRST, LAST = -2.0, 2.5


def numbers(law, u):
    """H, D, W, T and F of X / E X at a share u."""
    mean = law.moments().mean
    tilted, divergence, *cumulants = tilted_numbers(law, u / mean)
    return divergence, u * (1 - tilted / mean), *cumulants


def between(table, values, x):
    return float(np.interp(x, table.start + STEP * np.arange(len(values)), values))


@pytest.mark.parametrize("law", LAWS)
def test_tables_enclose_what_quadrature_finds(law):
    scale = 1 / math.sqrt(min(law.moments().variance / law.moments().mean ** 2, 1.0))  # u with H of about 1
    first, last = FIRST + math.log(scale), LAST + math.log(scale)
    table = TiltedTable.of(law, first, last)
    rng = np.random.default_rng([12, 1])
    reach = table.reach(first, last, math.inf)
    for x in (first + STEP / 2, *rng.uniform(first, last, 5)):
        h, d, w, t, f = numbers(law, math.exp(x))
        b = h - w / 2
        assert between(table, table.low, x) <= h <= between(table, table.high, x)
        assert between(table, table.lost_low, x) <= d
        assert between(table, table.excess_low, x) <= b <= between(table, table.excess_high, x)
        assert b / h <= reach.greatest_ratio() + 1e-9
        for values, known in ((table.low, h), (table.high, h), (table.lost_low, d)):
            assert between(table, values, x) == pytest.approx(known, rel=1e-3)
        for values in (table.excess_low, table.excess_high):
            assert between(table, values, x) == pytest.approx(b, rel=1e-3, abs=1e-9)
        require_lines(reach, math.exp(x), (h, b, t, f))
        # what generalised gamma convolutions obey
        assert 0 <= f / 3 <= t <= min(2 * math.sqrt(w * f / 6), 6 * b)


def require_lines(reach, u, found):
    """No slope leads to a line on the wrong side of T or F."""
    h, b, t, f = found
    for slope in (0.0, 0.3, 2.0, 3.7, 6.0, 20.0, 55.0):
        room = unclear(1 + u) * (1 + slope)
        for kind, value in (("third", t), ("fourth", f)):
            above, below = (reach.lines(kind, (slope,), above=side)[0] for side in (True, False))
            assert below <= 0 <= above
            assert below * h + slope * b - room <= value <= above * h + slope * b + room


def test_normal_laws_have_closed_forms():
    law = Normal(mean=-2.0, variance=9.0)
    assert law.tilt_unit() == 3
    table = TiltedTable.of(law, FIRST, LAST)
    u = np.exp(FIRST + STEP * np.arange(len(table.low)))
    np.testing.assert_allclose(table.low, u**2 / 2, rtol=2e-4)
    np.testing.assert_allclose(table.lost_low, u**2, rtol=2e-4)
    assert (table.low < u**2 / 2).all()
    assert (table.high >= u**2 / 2).all()
    reach = table.reach(FIRST, LAST, 2.0)
    assert not any(values.any() for values in (reach.excess, reach.third, reach.fourth))
    assert reach.greatest_ratio() == reach.lines("third", (0.0,), above=True)[0] == 0
    np.testing.assert_allclose(table.excess_high, 0, atol=1e-11)


def test_lines_hold_for_all_shares_with_less_than_a_divergence_and_touch_one():
    law = LAWS[3]
    reach = TiltedTable.of(law, -3.0, 3.0).reach(-2.5, 3.0, 1.0)
    seen = [(x, numbers(law, math.exp(x))) for x in np.linspace(-2.4, 2.9, 5)]
    inside = [(x, (h, h - w / 2, t, f)) for x, (h, _, w, t, f) in seen if h <= 1.0]
    assert 1 < len(inside) < len(seen)
    for x, found in inside:
        require_lines(reach, math.exp(x), found)
    h, b, t, _ = next(found for x, found in reversed(inside))
    slopes = np.linspace(0, 6, 200)
    highest = min(reach.lines("third", (slope,), above=True)[0] * h + slope * b for slope in slopes)
    lowest = max(reach.lines("third", (slope,), above=False)[0] * h + slope * b for slope in slopes)
    assert lowest <= t <= highest
    assert min(highest - t, t - lowest) < 0.02 * t


def test_tiny_shares_neither_lose_all_digits_nor_warn():
    """H is lost in rounding, but its lines are not."""
    law = LAWS[0]
    table = TiltedTable.of(law, math.log(1e-9), math.log(1e-6))
    assert (table.low <= 0).all()
    assert (table.high > 0).all()
    reach = table.reach(math.log(1e-9), math.log(1e-6), 1.0)
    assert reach.greatest_ratio() == 0
    assert reach.lines("third", (6.0,), above=True)[0] < 1e-4
    assert reach.lines("fourth", (6.0,), above=True)[0] < 1e-4
    assert reach.lines("third", (6.0,), above=False)[0] > -1e-4


def test_heavy_tails_near_no_mean_stay_finite():
    law = InverseGamma(shape=1.02, scale=1.0)
    table = TiltedTable.of(law, -6.0, 2.0)
    for values in (table.low, table.high, table.lost_low, table.excess_low, table.excess_high):
        assert np.isfinite(values).all()
    reach = table.reach(-6.0, 2.0, math.inf)
    assert math.isfinite(reach.lines("fourth", (3.0,), above=True)[0])
    assert 0 < reach.greatest_ratio() < 1


def test_epochs_may_not_follow_laws_with_atoms():
    assert not covers(atoms(1.0, 2.0))
    assert covers(LAWS[0])
    with pytest.raises(NotCoveredError, match="no table"):
        TiltedTable.of(atoms(1.0, 2.0), 0.0, 1.0)
