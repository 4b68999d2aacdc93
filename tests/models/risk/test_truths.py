"""Laws by evaluators by oracles: intervals contain the truth, verdicts and quantiles lie on their side of it.

Oracles share no formula with the evaluators: closed forms, ball arithmetic, quadrature, Gil-Pelaez's integral
and whole fractions. `require` asks all directions in one place.
"""

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from flint import acb, arb, ctx
from mpmath import mp
from scipy import integrate, optimize, special, stats

from depl import risk
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, register_law
from depl.models.risk.certify import (
    certified_quantile,
    certified_violation,
    contour_violation,
    has_contour,
)
from depl.models.risk.closed_sums import closed_violation
from depl.models.risk.cores import cored_violation
from depl.models.risk.discrete import exact_quantile, exact_violation
from depl.models.risk.grid import grid_quantile, grid_violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict, certified_verdict
from tests.cases.gamma_law import BareGammaLaw, GammaLaw
from tests.oracles.atoms import above, written
from tests.oracles.ball_arithmetic import BallSum, distribution_function
from tests.problems import atoms, loss, student

POINTS = 2**13
"""Of the grids that are asked beside the evaluator of each loss."""

BY_GRID = ("", "directed grid")
"""Evaluators that take seconds: fewer values are asked for."""

Truth = Callable[[float], tuple[float, float]]
"""P(loss > value) by an oracle, between two numbers."""


class Case(NamedTuple):
    """A loss, its oracle, who answers, and how wide the answer may be relative to it."""

    loss: FinalLoss
    truth: Truth
    values: tuple[float, ...]
    how: str
    width: float = 1e-9


def near(oracle, slack=1e-12, away=1e-16):
    """Of an oracle that is right up to a relative and an absolute error."""

    def truth(value):
        found = oracle(value)
        return found * (1 - slack) - away, found * (1 + slack) + away

    return truth


def normal_case(places):
    laws = [(-1.0, Normal(mean=1.0, variance=0.25), 3), (0.5, Normal(mean=-0.5, variance=1.5), 10)]
    mean = 0.7 + sum(c * n * law.mean for c, law, n in laws)
    deviation = math.sqrt(sum(c * c * n * law.variance for c, law, n in laws))
    values = tuple(mean + place * deviation for place in places)
    return Case(loss(0.7, *laws), near(lambda v: stats.norm.sf(v, mean, deviation), 1e-11), values, "contour")


def gamma_case(kind, shape, scale, count, sign):
    law, total = kind(shape=shape, scale=scale), stats.gamma(count * shape, scale=scale)
    oracle = (lambda v: total.cdf(1.0 - v)) if sign < 0 else (lambda v: total.sf(v - 1.0))
    values = tuple(1.0 + sign * float(total.ppf(level)) for level in (0.02, 0.5, 0.9))
    sharp = kind is GammaLaw and sign < 0 and count * shape > 20
    how, width = ("contour", 1e-9) if sharp else ("", 2e-3)
    return Case(loss(1.0, (sign, law, count)), near(oracle), values, how, width)


def laplace_case():
    """E exp(-s S) of a difference of exponentials exists on neither half plane: no contour."""
    law = GammaLaw(shape=1.0, scale=2.0)
    oracle = near(stats.laplace(0.0, 2.0).sf)
    return Case(loss(0.0, (1.0, law), (-1.0, law)), oracle, (-5.0, 0.3), "directed grid", 2e-4)


def single(law, how="contour"):
    """2 - X, by the distribution function in balls."""
    values = tuple(2.0 - float(law.quantile(level)) for level in (1e-12, 1e-8, 0.03, 0.4))

    def truth(value):
        with ctx.workprec(120):
            found = distribution_function(law, acb(2.0 - value)).real
        return float(found.lower()), float(found.upper())

    return Case(loss(2.0, (-1.0, law)), truth, values, how, 1e-9 if how else 1.0)


def ball_case(*terms, levels=(0.05, 1e-6)):
    """By Poisson's summation in balls; targets where P is about a few numbers."""
    given = loss(5.0, *terms)
    values = tuple(certified_quantile(given, Fraction(str(level))).middle for level in levels)

    @functools.cache
    def ball_near(value):
        level = max(certified_violation(given, value).middle, 1e-9)
        return BallSum(given.terms, level, given.mean() - value, digits=16)

    def truth(value):
        ball = ball_near(min(values, key=lambda known: abs(known - value)))
        with ctx.workprec(120):
            found = ball.probability(arb(given.constant) - value - ball.expectation)
        assert found.rad() < 1e-15
        return float(found.lower()), float(found.upper())

    return Case(given, truth, values, "contour")


def beside_normals(bells, law, constant, values, width, levels=()):
    """The integral of f_T(s) P(G < constant + s - value) over s = location + scale sinh(x).

    All summands are positive, so the digits are relative; values are also found by their levels.
    """
    ends = [math.asinh((end - law.location) / law.scale) for end in law.support()]
    ends = [
        end if math.isfinite(end) else math.copysign(90.0 / law.degrees_of_freedom + 12.0, end)
        for end in ends
    ]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(*ends, 1001)
    half = np.diff(edges)[:, None] / 2
    x, mass = (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
    density = (1 + np.sinh(x) ** 2 / law.degrees_of_freedom) ** (-(law.degrees_of_freedom + 1) / 2) * np.cosh(
        x
    )
    density *= mass / float(density @ mass)

    def oracle(value):
        reached = constant - value - bells + law.location + law.scale * np.sinh(x)
        return float(density @ special.ndtr(reached / math.sqrt(0.2 * bells)))

    def value_at(level):
        return float(optimize.brentq(lambda v: math.log(oracle(v) / level), -bells - 5, 60.0, xtol=1e-13))

    given = loss(constant, (-1.0, BELL, bells), (1.0, law))
    values += tuple(map(value_at, levels))
    return Case(given, near(oracle, 1e-9), values, "contour", width)


def out_together(law, distance):
    """Two switches outside of their cores at once: far above the spread of the rest, which is left out."""
    x = np.linspace(-25.0, 25.0, 20_001)
    base, s = stats.t(law.degrees_of_freedom, 0.0, law.scale), law.scale * np.sinh(x)
    density = base.pdf(s) * law.scale * np.cosh(x) * (x[1] - x[0])
    truth = near(lambda v: float(density @ base.sf(distance + v - s)), 2e-5)
    return Case(loss(1.0 - distance, (-1.0, BELL), (1.0, law, 2)), truth, (0.0,), "contour with cores", 4e-4)


def one_open(law):
    base = stats.t(law.degrees_of_freedom, law.location, law.scale)
    values = tuple(2.0 - float(base.ppf(level)) for level in (1e-12, 1e-6, 0.03, 0.4))
    return Case(loss(2.0, (-1.0, law)), near(lambda v: base.cdf(2.0 - v), 1e-9), values, "closed sum")


def two_of_freedom_three(first, second, *values):
    """E exp(i s T) = (1 + r) exp(-r), r = sqrt(3) |s|, and Gil-Pelaez's integral by hand."""

    def oracle(value):
        with mp.workdps(40):
            c, v = mp.sqrt(3) * (first + abs(second)), mp.mpf(value)
            turned = mp.atan(v / c) + c * v / (c**2 + v**2)
            turned += 3 * first * abs(second) * 2 * c * v / (c**2 + v**2) ** 2
            return float(mp.mpf(1) / 2 - turned / mp.pi)

    given = loss(0.0, (first, student(3.0)), (second, student(3.0)))
    return Case(given, near(oracle, 1e-15, 0.0), values, "closed sum", 3e-10)


def three_of_freedom_three(*scales):
    """The same, by Gauss's rule on pieces of a fraction of a turn."""
    roots = math.sqrt(3) * np.array(scales)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = 50 / roots.sum() / 400
    s = (half * (2 * np.arange(400)[:, None] + 1 + nodes)).ravel()
    shares = np.prod((1 + np.outer(s, roots)) * np.exp(-np.outer(s, roots)), axis=1)
    shares *= np.tile(half * weights, 400) / s / math.pi
    given = loss(0.0, *((scale, student(3.0)) for scale in scales))
    truth = near(lambda v: 0.5 - float(shares @ np.sin(s * v)), 1e-12, 1e-12)
    return Case(given, truth, (2.0, 30.0), "directed grid", 2e-3)


def two_open(one, other, *values):
    """The trapezoidal rule over the second in x with s = sinh(x), of positive numbers."""
    x = np.linspace(-40.0, 40.0, 40_001)
    s, (first, second) = np.sinh(x), (stats.t(law.degrees_of_freedom, 0, law.scale) for law in (one, other))
    weights = second.pdf(s) * np.cosh(x) * (x[1] - x[0])
    truth = near(lambda v: float(weights @ first.sf(v - s)), 1e-10, 0.0)
    return Case(loss(0.0, (1.0, one), (-1.0, other)), truth, values, "closed sum", 3e-10)


def atoms_case():
    """In whole fractions, by all combinations."""
    given = loss(0.25, (-0.5, atoms(0.0, 1.0, 5.0), 2), (2.0, atoms(-0.3, 0.1), 2))

    def truth(value):
        share = float(above(given, written(value) + Fraction(1, 10**9)))
        return share, share

    return Case(given, truth, (-4.0, -0.35, 0.05, 0.6), "exact sum", 1e-15)


def atoms_beside(law):
    """The sum over the atoms, written out, by scipy's survival function."""
    base, dice = stats.t(law.degrees_of_freedom, law.location, law.scale), (0.0, 1.0, 5.0)
    low, high = (base.sf(end) for end in law.support())

    def oracle(value):
        tails = [base.sf(np.clip((value + 0.1 * (a + b)) / 2, *law.support())) for a in dice for b in dice]
        return float(np.mean([(tail - high) / (low - high) for tail in tails]))

    given = loss(0.0, (-0.1, atoms(*dice), 2), (2.0, law))
    return Case(given, near(oracle, 1e-10, 1e-13), (-0.9, 0.2, 0.35, 1.0), "closed sum")


def two_cut():
    """Two cut laws, piece by piece between the kinks."""
    one, other = student(4.0, 0.2, 0.5, -1.0, 3.0), student(2.0, 0.0, 1.0, -0.5, 2.0)
    base, flat = stats.t(4.0, 0.2, 0.5), stats.t(2.0)
    ends, mass = (base.sf(3.0), base.sf(-1.0)), flat.cdf(2.0) - flat.cdf(-0.5)

    def oracle(value):
        marks = sorted({-0.5, 2.0, *np.clip([value - 3.0, value + 1.0, value - 0.2, 0.0], -0.5, 2.0)})

        def integrand(u):
            tail = (base.sf(np.clip(value - u, -1.0, 3.0)) - ends[0]) / (ends[1] - ends[0])
            return flat.pdf(u) / mass * tail

        return sum(integrate.fixed_quad(integrand, *pair, n=60)[0] for pair in itertools.pairwise(marks))

    given = loss(0.0, (1.0, one), (1.0, other))
    return Case(given, near(oracle, 0, 1e-12), (-1.0, 0.4, 2.0, 4.5), "closed sum", 2e-9)


BELL = Normal(mean=1.0, variance=0.2)
FAST, SLOW = InverseGamma(mean=1.02, variance=0.031), InverseGamma(mean=0.98, variance=0.007)
SWITCH = student(3.0, 0.1, 0.05, -0.2, 0.5)
TRACES = Empirical(values=(0.7, 0.9, 1.0, 1.05, 1.3), weights=(1.0, 3.0, 3.0, 2.0, 1.0))
NOISE = Normal(mean=0.1, variance=0.01)
CASES = {
    "normal": lambda: normal_case((-3.0, 0.0, 1.0, 4.0)),
    "normal, far": lambda: normal_case((-8.0, 8.0)),
    **{
        f"{kind.__name__} {shape}, {sign:+}": functools.partial(gamma_case, kind, shape, scale, count, sign)
        for kind in (GammaLaw, BareGammaLaw)
        for shape, scale, count, sign in ((25.0, 0.04, 4, -1.0), (4.0, 0.5, 6, -1.0), (0.7, 2.0, 3, 1.0))
        if kind is GammaLaw or sign < 0
    },
    "a difference of exponentials": laplace_case,
    **{
        f"inverse gamma {a}": functools.partial(single, InverseGamma(shape=a, scale=a - 1))
        for a in (1.05, 1.5, 2.1, 5.0, 35.6, 1000.0)
    },
    **{
        f"lognormal {m}, {v}": functools.partial(single, Lognormal(log_mean=m, log_variance=v))
        for m, v in ((0.0, 1e-4), (-3.0, 0.25), (0.0, 0.64))
    },
    "wide lognormal": lambda: single(Lognormal(log_mean=0.0, log_variance=2.0), ""),
    "one t": lambda: one_open(student(3.0, 1.0, 0.5)),
    "inverse gammas": lambda: ball_case((-1.0, FAST, 3), (-0.4, SLOW, 4)),
    "heavy inverse gammas": lambda: ball_case(
        (-1.0, InverseGamma(shape=1.5, scale=0.5), 2), (-0.5, InverseGamma(shape=1.9, scale=1.0), 1)
    ),
    "with atoms": lambda: ball_case((-0.5, InverseGamma(shape=60.0, scale=59.0), 3), (-1.0, TRACES, 2)),
    "with normal": lambda: ball_case((-1.0, Lognormal(mean=1.0, variance=0.2), 2), (1.0, NOISE, 1)),
    "with a cut t": lambda: ball_case((-0.5, FAST, 3), (-1.0, TRACES, 1), (1.0, SWITCH, 1), levels=(0.01,)),
    "one t beside normals": lambda: beside_normals(3, student(3.0, 0.1, 0.3), 2.0, (-0.5, 0.3, 9.0), 2e-7),
    "a heavy t beside normals": lambda: beside_normals(10, student(1.5, 0.3, 0.1), 11.0, (1.2, 2.5), 2e-9),
    "a t cut far out": lambda: beside_normals(3, student(2.0, 0.05, 0.1, -1e4, 1e4), 0.5, (-1.0, 0.5), 3e-9),
    **{
        f"a t of {freedom} beside normals, {level}": functools.partial(
            beside_normals, 3, student(freedom, 0.0, 0.3), 0.0, (), width, (level,)
        )
        for level, freedom, width in ((1e-12, 20.0, 3e-8), (1e-13, 12.0, 1e-3), (0.02, 1.5, 2e-9))
    },
    "a t beside thirty normals": lambda: beside_normals(
        30, student(3.0, 0.0, 0.3), 0.0, (), 2e-9, (0.02, 0.5, 0.9)
    ),
    "two t out of their cores": lambda: out_together(student(1.5, 0.0, 1.5), 450.0),
    "two t": lambda: two_of_freedom_three(1.0, -0.125, 0.0, 5.0, 300.0, 1e5),
    "a t and a wide t": lambda: two_of_freedom_three(0.5, 40.0, -2.0, 5.0, 300.0),
    "a heavy t and another": lambda: two_open(student(1.25), student(2.5, 0.0, 0.25), 5.0, 20.0),
    "nearly normal and a narrow t": lambda: two_open(student(30.0), student(3.0, 0.0, 0.125), 2.0, 6.0),
    "two nearly normal t": lambda: two_open(student(200.0), student(40.0, 0.0, 2.0), -3.0, 3.0),
    "three t": lambda: three_of_freedom_three(1.0, 0.5, 0.5),
    "atoms": atoms_case,
    "atoms beside a t": lambda: atoms_beside(student(7.0, 0.1, 0.2)),
    "atoms beside a cut t": lambda: atoms_beside(student(2.5, 0.1, 0.2, -0.3, 0.9)),
    "two cut t": two_cut,
}


@functools.cache
def case_of(name):
    """Made once, as balls take a second."""
    return CASES[name]()


def require(found, truth):
    """The truth, up to what the oracle leaves open, is inside."""
    if found is not None:
        assert found.lower <= truth[1]
        assert truth[0] <= found.upper


@pytest.mark.parametrize("name", CASES)
def test_every_evaluator_contains_the_truth(name, own_laws):
    register_law(GammaLaw)
    register_law(BareGammaLaw)
    given, oracle, values, how, width = case_of(name)
    for value in values if how not in BY_GRID else values[:2]:
        truth, found = oracle(value), certified_violation(given, value)
        require(found, truth)
        assert how in found.how
        rounding = 0.0 if how == "contour" and found.upper < 0.5 else 2e-15
        likely = 0.02 if how == "contour" and width == 1e-9 and 1e-3 < found.lower < 0.99 else 1.0
        assert found.width <= likely * width * max(found.upper, 1e-15) + rounding
        for evaluator in (exact_violation, contour_violation, cored_violation, closed_violation):
            if has_contour(given) or evaluator is not contour_violation:
                require(evaluator(given, value), truth)
        require(grid_violation(given, value, POINTS), truth)
    if how == "exact sum":  # which forgives an atom just above its target
        return
    value, truth = values[0], oracle(values[0])
    for sign in (1, -1):  # of the sum, and of less the sum
        terms = [(term.law, sign * term.coefficient, count) for term, count in given.terms]
        found = risk.probability(terms, sign * value, constant=sign * given.constant, above=sign > 0)
        require(found, truth)
        assert how != "contour" or found.width <= max(width, 1e-9)
        if how not in BY_GRID:
            found = risk.probability(terms, sign * value, constant=sign * given.constant, above=sign < 0)
            require(found.complement(), truth)


@pytest.mark.parametrize("name", CASES)
def test_verdicts_and_quantiles_are_on_their_side_of_the_truth(name, own_laws):
    """With budgets a little below and above the truth; a quantile is where the truth passes the budget."""
    register_law(GammaLaw)
    register_law(BareGammaLaw)
    given, oracle, values, how, width = case_of(name)
    nearly = max(2 * width, 1e-6)
    for value in values[: 1 if how in BY_GRID else 2]:
        low, high = oracle(value)
        for share in (1 - nearly, 1 + nearly):
            budget = Fraction(share * (low if share < 1 else high))
            if not Fraction(1, 10**13) <= budget < 1:
                continue
            right, wrong = (Verdict.VIOLATED, Verdict.MET)[:: 1 if share < 1 else -1]
            found = {PreparedVerdicts(value, budget).verdict(given)}
            found |= {Verdict(v) for v in PreparedVerdicts(value, budget).many(LossClasses.of([given] * 5))}
            if how not in BY_GRID:
                found.add(certified_verdict(given, value, budget))
                assert right in found
            assert wrong not in found
    budgets = [
        Fraction(str(round(min(max(oracle(value)[0], 1e-10), 0.9), 11)))
        for value in (values[-1], *values[1:2])
    ]
    last = budgets[0]
    terms = [(term.law, term.coefficient, count) for term, count in given.terms]
    sharp = how in ("contour", "exact sum", "closed sum") and width <= 1e-9
    asked = [(budget, certified_quantile(given, budget)) for budget in budgets[: 2 if sharp else 1]]
    for _, found in asked if how == "contour" and sharp else ():
        assert found.width <= 1e-10 * (1 + abs(found.middle - given.mean()))
    if how not in BY_GRID:
        asked.append((last, grid_quantile(given, 1 - last, POINTS)))
        asked.append((last, risk.quantile(terms, 1 - last, constant=given.constant)))
        turned = [(law, -coefficient, count) for law, coefficient, count in terms]
        if how.startswith("contour"):
            asked.append((last, risk.quantile(turned, last, constant=-given.constant).negated()))
    if how == "exact sum":
        asked.append((last, exact_quantile(given, 1 - last)))
    for budget, found in asked:
        before, after = (
            end + side * 1e-9 * (1 + abs(end)) for side, end in ((-1, found.lower), (1, found.upper))
        )
        assert found.lower <= found.upper
        assert not math.isfinite(before) or oracle(before)[1] >= float(budget) * (1 - 1e-9)
        assert not math.isfinite(after) or oracle(after)[0] <= float(budget) * (1 + 1e-9)
        if how not in ("exact sum", *BY_GRID) and found.how != "directed grid":
            assert oracle(found.lower)[0] <= float(budget) * (1 + 4 * nearly)
            assert oracle(found.upper)[1] >= float(budget) * (1 - 4 * nearly)
