"""Further runs of a plan: how many bring a promise, and with which probability."""

from fractions import Fraction
from math import prod

import pytest

from depl.models.estimation.advice import further_runs
from depl.models.estimation.binomial import binomial_tail
from depl.models.evaluation.traced_law import runs_to_carry


def urn(allowed, runs, above, of):
    """P(at most so many misses): every run is drawn from an urn, and put back with one like it (Polya)."""

    def path(misses):
        up = [Fraction(above + 1 + i, 1) for i in range(misses)]
        down = [Fraction(of - above + i, 1) for i in range(runs - misses)]
        return prod(up + down, start=Fraction(1)) / prod(of + 1 + i for i in range(runs))

    ways = [1]
    for misses in range(allowed):
        ways.append(ways[-1] * (runs - misses) // (misses + 1))
    return sum((many * path(misses) for misses, many in enumerate(ways)), Fraction(0))


@pytest.mark.parametrize("confidence", [None, 0.8, 0.95])
@pytest.mark.parametrize(
    ("level", "seen", "misses", "lost"), [(0.8, 7, 1, 0), (0.95, 12, 0, 1), (0.9, 30, 4, 0)]
)
def test_so_many_runs_bring_the_promise_and_one_less_does_not(confidence, level, seen, misses, lost):
    """By fractions: (x + d + 1) / (n + d + 1), or the binomial tail that Clopper and Pearson invert."""
    budget = 1 - Fraction(str(level))

    def promised(more, runs):
        above, size = misses + more + lost, seen + runs + lost
        if confidence is None:
            return Fraction(above + 1, size + 1) <= budget
        return binomial_tail(above, size, budget) <= 1 - Fraction(str(confidence))

    def needed(more):
        return runs_to_carry(level, confidence, lost, more)

    found = list(further_runs(needed, seen, misses, 1, 40))
    assert [one.allowed for one in found] == [0, 1, 2, 3][-len(found) :]
    for one in found:
        assert promised(one.allowed, one.runs)
        assert not promised(one.allowed, one.runs - 1)
        assert not promised(one.allowed + 1, one.runs)
        assert one.share == pytest.approx(float(urn(one.allowed, one.runs, 1, 40)), rel=1e-9)
    assert [one.share for one in further_runs(needed, 1, 0, 9, 9)] == [0.0] * 4
