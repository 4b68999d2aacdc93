"""Tables of tilted laws against mpmath's quadrature of the densities, at nodes and in between."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from depl.models.laws import Empirical, InverseGamma, Lognormal, Normal
from depl.models.risk.tilted_laws import STEP, TiltedTable, covers, unclear, unit_of

LAWS = (
    InverseGamma(mean=0.4, variance=0.02),
    InverseGamma(mean=3.0, variance=20.0),
    InverseGamma(shape=1.6, scale=2.0),
    Lognormal(mean=2.0, variance=0.5),
    Lognormal(mean=1.0, variance=6.0),
    InverseGamma(mean=1.0, variance=1e-5),
)
FIRST, LAST = -2.0, 2.5


def numbers(law: InverseGamma | Lognormal, u: float) -> tuple[float, ...]:
    """H, D, W, T and F of X / E X at a share u, by mpmath with 30 digits."""
    with mpmath.workdps(30):
        mean = law.moments().mean
        if isinstance(law, InverseGamma):
            shape, scale = law.shape_scale()
            centre, width = math.log(scale / shape), 1 / math.sqrt(shape)

            def log_density(t: mpmath.mpf) -> mpmath.mpf:
                return -shape * (t - centre) - shape * (mpmath.exp(-(t - centre)) - 1)

        else:
            centre, width = law.log_parameters()

            def log_density(t: mpmath.mpf) -> mpmath.mpf:
                return -((t - centre) ** 2) / (2 * width**2)

        def moment(tilt: float, power: int, about: mpmath.mpf) -> mpmath.mpf:
            def integrand(t: mpmath.mpf) -> mpmath.mpf:
                x = mpmath.exp(t) / mean
                return mpmath.exp(log_density(t) - tilt * (x - 1)) * (x - about) ** power

            ends = [centre + step * width for step in (-12, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 9, 16, 40)]
            if tilt == 0 and isinstance(law, InverseGamma):
                ends.append(mpmath.inf)
            return mpmath.quad(integrand, ends)

        plain, total = moment(0, 0, mpmath.mpf(0)), moment(u, 0, mpmath.mpf(0))
        average = moment(u, 1, mpmath.mpf(0)) / total
        k2, k3, m4 = (moment(u, n, average) / total for n in (2, 3, 4))
        divergence = -mpmath.log(total / plain) - u * (average - 1)
        found = divergence, u * (1 - average), u**2 * k2, u**3 * k3, u**4 * (m4 - 3 * k2**2)
        return tuple(float(value) for value in found)


def between(table: TiltedTable, values: np.ndarray, x: float) -> float:
    return float(np.interp(x, table.start + STEP * np.arange(len(values)), values))


@pytest.mark.parametrize("law", LAWS)
def test_tables_enclose_what_mpmath_finds(law: InverseGamma | Lognormal) -> None:
    scale = 1 / math.sqrt(min(law.moments().variance / law.moments().mean ** 2, 1.0))  # u with H of about 1
    first, last = FIRST + math.log(scale), LAST + math.log(scale)
    table = TiltedTable.of(law, first, last)
    rng = np.random.default_rng([12, 1])
    for x in [first, first + STEP / 2, *rng.uniform(first, last, 4)]:
        h, d, w, t, f = numbers(law, math.exp(x))
        place = min(int((x - first) / STEP), len(table.ratio) - 1)
        assert between(table, table.low, x) <= h <= between(table, table.high, x)
        assert between(table, table.lost_low, x) <= d
        assert between(table, table.fourth_low, x) <= f <= between(table, table.fourth_high, x)
        assert table.ratio[place] <= w / h <= 2
        assert h - w / 2 - t / 6 <= table.rest[place] * f + unclear(1 + math.exp(x))
        assert f / h <= table.steep[place]
        assert f / t <= table.lean[place] <= min(3, 1.1 * f / t)
        assert between(table, table.low, x) == pytest.approx(h, rel=1e-3)
        assert between(table, table.high, x) == pytest.approx(h, rel=1e-3)
        assert between(table, table.lost_low, x) == pytest.approx(d, rel=1e-3)
        assert between(table, table.fourth_low, x) == pytest.approx(f, rel=0.1)
        # what generalised gamma convolutions obey
        assert 0 <= f / 3 <= t <= 2 * math.sqrt(w * f / 6)
        share = f / (3 * t)
        assert f / 24 <= t / 2 * sum(share**n / (n + 3) for n in range(1, 60)) <= h - w / 2 - t / 6
        assert 7 * f / 72 <= h - w / 2


@pytest.mark.parametrize("law", LAWS[:5])
def test_characteristic_functions_keep_their_remainder_and_their_decay(law: InverseGamma | Lognormal) -> None:
    """ln f + W y**2 / 2 + i T y**3 / 6 is within F y**4 / 24, and |f| below its bound, at any y."""
    u = 1 / math.sqrt(min(law.moments().variance / law.moments().mean ** 2, 1.0))
    _, _, w, third, fourth = numbers(law, u)
    mean = law.moments().mean
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        t = np.linspace(math.log(scale) - math.log(shape + 60) - 1, math.log(scale / shape) + 12, 60001)
        logarithms = -shape * t - scale * np.exp(-t)
    else:
        centre, spread = law.log_parameters()
        t = np.linspace(centre - 12 * spread, centre + 9 * spread, 60001)
        logarithms = -((t - centre) ** 2) / (2 * spread**2)
    x = np.exp(t) / mean
    weights = np.exp(logarithms - logarithms.max() - u * (x - 1))
    weights /= weights.sum()
    z = u * (x - float(weights @ x))
    for y in (0.3, 1.0, 2.0, 4.0, 9.0):
        f = complex(weights @ np.exp(1j * y * z))
        assert abs(f) <= math.exp(-3 * w**2 / fourth * math.log1p(y**2 * fourth / (6 * w))) * (1 + 1e-9)
        model = -w * y**2 / 2 - 1j * third * y**3 / 6
        off = np.log(f) - model
        off -= 2j * math.pi * round(off.imag / (2 * math.pi))
        assert abs(off) <= fourth * y**4 / 24 * (1 + 1e-6)


def test_normal_laws_have_closed_forms() -> None:
    law = Normal(mean=-2.0, variance=9.0)
    assert unit_of(law) == 3
    table = TiltedTable.of(law, FIRST, LAST)
    u = np.exp(FIRST + STEP * np.arange(len(table.low)))
    np.testing.assert_allclose(table.low, u**2 / 2, rtol=2e-4)
    np.testing.assert_allclose(table.lost_low, u**2, rtol=2e-4)
    assert (table.low < u**2 / 2).all()
    assert (table.high >= u**2 / 2).all()
    assert not table.fourth_high.any()
    assert not table.rest.any()
    least, *others = table.ratios(FIRST, LAST, 2.0)
    assert (least, others) == (pytest.approx(2, rel=0.05), [0, 0, 0])


def test_ratios_hold_for_all_shares_with_less_than_a_divergence() -> None:
    law = LAWS[3]
    table = TiltedTable.of(law, -3.0, 3.0)
    low, rest, steep, lean = table.ratios(-2.5, 3.0, 1.0)
    for x in np.linspace(-2.4, 2.9, 9):
        h, _, w, t, f = numbers(law, math.exp(x))
        if h <= 1.0:
            assert low <= w / h
            assert h - w / 2 - t / 6 <= rest * f + unclear(1 + math.exp(x))
            assert f / h <= steep
            assert f / t <= lean


def test_tiny_shares_neither_lose_all_digits_nor_warn() -> None:
    """H is lost in rounding, but the ratios are not."""
    law = LAWS[0]
    table = TiltedTable.of(law, math.log(1e-9), math.log(1e-6))
    assert (table.low <= 0).all()
    assert (table.high > 0).all()
    low, rest, steep, lean = table.ratios(math.log(1e-9), math.log(1e-6), 1.0)
    assert low == pytest.approx(2, rel=0.03)
    assert rest == 0
    assert steep < 1e-6
    assert lean < 1e-4


def test_heavy_tails_near_no_mean_stay_finite() -> None:
    law = InverseGamma(shape=1.02, scale=1.0)
    table = TiltedTable.of(law, -6.0, 2.0)
    for values in (table.low, table.high, table.lost_low, table.fourth_high, table.ratio, table.rest):
        assert np.isfinite(values).all()
    shape, scale = law.shape_scale()
    u = math.exp(0.5) / law.moments().mean
    transform = 2 * (u * scale) ** (shape / 2) / math.gamma(shape)
    root = 2 * math.sqrt(u * scale)
    zeroth = transform * float(special.kv(shape, root))
    first = (
        2 * scale * (u * scale) ** ((shape - 1) / 2) / math.gamma(shape) * float(special.kv(shape - 1, root))
    )
    h = -math.log(zeroth) - u * first / zeroth
    assert between(table, table.low, 0.5) <= h <= between(table, table.high, 0.5)
    assert between(table, table.low, 0.5) == pytest.approx(h, rel=1e-3)


def test_epochs_may_not_follow_laws_with_atoms() -> None:
    assert not covers(Empirical(values=(1.0, 2.0), weights=(0.5, 0.5)))
    assert covers(LAWS[0])
    with pytest.raises(TypeError, match="no table"):
        TiltedTable.of(Empirical(values=(1.0, 2.0), weights=(0.5, 0.5)), 0.0, 1.0)
