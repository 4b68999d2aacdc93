"""The certified contour against rigorous ball arithmetic: is it right, and how sharp is it.

Python-flint is needed. The references are rigorous throughout (`depl.benchmarks.oracles.ball_arithmetic`):
every transform has 50 correct digits, and the balls are smaller than 1e-19 times the probability. Sums of one
or two inverse gamma increments are also integrated by a method that shares nothing with the contour.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from depl.benchmarks.runner.registry import Case, Goal
from depl.benchmarks.suites.random_gains import random_inverse_gamma, random_switch
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Law, Lognormal, Normal
from depl.models.risk.certify import certified_margin, contour_violation

_DIGITS, _BITS = 20.0, 170


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
    cases, longest = (2, 10) if smoke else (300, 1000)
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
    laws: list[Law] = [random_inverse_gamma(rng) for _ in range(rng.integers(1, 4))]
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
        counts[Term(1.0, random_switch(rng))] = int(rng.integers(1, 4))
    budget = math.exp(rng.uniform(math.log(1e-8), math.log(0.5)))
    # Losses are positive, so the initial one exceeds what is gained.
    initial = -2.0 * FinalLoss(0.0, tuple(counts.items())).mean()
    return FinalLoss(initial, tuple(counts.items())), budget


def _check(loss: FinalLoss, budget: float) -> _Checked:
    """Interval and margin at the certified quantile, against the same gain in ball arithmetic."""
    from flint import arb, ctx

    from depl.benchmarks.oracles.ball_arithmetic import BallSum

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

    from depl.benchmarks.oracles.ball_arithmetic import convolved, distribution_function, mean

    single = [term for term, count in loss.terms for _ in range(count)]
    if not all(isinstance(term.law, InverseGamma) for term in single) or len(single) > 2:
        return None
    if len(single) == 2:
        found = convolved(single[0], single[1], deviation)
    else:
        law, weight = single[0].law, -single[0].coefficient
        found = distribution_function(law, acb(mean(law) + arb(deviation) / weight)).real
    return bool(found.overlaps(probability(deviation)))


CASE = Case(
    name="risk-balls",
    summary="The certified contour against rigorous ball arithmetic.",
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
    ),
    run=_against_balls,
    seed=20260215,
)
