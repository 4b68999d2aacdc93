"""Collections of runs: as many as stated, trained again to the last digit, dealt as stated."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from depl.benchmarks.studies.promises.collections import (
    COLLECTIONS,
    EPOCHS,
    FEW,
    OF_FAMILIES,
    QUANTILES,
    RUNS,
    SCHEDULES,
    drawn_schedules,
    few,
    halves,
    of_every_schedule,
    shipped_runs,
    targets_of,
    train,
)
from depl.instances.training.names import RECORDED_ONLY
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import model_name
from depl.models.traces.files import read_traces


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
