"""Collections of runs: as many as stated, trained again to the last digit, dealt as stated."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.collections import (
    COLLECTIONS,
    EPOCHS,
    FEW,
    OF_FAMILIES,
    RUNS,
    SCHEDULES,
    drawn_schedules,
    known_runs,
    shipped_runs,
    train,
)
from depl.benchmarks.studies.promises_held_out import QUANTILES, targets_of
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
    # every target is a quantile of the last losses, with three decimals
    for target, quantile in zip(targets_of(traces), QUANTILES, strict=True):
        assert np.mean(traces.matrix()[:, -1] <= target - 0.0005) <= quantile


def test_the_schedules_that_judge_are_drawn() -> None:
    assert COLLECTIONS["drawn"].schedules == drawn_schedules(20261123)
    found = drawn_schedules(1)
    assert len(set(found)) == SCHEDULES
    assert all(first < second and 5 <= switch <= 30 for first, second, switch in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COLLECTIONS if name not in RECORDED_ONLY])
def test_the_shipped_runs_are_trained_again_to_the_last_digit(name: str, tmp_path: Path) -> None:
    train(name, tmp_path / "again.csv.gz", schedules=2, runs=2)
    again, shipped = read_traces(tmp_path / "again.csv.gz"), shipped_runs(name)
    rows = [shipped.runs.index(run) for run in again.runs]
    assert np.array_equal(again.matrix(), shipped.matrix()[rows])


@pytest.mark.parametrize(
    ("known", "sizes"), [("halves", [RUNS // 2] * SCHEDULES), (60, [60] * SCHEDULES), ("few", FEW)]
)
def test_runs_are_dealt_as_stated_and_every_draw_is_another_one(known, sizes) -> None:
    traces = shipped_runs("drawn")
    drawn = [known_runs(traces, known, draw) for draw in range(3)]
    for mask in drawn:
        assert sorted(Counter(traces.schedules[i] for i in np.flatnonzero(mask)).values()) == sorted(sizes)
    assert len({mask.tobytes() for mask in drawn}) == 3
    assert np.array_equal(drawn[2], known_runs(traces, known, 2))
