"""Promises from few runs: how runs are dealt and how what was promised is counted."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from depl.benchmarks.few_runs import (
    EPOCHS,
    FEW,
    RUNS,
    SCHEDULES,
    Promise,
    delivered,
    few,
    halves,
    judged,
    of_every_schedule,
    shipped_runs,
    train,
)
from depl.instances.training.recorded import recorded_traces
from depl.models.traces.files import read_traces


def test_1200_runs_of_16_schedules_are_shipped_and_none_of_them_was_shipped_before() -> None:
    traces = shipped_runs()
    assert Counter(len(runs) for runs in traces.by_schedule().values()) == {RUNS: len(SCHEDULES)}
    assert set(traces.last_epochs.tolist()) == {EPOCHS}
    old = recorded_traces("digits-alexnet")
    assert not set(traces.runs) & set(old.runs)
    seen = {row[: EPOCHS + 1].tobytes() for row in old.matrix()}
    assert not seen & {row.tobytes() for row in traces.matrix()}


@pytest.mark.slow
def test_the_shipped_runs_are_trained_again_to_the_last_digit(tmp_path: Path) -> None:
    train(tmp_path / "again.npz", SCHEDULES[:2], runs=2)
    again, shipped = read_traces(tmp_path / "again.npz"), shipped_runs()
    rows = [shipped.runs.index(name) for name in again.runs]
    assert np.array_equal(again.matrix(), shipped.matrix()[rows])


def test_runs_are_dealt_as_stated_and_every_draw_is_another_one() -> None:
    traces = shipped_runs()
    plans = traces.schedules
    for known in halves(traces, 2):
        assert set(Counter(plans[i] for i in np.flatnonzero(known)).values()) == {RUNS // 2}
    for known in of_every_schedule(traces, 60, 2):
        assert Counter(Counter(plans[i] for i in np.flatnonzero(known)).values()) == {60: len(SCHEDULES)}
    drawn = list(few(traces, 3))
    for known in drawn:
        assert sorted(Counter(plans[i] for i in np.flatnonzero(known)).values()) == sorted(FEW)
    assert len({known.tobytes() for known in drawn}) == 3
    assert all(np.array_equal(one, two) for one, two in zip(drawn, few(traces, 3), strict=True))


def test_delivered_shares_are_means_over_draws_and_refusals_are_counted_beside_them() -> None:
    promises = [
        Promise(0, 0.9, 0.4, None, 12, 10, 9),
        Promise(0, 0.9, 0.5, None, 12, 10, 7),
        Promise(1, 0.9, 0.4, None, 12, 10, 10),
        Promise(1, 0.9, 0.5, None),
    ]
    found = delivered(promises)
    assert (found["promises"], found["refused"]) == (3, 0.25)
    assert found["delivered"] == pytest.approx((0.8 + 1.0) / 2)
    assert found["standard_error"] == pytest.approx(0.1)  # of the means 0.8 and 1.0
    # P(at least 3 of 10 miss) is 0.07 at 0.1, which refutes nothing; of 4 it would be 0.013
    assert found["refuted"] == 0
    assert Promise(0, 0.9, 0.4, None, 12, 10, 6).refuted
    assert delivered(promises[3:]) == {
        "promises": 0,
        "refused": 1.0,
        "delivered": None,
        "standard_error": None,
        "refuted": None,
    }


@pytest.mark.slow
def test_what_is_delivered_is_a_count_of_held_out_runs_that_began_like_the_plan() -> None:
    traces = shipped_runs()
    (known,) = few(traces, 1)
    (promise,) = judged(traces, known, 0, levels=(0.8,), confidences=(None,), targets=(0.4,))
    table, plans = traces.matrix(), traces.schedules
    # some schedule has exactly these counts at some epoch, among the runs that were not known
    counts = {
        (int(through.sum()), int((table[through & ~known, k] <= 0.4).sum()), int((through & known).sum()))
        for plan in set(plans)
        for k in range(1, EPOCHS + 1)
        for through in [np.array([other[:k] == plan[:k] for other in plans])]
    }
    judges = promise.judges + promise.known
    assert (judges, promise.kept, promise.known) in counts
    assert promise.made
    assert promise.known >= 12
