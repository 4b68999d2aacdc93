"""Set sizes: means over all splits against their enumeration, of fresh runs, and compared seed by seed."""

import math
from itertools import combinations

import numpy as np
import pytest

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import prediction_sets
from depl.benchmarks.studies.prediction_sets import (
    LEVEL,
    Curves,
    budgets,
    change,
    choose,
    curves,
    judged,
    mean_prediction_sets,
    targets,
    upper,
    worst_tenth,
)
from depl.instances.training.runs import Epoch, model_name, train_run
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces
from tests.cases.training_cases import small_family

FAMILY = small_family()
EDGE, FAR = Epoch(0.5, "edge"), Epoch(0.75, "far-edge")


def rank_of(calibration, level):
    return math.ceil(round((calibration + 1) * level, 9))


def one_split(table, labels, level, calibration):
    """Coverage and size of the sets of the others: the classes with scores up to the r-th that calibrates."""
    scores, rank = 1 - np.asarray(table), rank_of(len(calibration), level)
    own = scores[labels, np.arange(len(labels))]
    threshold = [*sorted(own[list(calibration)]), *[math.inf] * rank][rank - 1]
    tested = [index for index in range(len(own)) if index not in calibration]
    return (own[tested] <= threshold).mean(), (scores[:, tested] <= threshold).sum(axis=0).mean()


def drawn(examples, classes=3, seed=0, decimals=12):
    """Random distributions and labels; few decimals make ties."""
    rng = np.random.default_rng(seed)
    table = np.round(rng.dirichlet(np.ones(classes), examples).T, decimals)
    table[-1] = np.abs(1 - table[:-1].sum(axis=0))
    return table, rng.integers(0, classes, examples)


@pytest.mark.parametrize("decimals", [12, 1])
@pytest.mark.parametrize(("calibration", "level"), [(1, 0.5), (4, 0.6), (4, 0.8), (6, 0.3), (3, 0.9)])
def test_the_mean_over_all_splits_is_their_enumeration(decimals, calibration, level):
    table, labels = drawn(7, seed=5, decimals=decimals)
    splits = [one_split(table, labels, level, chosen) for chosen in combinations(range(7), calibration)]
    found = mean_prediction_sets(table, labels, level, calibration)
    assert found == pytest.approx(np.mean(splits, axis=0))


def test_sets_after_an_epoch_are_those_of_the_run_that_stops_there():
    schedule = [EDGE, EDGE, FAR, FAR]
    loss, coverage, size = judged(FAMILY, schedule, 3, (3, 8))
    task = FAMILY.task()
    labels = task.material.test.labels[0]
    runs = [train_run(task, schedule, FAMILY.generator(seed)) for seed in (3, 8)]
    assert [row.tolist() for row in loss] == [run.loss.tolist() for run in runs]
    assert np.isnan(size[:, :3]).all()
    for epoch in (3, 4):
        run = train_run(task, schedule[:epoch], FAMILY.generator(8))
        sets = mean_prediction_sets(run.probabilities[:, 0], labels, LEVEL, math.floor(0.75 * labels.size))
        assert (coverage[1, epoch], size[1, epoch]) == sets


def mean_of(values):
    return values.mean(axis=-1)


def test_trainings_are_compared_seed_by_seed():
    """Sizes differ widely between seeds, but each falls by exactly a tenth: the interval has no width."""
    start = np.arange(1.0, 21.0)
    again = np.random.default_rng(0).integers(20, size=(200, 20))
    for before, after, verdict in ((start, start - 0.1, "smaller"), (start - 0.1, start, "larger")):
        found = change("", before, after, again, mean_of) | change("u", before, after, again, upper)
        ends = [before.mean(), after.mean(), verdict, before[18], after[18], verdict]
        assert list(found.values()) == pytest.approx(ends)


def test_the_worst_tenth_by_hand():
    assert worst_tenth(np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0, 8.0])) == pytest.approx(4)
    eleven = np.arange(11.0)  # two of eleven
    assert worst_tenth(eleven, eleven + 1) == pytest.approx(10.5 / (45 / 9))


def test_the_figures_of_the_record_follow_from_its_rows():
    values = read(RESULTS / "prediction-sets.json").values
    found = prediction_sets._figures([values | {"runs": 60}])
    shares = {name: value for name, value in found.items() if not isinstance(value, list)}
    assert shares == pytest.approx({name: values[name] for name in shares})
    for row, points in zip(values["associations"], values["points"], strict=True):  # to four decimals
        sizes = np.array(points["loss"]), np.array(points["size"])
        assert (row["family"], row["plan"]) == (points["family"], points["plan"])
        assert np.corrcoef(*sizes)[0, 1] == pytest.approx(row["correlation"], abs=1e-3)
        assert worst_tenth(*sizes) == pytest.approx(row["worst_tenth"], abs=1e-3)


def traces_of(losses, schedule):
    """One run per row of losses, epoch 0 first."""
    runs, epochs = len(losses), [schedule[0], *schedule]
    columns = (np.arange(len(epochs)), [model_name(epoch.factor) for epoch in epochs], [e[1] for e in epochs])
    run = np.repeat([str(number) for number in range(runs)], len(epochs))
    return Traces(run, *(np.tile(column, runs) for column in columns), np.ravel(losses))


def curves_of(mean, guaranteed):
    """A plan by its curves from epoch 1 on; work is the epoch."""
    losses = np.array([[math.inf, *mean], [math.inf, *guaranteed]])
    return Curves("", 20, 1, *losses, np.arange(len(mean) + 1.0))


STEADY = curves_of([3.0, 2.5, 2.2, 2.0], [3.2, 2.7, 2.4, 2.2])
UNSTEADY = curves_of([2.8, 2.3, 1.9, 1.7], [5.0, 4.0, 3.0, 2.6])


def test_curves_are_means_and_order_statistics_from_the_last_switch_on():
    schedule, losses = (EDGE, FAR, FAR), np.linspace(1, 2, 19)[:, None] * np.array([8.0, 4.0, 2.0, 1.0])
    found = curves(traces_of(losses, schedule), schedule)
    assert found.mean.tolist() == [math.inf, math.inf, pytest.approx(3.0), pytest.approx(1.5)]
    # Rank ceil(20 * 0.95) = 19 of 19: the largest; of 18 there is none
    assert found.guaranteed.tolist() == [math.inf, math.inf, 4.0, 2.0]
    assert np.isinf(curves(traces_of(losses[:18], schedule), schedule).guaranteed).all()
    assert found.work.tolist() == [0.0, 0.5, 0.75, 1.0]
    with pytest.raises(InvalidInputError, match="no run"):
        curves(traces_of(losses, schedule), schedule[:2])


def test_targets_are_guaranteed_within_horizons_and_the_rules_stop_at_the_mean_and_at_the_guarantee(
    monkeypatch,
):
    monkeypatch.setattr(prediction_sets, "HORIZONS", (1, 2, 3, 4))
    plan = curves_of([3, 2, 2, 1], [2.4, 1.9, 2.0, 1.2])
    # each target once, and better than guessing
    assert [targets(plan, classes) for classes in (10, 12, 2)] == [[1.9, 1.2], [2.4, 1.9, 1.2], []]
    assert (choose(UNSTEADY, 2.6), choose(STEADY, 2.6)) == ((2, 4), (2, 3))
    assert choose(UNSTEADY, 2.0) is choose(UNSTEADY, 1.0) is None  # one rule cannot reach it, or none


def test_for_every_work_the_rules_take_the_least_of_their_own_curve():
    assert budgets([STEADY, UNSTEADY]) == [((1, epoch), (0, epoch)) for epoch in (1, 2, 3, 4)]
    bumpy = curves_of([2, 3, 1.5], [4, 3, 5])  # a later epoch that is worse is not taken
    assert budgets([bumpy]) == [((0, 1), (0, 1)), ((0, 1), (0, 2)), ((0, 3), (0, 2))]
