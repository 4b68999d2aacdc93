"""Recording: resumable, whole at any time, and not mixed with other traces."""

import numpy as np
import pytest

from depl.instances.training.recording import CHUNK, record
from depl.instances.training.runs import Epoch
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.stages import planned
from depl.models.traces.table import Traces
from tests.cases.training_cases import small_family

FAMILY = small_family()
SHORT = (Epoch(0.5, "edge"), Epoch(0.75, "far-edge"))


def recorded(path, seeds, **options):
    return record(FAMILY, seeds, path, schedule=SHORT, **options)


@pytest.mark.parametrize("name", ["traces.csv.gz", "traces.csv"])
def test_runs_that_are_there_are_not_trained_again(tmp_path, name):
    steps = []
    first = recorded(tmp_path / name, range(2, 4), step=steps.append)
    again = recorded(tmp_path / name, range(5), step=steps.append)
    assert (first.trained, first.kept) == (2, 0)
    assert (again.trained, again.kept) == (3, 2)
    assert steps == ["2", "3", "2", "3", "0", "1", "4"]
    assert read_traces(tmp_path / name).runs == ("0", "1", "2", "3", "4")
    nothing = recorded(tmp_path / name, range(5), step=steps.append)
    assert (nothing.trained, nothing.kept, steps[7:]) == (0, 5, list("01234"))


def test_the_order_of_training_leaves_no_mark(tmp_path):
    for name, parts in {"one": [range(4)], "two": [[3], [1, 2], range(4)]}.items():
        for seeds in parts:
            recorded(tmp_path / f"{name}.csv.gz", seeds)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()


def test_an_interrupt_keeps_every_run_that_was_finished(tmp_path):
    def interrupt(done):
        if done == "2":
            raise KeyboardInterrupt

    done = recorded(tmp_path / "traces.csv.gz", range(9), step=interrupt)
    assert done.interrupted
    assert read_traces(tmp_path / "traces.csv.gz").runs == ("0", "1", "2")
    assert recorded(tmp_path / "traces.csv.gz", range(9)).trained == 6


def test_an_interrupt_while_the_file_is_written_loses_nothing(tmp_path, monkeypatch):
    calls = []

    def write(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        write_traces(*arguments)

    monkeypatch.setattr("depl.instances.training.recording.write_traces", write)
    assert recorded(tmp_path / "traces.csv.gz", range(3)).interrupted
    assert read_traces(tmp_path / "traces.csv.gz").runs == ("0", "1", "2")


def test_an_interrupt_before_the_first_run_leaves_no_file(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("depl.instances.training.recording.train_run", interrupt)
    done = recorded(tmp_path / "traces.csv.gz", range(3))
    assert (done.traces, done.trained, done.interrupted) == (None, 0, True)
    assert not list(tmp_path.iterdir())


def test_a_process_that_is_killed_loses_the_runs_since_the_last_writing_at_most(tmp_path):
    held = []

    def look(done):
        path = tmp_path / "traces.csv.gz"
        held.append(len(read_traces(path).runs) if path.exists() else 0)

    recorded(tmp_path / "traces.csv.gz", range(CHUNK + 2), step=look)
    assert held == [0] * CHUNK + [CHUNK] * 2


def test_what_fixes_the_runs_is_told(tmp_path):
    traces = recorded(tmp_path / "traces.csv.gz", [0], provenance={"command": "by hand"}).traces
    told = traces.provenance
    assert told["family"] == "points"
    assert told["schedule"] == "1 x pruned-50 on edge, 1 x pruned-75 on far-edge"
    assert planned(told) == (("pruned-50", "edge"), ("pruned-75", "far-edge"))
    assert told["command"] == "by hand"
    assert f"numpy {np.__version__}" in told["versions"]


@pytest.mark.parametrize(
    ("family", "schedule", "named"),
    [
        (small_family("others"), SHORT, "family"),
        (small_family(rate=0.2), SHORT, "setup"),
        (FAMILY, SHORT[:1], "schedule"),
        (FAMILY, None, "schedule"),
    ],
)
def test_other_runs_are_not_added_to_a_file(tmp_path, family, schedule, named):
    path = tmp_path / "traces.csv.gz"
    recorded(path, [0])
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match=f"its {named} is .*; choose another file"):
        record(family, [1], path, schedule=schedule)
    assert path.read_bytes() == before


def test_a_file_of_other_traces_is_not_added_to(tmp_path):
    path = tmp_path / "traces.csv"
    write_traces(path, Traces(["0"], [1], ["m"], ["c"], [1.0]))
    with pytest.raises(InvalidInputError, match="its family is 'nothing'"):
        recorded(path, [1])


def test_the_schedule_of_the_family_is_the_default(tmp_path):
    traces = record(FAMILY, [1], tmp_path / "traces.csv.gz").traces
    assert [epoch[0] for epoch in traces.schedules[0]] == [
        f"pruned-{round(100 * epoch.factor)}" for epoch in FAMILY.schedule(1)
    ]
