"""Certificates: coverage by enumeration for any law, ties and infinities, and verdicts."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from depl.models.estimation.binomial import Verdict
from depl.models.estimation.certificate import certificate, loss_bound
from depl.models.foundation.errors import InvalidInputError

# A law with atoms, the greatest is "no final loss": P(l <= 0) = 0.3, P(l <= 1) = 0.6, P(l <= 2) = 0.9.
ATOMS = {0.0: Fraction(3, 10), 1.0: Fraction(3, 10), 2.0: Fraction(3, 10), math.inf: Fraction(1, 10)}


def chance(outcome: tuple[float, ...]) -> Fraction:
    return math.prod((ATOMS[loss] for loss in outcome), start=Fraction(1))


def quantile(level: Fraction) -> float:
    total = Fraction(0)
    for loss, weight in ATOMS.items():
        total += weight
        if total >= level:
            return loss
    return math.inf


@pytest.mark.parametrize("level", [0.3, 0.5, 0.6, 0.61, 0.75, 0.9, 0.95])
def test_the_quantile_bound_covers_with_its_confidence_also_with_ties_and_infinities(level: float) -> None:
    """All 4**5 outcomes of five runs, each with its probability; of all orders of the same runs one."""
    orders = Counter(tuple(sorted(outcome)) for outcome in product(ATOMS, repeat=5))
    wanted = quantile(Fraction(str(level)))
    for confidence in (0.5, 0.75, 0.9):
        covered = sum(
            times * chance(outcome)
            for outcome, times in orders.items()
            if loss_bound(outcome[::2] + outcome[1::2], level, confidence).value >= wanted
        )
        assert covered >= Fraction(str(confidence))


@pytest.mark.parametrize("level", [0.3, 0.5, 0.6, 0.75, 0.8])
def test_the_conformal_bound_covers_the_next_run_on_average(level: float) -> None:
    covered = sum(
        chance(outcome)
        for outcome in product(ATOMS, repeat=5)
        if outcome[-1] <= loss_bound(outcome[:-1], level, None).value
    )
    assert covered >= Fraction(str(level))


def test_without_ties_the_conformal_bound_covers_exactly_its_rank() -> None:
    """Five values in any order are equally likely; the last one is the next run."""
    covered = [order[-1] <= loss_bound(order[:-1], 0.5, None).value for order in permutations(range(5))]
    assert Fraction(sum(covered), len(covered)) == Fraction(3, 5)  # ceil(5 * 0.5) = 3 of 5 ranks
    # (n + 1) omega is 7 exactly, and 7.000000000000001 in floating point
    assert 100 * 0.07 > 7
    assert loss_bound(np.arange(99), 0.07, None).rank == 7


@pytest.mark.parametrize(
    ("confidence", "sizes"), [(None, {0.9: 9, 0.95: 19, 0.99: 99}), (0.95, {0.9: 29, 0.95: 59, 0.99: 299})]
)
def test_fewer_runs_than_needed_give_no_bound_and_say_how_many_do(confidence, sizes) -> None:
    for level, runs in sizes.items():
        assert loss_bound(np.arange(runs), level, confidence).value == runs - 1
        short = loss_bound(np.arange(runs - 1), level, confidence)
        assert (short.value, short.rank, short.least_runs) == (math.inf, None, runs)
        # P(the maximum of n lies below the quantile) = omega**n for a continuous law
        assert confidence or 1 / 3 < level**runs < 0.4


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_certified_is_the_same_as_a_quantile_bound_within_the_target(level: float) -> None:
    rng = np.random.default_rng(1)
    for runs in (3, 30, 61):
        losses = rng.integers(0, 12, runs).astype(float)
        for target in np.arange(-0.5, 13, 0.5):
            found = certificate(losses, float(target), level, 0.9)
            assert found.certified == (found.quantile.value <= target)
            assert found.certified == (found.allowed is not None and found.exceedances <= found.allowed)
            assert found.certified == (found.greatest_violation <= 1 - level)


def test_the_verdict_of_counts_worked_out_by_hand() -> None:
    none = certificate(np.zeros(59), 0.5, 0.95)
    assert none.verdict is Verdict.CERTIFIED
    assert none.p_value == pytest.approx(0.95**59)
    assert none.greatest_violation == pytest.approx(1 - 0.05 ** (1 / 59))
    one = certificate([*np.zeros(58), 1.0], 0.5, 0.95)
    assert (one.verdict, one.exceedances, one.allowed, one.needed) == (Verdict.UNDECIDED, 1, 0, 93)
    assert one.refuting_p_value == pytest.approx(1 - 0.95**59)
    all_of_them = certificate(np.ones(2), 0.5, 0.95)
    assert all_of_them.verdict is Verdict.REFUTED  # 0.05**2
    assert all_of_them.refuting_p_value == pytest.approx(0.0025)
    assert all_of_them.allowed is None


def test_a_loss_at_the_target_keeps_it_and_a_missing_one_does_not() -> None:
    found = certificate([0.5, 0.5, math.nan, math.inf], 0.5, 0.5, 0.5)
    assert (found.runs, found.exceedances) == (4, 2)


def test_what_is_no_sample_or_no_target_is_refused() -> None:
    for losses, target in (
        ([], 1),
        ([[1.0]], 1),
        ([1.0, -math.inf], 1),
        ([1.0], math.nan),
        ([1.0], math.inf),
    ):
        with pytest.raises(InvalidInputError):
            certificate(losses, target, 0.9)
    with pytest.raises(InvalidInputError):
        loss_bound([1.0], 1, None)
