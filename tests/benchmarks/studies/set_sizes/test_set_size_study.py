"""Set sizes of fresh runs: measured after every epoch, compared seed by seed, with intervals that cover."""

import math
from itertools import pairwise

import numpy as np
import pytest

from depl.benchmarks.studies.set_sizes.prediction_sets import Score, class_scores, mean_prediction_sets
from depl.benchmarks.studies.set_sizes.set_size_study import (
    HEADLINE,
    KINDS,
    Judges,
    Kind,
    association,
    compare,
    correlation,
    difference,
    judge,
    stopped,
    worst_tenth,
)
from depl.benchmarks.studies.set_sizes.set_size_trainings import Choice, Curves, Training
from depl.instances.training.runs import Epoch, train_run
from tests.cases.training_cases import small_family

FAMILY = small_family()


def plan_of(stages):
    """A plan without runs to choose by; it may stop after any epoch after the last switch."""
    schedule = tuple(epoch for epoch, count in stages for _ in range(count))
    nothing = np.full(len(schedule) + 1, np.nan)
    first = len(schedule) - stages[-1][1] + 1
    return Curves("plan", schedule, 0, first, nothing, nothing, nothing)


def judges_of(sizes, losses=None):
    """One plan; sizes by seed and epoch from 1."""
    table = np.array(sizes, dtype=float)
    whole = np.concatenate([np.full((len(table), 1), np.nan), table], axis=1)[None]
    loss = whole if losses is None else np.array(losses, dtype=float)[None]
    return Judges(len(table), 10, 30, loss, {HEADLINE: whole}, {HEADLINE: whole})


@pytest.fixture(scope="module")
def measured():
    plans = [
        plan_of([(Epoch(0.5, "edge"), 2), (Epoch(0.75, "far-edge"), 2)]),
        plan_of([(Epoch(0.25, "edge"), 4)]),
    ]
    done = []
    return plans, judge(FAMILY, plans, (3, 8), lambda *told: done.append(told)), done


def test_every_plan_is_trained_with_every_seed(measured):
    plans, judges, done = measured
    assert done == [(0, 3), (0, 8), (1, 3), (1, 8)]
    assert (judges.seeds, judges.classes, judges.calibration) == (2, 2, 75)
    for place, plan in enumerate(plans):
        for row, seed in enumerate((3, 8)):
            run = train_run(FAMILY.task(), plan.schedule, FAMILY.generator(seed))
            assert judges.loss[place, row].tolist() == run.loss.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_sets_after_an_epoch_are_those_of_the_run_that_stops_there(measured, kind):
    plans, judges, _ = measured
    task = FAMILY.task()
    labels = task.material.test.labels[0]
    for epoch in (3, 4):
        run = train_run(task, plans[0].schedule[:epoch], FAMILY.generator(8))
        scores = class_scores(run.probabilities[:, 0], kind.score)
        expected = mean_prediction_sets(scores, labels, kind.level, 75)
        assert judges.sizes_after(Training(0, epoch), kind)[1] == expected.size
        assert judges.coverage_after(Training(0, epoch), kind)[1] == expected.coverage


def test_nothing_is_measured_before_the_last_switch(measured):
    _, judges, _ = measured
    for kind in KINDS:
        assert np.isnan(judges.sizes[kind][0, :, :3]).all()
        assert np.isfinite(judges.sizes[kind][0, :, 3:]).all()
        assert np.isfinite(judges.sizes[kind][1, :, 1:]).all()


def test_trainings_are_compared_seed_by_seed():
    """Sizes differ widely between seeds, but each falls by exactly a tenth: the interval has no width."""
    start = np.arange(1.0, 21.0)
    judges = judges_of(np.stack([start, start - 0.1], axis=1))
    choice = Choice(10.0, Training(0, 1), Training(0, 2))
    found = compare(judges, choice, HEADLINE, np.random.default_rng(0), 200)
    assert (found.mean.before, found.mean.after) == pytest.approx((10.5, 10.4))
    assert (found.mean.interval.lower, found.mean.interval.upper) == pytest.approx((-0.1, -0.1))
    assert (found.upper.before, found.upper.after) == pytest.approx((19, 18.9))
    assert found.mean.verdict == found.upper.verdict == "smaller"
    assert (found.expected_reached, found.dependable_reached) == (0.5, 0.5)


@pytest.mark.parametrize(("shift", "verdict"), [(-1.0, "smaller"), (0.0, "undecided"), (1.0, "larger")])
def test_the_verdict_is_the_side_of_zero_on_which_the_interval_lies(shift, verdict):
    noise = np.tile([-0.5, 0.5], 20)
    judges = judges_of(np.stack([np.full(40, 3.0), 3 + shift + noise], axis=1))
    rng = np.random.default_rng(1)
    found = difference(judges, Training(0, 1), Training(0, 2), HEADLINE, rng, 500)
    assert found.verdict == verdict
    assert found.interval.lower < shift < found.interval.upper


def test_the_interval_of_a_difference_contains_it_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        judges = judges_of(np.stack([np.zeros(40), rng.normal(0.3, 1.0, 40)], axis=1))
        found = difference(judges, Training(0, 1), Training(0, 2), HEADLINE, rng, 300)
        inside += found.interval.lower <= 0.3 <= found.interval.upper
    assert 0.90 <= inside / 400 <= 0.98  # percentiles of 40 runs cover a little less than 95 %


def test_runs_that_stop_by_their_own_loss_stop_at_the_first_epoch_that_reaches_it_or_at_the_last():
    losses = [[1.0, 5.0, 2.0, 3.0], [1.0, 2.0, 1.0, 1.0], [1.0, 9.0, 8.0, 7.0]]
    judges = judges_of([[30, 20, 10], [3, 2, 1], [300, 200, 100]], losses)
    found = stopped(judges, 0, 2.0, HEADLINE)  # after epochs 2, 1 and, without success, 3; never after 0
    assert found == pytest.approx((2.0, (20 + 3 + 100) / 3, 2 / 3))


def test_correlation_and_the_worst_tenth_by_hand():
    losses = np.array([3.0, 1.0, 2.0, 4.0])
    assert correlation(losses, 5 - 2 * losses) == pytest.approx(-1)
    assert correlation(losses, np.array([1.0, 1.0, 2.0, 2.0])) == pytest.approx(1 / math.sqrt(5))
    assert worst_tenth(losses, np.array([1.0, 2.0, 3.0, 8.0])) == pytest.approx(4)
    eleven = np.arange(11.0)  # two of eleven
    assert worst_tenth(eleven, eleven + 1) == pytest.approx(10.5 / (45 / 9))


def test_sizes_that_do_not_vary_have_no_correlation():
    found = association(np.arange(10.0), np.ones(10), np.random.default_rng(0), 20)
    assert math.isnan(found.correlation)
    assert math.isnan(found.correlation_interval.lower)
    assert found.worst_tenth == 1


def test_an_association_has_ranks_and_intervals_around_its_figures():
    rng = np.random.default_rng(2)
    losses = rng.lognormal(size=60)
    found = association(losses, np.exp(losses), rng, 300)
    assert found.rank_correlation == pytest.approx(1)
    assert found.correlation < 1
    lower, upper = found.worst_tenth_interval.lower, found.worst_tenth_interval.upper
    assert lower < found.worst_tenth < upper


def test_kinds_are_both_scores_at_rising_levels():
    assert HEADLINE in KINDS
    assert KINDS[:3] == tuple(Kind(Score.LABEL, level) for level in (0.9, 0.95, 0.99))
    assert all(one.level < other.level for one, other in pairwise(KINDS[3:]))
