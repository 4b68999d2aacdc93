"""The certified contour on a grid of shapes, lengths and levels, and against Monte Carlo on Table I."""

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.instances.completions import TABLE
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.sampling import sample_final_loss

_TARGET, _LEVEL = 15.0, Fraction(1, 20)
_SHAPES = (2.1, 2.5, 3.0, 5.0, 10.0, 20.0, 34.9, 35.6, 102.0, 139.2, 300.0, 1000.0)
_LENGTHS = (1, 2, 5, 20, 100, 1000)
_BUDGETS = (Fraction(1, 2), *(Fraction(1, 10**n) for n in range(1, 9)))


def _run(task: Row) -> Row:
    rng, smoke = np.random.default_rng(task["seed"]), task["smoke"]
    laws = [InverseGamma(mean=mean, variance=variance) for mean, variance, _ in TABLE["alexnet"]]
    loss = _decaying([laws[model] for model in rng.integers(len(laws), size=10 if smoke else 100)], 20.0)
    widths = _half_widths(_SHAPES[:1], _LENGTHS[:2]) if smoke else _half_widths(_SHAPES, _LENGTHS)
    seconds = _monte_carlo(rng, loss, *((200, 3) if smoke else (50_000, 51)))
    return {"half_width": widths, "told_by_seconds": seconds}


def _decaying(laws: list[InverseGamma], initial: float = 0.0) -> FinalLoss:
    """An epoch with each law, improvements falling like 1 / sqrt(k + 1)."""
    terms = ((Term(-1 / math.sqrt(k + 1.0), law), 1) for k, law in enumerate(laws, start=1))
    return FinalLoss(initial, tuple(terms))


def _monte_carlo(rng: np.random.Generator, loss: FinalLoss, samples: int, repeats: int) -> Row:
    """How long counting samples takes to know P, or the margin, to 1e-3 (one standard error)."""

    def seconds(action: Callable[[], object], repeats: int = repeats) -> float:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    margin = certified_margin(loss, _LEVEL)
    if margin is None:
        raise NotCoveredError("no contour for Table I")
    p, probe = float(_LEVEL), 1e-4 * margin.middle
    ends = [contour_violation(loss, loss.mean() + margin.middle + side * probe) for side in (-1, 1)]
    density = (ends[0].middle - ends[1].middle) / (2 * probe) if ends[0] and ends[1] else math.nan
    for_margin = p * (1 - p) / (density * 1e-3 * margin.middle) ** 2
    per_sample = seconds(lambda: sample_final_loss(loss, rng, samples), 3) / samples
    own = seconds(lambda: certified_margin(loss, _LEVEL))
    return {
        "monte_carlo_microseconds_per_sample": 1e6 * per_sample,
        "monte_carlo_samples_for_probability_5_percent": (1 - p) / p / 1e-6,
        "stand_alone_violation_milliseconds": 1e3 * seconds(lambda: contour_violation(loss, _TARGET)),
        "stand_alone_margin_faster_than_monte_carlo_5_percent": for_margin * per_sample / own,
    }


def _half_widths(shapes: tuple[float, ...], lengths: tuple[int, ...]) -> float:
    """The largest of certified margins, relative to the margin; 1 where there is no contour."""
    worst = 0.0
    for shape, length, budget in itertools.product(shapes, lengths, _BUDGETS):
        law = InverseGamma(shape=shape, scale=shape - 1)
        for loss in (FinalLoss(0.0, ((Term(-1.0, law), length),)), _decaying([law] * length)):
            margin = certified_margin(loss, budget)
            worst = max(worst, 1.0 if margin is None else margin.width / 2 / margin.middle)
    return worst


STUDY = Study(
    name="risk-speed",
    summary="The certified contour on a grid of laws, and against Monte Carlo on Table I.",
    goals=(
        Goal("margin_half_width_largest", "half-width of a certified margin over it, largest", "<=", 1e-10),
        Goal(
            "stand_alone_margin_faster_than_monte_carlo_5_percent",
            "times faster than sampling the 95 % margin to a relative 1e-3",
            ">=",
            100,
        ),
    ),
    tasks=lambda rng, smoke: [{"seed": int(rng.integers(2**31)), "smoke": smoke}],
    run=_run,
    figures=lambda rows: {"margin_half_width_largest": rows[0]["half_width"], **rows[0]["told_by_seconds"]},
    seed=20260215,
)
