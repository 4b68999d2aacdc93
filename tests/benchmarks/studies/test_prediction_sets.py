"""Set sizes of fresh runs: measured after every epoch, compared seed by seed, with intervals that cover."""

import numpy as np
import pytest

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import prediction_sets
from depl.benchmarks.studies.prediction_sets import COVERAGE, change, judge, worst_tenth
from depl.benchmarks.studies.set_sizes.sets import mean_prediction_sets
from depl.benchmarks.studies.set_sizes.trainings import Curves
from depl.instances.training.runs import Epoch, train_run
from tests.cases.training_cases import small_family

FAMILY = small_family()


def plan_of(stages):
    """A plan without runs to choose by; it may stop after any epoch after the last switch."""
    schedule = tuple(epoch for epoch, count in stages for _ in range(count))
    nothing = np.full(len(schedule) + 1, np.nan)
    return Curves("plan", schedule, 0, len(schedule) - stages[-1][1] + 1, nothing, nothing, nothing)


def test_sets_after_an_epoch_are_those_of_the_run_that_stops_there_and_begin_after_the_last_switch():
    plans = [
        plan_of([(Epoch(0.5, "edge"), 2), (Epoch(0.75, "far-edge"), 2)]),
        plan_of([(Epoch(0.25, "edge"), 4)]),
    ]
    found = judge(FAMILY, plans, (3, 8))
    task = FAMILY.task()
    labels = task.material.test.labels[0]
    for place, plan in enumerate(plans):
        for row, seed in enumerate((3, 8)):
            run = train_run(task, plan.schedule, FAMILY.generator(seed))
            assert found.loss[place, row].tolist() == run.loss.tolist()
    for epoch in (3, 4):
        run = train_run(task, plans[0].schedule[:epoch], FAMILY.generator(8))
        sets = mean_prediction_sets(run.probabilities[:, 0], labels, COVERAGE, found.calibration)
        assert (found.size[0, 1, epoch], found.coverage[0, 1, epoch]) == (sets.size, sets.coverage)
    assert np.isnan(found.size[0, :, :3]).all()
    assert np.isfinite(found.size[0, :, 3:]).all()
    assert np.isfinite(found.size[1, :, 1:]).all()


def mean_of(values):
    return values.mean(axis=-1)


def test_trainings_are_compared_seed_by_seed():
    """Sizes differ widely between seeds, but each falls by exactly a tenth: the interval has no width."""
    start = np.arange(1.0, 21.0)
    drawn = np.random.default_rng(0).integers(20, size=(200, 20))
    found = change("mean", start, start - 0.1, drawn, mean_of)
    assert found == {
        "mean_before": pytest.approx(10.5),
        "mean_after": pytest.approx(10.4),
        "mean_verdict": "smaller",
    }
    found = change("upper", start, start - 0.1, drawn, prediction_sets._upper)
    assert (found["upper_before"], found["upper_verdict"]) == (19, "smaller")


@pytest.mark.parametrize(("shift", "verdict"), [(-1.0, "smaller"), (0.0, "undecided"), (1.0, "larger")])
def test_the_verdict_is_the_side_of_zero_on_which_the_interval_lies(shift, verdict):
    noise = np.tile([-0.5, 0.5], 20)
    drawn = np.random.default_rng(1).integers(40, size=(500, 40))
    found = change("mean", np.full(40, 3.0), 3 + shift + noise, drawn, mean_of)
    assert found["mean_verdict"] == verdict


def test_a_verdict_of_no_difference_is_wrong_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    undecided = 0
    for _ in range(400):
        drawn = rng.integers(40, size=(300, 40))
        found = change("mean", np.zeros(40), rng.normal(0.0, 1.0, 40), drawn, mean_of)
        undecided += found["mean_verdict"] == "undecided"
    assert 0.90 <= undecided / 400 <= 0.98  # percentiles of 40 runs cover a little less than 95 %


def test_the_worst_tenth_by_hand():
    assert worst_tenth(np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0, 8.0])) == pytest.approx(4)
    eleven = np.arange(11.0)  # two of eleven
    assert worst_tenth(eleven, eleven + 1) == pytest.approx(10.5 / (45 / 9))


def test_the_figures_of_the_record_follow_from_its_rows():
    values = read(RESULTS / "prediction-sets.json").values
    found = prediction_sets._figures(
        *(values[name] for name in ("associations", "comparisons", "equal_work"))
    )
    assert found == pytest.approx({name: values[name] for name in found})
    for row in values["associations"]:  # what is drawn is what was correlated, but for four decimals
        (points,) = (
            item
            for item in values["points"]
            if item["plan"] == row["plan"] and item["family"] == row["family"]
        )
        sizes = np.array(points["loss"]), np.array(points["size"])
        assert np.corrcoef(*sizes)[0, 1] == pytest.approx(row["correlation"], abs=1e-3)
        assert worst_tenth(*sizes) == pytest.approx(row["worst_tenth"], abs=1e-3)
