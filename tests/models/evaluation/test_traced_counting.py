"""How runs are counted: against binomial sums in fractions, and on average over sets of runs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from depl.models.evaluation.traced_counting import confident_weights, runs_to_carry, settled_losses
from depl.models.evaluation.traced_prediction import mixture_of
from depl.models.exact.traced_verdicts import exceedances
from depl.models.problem.affine_law import AffineLaw, Coefficients, RunRecord, assembled, positions
from depl.models.problem.counting import Counting
from tests.cases.memory_cases import CUT, FAR, FULL
from tests.oracles.traced_law import UNIT, at_most

# --- with a confidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("runs", [1, 2, 6, 19, 60])
def test_the_weight_of_x_misses_is_at_least_the_exact_upper_end_and_hardly_more(
    runs: int, confidence: float
) -> None:
    """At the true end P(X <= x) = 1 - c: it is at most that at the weight, and more 3e-6 below it."""
    weights = confident_weights(runs, confidence)
    assert weights.sum() == UNIT
    assert weights.min() >= 0
    risk = 1 - Fraction(repr(confidence))
    for above in range(0, runs, max(1, runs // 7)):
        share = Fraction(int(weights[-above - 1 :].sum()), UNIT)
        assert at_most(above, runs, share) <= risk
        assert share - Fraction(3, UNIT) < 0 or at_most(above, runs, share - Fraction(3, UNIT)) > risk


def test_the_runs_that_carry_a_level_are_those_that_cannot_be_one_fewer() -> None:
    levels = (0.8, 0.9, 0.95, 0.99)
    assert [runs_to_carry(level) for level in levels] == [4, 9, 19, 99]
    assert [runs_to_carry(level, 0.95) for level in levels] == [14, 29, 59, 299]
    for level in (0.5, 0.8, 0.9, 0.937, 0.95, 0.99):
        omega = Fraction(repr(level))
        needed = runs_to_carry(level)
        assert Fraction(1, needed + 1) <= 1 - omega < Fraction(1, needed)
        for confidence in (0.5, 0.9, 0.95):
            needed = runs_to_carry(level, confidence)
            assert omega**needed <= 1 - Fraction(repr(confidence))
            assert needed == 1 or omega ** (needed - 1) > 1 - Fraction(repr(confidence))


def test_where_runs_diverged_so_many_more_are_needed_as_leave_room_for_them() -> None:
    """With confidence 0.95: 93 for one failure and 153 for three at 0.95 are the classical sample sizes."""
    assert [runs_to_carry(0.95, 0.95, lost) + lost for lost in (0, 1, 2, 3)] == [59, 93, 124, 153]
    assert [runs_to_carry(0.9, diverged=lost) for lost in (0, 1, 4)] == [9, 18, 45]
    for level in (0.5, 0.9, 0.937, 0.99):
        omega = Fraction(repr(level))
        for lost in (1, 2, 7):
            needed = runs_to_carry(level, diverged=lost)
            assert Fraction(lost + 1, needed + lost + 1) <= 1 - omega < Fraction(lost + 1, needed + lost)
            needed = runs_to_carry(level, 0.9, lost)
            kept, short = (
                sum(math.comb(n, x) * (1 - omega) ** x * omega ** (n - x) for x in range(lost + 1))
                for n in (needed + lost, needed + lost - 1)
            )
            assert kept <= Fraction(1, 10)
            assert needed == 1 or short > Fraction(1, 10)


# --- settled losses ---------------------------------------------------------------------------------------


def _run(*losses: float) -> RunRecord:
    values = np.array(losses)
    return RunRecord((), values, values[1:], values)


def test_above_a_limit_count_as_many_runs_as_after_the_worst_of_the_last_epochs() -> None:
    runs = [_run(9, 1, 4, 2, 3, 0), _run(9, 7, 2, 5, 1, 0)]
    assert settled_losses(runs, 4, 1).tolist() == [1, 3]
    assert settled_losses(runs, 4, 2).tolist() == [2, 5]
    assert settled_losses(runs, 4, 3).tolist() == [2, 5]
    assert settled_losses(runs, 4, 4).tolist() == settled_losses(runs, 4, 50).tolist() == [2, 7]
    assert settled_losses(runs, 1, 50).tolist() == [1, 7]
    # each run alone was above 2.5 after one of the epochs 2 and 3, but after none of them both were
    assert np.sum(settled_losses(runs, 3, 2) > 2.5) == 1


def test_the_epoch_with_which_all_runs_end_counts_alone() -> None:
    runs = [_run(9, 1, 4, 2), _run(9, 7, 2, 1)]
    assert settled_losses(runs, 3, 3).tolist() == [1, 2]
    assert settled_losses(runs, 2, 3).tolist() == [2, 7]
    assert settled_losses([*runs, _run(9, 0, 0, 0, 0)], 3, 3).tolist() == [0, 2, 7]


# --- on average over sets of runs -------------------------------------------------------------------------

SETS = 2000
LIMIT = 2.5
UNSEEN = 1e6


def promised_whole(finals: np.ndarray, confidence: float | None = None, diverged: int = 0) -> float:
    """P(l(1) > LIMIT) by runs of one epoch that end so."""
    places = positions((FULL,))
    runs = tuple(RunRecord(places, np.array([1.0, end]), np.zeros(1), np.array([1.0, end])) for end in finals)
    counting = Counting(unseen=UNSEEN, whole_runs=1, confidence=confidence, diverged=diverged)
    mixed = mixture_of(AffineLaw({}, runs), places, counting)
    assert mixed.together
    return float(*exceedances(mixed, np.zeros(1), [LIMIT]))


def promised_staged(first: np.ndarray, second: np.ndarray, diverged: int = 0) -> float:
    """P(l(2) > LIMIT) of l(2) = l(1) / 2 + e, where some runs lend l(1) and others, after cut, lend e."""
    alone, after = positions((FULL,)), positions((CUT, FAR))
    law = assembled(
        {
            (FULL, True, 1, None): Coefficients(0.0, 0.0, 0.0, (1, 1)),
            (FAR, False, 1, FULL): Coefficients(0.0, 0.0, 0.5, (1, 1), pooled=True),
            (FAR, False, 1, CUT): Coefficients(0.0, 0.0, 0.5, (1, 1), pooled=True),
        },
        [alone] * len(first) + [after] * len(second),
        [np.array([1.0, loss]) for loss in first] + [np.array([1.0, 1.0, 0.5 + loss]) for loss in second],
    )
    mixed = mixture_of(law, positions((FULL, FAR)), Counting(unseen=UNSEEN, diverged=diverged))
    assert [part.size - diverged for part in mixed.parts] == [len(first) + 1, len(second) + 1]
    return float(*exceedances(mixed, np.zeros(1), [LIMIT]))


@pytest.mark.parametrize("lost", [1, 2, 5])
def test_every_run_that_diverged_is_one_more_miss_of_one_more_run(lost: int) -> None:
    finals = np.array([1.0, 2.0, 3.0, 1.5])  # one of four above the limit
    assert promised_whole(finals, diverged=lost) == pytest.approx((1 + lost + 1) / (4 + lost + 1))
    upper = promised_whole(finals, 0.9, lost)
    assert stats.binom.cdf(1 + lost, 4 + lost, upper) == pytest.approx(0.1, abs=1e-4)
    assert stats.binom.cdf(1 + lost, 4 + lost, upper) <= 0.1


def test_stages_lend_every_run_that_diverged() -> None:
    """Of (2 + 3) (4 + 3) combinations only the 2 times 4 of runs that were seen can be met, and all are."""
    met = promised_staged(np.zeros(2), np.zeros(4), diverged=2)
    assert met == pytest.approx(1 - 2 * 4 / (5 * 7))


def test_promises_are_right_on_average_where_some_runs_diverge() -> None:
    """A third of all runs diverges; as many beside those seen as did are counted, however many these are."""
    rng = np.random.default_rng(5)
    truth = 1 / 3 + 2 / 3 * float(stats.lognorm(1).sf(LIMIT))
    promises = []
    for _ in range(SETS):
        drawn, lost = rng.lognormal(size=12), rng.random(12) < 1 / 3
        if not lost.all():
            promises.append(promised_whole(drawn[~lost], diverged=int(lost.sum())))
    assert is_at_least(promises, truth)
    assert np.mean(promises) == pytest.approx(truth + (1 - truth) / 13, abs=0.02)


def is_at_least(promises: list[float], truth: float) -> bool:
    """Whether promises are no smaller than the truth on average, but for four standard errors."""
    return float(np.mean(promises)) >= truth - 4 * float(np.std(promises)) / len(promises) ** 0.5


@pytest.mark.parametrize("runs", [1, 3, 8, 19])
def test_promises_of_whole_runs_are_right_on_average(runs: int) -> None:
    """Without the run more they would be right only just; with it they err by (1 - p) / (n + 1) exactly."""
    rng = np.random.default_rng(runs)
    truth = float(stats.lognorm(1).sf(LIMIT))
    promises = [promised_whole(rng.lognormal(size=runs)) for _ in range(SETS)]
    assert is_at_least(promises, truth)
    error = 4 * float(np.std(promises)) / SETS**0.5
    assert np.mean(promises) == pytest.approx(truth + (1 - truth) / (runs + 1), abs=error + 1e-12)


@pytest.mark.parametrize("runs", [3, 8, 19])
def test_the_next_run_misses_the_promised_quantile_as_rarely_as_promised(runs: int) -> None:
    """The limit is chosen by the runs themselves: the next one exceeds it in the share 1 - omega at most."""
    rng = np.random.default_rng(100 + runs)
    level = Fraction(runs, runs + 1)  # all that so many runs carry
    missed = 0
    for _ in range(SETS):
        drawn = rng.lognormal(size=runs + 1)
        atoms = np.sort(np.append(drawn[:-1], UNSEEN))
        missed += drawn[-1] > atoms[int(np.ceil(level * (runs + 1))) - 1]
    share = float(1 - level)
    assert missed / SETS <= share + 4 * (share * (1 - share) / SETS) ** 0.5


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((3, 8), (8, 3)))]
)
def test_promises_of_combined_stages_are_right_on_average(first: int, second: int) -> None:
    rng = np.random.default_rng(10 * first + second)
    drawn = rng.lognormal(size=(2, 400_000))
    truth = float(np.mean(drawn[0] / 2 + drawn[1] > LIMIT))
    promises = [promised_staged(rng.lognormal(size=first), rng.lognormal(size=second)) for _ in range(SETS)]
    assert is_at_least(promises, truth)
    apart = 1 - first * second / (first + 1) / (second + 1)  # any stage lent by the run unlike all seen
    assert min(promises) >= apart - 1e-12


@pytest.mark.parametrize("runs", [6, 19])
def test_with_a_confidence_few_sets_of_runs_promise_too_much(runs: int) -> None:
    rng = np.random.default_rng(200 + runs)
    truth = float(stats.lognorm(1).sf(LIMIT))
    bold = sum(promised_whole(rng.lognormal(size=runs), 0.9) < truth for _ in range(SETS)) / SETS
    assert bold <= 0.1 + 4 * (0.1 * 0.9 / SETS) ** 0.5
    marginal = sum(promised_whole(rng.lognormal(size=runs)) < truth for _ in range(SETS)) / SETS
    assert marginal > bold
