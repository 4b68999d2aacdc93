"""A and B of eq. (8): scipy's least squares as a second method, what intervals cover."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares as by_scipy

from depl.models.estimation.curve import (
    epoch_sums,
    fit_curve,
    fitted_curves,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

A, B, SHAPE = 2.0, 3.0, 35.6


def drawn(rng: np.random.Generator, runs: int, epochs: int, first: int = 1) -> tuple[FloatArray, FloatArray]:
    """Improvements that follow eq. (8) with an inverse gamma X of mean 1, and their epochs."""
    ks = np.arange(first, first + epochs, dtype=float)
    ratios = (SHAPE - 1) / rng.standard_gamma(SHAPE, (runs, epochs))
    return A / np.sqrt(ks + B) * ratios, ks


@pytest.mark.parametrize("seed", range(5))
def test_no_other_curve_has_a_smaller_sum_of_squares_by_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, ks = drawn(rng, 4, 25)
    values[rng.random(values.shape) < 0.2] = np.nan
    found = fitted_curves(ks, epoch_sums(values, np.ones((1, 4))))
    scale, offset = float((found.scale / found.mean_ratio)[0]), float(found.offset[0])

    def residuals(parameters: FloatArray) -> FloatArray:
        errors = values - parameters[0] / np.sqrt(ks + parameters[1])
        return np.asarray(errors[np.isfinite(errors)])

    second = by_scipy(residuals, [1.0, 1.0], bounds=([-np.inf, -0.99], np.inf), xtol=1e-14, ftol=1e-14)
    assert (residuals(np.array([scale, offset])) ** 2).sum() <= 2 * second.cost * (1 + 1e-10)
    assert (scale, offset) == pytest.approx(second.x, rel=1e-3)


def test_an_improvement_that_does_not_decay_is_a_constant() -> None:
    found = fit_curve(np.full((2, 12), 0.7), np.arange(1, 13), np.random.default_rng(0))
    assert found.constant
    assert found.scale == pytest.approx(0.7, rel=1e-14)
    assert math.isinf(found.offset_bounds.upper)
    assert found.at(np.array([1.0, 100.0])).tolist() == [found.scale, found.scale]


def test_a_constant_may_be_asked_for() -> None:
    values, ks = drawn(np.random.default_rng(1), 30, 8)
    found = fit_curve(values, ks, np.random.default_rng(2), constant=True)
    assert found.constant
    assert found.scale == values.mean()
    assert found.scale_bounds.lower < found.scale < found.scale_bounds.upper
    few = fit_curve(values[:2], ks, np.random.default_rng(2), constant=True)
    half = 2.1314 * values[:2].std(ddof=1) / 4  # the 0.975 quantile of Student's t, 15 degrees of freedom
    assert few.scale_bounds.upper - few.scale == pytest.approx(half, rel=1e-4)


@pytest.mark.slow
def test_nineteen_of_twenty_intervals_contain_the_truth() -> None:
    """300 data sets each; a count with p = 0.95 stays above 0.915 with probability 0.99."""
    rng = np.random.default_rng(20261121)
    inside = np.zeros((2, 2))
    for _ in range(300):
        for row, (runs, epochs) in enumerate([(40, 20), (1, 60)]):
            found = fit_curve(*drawn(rng, runs, epochs), rng, resamples=499)
            inside[row, 0] += found.scale_bounds.lower <= A <= found.scale_bounds.upper
            inside[row, 1] += found.offset_bounds.lower <= B <= found.offset_bounds.upper
    assert (inside / 300 >= 0.915).all()


@pytest.mark.parametrize(
    ("values", "epochs", "message"),
    [
        (np.ones(5), np.arange(1, 6), r"the shape \(runs, epochs\)"),
        (np.ones((1, 5)), np.arange(1, 5), "for 4 epochs"),
        (np.ones((1, 5)), np.arange(5), "counted from 1"),
        (np.ones((1, 3)), [1, 2, 2], "the same one"),
        (np.array([[1.0, np.inf, 1, 1]]), np.arange(1, 5), "finite"),
        (np.ones((2, 2)), [1, 2], "at least 3 epochs and 4 improvements, not 2 and 4"),
        (np.ones((1, 3)), [1, 2, 3], "not 3 and 3"),
        (np.zeros((2, 4)), np.arange(1, 5), "does not move"),
        (np.array([[1.0] * 4, [-1.0] * 4]), np.arange(1, 5), "does not move on average"),
    ],
)
def test_improvements_without_a_curve_are_refused(values: FloatArray, epochs: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fit_curve(values, epochs, np.random.default_rng(0))
