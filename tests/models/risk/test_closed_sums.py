"""Atoms beside one or two Student-t laws: against mpmath, adaptive quadrature and sums written out."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Dataset,
    Instance,
    Model,
    Switch,
    Target,
)
from depl.models.problem.laws import Deterministic, Empirical, Normal, StudentT
from depl.models.risk.certify import certified_violation
from depl.models.risk.closed_sums import closed_quantile, closed_violation
from depl.models.solving.result import Solution

DICE = Empirical(values=(0.0, 1.0, 5.0), weights=(1.0, 2.0, 1.0))


def student(nu, location=0.0, scale=1.0, lower=None, upper=None):
    return StudentT(degrees_of_freedom=nu, location=location, scale=scale, lower=lower, upper=upper)


def loss_of(*terms, constant=0.0):
    return FinalLoss(constant, tuple((Term(coefficient, law), count) for coefficient, law, count in terms))


def mp_density(nu, scale, x):
    nu = mpmath.mpf(nu)
    constant = mpmath.gamma((nu + 1) / 2) / (mpmath.sqrt(nu * mpmath.pi) * mpmath.gamma(nu / 2) * scale)
    return constant * (1 + (x / scale) ** 2 / nu) ** (-(nu + 1) / 2)


def mp_survival(nu, scale, x):
    nu, z = mpmath.mpf(nu), mpmath.mpf(x) / scale
    tail = mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + z * z), regularized=True) / 2
    return tail if z >= 0 else 1 - tail


@pytest.mark.parametrize("value", [-2.0, 0.0, 5.0, 300.0, 1e5])
@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (1.0, -0.125), (0.5, 40.0)])
def test_two_laws_of_three_degrees_of_freedom_have_a_closed_form(first, second, value):
    """E exp(i s T) = (1 + r) exp(-r), r = sqrt(3) |s|, and Gil-Pelaez's integral by hand."""
    with mpmath.workdps(40):
        root = mpmath.sqrt(3)
        c, v = root * (first + abs(second)), mpmath.mpf(value)
        turned = mpmath.atan(v / c) + c * v / (c**2 + v**2)
        turned += 3 * first * abs(second) * 2 * c * v / (c**2 + v**2) ** 2
        expected = mpmath.mpf(1) / 2 - turned / mpmath.pi
    found = closed_violation(loss_of((first, student(3.0), 1), (second, student(3.0), 1)), value)
    assert found.lower <= expected <= found.upper
    assert found.width <= 3e-10 * expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ((3, 1.0), (3, 1.0), 5.0),
        ((3, 1.0), (3, 1.0), 3e4),
        ((1.25, 1.0), (2.5, 0.25), 20.0),
        ((30, 1.0), (3, 0.125), 6.0),
        ((200, 1.0), (40, 2.0), -3.0),
    ],
)
def test_two_student_laws_agree_with_a_quadrature_of_thirty_digits(one, other, value):
    with mpmath.workdps(30):
        marks = sorted({-1e6, -1e3, -30, -3, 0, 3, 30, 1e3, 1e6, *(value + d for d in (-30, -3, 0, 3, 30))})
        expected = mpmath.quad(
            lambda u: mp_density(*other, u) * mp_survival(*one, value - u), [-mpmath.inf, *marks, mpmath.inf]
        )
    found = closed_violation(
        loss_of((1.0, student(one[0], 0.0, one[1]), 1), (-1.0, student(*other[:1], 0.0, other[1]), 1)), value
    )
    assert found.lower <= expected <= found.upper
    assert found.width <= 3e-10 * expected


def test_what_is_left_to_other_evaluators():
    t = student(3.0)
    for loss in (
        loss_of((1.0, t, 3)),
        loss_of((1.0, t, 1), (1.0, Normal(mean=0, variance=1), 1)),
        loss_of((1.0, DICE, 2)),
        loss_of((1.0, t, 2), (0.1234567, Empirical(values=tuple(np.sqrt(np.arange(2.0, 20.0)).tolist())), 1)),
        loss_of((1.0, t, 1), (1.0, student(3.0, 0.0, 1.0, 300.0, 301.0), 1)),
    ):
        assert closed_violation(loss, 1.0) is None
        assert closed_quantile(loss, Fraction(1, 10)) is None


def test_numbers_too_great_to_calculate_with_are_refused():
    with pytest.raises(InvalidInputError, match="rescale"):
        certified_violation(loss_of((1e200, student(3.0), 1)), 1.0)


@pytest.mark.parametrize("method", ["exact", "enumerate"])
def test_an_optimum_is_proved_where_atoms_meet_a_switch_at_the_last_digits(method):
    """b after a, or a after b, keeps omega by 1e-7: .577485 in place of 4 / 3 for twice a."""
    jump = student(7.0, 0.0, 0.2)
    instance = Instance(
        name="atoms",
        clusters=(Cluster(name="c", capacity=10, bandwidth=10, unit_cost=1),),
        datasets=(Dataset(name="d", volume=1),),
        models=(
            Model(
                name="a",
                size=0,
                demand=1,
                improvement=ConstantImprovement(noise=Empirical(values=(1.0, 2.0))),
            ),
            Model(
                name="b", size=0, demand=0.1, improvement=ConstantImprovement(noise=Deterministic(value=1))
            ),
        ),
        switches=(
            Switch(previous="a", following="b", law=jump),
            Switch(previous="b", following="a", law=jump),
        ),
        target=Target(
            initial_loss=5, maximum_loss=2.2, quantile_level=0.413643213, maximum_epochs=2, maximum_time=3
        ),
    )
    kept = 0.5 * (stats.t.cdf(1, 7) + stats.t.cdf(-4, 7))
    assert kept == pytest.approx(0.413643213, abs=2e-7)
    result = depl.solve(instance, method=method, time_limit=30)
    assert result.solution is Solution.PROVEN_OPTIMAL
    assert result.cost == pytest.approx(0.577485, abs=1e-6)
