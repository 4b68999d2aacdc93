"""The certified contour on a grid of shapes, lengths and levels, and against Monte Carlo on Table I."""

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.sampling import sample_final_loss

TABLE_ONE = (
    InverseGamma(mean=1.02, variance=0.031),
    InverseGamma(mean=1.0, variance=0.01),
    InverseGamma(mean=0.98, variance=0.007),
)
"""Table I of the paper: fast-unsteady, intermediate, slow-steady."""

_INITIAL_LOSS, _TARGET, _LEVEL = 20.0, 15.0, Fraction(1, 20)
_SHAPES = (2.1, 2.5, 3.0, 5.0, 10.0, 20.0, 34.9, 35.6, 102.0, 139.2, 300.0, 1000.0)
_LENGTHS = (1, 2, 5, 20, 100, 1000)
_BUDGETS = (Fraction(1, 2), *(Fraction(1, 10**n) for n in range(1, 9)))


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    epochs = 10 if smoke else 100
    models = rng.integers(len(TABLE_ONE), size=epochs).tolist()
    terms = ((Term(-1 / math.sqrt(k + 1.0), TABLE_ONE[model]), 1) for k, model in enumerate(models, start=1))
    loss = FinalLoss(_INITIAL_LOSS, tuple(terms))
    return {
        **_monte_carlo(rng, loss, *((200, 3) if smoke else (50_000, 51))),
        "margin_half_width_largest": _largest_half_width(smoke),
    }


def _seconds(action: Callable[[], object], repeats: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _monte_carlo(rng: np.random.Generator, loss: FinalLoss, samples: int, repeats: int) -> dict[str, object]:
    """How long counting samples takes to know P, or the margin, to 1e-3 (one standard error)."""
    per_sample = _seconds(lambda: sample_final_loss(loss, rng, samples), 3) / samples
    margin = certified_margin(loss, _LEVEL)
    if margin is None:
        raise NotCoveredError("no contour for Table I")
    p, probe = float(_LEVEL), 1e-4 * margin.middle
    ends = [contour_violation(loss, loss.mean() + margin.middle + side * probe) for side in (-1, 1)]
    density = (ends[0].middle - ends[1].middle) / (2 * probe) if ends[0] and ends[1] else math.nan
    for_probability = (1 - p) / p / 1e-6
    for_margin = p * (1 - p) / (density * 1e-3 * margin.middle) ** 2
    violation = _seconds(lambda: contour_violation(loss, _TARGET), repeats)
    own = _seconds(lambda: certified_margin(loss, _LEVEL), repeats)
    return {
        "monte_carlo_microseconds_per_sample": 1e6 * per_sample,
        "monte_carlo_samples_for_probability_5_percent": for_probability,
        "stand_alone_violation_milliseconds": 1e3 * violation,
        "stand_alone_margin_faster_than_monte_carlo_5_percent": for_margin * per_sample / own,
    }


def _largest_half_width(smoke: bool) -> float:
    """Of certified margins, relative to the margin."""
    worst = 0.0
    for shape in _SHAPES[:1] if smoke else _SHAPES:
        law = InverseGamma(shape=shape, scale=shape - 1)
        for length in _LENGTHS[:2] if smoke else _LENGTHS:
            decaying = tuple((Term(-1 / math.sqrt(k + 1.0), law), 1) for k in range(1, length + 1))
            for terms in (((Term(-1.0, law), length),), decaying):
                for budget in _BUDGETS:
                    margin = certified_margin(FinalLoss(0.0, terms), budget)
                    worst = max(worst, math.inf if margin is None else margin.width / 2 / margin.middle)
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
    run=_run,
    seed=20260215,
)
