"""The judge of batched verdicts, against closed forms and ball arithmetic."""

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy import stats

from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Normal, StudentT
from depl.models.risk.contour import choose_contour
from tests.oracles.ball_arithmetic import BallSum, distribution_function
from tests.oracles.density_oracle import DensityOracle


def oracle_for(terms, counts, budget):
    pairs = [(term, int(count)) for term, count in zip(terms, counts[0], strict=True) if count]
    return DensityOracle(terms, np.array(counts, dtype=float), choose_contour(pairs, budget).abscissa)


@pytest.mark.parametrize("shape", [2.1, 5.0, 139.2, 1000.0])
@pytest.mark.parametrize("budget", [0.1, 1e-4])
def test_one_increment_has_its_distribution_function(shape, budget):
    law = InverseGamma(shape=shape, scale=shape - 1)
    judge = oracle_for([Term(-1.0, law)], [[1]] * 4, budget)
    gains = stats.invgamma.ppf([1e-6, 0.5 * budget, 2 * budget, 0.4], shape, scale=shape - 1)
    judged = judge.judge(gains)
    for gain, lower, upper in zip(gains, judged.lower, judged.upper, strict=True):
        with ctx.workprec(100):
            value = distribution_function(law, acb(float(gain))).real
        assert lower <= float(value.lower())
        assert float(value.upper()) <= upper


def test_plans_of_every_kind_of_law_contain_the_value_from_ball_arithmetic():
    terms = [
        Term(-0.6, InverseGamma(shape=12.0, scale=11.0)),
        Term(-0.3, InverseGamma(shape=2.5, scale=1.5)),
        Term(1.0, Normal(mean=0.1, variance=0.004)),
        Term(-1.0, Empirical(values=(0.2, 0.3, 0.5))),
        Term(1.0, StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.05, lower=-0.1, upper=0.4)),
    ]
    counts = [[4, 2, 1, 2, 0], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1]]
    deviations = np.array([-0.7, -0.3, -0.5])
    references = [
        BallSum([(t, n) for t, n in zip(terms, row, strict=True) if n], 0.01, -0.3, digits=14)
        for row in counts
    ]
    gains = np.array([float(r.expectation.mid()) for r in references]) + deviations
    judged = oracle_for(terms, counts, 0.02).judge(gains)
    for reference, gain, lower, upper in zip(references, gains, judged.lower, judged.upper, strict=True):
        with ctx.workprec(100):
            value = reference.probability(arb(float(gain)) - reference.expectation)
        assert lower <= float(value.lower())
        assert float(value.upper()) <= upper
        assert upper - lower < 1e-9


def test_far_outside_the_window_only_what_is_sure_is_said():
    judge = oracle_for([Term(-1.0, InverseGamma(shape=50.0, scale=49.0))], [[1]] * 4, 0.01)
    judged = judge.judge(np.array([-5.0, 0.01, 3.0, 1000.0]))
    assert np.all(judged.lower[:2] == 0)
    assert np.all(judged.upper[:2] < 1e-9)
    assert np.all(judged.upper[2:] == 1)
    assert np.all(judged.lower[2:] > 0.3)
