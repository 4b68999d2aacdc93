"""Which epoch expected and dependable training stop after, on traces small enough to see it."""

import math

import numpy as np
import pytest

from depl.benchmarks.studies.set_sizes.set_size_trainings import (
    Choice,
    Curves,
    Training,
    budgets,
    choose,
    curves,
    prolonged,
    targets,
)
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


def test_targets_are_what_is_guaranteed_within_horizons_each_once_and_better_than_guessing():
    plan = plan_of([9, 3, 2, 2, 1], [9, 2.4, 1.9, 2.0, 1.2], range(5))
    assert targets(plan, 10, (1, 2, 3, 4)) == [1.9, 1.2]
    assert targets(plan, 12, (1, 2, 3, 4)) == [2.4, 1.9, 1.2]
    assert targets(plan, 2, (1, 2, 3, 4)) == []


def test_expected_training_stops_at_the_mean_and_dependable_training_at_the_guarantee():
    assert choose([STEADY, UNSTEADY], 2.6, [1]) == Choice(2.6, Training(1, 2), Training(1, 4))
    assert choose([STEADY, UNSTEADY], 2.6, [0]) == Choice(2.6, Training(0, 2), Training(0, 3))


def test_between_plans_the_dependable_rule_may_take_the_steadier_one():
    assert choose([STEADY, UNSTEADY], 2.4) == Choice(2.4, Training(1, 2), Training(0, 3))


def test_the_cheapest_is_by_work_and_not_by_epochs():
    expensive = plan_of([9, 1.0], [9, 1.0], [0, 5])
    cheap = plan_of([9, 3, 2, 1.0], [9, 3, 2, 1.0], [0, 1, 2, 3])
    assert choose([expensive, cheap], 1.0) == Choice(1.0, Training(1, 3), Training(1, 3))


def test_a_target_that_one_rule_cannot_reach_has_no_choice():
    assert choose([UNSTEADY], 2.0) is None
    assert choose([UNSTEADY], 1.0) is None


def test_a_plan_is_prolonged_to_the_work_but_never_shortened_nor_beyond_its_end():
    plans = [plan_of([9, 3, 2, 1], [9, 3, 2, 1], [0, 0.1, 0.2, 0.1 + 0.2])]
    assert prolonged(plans, Training(0, 1), 0.2) == Training(0, 2)
    assert prolonged(plans, Training(0, 1), 0.3) == Training(0, 3)
    assert prolonged(plans, Training(0, 1), 9) == Training(0, 3)
    assert prolonged(plans, Training(0, 2), 0.1) == Training(0, 2)


def test_for_every_work_the_rules_take_the_least_of_their_own_curve():
    found = budgets([STEADY, UNSTEADY])
    assert [work for work, _, _ in found] == [1, 2, 3, 4]
    assert [by_mean for _, by_mean, _ in found] == [Training(1, epoch) for epoch in (1, 2, 3, 4)]
    assert [by_guarantee for *_, by_guarantee in found] == [Training(0, epoch) for epoch in (1, 2, 3, 4)]


def test_a_later_epoch_that_is_worse_is_not_taken():
    bumpy = plan_of([9, 2, 3, 1.5], [9, 4, 3, 5], [0, 1, 2, 3])
    assert budgets([bumpy]) == [
        (1, Training(0, 1), Training(0, 1)),
        (2, Training(0, 1), Training(0, 2)),
        (3, Training(0, 3), Training(0, 2)),
    ]
