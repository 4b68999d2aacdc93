"""Expectations over the tails of a switch: exact probabilities at the knots, and quadrature as the oracle."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import StudentT
from depl.models.risk.knots import Knots


@dataclass
class Known:
    """R with the law of a Student-t about its mean, in the place of contours."""

    mean: float = 1.0
    freedom: float = 1.2
    asked: int = 0

    def exact(self, values):
        """P(R > value)."""
        return stats.t.sf(values, self.freedom, self.mean)

    def __call__(self, values):
        self.asked += len(values)
        probabilities = self.exact(values)
        return probabilities * (1 - 1e-13), probabilities * (1 + 1e-13)


SWITCH = StudentT(degrees_of_freedom=1.7, location=0.3, scale=0.5)


def expectation(law, core, function):
    """E[function(S); S outside of its core], by Gauss's rule on pieces that grow from the core."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 1e40, 6000)])
    half = np.diff(edges)[:, None] / 2
    steps, masses = (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
    both = np.concatenate([core.upper + steps, core.lower - steps])
    density = stats.t.pdf(both, law.degrees_of_freedom, law.location, law.scale) / law.interval_mass()
    lower, upper = law.support()
    density[(both < lower) | (both > upper)] = 0.0
    return float(np.tile(masses, 2) * density @ function(both))


@pytest.mark.parametrize("value", [-4.0, 1.0, 9.0, 300.0])
@pytest.mark.parametrize("tails", [0.5, 0.02])
def test_both_tails_are_enclosed_as_closely_as_there_is_time_for(value, tails):
    known, core = Known(), SWITCH.core(tails)
    truth = expectation(SWITCH, core, lambda s: known.exact(value - s))
    low, high = Knots(known, 1.0, 4096).expectation(SWITCH, core, value, 1e-3, 0.0)
    assert low <= truth * (1 + 1e-8)
    assert truth * (1 - 1e-8) <= high
    assert high - low <= 1.1e-3 * high


@dataclass
class OneSided(Known):
    """R is mean -+ Y with P(Y > y) = (1 + y)**-0.05: a quarter of it is beyond all knots."""

    sign: float = -1.0

    def exact(self, values):
        beyond = (1 + np.maximum(self.sign * (values - self.mean), 0.0)) ** -0.05
        return beyond if self.sign > 0 else 1 - beyond


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_what_lies_beyond_the_last_knot_counts_in_full(sign):
    """There P(R > v - s) is still far from 1 or 0, and the tail of the switch not yet at its end."""
    ends = (0.0, 1e30) if sign < 0 else (-1e30, 0.0)
    law = StudentT(degrees_of_freedom=0.05, location=0.0, scale=1.0, lower=ends[0], upper=ends[1])
    known, core = OneSided(sign=sign), law.core(0.5, widest=3.0)
    truth = expectation(law, core, lambda s: known.exact(2.0 - s))
    low, high = Knots(known, 1.0, 4096).expectation(law, core, 2.0, 1e-3, 0.0)
    assert low <= truth <= high
    assert high >= truth + 0.01 * abs(truth)  # which is what cannot be known beyond


def test_no_more_knots_are_asked_for_than_there_is_time_for():
    known, core = Known(), SWITCH.core(0.02)
    knots = Knots(known, 1.0, 200)
    for value in (5.0, 6.0, 7.0):
        low, high = knots.expectation(SWITCH, core, value, 1e-9, 0.0)
        assert low <= expectation(SWITCH, core, lambda s, v=value: known.exact(v - s)) <= high
    assert known.asked <= 200 + 6


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("value", [-4.0, 9.0, 300.0])
def test_several_tails_are_bounded_from_above(times, value):
    known, core = Known(), SWITCH.core(0.02)
    truth = expectation(
        SWITCH, core, lambda s: np.minimum(2.0 ** (times - 1) * known.exact(value - times * s), 1.0)
    )
    bound = Knots(known, 1.0, 4096).exceeded(SWITCH, core, value, times)
    assert truth * (1 - 1e-8) <= bound <= 2 * truth


def by_hand(knots, law, core, value):
    """The sums of the module's docstring, knot by knot, and those below the core, cell by cell."""
    lower, upper = core.support()
    known = list(zip(knots._points, knots._low, knots._high, strict=True))
    right = [(value - u, low, high) for u, low, high in reversed(known) if u <= value - upper]
    edges = np.array([upper, *(edge for edge, _, _ in right[1:])])
    least, most = law.exceedance(edges)
    sums = [0.0, most[0] * right[0][2]]
    for index, (_, low, high) in enumerate(right):
        before = right[index - 1][1] if index else 0.0
        after = right[index + 1][2] if index + 1 < len(right) else 1.0
        sums = [sums[0] + least[index] * (low - before), sums[1] + most[index] * (after - high)]
    left = [(value - u, low, high) for u, low, high in known if u >= value - lower]
    least, most = law.shortfall(np.array([lower, *(edge for edge, _, _ in left[1:])]))
    sides = [0.0, most[-1] * left[-1][2]]
    for index in range(len(left) - 1):
        sides[0] += max(least[index] - most[index + 1], 0.0) * left[index + 1][1]
        sides[1] += (most[index] - least[index + 1]) * left[index][2]
    return sums, sides


class Doubtful:
    """The switch with tails that are known to a few per cent only, so that their bounds can be told apart."""

    @staticmethod
    def exceedance(edges):
        """Bounds of P(S > edge)."""
        low, high = SWITCH.exceedance(edges)
        return 0.97 * low, 1.03 * high

    @staticmethod
    def shortfall(edges):
        """Bounds of P(S < edge)."""
        low, high = SWITCH.shortfall(edges)
        return 0.97 * low, 1.03 * high


@pytest.mark.parametrize("value", [-4.0, 1.0, 9.0])
def test_with_a_few_knots_the_sums_are_those_of_the_docstring(value):
    """So few that every knot counts; those in the core do not."""
    core = SWITCH.core(0.05)
    knots = Knots(Known(), 1.0, 4096)
    lower, upper = core.support()
    outside = [lower - 9.0, lower - 2.0, lower, upper, upper + 0.5, upper + 8.0]
    knots._points = np.sort(value - np.array([*outside, lower + 0.01, 0.0, upper - 0.01]))
    exact = knots.smooth(knots._points)[0]
    knots._low, knots._high = 0.95 * exact, exact + 0.05 * (1 - exact)
    above, below = knots._right(Doubtful, upper, value), knots._left(Doubtful, lower, value)
    for found, sums in zip((above, below), by_hand(knots, Doubtful, core, value), strict=True):
        assert found[:2] == pytest.approx(sums, rel=1e-12)
        assert len(found[2]) == len(found[3]) == 2
        assert np.all(found[2] > 0)
        assert set(found[3]) <= set((knots._points[1:] + knots._points[:-1]) / 2)
