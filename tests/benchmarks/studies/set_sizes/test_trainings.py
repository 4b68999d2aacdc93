"""Which epoch expected and dependable training stop after, on traces small enough to see it."""

import math

import numpy as np
import pytest

from depl.benchmarks.studies.set_sizes import trainings
from depl.benchmarks.studies.set_sizes.trainings import Curves, Training, budgets, choose, curves, targets
from depl.instances.training.runs import Epoch
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

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


def plan_of(mean, guaranteed, work, first=1):
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


STEADY = plan_of([9, 3.0, 2.5, 2.2, 2.0], [9, 3.2, 2.7, 2.4, 2.2], [0, 1, 2, 3, 4])
UNSTEADY = plan_of([9, 2.8, 2.3, 1.9, 1.7], [9, 5.0, 4.0, 3.0, 2.6], [0, 1, 2, 3, 4])


def test_curves_are_means_and_order_statistics_from_the_last_switch_on():
    losses = np.linspace(1, 2, 19)[:, None] * np.array([8.0, 4.0, 2.0, 1.0])
    found = curves(traces_of(losses, (EDGE, FAR, FAR)), (EDGE, FAR, FAR))
    assert (found.runs, found.first, found.name) == (19, 2, "1 pruned-50, 2 pruned-75")
    assert found.mean.tolist() == [math.inf, math.inf, pytest.approx(3.0), pytest.approx(1.5)]
    # Rank ceil(20 * 0.95) = 19 of 19: the largest.
    assert found.guaranteed.tolist() == [math.inf, math.inf, 4.0, 2.0]
    assert found.work.tolist() == [0.0, 0.5, 0.75, 1.0]


def test_eighteen_runs_guarantee_nothing():
    losses = np.ones((18, 3))
    assert np.isinf(curves(traces_of(losses, (EDGE, EDGE)), (EDGE, EDGE)).guaranteed).all()


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
    monkeypatch.setattr(trainings, "HORIZONS", (1, 2, 3, 4))
    plan = plan_of([9, 3, 2, 2, 1], [9, 2.4, 1.9, 2.0, 1.2], range(5))
    found = [targets(plan, classes) for classes in (10, 12, 2)]
    assert found == [[1.9, 1.2], [2.4, 1.9, 1.2], []]


def test_expected_training_stops_at_the_mean_and_dependable_training_at_the_guarantee():
    assert (choose(UNSTEADY, 2.6), choose(STEADY, 2.6)) == ((2, 4), (2, 3))
    assert choose(UNSTEADY, 2.0) is choose(UNSTEADY, 1.0) is None  # one rule cannot reach it, or none


def test_for_every_work_the_rules_take_the_least_of_their_own_curve():
    assert budgets([STEADY, UNSTEADY]) == [(Training(1, epoch), Training(0, epoch)) for epoch in (1, 2, 3, 4)]
    bumpy = plan_of([9, 2, 3, 1.5], [9, 4, 3, 5], [0, 1, 2, 3])  # a later epoch that is worse is not taken
    assert budgets([bumpy]) == [
        (Training(0, 1), Training(0, 1)),
        (Training(0, 1), Training(0, 2)),
        (Training(0, 3), Training(0, 2)),
    ]
