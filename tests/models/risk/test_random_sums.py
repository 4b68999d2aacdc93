"""Random sums, near the budget and far from it: no interval misses an oracle, no verdict is wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict
from tests.oracles.ball_arithmetic import BallSum, convolved, distribution_function, mean
from tests.problems import student

DIGITS, BITS = 20.0, 170
"""Of the balls, which are smaller than 1e-19 times the probability."""


def random_inverse_gamma(rng):
    """A shape from 2.1 to 1000, log-uniform, and a mean from 0.5 to 1.5."""
    shape = math.exp(rng.uniform(math.log(2.1), math.log(1000)))
    return InverseGamma(shape=shape, scale=(shape - 1) * float(rng.uniform(0.5, 1.5)))


def random_switch(rng):
    """A switch of about 0.1, truncated to [-0.2, 0.8]."""
    freedom, scale = float(rng.uniform(1.5, 8.0)), float(rng.uniform(0.02, 0.1))
    return student(freedom, 0.1, scale, -0.2, 0.8)


# --- single sums against ball arithmetic ------------------------------------------------------------------


def random_sum(rng, index, longest):
    """A random sum of 1 to ``longest`` increments, and a violation budget from 1e-8 to 1/2."""
    count = 1 + index % 2 if index % 5 == 0 else int(math.exp(rng.uniform(0, math.log(longest + 1))))
    laws = [random_inverse_gamma(rng) for _ in range(rng.integers(1, 4))]
    offset, constant = rng.uniform(0, 5), rng.random() < 0.3
    counts = {}
    for epoch in range(1, count + 1):
        weight = 1.0 if constant else 1 / math.sqrt(epoch + offset)
        term = Term(-weight, laws[rng.integers(len(laws))])
        counts[term] = counts.get(term, 0) + 1
    other = rng.choice(["none", "normal", "lognormal", "switch"])
    kind = "none" if index % 5 == 0 else other
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


def require_the_ball(loss, budget):
    """Interval and margin contain what ball arithmetic finds."""
    margin = certified_margin(loss, Fraction(budget))
    maximum = loss.mean() + margin.middle
    interval = contour_violation(loss, maximum)
    reference = BallSum(loss.terms, budget, -margin.lower, DIGITS, BITS)
    with ctx.workprec(2 * BITS):
        deviation = arb(loss.constant) - maximum - reference.expectation
        truth = reference.probability(deviation)
        assert interval.lower <= truth.lower()
        assert truth.upper() <= interval.upper
        assert reference.probability(-margin.upper) <= budget <= reference.probability(-margin.lower)
        require_confirmation(loss, float(deviation.mid()), reference.probability)


def require_confirmation(loss, deviation, probability):
    """One or two inverse gamma increments have a closed form or a convolution, which the balls agree with."""
    single = [term for term, count in loss.terms for _ in range(count)]
    if not all(isinstance(term.law, InverseGamma) for term in single) or len(single) > 2:
        return
    if len(single) == 2:
        found = convolved(single[0], single[1], deviation)
    else:
        law, weight = single[0].law, -single[0].coefficient
        found = distribution_function(law, acb(mean(law) + arb(deviation) / weight)).real
    assert found.overlaps(probability(deviation))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_interval_of_300_sums_of_up_to_1000_increments_misses_the_ball(part):
    rng = np.random.default_rng([20260215, part])
    for index in range(30):
        require_the_ball(*random_sum(rng, index, 1000))


# --- verdicts of one contour on many plans ----------------------------------------------------------------


def random_plans(rng, plans):
    """Rows of three random laws with decay and of two switches; plans of K/4 to K epochs."""
    epochs = int(math.exp(rng.uniform(0, math.log(61))))
    laws = [random_inverse_gamma(rng) for _ in range(3)]
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in laws]
    terms += [Term(1.0, Normal(mean=0.05, variance=0.001)), Term(1.0, random_switch(rng))]
    counts = np.zeros((plans, 3 * epochs + 2), dtype=np.int16)
    counts[np.arange(plans)[:, None], 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))] = 1
    lengths = rng.integers(max(1, epochs // 4), epochs + 1, plans)
    counts[:, :-2] *= np.repeat(np.arange(1, epochs + 1), 3) <= lengths[:, None]
    counts[:, -2:] = rng.integers(0, 3, (plans, 2)) * (rng.random((plans, 1)) < 0.5)
    return tuple(terms), counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_verdict_of_one_contour_on_random_plans_is_wrong(part):
    """Next to the quantile of each plan at the budget, on either side of it, and far from it."""
    rng = np.random.default_rng([20260215, part])
    terms, counts = random_plans(rng, 8)
    budget = Fraction(1, int(rng.choice([10, 20, 100, 1000, 10_000])))
    plans = [LossClasses(terms, counts, np.zeros(8)).loss(index) for index in range(8)]
    margins = [certified_margin(plan, budget).middle for plan in plans]
    contour, seen = choose_contour(plans[0].terms, float(budget)), set()
    for share in (-4.0, 0.97, 1.0 - 1e-6, 1.0 + 1e-6, 1.03, 3.0):
        gains = np.array([-plan.mean() - share * m for plan, m in zip(plans, margins, strict=True)])
        lower, upper = violation(contour, label_table(terms, contour).combine(counts), gains, 0.0)
        verdicts = PreparedVerdicts(0.0, budget).many(LossClasses(terms, counts, gains))
        for index, plan in enumerate(plans):
            reference = BallSum(plan.terms, float(budget), -share * margins[index], DIGITS, BITS)
            with ctx.workprec(2 * BITS):
                truth = reference.probability(arb(float(gains[index])) - reference.expectation)
            assert lower[index] <= truth.upper()
            assert truth.lower() <= upper[index]
            assert verdicts[index] != Verdict.MET or truth.lower() <= float(budget)
            assert verdicts[index] != Verdict.VIOLATED or truth.upper() >= float(budget)
        seen |= set(verdicts.tolist())
    assert {Verdict.MET, Verdict.VIOLATED} <= seen
