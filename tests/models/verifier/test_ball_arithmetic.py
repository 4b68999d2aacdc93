"""The verifier's probabilities against ball arithmetic, at quantiles of random sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_margin
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Increment, decimal
from tests.oracles.ball_arithmetic import BallSum

DIGITS, BITS = 13.0, 80
"""Of the balls, a thousandth as wide as the narrowest bracket."""


def random_loss(rng: np.random.Generator) -> FinalLoss:
    """Up to eight epochs of two inverse gamma laws, and one more law or none."""
    shapes = np.exp(rng.uniform(math.log(2.1), math.log(1000), size=2))
    laws = [InverseGamma(shape=shape, scale=(shape - 1) * rng.uniform(0.5, 1.5)) for shape in shapes.tolist()]
    count = int(math.exp(rng.uniform(0, math.log(9))))
    terms = [(Term(-1 / math.sqrt(epoch), laws[rng.integers(2)]), 1) for epoch in range(1, count + 1)]
    spread, degrees = float(rng.uniform(0.02, 0.1)), float(rng.uniform(1.5, 8))
    ends = {"lower": -0.2, "upper": 0.8}
    others = [
        (Term(1.0, Normal(mean=0.1, variance=spread**2)), 2),
        (Term(-float(rng.uniform(0.1, 1)), Lognormal(mean=1.0, variance=10 * spread**2)), 1),
        (Term(1.0, StudentT(degrees_of_freedom=degrees, location=0.1, scale=spread, **ends)), 1),
    ]
    return FinalLoss(0.0, (*terms, *others[rng.integers(4) :][:1]))


@pytest.mark.parametrize("count", [2, pytest.param(400, marks=pytest.mark.slow)])
def test_brackets_at_quantiles_contain_the_ball(count):
    """A sum whose transforms ball arithmetic cannot find precisely enough gives its place to another."""
    rng, compared = np.random.default_rng(20261128), 0
    while compared < count:
        loss, budget = random_loss(rng), math.exp(rng.uniform(math.log(1e-8), math.log(0.5)))
        margin = certified_margin(loss, Fraction(budget))
        gap = loss.mean() + margin.middle
        try:
            reference = BallSum(loss.terms, budget, -margin.lower, DIGITS, BITS)
        except NotCoveredError:
            continue
        compared += 1
        with ctx.workprec(2 * BITS):
            truth = reference.probability(arb(-gap) - reference.expectation)
        parts = [Increment(decimal(term.coefficient), term.law, number) for term, number in loss.terms]
        found = tail_probability(parts, Fraction(gap))
        assert found.lower <= truth.lower()
        assert truth.upper() <= found.upper
        assert found.upper - found.lower <= 1e-8 * found.upper
