"""The certified contour on a grid of shapes, lengths and levels, and against the clock on Table I."""

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, InverseGamma
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.prepared import PreparedVerdicts
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
    epochs, plans, repeats = (10, 50, 3) if smoke else (100, 10_000, 51)
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in TABLE_ONE]
    used = 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))  # a model of Table I for every epoch
    counts: FloatArray = np.zeros((plans, 3 * epochs))
    counts[np.arange(plans)[:, None], used] = 1
    losses = [
        FinalLoss(_INITIAL_LOSS, tuple((term, 1) for term, count in zip(terms, row, strict=True) if count))
        for row in counts[:100]
    ]
    speed = _speed(terms, counts, losses, repeats)
    return {
        **speed,
        **_monte_carlo(rng, losses[0], 200 if smoke else 50_000, speed["plan_milliseconds"] / 1000),
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


def _speed(terms: list[Term], counts: FloatArray, losses: list[FinalLoss], repeats: int) -> dict[str, float]:
    """The table of labels, plans from it alone and in a batch, a verdict by kept labels, and all anew."""
    contour = choose_contour(list(losses[0].terms), float(_LEVEL))
    if contour is None:
        raise NotCoveredError("no contour for Table I")
    table, gain = label_table(terms, contour), _INITIAL_LOSS - _TARGET
    batch = _seconds(lambda: violation(contour, table.combine(counts), gain), max(3, repeats // 7))
    limit = float(np.median([loss.mean() for loss in losses])) + 1.75 * math.sqrt(losses[0].variance())
    prepared, verdicts = PreparedVerdicts(limit, _LEVEL), []
    for loss in losses * repeats:  # budgets are kept, broken, and in between
        start = time.process_time()
        prepared.verdict(loss)
        verdicts.append(time.process_time() - start)
    one = _seconds(lambda: violation(contour, table.combine(counts[:1]), gain), 4 * repeats)
    return {
        "label_table_milliseconds": 1e3 * _seconds(lambda: label_table(terms, contour), repeats),
        "plan_milliseconds": 1e3 * one,
        "verdict_milliseconds": 1e3 * float(np.median(verdicts)),
        "batched_microseconds": 1e6 * batch / len(counts),
        "stand_alone_violation_milliseconds": 1e3
        * _seconds(lambda: contour_violation(losses[0], _TARGET), repeats),
    }


def _monte_carlo(
    rng: np.random.Generator, loss: FinalLoss, samples: int, plan_seconds: float
) -> dict[str, object]:
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
    own = _seconds(lambda: certified_margin(loss, _LEVEL), 21)
    return {
        "monte_carlo_microseconds_per_sample": 1e6 * per_sample,
        "monte_carlo_samples_for_probability_5_percent": for_probability,
        "faster_than_monte_carlo_probability_5_percent": for_probability * per_sample / plan_seconds,
        "faster_than_monte_carlo_margin_5_percent": for_margin * per_sample / plan_seconds,
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
    summary="The certified contour on a grid of laws, against the clock, and against Monte Carlo.",
    goals=(
        Goal("margin_half_width_largest", "half-width of a certified margin over it, largest", "<=", 1e-10),
        Goal("label_table_milliseconds", "label table of 300 rows, K = 100 [ms]", "<=", 25),
        Goal("plan_milliseconds", "certified violation of one plan from the table, K = 100 [ms]", "<=", 0.3),
        Goal("verdict_milliseconds", "one plan's verdict by kept labels, K = 100 [CPU ms]", "<=", 0.1),
        Goal("batched_microseconds", "the same in a batch of 10,000 plans, each [us]", "<=", 20),
        Goal(
            "faster_than_monte_carlo_probability_5_percent",
            "times faster than sampling P = 5 % to a relative 1e-3",
            ">=",
            1e4,
        ),
        Goal(
            "faster_than_monte_carlo_margin_5_percent",
            "times faster than sampling the 95 % margin to a relative 1e-3",
            ">=",
            1e4,
        ),
    ),
    run=_run,
    seed=20260215,
)
