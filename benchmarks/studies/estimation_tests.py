"""Do the numbers of estimation mean what they say? Sizes of tests, and coverage of intervals.

Samples are drawn from laws of the family that is then fitted, so a test at 5 % should reject 5 % of them and
a 95 % interval contain the truth in 95 %. The p-values of Sec. VI-A, with fitted parameters put in, are
counted beside (erratum E7).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.models.estimation.curve import fit_curve
from depl.models.estimation.families import INVERSE_GAMMA, STUDENT_T, Family, goodness_of_fit
from depl.models.estimation.fit import fit_improvement
from depl.models.estimation.independence import independence
from depl.models.problem.laws import FloatArray

_SEED, _SAMPLES, _RESAMPLES = 20261121, 1000, 199
_LEVEL = 0.05
_SHAPE, _SCALE, _OFFSET = 35.6, 2.0, 3.0
_CURVE_EPOCHS = 77
"""Of Fig. 4."""
_RATIOS, _JUMPS = (_SHAPE, _SHAPE - 1), (5.0, 0.3, 0.1)


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Mapping[str, int]]:
    """One, as all samples come out of one generator."""
    del rng
    yield {"samples": 3 if smoke else _SAMPLES, "seed": _SEED}


def _run(task: Mapping[str, int]) -> Mapping[str, object]:
    rng, samples = np.random.default_rng(task["seed"]), task["samples"]
    improvements = [
        fit_improvement(*_improvements(rng, 1, _CURVE_EPOCHS), rng, _RESAMPLES).law("inverse_gamma")
        for _ in range(samples)
    ]
    curves = [fit_curve(*_improvements(rng, 40, 20), rng, _RESAMPLES) for _ in range(samples)]
    sizes = {
        "inverse_gamma": _size(INVERSE_GAMMA, _RATIOS, _CURVE_EPOCHS, rng, samples),
        "student_t": _size(STUDENT_T, _JUMPS, 100, rng, samples),
        "whole_procedure": _rejected([law.p_value for law in improvements]),
        "variance_ratio": _rejected([_variance_ratio(rng) for _ in range(samples)]),
    }
    scale, offset = (
        float(np.mean([bounds.lower <= truth <= bounds.upper for bounds in found]))
        for truth, found in (
            (_SCALE, [curve.scale_bounds for curve in curves]),
            (_OFFSET, [curve.offset_bounds for curve in curves]),
        )
    )
    return {
        "sizes": sizes,
        "farthest_size": max(abs(size - _LEVEL) for size in sizes.values()),
        "size_as_printed": _rejected([law.goodness.paper_p_value for law in improvements]),
        "coverage_scale": scale,
        "coverage_offset": offset,
    }


def _figures(answers: Sequence[Mapping[str, Any]]) -> Mapping[str, object]:
    (answer,) = answers
    names = ("samples", "sizes", "farthest_size", "size_as_printed", "coverage_scale", "coverage_offset")
    return {name: answer[name] for name in names}


def _rejected(p_values: list[float]) -> float:
    return float(np.mean(np.array(p_values) <= _LEVEL))


def _size(
    family: Family, truth: tuple[float, ...], size: int, rng: np.random.Generator, samples: int
) -> float:
    drawn = family.draw(np.array(truth), rng, (samples, size))
    return _rejected([goodness_of_fit(family, row, rng, _RESAMPLES).bootstrap_p_value for row in drawn])


def _improvements(rng: np.random.Generator, runs: int, epochs: int) -> tuple[FloatArray, FloatArray]:
    ks = np.arange(1, epochs + 1, dtype=float)
    ratios = (_SHAPE - 1) / rng.standard_gamma(_SHAPE, (runs, epochs))
    return _SCALE / np.sqrt(ks + _OFFSET) * ratios, ks


def _variance_ratio(rng: np.random.Generator) -> float:
    """p-value of the test of independence on losses whose improvements are independent."""
    values, _ = _improvements(rng, 25, 8)
    losses = np.concatenate([np.full((25, 1), 9.0), 9.0 - np.cumsum(values, axis=1)], axis=1)
    return independence([losses], rng, _RESAMPLES).variance_ratio.p_value


STUDY = Study(
    name="estimation-tests",
    summary="Sizes of the tests of fit and independence, and coverage of intervals.",
    goals=(
        Goal("samples", "samples per test", ">=", _SAMPLES),
        Goal("farthest_size", "distance from 5 % of the share that a test at 5 % rejects, worst", "<=", 0.02),
        Goal("size_as_printed", "the same curves with the paper's p-values", "<=", 0.005),
        Goal("coverage_scale", "95 % intervals that contain A", ">=", 0.93),
        Goal("coverage_offset", "95 % intervals that contain B", ">=", 0.93),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=_SEED,
)
