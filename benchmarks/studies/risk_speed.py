"""The certified contour on a grid of shapes, lengths and levels, and against the clock on Table I."""

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.suites.random_gains import random_counts
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma
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

_INITIAL_LOSS = 20.0
_EPOCHS = 100
_SHAPES = (2.1, 2.5, 3.0, 5.0, 10.0, 20.0, 34.9, 35.6, 102.0, 139.2, 300.0, 1000.0)
_LENGTHS = (1, 2, 5, 20, 100, 1000)
_BUDGETS = (Fraction(1, 2), *(Fraction(1, 10**n) for n in range(1, 9)))
_DIGITS, _BITS = 20.0, 170


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    speed = _speed(rng, smoke)
    return {**speed, **_monte_carlo(rng, smoke, speed["plan_milliseconds"] / 1000), **_margins(smoke)}


def _margins(smoke: bool) -> dict[str, object]:
    """Largest half-width of a certified margin, relative to the margin."""
    shapes, lengths = (_SHAPES[:1], _LENGTHS[:2]) if smoke else (_SHAPES, _LENGTHS)
    worst = 0.0
    for shape in shapes:
        law = InverseGamma(shape=shape, scale=shape - 1)
        for length in lengths:
            equal = FinalLoss(0.0, ((Term(-1.0, law), length),))
            decaying = tuple((Term(-1 / math.sqrt(k + 1.0), law), 1) for k in range(1, length + 1))
            for loss in (equal, FinalLoss(0.0, decaying)):
                for budget in _BUDGETS:
                    margin = certified_margin(loss, budget)
                    relative = math.inf if margin is None else margin.width / 2 / margin.middle
                    worst = max(worst, relative)
    return {"margin_half_width_largest": worst}


def _rows(epochs: int) -> list[Term]:
    """One term per epoch and model of Table I, with decay."""
    return [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in TABLE_ONE]


def _seconds(action: Callable[[], object], repeats: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _verdict_milliseconds(plans: list[FinalLoss], repeats: int) -> float:
    """Median CPU time of one verdict where all labels are known; budgets are kept, broken, and in between."""
    means = [loss.mean() for loss in plans]
    limit = float(np.median(means)) + 1.75 * math.sqrt(plans[0].variance())
    prepared, times = PreparedVerdicts(limit, Fraction(1, 20)), []
    for _ in range(repeats):
        for loss in plans:
            start = time.process_time()
            prepared.verdict(loss)
            times.append(time.process_time() - start)
    return 1e3 * float(np.median(times))


def _speed(rng: np.random.Generator, smoke: bool) -> dict[str, float]:
    epochs, plans, repeats = (10, 50, 3) if smoke else (_EPOCHS, 10_000, 51)
    terms, counts = _rows(epochs), random_counts(rng, plans, epochs)
    plan = [(term, 1) for term, count in zip(terms, counts[0], strict=True) if count]
    contour = choose_contour(plan, 0.05)
    if contour is None:
        raise NotCoveredError("no contour for Table I")
    table, one, target = label_table(terms, contour), counts[:1], 15.0
    loss = FinalLoss(_INITIAL_LOSS, tuple(plan))
    several = [
        FinalLoss(_INITIAL_LOSS, tuple((term, 1) for term, count in zip(terms, row, strict=True) if count))
        for row in counts[:100]
    ]
    batch = _seconds(
        lambda: violation(contour, table.combine(counts), _INITIAL_LOSS - target), max(3, repeats // 7)
    )
    return {
        "label_table_milliseconds": 1e3 * _seconds(lambda: label_table(terms, contour), repeats),
        "plan_milliseconds": 1e3
        * _seconds(lambda: violation(contour, table.combine(one), _INITIAL_LOSS - target), 4 * repeats),
        "verdict_milliseconds": _verdict_milliseconds(several, repeats),
        "batched_microseconds": 1e6 * batch / plans,
        "stand_alone_violation_milliseconds": 1e3
        * _seconds(lambda: contour_violation(loss, target), repeats),
    }


def _monte_carlo(rng: np.random.Generator, smoke: bool, plan_seconds: float) -> dict[str, object]:
    """How long counting samples takes to know P, or the margin, to 1e-3 (one standard error)."""
    epochs, samples = (10, 200) if smoke else (_EPOCHS, 50_000)
    counts = random_counts(rng, 1, epochs)[0]
    plan = tuple((term, 1) for term, count in zip(_rows(epochs), counts, strict=True) if count)
    loss = FinalLoss(_INITIAL_LOSS, plan)
    per_sample = _seconds(lambda: sample_final_loss(loss, rng, samples), 3) / samples
    budget = Fraction(1, 20)
    margin = certified_margin(loss, budget)
    if margin is None:
        raise NotCoveredError("no contour for Table I")
    p, probe = float(budget), 1e-4 * margin.middle
    ends = [contour_violation(loss, loss.mean() + margin.middle + side * probe) for side in (-1, 1)]
    density = (ends[0].middle - ends[1].middle) / (2 * probe) if ends[0] and ends[1] else math.nan
    for_probability = (1 - p) / p / 1e-6
    for_margin = p * (1 - p) / (density * 1e-3 * margin.middle) ** 2
    own = _seconds(lambda: certified_margin(loss, budget), 3 if smoke else 21)
    return {
        "monte_carlo_microseconds_per_sample": 1e6 * per_sample,
        "monte_carlo_samples_for_probability_5_percent": for_probability,
        "faster_than_monte_carlo_probability_5_percent": for_probability * per_sample / plan_seconds,
        "faster_than_monte_carlo_margin_5_percent": for_margin * per_sample / plan_seconds,
        "stand_alone_margin_faster_than_monte_carlo_5_percent": for_margin * per_sample / own,
    }


STUDY = Study(
    name="risk-speed",
    summary="The certified contour on a grid of laws, against the clock, and against Monte Carlo.",
    goals=(
        Goal(
            "margin_half_width_largest",
            "largest half-width of a certified margin over the margin",
            "<=",
            1e-10,
        ),
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
