"""Promises from few runs: how runs are dealt and how what was promised is counted."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from depl.benchmarks.studies.promises.few_runs import (
    COLLECTIONS,
    EPOCHS,
    FEW,
    OF_FAMILIES,
    QUANTILES,
    RUNS,
    SCHEDULES,
    Promise,
    carried_before,
    delivered,
    drawn_schedules,
    few,
    halves,
    judged,
    of_every_schedule,
    shipped_runs,
    targets_of,
    train,
)
from depl.instances.training.names import RECORDED_ONLY
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import model_name
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces


@pytest.mark.parametrize("name", COLLECTIONS)
def test_as_many_runs_as_stated_are_shipped_and_none_of_them_was_shipped_before(name: str) -> None:
    traces, collection = shipped_runs(name), COLLECTIONS[name]
    epochs, runs, schedules = (20, 400, 2) if name in OF_FAMILIES else (EPOCHS, RUNS, SCHEDULES)
    assert Counter(len(rows) for rows in traces.by_schedule().values()) == {runs: schedules}
    assert set(traces.last_epochs.tolist()) == {epochs}
    switches = {(plan[0][0], plan[-1][0], [c for _, c in plan].count("edge")) for plan in traces.schedules}
    assert switches == {
        (model_name(first), model_name(second), switch) for first, second, switch in collection.schedules
    }
    old = recorded_traces(collection.family)
    assert not set(traces.runs) & set(old.runs)
    seen = {row[: epochs + 1].tobytes() for row in old.matrix()}
    assert not seen & {row.tobytes() for row in traces.matrix()}


def test_the_schedules_that_judge_are_drawn_and_every_target_is_a_quantile_of_the_last_losses() -> None:
    assert COLLECTIONS["drawn"].schedules == drawn_schedules(20261123)
    assert len(set(drawn_schedules(1))) == SCHEDULES
    for first, second, switch in drawn_schedules(1):
        assert first < second
        assert 5 <= switch <= 30
    for name in COLLECTIONS:
        traces = shipped_runs(name)
        last = traces.matrix()[:, -1]
        for target, quantile in zip(targets_of(traces), QUANTILES, strict=True):
            assert np.mean(last <= target - 0.0005) <= quantile  # a target has three decimals
            assert np.mean(last <= target + 0.0005) >= quantile - 1 / last.size


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COLLECTIONS if name not in RECORDED_ONLY])
def test_the_shipped_runs_are_trained_again_to_the_last_digit(name: str, tmp_path: Path) -> None:
    train(name, tmp_path / "again.csv.gz", schedules=2, runs=2)
    again, shipped = read_traces(tmp_path / "again.csv.gz"), shipped_runs(name)
    rows = [shipped.runs.index(run) for run in again.runs]
    assert np.array_equal(again.matrix(), shipped.matrix()[rows])


def test_runs_are_dealt_as_stated_and_every_draw_is_another_one() -> None:
    traces = shipped_runs("drawn")
    plans = traces.schedules
    for known in halves(traces, 2):
        assert set(Counter(plans[i] for i in np.flatnonzero(known)).values()) == {RUNS // 2}
    for known in of_every_schedule(traces, 60, 2):
        assert Counter(Counter(plans[i] for i in np.flatnonzero(known)).values()) == {60: SCHEDULES}
    drawn = list(few(traces, 3))
    for known in drawn:
        assert sorted(Counter(plans[i] for i in np.flatnonzero(known)).values()) == sorted(FEW)
    assert len({known.tobytes() for known in drawn}) == 3
    assert all(np.array_equal(one, two) for one, two in zip(drawn, few(traces, 3), strict=True))


def test_delivered_shares_are_means_over_draws_and_refusals_are_counted_beside_them() -> None:
    promises = [
        Promise(0, 0.9, 0.4, None, 12, 10, 9, promised=True),
        Promise(0, 0.9, 0.5, None, 12, 10, 7, promised=True),
        Promise(1, 0.9, 0.4, None, 12, 10, 10, promised=True),
        Promise(1, 0.9, 0.5, None),
        Promise(1, 0.9, 0.6, None, promised=True),
    ]
    found = delivered(promises)
    # the last one is for a plan that no run held out went through: promised, and nobody can judge it
    assert (found["promises"], found["judged"], found["refused"]) == (4, 3, 0.2)
    assert found["delivered"] == pytest.approx((0.8 + 1.0) / 2)
    assert found["standard_error"] == pytest.approx(0.1)  # of the means 0.8 and 1.0
    # P(at least 3 of 10 miss) is 0.07 at 0.1, which refutes nothing; of 4 it would be 0.013
    assert found["refuted"] == 0
    assert Promise(0, 0.9, 0.4, None, 12, 10, 6).refuted
    assert delivered(promises[3:4]) == {
        "promises": 0,
        "judged": 0,
        "refused": 1.0,
        "refused_before": 0.0,
        "delivered": None,
        "standard_error": None,
        "refuted": None,
    }


@pytest.mark.slow
def test_what_is_delivered_is_a_count_of_held_out_runs_that_began_like_the_plan() -> None:
    traces = shipped_runs("drawn")
    (known,) = few(traces, 1)
    target = targets_of(traces)[3]
    (promise,) = judged("drawn", traces, known, 0, levels=(0.8,), confidences=(None,), targets=(target,))
    table, plans = traces.matrix(), traces.schedules
    # some schedule has exactly these counts at some epoch, among the runs that were not known
    counts = {
        (int(through.sum()), int((table[through & ~known, k] <= target).sum()), int((through & known).sum()))
        for plan in set(plans)
        for k in range(1, EPOCHS + 1)
        for through in [np.array([other[:k] == plan[:k] for other in plans])]
    }
    judges = promise.judges + promise.known
    assert (judges, promise.kept, promise.known) in counts
    assert promise.judged
    assert promise.known >= 12


def test_what_the_rule_before_refused_is_counted_on_the_known_runs_alone() -> None:
    """By hand: ten runs of one schedule with losses 1, ..., 10 at the end; 0.8 allows one miss of ten."""
    rows = [(f"r{i}", k, "m", "c", 20.0 if k == 0 else float(i)) for i in range(1, 11) for k in (0, 1)]
    traces = Traces(*(list(column) for column in zip(*rows, strict=True)))
    assert carried_before(traces, 0.8, 9.0)  # (1 + 1) / 11 <= 0.2
    assert not carried_before(traces, 0.8, 8.0)  # (2 + 1) / 11
