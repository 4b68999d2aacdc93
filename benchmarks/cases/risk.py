"""The certified contour: is it right, how sharp is it, how fast is it, and does it ever promise too much.

Right and sharp against ball arithmetic (`depl.benchmarks.ball_arithmetic`; python-flint is needed for
that part), sharp again on a grid of shapes, lengths and levels, fast on Table I's laws with decay, and
trustworthy on random plans judged by `depl.benchmarks.density_oracle`.
"""

import functools
import math
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.density_oracle import DensityOracle, Judged
from depl.benchmarks.registry import Case, Goal
from depl.models.epochs import FinalLoss, NoiseLaw, Term
from depl.models.errors import NotCoveredError
from depl.models.laws import FloatArray, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.batch import LossClasses, Verdict, quick_verdicts
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.oracles import sample_final_loss, spectral_violation

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
    return {
        **speed,
        **_monte_carlo(rng, smoke, speed["plan_milliseconds"] / 1000),
        **_margins(smoke),
        **_false_feasible(rng, smoke),
        **_against_balls(rng, smoke),
    }


# --- right, and how sharp: ball arithmetic ----------------------------------------------------------------


@dataclass(frozen=True)
class _Checked:
    """One random case: what the interval was, and where the truth lies."""

    contained: bool
    margin_contained: bool
    width: float
    error: float
    margin_width: float
    margin_error: float
    reference_radius: float
    otherwise_confirmed: bool | None
    nodes: int


def _against_balls(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    cases, longest = (3, 10) if smoke else (300, 1000)
    checked = [_check(*_random_case(rng, index, longest)) for index in range(cases)]
    ratios = np.array([case.width / case.error for case in checked])
    margin_ratios = np.array([case.margin_width / case.margin_error for case in checked])
    other = [case.otherwise_confirmed for case in checked if case.otherwise_confirmed is not None]
    return {
        "ball_cases": len(checked),
        "missed": sum(not case.contained for case in checked),
        "margins_missed": sum(not case.margin_contained for case in checked),
        "reference_radius_largest": max(case.reference_radius for case in checked),
        "reference_nodes_largest": max(case.nodes for case in checked),
        "other_method_cases": len(other),
        "other_method_disagreements": sum(not confirmed for confirmed in other),
        "width_over_error_median": float(np.median(ratios)),
        "width_over_error_90_percent": float(np.quantile(ratios, 0.9)),
        "width_over_error_largest": float(ratios.max()),
        "width_over_probability_median": float(np.median([case.width for case in checked])),
        "width_over_probability_largest": max(case.width for case in checked),
        "error_over_probability_largest": max(case.error for case in checked),
        "width_over_largest_error": max(c.width for c in checked) / max(c.error for c in checked),
        "margin_width_over_error_median": float(np.median(margin_ratios)),
    }


def _random_case(rng: np.random.Generator, index: int, longest: int) -> tuple[FinalLoss, float]:
    """A random sum of 1 to ``longest`` increments, and a violation budget from 1e-8 to 1/2."""
    count = 1 + index % 2 if index % 5 == 0 else int(math.exp(rng.uniform(0, math.log(longest + 1))))
    laws: list[NoiseLaw] = [_random_inverse_gamma(rng) for _ in range(rng.integers(1, 4))]
    offset, constant = rng.uniform(0, 5), rng.random() < 0.3
    counts: dict[Term, int] = {}
    for epoch in range(1, count + 1):
        weight = 1.0 if constant else 1 / math.sqrt(epoch + offset)
        term = Term(-weight, laws[rng.integers(len(laws))])
        counts[term] = counts.get(term, 0) + 1
    kind = (
        "inverse gamma" if index % 5 == 0 else rng.choice(["inverse gamma", "normal", "lognormal", "switch"])
    )
    if kind == "normal":
        counts[Term(1.0, Normal(mean=0.1, variance=float(rng.uniform(1e-4, 0.05))))] = int(rng.integers(1, 4))
    if kind == "lognormal" and count <= 60:
        law = Lognormal(mean=float(rng.uniform(0.5, 1.5)), variance=float(rng.uniform(0.005, 0.5)))
        counts[Term(-float(rng.uniform(0.1, 1.0)), law)] = int(rng.integers(1, 6))
    if kind == "switch" and count <= 60:
        counts[Term(1.0, _random_switch(rng))] = int(rng.integers(1, 4))
    budget = math.exp(rng.uniform(math.log(1e-8), math.log(0.5)))
    return FinalLoss(_INITIAL_LOSS, tuple(counts.items())), budget


def _random_inverse_gamma(rng: np.random.Generator) -> InverseGamma:
    shape = math.exp(rng.uniform(math.log(2.1), math.log(1000)))
    return InverseGamma(shape=shape, scale=(shape - 1) * float(rng.uniform(0.5, 1.5)))


def _random_switch(rng: np.random.Generator) -> StudentT:
    freedom, scale = float(rng.uniform(1.5, 8.0)), float(rng.uniform(0.02, 0.1))
    return StudentT(degrees_of_freedom=freedom, location=0.1, scale=scale, lower=-0.2, upper=0.8)


def _check(loss: FinalLoss, budget: float) -> _Checked:
    """Interval and margin at the certified quantile, against the same gain in ball arithmetic."""
    from flint import arb, ctx

    from depl.benchmarks.ball_arithmetic import BallSum

    margin = certified_margin(loss, Fraction(budget))
    if margin is None:
        raise NotCoveredError(f"no contour for {loss}")
    maximum = loss.mean() + margin.middle
    interval = contour_violation(loss, maximum)
    reference = BallSum(loss.terms, budget, -margin.lower, _DIGITS, _BITS)
    with ctx.workprec(2 * _BITS):
        deviation = arb(loss.constant) - maximum - reference.expectation
        truth = reference.probability(deviation)
        contained = (
            interval is not None and interval.lower <= truth.lower() and truth.upper() <= interval.upper
        )
        error = abs(float((truth - interval.middle).mid())) if interval is not None else math.inf
        ends = [reference.probability(-end) for end in (margin.upper, margin.lower)]
        miss = abs(float((reference.probability(-margin.middle) - budget).mid()))
        confirmed = _confirmed_otherwise(loss, float(deviation.mid()), reference.probability)
    return _Checked(
        contained=bool(contained),
        margin_contained=bool(ends[0] <= budget <= ends[1]),
        width=(interval.width if interval is not None else 1.0) / budget,
        error=max(error / budget, 1e-20),
        margin_width=margin.width,
        margin_error=max(miss / reference.density(-margin.middle), 1e-20 * margin.middle),
        reference_radius=float(truth.rad()) / budget,
        otherwise_confirmed=confirmed,
        nodes=reference.nodes,
    )


def _confirmed_otherwise(
    loss: FinalLoss, deviation: float, probability: Callable[[float], Any]
) -> bool | None:
    """Whether a closed form or a convolution agrees with the Bromwich integral; None if neither exists."""
    from flint import acb, arb

    from depl.benchmarks.ball_arithmetic import convolved, distribution_function, mean

    single = [term for term, count in loss.terms for _ in range(count)]
    if not all(isinstance(term.law, InverseGamma) for term in single) or len(single) > 2:
        return None
    if len(single) == 2:
        found = convolved(single[0], single[1], deviation)
    else:
        law, weight = single[0].law, -single[0].coefficient
        found = distribution_function(law, acb(mean(law) + arb(deviation) / weight)).real
    return bool(found.overlaps(probability(deviation)))


# --- how sharp: margins -----------------------------------------------------------------------------------


def _margins(smoke: bool) -> dict[str, object]:
    """Largest half-width of a certified margin, relative to the margin."""
    shapes, lengths = (_SHAPES[:1], _LENGTHS[:2]) if smoke else (_SHAPES, _LENGTHS)
    worst, place, cases, none = 0.0, "", 0, 0
    for shape in shapes:
        law = InverseGamma(shape=shape, scale=shape - 1)
        for length in lengths:
            equal = FinalLoss(0.0, ((Term(-1.0, law), length),))
            decaying = tuple((Term(-1 / math.sqrt(k + 1.0), law), 1) for k in range(1, length + 1))
            for name, loss in (("equal", equal), ("decaying", FinalLoss(0.0, decaying))):
                for budget in _BUDGETS:
                    margin = certified_margin(loss, budget)
                    cases, none = cases + 1, none + (margin is None)
                    relative = math.inf if margin is None else margin.width / 2 / margin.middle
                    if relative > worst:
                        worst, place = relative, f"shape {shape}, K = {length} {name}, budget {float(budget)}"
    return {
        "margin_cases": cases,
        "margins_without_contour": none,
        "margin_half_width_largest": worst,
        "margin_half_width_where": place,
    }


# --- how fast ---------------------------------------------------------------------------------------------


def _rows(epochs: int) -> list[Term]:
    """One term per epoch and model of Table I, with decay."""
    return [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in TABLE_ONE]


def _random_counts(rng: np.random.Generator, plans: int, epochs: int) -> FloatArray:
    """Which row each plan uses at each epoch, shape (plans, 3 * epochs)."""
    counts = np.zeros((plans, 3 * epochs))
    counts[np.arange(plans)[:, None], 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))] = 1
    return counts


def _seconds(action: Callable[[], object], repeats: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _speed(rng: np.random.Generator, smoke: bool) -> dict[str, float]:
    epochs, plans, repeats = (10, 50, 3) if smoke else (_EPOCHS, 10_000, 51)
    terms, counts = _rows(epochs), _random_counts(rng, plans, epochs)
    plan = [(term, 1) for term, count in zip(terms, counts[0], strict=True) if count]
    contour = choose_contour(plan, 0.05)
    if contour is None:
        raise NotCoveredError("no contour for Table I")
    table, one, target = label_table(terms, contour), counts[:1], 15.0
    loss = FinalLoss(_INITIAL_LOSS, tuple(plan))
    batch = _seconds(
        lambda: violation(contour, table.combine(counts), _INITIAL_LOSS - target), max(3, repeats // 7)
    )
    return {
        "contour_nodes": float(contour.count),
        "choose_contour_milliseconds": 1e3 * _seconds(lambda: choose_contour(plan, 0.05), repeats),
        "label_table_milliseconds": 1e3 * _seconds(lambda: label_table(terms, contour), repeats),
        "plan_milliseconds": 1e3
        * _seconds(lambda: violation(contour, table.combine(one), _INITIAL_LOSS - target), 4 * repeats),
        "batched_microseconds": 1e6 * batch / plans,
        "stand_alone_violation_milliseconds": 1e3
        * _seconds(lambda: contour_violation(loss, target), repeats),
        "stand_alone_margin_milliseconds": 1e3
        * _seconds(lambda: certified_margin(loss, Fraction(1, 20)), repeats),
    }


def _monte_carlo(rng: np.random.Generator, smoke: bool, plan_seconds: float) -> dict[str, object]:
    """How long counting samples takes to know P, or the margin, to 1e-3 (one standard error)."""
    epochs, samples = (10, 200) if smoke else (_EPOCHS, 50_000)
    counts = _random_counts(rng, 1, epochs)[0]
    plan = tuple((term, 1) for term, count in zip(_rows(epochs), counts, strict=True) if count)
    loss = FinalLoss(_INITIAL_LOSS, plan)
    per_sample = _seconds(lambda: sample_final_loss(loss, rng, samples), 3) / samples
    found: dict[str, object] = {"monte_carlo_microseconds_per_sample": 1e6 * per_sample}
    for name, budget in (("5_percent", Fraction(1, 20)), ("1_percent", Fraction(1, 100))):
        margin = certified_margin(loss, budget)
        if margin is None:
            raise NotCoveredError("no contour for Table I")
        p, probe = float(budget), 1e-4 * margin.middle
        ends = [contour_violation(loss, loss.mean() + margin.middle + side * probe) for side in (-1, 1)]
        density = (ends[0].middle - ends[1].middle) / (2 * probe) if ends[0] and ends[1] else math.nan
        for_probability = (1 - p) / p / 1e-6
        for_margin = p * (1 - p) / (density * 1e-3 * margin.middle) ** 2
        own = _seconds(lambda budget=budget: certified_margin(loss, budget), 3 if smoke else 21)  # type: ignore[misc]
        found |= {
            f"monte_carlo_samples_for_probability_{name}": for_probability,
            f"monte_carlo_samples_for_margin_{name}": for_margin,
            f"faster_than_monte_carlo_probability_{name}": for_probability * per_sample / plan_seconds,
            f"faster_than_monte_carlo_margin_{name}": for_margin * per_sample / plan_seconds,
            f"stand_alone_margin_faster_than_monte_carlo_{name}": for_margin * per_sample / own,
        }
    return found


# --- does it ever promise too much ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tally:
    plans: int
    near: int
    feasible: int
    false_feasible: int
    false_infeasible: int
    undecided: int
    oracle_undecided: int
    oracle_contradictions: int
    spectral_checked: int
    spectral_disagreements: int


def _false_feasible(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """Verdicts on random plans, near the budget and far from it, by one contour for the whole batch."""
    batches, plans = (1, 40) if smoke else (100, 1000)
    tallies = [_tally(rng, plans, 3 if smoke else 10) for _ in range(batches)]
    total = {name: sum(getattr(tally, name) for tally in tallies) for name in _Tally.__dataclass_fields__}
    return {
        "random_plans": total["plans"],
        "share_within_factor_two": total["near"] / total["plans"],
        "share_feasible": total["feasible"] / total["plans"],
        "false_feasible": total["false_feasible"],
        "false_infeasible": total["false_infeasible"],
        "share_undecided_by_one_contour": total["undecided"] / total["plans"],
        "judge_undecided": total["oracle_undecided"],
        "judge_contradictions": total["oracle_contradictions"],
        "spectral_checked": total["spectral_checked"],
        "spectral_disagreements": total["spectral_disagreements"],
    }


def _tally(rng: np.random.Generator, plans: int, spectral: int) -> _Tally:
    terms, counts = _random_plans(rng, plans)
    budget = Fraction(1, int(rng.choice([10, 20, 100, 1000, 10_000])))
    p = float(budget)
    first = tuple((term, int(n)) for term, n in zip(terms, counts[0], strict=True) if n)
    contour = choose_contour(first, p)
    if contour is None:
        raise NotCoveredError("no contour for a random plan")
    # Plans that differ much from the first one are judged better with less tilt.
    oracles = [DensityOracle(terms, counts, contour.abscissa * share) for share in (1.0, 0.3, 0.08)]

    def judge(gains: FloatArray) -> Judged:
        return functools.reduce(operator.and_, (oracle.judge(gains) for oracle in oracles))

    gains = _thresholds(rng, judge, terms, counts, p)
    judged = judge(gains)
    lower, upper = violation(contour, label_table(terms, contour).combine(counts), gains, 0.0)
    classes = LossClasses(tuple(terms), counts.astype(np.int16), gains)
    verdicts = quick_verdicts(classes, 0.0, budget)
    feasible, infeasible = (
        (upper <= p) | (verdicts == Verdict.MET),
        (lower > p) | (verdicts == Verdict.VIOLATED),
    )
    middle = (judged.lower + judged.upper) / 2
    checked, disagreements = _by_spectral(rng, terms, counts, gains, (lower, upper), spectral)
    return _Tally(
        plans=plans,
        near=int(((middle >= p / 2) & (middle <= 2 * p)).sum()),
        feasible=int(feasible.sum()),
        false_feasible=int((feasible & (judged.lower > p)).sum() + (upper < judged.lower).sum()),
        false_infeasible=int((infeasible & (judged.upper < p)).sum() + (lower > judged.upper).sum()),
        undecided=int((~feasible & ~infeasible).sum()),
        oracle_undecided=int(((judged.lower <= p) & (judged.upper > p)).sum()),
        oracle_contradictions=int((judged.lower > judged.upper).sum()),
        spectral_checked=checked,
        spectral_disagreements=disagreements,
    )


def _random_plans(rng: np.random.Generator, plans: int) -> tuple[list[Term], FloatArray]:
    """Rows of three random laws with decay and of two switches; plans of K/4 to K epochs."""
    epochs = int(math.exp(rng.uniform(0, math.log(101))))
    laws = [_random_inverse_gamma(rng) for _ in range(3)]
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in laws]
    terms += [Term(1.0, Normal(mean=0.05, variance=0.001)), Term(1.0, _random_switch(rng))]
    counts = np.hstack([_random_counts(rng, plans, epochs), np.zeros((plans, 2))])
    lengths = rng.integers(max(1, epochs // 4), epochs + 1, plans)
    counts[:, :-2] *= np.repeat(np.arange(1, epochs + 1), 3) <= lengths[:, None]
    counts[:, -2:] = rng.integers(0, 3, (plans, 2)) * (rng.random((plans, 1)) < 0.5)
    return terms, counts


def _thresholds(
    rng: np.random.Generator,
    judge: Callable[[FloatArray], Judged],
    terms: Sequence[Term],
    counts: NDArray[np.floating],
    p: float,
) -> FloatArray:
    """Gains needed: half of them such that P is within a factor 2 of p, the others anywhere, far included."""
    moments = [term.law.moments() for term in terms]
    weights = np.array([-term.coefficient for term in terms])
    means = counts @ (weights * np.array([m.mean for m in moments]))
    spreads = np.sqrt(counts @ (weights**2 * np.array([m.variance for m in moments])))
    wanted = p * 2 ** rng.uniform(-0.95, 0.95, len(means))
    low, high = means - 12 * spreads, means + spreads
    for _ in range(18):  # bisection for the near ones
        middle = (low + high) / 2
        judged = judge(middle)
        below = (judged.lower + judged.upper) / 2 < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    anywhere = means + spreads * rng.uniform(-8, 8, len(means))
    far = means * rng.uniform(-2, 4, len(means)) * 10 ** rng.uniform(0, 3, len(means))
    kind = rng.random(len(means))
    return np.asarray(np.where(kind < 0.5, (low + high) / 2, np.where(kind < 0.8, anywhere, far)))


def _by_spectral(
    rng: np.random.Generator,
    terms: Sequence[Term],
    counts: FloatArray,
    gains: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    wanted: int,
) -> tuple[int, int]:
    """How many plans were also put to `spectral_violation`, and how often it left the certified interval."""
    checked = disagreements = 0
    for index in rng.choice(len(gains), wanted, replace=False):
        plan = tuple((term, int(n)) for term, n in zip(terms, counts[index], strict=True) if n)
        try:
            value = spectral_violation(FinalLoss(float(gains[index]), plan), 0.0, points=8192)
        except NotCoveredError:
            continue
        checked += 1
        disagreements += not bounds[0][index] - 1e-12 <= value <= bounds[1][index] + 1e-12
    return checked, disagreements


CASE = Case(
    name="risk-certified",
    summary="The certified contour against ball arithmetic, the clock, Monte Carlo and an independent judge.",
    goals=(
        Goal(
            "missed",
            "violation intervals of 300 random cases that miss the value from ball arithmetic",
            "==",
            0,
        ),
        Goal("margins_missed", "margin intervals of these cases that miss the quantile", "==", 0),
        Goal("other_method_disagreements", "references refuted by a closed form or a convolution", "==", 0),
        Goal("width_over_error_median", "median of interval width over true error of its middle", "<=", 100),
        Goal(
            "margin_half_width_largest",
            "largest half-width of a certified margin over the margin",
            "<=",
            1e-10,
        ),
        Goal("label_table_milliseconds", "label table of 300 rows, K = 100 [ms]", "<=", 25),
        Goal("plan_milliseconds", "certified violation of one plan from the table, K = 100 [ms]", "<=", 0.3),
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
        Goal("random_plans", "random plans put to the batch and to the independent judge", ">=", 1e5),
        Goal("share_within_factor_two", "share of these with P within a factor 2 of the budget", ">=", 0.3),
        Goal("false_feasible", "certified feasible, or a bound below the truth, against the judge", "==", 0),
        Goal(
            "false_infeasible", "certified infeasible, or a bound above the truth, against the judge", "==", 0
        ),
    ),
    run=_run,
    seed=20260215,
)
