"""Do the numbers of estimation mean what they say? Sizes of tests, coverage of intervals, AR(1).

Samples are drawn from laws of the family that is then fitted, so a test at 5 % should reject 5 % of them and
a 95 % interval contain the truth in 95 %. The p-values of Sec. VI-A, with fitted parameters put in, are
counted beside (erratum E7). AR(1) of 0.3 within 30 epochs is counted against the formula.
"""

import time
from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.models.estimation.curve import fit_curve
from depl.models.estimation.dependence import Dependence, normal_violation, variance_ratio
from depl.models.estimation.families import INVERSE_GAMMA, STUDENT_T, Family
from depl.models.estimation.fit import fit_improvement
from depl.models.estimation.goodness import goodness_of_fit
from depl.models.estimation.independence import independence
from depl.models.problem.laws import FloatArray

_SAMPLES, _RESAMPLES = 1000, 199
_LEVEL = 0.05
_SHAPE, _SCALE, _OFFSET = 35.6, 2.0, 3.0
_CURVE_EPOCHS = 77
_RATIOS, _JUMPS = (_SHAPE, _SHAPE - 1), (5.0, 0.3, 0.1)
_CHAIN, _CHAINS, _CORRELATION = 30, 400_000, 0.3


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    samples = 3 if smoke else _SAMPLES
    curve, printed = _curve_size(rng, samples)
    exact, counted = _autoregressive(rng, 2000 if smoke else _CHAINS)
    scale, offset = _coverage(rng, samples)
    sizes = {
        "inverse_gamma": _size(INVERSE_GAMMA, _RATIOS, _CURVE_EPOCHS, rng, samples),
        "student_t": _size(STUDENT_T, _JUMPS, 100, rng, samples),
        "whole_procedure": curve,
        "variance_ratio": _independence_size(rng, samples),
    }
    return {
        "samples": samples,
        "sizes": sizes,
        "farthest_size": max(abs(size - _LEVEL) for size in sizes.values()),
        "size_as_printed": printed,
        "coverage_scale": scale,
        "coverage_offset": offset,
        "ar1_formula": exact,
        "ar1_counted": counted,
        "ar1_difference": abs(exact - counted),
        "seconds_of_999_resamples": _seconds(rng),
    }


def _size(
    family: Family, truth: tuple[float, ...], size: int, rng: np.random.Generator, samples: int
) -> float:
    drawn = family.draw(np.array(truth), rng, (samples, size))
    found = [goodness_of_fit(family, row, rng, _RESAMPLES).bootstrap_p_value for row in drawn]
    return float(np.mean([value <= _LEVEL for value in found]))


def _improvements(rng: np.random.Generator, runs: int, epochs: int) -> tuple[FloatArray, FloatArray]:
    ks = np.arange(1, epochs + 1, dtype=float)
    ratios = (_SHAPE - 1) / rng.standard_gamma(_SHAPE, (runs, epochs))
    return _SCALE / np.sqrt(ks + _OFFSET) * ratios, ks


def _curve_size(rng: np.random.Generator, samples: int) -> tuple[float, float]:
    """Share of curves of Fig. 4's length that are rejected, A and B fitted too; honestly and as printed."""
    laws = [
        fit_improvement(*_improvements(rng, 1, _CURVE_EPOCHS), rng, _RESAMPLES).law("inverse_gamma")
        for _ in range(samples)
    ]
    honest = np.mean([law.p_value <= _LEVEL for law in laws])
    return float(honest), float(np.mean([law.goodness.paper_p_value <= _LEVEL for law in laws]))


def _coverage(rng: np.random.Generator, samples: int) -> tuple[float, float]:
    """Share of 95 % intervals from 40 runs of 20 epochs that contain A, and B."""
    fits = [fit_curve(*_improvements(rng, 40, 20), rng, _RESAMPLES) for _ in range(samples)]
    scale = np.mean([item.scale_bounds.lower <= _SCALE <= item.scale_bounds.upper for item in fits])
    offset = np.mean([item.offset_bounds.lower <= _OFFSET <= item.offset_bounds.upper for item in fits])
    return float(scale), float(offset)


def _independence_size(rng: np.random.Generator, samples: int) -> float:
    rejected = 0
    for _ in range(samples):
        values, _ = _improvements(rng, 25, 8)
        losses = np.concatenate([np.full((25, 1), 9.0), 9.0 - np.cumsum(values, axis=1)], axis=1)
        rejected += independence([losses], rng, _RESAMPLES).variance_ratio.p_value <= _LEVEL
    return rejected / samples


def _autoregressive(rng: np.random.Generator, chains: int) -> tuple[float, float]:
    """What 1 % becomes under AR(1): by the formula, and counted on drawn chains."""
    ratio = variance_ratio(np.ones(_CHAIN), Dependence.AUTOREGRESSIVE, _CORRELATION)
    state = rng.standard_normal(chains)
    total = state.copy()
    for _ in range(_CHAIN - 1):
        state = _CORRELATION * state + np.sqrt(1 - _CORRELATION**2) * rng.standard_normal(chains)
        total += state
    limit = 2.3263478740408408 * np.sqrt(_CHAIN)  # one per cent of independent sums exceed it
    return normal_violation(0.01, ratio), float(np.mean(total > limit))


def _seconds(rng: np.random.Generator) -> float:
    sample = INVERSE_GAMMA.draw(np.array(_RATIOS), rng, (1, _CURVE_EPOCHS))[0]
    goodness_of_fit(INVERSE_GAMMA, sample, rng)
    start = time.perf_counter()
    goodness_of_fit(INVERSE_GAMMA, sample, rng)
    return time.perf_counter() - start


STUDY = Study(
    name="estimation-tests",
    summary="Sizes of the tests of fit and independence, coverage of intervals, AR(1) and its formula.",
    goals=(
        Goal("samples", "samples per test", ">=", _SAMPLES),
        Goal("farthest_size", "distance from 5 % of the share that a test at 5 % rejects, worst", "<=", 0.02),
        Goal("size_as_printed", "the same curves with the paper's p-values", "<=", 0.005),
        Goal("coverage_scale", "95 % intervals that contain A", ">=", 0.93),
        Goal("coverage_offset", "95 % intervals that contain B", ">=", 0.93),
        Goal("ar1_formula", "1 % under AR(1) of 0.3, 30 epochs, by the formula", ">=", 0.041),
        Goal("ar1_difference", "distance of the formula from the count", "<=", 0.001),
        Goal("seconds_of_999_resamples", "999 resamples of 77 ratios [s]", "<=", 0.1),
    ),
    run=_run,
    seed=20261121,
)
