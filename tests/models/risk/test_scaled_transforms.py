"""Interpolated transforms of many multiples of a law: against ball arithmetic, bounds on the ellipse."""

import math

import mpmath
import numpy as np
import pytest
from flint import acb, ctx

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import InverseGamma, Lognormal
from depl.models.risk import scaled_transforms
from depl.models.risk.contour import Contour, label_table
from depl.models.risk.scaled_transforms import scaled_log_transforms
from depl.models.risk.transforms import centred_log_transform
from tests.oracles import ball_arithmetic as ball

LAWS = [
    InverseGamma(mean=1.0, variance=0.834),
    InverseGamma(mean=3.0, variance=0.2),
    InverseGamma(mean=1.0, variance=0.005),  # by Debye's expansion
    InverseGamma(shape=1.7, scale=1.0),  # without a variance
    Lognormal(mean=2.0, variance=0.4),
    Lognormal(mean=1.0, variance=0.001),
    Lognormal(log_mean=0.3, log_variance=1.5),
]


def factors_and_nodes(law, count, length, nodes=5, steepest=20.0):
    """Factors of one range, and nodes whose transforms are worth interpolating, the last nearly imaginary."""
    factors = 0.07 * np.exp(np.linspace(0, -length, count))
    mean, variance = law.moments()
    deviation = math.sqrt(min(variance, 4 * mean**2) * np.sum(factors**2))
    return factors, (1 + 1j * np.linspace(0, steepest, nodes)) * 0.3 / deviation


def require_balls(law, factors, nodes, rows, values, bounds):
    assert bounds.max() < 1e-13
    for row in rows:
        for column, node in enumerate(nodes):
            with ctx.workprec(200):  # factors times nodes, exactly
                z = acb(factors[row]) * acb(node.real, node.imag)
            assert ball.error_of(law, z, complex(values[row, column])) <= bounds[row, column]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("length", [0.0, 1.1])
def test_errors_are_within_their_bounds_which_are_small(law, length):
    factors, nodes = factors_and_nodes(law, 2000, length)
    values, bounds = scaled_log_transforms(law, factors, nodes)
    require_balls(law, factors, nodes, (0, 777, 1999), values, bounds)


def test_the_epochs_of_eq_8_are_interpolated_though_the_first_are_computed_directly(monkeypatch):
    """A / sqrt(k): the first factor is 50 times the last, and its arguments are rounded 50 times as much."""
    law, factors = LAWS[0], 0.5 / np.sqrt(np.arange(1, 2501))
    nodes = (0.2 + 0.4j * np.arange(28))[[0, 9, 18, 27]]
    asked = []

    def counting(law, argument):
        asked.append(np.size(argument))
        return centred_log_transform(law, argument)

    monkeypatch.setattr(scaled_transforms, "centred_log_transform", counting)
    values, bounds = scaled_log_transforms(law, factors, nodes)
    assert sum(asked) <= 250 * len(nodes)
    # 0.15 of the greatest is between rows 43 and 44
    require_balls(law, factors, nodes, (0, 42, 43, 44, 2499), values, bounds)


def continued(law, z):
    """E exp(-z X) of an inverse gamma on the cut plane, beyond the imaginary axis, in mpmath."""
    a, b = law.shape_scale()
    return 2 * (b * z) ** (mpmath.mpf(a) / 2) * mpmath.besselk(a, 2 * mpmath.sqrt(b * z)) / mpmath.gamma(a)


def test_the_remainder_stays_below_its_bound_on_the_whole_ellipse():
    law = LAWS[0]
    factors, nodes = factors_and_nodes(law, 500, 1.5, nodes=3)
    nodes = np.append(nodes, 400 * nodes[:1])  # of which the remainder is far above 1
    variable, radius = law.log_variable(), 0.75
    sizes = np.arcsinh(scaled_transforms._HALF_WIDTHS / radius)
    middle = math.sqrt(factors.min() * factors.max())
    farthest = middle * np.exp(radius * np.cosh(sizes))
    bounds = scaled_transforms._log_bound(variable, nodes, farthest)
    mean, finite = law.moments().mean, 0
    for place in (40, 46):
        for column, node in enumerate(nodes):
            if not np.isfinite(bounds[place, column]):
                continue
            finite += 1
            for turn in np.linspace(0, 2 * math.pi, 12, endpoint=False):
                u = radius * mpmath.cosh(mpmath.mpc(sizes[place], turn))
                z = middle * mpmath.exp(u) * mpmath.mpc(node)
                remainder = abs(continued(law, z) * mpmath.exp(z * mean) - 1)
                assert mpmath.log(remainder) <= bounds[place, column]
    assert finite >= 3


def test_the_slope_is_bounded_along_all_factors():
    for law in LAWS:
        factors, nodes = factors_and_nodes(law, 2, 1.0, nodes=7)
        steepest = scaled_transforms._steepest(law, float(factors.max()), nodes)
        for factor in (factors.max(), 0.9 * factors.max()):
            ahead, behind = (
                np.expm1(centred_log_transform(law, factor * math.exp(shift) * nodes)[0])
                for shift in (1e-4, -1e-4)
            )
            assert np.all(np.abs(ahead - behind) / 2e-4 <= steepest * (1 + 1e-6) + 1e-9)


def test_nodes_far_up_are_computed_one_by_one_and_all_of_a_contour_agree():
    """A contour reaches where single transforms are small; labels there are those of the direct formula."""
    law, contour = LAWS[0], Contour(0.5, 0.2, 60, 1.5)
    factors = np.linspace(0.5, 1.5, 150)
    grid, near = scaled_transforms._grid_for(law, factors, contour.nodes)
    assert grid is not None
    assert 0 < near.sum() < len(near)
    table = label_table([Term(-factor, law) for factor in factors], contour)
    expected, errors = centred_log_transform(law, factors[:, None] * contour.nodes)
    assert np.all(np.abs(table.transform - expected) <= table.rounding + errors)
    tilted, doubt = centred_log_transform(law, (factors * contour.tilt).astype(complex))
    assert np.all(table.tilted >= tilted.real - doubt)
    assert np.all(table.tilted <= tilted.real + 1e-13)


def test_factors_of_both_signs_have_no_transform_of_a_heavy_right_tail():
    factors = np.append(np.linspace(0.5, 1.0, 30), -np.linspace(0.5, 1.0, 30))
    with pytest.raises(InvalidInputError, match="does not exist"):
        scaled_log_transforms(LAWS[0], factors, np.array([0.3 + 0.2j]))
