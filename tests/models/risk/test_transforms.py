"""Log-transforms and their error bounds against ball arithmetic, closed forms and mpmath."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from flint import acb, arb, ctx

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.problem.laws.log_variable import EPSILON
from depl.models.risk import finite_sums, transforms
from depl.models.risk.finite_sums import finite_sum
from depl.models.risk.transforms import centred_log_transform, transformable
from tests.oracles import ball_arithmetic as ball
from tests.problems import atoms, student

SHAPES = (1.05, 1.2, 1.5, 1.51, 2.0, 2.1, 5.0, 34.999, 35.0, 60.0, 139.2, 1000.0)
STEEPEST = math.atan(30)


def spread(law):
    """Standard deviation, or twice the mean where that is less or there is none."""
    mean, variance = law.moments()
    return math.sqrt(min(variance, 4 * mean**2)) if mean else math.sqrt(variance)


def arguments(law, count, seed, sizes=(1e-3, 5.0)):
    """Complex z as on a contour: |z| times the spread of the law within ``sizes``, arg z up to atan 30."""
    rng = np.random.default_rng(seed)
    modulus = np.exp(rng.uniform(math.log(sizes[0]), math.log(sizes[1]), count)) / spread(law)
    return modulus * np.exp(1j * rng.uniform(-0.02, STEEPEST, count))


def true_errors(law, z, values):
    return np.array(
        [ball.error_of(law, complex(at), complex(value)) for at, value in zip(z, values, strict=True)]
    )


STUDENTS = [
    student(3, 0.1, 0.05, -0.2, 0.5),
    student(0.5, 0.0, 0.01, -1.0, 3.0),
    student(200.0, 1.0, 0.3, 0.0, 2.5),
    student(4, 0.0, 1.0, 3.0, 5.0),
    student(2, 100.0, 0.01, 99.9, 100.2),
]
VALUES = -0.9, 0.1, 0.2, 0.9
USUAL, TINY = (1e-3, 5.0), (1e-13, 1e-3)


def gamma(shape, scale_over_mean=1.0):
    return InverseGamma(shape=shape, scale=(shape - 1) * scale_over_mean)


def lognormal(log_mean, sigma):
    return Lognormal(log_mean=log_mean, log_variance=sigma**2)


@pytest.mark.parametrize(
    ("law", "count", "sizes", "looseness"),
    [
        *((gamma(shape), 12, USUAL, 200) for shape in SHAPES),
        *((gamma(shape, 1e-6), 12, USUAL, 200) for shape in (1.05, 2.1, 35.0, 1000.0)),
        *((gamma(shape), 16, (5.0, 1000.0), 1e3) for shape in (1.05, 1.7, 20.0, 35.0, 1000.0)),
        *((gamma(shape), 12, TINY, 1e3) for shape in (1.51, 1.6, 2.0, 5.0, 102.0)),
        *((lognormal(0.0, sigma), 6, USUAL, 1e3) for sigma in (0.005, 0.1, 0.5, 1.0, 2.0, 3.0)),
        *(
            (lognormal(m, s), 6, USUAL, 1e3)
            for m, s in ((-5.0, 0.5), (-100.0, 0.1), (60.0, 0.005), (60.0, 3.0))
        ),
        *((lognormal(0.0, sigma), 6, (5.0, 60.0), 1e3) for sigma in (0.1, 1.0)),
        *((law, 5, (1e-3, 20.0), 1e3) for law in STUDENTS),
        *(
            (atoms(*(x + far for x in VALUES), weights=(1, 2, 3, 4)), 9, (0.01, 20.0), 1e7)
            for far in (0, 1000)
        ),
        *((Normal(mean=123.0, variance=variance), 9, USUAL, 1e3) for variance in (1e-6, 1.0, 1e6)),
    ],
    ids=str,
)
def test_the_error_is_within_its_bound_which_is_not_loose(law, count, sizes, looseness):
    for side in (1.0, -1.0) if isinstance(law, StudentT) else (1.0,):
        z = side * arguments(law, count, seed=count + round(sum(map(ord, str(law)))), sizes=sizes)
        z[0] = z[0].real  # as the first node of a contour
        values, bounds = centred_log_transform(law, z)
        errors = true_errors(law, z, values)
        assert np.all(errors <= bounds), f"error exceeds its bound {np.max(errors / bounds):.3g} times"
        assert np.median(bounds / np.maximum(errors, 1e-25)) < looseness
        if sizes == TINY:  # of second order here; first-order rounding would be EPSILON |z| E X
            assert np.all(errors < 8 * EPSILON * np.abs(z) * spread(law))


@pytest.mark.parametrize("shape", [1.05, 20.0, 50.0])
def test_the_bound_covers_an_argument_rounded_by_one_part_in_two_to_the_52(shape):
    law = InverseGamma(shape=shape, scale=2.0)
    z = arguments(law, 12, seed=5, sizes=(1e-2, 30.0))
    values, bounds = centred_log_transform(law, z)
    for direction in (0, 1, 2, 3):
        for at, value, bound in zip(z, values, bounds, strict=True):
            with ctx.workprec(120):
                moved = acb(at.real, at.imag) * (1 + acb(0, 1) ** direction * arb(2) ** -52)
            assert ball.error_of(law, moved, complex(value)) <= bound


def test_a_transform_that_vanishes_has_an_infinite_bound():
    law = Empirical(values=(0.0, 1.0), weights=(1.0, 1.0))
    for z in (1j * math.pi, 1e-15 + 1j * math.pi):
        _, bounds = centred_log_transform(law, np.array([z]))
        assert bounds[0] > 0.5


OPEN = student(3, 0.0, 1.0)


@pytest.mark.parametrize(
    ("law", "z", "words"),
    [
        *((gamma(3.0), z, "does not exist for Re z <= 0") for z in (0.0, 1j, -0.1 + 1j)),
        (lognormal(0.0, 1.0), -0.1 + 1j, "does not exist for Re z <= 0"),
        (OPEN, 1.0, "condition on it instead"),
    ],
    ids=str,
)
def test_transforms_that_do_not_exist_are_refused(law, z, words):
    with pytest.raises(InvalidInputError, match=words):
        centred_log_transform(law, np.array([1.0, z]))
    falling = SimpleNamespace(transform_domain=lambda: (-math.inf, 2.0))  # as a law of a user may be
    with pytest.raises(InvalidInputError, match="Re z >= 2"):
        centred_log_transform(falling, np.array([1.0, 2.0]))
    assert transformable(Term(-1.0, law)) == (law is not OPEN)
    assert transformable(Term(-1.0, STUDENTS[0]))


@pytest.mark.parametrize(
    "law",
    [
        *map(gamma, (1.05, 5.0, 35.0, 1000.0)),
        *(lognormal(0.0, s) for s in (0.1, 2.0)),
        Normal(mean=1, variance=2),
    ],
    ids=str,
)
def test_the_laws_said_to_decay_have_a_log_log_concave_modulus(law):
    assert law.decays
    steps = np.linspace(math.log(0.01), math.log(200.0), 120)
    for abscissa in (0.05, 1.0, 8.0):
        z = abscissa / spread(law) * (1 + 1j * np.exp(steps))
        values, bounds = centred_log_transform(law, z)
        bend = np.diff(values.real, 2)
        assert np.all(bend <= 4 * np.maximum(np.maximum(bounds[:-2], bounds[1:-1]), bounds[2:]))
        assert values.real[-1] < values.real[0]


@pytest.mark.parametrize("law", [gamma(3.0), gamma(50.0), lognormal(0.0, 0.6), STUDENTS[0]], ids=str)
def test_answers_keep_the_shape_and_what_is_remembered_is_not_what_was_handed_out(law):
    """An answer that its reader changes leaves the next one alone; so many arguments are computed afresh."""
    points = (1 + 1j * np.linspace(0.3, 0.31, 2000)) / spread(law)
    first, error = centred_log_transform(law, points[:20])
    kept = first.copy(), error.copy()
    first[:], error[:] = 0, 0
    again, doubt = centred_log_transform(law, points[:20].reshape(4, 5))
    assert again.shape == doubt.shape == (4, 5)
    assert np.all(np.abs(again.ravel() - kept[0]) <= doubt.ravel())
    many, doubts = centred_log_transform(law, points)
    assert np.all(np.abs(many[:20] - kept[0]) <= doubts[:20] + kept[1])


@pytest.mark.parametrize("share", [1e-3, 0.03, 0.3])
def test_an_error_of_a_sum_is_one_of_its_logarithm_on_the_side_where_that_is_greater(share, monkeypatch):
    """With |e| <= share |s|, log(s + e) is off by up to -log(1 - share), more than by share."""
    line_sums = transforms._line_sums

    def rounded(*arguments):
        sums, moduli, roundings = line_sums(*arguments)
        return sums, moduli, roundings + share * np.abs(sums) / EPSILON

    monkeypatch.setattr(transforms, "_line_sums", rounded)
    z = np.array([40.0 + 3j, 200.0 + 90j])  # large: the whole integrand, not its remainder
    _, error = transforms._trapezoid(Lognormal(mean=1, variance=0.5).log_variable(), z)
    assert np.all(error >= -math.log1p(-share))
    assert np.all(error <= -math.log1p(-share) * (1 + 2 * share))


# --- laws that are finite sums, on lines of nodes --------------------------------------------------------


DIGITS = 60


def far(rng):
    """A Student-t of heavy tails, cut at ten to a thousand scales."""
    ends = 10 ** rng.uniform(1, 3, 2)
    freedom, location, scale = rng.uniform(0.3, 3), rng.normal(), np.exp(rng.normal())
    return student(float(freedom), float(location), float(scale), -float(ends[0]), float(ends[1]))


def line(rng, spread):
    """Nodes over less than one turn of the whole spread up to some hundreds; either sign of Re z."""
    count = int(rng.choice([16, 65, 200, 700]))
    step = 10 ** float(rng.uniform(-3, 0.5)) / spread
    real = float(rng.choice([-1, 1])) * 10 ** float(rng.uniform(-2, 1)) / spread
    return np.asarray(real + 1j * step * np.arange(count))


@pytest.mark.parametrize(("case", "heavy"), [(case, case > 3) for case in range(8)])
def test_the_transform_of_a_law_on_a_line_contains_the_true_one(case, heavy, monkeypatch):
    """The law's own transform: with its atoms' masses, or the integral of its density."""
    rng = np.random.default_rng([case, 2])
    values = (rng.normal(size=17), rng.standard_cauchy(400), 1e6 + rng.pareto(0.8, 2000))[case % 3]
    weights = tuple((rng.pareto(1.2, values.size) + 1e-12).tolist())
    law = far(rng) if heavy else Empirical(values=tuple(values.tolist()), weights=weights)
    low, high = law.support()
    z = line(rng, max(abs(low - law.moments().mean), abs(high - law.moments().mean)))
    called = []
    usual = finite_sums._sums_on_a_line

    def seen(*arguments):
        called.append(arguments)
        return usual(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(finite_sums, "_sums_on_a_line", seen)
    values, errors = finite_sum(law, z[None])
    assert called
    for j in (0, len(z) // 2, len(z) - 1):
        assert ball.error_of(law, complex(z[j]), complex(values[0, j])) <= errors[0, j]
    assert np.median(errors) <= 1e-3  # a violation probability is decided to some digits


@pytest.mark.parametrize("place", [-800.0, -750.0, 800.0])
def test_masses_that_underflowed_are_counted_where_the_tilt_makes_them_great(place):
    """A mass of 1e-305, stored as 0, has more of E exp(-z X) at |z| = 1 than all the rest."""

    class Underflowed:
        """Points and masses as a law with a far tail has them."""

        def sum_for(self, z):
            return np.array([place, -1.0, 1.0]), np.array([0.0, 0.5, 0.5])

    z = -np.sign(place) * np.array([1.0 + 0.0j, 1.0 + 0.5j])
    values, errors = finite_sum(Underflowed(), z)
    for argument, value, error in zip(z, values, errors, strict=True):
        with ctx.workdps(DIGITS):
            rest = ((-acb(argument)).exp() + acb(argument).exp()) / 2
            true = (arb("1e-305") * (-acb(argument) * place).exp() + rest).log()
            assert float(abs((true - acb(value)).real).lower()) <= error
