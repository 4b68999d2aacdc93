"""Atoms beside one or two Student-t laws: against mpmath, adaptive quadrature and sums written out."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

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
from depl.models.risk.certify import certified_quantile, certified_violation
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


def cut(law):
    """Density and survival function of a law that was cut, by scipy's law before that."""
    base = stats.t(law.degrees_of_freedom, law.location, law.scale)
    below, mass = base.sf(law.upper), base.sf(law.lower) - base.sf(law.upper)
    return lambda x: base.pdf(x) / mass, lambda x: (base.sf(np.clip(x, law.lower, law.upper)) - below) / mass


@pytest.mark.parametrize("value", [-1.0, 0.4, 2.0, 5.9])
def test_two_cut_laws_beside_atoms(value):
    one, other = student(4.0, 0.2, 0.5, -1.0, 3.0), student(2.0, 0.0, 1.0, -0.5, 2.0)

    survival, density = cut(one)[1], cut(other)[0]

    def both(rest):
        marks = sorted({-0.5, 2.0, *np.clip([rest - 3.0, rest + 1.0, rest - 0.2, 0.0], -0.5, 2.0)})
        parts = [
            integrate.fixed_quad(lambda u: density(u) * survival(rest - u), *ends, n=60)[0]
            for ends in itertools.pairwise(marks)
        ]
        return sum(parts)

    expected = sum(weight * both(value - atom) for atom, weight in ((0.0, 0.25), (1.0, 0.5), (5.0, 0.25)))
    found = closed_violation(loss_of((1.0, one, 1), (1.0, other, 1), (1.0, DICE, 1)), value)
    assert found.lower - 1e-12 <= expected <= found.upper + 1e-12
    assert found.width <= 1e-9


@pytest.mark.parametrize(
    "law", [student(7.0, 0.1, 0.2), student(2.5, 0.1, 0.2, -0.3, 0.9)], ids=["whole", "cut"]
)
def test_atoms_beside_one_law_are_the_sum_written_out(law):
    loss = loss_of((-0.1, DICE, 2), (2.0, law, 1), constant=0.3)
    for value in (-0.9, -0.2, 0.2, 0.35, 1.0, 1.9):
        expected = 0.0
        for (a, p), (b, q) in itertools.product(zip((0, 1, 5), (0.25, 0.5, 0.25), strict=True), repeat=2):
            rest = (value - 0.3 + 0.1 * (a + b)) / 2
            tail = stats.t.sf(rest, 7, 0.1, 0.2) if law.lower is None else cut(law)[1](rest)
            expected += p * q * tail
        found = certified_violation(loss, value)
        assert found.lower - 1e-15 <= expected <= found.upper + 1e-15
        assert found.width <= 1e-10


@pytest.mark.parametrize("budget", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**10)])
@pytest.mark.parametrize(
    "loss",
    [
        loss_of((1.0, student(3.0), 2)),
        loss_of((-1.0, DICE, 2), (1.0, student(3.0, 0.5, 0.25), 1)),
        loss_of((1.0, student(3.0, 0.5, 0.25, -1.0, 1.0), 1)),
    ],
    ids=["two", "atoms", "cut"],
)
def test_the_budget_lies_between_the_probabilities_at_the_ends_of_the_quantile(loss, budget):
    found = certified_quantile(loss, budget)
    assert found.width <= 1e-8 * (1 + abs(found.upper))
    assert certified_violation(loss, found.lower - 1e-7).lower > budget * (1 - Fraction(1, 100))
    assert certified_violation(loss, found.upper + 1e-7).upper < budget * (1 + Fraction(1, 100))
    assert found.lower <= found.upper


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
