"""The final loss under the affine law: by recursion, by the runs themselves, and how runs are counted."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.affine import fit_affine
from depl.models.evaluation.traced_law import (
    confident_weights,
    epochs_ahead,
    mixture_of,
    runs_to_carry,
    settled_losses,
)
from depl.models.evaluation.traced_support import _hull_age, outside_support
from depl.models.exact.traced_verdicts import exceedances
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import (
    AffineLaw,
    Known,
    RunRecord,
    positions,
)
from depl.models.problem.counting import Counting
from tests.cases.memory_cases import FULL
from tests.models.estimation import test_affine as cases
from tests.models.estimation.test_affine import EPOCHS, drawn, schedule
from tests.oracles.traced_law import UNIT, at_most

# --- what runs lend ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def law():
    return fit_affine(drawn(40, 0.1, np.random.default_rng(0)))


# --- where the law refuses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ((cases.CUT,) * 3, "too few runs were at 'cut' on 'far', epoch 1 since epoch 0"),
        ((cases.FULL,) * 6, "too few runs"),
        (schedule(1, epochs=6), "switch epochs outside"),
        ((cases.FULL,) * 3 + (cases.CUT,) * 6, "ages beyond 5 outside"),
        ((cases.FULL,) * 4 + (cases.CUT,) * 5, "ages beyond 4 outside"),
        ((cases.FULL,) * 2 + (("full", "far"),) * 2, "too few runs were at 'full' on 'far' after 'full'"),
        # starts 2, 3 and 5 with ages up to 6, 5 and 3: at start 4 the hull ends at age 4
        (schedule(4), None),
        (schedule(4, epochs=7), None),
    ],
)
def test_outside_the_hull_of_what_was_run_there_is_a_reason(law, plan, reason):
    found = outside_support(law, plan)
    assert found == () if reason is None else reason in found[0]


def test_the_hull_of_ages_bridges_a_switch_epoch_whose_runs_were_short():
    found = [_hull_age({2: 6, 3: 2, 5: 3}, start) for start in (1, 2, 3, 4, 5, 6)]
    assert found == [None, 6, pytest.approx(5), pytest.approx(4), 3, None]


def test_a_loss_that_no_run_had_is_outside_the_support(law):
    assert outside_support(law, schedule(3), Known(4, 0.5)) == ()
    (reason,) = outside_support(law, schedule(3), Known(4, 50.0))
    assert reason.startswith("a loss of 50 where 0.")


def test_bad_requests_are_refused():
    with pytest.raises(InvalidInputError, match="at least one epoch"):
        epochs_ahead((), None)
    for known in (Known(EPOCHS, 0.5), Known(-1, 0.5), Known(2, np.nan)):
        with pytest.raises(InvalidInputError, match="no finite loss"):
            epochs_ahead(schedule(3), known)


# --- with a confidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("runs", "confidence"), [(1, 0.9), (6, 0.5), (19, 0.95), (60, 0.999)])
def test_the_weight_of_x_misses_is_at_least_the_exact_upper_end_and_hardly_more(runs, confidence):
    """At the true end P(X <= x) = 1 - c: it is at most that at the weight, and more 3e-6 below it."""
    weights = confident_weights(runs, confidence)
    assert weights.sum() == UNIT
    assert weights.min() >= 0
    risk = 1 - Fraction(repr(confidence))
    for above in range(0, runs, max(1, runs // 7)):
        share = Fraction(int(weights[-above - 1 :].sum()), UNIT)
        assert at_most(above, runs, share) <= risk
        assert share - Fraction(3, UNIT) < 0 or at_most(above, runs, share - Fraction(3, UNIT)) > risk


def test_the_runs_that_carry_a_level_are_those_that_cannot_be_one_fewer():
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


def test_where_runs_diverged_so_many_more_are_needed_as_leave_room_for_them():
    """With confidence 0.95: 93 for one failure and 153 for three at 0.95 are the classical sample sizes."""
    assert [runs_to_carry(0.95, 0.95, lost) + lost for lost in (0, 1, 2, 3)] == [59, 93, 124, 153]
    assert [runs_to_carry(0.9, diverged=lost) for lost in (0, 1, 4)] == [9, 18, 45]


# --- settled losses ---------------------------------------------------------------------------------------


def _run(*losses: float) -> RunRecord:
    values = np.array(losses)
    return RunRecord((), values, values[1:], values)


def test_above_a_limit_count_as_many_runs_as_after_the_worst_of_the_last_epochs():
    runs = [_run(9, 1, 4, 2, 3, 0), _run(9, 7, 2, 5, 1, 0)]
    assert settled_losses(runs, 4, 1).tolist() == [1, 3]
    assert settled_losses(runs, 4, 2).tolist() == [2, 5]
    assert settled_losses(runs, 4, 3).tolist() == [2, 5]
    assert settled_losses(runs, 4, 4).tolist() == settled_losses(runs, 4, 50).tolist() == [2, 7]
    assert settled_losses(runs, 1, 50).tolist() == [1, 7]
    # each run alone was above 2.5 after one of the epochs 2 and 3, but after none of them both were
    assert np.sum(settled_losses(runs, 3, 2) > 2.5) == 1


# --- on average over sets of runs -------------------------------------------------------------------------

SETS = 1000
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


def is_at_least(promises: list[float], truth: float) -> bool:
    """Whether promises are no smaller than the truth on average, but for four standard errors."""
    return float(np.mean(promises)) >= truth - 4 * float(np.std(promises)) / len(promises) ** 0.5


@pytest.mark.parametrize("runs", [1, 8])
def test_promises_of_whole_runs_are_right_on_average(runs):
    """Without the run more they would be right only just; with it they err by (1 - p) / (n + 1) exactly."""
    rng = np.random.default_rng(runs)
    truth = float(stats.lognorm(1).sf(LIMIT))
    promises = [promised_whole(rng.lognormal(size=runs)) for _ in range(SETS)]
    assert is_at_least(promises, truth)
    error = 4 * float(np.std(promises)) / SETS**0.5
    assert np.mean(promises) == pytest.approx(truth + (1 - truth) / (runs + 1), abs=error + 1e-12)


def test_with_a_confidence_few_sets_of_runs_promise_too_much():
    runs, rng = 6, np.random.default_rng(206)
    truth = float(stats.lognorm(1).sf(LIMIT))
    bold = sum(promised_whole(rng.lognormal(size=runs), 0.9) < truth for _ in range(SETS)) / SETS
    assert bold <= 0.1 + 4 * (0.1 * 0.9 / SETS) ** 0.5
    marginal = sum(promised_whole(rng.lognormal(size=runs)) < truth for _ in range(SETS)) / SETS
    assert marginal > bold
