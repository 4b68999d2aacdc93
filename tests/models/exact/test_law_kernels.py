"""What rounding may do to bounds under the law, against whole numbers, for any number of epochs."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import fft

from depl.models.exact.choices import Choices
from depl.models.exact.kernels import Laws, _violation
from depl.models.exact.law_completions import product_rounding
from depl.models.exact.law_grid import transform_units
from depl.models.problem.laws import Empirical
from tests.cases.law_search_cases import SURE, constant, grid_for, make, prefix_bound, subproblem

BITS = 200
"""Masses are whole multiples of 2**-200 in the oracle; 20,000 epochs of it stay below 1e-50."""


def whole(values):
    return np.array([int(Fraction(value) * (1 << BITS)) for value in values], dtype=object)


def power(law, epochs, wrapped=None):
    """Law of the sum of so many changes, or of the remainder of it."""
    result = whole([1.0])
    for digit in f"{epochs:b}":
        result = np.convolve(result, result) >> BITS
        result = np.convolve(result, law) >> BITS if digit == "1" else result
        if wrapped is not None:
            result = np.array([result[start::wrapped].sum() for start in range(wrapped)], dtype=object)
    return result


def one_kind(change, values, epochs):
    """Paths whose second epoch has this transform, and the table of a rest with these values after it."""
    size = len(values)
    row = np.conj(fft.rfft(values)) / size
    row[1 : (size + 1) // 2] *= 2.0
    transforms = change.reshape(1, 1, 1, -1).repeat(2, axis=0).repeat(2, axis=1)
    laws = Laws(
        transforms=transforms,
        clipped=transforms,
        rises=np.zeros((2, 2, 1), dtype=np.int64),
        may_follow=np.ones((2, 1), dtype=bool),
        models=np.zeros(1, dtype=np.int64),
        first_model=1,
        norms=np.array([0.0, 0.0, np.linalg.norm(values)]).reshape(3, 1, 1),
        least=np.array([[1], [1], [0]]),
        tops=np.zeros(epochs + 1, dtype=np.int64),
        highest=size,
        most=math.inf,
        rounding=product_rounding(epochs, size),
    )
    return laws, np.stack([0 * row, 0 * row, row]).reshape(3, 1, 1, -1)


def violation_and_truth(law, values, epochs):
    """Lower bounds of the compiled kernel and of the written one, the truth, and their doubt."""
    change = fft.rfft(law)
    before = np.ones_like(change)
    for _ in range(epochs - 1):
        before = before * change
    paths, table = one_kind(change, values, epochs)
    arguments = paths, table, before, 1, -1, 0, 0
    written = getattr(_violation, "py_func", _violation)
    known = int(power(whole(law), epochs, len(law)) @ whole(values))
    truth = float(Fraction(known, 1 << 2 * BITS))
    doubt = paths.rounding * float(abs(before[0] * change[0])) * float(paths.norms[2, 0, 0])
    return _violation(*arguments), written(*arguments), truth, doubt


@pytest.mark.parametrize("epochs", [71, 200, 1000])
def test_a_bound_is_below_the_truth_and_within_its_doubt_of_it_for_any_number_of_epochs(epochs):
    rng = np.random.default_rng(epochs)
    for size in (64, 90):
        law = rng.dirichlet(np.full(size, 0.1)) * rng.uniform(0.99, 1.01)
        compiled, written, truth, doubt = violation_and_truth(law, rng.exponential(size=size), epochs)
        assert truth - 2 * doubt <= compiled <= truth
        assert truth - 2 * doubt <= written <= truth


def test_a_bound_is_below_the_truth_where_the_errors_of_all_epochs_have_one_direction():
    """A certain change errs alike in every epoch: by 1.7e-12 after 20,000, for values where errors are."""
    size, epochs = 128, 20_000
    law = np.zeros(size)
    law[7] = 1.0
    product = fft.rfft(law)
    for _ in range(epochs - 1):
        product = product * fft.rfft(law)
    error = fft.irfft(product, size)
    error[7 * epochs % size] -= 1.0
    values = np.maximum(error, 0.0) / np.linalg.norm(np.maximum(error, 0.0))
    compiled, written, truth, doubt = violation_and_truth(law, values, epochs)
    assert compiled + doubt - truth > 1e-12
    assert max(compiled, written) <= truth


@pytest.mark.parametrize("size", [64, 90, 128, 135])
def test_transforms_err_by_no_more_than_is_granted(size):
    """In every entry and in the 2-norm, for sizes of two, three and five."""
    values = np.random.default_rng(size).exponential(size=size)
    with mpmath.workprec(150):
        angles = [mpmath.expjpi(mpmath.mpf(-2 * step) / size) for step in range(size)]
        exact = [
            mpmath.fsum(value * angles[f * x % size] for x, value in enumerate(map(mpmath.mpf, values)))
            for f in range(size // 2 + 1)
        ]
        errors = np.array(
            [
                float(abs(one - mpmath.mpc(complex(other))))
                for one, other in zip(exact, fft.rfft(values), strict=True)
            ]
        )
    granted = transform_units(size) * 2.0**-53
    assert errors.max() <= granted * values.sum()
    assert np.linalg.norm(errors) <= granted * math.sqrt(size / 2) * np.linalg.norm(values)


@pytest.mark.parametrize("epochs", [71, 200, 1000])
def test_the_bound_of_a_long_plan_is_what_fractions_say_of_its_grid(epochs):
    """One kind that gains 0, 1 or 2 steps, 42 in all on average: nothing is relaxed but by transforms."""
    limits = {"maximum_epochs": epochs, "maximum_time": 1e4 * epochs}
    grid = grid_for(make([SURE], **limits), 128, 5.0, epochs, 0.05)
    values = 0.0, grid.step, 2 * grid.step
    gains = constant(Empirical(values=values, weights=(epochs - 40.0, 38.0, 2.0)))
    search = subproblem(Choices(make([gains], **limits)), epochs, grid, 2, cutoff=1e9)
    law = search.steps.run(1, 0, 0)
    sums = power(whole(law.masses.tolist()), epochs)
    above = sum(mass for place, mass in enumerate(sums) if place + epochs * law.first > grid.target)
    truth = float(Fraction(above, 1 << BITS))
    bound = prefix_bound(search, (0,) * epochs, 0.0)
    assert 0.01 < truth < 0.99
    assert bound <= truth * (1 + grid.tilt_rounding(epochs)) + grid.aliased
    assert bound == pytest.approx(truth, rel=1e-6)
