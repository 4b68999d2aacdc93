"""Set sizes of fresh runs: measured after every epoch, compared seed by seed, with intervals that cover."""

import math
from dataclasses import replace

import numpy as np
import pytest

from depl.benchmarks.measure import results
from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import prediction_sets
from depl.benchmarks.studies.helpers.sets import mean_prediction_sets
from depl.benchmarks.studies.prediction_sets import (
    COVERAGE,
    STUDY,
    Curves,
    Training,
    budgets,
    change,
    choose,
    curves,
    judge,
    set_size_figure,
    targets,
    worst_tenth,
)
from depl.instances.training.runs import Epoch, train_run
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces
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
    mean = change("mean", start, start - 0.1, drawn, mean_of)
    assert list(mean.values()) == [pytest.approx(10.5), pytest.approx(10.4), "smaller"]
    assert change("mean", start - 0.1, start, drawn, mean_of)["mean_verdict"] == "larger"
    upper = change("upper", start, start - 0.1, drawn, prediction_sets._upper)
    assert list(upper.values()) == [19, pytest.approx(18.9), "smaller"]


def test_no_difference_is_undecided_about_as_often_as_an_interval_of_95_percent_says():
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
    for row, points in zip(values["associations"], values["points"], strict=True):  # to four decimals
        sizes = np.array(points["loss"]), np.array(points["size"])
        assert (row["family"], row["plan"]) == (points["family"], points["plan"])
        assert np.corrcoef(*sizes)[0, 1] == pytest.approx(row["correlation"], abs=1e-3)
        assert worst_tenth(*sizes) == pytest.approx(row["worst_tenth"], abs=1e-3)


POINTS = [
    {"family": "one", "plan": "a", "loss": [0.1, 0.2], "size": [1.0, 1.5]},
    {"family": "one", "plan": "b", "loss": [0.3], "size": [2.0]},
    {"family": "two", "plan": "a", "loss": [0.4], "size": [3.0]},
]


def test_every_run_is_a_point_and_families_and_plans_can_be_told_apart():
    (runs,) = set_size_figure({"points": POINTS}).axes
    first, second, third = runs.get_lines()[:3]
    assert first.get_xydata().tolist() == [[0.1, 1.0], [0.2, 1.5]]
    assert first.get_color() == second.get_color() != third.get_color()
    assert first.get_marker() == third.get_marker() != second.get_marker()
    assert [text.get_text() for text in runs.get_legend().get_texts()] == ["one", "two", "a", "b"]


def test_a_record_is_drawn_by_the_command_with_the_same_bytes_twice_and_others_have_no_figure(tmp_path, ask):
    values = {goal.name: 1.0 for goal in STUDY.goals} | {"points": POINTS}
    record = results.write(results.measure(replace(STUDY, run=lambda rng, smoke: values)), tmp_path)
    for name in ("one", "two"):
        code, text, _ = ask("bench", "draw", "prediction-sets", tmp_path / name, record)
        files = [tmp_path / name / f"prediction-sets.{suffix}" for suffix in ("png", "svg")]
        assert (code, text.splitlines()) == (0, [str(file) for file in files])
        assert all(file.read_bytes() == (tmp_path / "one" / file.name).read_bytes() for file in files)
    code, _, aside = ask("bench", "draw", "exact-law", tmp_path)
    assert code == 2
    assert "'exact-law' has no figure; those that have one: closed-loop, graph, prediction-sets" in aside


EDGE, FAR = Epoch(0.5, "edge"), Epoch(0.75, "far-edge")


def traces_of(losses, schedule):
    """One run per row of losses, epoch 0 first."""
    runs, length = len(losses), len(schedule) + 1
    epochs = [schedule[0], *schedule]
    return Traces(
        run=np.repeat([str(run) for run in range(runs)], length),
        epoch=np.tile(np.arange(length), runs),
        model=np.tile([f"pruned-{round(100 * epoch.factor)}" for epoch in epochs], runs),
        cluster=np.tile([epoch.cluster for epoch in epochs], runs),
        loss=np.ravel(losses),
    )


def curves_of(mean, guaranteed, work, first=1):
    """A plan by its curves alone."""
    early = np.arange(len(mean)) < first
    return Curves(
        "plan",
        (EDGE,) * (len(mean) - 1),
        20,
        first,
        np.where(early, np.inf, mean),
        np.where(early, np.inf, guaranteed),
        np.asarray(work, dtype=float),
    )


STEADY = curves_of([9, 3.0, 2.5, 2.2, 2.0], [9, 3.2, 2.7, 2.4, 2.2], [0, 1, 2, 3, 4])
UNSTEADY = curves_of([9, 2.8, 2.3, 1.9, 1.7], [9, 5.0, 4.0, 3.0, 2.6], [0, 1, 2, 3, 4])


def test_curves_are_means_and_order_statistics_from_the_last_switch_on():
    losses = np.linspace(1, 2, 19)[:, None] * np.array([8.0, 4.0, 2.0, 1.0])
    found = curves(traces_of(losses, (EDGE, FAR, FAR)), (EDGE, FAR, FAR))
    assert (found.runs, found.first, found.name) == (19, 2, "1 pruned-50, 2 pruned-75")
    assert found.mean.tolist() == [math.inf, math.inf, pytest.approx(3.0), pytest.approx(1.5)]
    # Rank ceil(20 * 0.95) = 19 of 19: the largest.
    assert found.guaranteed.tolist() == [math.inf, math.inf, 4.0, 2.0]
    assert found.work.tolist() == [0.0, 0.5, 0.75, 1.0]
    few = curves(traces_of(losses[:18], (EDGE, FAR, FAR)), (EDGE, FAR, FAR))
    assert np.isinf(few.guaranteed).all()  # rank 19 of 18


def test_a_schedule_without_runs_is_refused():
    with pytest.raises(InvalidInputError, match="no run"):
        curves(traces_of(np.ones((3, 3)), (EDGE, EDGE)), (EDGE, FAR))


def test_the_loss_before_training_is_not_needed():
    whole = traces_of(np.arange(57.0).reshape(19, 3), (EDGE, EDGE))
    rows = whole.epoch > 0
    columns = {name: getattr(whole, name)[rows] for name in ("run", "epoch", "model", "cluster", "loss")}
    one, other = (curves(traces, (EDGE, EDGE)) for traces in (whole, Traces(**columns)))
    assert one.mean.tolist() == other.mean.tolist() == [math.inf, 28.0, 29.0]
    assert one.guaranteed.tolist() == other.guaranteed.tolist()


def test_targets_are_what_is_guaranteed_within_horizons_each_once_and_better_than_guessing(monkeypatch):
    monkeypatch.setattr(prediction_sets, "HORIZONS", (1, 2, 3, 4))
    plan = curves_of([9, 3, 2, 2, 1], [9, 2.4, 1.9, 2.0, 1.2], range(5))
    found = [targets(plan, classes) for classes in (10, 12, 2)]
    assert found == [[1.9, 1.2], [2.4, 1.9, 1.2], []]


def test_expected_training_stops_at_the_mean_and_dependable_training_at_the_guarantee():
    assert (choose(UNSTEADY, 2.6), choose(STEADY, 2.6)) == ((2, 4), (2, 3))
    assert choose(UNSTEADY, 2.0) is choose(UNSTEADY, 1.0) is None  # one rule cannot reach it, or none


def test_for_every_work_the_rules_take_the_least_of_their_own_curve():
    assert budgets([STEADY, UNSTEADY]) == [(Training(1, epoch), Training(0, epoch)) for epoch in (1, 2, 3, 4)]
    bumpy = curves_of([9, 2, 3, 1.5], [9, 4, 3, 5], [0, 1, 2, 3])  # a later epoch that is worse is not taken
    assert budgets([bumpy]) == [
        (Training(0, 1), Training(0, 1)),
        (Training(0, 1), Training(0, 2)),
        (Training(0, 3), Training(0, 2)),
    ]
