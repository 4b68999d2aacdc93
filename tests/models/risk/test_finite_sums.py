"""Transforms of laws that are finite sums, on lines of nodes: their error bounds against ball arithmetic."""

import math
from collections.abc import Iterator

import flint
import numpy as np
import pytest
from flint import acb, arb

from depl.models.problem.laws import Empirical, StudentT
from depl.models.risk import finite_sums
from depl.models.risk.finite_sums import finite_sum
from tests.oracles import ball_arithmetic
from tests.problems import student

DIGITS = 60
MISSED = 1e-3
"""An error bound is of use up to here: a violation probability is decided to some digits."""


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with flint.ctx.workdps(DIGITS):
        yield


def atoms(rng: np.random.Generator, case: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and masses: normal, of heavy tails, far from 0 beside their spread, or points of a wide t."""
    number = int(rng.choice([17, 300, 2_000, 9_000]))
    if case % 4 == 3:
        law = far(rng)
        points, masses = law.quadrature(40, (law.upper - law.lower) / (number / 40))
        return centred(points, masses), masses
    values = (
        rng.normal(size=number),
        rng.standard_cauchy(number),
        1e6 + rng.pareto(0.8, number),
    )[case % 4]
    masses = rng.pareto(1.2, number) + 1e-12
    masses /= masses.sum()
    return centred(values, masses), masses


def centred(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Less their mean, which is rounded in its own size at first, and then in that of the spread."""
    offsets = points - float(masses @ points)
    return np.asarray(offsets - float(masses @ offsets))


def far(rng: np.random.Generator) -> StudentT:
    """A Student-t of heavy tails, cut at ten to a thousand scales."""
    ends = 10 ** rng.uniform(1, 3, 2)
    freedom, location, scale = rng.uniform(0.3, 3), rng.normal(), np.exp(rng.normal())
    return student(float(freedom), float(location), float(scale), -float(ends[0]), float(ends[1]))


def line(rng: np.random.Generator, spread: float) -> tuple[np.ndarray, float]:
    """Nodes over less than one turn of the whole spread up to some hundreds; either sign of Re z."""
    count = int(rng.choice([16, 65, 200, 700]))
    step = 10 ** float(rng.uniform(-3, 0.5)) / spread
    real = float(rng.choice([-1, 1])) * 10 ** float(rng.uniform(-2, 1)) / spread
    return real + 1j * step * np.arange(count), step


def exact(z: complex, offsets: np.ndarray, masses: np.ndarray) -> acb:
    """log E exp(-z (X - E X)) of the law with these atoms, whose probabilities are as the masses."""
    argument, total, mean, whole = -acb(z.real, z.imag), acb(0), arb(0), arb(0)
    for x, mass in zip(offsets.tolist(), masses.tolist(), strict=True):
        total += arb(mass) * (argument * x).exp()
        mean += arb(mass) * x
        whole += arb(mass)
    return (total / whole).log() - argument * mean / whole


@pytest.mark.parametrize("case", range(8))
def test_sums_on_a_line_are_off_by_no_more_than_their_bound(case: int) -> None:
    rng = np.random.default_rng([case, 1])
    offsets, masses = atoms(rng, case)
    z, step = line(rng, float(np.abs(offsets).max()))
    values, errors = finite_sums._sums_on_a_line(z, step, offsets, masses)
    for j in {0, len(z) // 3, len(z) - 1}:
        truth = exact(complex(z[j]), offsets, masses)
        difference = acb(values[j].real, values[j].imag) - truth
        turns = round(float(difference.imag.mid()) / (2 * math.pi))
        off = abs(difference - acb(0, 2 * turns * arb.pi()))
        assert off <= float(errors[j])
    assert np.median(errors) <= MISSED


@pytest.mark.parametrize(("case", "heavy"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_transform_of_a_law_on_a_line_contains_the_true_one(
    case: int, heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law's own transform: with its atoms' masses, or the integral of its density."""
    rng = np.random.default_rng([case, 2])
    law = far(rng) if heavy else Empirical(values=tuple(rng.standard_cauchy(400).tolist()))
    low, high = law.support()
    z, _ = line(rng, max(abs(low), abs(high)))
    called = []
    usual = finite_sums._sums_on_a_line

    def seen(*arguments: object) -> object:
        called.append(arguments)
        return usual(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(finite_sums, "_sums_on_a_line", seen)
    values, errors = finite_sum(law, z[None])
    assert called
    for j in (0, len(z) // 2, len(z) - 1):
        assert ball_arithmetic.error_of(law, complex(z[j]), complex(values[0, j])) <= errors[0, j]


@pytest.mark.parametrize("place", [-800.0, -750.0])
def test_masses_that_underflowed_are_counted_where_the_tilt_makes_them_great(place: float) -> None:
    """A mass of 1e-305, stored as 0, has more of E exp(-z X) at z = 1 than all the rest."""

    class Underflowed:
        """Points and masses as a law with a far tail has them."""

        def sum_for(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.array([place, -1.0, 1.0]), np.array([0.0, 0.5, 0.5])

    z = np.array([1.0 + 0.0j, 1.0 + 0.5j])
    values, errors = finite_sum(Underflowed(), z)
    for argument, value, error in zip(z, values, errors, strict=True):
        rest = ((-acb(argument)).exp() + acb(argument).exp()) / 2
        true = (arb("1e-305") * (-acb(argument) * place).exp() + rest).log()
        assert float(abs((true - acb(value)).real).lower()) <= error
